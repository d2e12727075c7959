"""Nothing hangs, nothing is taken quietly for what it is not, and sizes that no machine holds raise."""

from __future__ import annotations

import multiprocessing
import os
import re

import numpy as np
import pytest

import ebbing


def tasks() -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(0)
    return [(random.normal(size=(20, 8)), np.sign(random.normal(size=20))) for _ in range(2)]


def forgetting(_: object = None) -> np.ndarray:
    # Kernels are computed on the same threads.
    assert ebbing.kernel(np.random.default_rng(0).normal(size=(300, 8))).shape == (300, 300)
    return np.asarray(ebbing.forecast(tasks()).forgetting)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_a_process_that_has_computed_computes_too() -> None:
    first = forgetting()
    # Two generations, as a worker of a worker has them. A hang would be ended by the time-out.
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(forgetting, range(4)).get(timeout=120)
    assert all(np.array_equal(first, other) for other in found)
    assert np.array_equal(first, forgetting())


def test_masked_arrays_are_refused() -> None:
    x, y = tasks()[0]
    masked = np.ma.masked_greater(x, 1.0)
    with pytest.raises(TypeError, match="masked array"):
        ebbing.forecast([(masked, y), (x, y)])


def test_sizes_that_no_machine_holds_raise() -> None:
    for width in (2**63, 2**62, 10**9):
        with pytest.raises((MemoryError, OverflowError, ValueError)):
            ebbing.train(tasks(), width=width)
    with pytest.raises(ValueError, match="depth"):
        ebbing.forecast(tasks(), depth=10**9)


def test_the_limit_of_memory_can_be_set_and_lifted() -> None:
    try:
        ebbing.memory_limit(1000)
        with pytest.raises(MemoryError, match="examples per task would fit|would not fit"):
            ebbing.forecast(tasks())
        ebbing.memory_limit(float("inf"))
        forgetting()
    finally:
        ebbing.memory_limit(None)
    with pytest.raises(ValueError, match="bytes is -1"):
        ebbing.memory_limit(-1)


def test_little_memory_gives_the_same_forecast() -> None:
    random = np.random.default_rng(1)
    large = [(random.normal(size=(700, 20)), np.sign(random.normal(size=700))) for _ in range(2)]
    whole = ebbing.forecast(large, depth=2)
    shares: list[float] = []
    try:
        # Kernels of 3.9 MB, four at a time, do not fit; tiles of them do.
        ebbing.memory_limit(14e6)
        tiled = ebbing.forecast(large, depth=2, progress=lambda done, total, _: shares.append(done / total))
        with pytest.raises(ValueError, match="variance"):
            ebbing.forecast(large, variance=True)
    finally:
        ebbing.memory_limit(None)
    # Residuals of 1e-8, which outputs at other inputs magnify by less than 100.
    np.testing.assert_allclose(tiled.forgetting, whole.forgetting, rtol=1e-6, atol=1e-10)
    pair, known = tiled.pair(1, 2), whole.pair(1, 2)
    assert abs(pair.gamma_rf - known.gamma_rf) < 1e-6 and known.gamma_feature_error is None
    # Five standard errors of an estimate from 32 probes.
    assert abs(pair.gamma_feature - known.gamma_feature) < 5 * pair.gamma_feature_error < 0.1
    assert tiled.order is None and any("random probes" in note for note in tiled.notes)
    assert len(shares) > 10 and shares[-1] == 1.0


def test_what_errors_of_singular_kernels_advise_can_be_done() -> None:
    random = np.random.default_rng(2)
    part = [(random.normal(size=(12, 20)), np.sign(random.normal(size=12))) for _ in range(2)]
    twice = [(np.vstack([x, x[:1]]), np.append(y, y[0])) for x, y in part]
    with pytest.raises(ebbing.NumericalError, match="rows 1 and 13 are equal") as outcome:
        ebbing.phase(twice, width=8)
    advised = re.search(r"set beta to ([0-9.e+-]+)", str(outcome.value))
    assert advised is not None
    found = ebbing.phase(twice, width=8, beta=float(advised[1]), lam=[10.0], alpha=[0.5])
    assert found.critical is None and found.regime is None and found.location == {"width": 8.0, "alpha": 13 / 8}
    assert np.isfinite(found.curves.f_t1).all() and "1.62" in str(found) and "is the training loss of task 1 after the last" in str(found).replace("\n", " ")
    both = [array for task in twice for array in task]
    for call in (
        lambda: ebbing.critical_load(*both),
        lambda: ebbing.two_task_limit(*both, alpha=0.5),
        lambda: ebbing.phase(twice, pairs=True),
    ):
        with pytest.raises(ebbing.NumericalError, match="remove one of each pair$") as outcome:
            call()
        assert "beta" not in str(outcome.value) and "ridge" not in str(outcome.value)
    assert ebbing.phase(part, pairs=True).pairs[0]["alpha_c"] >= 1


def test_what_is_no_word_or_no_variance_is_refused_in_a_sentence() -> None:
    x, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    with pytest.raises(TypeError, match="activation is <ufunc 'tanh'>; it must be a number or a word"):
        ebbing.kernel(x, activation=np.tanh)
    with pytest.raises(TypeError, match="activation is <ufunc 'tanh'>; it must be a number or a word"):
        ebbing.forecast([(x, y)] * 2, activation=np.tanh)
    for sigma in (1e200, 1e-200):
        with pytest.raises(ValueError, match=r"sigma is 1e-?200; its square must be positive and finite"):
            ebbing.forecast([(x, y)] * 2, sigma=sigma)
    with pytest.raises(ValueError, match=r"bias is 1e200; its square must be at least 0 and finite"):
        ebbing.kernel(x, bias=1e200)


def test_masks_in_lists_are_not_lost() -> None:
    x, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    rows = [np.ma.masked_greater(row, 0.5) for row in x]
    for masked in (rows, [list(row) for row in rows]):
        with pytest.raises(TypeError, match="task 1, X: it holds masked rows"):
            ebbing.forecast([(masked, y), (x, y)])


def test_labels_that_are_no_text_are_refused_in_a_sentence() -> None:
    x = np.random.default_rng(0).normal(size=(4, 5))
    for odd in ("ape\udc80", b"ap\xe9"):
        with pytest.raises(ValueError, match="task 1, y: a label is .*, which is no text in UTF-8"):
            ebbing.forecast([(x, np.array([odd, odd[:1], odd, odd[:1]], dtype=object if isinstance(odd, str) else "S3"))] * 2)
