"""A readout for every task: finite width, one hidden layer."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from . import _ebbing, _plotting
from ._arrays import Array, as_sequence, decided, lower, matrix, native, own_classes, vector
from ._ebbing import DEFINED
from ._result import Result, Shown
from ._settings import count, fields_of, given, real
from ._table import Table, frame, matrix_table, power, setting, symbol, table, values_table, without_rounding

#: Where a large λ stands for ∞, losses that have a limit move by no more than this when it grows tenfold.
SETTLED = 1e-3


def unsettled(change: float | None) -> None:
    """Warns where the λ that stands for ∞ is not quite there, as next to a transition."""
    if change is not None and change > SETTLED:
        change_at_larger = f"losses still move by up to {change:.2g} when lam grows tenfold"
        warnings.warn(f"lam = inf is not quite reached, next to a transition: {change_at_larger}", stacklevel=4)


class MultiHead(Shown):
    """`u1(t,s) = <a_t·a_s>/N` and all heads' outputs, at load α = P/N, found one task after another.

    Give `width` N or `alpha` = P/N of the newest task. At `lam` = inf two tasks have an exact limit; more tasks (or a finite
    `beta`, which is held fixed: hidden weights learn nothing beside 1/β) take a large λ that stands for it, `lam_used`, with its
    `evidence`. Heads and times count from 1.

    `u1`, `u0` and `d` = u1 − u0 are matrices (infinite where they diverge with λ); `residual` is the largest scaled residual
    of the equations, `limit` the exact limit's numbers with `regime`.

    A head has an output for each of its task's own classes, and one for two of them (`outputs`). With several outputs `u1`, `u0` and
    `d` are of shape (T, T, m, m) (nan for outputs that a head does not have), means of shape (n, m), and two tasks at lam = inf have a
    regime for every direction of the second head: `directions` = {"regimes", "axes", "duals"}.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(2)]
    >>> network = MultiHead(tasks, alpha=0.5, lam=10.0)
    >>> network.u1.shape, network.residual < 1e-9
    ((2, 2), True)
    >>> MultiHead(tasks, alpha=0.5).regime
    'fixed_representations'
    >>> classes = [(X, np.arange(20) % 3) for X, _ in tasks]
    >>> MultiHead(classes, alpha=0.5, lam=10.0).u1.shape
    (2, 2, 3, 3)
    """

    def __init__(
        self,
        tasks: Any,
        *,
        width: float | None = None,
        alpha: float | None = None,
        lam: float = float("inf"),
        sigma: float = 1.0,
        beta: float = float("inf"),
        activation: str = "relu",
        sigma_readout: float | None = None,
        readout_norm: float | None = None,
    ) -> None:
        self._settings = fields_of(locals(), "alpha"), None if alpha is None else real(alpha, "alpha")
        sequence = as_sequence(tasks)
        self._tasks, self._classes = native(sequence), own_classes(sequence)
        self._solve()

    def _solve(self) -> None:
        self._theory = _ebbing.MultiHead(self._tasks, *self._settings)
        found = self._theory.factors()
        self.u1: Array = np.array(found["u1"], dtype=float)
        self.u0: Array = np.array(found["u0"], dtype=float)
        self.d: Array = np.array(found["d"], dtype=float)
        self.outputs: list[int] = found["outputs"]
        self.directions: dict[str, Any] | None = found["directions"]
        self.width: float = found["width"]
        self._lam: float = self._settings[0]["lam"]
        self.alpha: float = len(self._tasks[-1][0]) / self.width
        self.lam_used: float = found["lam"]
        self.digits: float = found["digits"]
        self.residuals: list[dict[str, Any]] = found["residuals"]
        self.residual: float = max(r["residual"] for r in self.residuals)
        self.evidence: list[dict[str, Any]] | None = found["evidence"]
        unsettled(self.evidence[-1]["change"] if self.evidence else None)
        self.limit: TwoTaskLimit | None = None
        if found["limit"] is not None:
            self.limit = TwoTaskLimit.of_points([{"factors": found["limit"]}], scalar=True)

    def __getstate__(self) -> dict[str, Any]:
        return {"_tasks": self._tasks, "_settings": self._settings, "_classes": self._classes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._solve()

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self._tasks)

    @property
    def regime(self) -> str | None:
        """The regime, which is defined for two tasks at lam = inf."""
        return None if self.limit is None else str(self.limit.regime)

    def _predict(self, X: Any, head: int, t: int | None) -> tuple[Array, Array]:
        return self._theory.predict(matrix(X, "X"), count(head, "head"), self._time(t))

    def _time(self, t: int | None) -> int:
        return self.tasks if t is None else count(t, "t")

    def mean(self, X: Any, head: int, t: int | None = None) -> Array:
        """`<f_t^h(x)>`: head h (from 1) after t tasks (all of them by default); a column per output where it has several."""
        mean = self._predict(X, head, t)[0]
        return mean[:, 0] if mean.shape[1] == 1 else mean

    def predict(self, X: Any, head: int | None = None, t: int | None = None) -> Any:
        """What head h (the last learned by default) answers after t tasks: the task's own classes where it was given as
        labels (in a file or a PyTorch data set too), else the mean output."""
        time = self.tasks if t is None else count(t, "t")
        chosen = time if head is None else count(head, "head")
        mean = self.mean(X, chosen, time)
        return decided(mean, self._classes[chosen - 1] if self._classes else None)

    def variance(self, X: Any, head: int, t: int | None = None) -> Array:
        """`<δf_t^h(x)²>`, a column per output where there are several; infinite where it diverges with λ."""
        variance: Array = np.einsum("iaa->ia", self._predict(X, head, t)[1])
        return variance[:, 0] if variance.shape[1] == 1 else variance

    def covariance(self, X: Any, head: int, t: int | None = None) -> Array:
        """`<δf_a(x) δf_b(x)>` of a head's outputs, of shape (n, m, m); infinite where it diverges with λ."""
        return self._predict(X, head, t)[1]

    def probabilities(self, X: Any, head: int, t: int | None = None, *, draws: int = 1000, seed: int = 0) -> Array:
        """The probability of every output of a head to be the largest, averaged over networks: exact up to three outputs and for
        independent or alike ones, else sampled with `draws` draws per input and output."""
        return self._theory.probabilities(matrix(X, "X"), count(head, "head"), self._time(t), count(draws, "draws"), seed)[0]

    def accuracy(self, head: int, t: int | None = None, *, draws: int = 1000, seed: int = 0) -> tuple[float, float]:
        """The share of its task's test examples that a head gets right after t tasks, averaged over networks, and the standard error
        of sampling (0 where it is exact)."""
        return self._theory.accuracy(count(head, "head"), self._time(t), count(draws, "draws"), seed)

    def forgetting(self) -> Array:
        """`F[t, s]`: the loss of head s on its training data after task t, variance included; nan before s is learned.

        0 where only rounding is left (below 1e-12).
        """
        return without_rounding(lower(self._theory.forgetting()))

    def generalization(self) -> Array:
        """`G[t, s]`: the same on held-out data, over that of a network of the same width that learned s alone."""
        return lower(self._theory.generalization())

    def hidden_kernel(self, X: Any, *, learned: bool = False) -> Array:
        """`<Φ(x)·Φ(x')>/N` of the hidden layer after two tasks, or only the part that was learned.

        Activations are treated as Gaussian: along the labels this agrees with sampled networks to 10-25 %; the trace and the
        projection on the all-ones vector are not to be read.
        """
        return self._theory.hidden_kernel(matrix(X, "X"), learned)

    def representation_change(self, X: Any) -> Array:
        """`ΔΦ(x)·ΔΦ(x')`, not divided by N: how far task 2 moved the hidden layer; two tasks at lam = beta = inf only."""
        return self._theory.representation_change(matrix(X, "X"))

    def __repr__(self) -> str:
        return f"<MultiHead of {self.tasks} tasks at alpha = {setting(self.alpha)}, lam = {setting(self._lam)}>"

    def tables(self) -> list[Table]:
        """The tables that print and notebook show."""
        values = {"width": setting(self.width), "alpha": setting(self.alpha), "lam": setting(self._lam)}
        values |= {} if self.lam_used == self._lam else {"λ that stands for it": setting(self.lam_used)}
        values |= {"regime": self.regime} if self.regime else {}
        names = [task[4] for task in self._tasks]
        tables = [values_table(values), matrix_table("Forgetting F, a readout per task", self.forgetting(), names)]
        if all(task[2] is not None for task in self._tasks):
            caption = "Test loss G over that of a network that learned the task alone"
            tables.append(matrix_table(caption, self.generalization(), names))
        return tables

    def title(self) -> str:
        """What it is called where it is shown."""
        return f"A readout for each of {self.tasks} tasks"


