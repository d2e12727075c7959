"""Runs laws over cases, and the self-test of the laws."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

import numpy as np

import advice
import agreement
import intervals
import limits
import readouts
import sentences
import stored
import symmetries
import tables
from doors import Doors
from judge import LAWS, Broken, Case, Law, Undecided

#: The families of laws, for `--list`.
FAMILIES = (symmetries, limits, tables, sentences, intervals, readouts, advice, agreement, stored)
#: Requests that are drawn for a case until a law says something of one.
ATTEMPTS = 12
#: Laws that must see a program; without one they are left out.
NEED_PROGRAM = {
    law_name for family in (agreement, stored) for law_name, law in LAWS.items() if law.holds.__module__ == family.__name__
}


@dataclass
class Outcome:
    """What became of a case: passed, failed (with what was said and asked), or undecided."""

    law: str
    k: int
    verdict: str
    said: str = ""
    requests: list[str] = field(default_factory=list)


class Watched(Doors):
    """Doors that remember what was asked, for the line of a failure."""

    def __init__(self, program: "str | None") -> None:
        super().__init__(program)
        self.requests: list[str] = []

    def of_tasks(self, tasks, request, **more):  # type: ignore[no-untyped-def]
        self.requests.append(f"{request.words()} {more or ''}")
        return super().of_tasks(tasks, request, **more)

    def words(self, request, path=None):  # type: ignore[no-untyped-def]
        self.requests.append(request.words())
        return super().words(request, path)


def attempted(one: Law, doors: Watched, seed: int, k: int, attempt: int) -> Outcome:
    """One request of a case."""
    doors.asked, doors.requests = 0, []
    try:
        one.holds(Case(one.chance(seed, k, attempt), doors))
        return Outcome(one.name, k, "passed")
    except Undecided:
        return Outcome(one.name, k, "undecided")
    except Broken as error:
        return Outcome(one.name, k, "failed", str(error), doors.requests[:2])
    except Exception:
        return Outcome(one.name, k, "failed", traceback.format_exc(limit=-3), doors.requests[:2])


def case(one: Law, doors: Watched, seed: int, k: int) -> Outcome:
    """The first request of a case that the law says something of."""
    for attempt in range(ATTEMPTS):
        outcome = attempted(one, doors, seed, k, attempt)
        if outcome.verdict != "undecided":
            return outcome
    return outcome


def outcomes(program: "str | None", seed: int, wanted: Sequence[tuple[str, int]]) -> Iterator[Outcome]:
    """Cases one after the other."""
    doors = Watched(program)
    try:
        for name, k in wanted:
            yield case(LAWS[name], doors, seed, k)
    finally:
        doors.end()


def hand(program: "str | None", seed: int, wanted: Sequence[tuple[str, int]]) -> list[Outcome]:
    """The same in a process of its own."""
    return list(outcomes(program, seed, wanted))


def plan(names: Sequence[str], cases: int) -> list[tuple[str, int]]:
    """How many cases each law has, by its share; one at least."""
    whole = sum(LAWS[name].share for name in names)
    counts = {name: max(1, round(cases * LAWS[name].share / whole)) for name in names}
    return [(name, k) for name in names for k in range(counts[name])]


def run(program: "str | None", names: Sequence[str], cases: int, seed: int, first: int, workers: int) -> Iterator[Outcome]:
    """All cases, over several processes where asked for."""
    wanted = [(name, k + first) for name, k in plan(names, cases)]
    if workers == 1:
        yield from outcomes(program, seed, wanted)
        return
    # Dealt out, so that every process has its part of what is slow; in hands of a hundred, so that failures show early.
    count = max(workers, len(wanted) // 100)
    hands = [(program, seed, wanted[k::count]) for k in range(count)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for found in pool.map(hand, *zip(*hands)):
            yield from found


# The self-test: laws see what is wrong ------------------------------------------------------------------------------------

#: Cases that pass, on which a law must see its changed number at least once.
TRIED = 12
#: Numbers changed in each answer of such a case.
CHANGED = 8


def blind(one: Law, program: "str | None", seed: int) -> list[str]:
    """Parts of answers in which a law sees no change; empty for a law that sees them all."""
    doors = Watched(program)
    try:
        return [said for spoiler in one.watches if (said := unseen(one, spoiler, doors, seed))]
    finally:
        doors.end()


def unseen(one: Law, spoiler, doors: Watched, seed: int) -> str:  # type: ignore[no-untyped-def]
    """What a law says of a part of an answer that it does not see; empty where a change of it breaks the law."""
    passed = changed = 0
    for k in range(3 * TRIED):
        attempt = next((a for a in range(ATTEMPTS) if attempted(one, doors, seed, k, a).verdict == "passed"), None)
        if attempt is None:
            continue
        passed += 1
        for answer in range(doors.asked):
            for again in range(CHANGED):
                chance, did = np.random.default_rng([k, answer, again]), []
                doors.spoil = (answer, lambda found: did.append(spoiler(found, chance)))
                verdict = attempted(one, doors, seed, k, attempt).verdict
                doors.spoil = None
                changed += bool(did and did[0])
                if did and did[0] and verdict == "failed":
                    return ""
        if passed == TRIED:
            break
    name = getattr(spoiler, "__name__", "a change")
    if changed == 0:
        return f"{one.name}: {name}: no case that holds has such a part ({passed} cases)"
    return f"{one.name}: {name}: not seen in {changed} changes of {passed} cases"
