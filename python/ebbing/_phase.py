"""Two tasks with a readout each: which regime they are in, and what leads out of it. What `ebbing phase` tells."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import native
from ._multi_head import BestLambda, CriticalLoad, PhaseCurves, _readout, best_lambda, critical_of, phase_curves
from ._result import Result
from ._settings import count, real, weight_variance


class Phase(Result):
    """What `ebbing phase --tasks FILE --width N` tells.

    | attribute | |
    |---|---|
    | `critical` | the `CriticalLoad` α_c and its estimates |
    | `curves` | `PhaseCurves` of all tasks against the load, at every `lam` |
    | `location` | where `width` lies: `regime`, `alpha`, the widths that leave it, `advice`; None without a width |
    | `best` | the `BestLambda` at that width, where both tasks have held-out data |
    """

    critical: CriticalLoad
    curves: PhaseCurves
    location: dict[str, Any] | None
    best: BestLambda | None

    @property
    def regime(self) -> str | None:
        """The regime of the width, as `lam` grows."""
        return None if self.location is None else str(self.location["regime"])

    def to_pandas(self) -> Any:
        """A `DataFrame` of the curves, one row per λ and load."""
        return self.curves.to_pandas()

    def plot(self, ax: Any = None) -> Any:
        """Forgetting of task 1 against the load, with the regimes behind it and the width as a line."""
        from . import _plotting

        return _plotting.phase(self, ax)

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        said = []
        if self.location is not None:
            advice = str(self.location["advice"])
            said.append(f"Load {self.location['alpha']:.3g}: {advice}.")
        if self.best is not None:
            best = self.best
            said.append(
                f"The penalty that serves both tasks best is λ = {best.lam:.3g}: "
                f"G21 {best.g21:.3g}, G22 {best.g22:.3g}, F21 {best.f21:.3g}."
            )
        return said + self.critical.sentences()


def phase(
    tasks: Any,
    *,
    width: float | None = None,
    pair: tuple[int, int] | None = None,
    alpha: Any = None,
    lam: Any = float("inf"),
    sigma: float = 1.0,
    activation: str = "relu",
    sigma_readout: float | None = None,
    readout_norm: float | None = None,
) -> Phase:
    """Places two tasks with a readout each in their phase diagram: fixed representations, overfitting, or generalization.

    `pair` chooses two of more tasks, counted from 1 in the order learned; `alpha` are the loads of the curves (60 from 0.1 to
    10), `lam` their penalties.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> told = phase(tasks, pair=(1, 3), width=15)
    >>> told.regime, told.curves.alpha.shape
    ('overfitting', (60,))
    """
    chosen = list(tasks)
    if pair is not None:
        first, second = (count(number, "pair") for number in pair)
        if first == second or not {first, second} <= set(range(1, len(chosen) + 1)):
            raise ValueError(f"pair is {pair}; it must be two different tasks from 1 to {len(chosen)}, such as (1, 2)")
        chosen = [chosen[first - 1], chosen[second - 1]]
    if len(chosen) != 2:
        raise ValueError(f"there are {len(chosen)} tasks; choose two with pair=(1, 2), or see phase_curves for more")
    loads = np.geomspace(0.1, 10, 60) if alpha is None else alpha
    same: dict[str, Any] = {"sigma": sigma, "activation": activation}
    same |= {"sigma_readout": sigma_readout, "readout_norm": readout_norm}
    two = _ebbing.TwoTasks(native(chosen), weight_variance(sigma, "sigma"), activation, _readout(sigma_readout, readout_norm))
    location = best = None
    if width is not None:
        location = two.locate(real(width, "width"))
        location["regime"] = location["regime"].replace("_", "-").replace("generalisation", "generalization")
        if all(len(task) > 2 and task[2] is not None for task in chosen):
            best = best_lambda(chosen, width=width, low=1e-2, **same)
    return Phase(
        critical=critical_of(two),
        curves=phase_curves(chosen, alpha=loads, lam=lam, **same),
        location=location,
        best=best,
    )
