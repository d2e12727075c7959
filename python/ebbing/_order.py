"""Order parameters: how two tasks relate, and what that means for forgetting."""

from __future__ import annotations

from typing import Any

from . import _ebbing
from ._arrays import matrix, native, target_columns
from ._result import Result
from ._settings import Seed, bias_variance, count, given, real, resamplings, seed_of, weight_variance, word
from ._table import ROUNDING, Table, clean, frame, significant, symbol, table

#: The order parameters, in the order in which they are shown.
NAMES = (
    "gamma_feature",
    "gamma_rf",
    "gamma_rule",
    "gamma_sim",
    "conflict",
    "f_pair",
    "cos",
    "proj",
    "f_pair_at_lambda_zero",
    "delta_f_pair",
)

#: What the compiled half calls them, where that is something else.
THEIRS = {"f_pair": "f21", "f_pair_at_lambda_zero": "f21_at_lambda_zero", "delta_f_pair": "delta_f21"}


def by_name(values: dict[str, float]) -> dict[str, float]:
    """Order parameters by the names used here; what is not known is NaN."""
    known = {name: values[THEIRS.get(name, name)] for name in NAMES}
    return {name: float("nan") if value is None else value for name, value in known.items()}


class OrderParameters(Result):
    """Order parameters of two tasks, learned one after the other.

    `gamma_feature`, `gamma_rf`, `gamma_rule`, `gamma_sim`, `conflict` = γ_RF − γ_rule, `f_pair` (forgetting of the first task
    after the second, these two learned alone: by random features, in a forecast in its mode and at its temperature), `cos`,
    `proj`, `f_pair_at_lambda_zero` (the same without penalty), `delta_f_pair`; `ranks` of the two kernels, `digits` that are right; with `bootstrap` also `low`, `high` and
    `standard_error`, with `shuffles` also `null` (`mean`, `deviation`, `low`, `high`, `p_value`): dictionaries by name.
    Means over several draws have neither: intervals and null are of one draw, the first, in `first_draw` with its own values.
    `gamma_feature_error` is the standard error of γ_feature, and so of γ_sim, where it was estimated: in forecasts of sets whose
    kernels do not fit into memory.
    """

    gamma_feature: float
    gamma_rf: float
    gamma_rule: float
    gamma_sim: float
    conflict: float
    f_pair: float
    cos: float
    proj: float
    f_pair_at_lambda_zero: float
    delta_f_pair: float
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
    first_draw: OrderParameters | None = None

    @property
    def f21(self) -> float:
        """`f_pair`, which is F_21 of these two tasks alone."""
        return self.f_pair

    @classmethod
    def of_pair(cls, pair: dict[str, Any], **more: Any) -> OrderParameters:
        """From what the compiled half returns for a pair."""
        interval, null = pair["interval"] or {}, pair["null"]
        ends = {name: interval and by_name(interval[name]) or None for name in ("low", "high", "standard_error")}
        if null:
            null = {part: by_name(values) if isinstance(values, dict) else values for part, values in null.items()}
        rest = {name: pair[name] for name in ("first", "second", "inverse", "ranks", "digits")}
        rest["gamma_feature_error"] = pair.get("gamma_feature_error")
        return cls(**by_name(pair["values"]), **rest, null=null, **ends, **more)

    def values(self) -> dict[str, float]:
        """The order parameters by name."""
        return {name: getattr(self, name) for name in NAMES}

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per order parameter: value, and interval, null and p-value where there are some."""
        return frame(self._columns())

    def _columns(self) -> dict[str, dict[str, float]]:
        """Everything that is known of every order parameter."""
        columns = {"value": self.values()}
        columns |= {name: getattr(self, name) for name in ("low", "high", "standard_error") if getattr(self, name)}
        if self.null:
            named = {"null_mean": "mean", "null_sd": "deviation", "p": "p_value"}
            columns |= {name: self.null[part] for name, part in named.items()}
        return columns

    def flat(self) -> dict[str, float]:
        """Everything that is known by one name each: `f_pair`, `f_pair_low`, `f_pair_p`, …"""
        columns = self._columns()
        flat = columns.pop("value")
        flat |= {f"{name}_{part}": values[name] for part, values in columns.items() for name in NAMES}
        first = self.first_draw
        if first is None or not first.resampled():
            return flat
        return flat | {f"first_draw_{name}": value for name, value in first.flat().items()}

    def accuracy(self) -> float:
        """What is 0 within the digits that are right."""
        return max(ROUNDING, float(10.0**-self.digits))

    def p(self, name: str) -> float | None:
        """The two-sided p-value against shuffled targets; None where targets do not enter."""
        entered = self.null is not None and self.null["deviation"][name] > self.accuracy()
        return float(self.null["p_value"][name]) if self.null is not None and entered else None

    def plot(self, ax: Any = None) -> Any:
        """Bars of the order parameters, with intervals, the range of shuffled targets and p-values where there are some."""
        from . import _plotting

        names = NAMES[:8]
        ends = [(self.low[name], self.high[name]) for name in names] if self.low and self.high else None
        null = [(self.null["low"][name], self.null["high"][name]) for name in names] if self.null else None
        found = {name: self.p(name) for name in names}
        labels = {name: symbol(name) + ("" if p is None else f"  (p {significant(p)})") for name, p in found.items()}
        title = "with 95 % intervals" if ends else ""
        return _plotting.bars({labels[name]: getattr(self, name) for name in names}, title, ax, ends, null)

    def resampled(self) -> str:
        """What was resampled and how often; empty where nothing was."""
        said = ["from … to: 95 % intervals, a tenth of the examples left out at a time"] if self.low else []
        said += [f"null ± SD and two-sided p from {self.null['samples']} shuffles of the targets"] if self.null else []
        return "; ".join(said)

    def title(self) -> str:
        """What the result is called where it is shown."""
        return "Order parameters of two tasks"

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        spanned = self.inverse == "pseudo" and self.ranks[0] == self.ranks[1] and self.gamma_feature > 1 - 1e-9
        both = f"γ_feature is 1 because both tasks span the same {self.ranks[0]} features: it says nothing of their rules."
        return [both] if spanned else []

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        accuracy = self.accuracy()
        errors = {name: self.gamma_feature_error for name in ("gamma_feature", "gamma_sim")}
        columns: dict[str, list[Any]] = {"": list(map(symbol, NAMES))}
        columns["value"] = [(clean(getattr(self, name), accuracy), errors.get(name)) for name in NAMES]
        if self.low and self.high:
            columns["from"] = [clean(self.low[name], accuracy) for name in NAMES]
            columns["to"] = [clean(self.high[name], accuracy) for name in NAMES]
        if self.null:
            known = {name: self.p(name) for name in NAMES}
            mean, sd = self.null["mean"], self.null["deviation"]
            columns["null"] = [(None, None) if known[name] is None else (mean[name], sd[name]) for name in NAMES]
            columns["p"] = list(known.values())
        return [table(self.resampled(), columns)]


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

    `bootstrap` resamples, a tenth of the examples left out in each (0, or 20 to 1e9 of them), give intervals, `shuffles` of the targets a null.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))
    >>> same = order_parameters(X, y, X, y)
    >>> round(same.gamma_feature, 6), round(same.gamma_sim, 6), abs(same.f_pair) < 1e-9
    (1.0, 1.0, True)
    """
    asked = given(locals())
    network = count(depth, "depth"), weight_variance(sigma, "sigma"), bias_variance(bias), word(activation, "activation", "relu")
    return _pair([(X1, y1), (X2, y2)], False, network, _resampling(ridge, bootstrap, shuffles, seed), asked)


