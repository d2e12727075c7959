"""Sequences of tasks on features and the heads that are trained on each, all of it a function of the number of the sequence."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import features

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sequences import Task, held_out  # noqa: F401  (held_out: the third that no choice may see)

#: Numbers of this study begin here; a number says whether its sequence is held out.
FIRST = 4000
SETS = {"clinc": 5, "cifar10": 4, "lite0-fashion": 2, "lite0-emnist62": 2, "lite0-cifar100gray": 3, "lite0-mnist": 1, "lite2-cifar100gray": 1}
SETS |= {"lite2-fashion": 1, "lite2-emnist62": 1, "minilm-glosses": 4, "mlp-fashion": 1, "mlp-emnist62": 1, "mlp-cifar100gray": 1}
SETS |= {"conv-mnist": 1, "conv-emnist62": 1, "conv-cifar100gray": 1, "pixels-mnist": 1, "pixels-fashion": 1, "pixels-emnist62": 1}
#: Sets that are there in all variants of their images.
DOMAINS = ("lite0-fashion", "mlp-fashion", "conv-fashion", "pixels-fashion", "mlp-mnist", "conv-mnist")
PROTOCOLS = {"class-incremental": 0.5, "domain-incremental": 0.27, "mixed": 0.23}
PREPARED = {"scalar": 0.5, "feature": 0.2, "unit": 0.15, "raw": 0.15}
#: Most training examples of a sequence, and how often; most test examples.
MOST, TESTS = {2000: 0.9, 4000: 0.1}, 800
#: Kinds of heads, as a sequence takes them one after the other.
KINDS = ("hidden", "replay", "replay-more", "linear", "linear-replay", "two", "sgd", "brief", "brief-linear", "varied")
#: Seconds that a head may take to train by `seconds_of`, and how often.
SECONDS = ((0.6, 0.85), (1.5, 0.12), (5.0, 0.03))
ALL = 100000
#: Steps on a task that heads take at least, where they are not brief.
STEPS = 120


def pick(rng: np.random.Generator, choices: dict):
    weights = np.array(list(choices.values()), float)
    return list(choices)[int(rng.choice(len(choices), p=weights / weights.sum()))]


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def sequence_of(number: int) -> dict:
    """What sequence `number` is."""
    rng = np.random.default_rng([44, number])
    while True:
        protocol = pick(rng, PROTOCOLS)
        name = pick(rng, SETS)
        tasks = int(rng.choice([2, 3, 4, 5, 5, 5, 6, 8, 10, 10, 15, 20]))
        classes = int(round(log_uniform(rng, 2, 30.5)))
        per_class = int(round(log_uniform(rng, 20, 1000)))
        if protocol == "domain-incremental" and rng.random() < 0.45:
            name = str(rng.choice(DOMAINS))
            tasks, how = min(tasks, len(features.VARIANTS)), "domains"
        elif name.endswith("cifar100gray") and protocol == "domain-incremental":
            tasks, how = min(tasks, 5), "superclasses"
        else:
            how = "classes"
        counts = class_counts(name)
        many = len(counts)
        if protocol == "mixed":
            pool = max(classes + 1, int(round(rng.uniform(0.4, 0.9) * tasks * classes)))
            sets = [s for s in features.FAMILIES[features.encoder_of(name)]] if rng.random() < 0.5 else [name]
            many = sum(len(class_counts(s)) for s in sets)
            if pool > many:
                continue
            extra = {"pool": pool, "sets": sets}
        else:
            extra = {"how": how}
            need = classes if how == "domains" else 20 if how == "superclasses" else tasks * classes
            if how == "superclasses":
                classes = min(classes, 20)
            if need > many:
                # Sets of ten classes still have sequences of few tasks.
                tasks, classes = (tasks, min(classes, many)) if how == "domains" else (min(tasks, many // 2), 2) if many <= 10 else (0, 0)
                if tasks < 2 or (how == "classes" and tasks * classes > many):
                    continue
        have = int(min(c[0] for c in counts.values()))
        have = min(have, 250) if how == "domains" and not name.startswith("lite0") else min(have, 100) if how == "domains" else have
        per_class = min(per_class, have, pick(rng, MOST) // (tasks * classes))
        if per_class < 20:
            continue
        return {"number": number, "protocol": protocol, "data": name, "tasks": tasks, "classes": classes, "per_class": per_class, **extra}


def class_counts(name: str) -> dict[int, tuple[int, int]]:
    """Training and test examples of every class, without computing features."""
    if name == "clinc":
        return {c: (120, 30) for c in range(150)}
    if name == "cifar10":
        return {c: (500, 200) for c in range(10)}
    if name == "minilm-glosses":
        return {c: (150, 30) for c in range(38)}
    encoder, data = name.split("-", 1)
    limit = features.LIMITS[encoder if encoder.startswith("lite") else "own"][data]
    return {c: limit for c in range({"mnist": 10, "fashion": 10, "emnist62": 62, "cifar100gray": 100}[data])}


class Pool:
    """A set from which every example is taken at most once as long as there are any."""

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        self.parts = (features.loaded(name)[:2], features.loaded(name)[2:])
        self.rng, self.left = rng, {}

    def take(self, part: int, one: int, size: int) -> np.ndarray:
        rows = self.left.setdefault((part, one), [])
        if len(rows) < size:
            rows[:] = self.rng.permutation(np.flatnonzero(self.parts[part][1] == one)).tolist()
        taken, rows[:] = rows[:size], rows[size:]
        return self.parts[part][0][taken]


def tasks_of(sequence: dict) -> list[Task]:
    """The tasks, features as the encoder gives them."""
    rng = np.random.default_rng([45, sequence["number"]])
    name, tasks, k = sequence["data"], sequence["tasks"], sequence["classes"]
    tests = max(10, min(40, TESTS // (tasks * k)))
    # For every task: pool, class in the pool, label.
    if sequence["protocol"] == "mixed":
        pools = [Pool(s, rng) for s in sequence["sets"]]
        every = [(pool, int(c)) for pool in pools for c in np.unique(pool.parts[0][1])]
        chosen = [every[i] for i in rng.permutation(len(every))[: sequence["pool"]]]
        plan = [[(*chosen[c], int(c)) for c in rng.permutation(len(chosen))[:k]] for _ in range(tasks)]
        # Labels of classes that occur, without gaps.
        labels = {c: i for i, c in enumerate(sorted({c for own in plan for _, _, c in own}))}
        plan = [[(pool, c, labels[label]) for pool, c, label in own] for own in plan]
    elif sequence["how"] == "domains":
        order = [features.VARIANTS[i] for i in rng.permutation(len(features.VARIANTS))[:tasks]]
        pools = [Pool(f"{name}@{v}" if v else name, rng) for v in order]
        chosen = rng.permutation(np.unique(pools[0].parts[0][1]))[:k]
        plan = [[(pool, int(c), i) for i, c in enumerate(chosen)] for pool in pools]
    elif sequence["how"] == "superclasses":
        pool = Pool(name, rng)
        groups = [rng.permutation(np.flatnonzero(features.SUPERCLASSES == g)) for g in rng.permutation(20)[:k]]
        plan = [[(pool, int(group[t]), i) for i, group in enumerate(groups)] for t in range(tasks)]
    else:
        pool = Pool(name, rng)
        chosen = rng.permutation(np.unique(pool.parts[0][1]))[: tasks * k].reshape(tasks, k)
        shared = sequence["protocol"] == "domain-incremental"
        plan = [[(pool, int(c), i if shared else t * k + i) for i, c in enumerate(own)] for t, own in enumerate(chosen)]
    made = []
    for own in plan:
        parts = []
        for part, size in enumerate((sequence["per_class"], tests)):
            taken = [(pool.take(part, c, size), label) for pool, c, label in own]
            mixed = rng.permutation(sum(len(x) for x, _ in taken))
            parts += [np.concatenate([x for x, _ in taken])[mixed], np.concatenate([np.full(len(x), label) for x, label in taken])[mixed]]
        made.append(Task(*parts))
    return made


def outputs_of(tasks: list[Task]) -> int:
    return 1 + max(int(t.y.max()) for t in tasks)


def prepare(tasks: list[Task], how: str) -> list[Task]:
    """Features centered and divided by one number, standardized one by one, scaled to norm 1, or as they are."""
    every = np.concatenate([t.x for t in tasks])
    if how == "unit":
        change = lambda x: x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    elif how == "raw":
        change = lambda x: x
    else:
        mean = every.mean(0)
        size = every.std(0) if how == "feature" else np.sqrt(((every - mean) ** 2).mean())
        # A feature that never varies says nothing.
        size = np.where(size > 1e-6 * np.max(size), size, np.inf)
        change = lambda x: (x - mean) / size
    as_floats = lambda x: np.ascontiguousarray(change(x), np.float32)
    return [Task(as_floats(t.x), t.y, as_floats(t.x_test), t.y_test) for t in tasks]


def kept_rows(tasks: list[Task], m: int, number: int) -> list[np.ndarray]:
    """Rows of every task that are kept: m of each class, those of a smaller m first among a larger one's."""
    rng = np.random.default_rng([46, number])
    found = []
    for t in tasks:
        by_class = [rng.permutation(np.flatnonzero(t.y == c)) for c in np.unique(t.y)]
        found.append(np.sort(np.concatenate([rows[:m] for rows in by_class])) if m else np.zeros(0, int))
    return found


