"""Fits of forgetting curves, what explains a variance, metrics of accuracies."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ebbing, _plotting
from ._arrays import Array, matrix, vector
from ._result import Result
from ._table import Table, frame, significant, table, values_table, with_error


class ForgettingFit(Result):
    """`F_t = F_max (1 − e^{−(t−1)/τ})`: `f_max`, `tau` (None where the curve does not show it), `stderr` by name, `shape`, `r2`.

    `optimum` is (F_max, τ) of the best fit, whether or not the curve determines them; None where it lies at τ = 0 or ∞.
    """

    _title = "Fit of a forgetting curve"
    f_max: float | None
    tau: float | None
    stderr: dict[str, float | None]
    shape: str
    slope: float | None
    tau_interval: tuple[float | None, float | None]
    optimum: tuple[float, float] | None
    r2: float | None
    points: int
    cut: bool

    @classmethod
    def of(cls, fit: dict[str, Any]) -> ForgettingFit:
        """From what the compiled half returns for a fit."""
        known = {name: fit[name] for name in ("f_max", "tau", "slope")}
        return cls(
            **{name: found and found["value"] for name, found in known.items()},
            stderr={name: found and found["standard_error"] for name, found in known.items()},
            tau_interval=tuple(fit["tau_interval"]),
            optimum=fit["optimum"] and tuple(fit["optimum"]),
            **{name: fit[name] for name in ("shape", "r2", "points", "cut")},
        )

    def saturates(self) -> bool:
        """Whether a saturating curve fits best, and no straight line, plateau or nothing."""
        return self.optimum is not None and self.shape not in ("zero", "undetermined")

    def at(self, t: Any) -> Array:
        """The curve that fits best after t tasks; nan where the shape is undetermined."""
        t = np.asarray(t, dtype=float)
        if self.optimum is not None and self.saturates():
            f_max, tau = self.optimum
            return np.asarray(-f_max * np.expm1((1 - t) / tau))
        if self.shape == "linear" and self.slope is not None:
            return np.asarray(self.slope * (t - 1))
        if self.shape == "step" and self.f_max is not None:
            return np.where(t > 1, self.f_max, 0.0)
        return np.full_like(t, 0.0 if self.shape == "zero" else np.nan)

    def formula(self) -> str:
        """What was fitted, as it is written."""
        if self.saturates():
            return "F_{max}(1 − exp(−(t−1)/τ))"
        formulas = {"linear": "slope · (t−1)", "step": "F_{max} from t = 2 on"}
        return formulas.get(self.shape, "0" if self.shape == "zero" else "undetermined")

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        fitted = {name: getattr(self, name) for name in ("f_max", "tau", "slope")}
        values = {name: with_error(value, self.stderr[name]) for name, value in fitted.items() if value is not None}
        if self.optimum is not None and self.saturates() and self.shape != "saturating":
            values = {name: f"{significant(value)}, not determined" for name, value in zip(("f_max", "tau"), self.optimum)}
        return [values_table({"curve": self.formula(), **values, "r2": self.r2, "points": self.points})]

    def plot(self, ax: Any = None) -> Any:
        """The fitted curve."""
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

    _title = "Variance explained by each predictor"
    r2: float
    pve: Array
    share: Array

    @classmethod
    def of(cls, found: dict[str, Any]) -> VarianceExplained:
        """From what the compiled half returns."""
        return cls(r2=found["r2"], pve=np.array(found["pve"]), share=np.array(found["share"]))

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per predictor."""
        return frame({"pve": self.pve, "share": self.share})

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        columns: dict[str, Any] = {"predictor": range(1, len(self.pve) + 1), "PVE": self.pve, "share": self.share}
        return [table(f"R^{{2}} {significant(self.r2)}", columns)]


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
        """From what the compiled half returns."""
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
