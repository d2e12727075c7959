"""Kernels of wide networks."""

from __future__ import annotations

from typing import Any

from . import _ebbing
from ._arrays import Array, matrix
from ._settings import bias_variance, count, real, weight_variance, word


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
    return _ebbing.kernel(
        matrix(X, "X"),
        None if X2 is None else matrix(X2, "X2"),
        count(depth, "depth"),
        count(t, "t"),
        count(s, "s"),
        real(lam, "lam"),
        weight_variance(sigma, "sigma"),
        bias_variance(bias),
        word(kind, "kind", "nngp"),
        word(activation, "activation", "relu"),
    )
