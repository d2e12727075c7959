"""Losses and accuracies of outputs, and the result of a forecast on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array, task_names
from ._cluster_data import ClusterTask
from ._cluster_theory import Outcome, Pair
from ._forecast import Forecast
from ._order import NAMES, OrderParameters, by_name
from ._statistics import fit_forgetting, metrics
from ._table import Table, clean, matrix_table, pandas, significant, symbol, table


class ClusterForecast(Forecast):
    """What `ebbing.dask.forecast` returns: a `Forecast` with what every solve took.

    `solves` holds one dictionary per block of right-hand sides: `task`, `what`, `kernel`, `columns`, `iterations`, `residual` (the
    largest relative one of its columns, from a product of its own) and `condition` (estimated). `residual` is the largest of all,
    `converged` whether each is within the `tolerance`. `kernel_bytes` is what of kernels the workers held at most.

    γ_feature and γ_sim are estimated from random probes: `standard_error` of each pair has their error, 0 for the others.
    `digits` is `−log₁₀(residual √condition)`, a bound on the outputs' error at the residuals reached. What needs all orders, other
    depths, or factors of kernels (`order`, `depths`, `lambdas`, `widths`, `expected`) is None or empty.
    """

    solves: list[dict[str, Any]]
    residual: float
    tolerance: float
    converged: bool
    kernel_bytes: int

    def title(self) -> str:
        """What the result is called where it is shown."""
        return f"Forecast of {len(self.tasks)} task{'s' if len(self.tasks) > 1 else ''}"

    def about(self) -> str:
        """Which number is which task, where they have names: sentences count."""
        names = task_names(self.tasks)
        own = names != task_names(len(names))
        return "Tasks: " + ", ".join(f"{t} {name}" for t, name in enumerate(names, 1)) if own else ""

    def to_pandas(self, what: str = "forgetting") -> Any:
        """As of a `Forecast`, and `solves`: one row per block of right-hand sides."""
        return pandas().DataFrame(self.solves) if what == "solves" else super().to_pandas(what)

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        pairs, names = self.shown_pairs(), ("gamma_feature", "gamma_rf", "gamma_rule", "conflict", "f_pair", "gamma_sim")
        columns: dict[str, Any] = {"pair": [_ebbing.literal(self.arrow(pair)) for pair in pairs]}
        columns |= {symbol(name): [clean(getattr(p, name), p.accuracy()) for p in pairs] for name in names}
        learned = np.where(np.tri(len(self.tasks), dtype=bool), np.asarray(self.forgetting), np.nan)
        caption = "Forecast forgetting F, loss on training data (0: remembered, 1: as bad as answering 0)"
        return [table("Order parameters", columns, 100), matrix_table(caption, learned, self.tasks)]


def scored(outputs: list[list[Array]], targets: list[Array]) -> list[Array | None]:
    """Loss, accuracy and accuracy among the task's own classes of every output [t][s]; None where one is undefined."""
    rows = [[_ebbing.scored(f, y) for f, y in zip(row, targets)] for row in outputs]
    each = ([[cell[k] for cell in row] for row in rows] for k in range(3))
    return [None if any(None in row for row in part) else np.array(part) for part in each]


def held_out(outcome: Outcome, tasks: list[ClusterTask], convention: str) -> dict[str, Any]:
    """Losses, accuracies and metrics on held-out data, where every task has some."""
    names = "test_loss", "generalization", "test_accuracy", "task_accuracy", "metrics"
    if outcome.test is None or outcome.alone_test is None:
        return dict.fromkeys(names)
    y = [task.y_test for task in tasks if task.y_test is not None]
    (losses, right, own), alone = scored(outcome.test, y), scored([outcome.alone_test], y)
    assert losses is not None and alone[0] is not None
    same = own is None or (right is not None and np.array_equal(own, right))
    found = None if right is None or alone[1] is None else metrics(right, convention, reference=alone[1][0])
    # What a network solves from the start it solves alone as well.
    ratio = np.where(losses == alone[0], 1.0, losses / np.where(alone[0] > 0, alone[0], np.nan))
    return dict(zip(names, (losses, ratio, right, None if same else own, found)))


