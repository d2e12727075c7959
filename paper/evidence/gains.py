"""What was measured of remedies that the forecast of plain training stands for: `python paper/evidence/gains.py` writes
`crates/ebbing/src/theory/calibration/gains.json`.

A network with EWC or an L2 penalty learned the same sequence as one without (Adam, cross-entropy); its gain is the difference of
their final accuracies. Separate heads are compared with the wide limit instead, in which nothing is forgotten. All sequences of the
main part that have such a network are used: nothing was chosen with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "crates/ebbing/src/theory/calibration/gains.json"
#: The wide limit of separate heads that the table of the calibration chose.
WIDE = "rf-1"


def entry(differences: list[float], **more: Any) -> dict[str, Any]:
    """How many, their mean, how far they are off it on average, and between what eight in ten of them lie."""
    all_of = np.array(differences)
    mean = float(all_of.mean())
    low, high = np.quantile(all_of, [0.1, 0.9])
    error = float(np.abs(all_of - mean).mean())
    return {**more, "networks": len(all_of), "gain": round(mean, 4), "error": round(error, 4), "80": [round(float(low), 4), round(float(high), 4)]}


def main() -> None:
    rows = [json.loads(line) for line in (HERE / "results/main.jsonl").read_text().splitlines()]
    gains: dict[str, dict[float, list[float]]] = {"ewc": {}, "l2": {}}
    heads = []
    for row in rows:
        runs = {run["kind"]: run for run in row["runs"]}
        plain = runs["adam-ce"]["measured"]["accuracy"]
        for kind, found in gains.items():
            if kind in runs:
                found.setdefault(runs[kind]["settings"][kind], []).append(runs[kind]["measured"]["accuracy"] - plain)
        if "heads" in runs:
            heads.append(runs["heads"]["measured"]["accuracy"] - runs["heads"]["forecast"][WIDE]["accuracy"])
    table = {
        "what": "final accuracy: of EWC and L2 minus that of plain training on the same sequence, by strength; of separate heads minus the wide limit",
        **{kind: [entry(of, strength=strength) for strength, of in sorted(found.items())] for kind, found in gains.items()},
        "heads": [entry(heads, strength=0.0)],
    }
    TARGET.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
