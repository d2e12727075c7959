"""Wide networks: their kernels, order parameters of two tasks, and one readout that learns tasks one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _ebbing
from ._arrays import Array, as_sequence, classes_of, decided, matrix, native, squeezed, target_columns
from ._result import Shown
from ._order import OrderParameters
from ._settings import Seed, count, fields_of, given, seed_of
from ._table import Table, matrix_table

Rows = npt.NDArray[np.int64]


def kernel(
    X: Any,
    X2: Any = None,
    *,
    depth: int = 1,
    t: int = 1,
    s: int = 1,
    lam: float = float("inf"),
    sigma: float = 1.0,
    bias: float = 0.0,
    kind: str = "nngp",
    activation: str = "relu",
) -> Array:
    """`K_ij = k_ts(x_i, x'_j)` between the rows of X (weights after task t) and of X2 (after task s; default X itself).

    Kinds, with the readout's factors m1, m0 of the weights' prior:

    | kind | kernel |
    |---|---|
    | `nngp` | K_GP of a fresh network; ignores t, s and lam |
    | `ntk` | K_GP + σ² K̇ Q, the tangent kernel; ignores t, s and lam |
    | `k1` | K¹_ts: the same branch of the weights at times t and s |
    | `k0` | K⁰_ts: branches that part just before the earlier time |
    | `ktilde` | K̃_ts = m1 K¹ − m0 K⁰; at lam = inf lim λK̃ for t, s ≥ 2 |
    | `delta` | ΔK_ts = K¹ − K⁰; at lam = inf lim λΔK |
    | `derivative` | K̇_ts = E[φ'(z) φ'(z')] of the last hidden layer |

    Activations are relu, linear, erf and gelu. `sigma` and `bias` are the prior standard deviations of weights and of biases in
    every layer: σ² times `nngp` and `ntk` are neural-tangents' kernels of `Dense(W_std=sigma, b_std=bias)` layers, the
    readout included; at σ = 1 their `diag_reg`, on an absolute scale, is the noise variance 1/β of `forecast` and `SingleHead`. A float64 array in Fortran order is used where it lies; the result is in
    Fortran order.

    >>> import numpy as np
    >>> K = kernel(np.array([[1.0, 1.0], [1.0, -1.0]]))
    >>> np.round(K, 4)  # |x|²/N0 = 1: half of it on the diagonal, 1/(2π) at a right angle
    array([[0.5   , 0.1592],
           [0.1592, 0.5   ]])
    """
    network = fields_of(locals(), "X2", "t", "s", "kind")
    other = None if X2 is None else matrix(X2, "X2")
    return _ebbing.kernel(matrix(X, "X"), other, kind, count(t, "t"), count(s, "s"), network)


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
    asked, fields = given(locals()), fields_of(locals())
    return OrderParameters.of_pair(_ebbing.order_parameters(native([(X1, y1), (X2, y2)]), False, fields), settings=asked)


def order_parameters_from_features(
    phi1: Any, y1: Any, phi2: Any, y2: Any, *, bootstrap: int = 0, shuffles: int = 0, ridge: float = 0.0, seed: Seed = 0
) -> OrderParameters:
    """The same with `K_ij = Φ_i Φ_jᵀ/N`: Φ is a layer's activity or a recording, one example (trial) per row.

    With fewer neurons than trials the kernels are singular: pseudo-inverses are taken at the ranks that `ranks` gives.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> trials, neurons = 40, 12
    >>> phi1, phi2 = rng.normal(size=(2, trials, neurons))
    >>> y = np.repeat([1.0, -1.0], 20)
    >>> found = order_parameters_from_features(phi1, y, phi2, y)
    >>> found.ranks, round(found.gamma_feature, 6)  # both recordings span all neurons
    ([12, 12], 1.0)
    """
    asked, fields = given(locals()), fields_of(locals())
    return OrderParameters.of_pair(_ebbing.order_parameters(native([(phi1, y1), (phi2, y2)]), True, fields), settings=asked)


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
    asked, fields = given(locals()), fields_of(locals())
    kernels = matrix(K11, "K11"), matrix(K12, "K12"), matrix(K22, "K22")
    first, second = target_columns([y1, y2])[0]
    pair = _ebbing.order_parameters_of_kernels(*kernels, first, second, fields)
    return OrderParameters.of_pair(pair, settings=asked)


class SingleHead(Shown):
    """`<f_T(x)> = Σ_t K̃_Tt(x,X_t) ū_t`, `ū = 𝓛⁻¹ Y`: a wide network with one readout after each of its tasks.

    | setting | meaning |
    |---|---|
    | `tasks` | list of (X, y) or (X, y, X_test, y_test) |
    | `mode` | `rf`: random features; `ntk`: all weights learn, λ → ∞; `lazy`: by plain descent; `gibbs`: at `lam` |
    | `depth`, `activation` | hidden layers; relu, linear, erf or gelu |
    | `lam` | penalty λ on the change of the weights; finite only in mode `gibbs`, where inf is the limit at the `beta` given |
    | `sigma`, `bias` | prior standard deviations of a weight, and of a bias in every layer (0: none) |
    | `beta` | inverse temperature: targets carry noise of variance 1/β |

    Matrices are indexed [t, s]: after task t, on task s, both from 0; the argument `t` of methods counts tasks learned.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> network = SingleHead(tasks)
    >>> F = network.forgetting()
    >>> F.shape, bool(F[1, 0] > 0.01), bool(F[2, 2] < 1e-12)
    ((3, 3), True, True)
    """

    def __init__(
        self,
        tasks: Any,
        *,
        depth: int = 1,
        mode: str = "rf",
        lam: float = float("inf"),
        sigma: float = 1.0,
        bias: float = 0.0,
        beta: float = float("inf"),
        activation: str = "relu",
    ) -> None:
        fields, tasks = fields_of(locals()), as_sequence(tasks)
        self._setup("inputs", native(tasks), fields, classes_of(tasks))

    @classmethod
    def from_features(
        cls, features: Any, *, sigma: float = 1.0, beta: float = float("inf")
    ) -> SingleHead:
        """A readout of given features: each task is (Φ, y) or (Φ, y, Φ_test, y_test), `K = ΦΦᵀ/N`.

        >>> import numpy as np
        >>> rng = np.random.default_rng(1)
        >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(2)]
        >>> bool(SingleHead.from_features(tasks).forgetting()[1, 0] > 0.01)
        True
        """
        self, features = cls.__new__(cls), as_sequence(features)
        self._setup("features", native(features), {"sigma": sigma, "beta": beta}, classes_of(features))
        return self

    @classmethod
    def from_kernels(
        cls,
        K: Any,
        tasks: Any,
        *,
        ntk: Any = None,
        mode: str = "rf",
        sigma: float = 1.0,
        beta: float = float("inf"),
    ) -> SingleHead:
        """Tasks whose points are rows of a kernel over all points: each is (rows, y) or (rows, y, test_rows, y_test).

        Mode `ntk` needs the tangent kernel of the same points. Points of methods are row numbers too.

        >>> import numpy as np, ebbing
        >>> rng = np.random.default_rng(1)
        >>> X, y = rng.normal(size=(40, 30)), np.sign(rng.normal(size=40))
        >>> network = SingleHead.from_kernels(ebbing.kernel(X), [(range(20), y[:20]), (range(20, 40), y[20:])])
        >>> direct = SingleHead([(X[:20], y[:20]), (X[20:], y[20:])])
        >>> bool(np.allclose(network.forgetting(), direct.forgetting(), rtol=1e-9, atol=1e-12))
        True
        """
        self = cls.__new__(cls)
        sequence = as_sequence(tasks)
        tested = [task for task in sequence if task.x_test is not None]
        train, test, _ = target_columns([task.y for task in sequence], [task.y_test for task in tested])
        held_out = {id(task): y for task, y in zip(tested, test)}
        points = []
        for name, task, y in zip(sequence.names, sequence, train):
            rows = None if task.x_test is None else _rows(task.x_test)
            points.append((_rows(task.x), y, rows, held_out.get(id(task)), name))
        kernels = matrix(K, "K"), None if ntk is None else matrix(ntk, "ntk")
        self._setup("kernels", (kernels, points), {"mode": mode, "sigma": sigma, "beta": beta}, classes_of(sequence))
        return self

    def _setup(self, kind: str, data: Any, settings: dict[str, Any], classes: list[Any] | None) -> None:
        self._kind, self._data, self._settings, self._classes = kind, data, settings, classes
        self._theories: dict[bool, _ebbing.SingleHead] = {}
        self._theory(False)

    def _theory(self, variance: bool) -> _ebbing.SingleHead:
        """The compiled theory whose losses include the variance or not."""
        if variance not in self._theories:
            if self._kind == "kernels":
                (nngp, ntk), tasks = self._data
                made = _ebbing.SingleHead.from_kernels(nngp, ntk, tasks, self._settings, variance)
            else:
                made = _ebbing.SingleHead(self._data, self._kind == "features", self._settings, variance)
            self._theories[variance] = made
        return self._theories[variance]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("_kind", "_data", "_settings", "_classes")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._setup(state["_kind"], state["_data"], state["_settings"], state["_classes"])

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self._data[1] if self._kind == "kernels" else self._data)

    @property
    def digits(self) -> float:
        """The estimated number of correct decimal digits."""
        return self._theory(False).digits

    def _points(self, X: Any) -> Any:
        return _rows(X) if self._kind == "kernels" else matrix(X, "X")

    def _columns(self) -> int:
        return self._theory(False).columns

    def _time(self, t: int | None) -> int:
        return self.tasks if t is None else count(t, "t")

    def mean(self, X: Any, t: int | None = None) -> Array:
        """`<f_t(x)>` after t tasks (all of them by default): one number per point, or one row per point."""
        return squeezed(self._theory(False).mean(self._points(X), self._time(t)), self._columns())

    def predict(self, X: Any, t: int | None = None) -> Any:
        """What the network answers after t tasks (all of them by default): classes where tasks were given as labels, else the
        mean output.

        >>> import numpy as np
        >>> rng = np.random.default_rng(1)
        >>> X, y = rng.normal(size=(20, 30)), rng.choice(["ape", "bee"], size=20)
        >>> bool((SingleHead([(X, y)]).predict(X) == y).all())
        True
        """
        return decided(self.mean(X, t), self._classes)

    def variance(self, X: Any, t: int | None = None) -> Array:
        """`Var f_t(x)` over networks, the same for every target column."""
        return self._theory(False).variance(self._points(X), self._time(t))

    def covariance(self, X: Any, X2: Any = None, t: int | None = None, s: int | None = None) -> Array:
        """`Cov(f_t(x), f_s(x'))` between the points X after t tasks and X2 (X itself) after s tasks (t)."""
        x, first = self._points(X), self._time(t)
        x2, second = (x if X2 is None else self._points(X2)), (first if s is None else count(s, "s"))
        return self._theory(False).covariance(x, first, x2, second)

    def sample(self, X: Any, n: int, t: int | None = None, *, seed: Seed = 0) -> Array:
        """Outputs at X of n networks drawn from the theory, after t tasks: one network along the first axis.

        >>> import numpy as np
        >>> rng = np.random.default_rng(1)
        >>> X, y = rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))
        >>> drawn = SingleHead([(X, y)]).sample(X, 5)  # every network has learned the task
        >>> drawn.shape, bool(np.allclose(drawn, y, atol=1e-6))
        ((5, 20), True)
        """
        time = self._time(t)
        if not 1 <= time <= self.tasks:
            raise ValueError(f"the task is {time}; tasks count from 1 to {self.tasks}")
        drawn = self._theory(False).sample(self._points(X), count(n, "n"), seed_of(seed))
        return squeezed(np.stack([network[time - 1] for network in drawn]), self._columns())

    def forecast(self, variance: bool = False) -> dict[str, Any]:
        """Everything this theory says: forgetting, accuracies, held-out losses, conditioning."""
        return dict(self._theory(variance).forecast())

    def forgetting(self, variance: bool = False) -> Array:
        """`F[t, s] = Σ(f_t(x)−y)²/|Y_s|²` on training data; for t < s the loss before task s is learned.

        With `variance` the average over networks, otherwise that of the mean.
        """
        return np.array(self.forecast(variance)["forgetting"])

    def generalization(self, variance: bool = False) -> Array:
        """`G[t, s] = L(f_t, D_s^test)/G_s⁰`: held-out loss over that of a fresh network that learns task s alone."""
        test = self.forecast(variance)["test"]
        if test is None:
            raise ValueError("generalization needs held-out data: give every task as (X, y, X_test, y_test)")
        return np.array(test["generalization"])

    def __repr__(self) -> str:
        return f"<SingleHead of {self.tasks} tasks, about {self.digits:.0f} digits>"

    def title(self) -> str:
        """What it is called where it is shown."""
        return f"One readout for {self.tasks} tasks, about {self.digits:.0f} digits"

    def tables(self) -> list[Table]:
        """The forgetting matrix, what is learned of it."""
        given = self._data[1] if self._kind == "kernels" else self._data
        learned = np.where(np.tri(self.tasks, dtype=bool), self.forgetting(), np.nan)
        return [matrix_table("Forgetting F", learned, [task[4] for task in given])]


def _rows(points: Any) -> list[int]:
    """Row numbers of a kernel."""
    array: Rows = np.asarray(points if not isinstance(points, range) else list(points))
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise ValueError("points of a given kernel are its row numbers: a list of integers from 0")
    return [int(row) for row in array]
