"""Evaluates the closed forms on every stored sequence; see `encoders/forms.py`."""

from __future__ import annotations

import json
import sys
import time

import pretrained
from encoders import forms


def main() -> None:
    asked = pretrained.arguments(forms.__doc__)
    rows = pretrained.stored(asked.results, "encoders")
    name = "crossed" if asked.crossed else "forms"
    known = pretrained.stored(asked.results, name)
    for number in sorted(rows.keys() - known.keys()):
        # Candidates are compared on the two thirds alone.
        if asked.crossed and rows[number]["held_out"]:
            continue
        began = time.process_time()
        found = {**forms.row_of(rows[number], asked.crossed), "seconds": 0.0}
        found["seconds"] = round(time.process_time() - began, 2)
        pretrained.store(asked.results, name, found)
        print(f"{number}: {found['seconds']} s", flush=True, file=sys.stderr)


if __name__ == "__main__":
    main()
