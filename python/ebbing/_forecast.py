"""Everything a forecast tells about a sequence of tasks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array, TaskSequence, as_sequence, native, task_names, two_of
from ._order import OrderParameters, by_name
from ._progress import Listener, listener
from ._result import Result
from ._settings import bias_variance, count, encode, given, in_python, resamplings, weight_variance
from ._statistics import ForgettingFit, Metrics, VarianceExplained
from ._table import Table, frame, matrix_frame, matrix_table, setting, significant, symbol, with_error


#: What the tables of sweeps tell.
DEPTHS = (
    "What depth would change: order parameters over consecutive pairs; F_{21}, the loss of task 1 after task 2; mean final "
    "forgetting"
)
LAMBDAS = "What the penalty λ would change, where all weights learn (mode gibbs)"
WIDTHS = "A readout per task at other widths N"

#: The order parameters in tables of pairs.
NAMES_SHOWN = ("gamma_feature", "gamma_rf", "gamma_rule", "conflict", "f_pair", "gamma_sim")


class Forecast(Result):
    """Everything `ebbing forecast` tells; matrices are indexed [t, s]: after task t, on task s, both from 0.

    | attribute | |
    |---|---|
    | `forgetting`, `forgetting_error` | F[t, s] on training data, and its standard error over seeds |
    | `pairs` | order parameters of all ordered pairs of tasks |
    | `worst` | the pair that conflicts most, and why |
    | `fit` | the exponential fit of the first task's forgetting curve |
    | `train_accuracy`, `test_loss`, `generalization`, `test_accuracy`, `metrics` | where the data allow them |
    | `task_accuracy` | test accuracy among each task's own classes (task-incremental), where that is anything else |
    | `f21_at_lambda_zero`, `delta_f21` | forgetting without the penalty, and what the penalty changes |
    | `expected` | between what the loss of accuracy and the final accuracy of networks that people train lay with such a forecast |
    | `depths`, `order` | other depths, and the best order of tasks, where asked for |
    | `lambdas`, `widths` | final forgetting and accuracy at other penalties, and at other widths with a readout per task, where asked for |
    | `explained` | how much of the variance of a pair's forgetting γ_RF and γ_rule explain over all pairs and draws, with several draws |
    | `digits`, `notes` | how many digits are right, and what to know |
    | `answer`, `assumes` | what the numbers say, and what they assume, in sentences |
    """

    tasks: list[str]
    seeds: int
    forgetting: Array
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
    digits: float
    notes: list[str]
    answer: list[str]
    assumes: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, outlook: dict[str, Any], settings: dict[str, Any]) -> Forecast:
        """From what the compiled half tells."""
        test = outlook["test"] or {}
        pairs = [_pair(pair, outlook["seeds"]) for pair in outlook["pairs"]]
        kept = ("tasks", "seeds", "worst", "f21_at_lambda_zero", "delta_f21", "depths", "order", "expected", "digits", "notes")
        return cls(
            **{name: outlook[name] for name in (*kept, "assumes")},
            answer=in_python(outlook["answer"]),
            settings=settings,
            explained=VarianceExplained.of(outlook["explained"]) if outlook.get("explained") else None,
            lambdas=_swept(outlook.get("lambdas", [])),
            widths=_swept(outlook.get("widths", [])),
            forgetting=_mean(outlook["forgetting"]),
            forgetting_error=_error(outlook["forgetting"]),
            pairs=pairs,
            pair_errors=[pair["standard_error"] and by_name(pair["standard_error"]) for pair in outlook["pairs"]],
            fit=ForgettingFit.of(outlook["fit"]) if outlook["fit"] else None,
            train_accuracy=_mean(outlook["train_accuracy"]),
            test_loss=_mean(test.get("loss")),
            generalization=_mean(test.get("generalization")),
            test_accuracy=_mean(test.get("accuracy")),
            task_accuracy=_mean(test.get("task_accuracy")),
            metrics=Metrics.of(test["metrics"]) if test.get("metrics") else None,
        )

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
        `accuracies` (one row per time and task: losses and accuracies, training and held-out), or what was swept: `lambdas`,
        `widths`.

        Tasks go by their names, or count from 1 where they have none.
        """
        if what == "forgetting":
            return matrix_frame(self.forgetting, self.tasks)
        if what == "pairs":
            both = [dict(zip(("first", "second"), named((p.first, p.second), self.tasks))) for p in self.pairs]
            return frame([called | p.flat() for called, p in zip(both, self.pairs)], ["first", "second"])
        if what == "accuracies":
            return self._accuracies()
        if what in ("lambdas", "widths"):
            points = getattr(self, what)
            if not points:
                raise ValueError(f"no {what} were swept; give {what}=[…] to forecast")
            return frame(points, ["width", "lambda"] if what == "widths" else ["lambda"])
        raise ValueError(f"what is {what!r}; it must be forgetting, pairs, accuracies, lambdas or widths")

    def _accuracies(self) -> Any:
        names = task_names(self.tasks)
        matrices = {"forgetting": self.forgetting, "train_accuracy": self.train_accuracy, "test_loss": self.test_loss}
        matrices |= {"generalization": self.generalization, "test_accuracy": self.test_accuracy}
        matrices |= {"task_accuracy": self.task_accuracy}
        known = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        cells = [(t, s) for t in range(len(names)) for s in range(len(names))]
        rows = [{"after task": names[t], "on task": names[s], **{k: m[t, s] for k, m in known.items()}} for t, s in cells]
        return frame(rows, ["after task", "on task"])

    def title(self) -> str:
        """What the result is called where it is shown."""
        of = " from given features" if self.settings.get("features") else ""
        several = "s" if len(self.tasks) > 1 else ""
        drawn = f", mean of {self.seeds} draws" if self.seeds > 1 else ""
        return f"Forecast of {len(self.tasks)} task{several}{of}{drawn}"

    def plot(self, ax: Any = None) -> Any:
        """The forgetting matrix and the first task's curve with its fit (one of them into `ax`: the matrix)."""
        from . import _plotting

        return _plotting.forecast(self, ax)

    def about(self) -> str:
        """Which number is which task, where they have names: sentences count."""
        return numbers_of(self.tasks)

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        return list(self.answer)

    def shown_pairs(self) -> list[OrderParameters]:
        """The pairs that are shown: all in the order learned if tasks are few, else consecutive ones."""
        few = len(self.tasks) <= 4
        return [p for p in self.pairs if (p.first < p.second if few else p.second == p.first + 1)]

    def arrow(self, pair: OrderParameters) -> str:
        """A pair by its tasks: `dogs → cats`."""
        return " → ".join(map(str, named((pair.first, pair.second), self.tasks)))

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        learned = np.where(np.tri(len(self.tasks), dtype=bool), self.forgetting, np.nan)
        caption = "Forgetting F (0: remembered, 1: as bad as answering 0)"
        matrix = matrix_table(caption, learned, self.tasks, self.forgetting_error)
        return [*self._pair_tables(), matrix, *self._sweep_tables()]

    def _pair_tables(self) -> list[Table]:
        """The order parameters of the pairs that are shown, and below them intervals and null where there are some."""
        pairs, names = self.shown_pairs(), NAMES_SHOWN
        if not pairs:
            return []
        which = "pairs in the order learned" if len(self.tasks) <= 4 else "consecutive pairs"
        rows = [[self.arrow(p), *(significant(getattr(p, name), p.accuracy()) for name in names)] for p in pairs]
        values = Table(f"Order parameters, {which}", ["pair", *map(symbol, names)], rows)
        drawn = [p.first_draw or p for p in pairs]
        if not drawn[0].called():
            return [values]
        of = " (first draw)" if self.seeds > 1 else ""
        lines = [[self.arrow(p) if k == 0 else "", *p.row(name)] for p in drawn for k, name in enumerate(names)]
        return [values, Table(drawn[0].called() + of, ["pair", *drawn[0].head()], lines)]

    def _sweep_tables(self) -> list[Table]:
        """What other depths, penalties and widths would change, where asked for."""
        tables = []
        if self.depths:
            names = ("gamma_rf", "gamma_rule", "conflict")
            rows = [
                [d["depth"], *(d["order_parameters"][name] for name in names), d["f21"], _final(d), _tau(d)] for d in self.depths
            ]
            head = ["depth", *map(symbol, (*names, "f21")), "final F", symbol("tau")]
            tables.append(Table(DEPTHS, head, rows))
        for points, caption in ((self.lambdas, LAMBDAS), (self.widths, WIDTHS)):
            # Penalties are compared at one temperature.
            at = f", at β = {setting(points[0]['beta'])}" if points and np.isfinite(points[0]["beta"]) else ""
            tables += [_swept_table(caption + at, points, self.test_loss is not None)] if points else []
        return tables


