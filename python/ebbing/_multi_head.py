"""A readout for every task: finite width, one hidden layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array, classes_of, decided, lower, matrix, native, vector
from ._result import Result, heat_table, key_value, pandas, table
from ._settings import count, real, weight_variance

#: What the library's regimes are called.
REGIMES = {
    "fixed_representations": "fixed-representations",
    "overfitting": "overfitting",
    "generalisation": "generalization",
}

#: The prior variance of readouts and the bound on their norm.
Readout = tuple[float | None, float | None]


class MultiHead:
    """`u1(t,s) = <a_t·a_s>/N` and all heads' outputs, at load α = P/N, found one task after another.

    Give `width` N or `alpha` = P/N of the newest task. At `lam` = inf two tasks have an exact limit; more tasks (or a finite
    `beta`) take a large λ that stands for it, `lam_used`, with its `evidence`. Heads and times count from 1.

    `u1`, `u0` and `d` = u1 − u0 are matrices (infinite where they diverge with λ); `residual` is the largest scaled residual
    of the equations, `limit` the exact limit's numbers with `regime`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(2)]
    >>> network = MultiHead(tasks, alpha=0.5, lam=10.0)
    >>> network.u1.shape, network.residual < 1e-9
    ((2, 2), True)
    >>> MultiHead(tasks, alpha=0.5).regime
    'fixed-representations'
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
        self._tasks = native(tasks)
        # Each head has its own two classes.
        labelled = all(not isinstance(y, np.ndarray) for _, y, *_ in self._tasks) and classes_of(tasks) is not None
        self._classes = [sorted(set(y)) for _, y, *_ in self._tasks] if labelled else None
        self._settings = (
            None if width is None else real(width, "width"),
            None if alpha is None else real(alpha, "alpha"),
            real(lam, "lam"),
            weight_variance(sigma, "sigma"),
            real(beta, "beta"),
            activation,
            _readout(sigma_readout, readout_norm),
        )
        self._solve()

    def _solve(self) -> None:
        self._theory = _ebbing.MultiHead(self._tasks, *self._settings)
        found = self._theory.factors()
        self.u1: Array = np.array(found["u1"], dtype=float)
        self.u0: Array = np.array(found["u0"], dtype=float)
        self.d: Array = np.array(found["d"], dtype=float)
        self.width: float = found["width"]
        self.alpha: float = len(self._tasks[-1][0]) / self.width
        self.lam_used: float = found["lam"]
        self.digits: float = found["digits"]
        self.residuals: list[dict[str, Any]] = found["residuals"]
        self.residual: float = max(r["residual"] for r in self.residuals)
        self.evidence: list[dict[str, Any]] | None = found["evidence"]
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
        time = self.tasks if t is None else count(t, "t")
        return self._theory.predict(matrix(X, "X"), count(head, "head"), time)

    def mean(self, X: Any, head: int, t: int | None = None) -> Array:
        """`<f_t^h(x)>`: head h (from 1) after t tasks (all of them unless told)."""
        return self._predict(X, head, t)[0]

    def predict(self, X: Any, head: int | None = None, t: int | None = None) -> Any:
        """What head h (the last learned unless told) answers after t tasks: the task's own classes where it was given as
        labels, else the mean output."""
        time = self.tasks if t is None else count(t, "t")
        chosen = time if head is None else count(head, "head")
        mean = self.mean(X, chosen, time)
        return decided(mean, self._classes[chosen - 1] if self._classes else None)

    def variance(self, X: Any, head: int, t: int | None = None) -> Array:
        """`<δf_t^h(x)²>`; infinite where it diverges with λ."""
        return self._predict(X, head, t)[1]

    def forgetting(self) -> Array:
        """`F[t, s]`: the loss of head s on its training data after task t, variance included; nan before s is learned."""
        return lower(self._theory.forgetting())

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
        return f"<MultiHead of {self.tasks} tasks at alpha = {self.alpha:.3g}, residual {self.residual:.1e}>"

    def _repr_html_(self) -> str:
        values: dict[str, Any] = {"width": self.width, "alpha": self.alpha, "lam": self.lam_used}
        values |= {"regime": self.regime} if self.regime else {}
        return key_value({**values, "largest residual": self.residual}) + heat_table("Forgetting F", self.forgetting())


