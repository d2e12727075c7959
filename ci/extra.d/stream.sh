#!/usr/bin/env bash
# A forecast of features beyond memory in one pass: EBBING_STREAM_ROWS (ten million) rows of 768 in half precision, 15 GB, made here
set -euo pipefail
rows=${EBBING_STREAM_ROWS:-10000000}
folder=$EBBING_EXTRA/stream
mkdir -p "$folder"
need=$((rows * 768 * 2 / 1000000 + 1000))
have=$(($(df -Pk "$folder" | awk 'NR == 2 { print $4 }') / 1000))
[ "$have" -ge "$need" ] || { echo "the files take $need MB of disk, and there are $have"; exit 77; }
venv=$folder/venv
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || { echo "python3 cannot make a virtual environment here"; exit 77; }
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check numpy || { echo "NumPy could not be installed"; exit 77; }
trap 'rm -f "$folder"/*.npy' EXIT
cargo build --release --locked --quiet -p ebbing-cli
"$venv/bin/python" ci/extra.d/stream_check.py "$PWD/target/release/ebbing" "$folder" "$rows"
