#!/usr/bin/env bash
# The campaign of faults: damaged inputs, flags, kills, disks, memory, servers; EBBING_FAULT_MINUTES at most (20)
set -euo pipefail
cargo build --locked -p ebbing-cli
venv=$EBBING_EXTRA/faults
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
PATH=$venv/bin:$PATH "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation \
  --config-settings=build-args="--profile dev --locked" ./python
exec "$venv/bin/python" tools/faults.py --minutes "${EBBING_FAULT_MINUTES:-20}"
