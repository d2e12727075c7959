"""Forecasts every measured head with the theories that were chosen; see `encoders/chosen.py`."""

from __future__ import annotations

import sys
import time

import pretrained
from encoders import chosen, draw


def main() -> None:
    asked = pretrained.arguments(chosen.__doc__)
    rows = pretrained.stored(asked.results, "encoders")
    known = pretrained.stored(asked.results, "chosen")
    asked_for = range(draw.FIRST + asked.first, draw.FIRST + asked.end)
    for number in sorted(number for number in rows.keys() - known.keys() if number in asked_for):
        began = time.process_time()
        pretrained.store(asked.results, "chosen", chosen.row_of(rows[number]))
        print(f"{number}: {time.process_time() - began:.1f} s", flush=True, file=sys.stderr)


if __name__ == "__main__":
    main()
