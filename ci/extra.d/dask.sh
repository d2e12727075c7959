#!/usr/bin/env bash
# A forecast of two tasks of 10,000 examples on four Dask workers, none of which could hold one kernel
set -euo pipefail
venv=$EBBING_EXTRA/dask
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || { echo "python3 cannot make a virtual environment here"; exit 77; }
fi
"$venv/bin/pip" install --quiet 'dask[array,distributed]>=2024.1' 'maturin>=1.9,<2' ||
  { echo "Dask could not be installed for $(python3 --version)"; exit 77; }
PATH=$venv/bin:$PATH "$venv/bin/pip" install --quiet --no-build-isolation --force-reinstall --no-deps \
  --config-settings=build-args="--profile dev --locked" ./python
"$venv/bin/python" ci/extra.d/dask_check.py
