"""Networks of finite width to hold the theory against: trained, or sampled from the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _plotting
from ._arrays import Array, lower, task_names
from ._ebbing import NumericalError
from ._result import Answer, Result
from ._table import Table, frame, matrix_frame, matrix_table, names_of, table

#: What is known of a network on every task after every task.
MATRICES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")


class TrainedNetwork(Result):
    """A trained network's losses and accuracies, indexed [t, s]: after task t, on task s; nan before s is learned.

    `train_loss` is the forgetting matrix F; `test_loss`, `train_accuracy`, `test_accuracy` are nan where undefined; `reports`
    say how each task was learned, `learner` by which rule. `weights` are those after the last task, in float32: the hidden layers
    `W` (out × in), first layer first, then the readouts `a` (targets × width), one or one per task: `h ← φ(h Wᵀ/√in)`,
    `f = h aᵀ/√width`.
    """

    learner: dict[str, Any]
    train_loss: Array
    test_loss: Array
    train_accuracy: Array
    test_accuracy: Array
    reports: list[dict[str, Any]]
    weights: list[npt.NDArray[np.float32]]
    tasks: list[str]

    def forgetting(self) -> Array:
        """`F[t, s] = Σ(f_t(x)−y)²/|Y_s|²` on training data."""
        return self.train_loss

    def to_pandas(self) -> Any:
        """The forgetting matrix as a `DataFrame`, tasks by name or counted from 1."""
        return matrix_frame(self.train_loss, self.tasks)

    def plot(self, ax: Any = None) -> Any:
        """The forgetting matrix."""
        return _plotting.heat_map(self.train_loss, "F, trained network", ax, self.tasks)

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        shown = [matrix_table("Forgetting F (0: remembered, 1: as bad as answering 0)", self.train_loss, self.tasks)]
        if np.isfinite(self.test_accuracy).any():
            shown.append(matrix_table("Test accuracy", self.test_accuracy, self.tasks))
        columns = {"task": names_of(self.tasks), "learned": ["yes" if r["learned"] else "no" for r in self.reports]}
        names = {"steps": "steps", "mse": "training error", "stop": "stopped", "moved": "moved"}
        columns |= {head: [report[name] for report in self.reports] for name, head in names.items()}
        return [*shown, table("How each task was learned", columns)]


class Trained(Answer):
    """What networks do that `ebbing train` trains.

    `runs` are the `TrainedNetwork`s, every learner's in turn, one per seed; those that `diverged` are left out, with a sentence each.
    What a `TrainedNetwork` has (`train_loss`, `reports`, `weights`, …), this has of the first of them. `theory` holds the theory's
    loss of task 1 after each task, with one readout for all. With `loads` there are instead the `points`, what was measured at every
    load, and the `critical_load`.
    """

    runs: list[TrainedNetwork]
    diverged: list[str]
    theory: dict[str, Any] | None
    points: list[dict[str, Any]]
    critical_load: float | None
    train_loss: Array
    test_loss: Array
    train_accuracy: Array
    test_accuracy: Array
    reports: list[dict[str, Any]]
    weights: list[npt.NDArray[np.float32]]
    tasks: list[str]
    settings: dict[str, Any]

    @classmethod
    def of(cls, found: dict[str, Any], about: dict[str, Any]) -> Trained:
        """From what the library answers."""
        learners = found.get("learners", [])
        runs = [
            TrainedNetwork(
                learner=learner["learner"],
                **{name: lower(run[name]) for name in MATRICES},
                reports=run["reports"],
                weights=weights,
                tasks=about["tasks"],
            )
            for learner, networks in zip(learners, found.get("networks", []))
            for run, weights in zip(learner["runs"], networks)
        ]
        diverged = [sentence for learner in learners for sentence in learner["diverged"]]
        if learners and not runs:
            raise NumericalError("; ".join(diverged))
        first = {name: getattr(run, name) for run in runs[:1] for name in (*MATRICES, "reports", "weights")}
        rest = {"theory": found.get("theory"), "points": found.get("points", []), "critical_load": found.get("exact_critical_load")}
        made: Trained = cls.with_page(found, **first, runs=runs, diverged=diverged, **rest, **about)
        return made

    def forgetting(self) -> Array:
        """`F[t, s] = Σ(f_t(x)−y)²/|Y_s|²` of the first network, on training data."""
        return self.train_loss

    def to_pandas(self) -> Any:
        """The first network's forgetting matrix as a `DataFrame`, tasks by name or counted from 1; with `loads` a row per load."""
        return frame(self.points) if self.points else self.runs[0].to_pandas()

    def plot(self, ax: Any = None) -> Any:
        """The first network's forgetting matrix; with `loads` the forgetting of task 1."""
        if not self.points:
            return self.runs[0].plot(ax)
        values = {f"P/N = {point['alpha']:g}": point["f21"]["mean"] for point in self.points if point["f21"]}
        return _plotting.bars(values, "F_{21} at every load", ax)


class SampledPosterior(Answer):
    """What sampled networks do after the last task; every mean has its standard error over chains beside it.

    `u1`, `u1_error` = <a_t·a_s>/N as [t, s]; `forgetting`, `test_loss`, `label_kernel`, `learned` by task with `…_error`;
    `comparison` sets what was sampled beside the theory; `acceptance`, `convergence`, `divergent` and `warnings` say whether the run
    can be trusted.
    """

    u1: Array
    u1_error: Array
    forgetting: Array
    forgetting_error: Array
    test_loss: Array
    test_loss_error: Array
    label_kernel: Array
    label_kernel_error: Array
    learned: Array
    learned_error: Array
    acceptance: Array
    convergence: list[dict[str, Any]]
    divergent: int
    warnings: list[str]
    comparison: list[dict[str, Any]]
    tasks: list[str]
    settings: dict[str, Any]

    @classmethod
    def of(cls, found: dict[str, Any], about: dict[str, Any]) -> SampledPosterior:
        """From what the library answers."""
        sampled, values = found["sampled"], {}
        for name, part in (("u1", "value"), ("u1_error", "standard_error")):
            half = lower([[entry[part] for entry in row] for row in sampled["u1"]])
            values[name] = np.where(np.isnan(half), half.T, half)
        for name in ("forgetting", "test_loss", "label_kernel", "learned"):
            values[name] = np.array([np.nan if e is None else e["value"] for e in sampled[name]])
            values[f"{name}_error"] = np.array([np.nan if e is None else e["standard_error"] for e in sampled[name]])
        values["acceptance"] = np.array(sampled["acceptance"])
        kept = {name: sampled[name] for name in ("convergence", "divergent", "warnings")}
        made: SampledPosterior = cls.with_page(found, **values, **kept, comparison=found["comparison"], **about)
        return made

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per task, by name or counted from 1."""
        names = [name for name in self.__dict__ if isinstance(self.__dict__[name], np.ndarray) and "u1" not in name]
        return frame({"task": task_names(self.tasks)} | {name: self.__dict__[name] for name in names}, ["task"])

    def plot(self, ax: Any = None) -> Any:
        """Forgetting by task with its standard error."""
        called = [f"task {name}" if isinstance(name, int) else name for name in task_names(self.tasks)]
        values = {name: float(v) for name, v in zip(called, self.forgetting)}
        ends = [(float(v - e), float(v + e)) for v, e in zip(self.forgetting, self.forgetting_error)]
        return _plotting.bars(values, "F after the last task, ± standard error", ax, ends)
