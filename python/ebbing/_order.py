"""Order parameters: how two tasks relate, and what that means for forgetting."""

from __future__ import annotations

from typing import Any

from . import _ebbing
from ._arrays import matrix, native, target_columns
from ._result import Result, key_value, pandas, table, with_error
from ._settings import bias_variance, count, real, Seed, seed_of, weight_variance

#: The order parameters, in the order in which they are shown.
NAMES = (
    "gamma_feature",
    "gamma_rf",
    "gamma_rule",
    "gamma_sim",
    "conflict",
    "f21",
    "cos",
    "proj",
    "f21_at_lambda_zero",
    "delta_f21",
)


class OrderParameters(Result):
    """Order parameters of two tasks, learned one after the other.

    `gamma_feature`, `gamma_rf`, `gamma_rule`, `gamma_sim`, `conflict` = γ_RF − γ_rule, `f21` (forgetting of the first task
    after the second), `cos`, `proj`; `ranks` of the two kernels, `digits` that are right; with `bootstrap` also
    `low`, `high` and `standard_error`, with `shuffles` also `null` (`mean`, `deviation`, `low`, `high`, `p_value`):
    dictionaries by name. `gamma_feature_error` is the standard error of γ_feature, and so of γ_sim, where it was estimated:
    in forecasts of sets whose kernels do not fit into memory.
    """

    gamma_feature: float
    gamma_rf: float
    gamma_rule: float
    gamma_sim: float
    conflict: float
    f21: float
    cos: float
    proj: float
    f21_at_lambda_zero: float
    delta_f21: float
    first: int
    second: int
    inverse: str
    ranks: list[int]
    digits: float
    low: dict[str, float] | None
    high: dict[str, float] | None
    standard_error: dict[str, float] | None
    null: dict[str, Any] | None
    gamma_feature_error: float | None

    @classmethod
    def of_pair(cls, pair: dict[str, Any]) -> OrderParameters:
        """From what the compiled half tells of a pair."""
        interval = pair["interval"] or {}
        ends = {name: interval.get(name) for name in ("low", "high", "standard_error")}
        rest = {name: pair[name] for name in ("first", "second", "inverse", "ranks", "digits", "null")}
        error = pair.get("gamma_feature_error")
        return cls(**{name: pair["values"][name] for name in NAMES}, **rest, **ends, gamma_feature_error=error)

    def values(self) -> dict[str, float]:
        """The order parameters by name."""
        return {name: getattr(self, name) for name in NAMES}

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per order parameter: value, and interval, null and p-value where there are some."""
        return pandas().DataFrame(self._columns())

    def _columns(self) -> dict[str, dict[str, float]]:
        """Everything that is known of every order parameter."""
        columns = {"value": self.values()}
        columns |= {name: getattr(self, name) for name in ("low", "high", "standard_error") if getattr(self, name)}
        if self.null:
            named = {"null_mean": "mean", "null_sd": "deviation", "p": "p_value"}
            columns |= {name: self.null[part] for name, part in named.items()}
        return columns

    def flat(self) -> dict[str, float]:
        """Everything that is known by one name each: `f21`, `f21_low`, `f21_p`, …"""
        columns = self._columns()
        flat = columns.pop("value")
        return flat | {f"{name}_{part}": values[name] for part, values in columns.items() for name in NAMES}

    def plot(self, ax: Any = None) -> Any:
        """Bars of the order parameters, with intervals and the range of shuffled targets where there are some."""
        from . import _plotting

        names = NAMES[:8]
        ends = None
        if self.low and self.high:
            ends = [(self.low[name], self.high[name]) for name in names]
        null = None
        if self.null:
            null = [(self.null["low"][name], self.null["high"][name]) for name in names]
        return _plotting.bars({name: getattr(self, name) for name in names}, "", ax, ends, null)

    def tables(self) -> list[str]:
        """The tables that are shown."""
        columns = self._columns()
        if len(columns) == 1:
            return [key_value(self.values())]
        errors = columns.pop("standard_error", {})
        values = {name: with_error(value, errors.get(name)) for name, value in columns.pop("value").items()}
        rows = [[name, value, *(part[name] for part in columns.values())] for name, value in values.items()]
        return [table(["", "value", *columns], rows)]


def order_parameters(
    X1: Any,
    y1: Any,
    X2: Any,
    y2: Any,
    *,
    depth: int = 1,
    sigma: float = 1.0,
    bias: float = 0.0,
    activation: str = "relu",
    bootstrap: int = 0,
    shuffles: int = 0,
    ridge: float = 0.0,
    seed: Seed = 0,
) -> OrderParameters:
    """`γ_RF = ½(|a|² + |K_21 K_11⁻¹ a|²)`, `a = K_12 K_22⁻¹ y_2/|y_2|`, and its kin, in the kernel of a wide network.

    `bootstrap` half samples (0, or at least 20) give intervals, `shuffles` of the targets a null.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))
    >>> same = order_parameters(X, y, X, y)
    >>> round(same.gamma_feature, 6), round(same.gamma_sim, 6), abs(same.f21) < 1e-9
    (1.0, 1.0, True)
    """
    return _pair([(X1, y1), (X2, y2)], False, depth, sigma, bias, activation, ridge, bootstrap, shuffles, seed)


def order_parameters_from_features(
    phi1: Any, y1: Any, phi2: Any, y2: Any, *, bootstrap: int = 0, shuffles: int = 0, ridge: float = 0.0, seed: Seed = 0
) -> OrderParameters:
    """The same with `K_ij = Φ_i Φ_jᵀ/N`: Φ is a layer's activity or a recording, one example (trial) per row.

    With fewer neurons than trials the kernels are singular: pseudo-inverses are taken at the `ranks` told.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> trials, neurons = 40, 12
    >>> phi1, phi2 = rng.normal(size=(2, trials, neurons))
    >>> y = np.repeat([1.0, -1.0], 20)
    >>> found = order_parameters_from_features(phi1, y, phi2, y)
    >>> found.ranks, round(found.gamma_feature, 6)  # both recordings span all neurons
    ([12, 12], 1.0)
    """
    return _pair([(phi1, y1), (phi2, y2)], True, 1, 1.0, 0.0, "relu", ridge, bootstrap, shuffles, seed)


def order_parameters_from_kernels(
    K11: Any,
    K12: Any,
    K22: Any,
    y1: Any,
    y2: Any,
    *,
    bootstrap: int = 0,
    shuffles: int = 0,
    ridge: float = 0.0,
    seed: Seed = 0,
) -> OrderParameters:
    """The same from kernels: K11 and K22 of each task with itself, K12 between them (rows: the first task).

    >>> import numpy as np
    >>> y = np.array([1, 1, -1, -1])
    >>> found = order_parameters_from_kernels(np.eye(4), np.zeros((4, 4)), np.eye(4), y, y)
    >>> found.gamma_feature, found.f21  # nothing in common, nothing forgotten
    (0.0, 0.0)
    """
    kernels = matrix(K11, "K11"), matrix(K12, "K12"), matrix(K22, "K22")
    resampling = _resampling(ridge, bootstrap, shuffles, seed)
    first, second = target_columns([y1, y2])[0]
    pair = _ebbing.order_parameters_of_kernels(*(*kernels, first, second, *resampling))
    return OrderParameters.of_pair(pair)


def _resampling(ridge: float, bootstrap: int, shuffles: int, seed: Seed) -> tuple[float, int, int, int]:
    return real(ridge, "ridge"), count(bootstrap, "bootstrap"), count(shuffles, "shuffles"), seed_of(seed)


def _pair(
    tasks: list[tuple[Any, Any]],
    features: bool,
    depth: int,
    sigma: float,
    bias: float,
    activation: str,
    ridge: float,
    bootstrap: int,
    shuffles: int,
    seed: Seed,
) -> OrderParameters:
    network = count(depth, "depth"), weight_variance(sigma, "sigma"), bias_variance(bias), activation
    resampling = _resampling(ridge, bootstrap, shuffles, seed)
    pairs = _ebbing.order_parameters(*(native(tasks), features, *network, *resampling))
    return OrderParameters.of_pair(pairs[0])
