#!/usr/bin/env bash
# The comparison with neural-tangents, SciPy and PyTorch (benches/compare) at small sizes: results must agree
set -euo pipefail
bash benches/compare --short
