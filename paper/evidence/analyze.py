"""Writes docs/evidence.md, its pictures and the calibration that the library holds, from the stored results.

    python paper/evidence/analyze.py [--out docs] [--data FOLDER]

With the folder of the data, sequences that are not described yet (`domain.py`) are described first.
Choices (which mode and depth, how wide the error bars are) are made on two thirds of the sequences and judged on the
other third. Which sequence is in which third follows from its number.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import calibration as c
import domain
from encoders.table import DATA, Heads

HERE = Path(__file__).resolve().parent
CALIBRATION = HERE.parents[1] / "crates/ebbing/src/theory/calibration.json"
KINDS = {
    "adam-ce": "Adam, cross-entropy",
    "adam-mse": "Adam, squared error",
    "sgd-ce": "SGD, cross-entropy",
    "sgd-mse": "SGD, squared error",
    "brief": "brief (3 epochs)",
    "long": "long (50 epochs)",
    "l2": "L2 to old weights",
    "ewc": "online EWC",
    "replay": "replay",
    "gating": "gated units",
    "heads": "separate heads",
    "cnn": "convolutional",
    "frozen": "frozen features",
    "pretrained": "pretrained",
}
CLASS_NAMES = {
    "plain": "plain training (Adam or SGD)",
    "brief": KINDS["brief"],
    "replay": "replay",
    "l2": KINDS["l2"],
    "ewc": KINDS["ewc"],
    "gating": "gated hidden units",
    "heads": KINDS["heads"],
    "cnn": "convolutional network",
    "frozen": "frozen features, trained head",
    "pretrained": "pretrained, fine-tuned",
}
#: The theories of heads on features, chosen on two thirds of their sequences.
THEORIES = {
    "hidden": {"mode": "rf", "depth": 1, "beta": 20.0, "loss": "cross-entropy"},
    "linear": {"mode": "rf", "depth": 0, "beta": 1.0},
}
#: When the stored results were made.
DATE = "2026-11-16"
MEASURES = ("mean distance", "CKA", "gradient conflict", "curvature distance")


def rows_of(folder: Path, kind: str) -> list[dict]:
    file = folder / f"{kind}.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return sorted(rows, key=lambda row: row["job"])


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table, first column to the left."""
    line = lambda cells: "| " + " | ".join(cells) + " |"
    return "\n".join([line(head), line(["---", *["--:"] * (len(head) - 1)]), *map(line, rows)])


def number(value: float, digits: int = 2) -> str:
    """0.04 as .04, with a proper minus."""
    if not np.isfinite(value):
        return "–"
    text = f"{abs(value):.{digits}f}"
    text = text[1:] if text.startswith("0.") else text
    return ("−" if value < 0 and float(f"{value:.{digits}f}") != 0 else "") + text


def span(ends: tuple[float, float], digits: int = 2) -> str:
    return f"{number(ends[0], digits)} to {number(ends[1], digits)}"


def points(value: float, digits: int = 1) -> str:
    """0.034 as 3.4 percentage points, with a proper minus."""
    if not np.isfinite(value):
        return "–"
    text = f"{100 * value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def points_span(ends: tuple[float, float], digits: int = 1) -> str:
    return f"{points(ends[0], digits)} to {points(ends[1], digits)}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def seconds(value: float) -> str:
    return f"{value:.2g} s" if value >= 0.01 else f"{1000 * value:.0f} ms"


def mode_name(name: str) -> str:
    """`lazy-2` as it is asked for."""
    parts = c.split(name)
    warm = f", β = {parts['beta']:g}" if parts["beta"] else ""
    if parts["mode"] in ("features", "gradients"):
        return f"the network's {parts['mode']}" + (f"{warm}/K" if warm else "")
    return f"`{parts['mode']}`, " + ("own depth" if parts["depth"] == "own" else f"depth {parts['depth']}") + warm


