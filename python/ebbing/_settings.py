"""Settings as users give them; the library itself checks what they hold."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Several numbers.
Numbers = Sequence[float] | npt.NDArray[Any]
#: What a seed may be.
Seed = int | np.random.Generator | np.random.RandomState

#: Arguments that are data or talk, not settings.
DATA = {"self", "cls", "tasks", "X", "y", "X1", "y1", "X2", "y2", "phi1", "phi2", "K11", "K12", "K22", "features", "progress"}


def count(value: Any, name: str) -> int:
    """A whole number, at least 0."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None
    if whole < 0:
        raise ValueError(f"{name} is {whole}; it must be at least 0")
    return whole


def real(value: Any, name: str) -> float:
    """A number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; it must be a number") from None


def seed_of(value: Any) -> int:
    """A seed: a whole number, or one drawn from NumPy's generator.

    >>> seed_of(7), 0 <= seed_of(np.random.default_rng(1)) < 2**63
    (7, True)
    """
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31))
    return int(value.integers(2**63 - 1)) if isinstance(value, np.random.Generator) else count(value, "seed")


def fields_of(arguments: dict[str, Any], *others: str) -> dict[str, Any]:
    """The settings among a function's arguments that are fields of a request: all that are given, but for some others.

    >>> fields_of({"tasks": [], "depth": 2, "max_p": None, "order": "best", "t": 3}, "t")
    {'depth': 2, 'order': 'best'}
    """
    left_out = DATA | set(others)
    fields = {name: value for name, value in arguments.items() if name not in left_out and value is not None}
    if "seed" in fields:
        fields["seed"] = seed_of(fields["seed"])
    return fields


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The settings among a function's arguments, as a result records them.

    >>> given({"tasks": [], "depth": 2, "lam": float("inf")})
    {'depth': 2, 'lam': inf}
    """
    return {name: recorded(value) for name, value in arguments.items() if name not in DATA - {"features"}}


def recorded(value: Any) -> Any:
    """A setting as numbers, words and lists."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple, set, range)):
        return [recorded(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else type(value).__name__
