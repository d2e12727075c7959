#!/usr/bin/env bash
# The evidence study in short: a few sequences trained in PyTorch, and docs/evidence.md rewritten from the stored results
set -euo pipefail
venv=$EBBING_EXTRA/evidence
bash paper/evidence/install.sh "$venv"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$venv/bin/python" paper/evidence/study.py --short --results "$fresh/results"
"$venv/bin/python" paper/evidence/pretrained.py --short --results "$fresh/results"
"$venv/bin/python" paper/evidence/check.py "$fresh/results"
# The page is what the command writes from the stored results, and so is the calibration.
"$venv/bin/python" paper/evidence/analyze.py --out "$fresh" --calibration "$fresh/calibration.json"
diff -u docs/evidence.md "$fresh/evidence.md"
diff -u crates/ebbing/src/theory/calibration.json "$fresh/calibration.json"
for picture in docs/evidence*.png; do
  [ -s "$fresh/$(basename "$picture")" ] || { echo "$picture is not written by the command"; exit 1; }
done
