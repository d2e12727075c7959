"""Two tasks with a readout each: which regime they are in, and what leads out of it. What `ebbing phase` reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import TaskSequence, as_sequence, native, two_of
from ._curves import BestLambda, PhaseCurves, phase_curves
from ._forecast import described, named
from ._multi_head import REGIMES, CriticalLoad, _readout, critical_of, several, without_beta
from ._result import Answer, Result
from ._settings import as_json, given, real, switch, weight_variance, word
from ._table import Table, frame, significant, symbol, table


class Phase(Answer):
    """What `ebbing phase --tasks FILE --width N` reports.

    | attribute | |
    |---|---|
    | `critical` | the `CriticalLoad` α_c and its estimates; None at a finite beta, where there are no regimes |
    | `curves` | `PhaseCurves` of both tasks against the load, at every `lam` |
    | `location` | where `width` lies: `alpha`, and at beta = inf `regime`, the widths that leave it, `advice`; None without one |
    | `best` | the `BestLambda` at that width, where both tasks have held-out data |
    | `answer` | what the numbers say, in sentences |
    | `representation` | by λ and task: `change` of the hidden layer, `alignment` with the labels; empty unless asked for |
    | `widths` | `own`, the losses of that width as λ grows, and `best`, those of the best width computed, where both have held-out data |
    """

    critical: CriticalLoad | None
    curves: PhaseCurves
    location: dict[str, Any] | None
    best: BestLambda | None
    widths: dict[str, dict[str, float]] | None
    representation: list[dict[str, Any]]
    answer: list[str]
    tasks: list[str]
    settings: dict[str, Any]

    @property
    def regime(self) -> str | None:
        """The regime of the width, as `lam` grows."""
        return None if self.location is None else self.location.get("regime")

    def title(self) -> str:
        """What the result is called where it is shown."""
        return _title(self.tasks)

    def to_pandas(self) -> Any:
        """A `DataFrame` of the curves, one row per λ and load."""
        return self.curves.to_pandas()

    def plot(self, ax: Any = None) -> Any:
        """Forgetting of task 1 against the load, with the regimes behind it and the width as a line."""
        from . import _plotting

        return _plotting.phase(self, ax)

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        if self.critical is not None:
            return super().tables()
        return self.curves.tables(None if self.location is None else self.location["alpha"])

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        return list(self.answer)


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
    representation: bool = False,
) -> Phase:
    """Places two tasks with a readout each in their phase diagram: fixed representations, overfitting, or generalization.

    `pair` chooses two of more tasks, by name or counted from 1 in the order learned (`phase_pairs` reports all pairs); `alpha`
    are the loads of the curves (60 from 0.1 to 10), `lam` their penalties. A finite `beta` allows for singular kernels, and is reported
    as curves alone, solved load by load. With `representation` also what the two tasks do to the hidden layer at that width.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> result = phase(tasks, pair=(1, 3), width=15)
    >>> result.regime, result.curves.alpha.shape
    ('overfitting', (60,))
    """
    settings = given(locals())
    if switch(representation, "representation") and (width is None or real(beta, "beta") != math.inf):
        raise ValueError("representation is True; needs width and beta = inf beside it")
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
        said = ["Regimes and their critical load are those of beta = inf.", *curves.sentences()]
        return Phase(critical=None, curves=curves, location=location, best=None, widths=None, representation=[], answer=said, **about)
    found = _ebbing.phase_place(
        native(chosen),
        None if width is None else real(width, "width"),
        several(lam, "lam"),
        several(loads, "alpha"),
        math.sqrt(weight_variance(sigma, "sigma")),
        word(activation, "activation", "relu"),
        _readout(sigma_readout, readout_norm),
        representation,
        (_title(chosen.names), as_json(about["settings"])),
    )
    placed: Phase = Phase.with_page(
        found["page"],
        critical=critical_of(found["critical"]),
        curves=PhaseCurves.of_curves(found["curves"], lam, loads),
        location=_regime(found["location"]),
        best=found["best"] and BestLambda.of(found["best"]),
        widths=found["widths"] and dict(zip(("own", "best"), found["widths"])),
        representation=found["representation"],
        answer=found["answer"],
        **about,
    )
    return placed


def _title(names: list[str]) -> str:
    """What two tasks are called."""
    return f"{' and '.join(name if name else f'task {t}' for t, name in enumerate(names, 1))}, a readout each"


def _both(tasks: TaskSequence, pair: tuple[int, int]) -> TaskSequence:
    """Two of the tasks, with their names."""
    return TaskSequence([tasks[t - 1] for t in pair], [tasks.names[t - 1] for t in pair], tasks.settings)


def _load(tasks: TaskSequence, width: float) -> dict[str, float]:
    """The load of a width."""
    if not 0 < real(width, "width") < math.inf:
        raise ValueError(f"width is {width}; must be positive and finite")
    return {"width": float(width), "alpha": len(tasks[-1].y) / width}


def _regime(location: dict[str, Any] | None) -> dict[str, Any] | None:
    """A location with its regime in Python's words."""
    return location and location | {"regime": REGIMES.get(location["regime"], location["regime"])}


class PhasePairs(Result):
    """Every pair of several tasks, in the order learned: what `ebbing phase --pairs` reports.

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
        pairs = [_ebbing.literal(f"{pair['first']} → {pair['second']}") for pair in self.pairs]
        columns = {symbol(name): [pair[name] for pair in self.pairs] for name in names}
        return [table("Similarity and critical load of every pair", {"pair": pairs} | columns, 100)]

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        ranked = sorted(self.pairs, key=lambda pair: float(pair["gamma_sim"]))

        def words(pair: dict[str, Any]) -> str:
            return f"{pair['first']} and {pair['second']} (γ_sim {significant(pair['gamma_sim'])})"

        return [f"Most alike are tasks {words(ranked[-1])}, least alike {words(ranked[0])}."] if len(ranked) > 1 else []

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
    >>> result = phase_pairs(tasks, width=15)
    >>> [(pair["first"], pair["second"], pair["regime"]) for pair in result.pairs][:2]
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
                critical = critical_of(two.critical_load())
            row = dict(zip(("first", "second"), named((first, second), sequence.names)))
            row |= {name: getattr(critical, name) for name in ("gamma_sim", "alpha_c", "alpha_c_gamma_sim")}
            if width is not None:
                location = _regime(two.locate(real(width, "width"))) or {}
                row |= {"alpha": location["alpha"], "regime": location["regime"]}
            pairs.append(row)
    return PhasePairs(pairs=pairs, tasks=sequence.names, settings=described([sequence]) | settings)
