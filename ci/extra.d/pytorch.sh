#!/usr/bin/env bash
# Gradient steps against PyTorch: ten steps end alike within rounding, and speed on two threads side by side
set -euo pipefail
bash paper/peers/install.sh pytorch
# Fails where results differ. A speed below what is wanted is marked MISSED: other programs may have been busy.
bash paper/compare --only step