def named(numbers: Sequence[int], tasks: Sequence[str]) -> list[Any]:
    """Tasks that count from 1 by their names, where they have some.

    >>> named([2, 1], ["dogs", "cats"]), named([2, 1], ["task 1", "task 2"])
    (['cats', 'dogs'], [2, 1])
    """
    names = task_names(tasks)
    return [names[number - 1] for number in numbers]


def numbers_of(tasks: Sequence[str]) -> str:
    """Which number is which task; empty where they have no names.

    >>> numbers_of(["dogs", "cats"]), numbers_of(["task 1", "task 2"])
    ('Tasks: 1 dogs, 2 cats', '')
    """
    names = task_names(tasks)
    own = names != task_names(len(names))
    return "Tasks: " + ", ".join(f"{t} {name}" for t, name in enumerate(names, 1)) if own else ""


def forecast(
    tasks: Any,
    *,
    depth: int = 1,
    activation: str = "relu",
    mode: str = "rf",
    lam: float = float("inf"),
    sigma: float = 1.0,
    bias: float = 0.0,
    beta: float = float("inf"),
    variance: bool = False,
    replay: int = 0,
    replay_budget: str = "per-task",
    replay_selection: str = "random",
    bootstrap: int = 0,
    shuffles: int = 0,
    depths: Sequence[int] = (),
    lambdas: Sequence[float] = (),
    widths: Sequence[float] = (),
    max_p: int | None = None,
    order: bool = True,
    convention: str = "gem",
    features: bool = False,
    ridge: float = 0.0,
    progress: bool | Listener = False,
) -> Forecast:
    """Forecasts forgetting from the data alone: what `ebbing forecast` tells.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per seed, to average over.

    | setting | |
    |---|---|
    | `depth`, `activation` | the network: hidden layers; relu, linear, erf or gelu |
    | `mode`, `lam`, `sigma`, `bias`, `beta`, `variance` | as in `SingleHead` |
    | `replay` | examples of each earlier task that are stored and learned again with every later one |
    | `replay_budget` | what `replay` counts: per-task, in-all or per-class |
    | `replay_selection` | which examples are stored: random, by-class or greedy |
    | `bootstrap`, `shuffles` | intervals and null of the order parameters (0, or at least 20) |
    | `depths` | other depths to set beside the forecast |
    | `lambdas` | penalties λ to set beside it at the same `beta`, where all weights learn (inf included) |
    | `widths` | widths N to set beside it with a readout per task, at `lam` or each of `lambdas` |
    | `max_p` | at most so many examples per task are used, other ones for every seed: `[sequence] * 5` gives error bars |
    | `order` | whether the best order of tasks is searched |
    | `convention` | of the accuracy metrics: gem, avalanche or chaudhry |
    | `features` | inputs are feature matrices: `K = ΦΦᵀ/N`, pseudo-inverses where it is singular |
    | `ridge` | on each task's kernel, beside 1/beta |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> told = forecast(tasks)
    >>> told.forgetting.shape, len(told.pairs), sorted(told.order["order"])
    ((3, 3), 6, [1, 2, 3])
    >>> print(told.summary().splitlines()[0])
    Forecast of 3 tasks
    """
    settings = given(locals())
    network = {"depth": depth, "activation": activation}
    theory: dict[str, Any] = {"mode": mode, "lambda": lam, "sigma2": weight_variance(sigma, "sigma"), "beta": beta, "variance": variance, "architecture": network}
    theory["bias2"] = bias_variance(bias)
    theory["replay"] = {"examples": replay, "budget": replay_budget, "selection": replay_selection}
    asked = encode(
        theory=theory,
        resamples=resamplings(bootstrap, "bootstrap"),
        shuffles=resamplings(shuffles, "shuffles"),
        depths=list(depths),
        lambdas=list(lambdas),
        widths=list(widths),
        order=order,
        convention=convention,
        features=features,
        ridge=ridge,
    )
    if max_p is not None and count(max_p, "max_p") < 1:
        raise ValueError(f"max_p is {max_p}; must be at least 1 example")
    drawn = draws(tasks)
    outlook = _ebbing.forecast(sequences(drawn), asked, max_p, listener(progress, "forecast"))
    return Forecast.of(outlook, described(drawn) | settings)


