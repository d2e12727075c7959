#!/usr/bin/env bash
# The comparison with neural-tangents, SciPy and PyTorch (paper/compare) at small sizes: results must agree
set -euo pipefail
bash paper/compare --short
