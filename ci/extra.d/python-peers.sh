#!/usr/bin/env bash
# The Python package's bridges with PyTorch and Avalanche themselves
set -euo pipefail
venv=$EBBING_EXTRA/python-peers
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || { echo "python3 cannot make a virtual environment here"; exit 77; }
fi
if ! "$venv/bin/pip" show --quiet torch 2>/dev/null; then
  "$venv/bin/pip" install --quiet torch || { echo "torch could not be installed for $(python3 --version)"; exit 77; }
fi
# Without Avalanche the bridge from PyTorch is still tested.
if ! "$venv/bin/pip" show --quiet avalanche-lib 2>/dev/null; then
  "$venv/bin/pip" install --quiet avalanche-lib || echo "avalanche-lib could not be installed for $(python3 --version)"
fi
"$venv/bin/pip" install --quiet 'maturin>=1.9,<2' pytest
PATH=$venv/bin:$PATH "$venv/bin/pip" install --quiet --no-build-isolation --force-reinstall --no-deps \
  --config-settings=build-args="--profile dev --locked" ./python
"$venv/bin/pytest" -q -rs python/tests/test_bridges.py
