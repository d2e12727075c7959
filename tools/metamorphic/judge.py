"""Laws that answers obey, and the account of a case: what was compared, and what did not agree.

A law is a function of a `Case`. It draws a request, asks one or more doors, and states what must hold between the answers; a
tolerance stands beside its reason where the law is written. `watches` names the parts of an answer that the law is to see: the
self-test changes one number (or sentence) of such a part and the law must fail.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from doors import Doors, number

#: What a door answers: numbers by name, or why there are none.
Answer = dict[str, Any]
#: Changes one part of an answer for the worse; says whether it could.
Spoiler = Callable[[Answer, np.random.Generator], bool]


class Undecided(Exception):
    """A request that a law says nothing of, such as one that is refused for good reason."""


class Broken(Exception):
    """A law that did not hold."""


@dataclass(frozen=True)
class Law:
    """A property with its name, what it would have seen, its share of the cases, and what it looks at."""

    name: str
    holds: Callable[["Case"], None]
    share: float
    watches: tuple[Spoiler, ...]
    sees: str

    def chance(self, seed: int, k: int, attempt: int) -> np.random.Generator:
        """The draws of a case: the same for the same seed, whatever else runs."""
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), k, attempt])


LAWS: dict[str, Law] = {}


def law(share: float, *watches: "str | Spoiler", sees: str = "") -> Callable[[Callable[["Case"], None]], None]:
    """Registers a function as a law; its name is the function's, its share of all cases is relative."""

    def register(holds: Callable[["Case"], None]) -> None:
        name = holds.__name__.replace("_", "-")
        spoilers = tuple(number(part) if isinstance(part, str) else part for part in watches)
        LAWS[name] = Law(name, holds, share, spoilers, sees)

    return register


@dataclass
class Case:
    """One case of a law: where requests are drawn from, and the doors that they are put through."""

    chance: np.random.Generator
    doors: Doors
    about: list[str] = field(default_factory=list)

    def needs(self, condition: bool) -> None:
        """Leaves a request that the law says nothing of."""
        if not condition:
            raise Undecided

    def numbers(self, answer: Answer) -> Answer:
        """An answer with numbers; a request that is refused decides nothing here."""
        self.lasting(answer)
        self.needs("refused" not in answer)
        return answer

    def lasting(self, answer: Answer) -> Answer:
        """An answer that came at all."""
        if "hangs" in answer:
            raise Broken(f"no answer after {answer['hangs']} s")
        if "crashed" in answer:
            raise Broken(f"it crashed: {answer['crashed']}")
        return answer

    def holds(self, condition: bool, said: str) -> None:
        """States what must be so."""
        if not condition:
            raise Broken(said)

    def same(self, what: str, one: Any, other: Any, tolerance: float = 0.0) -> None:
        """States that two numbers, or all numbers of two nested answers, agree to a tolerance relative to their size (absolute
        below 1); 0: to the last bit."""
        for where, a, b in pairs(one, other, what):
            if not close(a, b, tolerance):
                raise Broken(f"{where}: {shown(a)} and {shown(b)}, which may differ by {tolerance:.1e}")

    def both(self, what: str, one: Answer, other: Answer) -> bool:
        """Whether both doors have numbers; where only one has, the law is broken."""
        self.lasting(one), self.lasting(other)
        if ("refused" in one) != ("refused" in other):
            said = one.get("refused") or other.get("refused")
            raise Broken(f"{what}: one answers, the other says: {said}")
        return "refused" not in one


def shown(value: Any) -> str:
    """A number with enough digits to distinguish it from another."""
    return repr(value) if not isinstance(value, float) else f"{value:.12g}"


def pairs(one: Any, other: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """The leaves of two nested answers side by side; a different shape is a pair of leaves that differ."""
    if isinstance(one, np.ndarray):
        one = one.tolist()
    if isinstance(other, np.ndarray):
        other = other.tolist()
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            yield from pairs(one.get(key), other.get(key), f"{where} {key}")
    elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            yield f"{where}, its length", len(one), len(other)
        for k, (a, b) in enumerate(zip(one, other)):
            yield from pairs(a, b, f"{where}[{k}]")
    else:
        yield where, one, other


def close(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two leaves agree."""
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (a, b)):
        return bool(a == b)
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def rounding(*answers: Answer) -> float:
    """How far the same quantity may differ between two ways of computing it: by the digits that the answers themselves say are
    right, two kept in reserve since their number is an estimate of one solve and a sequence takes several."""
    digits = min([answer.get("digits") or 0.0 for answer in answers])
    return 1e-11 + 10.0 ** (2.0 - digits)


def lower(matrix: Any) -> list[list[float]]:
    """What is known of every task once it was learned: rows t, columns s ≤ t."""
    return [list(row[: t + 1]) for t, row in enumerate(matrix)] if matrix is not None else []


def final(matrix: Any) -> float:
    """The mean of the last row but its last entry."""
    return float(np.mean(matrix[-1][:-1]))


#: What a forecast reports of a matrix once a task was learned.
MATRICES = ("forgetting", "train_accuracy", "test_loss", "generalization", "test_accuracy")


def matrices(answer: Answer, names: tuple[str, ...] = MATRICES) -> Answer:
    """The lower triangles of an answer's matrices."""
    return {name: lower(answer.get(name)) for name in names}


def core(answer: Answer) -> Answer:
    """What does not depend on how examples are written down: matrices and order parameters."""
    return matrices(answer) | {name: answer[name] for name in ("pairs", "f21_at_lambda_zero", "delta_f21")}