class Study:
    """All stored results with the choices made on two thirds of them."""

    def __init__(self, folder: Path, without: Callable[[int], bool] = lambda job: False) -> None:
        self.folder = folder
        self.main = [row for row in rows_of(folder, "main") if not without(row["job"])]
        self.others = {kind: rows_of(folder, kind) for kind in ("whitened", "order", "replay", "depth", "sweep")}
        self.runs = c.runs_of(self.main)
        self.seen = [r for r in self.runs if not r.held_out]
        self.judged = [r for r in self.runs if r.held_out]
        self.typical = c.best([r for r in self.seen if c.CLASS_OF[r.kind] in ("plain", "replay")])
        self.chosen, self.entries = {}, {}
        for name in c.CLASSES:
            # Frozen features are what the theory is given; nothing is to choose but the temperature.
            candidates = {"frozen": c.FEATURES, "pretrained": c.CANDIDATES + c.FEATURES}.get(name, c.CANDIDATES)
            self.entries[name] = self.choice(self.seen, name, candidates)
            self.chosen[name] = self.entries[name][0]
        white = c.runs_of(rows_of(folder, "whitened"))
        self.white = {"seen": [r for r in white if not r.held_out], "judged": [r for r in white if r.held_out]}
        self.heads = Heads(folder)
        self.white_entries = {name: self.choice(self.white["seen"], name, c.CANDIDATES) for name in c.WHITENED}

    def choice(self, runs: list[c.Run], name: str, candidates: list[str]) -> tuple[str, dict]:
        """The forecast for a class of training, and its errors."""
        own = [r for r in runs if c.CLASS_OF[r.kind] == name]
        chosen = c.better(own, self.typical, candidates)
        return chosen, c.table(own, chosen)

    def of_kind(self, kind: str) -> list[c.Run]:
        return [r for r in self.runs if r.kind == kind]

    def pairs(self, runs: list[c.Run], what: str = "lost", name: str | None = None):
        """Forecast by the choice of each class (or by one name), measured, number of the sequence, held out."""
        predicted = [r.forecast(name or self.chosen[c.CLASS_OF[r.kind]], what) for r in runs]
        seen = [r.measured[what] for r in runs]
        return np.array(predicted), np.array(seen), np.array([r.place for r in runs]), np.array([r.held_out for r in runs])

    def sequences(self) -> list[dict]:
        return [row["sequence"] for rows in (self.main, *self.others.values()) for row in rows]

    # The calibration that the library takes.

    def table(self) -> dict:
        rows = lambda entries: {name: {"theory": c.theory(chosen), **entry} for name, (chosen, entry) in entries.items()}
        first = self.main[0]["versions"]
        return {
            "what": "measured minus forecast: loss of accuracy (mean over all tasks but the last) and final accuracy (mean over all tasks)",
            "edges": list(c.EDGES),
            "levels": list(c.LEVELS),
            "classes": rows(self.entries),
            "whitened": rows(self.white_entries),
            **self.heads.entries(THEORIES),
            "domain": {**domain.table(self.folder), **self.heads.domains()},
            "provenance": {
                "command": "python paper/evidence/study.py && python paper/evidence/pretrained.py && python paper/evidence/chosen.py && python paper/evidence/analyze.py",
                "sequences": len({r.place for r in self.seen}),
                "held_out": len({r.place for r in self.judged}),
                "whitened": len({r.place for r in self.white["seen"]}),
                "whitened_held_out": len({r.place for r in self.white["judged"]}),
                "features": len({r.place for r in self.heads.runs if not r.held_out}),
                "features_held_out": len({r.place for r in self.heads.runs if r.held_out}),
                "seed": 16,
                "date": DATE,
                "versions": first,
            },
        }


def lines(table: dict) -> str:
    """JSON with one line for each class."""
    classes = lambda rows: "{\n" + ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n }"
    each = [f" {json.dumps(key)}: {classes(value) if key in ('classes', 'whitened', 'domain', *DATA) else json.dumps(value)}" for key, value in table.items()]
    return "{\n" + ",\n".join(each) + "\n}\n"


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--results", type=Path, default=HERE / "results")
    read.add_argument("--out", type=Path, default=HERE.parents[1] / "docs", help="folder of the page and its pictures")
    read.add_argument("--calibration", type=Path, default=CALIBRATION, help="where the calibration goes")
    read.add_argument("--data", type=Path, help="folder of the IDX files")
    asked = read.parse_args()
    import page

    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.data:
        domain.sequences.FOLDER = asked.data
        domain.describe(asked.results)
    study = Study(asked.results)
    (asked.out / "evidence.md").write_text(page.page(study, asked.out), encoding="utf-8")
    asked.calibration.write_text(lines(study.table()), encoding="utf-8")


if __name__ == "__main__":
    main()