def heads_of(sequence: dict, features_count: int, outputs: int) -> list[dict]:
    """The settings of every head of a sequence."""
    rng = np.random.default_rng([47, sequence["number"]])
    usual = pick(rng, PREPARED)
    made = []
    for place, kind in enumerate(KINDS):
        while True:
            found = head_of(rng, kind, sequence, usual if place < 5 else None)
            most = rng.choice([s for s, _ in SECONDS], p=[p for _, p in SECONDS])
            if seconds_of(found, sequence, features_count, outputs) <= most:
                made.append({"kind": kind, **found, "seed": place})
                break
    return made


def head_of(rng: np.random.Generator, kind: str, sequence: dict, prepared: str | None) -> dict:
    prepared = prepared or pick(rng, PREPARED)
    few, more = [1, 2, 3, 5, 5, 10], [5, 10, 20, 20, 50, ALL]
    any_m = lambda: int(rng.choice([0, 0, *few, *more]))
    width = lambda: int(2 ** rng.integers(7, 12))
    hidden = {"linear": [], "linear-replay": [], "brief-linear": [], "two": [width(), int(2 ** rng.integers(7, 9))]}.get(kind, [width()])
    m = {"hidden": 0, "linear": 0, "replay": int(rng.choice(few)), "replay-more": int(rng.choice(more))}
    found = {"prepared": prepared, "hidden": hidden, "m": min(m[kind] if kind in m else any_m(), ALL)}
    optimizer = "sgd" if kind == "sgd" or (kind in ("brief", "brief-linear", "varied", "linear-replay") and rng.random() < 0.35) else "adam"
    brief = kind.startswith("brief")
    epochs = int(rng.integers(1, 4)) if brief else int(round(log_uniform(rng, 4 if kind == "varied" else 8, 50)))
    if kind == "varied":
        rate = log_uniform(rng, 1e-4, 1e-2)
    else:
        rate = log_uniform(rng, 3e-3, 1e-2) if optimizer == "sgd" else log_uniform(rng, 3e-4, 1e-2 if not hidden else 3e-3)
    batch = int(rng.choice([16, 32, 32, 64, 64, 128]))
    if not brief and kind != "varied":
        # Trained until little changes: small tasks take smaller batches and more epochs.
        p = sequence["classes"] * sequence["per_class"]
        batch = min(batch, max(16, 2 ** int(np.log2(p * 50 / STEPS))))
        epochs = max(epochs, min(50, int(np.ceil(STEPS * batch / p))))
    found |= {"optimizer": optimizer, "rate": float(f"{rate:.2g}"), "epochs": epochs, "batch": batch}
    if kind == "varied":
        found |= {"decay": float(f"{log_uniform(rng, 1e-4, 3e-1 if optimizer == 'adam' else 1e-2):.1g}")} if rng.random() < 0.5 else {"smoothing": float(rng.choice([0.05, 0.1, 0.2]))}
    return found


def seconds_of(head: dict, sequence: dict, features_count: int, outputs: int) -> float:
    """About how long a head takes to train, in seconds of one core."""
    tasks, own = sequence["tasks"], sequence["classes"]
    before = (tasks - 1) / 2 * own * min(head["m"], sequence["per_class"])
    passes = tasks * (own * sequence["per_class"] + before) * head["epochs"]
    sizes = [features_count, *head["hidden"], outputs]
    weights = sum(a * b for a, b in zip(sizes, sizes[1:]))
    return 6 * passes * weights / 3e10 + passes / head["batch"] * (3e-4 + 1.5e-9 * weights)
