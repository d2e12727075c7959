#!/usr/bin/env bash
# Packs every crate; builds a manylinux wheel and the source distribution and installs each in a clean environment
set -euo pipefail
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
grep -qx "version: $version" CITATION.cff || { echo "CITATION.cff does not know version $version"; exit 1; }
grep -q "^## \[$version\]\|^## \[Unreleased\]" CHANGELOG.md || { echo "CHANGELOG.md does not know version $version"; exit 1; }
cargo publish --workspace --dry-run --no-verify --allow-dirty

folder=$EBBING_EXTRA/release
rm -rf "$folder" && mkdir -p "$folder"
python3 -m venv "$folder/build" && "$folder/build/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
export PATH=$folder/build/bin:$PATH
# With zig's linker the wheel runs on systems as old as manylinux2014; without it, on those as new as this one.
if "$folder/build/bin/pip" install --quiet --disable-pip-version-check ziglang; then
  linker=(--zig --compatibility manylinux2014)
else
  echo "zig cannot be had: the wheel is for this system's C library and newer ones"
  linker=()
fi
(cd python && maturin build --release --locked "${linker[@]}" --interpreter "$folder/build/bin/python" --out "$folder/dist")
(cd python && maturin sdist --out "$folder/dist")
ls -l "$folder/dist"
ls "$folder"/dist/ebbing-"$version"-cp310-abi3-*manylinux*.whl >/dev/null

for kind in whl tar.gz; do
  python3 -m venv "$folder/$kind"
  # The source distribution is compiled again, from what is packed alone; the crates that others made are not.
  CARGO_TARGET_DIR=$PWD/target "$folder/$kind/bin/pip" install --quiet --disable-pip-version-check \
    --config-settings=build-args="--profile dev --locked" "$folder"/dist/*."$kind"
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
