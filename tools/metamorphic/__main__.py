"""Laws that every answer obeys, over random small requests at every door: the program, a study file, Python, the page.

    python3 tools/metamorphic --program target/debug/ebbing --cases 500
    python3 tools/metamorphic --program target/debug/ebbing --cases 10000 --workers 2
    python3 tools/metamorphic --property permuted-examples --seed 7 --first 12 --cases 1
    python3 tools/metamorphic --program target/debug/ebbing --self-test

It needs the Python package `ebbing` and NumPy. The same seed draws the same requests. Every failure is a line with the words
that repeat it; a law that says something of fewer than half of its cases fails too. `--self-test` changes one number or
sentence of an answer at a time: every law must see it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # requests are small: threads would wait for each other

from campaign import FAMILIES, NEED_PROGRAM, blind, run  # noqa: E402
from judge import LAWS  # noqa: E402


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="metamorphic", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", help="the program; without it, laws that ask it are left out")
    parser.add_argument("--cases", type=int, default=500, help="how many cases, shared among the laws")
    parser.add_argument("--seed", type=int, default=0, help="the seed of all requests")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case of every law")
    parser.add_argument("--property", action="append", help="only this law (several times: these)")
    parser.add_argument("--workers", type=int, default=1, help="how many processes")
    parser.add_argument("--list", action="store_true", help="name the laws")
    parser.add_argument("--self-test", action="store_true", help="change answers and see that the laws fail")
    return parser.parse_args()


def listed() -> None:
    """The laws by family."""
    for family in FAMILIES:
        print(f"\n{family.__doc__}")
        for name, one in LAWS.items():
            if one.holds.__module__ == family.__name__:
                print(f"  {name:45} {(one.holds.__doc__ or '').split(chr(10))[0]}")


def tested(names: list[str], asked: argparse.Namespace) -> int:
    """The self-test; the exit code."""
    failed = 0
    for name in names:
        for said in blind(LAWS[name], asked.program, asked.seed):
            failed += 1
            print(f"BLIND {said}", flush=True)
    print(f"{len(names)} laws, {failed} blind to a change")
    return 1 if failed else 0


def main() -> int:
    """Runs what was asked for; the exit code."""
    asked = arguments()
    if asked.list:
        listed()
        return 0
    names = asked.property or [name for name in LAWS if asked.program or name not in NEED_PROGRAM]
    unknown = [name for name in names if name not in LAWS]
    if unknown:
        print(f"there is no law '{unknown[0]}'; --list names them", file=sys.stderr)
        return 2
    if asked.self_test:
        return tested(names, asked)
    began, counts, by_law = time.time(), Counter(), {name: Counter() for name in names}
    for outcome in run(asked.program, names, asked.cases, asked.seed, asked.first, asked.workers):
        counts[outcome.verdict] += 1
        by_law[outcome.law][outcome.verdict] += 1
        if outcome.verdict == "failed" and by_law[outcome.law]["failed"] <= 5:
            again = f"--property {outcome.law} --seed {asked.seed} --first {outcome.k} --cases 1"
            print(f"FAILED {again}: {outcome.said.strip()[:600]} | {' | '.join(outcome.requests)}", flush=True)
    failed = counts["failed"]
    for name, found in by_law.items():
        if found["failed"] > 5:
            print(f"FAILED {name}: {found['failed']} of {found.total()} cases; the first five are above")
        if 2 * found["undecided"] > found.total() and found.total() >= 4:
            failed += 1
            print(f"FAILED {name} says nothing of {found['undecided']} of {found.total()} cases")
    print(f"{counts['passed']} passed, {failed} failed, {counts['undecided']} undecided in {time.time() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
