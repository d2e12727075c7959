"""Heads with several outputs: factors, accuracies, phases, and what the theory is made of."""

import numpy as np
import pytest

import ebbing


def clusters(classes, p=24, dim=30, seed=0):
    """Tasks of noisy clusters, with test sets; labels go on from task to task."""
    rng, made, first = np.random.default_rng(seed), [], 0
    for count in classes:
        centers = rng.normal(size=(count, dim))
        part = lambda n: (centers[np.arange(n) % count] + 0.9 * rng.normal(size=(n, dim)), first + np.arange(n) % count)
        made.append(part(p) + part(20))
        first += count
    return made


def test_factors_have_a_matrix_for_every_two_heads():
    tasks = clusters([3, 3, 3], p=12)
    heads = ebbing.MultiHead(tasks, alpha=0.8, lam=4.0)
    assert heads.outputs == [3, 3, 3] and heads.u1.shape == heads.u0.shape == heads.d.shape == (3, 3, 3, 3)
    assert np.allclose(heads.u1, heads.u1.transpose(1, 0, 3, 2)) and heads.residual < 1e-9
    assert np.allclose(heads.d, heads.u1 - heads.u0)
    X = tasks[0][2]
    assert heads.mean(X, 1).shape == heads.variance(X, 1).shape == (20, 3) and heads.covariance(X, 1).shape == (20, 3, 3)
    chance = heads.probabilities(X, 1)
    assert np.allclose(chance.sum(axis=1), 1, atol=1e-8)  # three outputs are exact
    right = chance[np.arange(20), np.array(tasks[0][3])].mean()
    assert np.allclose(heads.accuracy(1), (right, 0.0))
    assert heads.accuracy(1, t=1)[0] >= heads.accuracy(1)[0] - 0.05
    # Training data of the newest task are interpolated.
    assert np.array_equal(heads.predict(tasks[2][0]), tasks[2][1])
    assert heads.forgetting().shape == (3, 3) and "3 tasks" in str(heads)


def test_heads_of_different_sizes():
    heads = ebbing.MultiHead(clusters([3, 2]), alpha=0.8, lam=4.0)
    assert heads.outputs == [3, 1] and np.isnan(heads.u1[1, 1, 1:]).all() and np.isfinite(heads.u1[0, 1, :, 0]).all()
    assert heads.mean(np.zeros((2, 30)) + 1, 2).shape == (2,)


def test_directions_cross_one_after_another():
    tasks = clusters([3, 3])
    theory = ebbing.TwoTaskTheory(tasks)
    loads = theory.critical_loads()
    assert loads.shape == (3,) and (np.diff(loads) >= 0).all()
    found = ebbing.phase(tasks, width=16, lam=[5.0, np.inf], alpha=[0.5, 2.0])
    assert found.outputs == [3, 3] and np.allclose(found.critical_loads, loads)
    assert found.directions == ["overfitting"] * int((loads > 1.5).sum()) + ["generalization"] * int((loads <= 1.5).sum())
    at = found.at_width[0]
    assert np.shape(at["u22"]) == (3, 3) and 0 <= at["accuracy"]["first"]["value"] <= 1
    assert found.curves.f_t1.shape == (2, 2) and "Load 1.5" in found.answer[0]
    assert np.allclose(at["u22"], ebbing.MultiHead(tasks, width=16, lam=5.0).u1[1, 1])
    pairs = ebbing.phase(clusters([3, 3, 3]), pairs=True, width=16).pairs
    assert len(pairs) == 3 and pairs[0]["critical_loads"].shape == (3,)


def test_what_the_theory_is_made_of():
    rng = np.random.default_rng(3)
    tasks = [(rng.normal(size=(10, 18)), rng.normal(size=(10, 2))) for _ in range(2)]
    theory, alpha = ebbing.TwoTaskTheory(tasks, lam=6.0), 0.7
    at = theory.factors(alpha)
    lower, means = theory.lower(alpha), theory.means(alpha)
    stacked = lambda parts: np.concatenate([part.T.ravel() for part in parts])
    assert np.allclose(lower @ stacked(means), stacked([y for _, y in tasks]))
    k1, k0 = theory.kernel("k1", 2, 2), theory.kernel("k0", 2, 2)
    assert np.allclose(k1 - k0, theory.kernel("delta", 2, 2))
    assert np.allclose(theory.renormalized_kernel(alpha, 2, 2), np.kron(at.u22, k1) - np.kron(at.u0, k0))
    # The factors are a stationary point of H_2: differences of second order.
    best, step = theory.free_energy(alpha, at.d, at.u0, at.u12), 1e-4
    for name in ("d", "u0", "u12"):
        shape = np.ones_like(getattr(at, name))
        moved = [{n: getattr(at, n) + (sign * step * shape if n == name else 0) for n in ("d", "u0", "u12")} for sign in (1, -1)]
        up, down = (theory.free_energy(alpha, **factors) for factors in moved)
        assert abs(up - down) / (2 * step) < 1e-5 and abs(up - best) > 0
    assert theory.kernel_spectrum(1).shape == theory.pencil_values().shape == (10,)
    m1, m0, difference = theory.overlaps(2, 2)
    assert m1 - m0 == pytest.approx(difference) and np.allclose(theory.kernel("ktilde", 2, 2), m1 * k1 - m0 * k0)
    own = ebbing.TwoTaskTheory.of_kernels(
        theory.kernel("k1", 1, 1), theory.kernel("k1", 2, 1), k1, k1 - k0, tasks[0][1], tasks[1][1], lam=6.0
    )
    assert np.allclose(own.factors(alpha).u12, at.u12)
    with pytest.raises(ValueError, match="needs their inputs"):
        own.lower(alpha)
    with pytest.raises(ValueError, match="must be finite"):
        ebbing.TwoTaskTheory(tasks).lower(alpha)
