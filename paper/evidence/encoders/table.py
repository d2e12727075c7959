"""The stored heads beside their forecasts, and the ranges that the library takes from two thirds of them."""

from __future__ import annotations

import json
from pathlib import Path

import calibration as c
import domain

#: Heads that were trained until little changed.
TRAINED = ("hidden", "replay", "replay-more", "sgd", "two", "linear", "linear-replay")
#: What data of each table of intervals are called, and preparations of features that belong to it.
DATA = {
    "centered": ("centered features", ("scalar", "feature")),
    "raw": ("features as they come", ("unit", "raw")),
    "linear": ("features, linear heads", ("scalar", "feature", "unit", "raw")),
}
TRAININGS = {"plain": lambda m: m == 0, "replay": lambda m: m > 0}


def rows(folder: Path, kind: str) -> dict[int, dict]:
    """The lines of a file of results, by number."""
    file = folder / f"{kind}.jsonl"
    return {row["number"]: row for row in map(json.loads, file.read_text().splitlines())} if file.exists() else {}


class Heads:
    """Every measured head with its forecasts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chosen = rows(folder, "chosen")
        self.stored = {number: row for number, row in rows(folder, "encoders").items() if number in self.chosen}
        self.runs = [run for number in sorted(self.stored) for run in self.of(number)]

    def of(self, number: int) -> list[c.Run]:
        """The heads of a sequence."""
        row, made = self.stored[number], []
        for run, found in zip(row["runs"], self.chosen[number]["runs"]):
            pair = lambda v: dict(zip(("lost", "accuracy"), v))
            forecasts = {name: pair(found[name]) for name in ("forecast", "images") if name in found}
            settings = {key: value for key, value in run.items() if key not in ("kind", "measured")}
            sequence = {**row["sequence"], "features": row["features"], "outputs": row["outputs"], "seconds": found["seconds"]}
            made.append(c.Run(sequence, run["kind"], settings, run["measured"], forecasts, row["held_out"]))
        return made

    def trained(self, data: str | None = None, training: str | None = None) -> list[c.Run]:
        """Heads trained until little changed, of one table and way of training."""

        def belongs(run: c.Run) -> bool:
            kind = data is None or (run.settings["prepared"] in DATA[data][1] and (not run.settings["hidden"]) == (data == "linear"))
            return run.kind in TRAINED and kind and (training is None or TRAININGS[training](run.settings["m"]))

        return [run for run in self.runs if belongs(run)]

    def entries(self, theories: dict[str, dict]) -> dict[str, dict]:
        """The classes of the library's table."""
        made = {}
        for data in DATA:
            made[data] = {}
            for training in TRAININGS:
                own = [run for run in self.trained(data, training) if not run.held_out]
                made[data][training] = {"theory": theories["linear" if data == "linear" else "hidden"], **c.table(own, "forecast")}
        return made

    def domains(self) -> dict[str, dict]:
        """The domains of the library's table."""
        made = {}
        for data, (name, _) in DATA.items():
            own = {(run.place, run.settings["prepared"]) for run in self.trained(data)}
            found = [self.chosen[number]["domain"][prepared] for number, prepared in sorted(own)]
            made[data] = {"name": name, "kind": "features", "sequences": len({number for number, _ in own}), "ranges": domain.ranges(found)}
        return made