class TwoTaskLimit(Result):
    """Two tasks with a readout each at λ → ∞, at one load or at every load of an array.

    `u22`, `u0`, `d` and the losses `f21`, `g21`, `g22` may grow or vanish as a power of λ: each is a coefficient, beside its
    exponent (`u0_exponent`, …), which is 0 where there is a finite limit.
    """

    alpha: Any
    regime: Any
    u11: Any
    u12: Any
    rho: Any
    u0: Any
    d: Any
    u22: Any

    @classmethod
    def of_points(cls, points: list[dict[str, Any]], scalar: bool) -> TwoTaskLimit:
        """From what the compiled half tells of every load."""
        columns: dict[str, list[Any]] = {}
        for point in points:
            factors = point["factors"]
            row = {name: factors[name] for name in ("alpha", "width", "u11", "u12", "rho")}
            row["regime"] = REGIMES[factors["limit"]["regime"]]
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
        values = {name: np.atleast_1d(value) for name, value in self.__dict__.items()}
        return pandas().DataFrame(values).set_index("alpha")

    def plot(self, ax: Any = None) -> Any:
        """F_21 and the readout norm against the load, with the regimes behind them."""
        from . import _plotting

        return _plotting.loads(self, ax)

    def tables(self) -> list[str]:
        """The tables that are shown."""
        if np.ndim(self.alpha) == 0:
            return super().tables()
        names = ["alpha", "regime", "u11", "u12", "u22", "rho"] + (["f21"] if "f21" in self.__dict__ else [])
        rows = [[np.asarray(self.__dict__[name])[i].item() for name in names] for i in range(len(self.alpha))]
        return [table(names, rows)]


