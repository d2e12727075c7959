"""Holds a fresh short study against the stored one and against `ebbing.forecast`; fails where they disagree.

    python paper/evidence/check.py FRESH [--store]
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np

import ebbing
import forecasts
import sequences
import study
from calibration import runs_of
from encoders.table import Heads

STORED = study.RESULTS / "short"
#: Accuracies of 120 test images: rounding may turn two of them in one of the tasks.
FORECAST = 0.02
#: Other versions of PyTorch draw other weights. Single networks of one setting differ by .03 on average; the mean of all of
#: them, signs kept, by much less than this.
MEASURED = 0.05
#: Twice the mean error that the study found over all kinds of training.
AGREEMENT = 0.15


def front_door() -> list[str]:
    """The forecast of `ebbing.forecast` must be the one that the study stored."""
    sequence = sequences.settings_of(3, data="sample")
    tasks = sequences.draw(sequence)
    pixels = forecasts.Pixels(tasks, sequence)
    given = [(t.x, 2.0 * t.y - 1, t.x_test, 2.0 * t.y_test - 1) for t in tasks]
    wrong = []
    for name, found in pixels.grid().items():
        if name in forecasts.WARM:
            continue
        mode, depth = name.split("-")
        predicted = ebbing.forecast(given, mode=mode, depth=int(depth)).test_accuracy
        if abs(predicted[-1].mean() - found["accuracy"]) > FORECAST:
            wrong.append(f"forecast {name}: {predicted[-1].mean():.3f}, the study has {found['accuracy']:.3f}")
    raw = sequences.loaded("sample")[0][0].reshape(-1, sequences.SIDE**2) / 255
    apart = np.abs(sequences.white(raw[:50], sequences.whitening("sample")) - ebbing.data.whiten(raw, raw[:50])[1]).max()
    # Rounding of an eigendecomposition, times the root of the ridge's 1e7.
    if apart > 1e-7:
        wrong.append(f"whitened images differ from those of the package by {apart:.1e}")
    return wrong


def compare(fresh: dict, old: dict) -> list[str]:
    """Sentences about what differs too much."""
    if fresh.keys() != old.keys():
        return [f"jobs differ: {sorted(fresh.keys() ^ old.keys())}"]
    wrong = []
    for key in fresh:
        if fresh[key]["sequence"] != old[key]["sequence"]:
            wrong.append(f"{key}: another sequence is drawn than before")
    mine, theirs = (runs_of([row for (kind, _), row in sorted(rows.items()) if kind == "main"]) for rows in (fresh, old))
    for a, b in zip(mine, theirs):
        for name in b.forecasts.keys() - {"features", "gradients"}:
            for what in ("lost", "accuracy"):
                if abs(a.forecast(name, what) - b.forecast(name, what)) > FORECAST:
                    wrong.append(f"{a.kind} on {a.place}: forecast {name} of {what} is {a.forecast(name, what)}, it was {b.forecast(name, what)}")
    for what in ("lost", "accuracy"):
        change = np.mean([a.measured[what] - b.measured[what] for a, b in zip(mine, theirs)])
        if abs(change) > MEASURED:
            wrong.append(f"measured {what} has changed by {change:.3f} on average over {len(mine)} networks")
    error = np.mean([abs(r.forecast("rf-1", "lost") - r.measured["lost"]) for r in mine])
    print(f"{len(mine)} networks: forecast (rf, depth 1) and measured accuracy lost differ by {error:.3f} on average")
    return wrong + ([f"the forecast is off by {error:.3f} on average; {AGREEMENT} is the most"] if error > AGREEMENT else [])


def heads(fresh: Path) -> list[str]:
    """The same for heads on features: forecasts must be those that were stored, measured accuracies alike on average."""
    wrong, change = [], []
    mine, theirs = Heads(fresh), Heads(STORED)
    if mine.stored.keys() != theirs.stored.keys():
        return ["other sequences of features are drawn than before"]
    for a, b in zip(mine.runs, theirs.runs):
        change.append(a.measured["accuracy"] - b.measured["accuracy"])
        for what in ("lost", "accuracy"):
            if abs(a.forecast("forecast", what) - b.forecast("forecast", what)) > FORECAST:
                wrong.append(f"{a.kind} on {a.place}: the forecast of {what} is {a.forecast('forecast', what)}, it was {b.forecast('forecast', what)}")
    if abs(np.mean(change)) > MEASURED:
        wrong.append(f"measured accuracy of heads has changed by {np.mean(change):.3f} on average")
    off = float(np.mean([abs(r.forecast("forecast", "accuracy") - r.measured["accuracy"]) for r in mine.trained()]))
    print(f"{len(mine.runs)} heads: forecast and measured final accuracy of those that were trained differ by {off:.3f} on average")
    return wrong + ([f"forecasts of heads are off by {off:.3f} on average; {AGREEMENT} is the most"] if off > AGREEMENT else [])


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("fresh", type=Path, help="folder of a fresh short study")
    read.add_argument("--store", action="store_true", help="keep it as the one to compare with")
    asked = read.parse_args()
    if asked.store:
        shutil.copytree(asked.fresh, STORED, dirs_exist_ok=True)
    wrong = front_door() + heads(asked.fresh) + compare(study.stored(asked.fresh), study.stored(STORED))
    print("\n".join(wrong) or "the short study agrees with the stored one and with ebbing.forecast")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
