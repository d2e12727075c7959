"""Order parameters: how two tasks relate, and what that means for forgetting."""

from __future__ import annotations

from typing import Any

from . import _plotting
from ._result import Result
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

    _title = "Order parameters of two tasks"
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
        """From what the compiled half tells of a pair."""
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
