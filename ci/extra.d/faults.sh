#!/usr/bin/env bash
# The campaign of faults: damaged inputs, flags, kills, disks, memory, servers; EBBING_FAULT_MINUTES at most (20); then 10,000 laws
set -euo pipefail
cargo build --locked -p ebbing-cli
venv=$EBBING_EXTRA/faults
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
PATH=$venv/bin:$PATH "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation \
  --config-settings=build-args="--profile dev --locked" ./python
code=0
"$venv/bin/python" tools/faults.py --minutes "${EBBING_FAULT_MINUTES:-20}" || code=1
# Laws over random requests: first that each sees a changed number, then that they hold.
laws() { "$venv/bin/python" tools/metamorphic --program target/debug/ebbing "$@"; }
laws --self-test || code=1
laws --cases 10000 --workers "$(nproc)" || code=1
exit $code
