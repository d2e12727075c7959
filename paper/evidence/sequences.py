"""Sequences of tasks, drawn by number: protocol, data set, number of tasks and examples per task.

Data sets are IDX files `SET-{train,test}-{images-idx3,labels-idx1}-ubyte.gz` (SET: mnist, fashion, cifar100gray, emnist62) in
one folder. The set `sample` is the part of MNIST that the package embeds; it needs no file. Pixels are standardized, or
prepared as the program prepares images that it draws: centered one by one, whitened, scaled to one norm.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import ndimage

SETS = ("mnist", "fashion", "cifar100gray", "emnist62")
#: The protocols, in the order in which sequences take them.
PROTOCOLS = (
    "permuted",
    "class-incremental",
    "rotated",
    "split",
    "flipped",
    "permuted-sign",
    "class-incremental",
    "blurred",
    "mixture",
    "split-many",
)
#: Those that the program draws itself, whose images it whitens.
WHITENED = ("permuted", "class-incremental", "split", "mixture", "permuted-sign", "split-many", "flipped", "class-incremental")
#: What they are called.
NAMES = {
    "permuted": "permuted pixels, ten classes",
    "permuted-sign": "permuted pixels, two classes",
    "rotated": "rotated images",
    "split": "other classes each, ±1",
    "split-many": "other classes each, shared outputs",
    "class-incremental": "new classes into one output",
    "flipped": "labels flipped",
    "blurred": "blurred images",
    "mixture": "mixture of data sets",
}
SIDE, TEST = 28, 120
FOLDER: Path | None = None


@dataclass
class Task:
    """Inputs (float32, one image per row) and classes counted from 0, to train on and held out."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def held_out(number: int) -> bool:
    """Whether a sequence belongs to the third that no choice may see; known before anything is drawn."""
    return hashlib.sha256(f"ebbing evidence {number}".encode()).digest()[0] % 3 == 0


