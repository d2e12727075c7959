"""Tasks with a readout each against load and penalty, and the penalty that serves two of them best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array, as_sequence, native
from ._ebbing import DEFINED, DEFINED_FOR_MORE
from ._multi_head import REGIMES, CriticalLoad, _readout, powers, several, unsettled
from ._result import Result
from ._settings import given, real, weight_variance, word
from ._table import Table, frame, setting, significant, symbol, table

#: The losses of two tasks.
LOSSES = ("g21", "g22", "f21")

#: What a curve gives at every λ and load, each with its exponent of λ.
QUANTITIES = ("u_tt", "f_t1", "g_t1", "g_tt")


class PhaseCurves(Result):
    """T tasks with a readout each against λ and the load: arrays [λ, α], without the axis of a single number.

    `f_t1` = F_{T,1}, `g_t1` = G_{T,1}, `g_tt` = G_{T,T} (both only with held-out data) and `u_tt` = |a_T|²/N. At lam = inf
    each may grow as a power of λ: it is a coefficient, beside its exponent (`g_tt_exponent`, …), which is 0 where there is a
    finite limit. `lam_used` is `lam`, or the large λ that stands for inf; `regime` is known for two tasks at lam = beta = inf,
    elsewhere None; `critical` is the `CriticalLoad` there.
    """

    lam: Any
    alpha: Any
    width: Any
    lam_used: Any
    regime: Any
    u_tt: Any
    u_tt_exponent: Any
    f_t1: Any
    f_t1_exponent: Any
    critical: CriticalLoad | None
    settings: dict[str, Any]

    @classmethod
    def of_curves(cls, curves: list[dict[str, Any]], lam: Any, alpha: Any) -> PhaseCurves:
        """From what the compiled half returns for every λ."""
        keep = tuple(slice(None) if np.ndim(axis) else 0 for axis in (lam, alpha))

        def grid(get: Callable[[dict[str, Any]], Any], dtype: Any = float) -> Any:
            return np.array([[get(point) for point in curve["points"]] for curve in curves], dtype=dtype)[keep]

        unsettled(max((point.get("unsettled") or 0.0 for curve in curves for point in curve["points"]), default=None))
        found = {"width": grid(lambda p: p["width"]), "lam_used": grid(lambda p: p["lambda"])}
        found["regime"] = grid(lambda p: p["regime"] and REGIMES[p["regime"]], object)
        for name in QUANTITIES:
            if curves[0]["points"][0][name] is not None:
                found[name] = grid(lambda p: p[name]["coefficient"])
                found[f"{name}_exponent"] = grid(lambda p: p[name]["exponent"])
        critical = next((CriticalLoad(**curve["critical"]) for curve in curves if curve["critical"]), None)
        axes = {"lam": np.asarray(lam, dtype=float)[()], "alpha": np.asarray(alpha, dtype=float)[()]}
        return cls(**axes, **found, critical=critical)

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per λ and load."""
        lam, alpha = np.meshgrid(self.lam, self.alpha, indexing="ij")
        left_out = ("lam", "alpha", "critical", "settings")
        values = {name: np.ravel(v) for name, v in self.__dict__.items() if name not in left_out}
        return frame({"lam": lam.ravel(), "alpha": alpha.ravel(), **values}, ["lam", "alpha"])

    def plot(self, ax: Any = None, quantity: str = "f_t1") -> Any:
        """A quantity against the load, a line per λ; nothing where it diverges."""
        from . import _plotting

        return _plotting.curves(self, quantity, ax)

    def title(self) -> str:
        """What the result is called where it is shown."""
        return "Tasks with a readout each against the load"

    def tables(self, load: float | None = None) -> list[Table]:
        """The tables that are shown, of one load where it is given; powers of λ where there is no finite limit."""
        lam, alpha = (np.ravel(axis) for axis in np.meshgrid(self.lam, self.alpha, indexing="ij"))
        columns: dict[str, Any] = {symbol("lam"): map(setting, lam), symbol("alpha"): map(setting, alpha)}
        regimes = list(np.ravel(self.regime))
        columns |= {"regime": [regime or "" for regime in regimes]} if any(regimes) else {}
        columns |= {symbol(name): powers(self, name) for name in QUANTITIES if name in self.__dict__}
        kept = {head: [v for v, each in zip(column, alpha) if load in (None, each)] for head, column in columns.items()}
        return [table("", kept)]

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        defined = DEFINED_FOR_MORE if "g_t1" in self.__dict__ else DEFINED_FOR_MORE.split(";")[0] + "."
        return [*(self.critical.sentences() if self.critical else []), defined]


