"""What a user might take instead of a forecast: measures of how unlike tasks are, and a small network trained in advance."""

from __future__ import annotations

import time

import numpy as np
import torch

from sequences import Task
from training import Learner, run


def timed(measure):
    """A number and the seconds of one core that it took."""

    def measured(*arguments) -> dict:
        began = time.process_time()
        value = measure(*arguments)
        return {"value": float(f"{value:.4g}"), "seconds": round(time.process_time() - began, 3)}

    return measured


@timed
def mean_distance(tasks: list[Task]) -> float:
    """Distance of the means that tasks have for one label, over the mean norm of an image, averaged over pairs of tasks.

    Pairs that share no label count by the distance of their overall means.
    """
    found = []
    for t, second in enumerate(tasks):
        for first in tasks[:t]:
            shared = np.intersect1d(first.y, second.y)
            pairs = [(first.x[first.y == c], second.x[second.y == c]) for c in shared] or [(first.x, second.x)]
            found += [np.mean([np.linalg.norm(a.mean(0) - b.mean(0)) for a, b in pairs])]
    return float(np.mean(found) / np.mean([np.linalg.norm(t.x, axis=1).mean() for t in tasks]))


def cka(a: np.ndarray, b: np.ndarray) -> float:
    """Linear centered kernel alignment of two sets of features of the same inputs."""
    a, b = a - a.mean(0), b - b.mean(0)
    return float(np.linalg.norm(a.T @ b) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b) + 1e-12))


def experts(tasks: list[Task], sequence: dict) -> tuple[list[Learner], float]:
    """One network per task, each having learned that task alone, and the seconds that took."""
    began, made = time.process_time(), []
    for t in range(len(tasks)):
        made.append(Learner(tasks, sequence, {"width": 100, "epochs": 8}))
        made[-1].learn(t)
    return made, time.process_time() - began


@timed
def feature_dissimilarity(networks: list[Learner], tasks: list[Task]) -> float:
    """One minus the CKA of the hidden layers of networks that learned single tasks, on both tasks' inputs."""
    x = torch.from_numpy(np.concatenate([t.x_test for t in tasks]))
    with torch.no_grad():
        seen = [n.network.features(x).numpy() for n in networks]
    return 1 - float(np.mean([cka(seen[s], seen[t]) for t in range(len(tasks)) for s in range(t)]))


def gradient(learner: Learner, t: int) -> np.ndarray:
    learner.network.zero_grad()
    x, y = learner.data[t]
    learner.loss(learner.network(x), y).backward()
    return torch.cat([p.grad.flatten() for p in learner.network.parameters()]).numpy()


@timed
def gradient_conflict(networks: list[Learner], tasks: list[Task]) -> float:
    """Minus the cosine of the gradients of task s and task t where task s has been learned, averaged over pairs s < t."""
    found = []
    for t in range(1, len(tasks)):
        for s in range(t):
            a, b = gradient(networks[s], s), gradient(networks[s], t)
            found.append(-float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-20)))
    return float(np.mean(found))


def fisher(learner: Learner, t: int) -> np.ndarray:
    """Mean squares of the gradients of 30 examples: the empirical Fisher information's diagonal, scaled to sum 1."""
    total = 0.0
    for row in range(min(30, len(learner.data[t][0]))):
        learner.network.zero_grad()
        x, y = learner.data[t][0][row : row + 1], learner.data[t][1][row : row + 1]
        learner.loss(learner.network(x), y).backward()
        total = total + torch.cat([p.grad.flatten() ** 2 for p in learner.network.parameters()]).numpy()
    return total / max(total.sum(), 1e-20)


@timed
def curvature_distance(networks: list[Learner], tasks: list[Task]) -> float:
    """½ |√F_s − √F_t|²: Fisher informations of both tasks where task s has been learned, averaged over neighbors."""
    found = []
    for s in range(len(tasks) - 1):
        a, b = fisher(networks[s], s), fisher(networks[s], s + 1)
        found.append(0.5 * float(((np.sqrt(a) - np.sqrt(b)) ** 2).sum()))
    return float(np.mean(found))


def proxy(tasks: list[Task], sequence: dict) -> dict:
    """A small network (one layer of 50 units, ten epochs on half of the examples) trained on the sequence itself."""
    half = [Task(t.x[::2], t.y[::2], t.x_test, t.y_test) for t in tasks]
    found = run(half, sequence, {"depth": 1, "width": 50, "epochs": 10, "seed": 77})
    return {name: found[name] for name in ("lost", "accuracy", "seconds")}


def all_of(tasks: list[Task], sequence: dict) -> dict:
    """Every measure; those of trained networks cost their training too."""
    found = {"mean distance": mean_distance(tasks)}
    networks, cost = experts(tasks, sequence)
    for name, measure in (("CKA", feature_dissimilarity), ("gradient conflict", gradient_conflict), ("curvature distance", curvature_distance)):
        found[name] = measure(networks, tasks)
        found[name]["seconds"] = round(found[name]["seconds"] + cost, 3)
    return {**found, "proxy network": proxy(tasks, sequence)}
