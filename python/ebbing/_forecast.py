"""Everything a forecast tells about a sequence of tasks, fits of forgetting curves, metrics of accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array, TaskSequence, matrix, native, vector
from ._order import OrderParameters
from ._progress import Listener, listener
from ._result import Result, heat_table, matrix_frame, pandas, table, task_names, text_table, with_error
from ._settings import bias_variance, encode, weight_variance

class ForgettingFit(Result):
    """`F_t = F_max (1 − e^{−(t−1)/τ})`: `f_max`, `tau` (None where the curve does not tell), `stderr` by name, `shape`, `r2`."""

    f_max: float | None
    tau: float | None
    stderr: dict[str, float | None]
    shape: str
    slope: float | None
    tau_interval: tuple[float | None, float | None]
    r2: float | None
    points: int
    cut: bool

    @classmethod
    def of(cls, fit: dict[str, Any]) -> ForgettingFit:
        """From what the compiled half tells of a fit."""
        known = {name: fit[name] for name in ("f_max", "tau", "slope")}
        return cls(
            **{name: found and found["value"] for name, found in known.items()},
            stderr={name: found and found["standard_error"] for name, found in known.items()},
            tau_interval=tuple(fit["tau_interval"]),
            **{name: fit[name] for name in ("shape", "r2", "points", "cut")},
        )

    def at(self, t: Any) -> Array:
        """The fitted curve after t tasks; nan where the shape is undetermined."""
        t = np.asarray(t, dtype=float)
        if self.shape == "saturating" and self.f_max is not None and self.tau is not None:
            return np.asarray(-self.f_max * np.expm1((1 - t) / self.tau))
        if self.shape == "linear" and self.slope is not None:
            return np.asarray(self.slope * (t - 1))
        if self.shape == "step" and self.f_max is not None:
            return np.where(t > 1, self.f_max, 0.0)
        return np.full_like(t, 0.0 if self.shape == "zero" else np.nan)

    def plot(self, ax: Any = None) -> Any:
        """The fitted curve."""
        from . import _plotting

        return _plotting.fitted(self, ax)


def fit_forgetting(curve: Any, times: Any = None, *, rising: bool = False) -> ForgettingFit:
    """Fits `F_t = F_max (1 − e^{−(t−1)/τ})` to a forgetting curve by unweighted least squares.

    `curve` holds the forgetting of a task after 1, 2, … tasks (or after `times`, counted from 1). With
    `rising`, a curve that is not monotonic is cut after its maximum, as the paper does at very low permutation ratios.

    >>> import numpy as np
    >>> fit = fit_forgetting(0.5 * (1 - np.exp(-np.arange(10) / 3)))
    >>> round(fit.f_max, 6), round(fit.tau, 6), fit.shape
    (0.5, 3.0, 'saturating')
    """
    values = vector(curve, "curve")
    at = np.arange(1.0, len(values) + 1) if times is None else vector(times, "times")
    return ForgettingFit.of(_ebbing.fit_forgetting(at.tolist(), values.tolist(), rising))


class VarianceExplained(Result):
    """`PVE_j = (R² − R²_without j) / R²`: how much of the variance of y each predictor explains.

    `r2` of the regression on all predictors and a constant, `pve` of every predictor, `share`: the same, scaled to sum 1.
    """

    r2: float
    pve: Array
    share: Array

    @classmethod
    def of(cls, found: dict[str, Any]) -> VarianceExplained:
        """From what the compiled half tells."""
        return cls(r2=found["r2"], pve=np.array(found["pve"]), share=np.array(found["share"]))

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per predictor."""
        return pandas().DataFrame({"pve": self.pve, "share": self.share})


def variance_explained(X: Any, y: Any) -> VarianceExplained:
    """Regresses `y` on the columns of `X` and a constant, and again with each column left out.

    For instance the forgetting of many pairs of tasks on their order parameters: which one says most about it?

    >>> import numpy as np
    >>> X = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    >>> variance_explained(X, 2 * X[:, 0] + X[:, 1]).share  # uncorrelated predictors explain 4 : 1
    array([0.8, 0.2])
    """
    return VarianceExplained.of(_ebbing.variance_explained(matrix(X, "X"), vector(y, "y").tolist()))


class Metrics(Result):
    """Continual-learning metrics by a named convention; None where one is undefined."""

    convention: str
    average_accuracy: float
    average_accuracy_after: Array
    learning_accuracy: float
    backward_transfer: float | None
    forward_transfer: float | None
    forgetting: float | None
    forgetting_matrix: Array
    intransigence: float | None
    intransigence_by_task: Array | None

    @classmethod
    def of(cls, found: dict[str, Any]) -> Metrics:
        """From what the compiled half tells."""
        return cls(**{name: np.array(v) if isinstance(v, list) else v for name, v in found.items()})


