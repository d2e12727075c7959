#!/usr/bin/env bash
# The page of ebbing explore in Chromium: every control, uploads, phone width, dark mode, accessibility by axe-core
set -euo pipefail
. ci/lib.sh
with_chromium
axe=$EBBING_EXTRA/axe/node_modules/axe-core/axe.min.js
[ -f "$axe" ] || timeout 120 npm install --silent --no-audit --no-fund --prefix "$EBBING_EXTRA/axe" axe-core@4 ||
  echo "axe-core could not be had: only the page's own checks of names and contrast run"
[ -x target/debug/ebbing ] || cargo build -p ebbing-cli
[ -f "$axe" ] && more=(--axe "$axe") || more=()
python3 crates/ebbing-explore/tests/browser/page.py --program target/debug/ebbing "${more[@]}"
# How long the first answer and moves take (latency.py --check compares them with their bounds, on a machine that does nothing else).
python3 crates/ebbing-explore/tests/browser/latency.py --program target/debug/ebbing
