"""Two tasks with a readout each: which regime they are in, and what leads out of it. What `ebbing phase` tells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import TaskSequence, as_sequence, native, two_of
from ._curves import BestLambda, PhaseCurves, best_lambda, phase_curves
from ._forecast import described, named
from ._multi_head import DEFINED, REGIMES, CriticalLoad, _readout, critical_of, without_beta
from ._result import Result
from ._settings import given, real, weight_variance, word
from ._table import Table, frame, setting, significant, symbol


class Phase(Result):
    """What `ebbing phase --tasks FILE --width N` tells.

    | attribute | |
    |---|---|
    | `critical` | the `CriticalLoad` α_c and its estimates; None at a finite beta, where there are no regimes |
    | `curves` | `PhaseCurves` of both tasks against the load, at every `lam` |
    | `location` | where `width` lies: `alpha`, and at beta = inf `regime`, the widths that leave it, `advice`; None without one |
    | `best` | the `BestLambda` at that width, where both tasks have held-out data |
    | `widths` | `own`, the losses of that width as λ grows, and `best`, those of the best width computed, where both have held-out data |
    """

    critical: CriticalLoad | None
    curves: PhaseCurves
    location: dict[str, Any] | None
    best: BestLambda | None
    widths: dict[str, dict[str, float]] | None
    tasks: list[str]
    settings: dict[str, Any]

    @property
    def regime(self) -> str | None:
        """The regime of the width, as `lam` grows."""
        return None if self.location is None else self.location.get("regime")

    def title(self) -> str:
        """What the result is called where it is shown."""
        return f"{' and '.join(name if name else f'task {t}' for t, name in enumerate(self.tasks, 1))}, a readout each"

    def to_pandas(self) -> Any:
        """A `DataFrame` of the curves, one row per λ and load."""
        return self.curves.to_pandas()

    def plot(self, ax: Any = None) -> Any:
        """Forgetting of task 1 against the load, with the regimes behind it and the width as a line."""
        from . import _plotting

        return _plotting.phase(self, ax)

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        if self.critical is None:
            return self.curves.tables(None if self.location is None else self.location["alpha"])
        names = ("gamma_sim", "alpha_c", "alpha_c_gamma_sim", "alpha_c_u11")
        return [Table("Similarity and critical loads", list(map(symbol, names)), [[getattr(self.critical, n) for n in names]])]

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        if self.critical is None:
            return ["Regimes and their critical load are those of beta = inf.", *self.curves.sentences()]
        if self.location is None:
            return ["Give width=N to be told in which regime a network of that width is.", *self.critical.sentences()]
        said = [f"Load {significant(self.location['alpha'])}: {self.location['advice']}."]
        said += self.best.sentences()[:1] if self.best is not None else []
        said += [by_the_numbers(**self.widths)] if self.widths is not None else []
        said += self.critical.sentences()
        return said + ([DEFINED] if self.best is not None or self.widths is not None else [])


def by_the_numbers(own: dict[str, float], best: dict[str, float]) -> str:
    """The best width by what was computed, beside the one asked about."""

    def losses(point: dict[str, float]) -> str:
        return f"G_{{21}} {significant(point['g21'])}, G_{{22}} {significant(point['g22'])}"

    n = setting(own["width"])
    if best["width"] == own["width"]:
        return f"As λ grows no width computed does better than N = {n}: {losses(own)}."
    return f"As λ grows N = {n} has {losses(own)}; the best of the widths computed is N = {best['width']:.0f} with {losses(best)}."


def phase(
    tasks: Any,
    *,
    width: float | None = None,
    pair: tuple[int | str, int | str] | None = None,
    alpha: Any = None,
    lam: Any = float("inf"),
    sigma: float = 1.0,
    beta: float = float("inf"),
    activation: str = "relu",
    sigma_readout: float | None = None,
    readout_norm: float | None = None,
) -> Phase:
    """Places two tasks with a readout each in their phase diagram: fixed representations, overfitting, or generalization.

    `pair` chooses two of more tasks, by name or counted from 1 in the order learned (`phase_pairs` tells of all pairs); `alpha`
    are the loads of the curves (60 from 0.1 to 10), `lam` their penalties. A finite `beta` allows for singular kernels, and is told
    as curves alone, solved load by load.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> told = phase(tasks, pair=(1, 3), width=15)
    >>> told.regime, told.curves.alpha.shape
    ('overfitting', (60,))
    """
    settings = given(locals())
    chosen = as_sequence(tasks)
    if pair is not None:
        chosen = _both(chosen, two_of(pair, chosen.names))
    if len(chosen) != 2:
        raise ValueError(f"there are {len(chosen)} tasks; choose two with pair=(1, 2), or see phase_pairs and phase_curves")
    loads = np.geomspace(0.1, 10, 60) if alpha is None else alpha
    same: dict[str, Any] = {"sigma": sigma, "activation": activation}
    same |= {"sigma_readout": sigma_readout, "readout_norm": readout_norm}
    about: dict[str, Any] = {"tasks": chosen.names, "settings": described([chosen]) | settings}
    if real(beta, "beta") != math.inf:
        location = None if width is None else _load(chosen, width)
        loads = loads if location is None else np.unique([*np.ravel(loads), location["alpha"]])
        curves = phase_curves(chosen, alpha=loads, lam=lam, beta=beta, **same)
        return Phase(critical=None, curves=curves, location=location, best=None, widths=None, **about)
    two = _ebbing.TwoTasks(native(chosen), weight_variance(sigma, "sigma"), word(activation, "activation", "relu"), _readout(sigma_readout, readout_norm))
    location = best = widths = None
    if width is not None:
        location = _located(two, width)
        if all(task.x_test is not None for task in chosen):
            best = best_lambda(chosen, width=width, low=1e-2, **same)
            widths = _widths(two, [location["alpha"], *np.ravel(loads).tolist()])
    return Phase(
        critical=critical_of(two),
        curves=phase_curves(chosen, alpha=loads, lam=lam, **same),
        location=location,
        best=best,
        widths=widths,
        **about,
    )


def _both(tasks: TaskSequence, pair: tuple[int, int]) -> TaskSequence:
    """Two of the tasks, with their names."""
    return TaskSequence([tasks[t - 1] for t in pair], [tasks.names[t - 1] for t in pair], tasks.settings)


def _load(tasks: TaskSequence, width: float) -> dict[str, float]:
    """The load of a width."""
    if not 0 < real(width, "width") < math.inf:
        raise ValueError(f"width is {width}; must be positive and finite")
    return {"width": float(width), "alpha": len(tasks[-1].y) / width}


def _located(two: _ebbing.TwoTasks, width: float) -> dict[str, Any]:
    """Where a width lies."""
    location = two.locate(real(width, "width"))
    location["regime"] = REGIMES.get(location["regime"], location["regime"])
    return location


def _widths(two: _ebbing.TwoTasks, loads: list[float]) -> dict[str, dict[str, float]]:
    """The losses of the first load as λ grows, and of the load whose larger loss is the least."""

    def limit(power: dict[str, float]) -> float:
        exponent = power["exponent"]
        return float(power["coefficient"]) if exponent == 0 else math.inf if exponent > 0 else 0.0

    points = two.curve(loads)["points"]
    all_of = [{"width": p["factors"]["width"], "g21": limit(p["g21"]), "g22": limit(p["g22"])} for p in points]
    return {"own": all_of[0], "best": min(all_of, key=lambda point: max(point["g21"], point["g22"]))}


class PhasePairs(Result):
    """Every pair of several tasks, in the order learned: what `ebbing phase --pairs` tells.

    `pairs` are dictionaries: `first` and `second` (by name, or from 1), `gamma_sim`, `alpha_c`, `alpha_c_gamma_sim` = γ_sim⁻²,
    and with a width its load `alpha` and `regime`.
    """

    pairs: list[dict[str, Any]]
    tasks: list[str]
    settings: dict[str, Any]

    def title(self) -> str:
        """What the result is called where it is shown."""
        return f"All pairs of {len(self.tasks)} tasks, a readout each"

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per pair."""
        return frame(self.pairs, ["first", "second"])

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        names = [name for name in self.pairs[0] if name not in ("first", "second")]
        rows = [[f"{pair['first']} → {pair['second']}", *(pair[name] for name in names)] for pair in self.pairs]
        return [Table("Similarity and critical load of every pair", ["pair", *map(symbol, names)], rows)]

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        ranked = sorted(self.pairs, key=lambda pair: float(pair["gamma_sim"]))

        def told(pair: dict[str, Any]) -> str:
            return f"{pair['first']} and {pair['second']} (γ_{{sim}} {significant(pair['gamma_sim'])})"

        return [f"Most alike are tasks {told(ranked[-1])}, least alike {told(ranked[0])}."] if len(ranked) > 1 else []

    def plot(self, ax: Any = None) -> Any:
        """The similarity γ_sim of every pair."""
        from . import _plotting

        values = {f"{pair['first']} → {pair['second']}": float(pair["gamma_sim"]) for pair in self.pairs}
        return _plotting.bars(values, "similarity γ_{sim} of every pair", ax)


