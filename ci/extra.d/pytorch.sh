#!/usr/bin/env bash
# Gradient steps against PyTorch: ten steps end alike within rounding, and speed on two threads side by side
set -euo pipefail
venv=$EBBING_EXTRA/pytorch
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || { echo "python3 cannot make a virtual environment here"; exit 77; }
fi
if ! "$venv/bin/python" -c 'import numpy, torch' 2>/dev/null; then
  "$venv/bin/pip" install --quiet 'torch>=2,<3' numpy ||
    { echo "PyTorch could not be installed for $(python3 --version)"; exit 77; }
fi
# Fails where results differ. A speed below what is wanted is marked MISSED: other programs may have been busy.
RAYON_NUM_THREADS=2 cargo bench --quiet -p ebbing-benches --bench train_step -- "$venv/bin/python"
