"""Settings as the JSON that the compiled half reads."""

from __future__ import annotations

import json
import math
import operator
from typing import Any

import numpy as np

#: What a seed may be.
Seed = int | np.random.Generator | np.random.RandomState

#: Settings that may be infinite.
INFINITE = {"lambda", "lambdas", "beta"}


def encode(**settings: Any) -> str:
    """JSON in which infinity is the word "inf"; NumPy's numbers become Python's.

    >>> encode(theory={"lambda": float("inf")}, ratio=0.5)
    '{"theory": {"lambda": "inf"}, "ratio": 0.5}'
    """
    return json.dumps({name: plain(name, value) for name, value in settings.items()})


def plain(name: str, value: Any) -> Any:
    """A value that JSON has."""
    if isinstance(value, dict):
        return {key: plain(key, inner) for key, inner in value.items()}
    if isinstance(value, (np.ndarray, list, tuple, set, range)):
        return [plain(name, inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if not (value is None or isinstance(value, (bool, int, float, str))):
        raise TypeError(f"{name} is {value!r}; it must be a number or a word")
    if isinstance(value, float) and not math.isfinite(value):
        if value == math.inf and name in INFINITE:
            return "inf"
        raise ValueError(f"{name} is {value}; it must be a finite number")
    return value


def count(value: Any, name: str) -> int:
    """A whole number, at least 0."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None
    if whole < 0:
        raise ValueError(f"{name} is {whole}; it must be at least 0")
    return whole


def seed_of(value: Any) -> int:
    """A seed: a whole number, or one drawn from NumPy's generator.

    >>> seed_of(7), 0 <= seed_of(np.random.default_rng(1)) < 2**63
    (7, True)
    """
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31))
    return int(value.integers(2**63 - 1)) if isinstance(value, np.random.Generator) else count(value, "seed")


def either(name: str, value: Any, other_name: str, other: Any, default: Any = None) -> Any:
    """A setting of two names, the program's first; the default where neither is given.

    >>> either("examples", None, "p", 30, 1000), either("examples", None, "p", None, 1000)
    (30, 1000)
    """
    if value is not None and other is not None:
        raise ValueError(f"{name} is {value} and {other_name} is {other}; both name the same setting, give one")
    chosen = other if value is None else value
    return default if chosen is None else chosen


def real(value: Any, name: str) -> float:
    """A number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; it must be a number") from None


def word(value: Any, name: str, example: str) -> str:
    """One of the words that the library knows.

    >>> word("relu", "activation", "erf")
    'relu'
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; it must be a word, such as {example!r}")
    return value


def bias_variance(bias: Any) -> float:
    """The variance of biases of a standard deviation; both must be at least 0 and finite."""
    deviation = real(bias, "bias")
    if not 0 <= deviation * abs(deviation) < math.inf:
        raise ValueError(f"bias is {bias}; {_squared(deviation)}must be at least 0 and finite")
    return deviation * deviation


def weight_variance(sigma: Any, name: str) -> float:
    """The variance of weights of a standard deviation; both must be positive and finite."""
    deviation = real(sigma, name)
    if not 0 < deviation * abs(deviation) < math.inf:
        raise ValueError(f"{name} is {sigma}; {_squared(deviation)}must be positive and finite")
    return deviation * deviation


def _squared(deviation: float) -> str:
    """What is at fault of a positive number whose square is none."""
    return "its square " if 0 < deviation < math.inf else ""


#: Arguments that are data or talk, not settings.
DATA = {"tasks", "X", "y", "X1", "y1", "X2", "y2", "phi1", "phi2", "K11", "K12", "K22", "progress"}


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The settings among a function's arguments, as a result records them.

    >>> given({"tasks": [], "depth": 2, "lam": float("inf")})
    {'depth': 2, 'lam': inf}
    """
    return {name: recorded(value) for name, value in arguments.items() if name not in DATA}


def switch(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}; it must be True or False")
    return bool(value)


def fields_of(arguments: dict[str, Any]) -> str:
    """The fields of a request among a function's arguments, by the library's names, as JSON.

    >>> fields_of({"tasks": [], "depth": 2, "lam": 3.0, "order": False, "max_p": None})
    '{"depth": 2, "lambda": 3.0, "no_order": true}'
    """
    named = {name: value for name, value in arguments.items() if name not in DATA | {"features"} and value is not None}
    if "lam" in named:
        named = {"lambda" if name == "lam" else name: value for name, value in named.items()}
    if "order" in named:
        named["no_order"] = not switch(named.pop("order"), "order")
    return encode(**named)


def recorded(value: Any) -> Any:
    """A setting as numbers, words and lists."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple, set, range)):
        return [recorded(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else type(value).__name__


def as_json(settings: dict[str, Any]) -> str:
    """Settings as a result records them, as JSON in which infinity and nan are words.

    >>> as_json({"lam": float("inf"), "depth": 2})
    '{"lam": "inf", "depth": 2}'
    """

    def worded(value: Any) -> Any:
        if isinstance(value, list):
            return [worded(inner) for inner in value]
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps({name: worded(value) for name, value in settings.items()})


def resamplings(value: Any, name: str) -> int:
    """How many resamples or shuffles: 0, or as many as quantiles need."""
    found = count(value, name)
    if found and not 20 <= found <= 1e9:
        raise ValueError(f"{name} is {found}; must be 0 (none), or from 20 to 1e9")
    return found
