#!/usr/bin/env bash
# Builds the documentation site with mdBook; broken chapters fail
set -euo pipefail
command -v mdbook >/dev/null || cargo install --locked --root "$EBBING_EXTRA/mdbook" mdbook
export PATH=$EBBING_EXTRA/mdbook/bin:$PATH
mdbook build 2>&1 | tee "$EBBING_EXTRA/book.log"
! grep -q 'ERROR\|WARN' "$EBBING_EXTRA/book.log"
ls target/book/index.html
