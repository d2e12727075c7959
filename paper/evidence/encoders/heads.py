"""Trains a head on features, one task after another, and measures what it has lost."""

from __future__ import annotations

import copy
import time

import numpy as np
import torch
from torch import nn

from .draw import Task

#: What a head has unless it says otherwise.
DEFAULTS = {"decay": 0.0, "smoothing": 0.0, "method": None, "strength": 0.0, "apart": False, "seed": 0}
#: Temperature at which learning without forgetting compares answers.
WARMTH = 2.0


class Head:
    """ReLU layers and a readout (or one per task) that learns one task after another."""

    def __init__(self, tasks: list[Task], outputs: int, settings: dict, kept: list[np.ndarray], number: int) -> None:
        self.settings = {**DEFAULTS, **settings}
        self.tasks, self.kept, self.outputs = tasks, kept, outputs
        torch.manual_seed(1000 * number + self.settings["seed"])
        sizes = [tasks[0].x.shape[1], *self.settings["hidden"]]
        self.body = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.readouts = nn.ModuleList(nn.Linear(sizes[-1], outputs) for _ in range(len(tasks) if self.settings["apart"] else 1))
        self.network = nn.ModuleList([self.body, self.readouts])
        self.x = [torch.from_numpy(t.x) for t in tasks]
        self.y = [torch.from_numpy(t.y).long() for t in tasks]
        self.test = [torch.from_numpy(t.x_test) for t in tasks]
        self.order = torch.Generator().manual_seed(7 + 1000 * number + self.settings["seed"])
        self.fisher: list[torch.Tensor] | None = None
        self.anchor: list[torch.Tensor] = []
        self.steps: list[int] = []

    def layers(self, x: torch.Tensor, task: int = 0) -> list[torch.Tensor]:
        """Inputs of every layer of weights, and at last the answers."""
        made = [x]
        for layer in self.body:
            made.append(torch.relu(layer(made[-1])))
        made.append(self.readouts[task if self.settings["apart"] else 0](made[-1]))
        return made

    def learn(self, t: int) -> None:
        """Trains on task t and what was kept of the tasks before it."""
        s = self.settings
        x = torch.cat([self.x[t], *(self.x[e][self.kept[e]] for e in range(t) if len(self.kept[e]))])
        y = torch.cat([self.y[t], *(self.y[e][self.kept[e]] for e in range(t) if len(self.kept[e]))])
        weights = list(self.network.parameters())
        if s["optimizer"] == "adam":
            optimizer = torch.optim.AdamW(weights, s["rate"], weight_decay=s["decay"], fused=True)
        else:
            optimizer = torch.optim.SGD(weights, s["rate"], momentum=0.9, weight_decay=s["decay"], fused=True)
        before = copy.deepcopy(self) if s["method"] == "lwf" and t else None
        steps = 0
        for _ in range(s["epochs"]):
            for rows in torch.randperm(len(x), generator=self.order).split(s["batch"]):
                optimizer.zero_grad()
                answers = self.layers(x[rows], t)[-1]
                value = nn.functional.cross_entropy(answers, y[rows], label_smoothing=s["smoothing"])
                if before is not None:
                    value = value + s["strength"] * self.unlike(before, x[rows], answers)
                value.backward()
                if self.fisher is not None:
                    for w, f, a in zip(weights, self.fisher, self.anchor):
                        if w.grad is not None:
                            w.grad.addcmul_(f, w.detach() - a, value=s["strength"])
                optimizer.step()
                steps += 1
        self.steps.append(steps)
        if s["method"] == "ewc":
            self.remember(t)

    def unlike(self, before: "Head", x: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
        """How far answers of the classes seen before have moved (learning without forgetting)."""
        seen = before.seen
        with torch.no_grad():
            old = torch.softmax(before.layers(x)[-1][:, seen] / WARMTH, 1)
        new = torch.log_softmax(answers[:, seen] / WARMTH, 1)
        return WARMTH**2 * nn.functional.kl_div(new, old, reduction="batchmean")

    @property
    def seen(self) -> torch.Tensor:
        """Classes of the tasks that were learned."""
        return torch.unique(torch.cat(self.y[: len(self.steps)]))

    @torch.no_grad()
    def remember(self, t: int) -> None:
        """Adds the Fisher information of task t: mean squares of the gradients of single examples, its classes as they are."""
        made = self.layers(self.x[t])
        answers = torch.softmax(made[-1], 1)
        back = answers - nn.functional.one_hot(self.y[t], self.outputs)
        found: list[torch.Tensor] = []
        n = len(back)
        chain = [*self.body, self.readouts[0]]
        for k in range(len(chain) - 1, -1, -1):
            found[:0] = [(back**2).T @ made[k] ** 2 / n, (back**2).mean(0)]
            if k:
                back = (back @ chain[k].weight) * (made[k] > 0)
        self.fisher = found if self.fisher is None else [a + b for a, b in zip(self.fisher, found)]
        self.anchor = [w.detach().clone() for w in self.network.parameters()]

    @torch.no_grad()
    def right(self, t: int) -> np.ndarray:
        """Which test examples of task t are answered rightly, among all classes."""
        return self.layers(self.test[t], t)[-1].argmax(1).numpy() == self.tasks[t].y_test

    @torch.no_grad()
    def known(self, t: int) -> float:
        """The same share among the classes of the task alone."""
        own = np.unique(self.tasks[t].y)
        return float(np.mean(own[self.layers(self.test[t], t)[-1][:, own].argmax(1).numpy()] == self.tasks[t].y_test))

    @torch.no_grad()
    def trained(self, t: int) -> float:
        return float(np.mean(self.layers(self.x[t], t)[-1].argmax(1).numpy() == self.tasks[t].y))


def bits(rows: list[np.ndarray]) -> str:
    """Yes and no of every example of every task, in hexadecimal."""
    return np.packbits(np.concatenate(rows)).tobytes().hex()


def run(tasks: list[Task], outputs: int, settings: dict, kept: list[np.ndarray], number: int, single: bool = False) -> dict:
    """Accuracies when learned and at the end, and the seconds of one core that training took; `single` adds every test example."""
    head, learned, trained = Head(tasks, outputs, settings, kept, number), [], []
    seconds = 0.0
    for t in range(len(tasks)):
        began = time.process_time()
        head.learn(t)
        seconds += time.process_time() - began
        learned.append(head.right(t))
        trained.append(head.trained(t))
    final = [head.right(t) for t in range(len(tasks))]
    share = lambda rows: [round(float(r.mean()), 3) for r in rows]
    found = {
        "lost": round(float(np.mean([a.mean() - b.mean() for a, b in zip(learned, final)][:-1])), 4),
        "accuracy": round(float(np.mean([r.mean() for r in final])), 4),
        "known": round(float(np.mean([head.known(t) for t in range(len(tasks))])), 4),
        "learned": share(learned),
        "final": share(final),
        "trained": round(float(np.mean(trained)), 4),
        "steps": head.steps[-1],
        "seconds": round(seconds, 2),
    }
    if not all(torch.isfinite(w).all() for w in head.network.parameters()):
        found["diverged"] = True
    return {**found, "right": [bits(learned), bits(final)]} if single else found