def parameters(pairs: dict[tuple[int, int], Pair], tasks: list[ClusterTask], ridge: float, digits: float) -> list[OrderParameters]:
    """Order parameters of all ordered pairs."""
    made = []
    for (i, j), pair in pairs.items():
        errors = {name: pair.error if name in ("gamma_feature", "gamma_sim") else 0.0 for name in NAMES}
        for (first, second), values in zip(((i, j), (j, i)), pair.values):
            made.append(
                OrderParameters(
                    **by_name(values),
                    first=first + 1,
                    second=second + 1,
                    inverse="ridge" if ridge > 0 else "exact",
                    ranks=[tasks[first].x.total, tasks[second].x.total],
                    digits=digits,
                    low=None,
                    high=None,
                    standard_error=errors,
                    null=None,
                    gamma_feature_error=pair.error,
                )
            )
    return sorted(made, key=lambda pair: (pair.first, pair.second))


def worst_of(pairs: list[OrderParameters]) -> dict[str, Any] | None:
    """The pair that conflicts most, of those in the order in which they are learned; None where none does by 0.02 at least."""
    learned = [pair for pair in pairs if pair.first < pair.second]
    if not learned:
        return None
    top = max(learned, key=lambda pair: pair.conflict)
    if top.conflict < 0.02:
        return None
    return {name: getattr(top, name) for name in ("first", "second", "conflict", "gamma_rf")}


def sentences(forgetting: Array, worst: dict[str, Any] | None, free: float | None, notes: list[str]) -> list[str]:
    """What the numbers say."""
    said = []
    if worst is not None:
        said.append(f"Tasks {worst['first']} and {worst['second']} conflict most (conflict {significant(worst['conflict'])}).")
    if len(forgetting) > 1:
        said.append(f"Forecast forgetting of task 1 after {len(forgetting)} tasks is {significant(forgetting[-1, 0])}.")
    if free is not None:
        said.append(f"Without the penalty the forgetting of task 1 after task 2 would be {significant(free)}.")
    return said + [f"Note: {note}." for note in notes]


ASSUMES = (
    "Assumes a wide fully connected network, squared loss, training to the end, and an L2 penalty to the last solution; losses are "
    "those of the mean over networks."
)


def assembled(
    tasks: list[ClusterTask],
    outcome: Outcome,
    pairs: dict[tuple[int, int], Pair],
    solves: list[dict[str, Any]],
    asked: dict[str, Any],
    notes: list[str],
    kernel_bytes: int,
) -> ClusterForecast:
    """The forecast from its parts; `asked` holds ridge, tolerance and convention."""
    residual = max(solve["residual"] for solve in solves)
    condition = max(solve["condition"] for solve in solves)
    digits = float(max(0.0, -np.log10(max(residual, np.finfo(float).eps)) - 0.5 * np.log10(condition)))
    y = [task.y for task in tasks]
    # A task that is learned is right to the residual of its solve: what is left of its loss is zero.
    forgetting, right, _ = scored(outcome.train, y)
    assert forgetting is not None
    forgetting[forgetting <= 2 * residual**2] = 0.0
    free = None if outcome.free is None else _ebbing.scored(outcome.free, y[0])[0]
    listed = parameters(pairs, tasks, asked["ridge"], digits)
    worst = worst_of(listed)
    return ClusterForecast(
        tasks=[task.name for task in tasks],
        seeds=1,
        settings=asked["settings"],
        forgetting=forgetting,
        forgetting_error=None,
        pairs=listed,
        pair_errors=[None] * len(listed),
        worst=worst,
        fit=fit_forgetting(forgetting[:, 0]) if len(tasks) > 2 else None,
        train_accuracy=right,
        **held_out(outcome, tasks, asked["convention"]),
        f21_at_lambda_zero=free,
        delta_f21=None if free is None else float(forgetting[1, 0] - free),
        **{name: [] for name in ("depths", "lambdas", "widths")},
        **dict.fromkeys(("explained", "order", "expected")),
        digits=digits,
        notes=notes,
        answer=sentences(forgetting, worst, free, notes),
        assumes=ASSUMES,
        solves=solves,
        residual=residual,
        tolerance=asked["tolerance"],
        converged=residual <= asked["tolerance"],
        kernel_bytes=kernel_bytes,
    )
