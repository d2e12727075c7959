"""The forecasts: every mode and depth for a sequence, from its pixels, from frozen features, or from a network's gradients."""

from __future__ import annotations

import time

import numpy as np
import torch

import ebbing
from sequences import Task, outputs_of
from training import Learner, targets

MODES, DEPTHS = ("rf", "ntk", "lazy"), (1, 2, 3)
#: Besides, what training that ends before everything is learned might be like: a temperature 1/β.
WARM = {f"rf-{depth}-b{beta}": ("rf", depth, float(beta)) for depth, beta in ((1, 10), (1, 30), (1, 100), (2, 30), (2, 100))}


def outcome(theory: ebbing.SingleHead) -> dict:
    """Mean loss of held-out accuracy, mean final accuracy, and mean final forgetting on training data."""
    predicted = theory.forecast()
    found = np.array(predicted["test"]["accuracy"])
    lost = np.mean(np.diag(found)[:-1] - found[-1, :-1])
    forgetting = np.array(predicted["forgetting"])
    return {
        "lost": round(float(lost), 4),
        "accuracy": round(float(found[-1].mean()), 4),
        "forgetting": float(f"{forgetting[-1, :-1].mean():.4g}"),
    }


class Pixels:
    """Forecasts from the images: kernels of wide networks at every depth are made once for a sequence.

    `SingleHead.from_kernels` gives what `ebbing.forecast(tasks, mode=…, depth=…)` gives, without making kernels again.
    """

    def __init__(self, tasks: list[Task], sequence: dict, depths: tuple[int, ...] = DEPTHS) -> None:
        began = time.process_time()
        self.tasks, self.outputs = tasks, outputs_of(sequence)
        points = np.concatenate([part for t in tasks for part in (t.x, t.x_test)]).astype(float)
        ends = np.cumsum([0] + [size for t in tasks for size in (len(t.x), len(t.x_test))])
        self.rows = [np.arange(a, b) for a, b in zip(ends, ends[1:])]
        self.owner = np.repeat(np.arange(len(tasks)), [len(t.x) + len(t.x_test) for t in tasks])
        self.kernels = {d: [ebbing.kernel(points, depth=d, kind=kind) for kind in ("nngp", "ntk")] for d in depths}
        self.seconds = (time.process_time() - began) / (2 * len(depths))

    def theory(self, mode: str, depth: int, *, order=None, kept=None, gating: float = 0.0, beta: float = np.inf) -> ebbing.SingleHead:
        """The theory of the tasks in an order, each learned with rows `kept` of those before it."""
        order = range(len(self.tasks)) if order is None else order
        given = []
        for place, t in enumerate(order):
            rows, y = self.rows[2 * t], targets(self.tasks[t].y, self.outputs)
            if kept is not None:
                before = [order[s] for s in range(place)]
                rows = np.concatenate([rows, *(self.rows[2 * s][kept[s]] for s in before)])
                y = np.concatenate([y, *(targets(self.tasks[s].y[kept[s]], self.outputs) for s in before)])
            given.append((rows, y, self.rows[2 * t + 1], targets(self.tasks[t].y_test, self.outputs)))
        nngp, ntk = self.kernels[depth]
        if gating:
            # At depth 1 both kernels between tasks are multiplied by the overlap of independent masks.
            overlap = np.where(self.owner[:, None] == self.owner[None], 1.0, gating)
            nngp, ntk = nngp * overlap, ntk * overlap
        make = lambda beta: ebbing.SingleHead.from_kernels(nngp, given, ntk=None if mode == "rf" else ntk, mode=mode, beta=beta)
        try:
            return make(beta)
        except ebbing.NumericalError:
            # An image that two tasks hold is learned twice where it is kept: the kernel is singular without a ridge.
            return make(1e5)

    def alone(self, mode: str, depth: int) -> dict:
        """Every task with a readout of its own: what is learned alone is kept."""
        found = []
        for t in range(len(self.tasks)):
            predicted = self.theory(mode, depth, order=[t]).forecast()
            found.append(np.array(predicted["test"]["accuracy"])[0, 0])
        return {"lost": 0.0, "accuracy": round(float(np.mean(found)), 4), "forgetting": 0.0}

    def grid(self, learner: Learner | None = None) -> dict[str, dict]:
        """Every mode and depth for what a network is asked to do."""
        asked = learner.settings if learner else {"replay": 0, "gating": 0.0, "heads": False}
        kept = learner.kept if asked["replay"] else None
        depths = [1] if asked["gating"] else list(self.kernels)
        if asked["heads"]:
            return {f"{mode}-{d}": self.alone(mode, d) for mode in ("rf", "lazy") for d in depths}
        made = {f"{mode}-{d}": outcome(self.theory(mode, d, kept=kept, gating=asked["gating"])) for mode in MODES for d in depths}
        for name, (mode, depth, beta) in WARM.items():
            if depth in depths:
                made[name] = outcome(self.theory(mode, depth, kept=kept, gating=asked["gating"], beta=beta))
        return made


def from_features(learner: Learner) -> dict[str, dict]:
    """Forecasts from the last hidden layer at the start, of which only the readout learns: to the end, and at a temperature."""
    began = time.process_time()
    see = lambda x: learner.network.features(torch.from_numpy(x)).double().numpy()
    with torch.no_grad():
        # A constant feature is the readout's bias.
        seen = [[np.column_stack([see(x), np.ones(len(x))]) for x in (t.x, t.x_test)] for t in learner.tasks]
    given = [(a, targets(t.y, learner.outputs), b, targets(t.y_test, learner.outputs)) for (a, b), t in zip(seen, learner.tasks)]
    diagonal = np.mean([(a**2).mean() for a, _ in seen])
    betas = {"features": np.inf, "features-b10": 10 / diagonal, "features-b1": 1 / diagonal}
    made = {name: outcome(ebbing.SingleHead.from_features(given, beta=beta)) for name, beta in betas.items()}
    made["features"]["seconds"] = round((time.process_time() - began) / len(betas), 2)
    return made


def from_gradients(learner: Learner) -> dict:
    """The forecast from the network's gradients at the start (its tangent features), for one output."""
    began = time.process_time()
    given = [(t.x, targets(t.y, 1)[:, 0], t.x_test, targets(t.y_test, 1)[:, 0]) for t in learner.tasks]
    made = ebbing.torch.tangent_features(learner.network, given, dim=4096)
    return {**outcome(ebbing.SingleHead.from_features(made)), "seconds": round(time.process_time() - began, 2)}
