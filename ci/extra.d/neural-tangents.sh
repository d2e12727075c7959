#!/usr/bin/env bash
# NNGP and NTK of ReLU and erf networks at depths 1, 3 and 10, from Rust and Python, against neural-tangents, to 1e-6 relative
set -euo pipefail
venv=$EBBING_EXTRA/neural-tangents
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || { echo "python3 cannot make a virtual environment here"; exit 77; }
fi
# neural-tangents 0.6.5 uses a part of jax that 0.4.36 removed; its dependency tf2jax (with TensorFlow) serves only an
# experimental module that the comparison leaves out.
if ! "$venv/bin/pip" show --quiet neural-tangents 2>/dev/null; then
  "$venv/bin/pip" install --quiet 'jax[cpu]<0.4.36' 'numpy<2.1' frozendict typing_extensions &&
    "$venv/bin/pip" install --quiet --no-deps neural-tangents==0.6.5 ||
    { echo "neural-tangents could not be installed for $(python3 --version)"; exit 77; }
fi
"$venv/bin/pip" install --quiet 'maturin>=1.9,<2'
PATH=$venv/bin:$PATH "$venv/bin/pip" install --quiet --no-build-isolation --no-deps --force-reinstall \
  --config-settings=build-args="--profile dev --locked" ./python
cargo build --quiet -p ebbing --example kernel_npz
"$venv/bin/python" ci/extra.d/compare_kernels.py target/debug/examples/kernel_npz