def draws(tasks: Any) -> list[TaskSequence]:
    """The sequences of a list of them, one per seed, or the one that is given."""
    several = isinstance(tasks, (list, tuple)) and tasks and all(isinstance(one, TaskSequence) for one in tasks)
    return list(tasks) if several else [as_sequence(tasks)]


def sequences(drawn: list[TaskSequence]) -> list[Any]:
    """Native tasks of every seed, with what made them."""
    return [(native(one), encode(**one.settings)) for one in drawn]


def described(drawn: list[TaskSequence]) -> dict[str, str]:
    """The tasks in words, for what a result records."""
    words = repr(drawn[0]).strip("<>")
    return {"tasks": words if len(drawn) == 1 else f"{len(drawn)} draws of {words}"}


def _pair(pair: dict[str, Any], draws: int) -> OrderParameters:
    """A pair of tasks: what is known of one draw, or means over several, whose intervals are those of the first one."""
    first = OrderParameters.of_pair(pair["detail"])
    if draws == 1:
        return first
    means = {**pair["detail"], "values": pair["values"], "interval": None, "null": None}
    return OrderParameters.of_pair(means, first_draw=first)


def _swept(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of a sweep, with infinite penalties and temperatures as numbers."""
    return [{**point, "lambda": float(point["lambda"]), "beta": float(point["beta"])} for point in points]


def _swept_table(caption: str, points: list[dict[str, Any]], tested: bool) -> Table:
    """What is left of all tasks after the last at every point of a sweep, or why there is no number."""
    columns: dict[str, list[Any]] = {}
    if "width" in points[0]:
        columns["N"] = [setting(point["width"]) for point in points]
    columns["λ"] = [setting(point["lambda"]) for point in points]
    columns["final F"] = [_final(point) for point in points]
    if any(point["accuracy"] is not None for point in points):
        name = "test accuracy" if tested else "training accuracy"
        columns[name] = [_written(point["accuracy"], point["accuracy_error"]) for point in points]
        columns["transfer"] = [point["backward_transfer"] for point in points]
    if any(point.get("why") for point in points):
        columns[""] = [point.get("why") for point in points]
    return Table(caption, list(columns), [list(row) for row in zip(*columns.values())])


def _final(point: dict[str, Any]) -> str:
    """The mean forgetting of all earlier tasks after the last."""
    return _written(point["final_forgetting"], point["standard_error"])


def _tau(depth: dict[str, Any]) -> float | None:
    """The fitted number of tasks over which the first is forgotten, where the curve tells."""
    fit = depth["fit"]
    return ForgettingFit.of(fit).tau if fit else None


def _written(value: float | None, error: float | None) -> str:
    return "" if value is None else with_error(value, error)


def _mean(averaged: dict[str, Any] | None) -> Any:
    return None if averaged is None else np.array(averaged["mean"])


def _error(averaged: dict[str, Any]) -> Any:
    return None if averaged["standard_error"] is None else np.array(averaged["standard_error"])
