"""Other tasks than those of the study, to see how far its intervals reach: 1000 examples per task beside 200, and images that are
centered pixel by pixel and scaled to one norm, without whitening.

    python paper/evidence/larger.py --data FOLDER

Networks of the study's usual kind (two hidden layers of 200 units, Adam with cross-entropy, 20 epochs in batches of 32), trained
in NumPy. Lines of JSON in paper/evidence/results/larger.jsonl; what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np

import sequences

RESULTS = Path(__file__).resolve().parent / "results"
PROTOCOLS = ("class-incremental", "permuted", "split", "flipped", "permuted-sign", "mixture")
DATA = ("mnist", "fashion", "cifar100gray")
PREPARED = ("standardized", "whitened", "normalized")
SIZES, TASKS, WIDTH, EPOCHS, BATCH, RATE = (200, 1000), 5, 200, 20, 32, 1e-3
#: Inverse temperature of the forecast that the study chose, for inputs of mean square 1.
BETA = 30.0


class Network:
    """ReLUs that learn by Adam on cross-entropy (logistic for one output), with the initial weights that PyTorch draws."""

    def __init__(self, sizes: list[int], rng: np.random.Generator) -> None:
        drawn = lambda a, b, shape: rng.uniform(-(a**-0.5), a**-0.5, shape).astype(np.float32)
        self.weights = [part for a, b in zip(sizes, sizes[1:]) for part in (drawn(a, b, (a, b)), drawn(a, b, (b,)))]

    def layers(self, x: np.ndarray) -> list[np.ndarray]:
        made = [x]
        for k in range(0, len(self.weights), 2):
            z = made[-1] @ self.weights[k] + self.weights[k + 1]
            made.append(np.maximum(z, 0) if k + 2 < len(self.weights) else z)
        return made

    def gradient(self, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """Of the mean loss; y holds probabilities, one column for two classes."""
        made = self.layers(x)
        z = made[-1]
        if z.shape[1] == 1:
            answers = 1 / (1 + np.exp(-np.clip(z, -60, 60)))
        else:
            answers = np.exp(z - z.max(1, keepdims=True))
            answers /= answers.sum(1, keepdims=True)
        back, found = (answers - y) / len(x), []
        for k in range(len(self.weights) - 2, -1, -2):
            found[:0] = [made[k // 2].T @ back, back.sum(0)]
            if k:
                back = (back @ self.weights[k].T) * (made[k // 2] > 0)
        return found

    def learn(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> None:
        first, second = ([np.zeros_like(w) for w in self.weights] for _ in range(2))
        step = 0
        for _ in range(EPOCHS):
            order = rng.permutation(len(x))
            for rows in (order[k : k + BATCH] for k in range(0, len(order), BATCH)):
                step += 1
                for w, g, m, v in zip(self.weights, self.gradient(x[rows], y[rows]), first, second):
                    m += 0.1 * (g - m)
                    v += 0.001 * (g * g - v)
                    w -= RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)

    def accuracy(self, x: np.ndarray, y: np.ndarray) -> float:
        z = self.layers(x)[-1]
        return float(np.mean((z[:, 0] > 0 if z.shape[1] == 1 else z.argmax(1)) == y))


def measured(tasks: list[sequences.Task], outputs: int, seed: int) -> np.ndarray:
    """`[t][s]`: held-out accuracy of task s after task t."""
    rng = np.random.default_rng([23, seed])
    network = Network([tasks[0].x.shape[1], WIDTH, WIDTH, outputs], rng)
    found = np.full((len(tasks), len(tasks)), np.nan)
    for t, task in enumerate(tasks):
        y = task.y[:, None] if outputs == 1 else task.y[:, None] == np.arange(outputs)
        network.learn(task.x, y.astype(np.float32), rng)
        found[t, : t + 1] = [network.accuracy(s.x_test, s.y_test) for s in tasks[: t + 1]]
    return found


def forecast(tasks: list[sequences.Task], outputs: int) -> np.ndarray:
    """The same by the theory."""
    import ebbing

    targets = lambda y: 2.0 * y - 1 if outputs == 1 else (y[:, None] == np.arange(outputs)).astype(float)
    square = float(np.mean([(t.x.astype(float) ** 2).mean() for t in tasks]))
    given = [(t.x.astype(float), targets(t.y), t.x_test.astype(float), targets(t.y_test)) for t in tasks]
    theory = ebbing.SingleHead(given, mode="rf", depth=1, beta=BETA / square)
    return np.array(theory.forecast()["test"]["accuracy"], dtype=float)


def outcome(accuracy: np.ndarray) -> dict[str, float]:
    lost = np.mean(np.diag(accuracy)[:-1] - accuracy[-1, :-1])
    return {"lost": round(float(lost), 4), "accuracy": round(float(accuracy[-1].mean()), 4)}


def draw(sequence: dict) -> list[sequences.Task]:
    """The tasks; `normalized` ones from standardized images."""
    tasks = sequences.draw(sequence)
    if sequence.get("prepared") == "normalized":
        center = np.mean([t.x.mean(0) for t in tasks], axis=0)
        scaled = lambda x: (x - center) / np.sqrt(((x - center) ** 2).mean(1, keepdims=True))
        tasks = [sequences.Task(scaled(t.x), t.y, scaled(t.x_test), t.y_test) for t in tasks]
    return tasks


def jobs() -> list[dict]:
    """Every protocol and preparation, data sets in turn."""
    wanted = [(100 * j + k, protocol, DATA[(j + k) % len(DATA)], prepared) for k, protocol in enumerate(PROTOCOLS) for j, prepared in enumerate(PREPARED)]
    # As the program prepares its embedded digits for the tasks that it starts with.
    wanted += [(300 + k, protocol, "mnist", "normalized") for k, protocol in enumerate(("class-incremental", "split"))]
    made = []
    for number, protocol, data, prepared in wanted:
        # Two classes per task: ten classes of the smallest set make five tasks.
        one = {"class-incremental": 2, "split": 1, "mixture": 2}.get(protocol)
        for p in SIZES:
            fixed = {"tasks": TASKS, "p": p, **({"classes": one} if one else {})}
            found = sequences.settings_of(3000 + number, protocol, data, **fixed)
            made.append({**found, **({} if prepared == "standardized" else {"prepared": prepared})})
    # The small ones first: they show whether training is as it was in the study.
    return sorted(made, key=lambda one: one["p"])


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--data", default=os.environ.get("EBBING_DATA"), help="folder of the IDX files (default: EBBING_DATA)")
    read.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    asked = read.parse_args()
    sequences.FOLDER = Path(asked.data) if asked.data else None
    file = asked.results / "larger.jsonl"
    done = [json.loads(line)["sequence"] for line in file.read_text().splitlines()] if file.exists() else []
    for sequence in jobs():
        if sequence in done:
            continue
        tasks, outputs = draw(sequence), sequences.outputs_of(sequence)
        row = {"sequence": sequence, "measured": outcome(measured(tasks, outputs, sequence["number"])), "forecast": outcome(forecast(tasks, outputs))}
        with open(file, "a") as out:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
