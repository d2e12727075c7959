"""Everything a forecast reports on a sequence of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _plotting
from ._arrays import Array, task_names, two_of
from ._order import OrderParameters, by_name
from ._result import Answer
from ._statistics import ForgettingFit, Metrics, VarianceExplained
from ._table import frame, matrix_frame


class Forecast(Answer):
    """Everything `ebbing forecast` reports; matrices are indexed [t, s]: after task t, on task s, both from 0.

    | attribute | |
    |---|---|
    | `lost`, `final_accuracy`, `chance` | of trained networks: accuracy lost by the end, accuracy at the end, what guessing gives |
    | `accuracy` | forecast test accuracy of trained networks after every task on every task |
    | `keep` | final accuracy against the examples of each class that are kept |
    | `heads` | heads in closed form on these inputs, which do not forget |
    | `examples` | what becomes of every example: class, output, margins, fate, the twenty most at risk and every class, per task, training and test (`at_risk=True`) |
    | `directions` | where the forgetting sits: singular values and directions of the change of outputs of every task (`at_risk=True` or `theory=True`) |
    | `forgetting`, `forgetting_error` | F[t, s] on training data, and its standard error over seeds; None where the theory's own quantities would take long (`theory=True` computes them) |
    | `pairs` | order parameters of all ordered pairs of tasks |
    | `worst` | the pair that conflicts most, and why |
    | `fit` | the exponential fit of the first task's forgetting curve |
    | `train_accuracy`, `test_loss`, `generalization`, `test_accuracy`, `metrics` | where the data allow them |
    | `task_accuracy` | test accuracy among each task's own classes (task-incremental), where that is anything else |
    | `f21_at_lambda_zero`, `delta_f21` | forgetting without the penalty, and what the penalty changes |
    | `expected` | between what the loss of accuracy and the final accuracy of trained networks lay with such a forecast |
    | `outside` | why `expected` is None: how the tasks are unlike those whose networks were measured |
    | `depths`, `order` | other depths, and the best order of tasks, where asked for |
    | `lambdas`, `widths` | final forgetting and accuracy at other penalties, and at other widths with a readout per task, where asked for |
    | `explained` | how much of the variance of a pair's forgetting γ_RF and γ_rule explain over all pairs and draws, with several draws |
    | `digits`, `notes` | how many digits are right, and what to know |
    | `answer`, `theory`, `assumes` | what the numbers say, what the theory's own quantities say, and what all assume, in sentences |
    """

    tasks: list[str]
    seeds: int
    lost: float | None
    final_accuracy: float | None
    chance: float | None
    accuracy: Array | None
    keep: dict[str, Any] | None
    heads: dict[str, Any] | None
    examples: dict[str, Any] | None
    directions: dict[str, Any] | None
    forgetting: Array | None
    forgetting_error: Array | None
    pairs: list[OrderParameters]
    pair_errors: list[dict[str, float] | None]
    worst: dict[str, Any] | None
    fit: ForgettingFit | None
    train_accuracy: Array | None
    test_loss: Array | None
    generalization: Array | None
    test_accuracy: Array | None
    task_accuracy: Array | None
    metrics: Metrics | None
    f21_at_lambda_zero: float | None
    delta_f21: float | None
    depths: list[dict[str, Any]]
    lambdas: list[dict[str, Any]]
    widths: list[dict[str, Any]]
    explained: VarianceExplained | None
    order: dict[str, Any] | None
    expected: dict[str, Any] | None
    outside: str | None
    digits: float
    notes: list[str]
    answer: list[str]
    theory: list[str]
    assumes: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, found: dict[str, Any], about: dict[str, Any]) -> Forecast:
        """From what the library answers."""
        outlook = found["forecast"]
        test, draws, trained = outlook["test"] or {}, outlook["seeds"], outlook.get("trained") or {}
        kept = ("seeds", "worst", "f21_at_lambda_zero", "delta_f21", "depths", "order", "expected", "digits", "notes")
        made: Forecast = cls.with_page(
            found,
            **about,
            **{name: outlook[name] for name in kept},
            assumes=found["assumes"],
            theory=found["theory"],
            explained=VarianceExplained.of(outlook["explained"]) if outlook.get("explained") else None,
            lambdas=outlook.get("lambdas", []),
            widths=outlook.get("widths", []),
            **{name: trained.get(name) for name in ("lost", "final_accuracy", "chance")},
            accuracy=_mean(trained.get("accuracy")),
            **{name: outlook.get(name) for name in ("keep", "heads", "examples", "directions")},
            outside=outlook.get("outside"),
            forgetting=_mean(outlook.get("forgetting")),
            forgetting_error=_error(outlook.get("forgetting")),
            pairs=[_pair(pair, draws) for pair in outlook["pairs"]],
            pair_errors=[pair["standard_error"] and by_name(pair["standard_error"]) for pair in outlook["pairs"]],
            fit=ForgettingFit.of(outlook["fit"]) if outlook["fit"] else None,
            train_accuracy=_mean(outlook["train_accuracy"]),
            test_loss=_mean(test.get("loss")),
            generalization=_mean(test.get("generalization")),
            test_accuracy=_mean(test.get("accuracy")),
            task_accuracy=_mean(test.get("task_accuracy")),
            metrics=Metrics.of(test["metrics"]) if test.get("metrics") else None,
        )
        return made

    def pair(self, first: int | str, second: int | str) -> OrderParameters:
        """Order parameters of a pair, tasks by name or counted from 1."""
        wanted = two_of((first, second), self.tasks)
        return next(pair for pair in self.pairs if (pair.first, pair.second) == wanted)

    @property
    def best_order(self) -> list[Any] | None:
        """The best order found, by the names of tasks or their numbers; None where it was not searched."""
        return None if self.order is None else named(self.order["order"], self.tasks)

    def to_pandas(self, what: str = "forgetting") -> Any:
        """A `DataFrame`: the `forgetting` matrix, all `pairs` (intervals, null and p-values where there are some), all
        `accuracies` (one row per time and task: losses and accuracies, training and held-out), every one of the `examples`, or what
        was swept: `lambdas`, `widths`.

        Tasks go by their names, or count from 1 where they have none.
        """
        if what == "forgetting":
            if self.forgetting is None:
                raise ValueError("the theory's own quantities of tasks of this size were left out; give theory=True to forecast")
            return matrix_frame(self.forgetting, self.tasks)
        if what == "pairs":
            both = [dict(zip(("first", "second"), named((p.first, p.second), self.tasks))) for p in self.pairs]
            return frame([called | p.flat() for called, p in zip(both, self.pairs)], ["first", "second"])
        if what == "accuracies":
            return self._accuracies()
        if what == "examples":
            return self._examples()
        if what in ("lambdas", "widths"):
            points = getattr(self, what)
            if not points:
                raise ValueError(f"no {what} were swept; give {what}=[…] to forecast")
            return frame(points, ["width", "lambda"] if what == "widths" else ["lambda"])
        raise ValueError(f"what is {what!r}; it must be forgetting, pairs, accuracies, examples, lambdas or widths")

    def _examples(self) -> Any:
        if self.examples is None:
            raise ValueError("the fate of single examples was not asked for; give at_risk=True to forecast")
        names = self.examples["class_names"]
        rows = []
        for task in self.examples["tasks"]:
            for which, found in (("train", task["train"]), ("test", task["test"])):
                for row in range(len(found["class"]) if found else 0):
                    label = found["class"][row]
                    numbers = {key: found[key][row] for key in ("output", "margin_own", "margin", "chance", "fate")}
                    rows.append({"task": task["name"], "set": which, "row": row, "class": None if label is None else names[label], **numbers})
        return frame(rows)

    def _accuracies(self) -> Any:
        names = task_names(self.tasks)
        matrices = {"forgetting": self.forgetting, "train_accuracy": self.train_accuracy, "test_loss": self.test_loss}
        matrices |= {"generalization": self.generalization, "test_accuracy": self.test_accuracy}
        matrices |= {"task_accuracy": self.task_accuracy}
        known = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        cells = [(t, s) for t in range(len(names)) for s in range(len(names))]
        rows = [{"after task": names[t], "on task": names[s], **{k: m[t, s] for k, m in known.items()}} for t, s in cells]
        return frame(rows, ["after task", "on task"])

    def plot(self, ax: Any = None, *, theory: bool = False) -> Any:
        """The three charts of the answer: how much each task loses, how many examples to keep, what else would help (the first one
        into `ax`). Without test data of classes, or with `theory=True`, the forgetting matrix, the first task's curve with its fit, and
        where there are intervals those of all pairs."""
        return _plotting.forecast(self, ax) if theory or self.accuracy is None else _plotting.answer(self, ax)

    def shown_pairs(self) -> list[OrderParameters]:
        """The pairs that are shown: all in the order learned if tasks are few, else consecutive ones."""
        few = len(self.tasks) <= 4
        return [p for p in self.pairs if (p.first < p.second if few else p.second == p.first + 1)]

    def arrow(self, pair: OrderParameters) -> str:
        """A pair by its tasks: `dogs → cats`."""
        return " → ".join(map(str, named((pair.first, pair.second), self.tasks)))


def named(numbers: Sequence[int], tasks: Sequence[str]) -> list[Any]:
    """Tasks that count from 1 by their names, where they have some.

    >>> named([2, 1], ["dogs", "cats"]), named([2, 1], ["task 1", "task 2"])
    (['cats', 'dogs'], [2, 1])
    """
    names = task_names(tasks)
    return [names[number - 1] for number in numbers]


def _pair(pair: dict[str, Any], draws: int) -> OrderParameters:
    """A pair of tasks: what is known of one draw, or means over several, whose intervals are those of the first one."""
    first = OrderParameters.of_pair(pair["detail"])
    if draws == 1:
        return first
    means = {**pair["detail"], "values": pair["values"], "interval": None, "null": None}
    return OrderParameters.of_pair(means, first_draw=first)


def _mean(averaged: dict[str, Any] | None) -> Any:
    return None if averaged is None else np.array(averaged["mean"])


def _error(averaged: dict[str, Any] | None) -> Any:
    return None if averaged is None or averaged["standard_error"] is None else np.array(averaged["standard_error"])
