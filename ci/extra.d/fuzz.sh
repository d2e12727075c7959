#!/usr/bin/env bash
# Fuzzes every reader from the seeds in fuzz/corpus; EBBING_FUZZ_MINUTES in all (10)
set -euo pipefail
minutes=${EBBING_FUZZ_MINUTES:-10}
command -v cargo-fuzz >/dev/null || cargo install --locked --root "$EBBING_EXTRA/cargo-fuzz" cargo-fuzz
export PATH=$EBBING_EXTRA/cargo-fuzz/bin:$PATH
# Sanitizers need a nightly compiler, or the stable one made to act as one.
if rustup run nightly rustc --version >/dev/null 2>&1; then export RUSTUP_TOOLCHAIN=nightly; else export RUSTC_BOOTSTRAP=1; fi
export CARGO_TARGET_DIR=$EBBING_EXTRA/fuzz
targets=$(sed -n 's/^name = "\(.*\)"/\1/p' fuzz/Cargo.toml | grep -v ebbing-fuzz)
seconds=$((60 * minutes / $(wc -w <<<"$targets")))
for target in $targets; do
  found=$EBBING_EXTRA/corpus/$target
  mkdir -p "$found"
  (cd fuzz && cargo fuzz run "$target" "$found" "corpus/$target" -- -max_len=16384 -rss_limit_mb=2048 -malloc_limit_mb=256 \
    -timeout=20 -print_final_stats=1 -verbosity=0 -max_total_time="$seconds") 2>&1 |
    grep -E 'number_of_executed_units|SUMMARY|panicked|ERROR:|^error' | sed "s/^/$target: /" | tee -a "$EBBING_EXTRA/fuzz.log"
  [ "${PIPESTATUS[0]}" -eq 0 ]
done
