"""`K x = b` for several right-hand sides, where K is known by its products alone: preconditioned conjugate gradients.

The preconditioner is `M = F Fᵀ + δ`, F the partial Cholesky factor of K at randomly chosen pivots (each drawn with a probability
proportional to what is left of the diagonal) and δ the mean of what is left. With `F = U S Vᵀ`,
`M^p v = U (S² + δ)^p Uᵀ v + δ^p (v − U Uᵀ v)`, so that roots cost as much as the inverse. P × rank numbers are held, never P × P.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._arrays import Array

#: Pivots that are drawn at once.
BATCH = 50
#: δ is at least this fraction of the mean of the diagonal, S² of its largest.
FLOOR = 1e-12
#: The recursion ends at this fraction of the tolerance: the true residual is a little larger than its own.
MARGIN = 0.5

Product = Callable[[Array], Array]


class Preconditioner(NamedTuple):
    """`M = U (S² + δ) Uᵀ + δ (1 − U Uᵀ)`."""

    basis: Array
    values: Array
    rest: float

    def power(self, p: float, v: Array) -> Array:
        """`M^p v`."""
        inside = self.basis.T @ v
        weights = (self.values + self.rest) ** p - self.rest**p
        return np.asarray(self.rest**p * v + self.basis @ (weights[:, None] * inside))


def preconditioner(diagonal: Array, columns: Callable[[list[int]], Array], rank: int, seed: int) -> Preconditioner:
    """From the diagonal of K and a function that gives chosen columns of it.

    >>> K = np.diag([4.0, 2.0, 1.0])
    >>> M = preconditioner(np.diag(K).copy(), lambda at: K[:, at], 2, seed=0)
    >>> M.basis.shape, bool(M.rest > 0)
    ((3, 2), True)
    """
    rng = np.random.default_rng(seed)
    left, size = diagonal.copy(), len(diagonal)
    factor = np.empty((size, rank))
    made = 0
    while made < rank and left.sum() > 0:
        wanted = min(BATCH, rank - made, int(np.count_nonzero(left)))
        pivots = np.sort(rng.choice(size, wanted, replace=False, p=left / left.sum()))
        known = factor[:, :made]
        part = columns(pivots.tolist()) - known @ known[pivots].T
        lower = _cholesky(part[pivots])
        factor[:, made : made + wanted] = np.linalg.solve(lower, part.T).T
        left = np.maximum(left - np.sum(factor[:, made : made + wanted] ** 2, axis=1), 0.0)
        left[pivots] = 0.0
        made += wanted
    # Where the factor is exact nothing is left, and M must stay invertible well above rounding.
    rest = max(float(left.mean()), FLOOR * float(diagonal.mean()))
    return Preconditioner(*_basis(factor[:, :made]), rest)


def _basis(factor: Array) -> tuple[Array, Array]:
    """U and S² of `F = U S Vᵀ` from products alone, twice, for a basis that is orthonormal to rounding."""
    values, turn = np.linalg.eigh(factor.T @ factor)
    sound = values > FLOOR * values[-1]
    basis = factor @ (turn[:, sound] / np.sqrt(values[sound]))
    lengths, turn2 = np.linalg.eigh(basis.T @ basis)
    return np.asarray(basis @ (turn2 / np.sqrt(lengths)) @ turn2.T), np.asarray(values[sound])


def _cholesky(block: Array) -> Array:
    """The factor of what is left at some pivots, which may be singular within rounding."""
    block = (block + block.T) / 2
    top = float(np.trace(block))
    for shift in (1e-15, 1e-13, 1e-11, 1e-9, 1e-7):
        try:
            return np.asarray(np.linalg.cholesky(block + shift * top * np.eye(len(block))), dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
    return np.asarray(np.sqrt(top) * np.eye(len(block)))


class Solution(NamedTuple):
    """Solutions, one per column, with what they took: iterations, and `|b − K x|/|b|` of every column, from a product of its own."""

    x: Array
    iterations: int
    residuals: Array


def conjugate_gradients(
    product: Product,
    precondition: Product,
    b: Array,
    tolerance: float,
    most: int,
    heard: Callable[[int, float], None] = lambda iterations, residual: None,
) -> Solution:
    """Solves until every column's true relative residual is at most `tolerance`, or `most` iterations are done.

    Columns that are done leave the product. Where the recursion ends above the tolerance, it starts anew from the true residual
    for as long as that halves it.

    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> found = conjugate_gradients(lambda v: K @ v, lambda v: v, np.array([[1.0], [2.0]]), 1e-12, 10)
    >>> np.round(found.x.ravel(), 6), found.iterations
    (array([0.2, 0.6]), 2)
    """
    norms = np.linalg.norm(b, axis=0)
    scale = np.where(norms > 0, norms, 1.0)
    x, rest = np.zeros_like(b), b.copy()
    residuals = np.linalg.norm(rest, axis=0) / scale
    iterations = 0
    while iterations < most:
        open_ = np.flatnonzero(residuals > tolerance)
        if not open_.size:
            break
        before = residuals[open_].copy()
        aim = MARGIN * tolerance * scale[open_]
        step, done = _recursion(product, precondition, rest[:, open_], aim, most - iterations, scale[open_], heard, iterations)
        x[:, open_] += step
        iterations += done
        rest[:, open_] = b[:, open_] - product(x[:, open_])
        residuals[open_] = np.linalg.norm(rest[:, open_], axis=0) / scale[open_]
        if not np.any(residuals[open_] < before / 2):
            break
    return Solution(x, iterations, residuals)


def _recursion(
    product: Product,
    precondition: Product,
    rest: Array,
    aim: Array,
    most: int,
    scale: Array,
    heard: Callable[[int, float], None],
    begun: int,
) -> tuple[Array, int]:
    """Conjugate gradients from zero until the recursion's own residual is at most `aim`; the solution and the iterations."""
    x, r = np.zeros_like(rest), rest.copy()
    going = np.arange(rest.shape[1])
    z = precondition(r)
    p, rz = z.copy(), np.sum(r * z, axis=0)
    for iteration in range(1, most + 1):
        q = product(p)
        curvature = np.sum(p * q, axis=0)
        # A direction without curvature is rounding: the column goes no further.
        sound = curvature > 0
        alpha = np.where(sound, rz / np.where(sound, curvature, 1.0), 0.0)
        x[:, going] += alpha * p
        r -= alpha * q
        size = np.linalg.norm(r, axis=0)
        heard(begun + iteration, float(np.max(size / scale[going])))
        keep = sound & (size > aim[going])
        if not keep.any():
            return x, iteration
        going, r, p, rz = going[keep], r[:, keep], p[:, keep], rz[keep]
        z = precondition(r)
        new = np.sum(r * z, axis=0)
        p = z + (new / rz) * p
        rz = new
    return x, most