def phase_curves(
    tasks: Any,
    *,
    alpha: Any,
    lam: Any = float("inf"),
    sigma: float = 1.0,
    beta: float = float("inf"),
    activation: str = "relu",
    sigma_readout: float | None = None,
    readout_norm: float | None = None,
) -> PhaseCurves:
    """Any number of tasks with a readout each, at every load α = P_T/N and every λ (inf included).

    Two tasks at beta = inf are decomposed once per λ; all else is solved load by load, at lam = inf with a large λ that
    stands for it.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(2)]
    >>> curves = phase_curves(tasks, lam=[10.0, np.inf], alpha=[0.5, 1.5])
    >>> curves.f_t1.shape, curves.regime[1].tolist()
    ((2, 2), ['fixed-representations', 'overfitting'])
    >>> curves.u_tt_exponent[1].tolist()  # the second readout grows as √λ where it overfits
    [0.0, 0.5]
    >>> float(phase_curves(tasks, alpha=1.5, readout_norm=2.0).u_tt_exponent)  # and not where its norm is bounded
    0.0

    `sigma_readout` is the prior deviation of readouts where it is not that of all weights (`sigma`); `readout_norm` bounds
    |a|²/N of each, at beta = inf.
    """
    settings = given(locals())
    lams, loads = several(lam, "lam"), several(alpha, "alpha")
    readout = _readout(sigma_readout, readout_norm)
    found = _ebbing.phase_curves(
        native(tasks), lams, loads, weight_variance(sigma, "sigma"), real(beta, "beta"), word(activation, "activation", "relu"), readout
    )
    curves = PhaseCurves.of_curves(found, lam, alpha)
    curves.settings = settings
    return curves


class BestLambda(Result):
    """The λ that minimizes max(G_21, G_22): `lam` with its `f21`, `g21`, `g22`, and every λ `tried`, ascending.

    `at_edge` says that it is an end of the range searched, so that the minimum may lie beyond.
    """

    lam: float
    f21: float
    g21: float
    g22: float
    at_edge: bool
    tried: dict[str, Array]

    @classmethod
    def of(cls, found: dict[str, Any], **more: Any) -> BestLambda:
        """From what the compiled half has found."""
        names = {"lam": "lambda", "f21": "f21", "g21": "g21", "g22": "g22"}
        tried = {name: np.array([point[key] for point in found["curve"]]) for name, key in names.items()}
        best = {name: found["best"][key] for name, key in names.items()}
        return cls(**best, at_edge=found["at_edge"], tried=tried, **more)

    def title(self) -> str:
        """What the result is called where it is shown."""
        return "The penalty that serves both of two tasks best"

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        columns: dict[str, Any] = {symbol("lam"): [setting(lam) for lam in self.tried["lam"]]}
        return [table("Penalties tried", columns | {symbol(name): self.tried[name] for name in LOSSES})]

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        edge = " (an end of the range searched)" if self.at_edge else ""
        losses = ", ".join(f"{name[0].upper()}_{name[1:]} {significant(getattr(self, name))}" for name in LOSSES)
        return [f"The penalty that serves both tasks best is λ = {significant(self.lam)}{edge}: {losses}.", DEFINED]

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per λ tried."""
        return frame(self.tried, ["lam"])

    def plot(self, ax: Any = None) -> Any:
        """G_21 and G_22 against λ."""
        from . import _plotting

        return _plotting.penalties(self, ax)


def best_lambda(
    tasks: Any,
    *,
    width: float | None = None,
    alpha: float | None = None,
    low: float = 1e-3,
    high: float = 1e6,
    sigma: float = 1.0,
    beta: float = float("inf"),
    activation: str = "relu",
    sigma_readout: float | None = None,
    readout_norm: float | None = None,
) -> BestLambda:
    """Searches `low` … `high` for the λ that minimizes `max(G_21, G_22)` of two tasks with held-out data.

    Give `width` N or `alpha` = P/N of the second task.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> part = lambda p: (rng.normal(size=(p, 30)), np.sign(rng.normal(size=p)))
    >>> best = best_lambda([part(20) + part(10) for _ in range(2)], alpha=1.5, low=0.1, high=1e4)
    >>> best.lam in best.tried["lam"]
    True
    """
    settings = given(locals())
    chosen = as_sequence(tasks)
    if len(chosen) != 2:
        raise ValueError(f"tasks: there are {len(chosen)}; best_lambda weighs two against each other, give two")
    found = _ebbing.best_lambda(
        native(chosen),
        real(low, "low"),
        real(high, "high"),
        None if width is None else real(width, "width"),
        None if alpha is None else real(alpha, "alpha"),
        weight_variance(sigma, "sigma"),
        real(beta, "beta"),
        word(activation, "activation", "relu"),
        _readout(sigma_readout, readout_norm),
    )
    return BestLambda.of(found, settings=settings)
