#!/usr/bin/env bash
# Makes the pictures of README.md and docs/numbers.md anew: bash tools/make_pictures.sh [PROGRAM]
# About ten minutes of one core, most of them for regimes.png; embedded data, no network. The others have commands of their own:
# docs/evidence*.png paper/evidence/analyze.py, docs/benchmarks.* and docs/growth.* paper/compare, paper/reproduction/ ebbing-paper and
# paper/gallery.py.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-target/debug/ebbing}
# Training goes on where it was when the folder is kept.
work=${EBBING_PICTURES:-$(mktemp -d)}

"$program" forecast --out "$work/forecast" --quiet >/dev/null
cp "$work/forecast/accuracy.png" docs/forecast.png
"$program" advise --out "$work/advise" --quiet >/dev/null
cp "$work/advise/methods.png" docs/methods.png
"$program" phase --out "$work/phase" --quiet >/dev/null
cp "$work/phase/phase.png" docs/phase.png
"$program" train --heads multi --learners l2 --kappa 0.03 --momentum 0.9 --ratio 0.1 -p 200 \
  --loads 0.3,0.6,0.9,1.1,1.3,1.6,2,3,4,6 --seeds 5 --max-steps 30000 --tolerance 1e-4 --out "$work/regimes" --quiet >/dev/null
cp "$work/regimes/train-loads.png" docs/regimes.png
python3 crates/ebbing-explore/tests/browser/pictures.py --program "$program" docs || echo "no Chromium: explore-*.png stay as they are"
echo "forecast.png, methods.png, phase.png, regimes.png and explore-*.png are new in docs; look at them"
