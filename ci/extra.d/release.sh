#!/usr/bin/env bash
# Packs every crate, builds wheel and source distribution, installs both in clean environments; versions must agree
set -euo pipefail
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
for file in CITATION.cff CHANGELOG.md; do
  grep -q "$version\|Unreleased" "$file" || { echo "$file does not know version $version"; exit 1; }
done
cargo publish --workspace --dry-run --no-verify --allow-dirty
folder=$EBBING_EXTRA/release
rm -rf "$folder" && mkdir -p "$folder"
python3 -m venv "$folder/build" && "$folder/build/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
(cd python && "$folder/build/bin/maturin" build --release --locked --sdist --out "$folder/dist")
ls "$folder/dist"
for kind in whl tar.gz; do
  python3 -m venv "$folder/$kind"
  PATH=$folder/build/bin:$PATH "$folder/$kind/bin/pip" install --quiet --disable-pip-version-check "$folder"/dist/*."$kind"
  (cd / && "$folder/$kind/bin/ebbing" --version && "$folder/$kind/bin/python" - "$version" <<'PYTHON'
import sys
import numpy as np
import ebbing
assert ebbing.__version__ == sys.argv[1], ebbing.__version__
random = np.random.default_rng(0)
tasks = [(random.normal(size=(30, 20)), np.sign(random.normal(size=30))) for _ in range(2)]
print(ebbing.__version__, np.asarray(ebbing.forecast(tasks).forgetting)[1, 0])
PYTHON
  )
done