def order_parameters_from_features(
    phi1: Any, y1: Any, phi2: Any, y2: Any, *, bootstrap: int = 0, shuffles: int = 0, ridge: float = 0.0, seed: Seed = 0
) -> OrderParameters:
    """The same with `K_ij = Φ_i Φ_jᵀ/N`: Φ is a layer's activity or a recording, one example (trial) per row.

    With fewer neurons than trials the kernels are singular: pseudo-inverses are taken at the `ranks` given.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> trials, neurons = 40, 12
    >>> phi1, phi2 = rng.normal(size=(2, trials, neurons))
    >>> y = np.repeat([1.0, -1.0], 20)
    >>> found = order_parameters_from_features(phi1, y, phi2, y)
    >>> found.ranks, round(found.gamma_feature, 6)  # both recordings span all neurons
    ([12, 12], 1.0)
    """
    asked = given(locals())
    network = 1, 1.0, 0.0, "relu"
    return _pair([(phi1, y1), (phi2, y2)], True, network, _resampling(ridge, bootstrap, shuffles, seed), asked)


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
    >>> found.gamma_feature, found.f_pair  # nothing in common, nothing forgotten
    (0.0, 0.0)
    """
    asked = given(locals())
    kernels = matrix(K11, "K11"), matrix(K12, "K12"), matrix(K22, "K22")
    resampling = _resampling(ridge, bootstrap, shuffles, seed)
    first, second = target_columns([y1, y2])[0]
    pair = _ebbing.order_parameters_of_kernels(*(*kernels, first, second, *resampling))
    return OrderParameters.of_pair(pair, settings=asked)


def _resampling(ridge: float, bootstrap: int, shuffles: int, seed: Seed) -> tuple[float, int, int, int]:
    return real(ridge, "ridge"), resamplings(bootstrap, "bootstrap"), resamplings(shuffles, "shuffles"), seed_of(seed)


def _pair(
    tasks: list[tuple[Any, Any]],
    features: bool,
    network: tuple[int, float, float, str],
    resampling: tuple[float, int, int, int],
    asked: dict[str, Any],
) -> OrderParameters:
    pairs = _ebbing.order_parameters(native(tasks), features, *network, *resampling)
    return OrderParameters.of_pair(pairs[0], settings=asked)
