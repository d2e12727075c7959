"""Trains a network on one task after another and measures what it has lost: by plain PyTorch, online EWC by Avalanche."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import nn

import networks
from sequences import Task, outputs_of

#: What every run has by default.
DEFAULTS = {
    "network": "mlp",
    "depth": 2,
    "width": 200,
    "optimizer": "adam",
    "loss": "ce",
    "rate": None,
    "epochs": 20,
    "batch": 32,
    "l2": 0.0,
    "ewc": 0.0,
    "replay": 0,
    "gating": 0.0,
    "heads": False,
    "scale": 1.0,
    "seed": 0,
}
#: Learning rates by optimizer and loss.
RATES = {("adam", "ce"): 1e-3, ("adam", "mse"): 1e-3, ("sgd", "ce"): 0.02, ("sgd", "mse"): 0.02}


def make(settings: dict, sequence: dict) -> networks.Network:
    """The network at the start."""
    torch.manual_seed(settings["seed"])
    outputs, width = outputs_of(sequence), settings["width"]
    if settings["network"] == "mlp":
        made = networks.mlp(settings["depth"], width, outputs, sequence["tasks"] if settings["heads"] else 1)
    elif settings["network"] == "cnn":
        made = networks.cnn(8, width, outputs)
    else:
        made = networks.pretrained(sequence["data"], width, outputs)
    if settings["network"] == "frozen":
        made.body.requires_grad_(False)
    return made


def targets(y: np.ndarray, outputs: int) -> np.ndarray:
    """±1 in one column, or one-hot columns."""
    return (2.0 * y - 1)[:, None] if outputs == 1 else (y[:, None] == np.arange(outputs)).astype(float)


def accuracy(answers: torch.Tensor, y: np.ndarray) -> float:
    """The share of right answers."""
    chosen = (answers[:, 0] > 0).long() if answers.shape[1] == 1 else answers.argmax(1)
    return float(np.mean(chosen.numpy() == y))


class Loss:
    """Cross-entropy (logistic for one output) or squared error."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, answers: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        if self.kind == "mse":
            return ((answers - wanted) ** 2).sum(1).mean()
        if answers.shape[1] == 1:
            return nn.functional.binary_cross_entropy_with_logits(answers, (wanted + 1) / 2)
        return nn.functional.cross_entropy(answers, wanted)


class Learner:
    """A network that learns task after task."""

    def __init__(self, tasks: list[Task], sequence: dict, asked: dict) -> None:
        self.settings = {**DEFAULTS, **asked}
        self.tasks, self.outputs = tasks, outputs_of(sequence)
        self.network = make(self.settings, sequence)
        self.loss = Loss(self.settings["loss"])
        self.rng = np.random.default_rng([19, self.settings["seed"]])
        self.data = [(torch.from_numpy(t.x), torch.tensor(targets(t.y, self.outputs), dtype=torch.float32)) for t in tasks]
        self.tests = [torch.from_numpy(t.x_test) for t in tasks]
        kept = self.settings["replay"]
        self.kept = [self.rng.choice(len(t.x), min(kept, len(t.x)), replace=False) for t in tasks]
        share, width = self.settings["gating"], self.settings["width"]
        drawn = lambda: torch.from_numpy((self.rng.permutation(width) < round(share * width)) / share**0.5).float()
        self.masks = [[drawn() for _ in self.network.body] for _ in tasks] if share else None
        # A large scale keeps the features nearly still while the same function is learned; a small one makes them move.
        self.start = None
        if self.settings["scale"] != 1:
            self.start = make(self.settings, sequence)

    def answers(self, x: torch.Tensor) -> torch.Tensor:
        if self.start is None:
            return self.network(x)
        with torch.no_grad():
            before = self.start(x)
        return self.settings["scale"] * (self.network(x) - before)

    def optimizer(self) -> torch.optim.Optimizer:
        kind, loss = self.settings["optimizer"], self.settings["loss"]
        rate = self.settings["rate"] or RATES[kind, loss]
        free = [p for p in self.network.parameters() if p.requires_grad]
        if kind == "adam":
            return torch.optim.Adam(free, rate / max(self.settings["scale"], 1), fused=True)
        return torch.optim.SGD(free, rate / max(self.settings["scale"], 1) ** 2, momentum=0.9)

    def at(self, t: int) -> None:
        """Sets readout and mask of a task, where each has its own."""
        self.network.head = t if self.settings["heads"] else 0
        self.network.mask = self.masks[t] if self.masks else None

    def learn(self, t: int) -> None:
        """Trains on task t and what was kept of the tasks before it."""
        self.at(t)
        x, y = self.data[t]
        if self.settings["replay"]:
            x = torch.cat([x, *(self.data[s][0][self.kept[s]] for s in range(t))])
            y = torch.cat([y, *(self.data[s][1][self.kept[s]] for s in range(t))])
        optimizer, l2 = self.optimizer(), self.settings["l2"] if t else 0.0
        before = [p.detach().clone() for p in self.network.parameters()] if l2 else []
        order = torch.Generator().manual_seed(1000 * self.settings["seed"] + t)
        for _ in range(self.settings["epochs"]):
            for rows in torch.randperm(len(x), generator=order).split(self.settings["batch"]):
                optimizer.zero_grad()
                value = self.loss(self.answers(x[rows]), y[rows])
                value.backward()
                for p, q in zip(self.network.parameters(), before):
                    p.grad.add_(p.detach() - q, alpha=l2)  # of l2/2 |θ − θ_before|²
                optimizer.step()

    @torch.no_grad()
    def measure(self, t: int) -> tuple[float, float, float]:
        """Held-out accuracy, held-out loss and training accuracy on task t."""
        self.at(t)
        answers = self.answers(self.tests[t])
        wanted = torch.tensor(targets(self.tasks[t].y_test, self.outputs), dtype=torch.float32)
        return accuracy(answers, self.tasks[t].y_test), float(self.loss(answers, wanted)), accuracy(self.answers(self.data[t][0]), self.tasks[t].y)