class CriticalLoad(Result):
    """`alpha_c`, where overfitting gives way to generalisation, and `alpha_c_gamma_sim` = γ_sim⁻² beside it.

    1 where there is no overfitting regime, inf where none is found up to `bound`; `notes` says so in words.
    """

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

    def regime(self, alpha: float) -> str:
        """The regime at a load.

        >>> CriticalLoad(alpha_c=1.6).regime(1.2)
        'overfitting'
        """
        if alpha == 1:
            raise ValueError("alpha is 1; it is the end of fixed representations itself, ask on either side")
        return "fixed-representations" if alpha < 1 else "overfitting" if alpha < self.alpha_c else "generalization"

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        return list(self.notes)


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
    ['fixed-representations', 'overfitting']
    >>> two_task_limit(X1, y1, X2, y2, alpha=0.5).rho
    0.0
    """
    readout = _readout(sigma_readout, readout_norm)
    curve = _two_tasks(X1, y1, X2, y2, sigma, activation, readout).curve(several(alpha, "alpha"))
    return TwoTaskLimit.of_points(curve["points"], scalar=np.ndim(alpha) == 0)


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
    readout = _readout(sigma_readout, None)
    return critical_of(_two_tasks(X1, y1, X2, y2, sigma, activation, readout))


def critical_of(two: _ebbing.TwoTasks) -> CriticalLoad:
    """The critical load of two tasks that are decomposed."""
    found = two.critical_load()
    return CriticalLoad(**{name: math.inf if value is None else value for name, value in found.items()})


def _two_tasks(
    X1: Any, y1: Any, X2: Any, y2: Any, sigma: float, activation: str, readout: Readout
) -> _ebbing.TwoTasks:
    return _ebbing.TwoTasks(native([(X1, y1), (X2, y2)]), weight_variance(sigma, "sigma"), activation, readout)


def _readout(sigma: float | None, norm: float | None) -> Readout:
    return (
        None if sigma is None else weight_variance(sigma, "sigma_readout"),
        None if norm is None else real(norm, "readout_norm"),
    )


def several(values: Any, name: str) -> list[float]:
    """One number or a vector of them."""
    found = vector(np.atleast_1d(values), name)
    if not found.size:
        raise ValueError(f"{name}: it is empty; give one number or more")
    return list(found.tolist())


#: What a curve tells at every λ and load, each with its exponent of λ.
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

    @classmethod
    def of_curves(cls, curves: list[dict[str, Any]], lam: Any, alpha: Any) -> PhaseCurves:
        """From what the compiled half tells of every λ."""
        keep = tuple(slice(None) if np.ndim(axis) else 0 for axis in (lam, alpha))

        def grid(get: Callable[[dict[str, Any]], Any], dtype: Any = float) -> Any:
            return np.array([[get(point) for point in curve["points"]] for curve in curves], dtype=dtype)[keep]

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
        values = {name: np.ravel(v) for name, v in self.__dict__.items() if name not in ("lam", "alpha", "critical")}
        frame = pandas().DataFrame({"lam": lam.ravel(), "alpha": alpha.ravel(), **values})
        return frame.set_index(["lam", "alpha"])

    def plot(self, ax: Any = None, quantity: str = "f_t1") -> Any:
        """A quantity against the load, a line per λ; nothing where it diverges."""
        from . import _plotting

        return _plotting.curves(self, quantity, ax)

    def tables(self) -> list[str]:
        """The tables that are shown."""
        names = ["lam", "alpha", *(name for name in QUANTITIES if name in self.__dict__)]
        shape = (np.size(self.lam), np.size(self.alpha))
        columns = [np.broadcast_to(np.reshape(self.lam, (-1, 1)), shape), np.broadcast_to(self.alpha, shape)]
        columns += [np.reshape(self.__dict__[name], shape) for name in names[2:]]
        return [table(names, [list(row) for row in zip(*(np.ravel(column).tolist() for column in columns))])]

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        return self.critical.sentences() if self.critical else []


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
    lams, loads = several(lam, "lam"), several(alpha, "alpha")
    readout = _readout(sigma_readout, readout_norm)
    found = _ebbing.phase_curves(
        native(tasks), lams, loads, weight_variance(sigma, "sigma"), real(beta, "beta"), activation, readout
    )
    return PhaseCurves.of_curves(found, lam, alpha)


class BestLambda(Result):
    """The λ that minimises max(G_21, G_22): `lam` with its `f21`, `g21`, `g22`, and every λ `tried`, ascending.

    `at_edge` says that it is an end of the range searched, so that the minimum may lie beyond.
    """

    lam: float
    f21: float
    g21: float
    g22: float
    at_edge: bool
    tried: dict[str, Array]

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per λ tried."""
        return pandas().DataFrame(self.tried).set_index("lam")

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
    """Searches `low` … `high` for the λ that minimises `max(G_21, G_22)` of two tasks with held-out data.

    Give `width` N or `alpha` = P/N of the second task.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> part = lambda p: (rng.normal(size=(p, 30)), np.sign(rng.normal(size=p)))
    >>> best = best_lambda([part(20) + part(10) for _ in range(2)], alpha=1.5, low=0.1, high=1e4)
    >>> best.lam in best.tried["lam"]
    True
    """
    found = _ebbing.best_lambda(
        native(tasks),
        real(low, "low"),
        real(high, "high"),
        None if width is None else real(width, "width"),
        None if alpha is None else real(alpha, "alpha"),
        weight_variance(sigma, "sigma"),
        real(beta, "beta"),
        activation,
        _readout(sigma_readout, readout_norm),
    )
    names = {"lam": "lambda", "f21": "f21", "g21": "g21", "g22": "g22"}
    tried = {name: np.array([point[key] for point in found["curve"]]) for name, key in names.items()}
    best = {name: found["best"][key] for name, key in names.items()}
    return BestLambda(**best, at_edge=found["at_edge"], tried=tried)
