#!/usr/bin/env bash
# Builds the documentation site with mdBook, formulas as MathML, and checks every link of the pages that it makes
set -euo pipefail
if ! command -v mdbook >/dev/null && [ ! -x "$EBBING_EXTRA/mdbook/bin/mdbook" ]; then
  cargo install --quiet --locked --no-default-features --features search --root "$EBBING_EXTRA/mdbook" mdbook
fi
export PATH=$EBBING_EXTRA/mdbook/bin:$PATH
# As the tests build it: by itself the program has other features of its dependencies, which would all be compiled again.
cargo build --locked --workspace --tests
venv=$EBBING_EXTRA/book
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' latex2mathml scikit-learn 'dask[array,distributed]>=2024.1'
PATH=$venv/bin:$PATH "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --force-reinstall --no-deps \
  --config-settings=build-args="--profile dev --locked" ./python
"$venv/bin/python" tools/make_site.py --program target/debug/ebbing --math
mdbook build 2>&1 | tee "$EBBING_EXTRA/book.log"
! grep -q 'ERROR\|WARN' "$EBBING_EXTRA/book.log"
"$venv/bin/python" tools/check_site.py target/book
