"""The chosen forecasts of every measured head, single examples and methods, from stored results; nothing is trained.

    python paper/evidence/chosen.py --data FOLDER --glosses FILE [--cache FOLDER]

One line of JSON per sequence in paper/evidence/results/chosen.jsonl.
"""

from __future__ import annotations

import time

import numpy as np

from . import closed, draw

import domain  # beside the folder, which `draw` puts on the path

#: What was chosen on two thirds of the sequences: β of cross-entropy under hidden layers, β of a linear head's squared error.
HIDDEN, LINEAR = 20.0, 1.0
#: What both were compared with: the theory of images.
IMAGES = 30.0
#: Steps of cross-entropy at most; ReLUs of the random projection; strengths of ridges in mean eigenvalues.
STEPS, PROJECTED, RIDGES = 300, 2000, (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
#: Edges of the stated chances of being wrong.
CHANCES = np.linspace(0, 1, 11)


def scaled(tasks: list[draw.Task]) -> list[draw.Task]:
    """Features of mean square 1: β counts in units of that."""
    size = np.sqrt(np.mean(np.concatenate([t.x for t in tasks]) ** 2))
    return [draw.Task(t.x / size, t.y, t.x_test / size, t.y_test) for t in tasks]


class Forecasts:
    """Kernels of a sequence by preparation and number of hidden layers, made once."""

    def __init__(self, row: dict) -> None:
        self.raw, self.outputs, self.number = draw.tasks_of(row["sequence"]), row["outputs"], row["number"]
        self.forms: dict[str, list[draw.Task]] = {}
        self.kernels: dict[tuple[str, int], closed.Sequence] = {}
        self.known: dict[tuple, tuple] = {}

    def prepared(self, how: str) -> list[draw.Task]:
        if how not in self.forms:
            self.forms[how] = draw.prepare(self.raw, how)
        return self.forms[how]

    def sequence(self, how: str, depth: int) -> closed.Sequence:
        if (how, depth) not in self.kernels:
            self.kernels[how, depth] = closed.Sequence(scaled(self.prepared(how)), self.outputs, depth)
        return self.kernels[how, depth]

    def learned(self, how: str, hidden: int, m: int, usual: bool = False) -> tuple[list[np.ndarray], float]:
        """Coefficients after each task, and the seconds of one core that kernels and learning took."""
        key = (how, min(hidden, 1), min(m, max(len(t.x) for t in self.raw)), usual)
        if key not in self.known:
            began = time.process_time()
            sequence = self.sequence(how, min(hidden, 1))
            solve = closed.ridge(IMAGES) if usual and hidden else closed.ridge(LINEAR) if not hidden else HIDDEN
            found = sequence.learn(draw.kept_rows(self.raw, m, self.number), solve)
            self.known[key] = (found, time.process_time() - began)
        return self.known[key]

    def outcome(self, how: str, hidden: int, m: int, usual: bool = False) -> list[float]:
        found = self.sequence(how, min(hidden, 1)).outcome(self.learned(how, hidden, m, usual)[0])
        return [round(v, 4) for v in found.values()]


def row_of(row: dict) -> dict:
    """Everything that is forecast of a stored sequence."""
    forecasts = Forecasts(row)
    runs, largest = [], row["sequence"]["classes"] * row["sequence"]["per_class"]
    for run in row["runs"]:
        hidden, how = len(run["hidden"]), run["prepared"]
        own = {"forecast": forecasts.outcome(how, hidden, run["m"]), "seconds": round(forecasts.learned(how, hidden, run["m"])[1], 3)}
        if hidden:
            own["images"] = forecasts.outcome(how, hidden, run["m"], usual=True)
        runs.append(own)
    used = sorted({run["prepared"] for run in row["runs"]})
    found = {"number": row["number"], "runs": runs, "largest": largest}
    found["domain"] = {how: {name: round(v, 6) for name, v in domain.descriptor(forecasts.prepared(how)).items()} for how in used}
    if "single" in row:
        found["single"] = single(forecasts, row["single"])
    if "methods" in row:
        found["methods"] = methods(forecasts)
    if "apart" in row:
        found["apart"] = apart(forecasts)
    return found


def unpacked(bits: str, count: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(bytes.fromhex(bits), np.uint8))[:count].astype(bool)


def area(score: np.ndarray, hit: np.ndarray) -> float | None:
    """The area under the curve: how often a hit has the larger score."""
    from scipy.stats import rankdata

    if hit.all() or not hit.any():
        return None
    ranks = rankdata(score)
    return float((ranks[hit].sum() - hit.sum() * (hit.sum() + 1) / 2) / (hit.sum() * (~hit).sum()))


def single(forecasts: Forecasts, stored: dict) -> dict:
    """Which test examples are lost: forecast, five networks and one more."""
    sequence = forecasts.sequence("scalar", 1)
    learned, _ = forecasts.learned("scalar", 1, stored["m"])
    y = np.concatenate([t.y_test for t in forecasts.raw])
    first = np.concatenate([sequence.outputs_on(u, t) for t, u in enumerate(learned)])
    last = sequence.k_test @ learned[-1]
    nets = [[unpacked(bits, len(y)) for bits in one["right"]] for one in stored["networks"]]
    votes = lambda part: np.sum([net[part] for net in nets[:5]], axis=0) >= 3
    own, end = votes(0), votes(1)
    # Of the last task nothing can be lost.
    before = np.arange(len(y)) < sequence.tests[-1].start
    here = own & before
    lost = ~end
    margin = sequence.margins(last, y)
    stated = 1 - closed.softmax(last)[np.arange(len(y)), y]
    wrong = 1 - np.mean([net[1] for net in nets], axis=0)
    place = np.clip(np.digitize(stated[before], CHANCES) - 1, 0, len(CHANCES) - 2)
    bins = [[int((place == b).sum()), round(float(stated[before][place == b].sum()), 3), round(float(wrong[before][place == b].sum()), 3)] for b in range(len(CHANCES) - 1)]
    sixth = nets[5]
    agree = lambda a, b: round(float(np.mean(a[before] == b[before])), 4)
    return {
        "m": stored["m"],
        "area": (lambda a: None if a is None else round(a, 4))(area(-margin[here], lost[here]) if here.any() else None),
        "area of one network more": (lambda a: None if a is None else round(a, 4))(area(~sixth[1][here], lost[here]) if here.any() else None),
        "share lost": round(float(lost[here].mean()), 4) if here.any() else None,
        "agreement": agree(last.argmax(1) == y, end),
        "agreement of one network more": agree(sixth[1], end),
        "learned": agree(first.argmax(1) == y, own),
        "bins": bins,
    }


def methods(forecasts: Forecasts) -> dict:
    """Forecasts of trained heads and exact accuracies of heads in closed form, final mean accuracy each."""
    found = {f"replay-{m}": forecasts.outcome("scalar", 1, m)[1] for m in (0, 5, 20)}
    tasks = forecasts.prepared("scalar")
    x, y = np.concatenate([t.x for t in tasks]).astype(float), np.concatenate([t.y for t in tasks])
    test = [(t.x_test.astype(float), t.y_test) for t in tasks]
    rng = np.random.default_rng([49, forecasts.number])
    held = rng.random(len(y)) < 0.2
    weights = rng.normal(size=(x.shape[1], PROJECTED)) / np.sqrt(x.shape[1])
    lift = lambda z: np.maximum(z @ weights, 0)
    for name, see, solve in (("mean", None, None), ("discriminant", None, discriminant), ("ridge", None, regression), ("projection", lift, regression)):
        see = see or (lambda z: z)
        if solve is None:
            head, chance = nearest(x, y, forecasts.outputs), nearest(x[~held], y[~held], forecasts.outputs)
        else:
            made = [(strength, solve(see(x[~held]), y[~held], forecasts.outputs, strength)) for strength in RIDGES]
            score = [np.mean(one(see(x[held])).argmax(1) == y[held]) for _, one in made]
            best = int(np.argmax(score))
            head, chance = solve(see(x), y, forecasts.outputs, RIDGES[best]), made[best][1]
        found[name] = round(float(np.mean([np.mean(head(see(a)).argmax(1) == b) for a, b in test])), 4)
        # What a user knows without test data.
        found[f"{name} on training examples held out"] = round(float(np.mean(chance(see(x[held])).argmax(1) == y[held])), 4)
    return found


def nearest(x: np.ndarray, y: np.ndarray, outputs: int):
    """The nearest class mean."""
    means = np.stack([x[y == c].mean(0) if (y == c).any() else np.full(x.shape[1], 1e6) for c in range(outputs)])
    return lambda z: z @ means.T - (means**2).sum(1) / 2


def discriminant(x: np.ndarray, y: np.ndarray, outputs: int, strength: float):
    """Linear discriminant with a shared covariance and a ridge."""
    means = np.stack([x[y == c].mean(0) if (y == c).any() else np.zeros(x.shape[1]) for c in range(outputs)])
    there = np.array([(y == c).any() for c in range(outputs)])
    rest = x - means[y]
    cov = rest.T @ rest / len(x)
    cov[np.diag_indices_from(cov)] += strength * np.trace(cov) / len(cov) + 1e-9
    w = np.linalg.solve(cov, means.T)
    bias = np.where(there, -0.5 * (means.T * w).sum(0), -np.inf)
    return lambda z: z @ w + bias


def regression(x: np.ndarray, y: np.ndarray, outputs: int, strength: float):
    """Ridge regression on one-hot targets, with a constant."""
    x = np.column_stack([x, np.ones(len(x))])
    gram = x.T @ x / len(x)
    gram[np.diag_indices_from(gram)] += strength * np.trace(gram) / len(gram)
    w = np.linalg.solve(gram, x.T @ (y[:, None] == np.arange(outputs)) / len(x))
    return lambda z: np.column_stack([z, np.ones(len(z))]) @ w


def apart(forecasts: Forecasts) -> dict:
    """Separate heads in the wide limit: every task as if it were learned alone, and all in one output."""
    sequence = forecasts.sequence("scalar", 1)
    alone = []
    for t, own in enumerate(sequence.rows):
        k = sequence.k[np.ix_(own, own)]
        u = closed.crossed(k, np.zeros((len(own), forecasts.outputs), np.float32), sequence.hot[own], HIDDEN, STEPS)
        alone.append(float(np.mean((sequence.k_test[sequence.tests[t]][:, own] @ u).argmax(1) == forecasts.raw[t].y_test)))
    return {"alone": round(float(np.mean(alone)), 4), "one output": forecasts.outcome("scalar", 1, 0)}