def run(tasks: list[Task], sequence: dict, asked: dict) -> dict:
    """Accuracies when learned and at the end, held-out loss at the end, training accuracy when learned, and the time."""
    began = time.process_time()
    learner = Learner(tasks, sequence, asked)
    learn = by_avalanche(learner) if learner.settings["ewc"] else learner.learn
    learned = []
    for t in range(len(tasks)):
        learn(t)
        learned.append(learner.measure(t))
    final = [learner.measure(t) for t in range(len(tasks))]
    return outcome([m[0] for m in learned], [m[0] for m in final], [m[1] for m in final], [m[2] for m in learned], time.process_time() - began)


def outcome(learned: list[float], final: list[float], losses: list[float], trained: list[float], seconds: float) -> dict:
    """A run as it is stored: losses of accuracy are means over all tasks but the last."""
    return {
        "lost": round(float(np.mean(np.subtract(learned, final)[:-1])), 4),
        "accuracy": round(float(np.mean(final)), 4),
        "learned": [round(a, 3) for a in learned],
        "final": [round(a, 3) for a in final],
        "test_loss": float(f"{np.mean(losses):.3g}"),
        "trained": round(float(np.mean(trained)), 4),
        "seconds": round(seconds, 2),
    }


def by_avalanche(learner: Learner):
    """Learns by Avalanche's training loop with its plugin for online EWC."""
    from avalanche.benchmarks.utils import AvalancheDataset, DataAttribute
    from avalanche.benchmarks import benchmark_from_datasets
    from avalanche.training.plugins import EWCPlugin
    from avalanche.training.templates import SupervisedTemplate
    from torch.utils.data import TensorDataset

    def dataset(t: int) -> AvalancheDataset:
        labels = learner.data[t][1] if learner.outputs == 1 else torch.from_numpy(learner.tasks[t].y).long()
        own = TensorDataset(learner.data[t][0], labels)
        marks = [DataAttribute(list(map(float, labels[:, 0])) if learner.outputs == 1 else labels.tolist(), "targets")]
        return AvalancheDataset(own, data_attributes=[*marks, DataAttribute([0] * len(own), "targets_task_labels", use_in_getitem=True)])

    criterion = learner.loss if learner.outputs == 1 else nn.CrossEntropyLoss()
    strategy = SupervisedTemplate(
        model=learner.network,
        optimizer=learner.optimizer(),
        criterion=criterion,
        train_mb_size=learner.settings["batch"],
        train_epochs=learner.settings["epochs"],
        plugins=[EWCPlugin(learner.settings["ewc"], mode="online", decay_factor=0.9)],
        evaluator=None,
    )
    stream = benchmark_from_datasets(train=[dataset(t) for t in range(len(learner.tasks))]).train_stream
    return lambda t: strategy.train(stream[t])
