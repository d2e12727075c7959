"""What the measured sequences are like, in a few numbers: the domain inside which the library prints intervals.

    python paper/evidence/domain.py --data FOLDER

Draws every sequence that the calibration rests on again (by its number), and those of `larger.py`, describes it as
`crates/ebbing/src/theory/domain/descriptor.rs` does, and stores one line for each in paper/evidence/results/domain.jsonl; what is
there is not made again. `analyze.py` turns the lines into the ranges that the library holds.

Ranges are those of measured sequences; sizes are not stretched by a factor. The study has 90 to 400 examples per task; those of
`larger.py` have up to 1000, and were trained to see whether the intervals hold there too. They also include images that are
centered and scaled to one norm, whose norms do not spread. Data that whiten nothing are compared with standardized images, in
the library as here.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np

import larger
import sequences

RESULTS = Path(__file__).resolve().parent / "results"
#: What data of each table of intervals are called.
NAMES = {"classes": "standardized images", "whitened": "whitened images"}
#: Ranges of scale, norms and spectrum, which fluctuate from draw to draw, reach further by this share of their larger end, those of
#: the mean by at least .05 and those of the spread of norms, which may all be equal, by at least .02, as `Domain::around` has it.
WIDER, LEAST = 0.1, {"mean": 0.05, "norm-spread": 0.02}
FLUCTUATING = ("mean-square", "norm-spread", "effective-rank", "feature-spread")
QUANTITIES = ("tasks", "features", "examples-per-task", "examples-per-class", "classes-per-task", "classes", "mean", *FLUCTUATING)
#: Rows of a task that its spectrum is taken from.
ROWS = 1000


def spread(values: np.ndarray) -> float:
    """The standard deviation over the mean; 0 where that is 0."""
    return float(values.std() / values.mean()) if values.mean() > 0 else 0.0


def effective_rank(x: np.ndarray) -> float:
    """`(Tr C)²/Tr C²` of the second moment C, over the smaller of the numbers of examples and features."""
    n, d = min(len(x), ROWS), x.shape[1]
    rows = x[np.arange(n) * len(x) // n]
    c = rows @ rows.T if n < d else rows.T @ rows
    squares = (c**2).sum()
    return float(np.trace(c) ** 2 / squares / min(n, d)) if squares > 0 else 0.0


def descriptor(tasks: list[sequences.Task]) -> dict[str, float]:
    """The numbers of a sequence, by the names of the library."""
    inputs = [task.x.astype(float) for task in tasks]
    counts = [np.unique(task.y, return_counts=True) for task in tasks]
    entries = sum(x.size for x in inputs)
    square = sum((x**2).sum() for x in inputs) / entries
    mean = sum(x.sum() for x in inputs) / entries
    average = lambda of: float(np.mean([of(x) for x in inputs]))
    return {
        "tasks": len(tasks),
        "features": inputs[0].shape[1],
        "examples-per-task": min(len(x) for x in inputs),
        "most-examples-per-task": max(len(x) for x in inputs),
        "examples-per-class": int(min(count.min() for _, count in counts)),
        "most-examples-per-class": int(max(count.max() for _, count in counts)),
        "classes-per-task": float(np.mean([len(own) for own, _ in counts])),
        "classes": len(np.unique(np.concatenate([own for own, _ in counts]))),
        "mean": float(mean / np.sqrt(square)) if square > 0 else 0.0,
        "mean-square": float(square),
        "norm-spread": average(lambda x: spread(np.sqrt((x**2).sum(1)))),
        "effective-rank": average(effective_rank),
        "feature-spread": average(lambda x: spread(np.sqrt((x**2).mean(0)))),
    }


def rows(folder: Path, kind: str) -> list[dict]:
    """The lines of a file of results."""
    file = folder / f"{kind}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def measured(folder: Path) -> list[dict]:
    """Every sequence on which networks were measured."""
    found = [row["sequence"] for kind in ("main", "whitened", "larger") for row in rows(folder, kind)]
    return sorted(found, key=lambda sequence: (sequence["number"], sequence["p"]))


def stored(folder: Path) -> dict[tuple[int, int], dict]:
    """The lines that are there, by the number of the sequence and the size of its tasks."""
    return {(row["number"], row["examples-per-task"]): row for row in rows(folder, "domain")}


def describe(folder: Path) -> None:
    """Makes the lines that are missing."""
    known = stored(folder)
    with open(folder / "domain.jsonl", "a") as file:
        for sequence in measured(folder):
            if (sequence["number"], sequence["p"]) in known:
                continue
            numbers = {name: round(value, 6) for name, value in descriptor(larger.draw(sequence)).items()}
            file.write(json.dumps({"number": sequence["number"], **numbers}, separators=(",", ":")) + "\n")
            file.flush()


def ranges(found: list[dict]) -> dict[str, list[float]]:
    """The smallest and the largest value of every number, further apart where it fluctuates."""
    made = {}
    for name in QUANTITIES:
        low = min(row[name] for row in found)
        high = max(row.get(f"most-{name}", row[name]) for row in found)
        more = max(WIDER * max(abs(low), abs(high)), LEAST.get(name, 0.0))
        if name == "mean":
            low, high = low - more, high + more
        elif name in FLUCTUATING:
            low, high = max(low - more, 0.0), high + more
        made[name] = [round(low, 4), round(high, 4)]
    return made


def table(folder: Path) -> dict[str, dict]:
    """The domains as the library reads them."""
    known, made = stored(folder), {}
    for key, name in NAMES.items():
        own = [s for s in measured(folder) if (s.get("prepared") == "whitened") == (key == "whitened")]
        missing = [s["number"] for s in own if (s["number"], s["p"]) not in known]
        if missing:
            raise SystemExit(f"sequence {missing[0]} is not described; run paper/evidence/domain.py --data FOLDER first")
        found = [known[s["number"], s["p"]] for s in own]
        made[key] = {"name": name, "kind": "images", "sequences": len(found), "ranges": ranges(found)}
    return made


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--data", default=os.environ.get("EBBING_DATA"), help="folder of the IDX files (default: EBBING_DATA)")
    read.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    asked = read.parse_args()
    sequences.FOLDER = Path(asked.data) if asked.data else None
    describe(asked.results)


if __name__ == "__main__":
    main()