def whitened_settings(index: int, data: str | None = None) -> dict:
    """What the sequence of whitened images with this index is."""
    protocol = WHITENED[index % len(WHITENED)]
    data = data or SETS[(index + index // len(WHITENED)) % len(SETS)]
    return {**settings_of(2000 + index, protocol, data), "prepared": "whitened"}


def settings_of(number: int, protocol: str | None = None, data: str | None = None, **fixed: object) -> dict:
    """What sequence `number` is, all of it a function of the number but for what is fixed."""
    rng = np.random.default_rng([16, number])
    protocol = protocol or PROTOCOLS[number % len(PROTOCOLS)]
    data = data or SETS[(number + number // len(PROTOCOLS)) % len(SETS)]
    tasks = int(rng.choice([2, 3, 4, 5, 5, 6, 8, 10]))
    drawn = {
        "permuted": lambda: {"ratio": round(float(np.exp(rng.uniform(np.log(0.05), 0))), 3)},
        "permuted-sign": lambda: {"ratio": round(float(np.exp(rng.uniform(np.log(0.05), 0))), 3)},
        "rotated": lambda: {"degrees": int(rng.choice([10, 20, 30, 45, 60, 90]))},
        "split": lambda: {"classes": int(rng.choice([1, 1, 2]))},
        "split-many": lambda: {"classes": int(rng.choice([3, 4, 5]))},
        "class-incremental": lambda: {"classes": int(rng.choice([2, 2, 3, 4]))},
        "flipped": lambda: {"probability": round(float(rng.uniform(0.1, 0.6)), 3)},
        "blurred": lambda: {"sigma": round(float(rng.uniform(1, 4)), 2)},
        "mixture": lambda: {"classes": int(rng.choice([2, 2, 4]))},
    }[protocol]()
    drawn |= {key: value for key, value in fixed.items() if key in drawn}
    per_task = {"split": 2 * drawn.get("classes", 0), "split-many": drawn.get("classes", 0)}
    per_task["class-incremental"] = drawn.get("classes", 0)
    if protocol in per_task:
        many = {"mnist": 10, "sample": 10, "fashion": 10, "cifar100gray": 40, "emnist62": 40}[data]
        tasks = max(2, min(tasks, many // per_task[protocol]))
    tasks = int(fixed.get("tasks", tasks))
    p = int(fixed.get("p", min(int(rng.choice([100, 150, 200, 300, 400])), 900 // tasks)))
    return {"number": number, "protocol": protocol, "data": data, "tasks": tasks, "p": p, **drawn}


def outputs_of(settings: dict) -> int:
    """How many outputs a network needs; one for two classes."""
    protocol, classes = settings["protocol"], settings.get("classes", 2)
    if protocol in ("permuted-sign", "split", "flipped") or (protocol == "mixture" and classes == 2):
        return 1
    if protocol == "class-incremental":
        return classes * settings["tasks"]
    return classes if protocol in ("split-many", "mixture") else 10


def draw(settings: dict) -> list[Task]:
    """The tasks themselves."""
    rng = np.random.default_rng([17, settings["number"]])
    protocol, count = settings["protocol"], settings["tasks"]
    whitened = settings.get("prepared") == "whitened"
    source = Source(settings["data"], rng, whitened)
    if protocol in ("split", "split-many", "class-incremental"):
        k = settings["classes"]
        each = 2 * k if protocol == "split" else k
        chosen = rng.permutation(source.classes)[: each * count].reshape(count, each)
        rule = {"split": lambda t, c: c // k, "split-many": lambda t, c: c, "class-incremental": lambda t, c: t * k + c}[protocol]
        return [source.task(list(own), [rule(t, c) for c in range(each)], settings["p"]) for t, own in enumerate(chosen)]
    if protocol == "mixture":
        k = settings["classes"]
        sets = [SETS[(SETS.index(settings["data"]) + t) % len(SETS)] for t in range(count)] if settings["data"] in SETS else ["sample"] * count
        own = [Source(name, rng, whitened) for name in sets]
        return [s.task(list(rng.permutation(s.classes)[:k]), list(range(k)), settings["p"]) for s in own]
    chosen = list(rng.permutation(source.classes)[:10])
    if protocol in ("permuted", "permuted-sign"):
        labels = list(range(10)) if protocol == "permuted" else [c % 2 for c in range(10)]
        made = []
        for _ in range(count):
            places = rng.choice(SIDE * SIDE, round(settings["ratio"] * SIDE * SIDE), replace=False)
            order = np.arange(SIDE * SIDE)
            order[places] = rng.permutation(places)
            made.append(change(source.task(chosen, labels, settings["p"]), lambda x, order=order: x[:, order]))
        return made
    if protocol == "rotated":
        turn = lambda x, t: ndimage.rotate(images(x), t * settings["degrees"], (1, 2), reshape=False, order=1, mode="nearest")
        return [change(source.task(chosen, list(range(10)), settings["p"]), lambda x, t=t: turn(x, t)) for t in range(count)]
    if protocol == "blurred":
        blur = lambda x, t: ndimage.gaussian_filter(images(x), (0, *[settings["sigma"] * (t % 3) / 2] * 2))
        return [change(source.task(chosen, list(range(10)), settings["p"]), lambda x, t=t: blur(x, t)) for t in range(count)]
    if protocol == "flipped":
        made, labels = [], np.array([c % 2 for c in range(10)])
        for _ in range(count):
            made.append(source.task(chosen, list(labels), settings["p"]))
            labels = flipped(labels, settings["probability"], rng)
        return made
    raise ValueError(f"protocol is {protocol!r}; it must be one of {', '.join(NAMES)}")


def flipped(labels: np.ndarray, probability: float, rng: np.random.Generator) -> np.ndarray:
    """Classes change sides at random, again until both sides have some."""
    while True:
        turned = np.where(rng.random(len(labels)) < probability, 1 - labels, labels)
        if turned.min() < turned.max():
            return turned


def images(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, SIDE, SIDE)


def change(task: Task, how) -> Task:
    """The same task seen through a map of its images."""
    flat = lambda x: np.ascontiguousarray(how(x).reshape(len(x), -1), dtype=np.float32)
    return Task(flat(task.x), task.y, flat(task.x_test), task.y_test)


class Source:
    """A data set from which every image is taken at most once as long as there are any."""

    def __init__(self, name: str, rng: np.random.Generator, whitened: bool = False) -> None:
        self.parts, self.rng = loaded(name), rng
        self.prepare = (lambda raw: white(raw, whitening(name))) if whitened else self.standardize
        self.classes = np.unique(self.parts[0][1])
        self.left: dict[tuple[int, int], list[int]] = {}

    def task(self, classes: list[int], labels: list[int], p: int) -> Task:
        """p training and TEST held-out images, shared equally among classes, and their labels."""
        found = []
        for part, size in enumerate((p, TEST)):
            rows, marks = [], []
            for k, (one, label) in enumerate(zip(classes, labels)):
                share = size * (k + 1) // len(classes) - size * k // len(classes)
                rows += self.take(part, int(one), share)
                marks += [label] * share
            mixed = self.rng.permutation(len(rows))
            raw = self.parts[part][0][np.array(rows)[mixed]]
            found += [self.prepare(raw.reshape(len(raw), -1) / 255).astype(np.float32), np.array(marks)[mixed]]
        return Task(*found)

    def standardize(self, x: np.ndarray) -> np.ndarray:
        mean, deviation = self.parts[2]
        return (x - mean) / deviation

    def take(self, part: int, one: int, size: int) -> list[int]:
        pool = self.left.setdefault((part, one), [])
        if len(pool) < size:
            pool[:] = self.rng.permutation(np.flatnonzero(self.parts[part][1] == one)).tolist()
        taken = pool[:size]
        del pool[:size]
        return taken


@lru_cache(maxsize=None)
def whitening(name: str) -> np.ndarray:
    """`V (Λ + ridge λ_max)^{-1/2} Vᵀ` of the training images, each without its mean."""
    x = loaded(name)[0][0].reshape(-1, SIDE * SIDE) / 255
    x -= x.mean(1, keepdims=True)
    values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    return (vectors / np.sqrt(np.maximum(values, 0) + 1e-7 * values[-1])) @ vectors.T


def white(x: np.ndarray, transform: np.ndarray) -> np.ndarray:
    """Images without their mean, whitened, each of mean square 1."""
    x = (x - x.mean(1, keepdims=True)) @ transform
    return x / np.sqrt((x**2).mean(1, keepdims=True))


@lru_cache(maxsize=None)
def loaded(name: str):
    """Images (28 × 28, u8) and classes to train on and held out, and the mean and deviation of a pixel."""
    if name == "sample":
        import ebbing

        predicted = ebbing.data.sample(center="none", whiten=False, norm=False)
        parts = [(np.round(255 * x / predicted.x.max()).reshape(-1, SIDE, SIDE).astype(np.uint8), y) for x, y in ((predicted.x, predicted.y), (predicted.x_test, predicted.y_test))]
    else:
        if FOLDER is None:
            raise SystemExit(f"the data set {name} is needed; give the folder of its files by --data or EBBING_DATA")
        parts = [(cut(idx(f"{name}-{part}-images-idx3-ubyte.gz")), idx(f"{name}-{part}-labels-idx1-ubyte.gz").astype(int)) for part in ("train", "test")]
    some = parts[0][0][:5000] / 255
    return (*parts, (float(some.mean()), float(some.std())))


def idx(file: str) -> np.ndarray:
    """An IDX file of bytes."""
    with gzip.open(FOLDER / file) as stream:
        raw = stream.read()
    shape = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def cut(pictures: np.ndarray) -> np.ndarray:
    """The middle 28 × 28 pixels."""
    edge = (pictures.shape[1] - SIDE) // 2
    return pictures[:, edge : edge + SIDE, edge : edge + SIDE]
