# Shared by ci/test and ci/extra: run named steps, remember how each ended, and print the account.

rows=()
failed=0
passed=0
skipped=0

# step NAME COMMAND…: runs the command; exit code 77 means skipped, and its last line of output says why.
step() {
  local name=$1 began=$SECONDS log code verdict reason=""
  shift
  log=$(mktemp)
  printf '\n== %s\n' "$name"
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  case $code in
    0) verdict=passed; passed=$((passed + 1)) ;;
    77) verdict=skipped; skipped=$((skipped + 1)); reason=$(tail -n 1 "$log") ;;
    *) verdict=FAILED; failed=$((failed + 1)); reason="exit code $code" ;;
  esac
  rows+=("$(printf '%-16s %-8s %5d s  %s' "$name" "$verdict" $((SECONDS - began)) "$reason")")
  rm -f "$log"
}

# account: prints the table; fails if a step failed.
account() {
  printf '\n'
  printf '%s\n' "${rows[@]}"
  printf '%d passed, %d failed, %d skipped in %d s\n' "$passed" "$failed" "$skipped" "$SECONDS"
  [ "$failed" -eq 0 ]
}
