"""Two tasks with a head each, for theorists: factors at any load, the matrices behind them, kernels of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array, as_sequence, matrix, native, numbers
from ._result import Result
from ._settings import count, fields_of, real
from ._table import Table, symbol, table


class TwoTaskFactors(Result):
    """The factors of two tasks at one load, with a matrix for every two heads.

    `u11`, `u12` (m_1 × m_2), `u22`, `u0` and `d` = u22 − u0; `rho`, the eigenvalues of (u0, d), divided by λ at lam = inf. There u22
    and u0 are in units of λ^`exponent`, and `directions` has `regimes`, `axes` and `duals`. `residuals` of every equation.
    """

    _title = "Two tasks with a head each"
    alpha: float
    width: float
    lam: float
    u11: Array
    u12: Array
    u22: Array
    u0: Array
    d: Array
    rho: Array
    exponent: float
    directions: dict[str, Any] | None
    residuals: list[dict[str, Any]]

    @classmethod
    def of(cls, found: dict[str, Any]) -> TwoTaskFactors:
        """From what the compiled half has."""
        arrays = {name: np.array(found[name], dtype=float) for name in ("u11", "u12", "u22", "u0", "d", "rho")}
        return cls(**{**found, **arrays})

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        columns: dict[str, Any] = {symbol("rho"): self.rho}
        if self.directions is not None:
            columns["regime"] = self.directions["regimes"]
        return [table("Directions of head 2", columns)]


class TwoTaskTheory:
    """Two tasks with a head each at one `lam`, decomposed once: `factors(alpha)` and what the theory is made of.

    At finite lam: `kernel`, `renormalized_kernel` (K̃), `lower` (𝓛), `means` (ū = 𝓛⁻¹Y), `free_energy` (H_2 at any factors); at any lam
    `kernel_spectrum`, `pencil_values`, `overlaps` (m1, m0, m1 − m0), and at lam = inf `critical_loads`. Tasks and times count from 1.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(12, 20)), rng.normal(size=(12, 2))) for _ in range(2)]
    >>> theory = TwoTaskTheory(tasks, lam=5.0)
    >>> at = theory.factors(0.6)
    >>> u = np.concatenate([part.T.ravel() for part in theory.means(0.6)])  # output after output
    >>> np.allclose(theory.lower(0.6) @ u, np.concatenate([y.T.ravel() for _, y in tasks]))
    True
    >>> K = [theory.kernel(kind, t, s) for kind, t, s in [("k1", 1, 1), ("k1", 2, 1), ("k1", 2, 2), ("delta", 2, 2)]]
    >>> own = TwoTaskTheory.of_kernels(*K, tasks[0][1], tasks[1][1], lam=5.0)
    >>> np.allclose(own.factors(0.6).u22, at.u22)
    True
    """

    def __init__(
        self,
        tasks: Any,
        *,
        lam: float = float("inf"),
        sigma: float = 1.0,
        activation: str = "relu",
        sigma_readout: float | None = None,
        readout_norm: float | None = None,
    ) -> None:
        self._theory = _ebbing.TwoHeads(native(as_sequence(tasks)), fields_of(locals()))

    @classmethod
    def of_kernels(
        cls,
        K11: Any,
        K21: Any,
        K22: Any,
        delta: Any,
        Y1: Any,
        Y2: Any,
        *,
        lam: float = float("inf"),
        sigma: float = 1.0,
        sigma_readout: float | None = None,
        readout_norm: float | None = None,
    ) -> TwoTaskTheory:
        """From kernels alone: `K¹_11`, `K¹_21`, `K¹_22` and `ΔK_22` (at lam = inf the limit of λΔK_22), and targets with a column per
        output, which are taken as they are. What needs inputs is refused."""
        made = cls.__new__(cls)
        Y1, Y2 = (y[:, None] if y.ndim == 1 else y for y in (numbers(Y1, "Y1"), numbers(Y2, "Y2")))
        kernels = (matrix(K11, "K11"), matrix(K21, "K21"), matrix(K22, "K22"), matrix(delta, "delta"))
        K11, K21, K22, delta = kernels
        fields = fields_of({"lam": lam, "sigma": sigma, "sigma_readout": sigma_readout, "readout_norm": readout_norm})
        made._theory = _ebbing.TwoHeads.of_kernels(K11, K21, K22, delta, Y1, Y2, fields)
        return made

    def factors(self, alpha: float) -> TwoTaskFactors:
        """The factors at load α = P_2/N."""
        return TwoTaskFactors.of(self._theory.point(real(alpha, "alpha")))

    def critical_loads(self) -> Array:
        """At lam = inf, the load above which k + 1 directions of head 2 generalize, ascending: 1 where they do at every load above 1, inf
        where no such load was found."""
        return np.array(self._theory.critical_loads()["alpha_c"], dtype=float)

    def pencil_values(self) -> Array:
        """The eigenvalues of the pencil (ΔK_22, K¹_22), ascending; of its limit times λ at lam = inf."""
        return np.array(self._theory.pencil_values())

    def kernel_spectrum(self, t: int) -> Array:
        """The eigenvalues of `K¹_tt`, ascending."""
        return np.array(self._theory.kernel_spectrum(count(t, "t")))

    def kernel(self, kind: str, t: int, s: int) -> Array:
        """A kernel between the training inputs of tasks t ≥ s: k1, k0, delta (ΔK = K¹ − K⁰), ktilde (with m1 and m0), nngp or ntk."""
        return self._theory.kernel(kind, count(t, "t"), count(s, "s"))

    def renormalized_kernel(self, alpha: float, t: int, s: int) -> Array:
        """`K̃_ts = K¹_ts ⊗ u1_ts − K⁰_ts ⊗ u0_ts`, output after output."""
        return self._theory.renormalized_kernel(real(alpha, "alpha"), count(t, "t"), count(s, "s"))

    def lower(self, alpha: float) -> Array:
        """𝓛, the block lower-triangular matrix of all `K̃_ts`, output after output."""
        return self._theory.lower(real(alpha, "alpha"))

    def means(self, alpha: float) -> tuple[Array, Array]:
        """`ū = 𝓛⁻¹Y` of both tasks, a column per output."""
        return self._theory.means(real(alpha, "alpha"))

    def free_energy(self, alpha: float, d: Any, u0: Any, u12: Any) -> float:
        """`H_2` at a load and any factors of task 2, up to a constant; the factors of `factors(alpha)` are its stationary point."""
        factors = [np.atleast_2d(numbers(u, name)) for u, name in ((d, "d"), (u0, "u0"), (u12, "u12"))]
        return self._theory.free_energy(real(alpha, "alpha"), *factors)

    def predict(self, alpha: float, head: int, X: Any) -> tuple[Array, Array]:
        """Means (n, m) and covariances (n, m, m) of a head's outputs after both tasks."""
        return self._theory.predict(real(alpha, "alpha"), count(head, "head"), matrix(X, "X"))

    def overlaps(self, t: int, s: int) -> tuple[float, float, float]:
        """`m1(t,s)`, `m0(t,s)` of a single weight, and their difference."""
        return self._theory.overlaps(count(t, "t"), count(s, "s"))
