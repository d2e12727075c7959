#!/usr/bin/env bash
# NNGP and NTK of ReLU, erf and GELU networks at depths 1, 3 and 10, without and with biases, from Rust and Python, against neural-tangents, to 1e-6 relative
set -euo pipefail
venv=$EBBING_EXTRA/neural-tangents
bash paper/peers/install.sh neural-tangents
"$venv/bin/pip" install --quiet 'maturin>=1.9,<2'
PATH=$venv/bin:$PATH "$venv/bin/pip" install --quiet --no-build-isolation --no-deps --force-reinstall \
  --config-settings=build-args="--profile dev --locked" ./python
cargo build --quiet -p ebbing --example kernel_npz
"$venv/bin/python" ci/extra.d/compare_kernels.py target/debug/examples/kernel_npz