class TwoTaskLimit(Result):
    """Two tasks with a readout each at λ → ∞, at one load or at every load of an array.

    `u22`, `u0`, `d` and the losses `f21`, `g21`, `g22` may grow or vanish as a power of λ: each is a coefficient, beside its
    exponent (`u0_exponent`, …), which is 0 where there is a finite limit. `critical` is the `CriticalLoad` between the regimes, at
    several loads; None at one.
    """

    _title = "Two tasks with a readout each, as λ grows"
    alpha: Any
    regime: Any
    u11: Any
    u12: Any
    rho: Any
    u0: Any
    d: Any
    u22: Any
    critical: CriticalLoad | None
    settings: dict[str, Any]

    @classmethod
    def of_points(cls, points: list[dict[str, Any]], scalar: bool) -> TwoTaskLimit:
        """From what the compiled half returns for every load."""
        columns: dict[str, list[Any]] = {}
        for point in points:
            factors = point["factors"]
            row = {name: factors[name] for name in ("alpha", "width", "u11", "u12", "rho")}
            row["regime"] = factors["limit"]["regime"]
            row |= {name: factors["limit"][name] for name in ("t", "den", "e", "r", "s", "q")}
            powers = {name: factors[name] for name in ("u22", "u0", "d")}
            powers |= {name: point[name] for name in ("f21", "g21", "g22") if point.get(name) is not None}
            for name, power in powers.items():
                row[name], row[f"{name}_exponent"] = power["coefficient"], power["exponent"]
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
        return cls(**{name: values[0] if scalar else np.array(values) for name, values in columns.items()})

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per load."""
        left_out = ("critical", "settings")
        values = {name: np.atleast_1d(value) for name, value in self.__dict__.items() if name not in left_out}
        return frame(values, ["alpha"])

    def plot(self, ax: Any = None) -> Any:
        """F_21 and the readout norm against the load, with the regimes behind them."""
        return _plotting.loads(self, ax)

    def tables(self) -> list[Table]:
        """The tables that are shown; powers of λ where there is no finite limit."""
        names = ["u22", *(name for name in ("f21", "g21", "g22") if name in self.__dict__)]
        columns: dict[str, Any] = {symbol("alpha"): [setting(a) for a in np.atleast_1d(self.alpha)]}
        columns["regime"] = np.atleast_1d(self.regime).tolist()
        columns |= {symbol(name): np.atleast_1d(self.__dict__[name]) for name in ("u11", "u12", "rho")}
        return [table("", columns | {symbol(name): powers(self, name) for name in names})]

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        return [DEFINED if "g21" in self.__dict__ else DEFINED.split(";")[0] + "."] if "f21" in self.__dict__ else []


def powers(result: Result, name: str) -> list[str]:
    """A quantity and its exponents of λ, written."""
    both = np.ravel(result.__dict__[name]), np.ravel(result.__dict__[f"{name}_exponent"])
    return [power(value, exponent) for value, exponent in zip(*both)]


class CriticalLoad(Result):
    """`alpha_c`, where overfitting gives way to generalization, and `alpha_c_gamma_sim` = γ_sim⁻² beside it.

    1 where there is no overfitting regime, inf where none is found up to `bound`; `notes` says so in words.
    """

    _title = "Similarity and critical loads of two tasks"
    alpha_c: float
    alpha_c_gamma_sim: float
    alpha_c_u11: float
    gamma_sim: float
    gamma_feature: float
    cos: float
    proj: float
    bound: float
    label_scale: list[float]
    notes: list[str]

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        names = ("gamma_sim", "alpha_c", "alpha_c_gamma_sim", "alpha_c_u11", "gamma_feature", "cos", "proj")
        return [values_table({name: getattr(self, name) for name in names})]

    def plot(self, ax: Any = None) -> Any:
        """The critical load and its estimates on the axis of loads, with the regimes behind them."""
        return _plotting.critical(self, ax)

    def regime(self, alpha: float) -> str:
        """The regime at a load.

        >>> CriticalLoad(alpha_c=1.6).regime(1.2)
        'overfitting'
        """
        if alpha == 1:
            raise ValueError("alpha is 1; it is the end of fixed representations itself, ask on either side")
        return "fixed_representations" if alpha < 1 else "overfitting" if alpha < self.alpha_c else "generalization"

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        return [f"{note[:1].upper()}{note[1:]}." for note in self.notes]


def two_task_limit(
    X1: Any,
    y1: Any,
    X2: Any,
    y2: Any,
    *,
    alpha: Any,
    sigma: float = 1.0,
    activation: str = "relu",
    sigma_readout: float | None = None,
    readout_norm: float | None = None,
) -> TwoTaskLimit:
    """`M = K + ρΔ̂`, `E(ρ) = u11·den·yy − by²`: two tasks at λ → ∞ and at one load α or at every load of an array.

    α < 1: fixed representations; above, overfitting (E(ρ*) > 0, where t(ρ*) = 0) or generalization (E(ρ) = 0).

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X1, X2 = rng.normal(size=(2, 20, 30))
    >>> y1, y2 = np.sign(rng.normal(size=(2, 20)))
    >>> limit = two_task_limit(X1, y1, X2, y2, alpha=[0.5, 1.5])
    >>> limit.regime.tolist()
    ['fixed_representations', 'overfitting']
    >>> two_task_limit(X1, y1, X2, y2, alpha=0.5).rho
    0.0
    """
    settings, fields = given(locals()), fields_of(locals(), "alpha")
    loads = np.ravel(vector(np.atleast_1d(alpha), "alpha")).tolist()
    two = _ebbing.TwoTasks(native([(X1, y1), (X2, y2)]), fields)
    critical = None if np.ndim(alpha) == 0 else critical_of(two.critical_load())
    limit = TwoTaskLimit.of_points(two.curve(loads)["points"], scalar=np.ndim(alpha) == 0)
    limit.critical, limit.settings = critical, settings
    return limit


def critical_load(
    X1: Any,
    y1: Any,
    X2: Any,
    y2: Any,
    *,
    sigma: float = 1.0,
    activation: str = "relu",
    sigma_readout: float | None = None,
) -> CriticalLoad:
    """The α_c that solves `E(ρ*(α); α) = 0`, with the estimate `γ_sim⁻²` beside it.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))
    >>> critical_load(X, y, X, y).alpha_c  # identical tasks: no overfitting
    1.0
    """
    settings, fields = given(locals()), fields_of(locals())
    return critical_of(_ebbing.TwoTasks(native([(X1, y1), (X2, y2)]), fields).critical_load(), settings=settings)


def critical_of(found: dict[str, Any], **more: Any) -> CriticalLoad:
    """The critical load of two tasks, as the compiled half has it."""
    return CriticalLoad(**{name: math.inf if value is None else value for name, value in found.items()}, **more)
