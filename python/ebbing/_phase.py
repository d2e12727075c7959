"""Tasks with a readout each against the load: which regime two of them are in, and what leads out of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _ebbing, _plotting
from ._arrays import Array, as_sequence, native
from ._ebbing import DEFINED
from ._forecast import named
from ._multi_head import CriticalLoad, critical_of, powers
from ._result import Answer, Result
from ._settings import fields_of, given, real
from ._table import Table, frame, setting, significant, symbol, table

#: The losses of two tasks.
LOSSES = ("g21", "g22", "f21")

#: What a curve has at every λ and load, each with its exponent of λ.
QUANTITIES = ("u_tt", "f_t1", "g_t1", "g_tt")


class Phase(Answer):
    """What `ebbing phase` computes of tasks that are given.

    | attribute | |
    |---|---|
    | `critical` | of two tasks the `CriticalLoad` α_c and its estimates; None at a finite beta, where there are no regimes |
    | `curves` | `PhaseCurves` against the load, at every `lam` |
    | `location` | where `width` lies: `alpha`, and for two tasks at beta = inf `regime`, the widths that leave it, `advice`; None without one |
    | `best` | the `BestLambda` at that width, where both of two tasks have held-out data |
    | `widths` | `own`, the losses of that width as λ grows, and `best`, those of the best width computed, where both have held-out data |
    | `outputs`, `critical_loads`, `directions` | of two tasks with more than two classes each: outputs of either head, the critical load of every direction of the second head, and the regime of each at `width` |
    | `at_width` | likewise: every `lam` (and then the best) at `width`, with factors `u11`, … and `accuracy` of both heads |
    | `representation` | by λ and task: `change` of the hidden layer, `alignment` with the labels; empty unless asked for |
    | `pairs` | with `pairs=True`, and then nothing else: `first` and `second` (by name, or from 1), `gamma_sim`, `alpha_c`, `alpha_c_gamma_sim` = γ_sim⁻², and with a width its load `alpha` and `regime` |
    | `answer` | what the numbers say, in sentences |
    """

    critical: CriticalLoad | None
    curves: PhaseCurves
    location: dict[str, Any] | None
    best: BestLambda | None
    widths: dict[str, dict[str, float]] | None
    outputs: list[int] | None
    critical_loads: Array | None
    directions: list[str] | None
    at_width: list[dict[str, Any]]
    representation: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    tasks: list[str]
    settings: dict[str, Any]

    @classmethod
    def of(cls, found: dict[str, Any], about: dict[str, Any]) -> Phase:
        """From what the library answers."""
        asked, load = about["settings"], found.get("load_of_width")
        own = None if load is None else {"width": float(asked["width"]), "alpha": load}
        made: Phase = cls.with_page(
            found,
            critical=critical_of(found["critical_load"]) if "critical_load" in found else None,
            curves=PhaseCurves.of_curves(found["curves"], asked["lam"], asked["alpha"]) if "curves" in found else None,
            location=found.get("location", found.get("place", own)),
            best=BestLambda.of(found["best_lambda"]) if found.get("best_lambda") else None,
            widths=dict(zip(("own", "best"), found["widths"])) if found.get("widths") else None,
            outputs=found.get("outputs"),
            critical_loads=np.array(found["direction_loads"]["alpha_c"], dtype=float) if "direction_loads" in found else None,
            directions=(found.get("place") or {}).get("directions"),
            at_width=found.get("at_width", []),
            representation=found.get("representation", []),
            pairs=[_pair(pair, about["tasks"]) for pair in found.get("pairs", [])],
            **about,
        )
        return made

    @property
    def regime(self) -> str | None:
        """The regime of the width, as `lam` grows; of heads with several outputs where all directions agree."""
        if self.directions is not None:
            return self.directions[0] if len(set(self.directions)) == 1 else None
        return None if self.location is None else self.location.get("regime")

    def to_pandas(self) -> Any:
        """A `DataFrame` of the curves, one row per λ and load; with `pairs=True` one row per pair."""
        return frame(self.pairs, ["first", "second"]) if self.pairs else self.curves.to_pandas()

    def plot(self, ax: Any = None) -> Any:
        """Forgetting of task 1 against the load, with the regimes behind it and the width as a line; the similarity of every pair."""
        if not self.pairs:
            return _plotting.phase(self, ax)
        if "critical_loads" in self.pairs[0]:
            values = {f"{pair['first']} → {pair['second']}": float(pair["critical_loads"][0]) for pair in self.pairs}
            return _plotting.bars(values, "first critical load of every pair", ax)
        values = {f"{pair['first']} → {pair['second']}": float(pair["gamma_sim"]) for pair in self.pairs}
        return _plotting.bars(values, "similarity γ_{sim} of every pair", ax)


def _pair(pair: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A pair of tasks by their names."""
    row = dict(zip(("first", "second"), named((pair["first"], pair["second"]), names)))
    if pair["direction_loads"] is not None:
        place = pair["place"] or {}
        loads = np.array(pair["direction_loads"]["alpha_c"], dtype=float)
        return row | {"critical_loads": loads} | {name: place[name] for name in ("alpha", "directions") if name in place}
    critical, location = critical_of(pair["critical_load"]), pair["location"] or {}
    row |= {name: getattr(critical, name) for name in ("gamma_sim", "alpha_c", "alpha_c_gamma_sim")}
    return row | {name: location[name] for name in ("alpha", "regime") if name in location}


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

    @classmethod
    def of_curves(cls, curves: list[dict[str, Any]], lam: Any, alpha: Any) -> PhaseCurves:
        """From what the library has of every λ; an axis of which one number was asked for goes."""
        lams, loads = [curve["lambda"] for curve in curves], [point["alpha"] for point in curves[0]["points"]]
        axes = {"lam": (lams, lam), "alpha": (loads, alpha)}
        kept = {name: len(all) > 1 or isinstance(asked, (str, list)) for name, (all, asked) in axes.items()}
        keep = tuple(slice(None) if kept[name] else 0 for name in axes)

        def grid(get: Callable[[dict[str, Any]], Any], dtype: Any = float) -> Any:
            return np.array([[get(point) for point in curve["points"]] for curve in curves], dtype=dtype)[keep]

        found = {name: np.array(all if kept[name] else all[0], dtype=float)[()] for name, (all, _) in axes.items()}
        found |= {"width": grid(lambda p: p["width"]), "lam_used": grid(lambda p: p["lambda"])}
        found["regime"] = grid(lambda p: p["regime"], object)
        for name in QUANTITIES:
            if curves[0]["points"][0][name] is not None:
                found[name] = grid(lambda p: p[name]["coefficient"])
                found[f"{name}_exponent"] = grid(lambda p: p[name]["exponent"])
        critical = next((critical_of(curve["critical"]) for curve in curves if curve["critical"]), None)
        return cls(**found, critical=critical)

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per λ and load."""
        lam, alpha = np.meshgrid(self.lam, self.alpha, indexing="ij")
        values = {name: np.ravel(v) for name, v in self.__dict__.items() if name not in ("lam", "alpha", "critical")}
        return frame({"lam": lam.ravel(), "alpha": alpha.ravel(), **values}, ["lam", "alpha"])

    def plot(self, ax: Any = None, quantity: str = "f_t1") -> Any:
        """A quantity against the load, a line per λ; nothing where it diverges."""
        return _plotting.curves(self, quantity, ax)

    def tables(self) -> list[Table]:
        """The table that is shown; powers of λ where there is no finite limit."""
        lam, alpha = (np.ravel(axis) for axis in np.meshgrid(self.lam, self.alpha, indexing="ij"))
        columns: dict[str, Any] = {symbol("lam"): [*map(setting, lam)], symbol("alpha"): [*map(setting, alpha)]}
        return [table("", columns | {symbol(name): powers(self, name) for name in QUANTITIES if name in self.__dict__})]


class BestLambda(Result):
    """The λ that minimizes max(G_21, G_22): `lam` with its `f21`, `g21`, `g22`, and every λ `tried`, ascending.

    `at_edge` says that it is an end of the range searched, so that the minimum may lie beyond.
    """

    _title = "The penalty that serves both of two tasks best"
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
    asked, fields = given(locals()), fields_of(locals(), "alpha", "low", "high")
    chosen = as_sequence(tasks)
    if len(chosen) != 2:
        raise ValueError(f"tasks: there are {len(chosen)}; best_lambda weighs two against each other, give two")
    load = None if alpha is None else real(alpha, "alpha")
    found = _ebbing.best_lambda(native(chosen), real(low, "low"), real(high, "high"), fields, load)
    return BestLambda.of(found, settings=asked)