def metrics(
    accuracies: Any,
    convention: str = "gem",
    *,
    untrained: Any = None,
    reference: Any = None,
    test_sizes: Any = None,
) -> Metrics:
    """`ACC = mean_s R[T, s]`, `BWT = mean_{s<T} R[T, s] − R[s, s]` and their kin from accuracies R[t, s].

    Conventions: `gem`, `avalanche`, `chaudhry`. Rows hold all tasks, or row t the tasks up to t. Forward transfer needs the
    accuracies of an `untrained` network, intransigence those of a `reference`.

    >>> found = metrics([[0.9, 0.5], [0.7, 0.8]])
    >>> found.average_accuracy, round(found.backward_transfer, 6)
    (0.75, -0.2)
    """
    rows = [vector(row, f"accuracies, row {t}") for t, row in enumerate(accuracies)]
    rows = [row[~np.isnan(row)] if np.isnan(row).any() else row for row in rows]
    before = None if untrained is None else vector(untrained, "untrained").tolist()
    best = None if reference is None else vector(reference, "reference").tolist()
    sizes = None if test_sizes is None else [int(n) for n in test_sizes]
    return Metrics.of(_ebbing.metrics([row.tolist() for row in rows], convention, before, best, sizes))


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

    @classmethod
    def of(cls, outlook: dict[str, Any]) -> Forecast:
        """From what the compiled half tells."""
        test = outlook["test"] or {}
        pairs = [OrderParameters.of_pair({**pair["detail"], "values": pair["values"]}) for pair in outlook["pairs"]]
        kept = ("tasks", "seeds", "worst", "f21_at_lambda_zero", "delta_f21", "depths", "order", "expected", "digits", "notes")
        return cls(
            **{name: outlook[name] for name in (*kept, "answer", "assumes")},
            explained=VarianceExplained.of(outlook["explained"]) if outlook.get("explained") else None,
            lambdas=_swept(outlook.get("lambdas", [])),
            widths=_swept(outlook.get("widths", [])),
            forgetting=_mean(outlook["forgetting"]),
            forgetting_error=_error(outlook["forgetting"]),
            pairs=pairs,
            pair_errors=[pair["standard_error"] for pair in outlook["pairs"]],
            fit=ForgettingFit.of(outlook["fit"]) if outlook["fit"] else None,
            train_accuracy=_mean(outlook["train_accuracy"]),
            test_loss=_mean(test.get("loss")),
            generalization=_mean(test.get("generalisation")),
            test_accuracy=_mean(test.get("accuracy")),
            task_accuracy=_mean(test.get("task_accuracy")),
            metrics=Metrics.of(test["metrics"]) if test.get("metrics") else None,
        )

    def pair(self, first: int, second: int) -> OrderParameters:
        """Order parameters of a pair, tasks counted from 1."""
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
        raise ValueError(f"the pair is ({first}, {second}); tasks count from 1 to {len(self.tasks)} and must differ")

    def to_pandas(self, what: str = "forgetting") -> Any:
        """A `DataFrame`: the `forgetting` matrix, all `pairs` (intervals, null and p-values where there are some), all
        `accuracies` (one row per time and task: losses and accuracies, training and held-out), or what was swept: `lambdas`,
        `widths`.

        Tasks go by their names, or count from 1 where they have none.
        """
        if what == "forgetting":
            return matrix_frame(self.forgetting, self.tasks)
        if what == "pairs":
            rows = [{"first": p.first, "second": p.second, **p.flat()} for p in self.pairs]
            return pandas().DataFrame(rows).set_index(["first", "second"])
        if what == "accuracies":
            return self._accuracies()
        if what in ("lambdas", "widths"):
            points = getattr(self, what)
            if not points:
                raise ValueError(f"no {what} were swept; give {what}=[…] to forecast")
            return pandas().DataFrame(points).set_index(["width", "lambda"] if what == "widths" else "lambda")
        raise ValueError(f"what is {what!r}; it must be forgetting, pairs, accuracies, lambdas or widths")

    def _accuracies(self) -> Any:
        names = task_names(self.tasks)
        matrices = {"forgetting": self.forgetting, "train_accuracy": self.train_accuracy, "test_loss": self.test_loss}
        matrices |= {"generalization": self.generalization, "test_accuracy": self.test_accuracy}
        known = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        cells = [(t, s) for t in range(len(names)) for s in range(len(names))]
        rows = [{"after task": names[t], "on task": names[s], **{k: m[t, s] for k, m in known.items()}} for t, s in cells]
        return pandas().DataFrame(rows).set_index(["after task", "on task"])

    def title(self) -> str:
        """What the result is called where it is shown."""
        return f"Forecast of {len(self.tasks)} tasks" + (f", mean of {self.seeds} draws" if self.seeds > 1 else "")

    def plot(self, ax: Any = None) -> Any:
        """The forgetting matrix and the first task's curve with its fit (one of them into `ax`: the matrix)."""
        from . import _plotting

        return _plotting.forecast(self, ax)

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        return list(self.answer)

    def text_tables(self) -> list[str]:
        """The tables of a printed summary."""
        names = task_names(self.tasks)
        learned = np.tri(len(names), dtype=bool)
        errors = self.forgetting_error
        rows = [
            [str(names[t])]
            + [
                with_error(self.forgetting[t, s], None if errors is None else errors[t, s]) if learned[t, s] else ""
                for s in range(len(names))
            ]
            for t in range(len(names))
        ]
        matrix = text_table(["after task", *(f"on {name}" for name in names)], rows)
        return [f"Forgetting F (0: remembered, 1: as bad as answering 0)\n{matrix}"]

    def tables(self) -> list[str]:
        """The tables that are shown."""
        names = ["gamma_feature", "gamma_rf", "gamma_rule", "conflict", "f21", "gamma_sim"]
        learned = [pair for pair in self.pairs if pair.first < pair.second]
        rows = [[f"{pair.first} → {pair.second}", *(getattr(pair, name) for name in names)] for pair in learned]
        shown = np.where(np.tri(len(self.tasks), dtype=bool), self.forgetting, np.nan)
        matrix = heat_table("Forgetting F (0: remembered, 1: as bad as answering 0)", shown, self.tasks)
        return [table(["tasks", *names], rows), matrix] if rows else [matrix]


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
    order: bool = True,
    convention: str = "gem",
    features: bool = False,
    ridge: float = 0.0,
    progress: bool | Listener = False,
) -> Forecast:
    """Forecasts forgetting from the data alone: what `ebbing forecast` tells.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), or a list of such `TaskSequence`s, one per seed, to average over.

    | setting | |
    |---|---|
    | `depth`, `activation` | the network: hidden layers; relu, linear, erf or gelu |
    | `mode`, `lam`, `sigma`, `bias`, `beta`, `variance` | as in `SingleHead` |
    | `replay` | examples of each earlier task that are stored and learned again with every later one |
    | `replay_budget` | what `replay` counts: per-task, in-all or per-class |
    | `replay_selection` | which examples are stored: random, by-class or greedy |
    | `bootstrap`, `shuffles` | intervals and null of the order parameters (0, or at least 20) |
    | `depths` | other depths to set beside the forecast |
    | `lambdas` | penalties λ to set beside it, where all weights learn (inf included) |
    | `widths` | widths N to set beside it with a readout per task, at `lam` or each of `lambdas` |
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
    network = {"depth": depth, "activation": activation}
    theory: dict[str, Any] = {"mode": mode, "lambda": lam, "sigma2": weight_variance(sigma, "sigma"), "beta": beta, "variance": variance, "architecture": network}
    theory["bias2"] = bias_variance(bias)
    theory["replay"] = {"examples": replay, "budget": replay_budget, "selection": replay_selection}
    asked = encode(
        theory=theory,
        half_samples=bootstrap,
        shuffles=shuffles,
        depths=list(depths),
        lambdas=list(lambdas),
        widths=list(widths),
        order=order,
        convention=convention,
        features=features,
        ridge=ridge,
    )
    return Forecast.of(_ebbing.forecast(sequences(tasks), asked, listener(progress, "forecast")))


def sequences(tasks: Any) -> list[Any]:
    """Native tasks of every seed, with what made them."""
    several = isinstance(tasks, (list, tuple)) and tasks and all(isinstance(one, TaskSequence) for one in tasks)
    made = [getattr(one, "settings", {}) for one in (tasks if several else [tasks])]
    return [(native(one), encode(**settings)) for one, settings in zip(tasks if several else [tasks], made)]


def _swept(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of a sweep, with an infinite penalty as a number."""
    return [{**point, "lambda": float(point["lambda"])} for point in points]


def _mean(averaged: dict[str, Any] | None) -> Any:
    return None if averaged is None else np.array(averaged["mean"])


def _error(averaged: dict[str, Any]) -> Any:
    return None if averaged["standard_error"] is None else np.array(averaged["standard_error"])