def phase_pairs(
    tasks: Any, *, width: float | None = None, sigma: float = 1.0, activation: str = "relu", sigma_readout: float | None = None
) -> PhasePairs:
    """Similarity and critical load of every pair of tasks in the order learned, and the regime of a width.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = {name: (rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for name in ("dogs", "cats", "mice")}
    >>> told = phase_pairs(tasks, width=15)
    >>> [(pair["first"], pair["second"], pair["regime"]) for pair in told.pairs][:2]
    [('dogs', 'cats', 'overfitting'), ('dogs', 'mice', 'overfitting')]
    """
    settings = given(locals())
    sequence = as_sequence(tasks)
    if len(sequence) < 2:
        raise ValueError(f"tasks: there are {len(sequence)}; pairs need at least two")
    prior = weight_variance(sigma, "sigma"), word(activation, "activation", "relu"), _readout(sigma_readout, None)
    given_tasks, pairs = native(sequence), []
    for second in range(2, len(sequence) + 1):
        for first in range(1, second):
            with without_beta():
                two = _ebbing.TwoTasks([given_tasks[first - 1], given_tasks[second - 1]], *prior)
                critical = critical_of(two)
            row = dict(zip(("first", "second"), named((first, second), sequence.names)))
            row |= {name: getattr(critical, name) for name in ("gamma_sim", "alpha_c", "alpha_c_gamma_sim")}
            if width is not None:
                location = _located(two, width)
                row |= {"alpha": location["alpha"], "regime": location["regime"]}
            pairs.append(row)
    return PhasePairs(pairs=pairs, tasks=sequence.names, settings=described([sequence]) | settings)
