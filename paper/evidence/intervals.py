"""Rank correlations and mean errors with intervals over sequences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import rankdata


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's; nan where one of them does not vary."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def mean_error(a: np.ndarray, b: np.ndarray) -> float:
    """The mean absolute difference."""
    return float(np.abs(a - b).mean())


def over_sequences(
    statistic: Callable[[np.ndarray, np.ndarray], float], a: np.ndarray, b: np.ndarray, places: np.ndarray, level: float = 0.95
) -> tuple[float, float]:
    """The interval of a statistic when sequences are drawn anew, each with all its runs."""
    rng = np.random.default_rng(23)
    numbers, members = np.unique(places, return_inverse=True)
    rows = [np.flatnonzero(members == k) for k in range(len(numbers))]
    found = []
    for _ in range(500):
        drawn = np.concatenate([rows[k] for k in rng.integers(len(rows), size=len(rows))])
        found.append(statistic(a[drawn], b[drawn]))
    if not np.isfinite(found).any():
        return np.nan, np.nan
    return tuple(float(q) for q in np.nanquantile(found, [(1 - level) / 2, (1 + level) / 2]))
