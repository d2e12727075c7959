# Shared by ci/test and ci/extra: run named steps, remember how each ended, and print the account.

rows=()
failed=0
passed=0
skipped=0
declare -A beside_pid beside_log

# ended NAME CODE SECONDS LOG: remembers how a step ended; exit code 77 means skipped, and its last line of output says why.
ended() {
  local verdict reason=""
  case $2 in
    0) verdict=passed; passed=$((passed + 1)) ;;
    77) verdict=skipped; skipped=$((skipped + 1)); reason=$(tail -n 1 "$4") ;;
    *) verdict=FAILED; failed=$((failed + 1)); reason="exit code $2" ;;
  esac
  rows+=("$(printf '%-16s %-8s %5d s  %s' "$1" "$verdict" "$3" "$reason")")
  rm -f "$4"
}

# step NAME COMMAND…: runs the command.
step() {
  local name=$1 began=$SECONDS log code
  shift
  log=$(mktemp)
  printf '\n== %s\n' "$name"
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  ended "$name" "$code" $((SECONDS - began)) "$log"
}

# beside NAME COMMAND…: starts the command beside the steps that follow, for one that leaves a core idle.
beside() {
  local name=$1 log
  shift
  log=$(mktemp)
  (
    began=$SECONDS
    "$@" >"$log" 2>&1
    code=$?
    echo $((SECONDS - began)) >"$log.seconds"
    exit $code
  ) &
  beside_pid[$name]=$!
  beside_log[$name]=$log
}

# joined NAME: waits for a command that was started beside others, and shows what it said.
joined() {
  local name=$1 code log=${beside_log[$1]}
  wait "${beside_pid[$name]}"
  code=$?
  printf '\n== %s\n' "$name"
  cat "$log"
  ended "$name" "$code" "$(cat "$log.seconds" 2>/dev/null || echo 0)" "$log"
  rm -f "$log.seconds"
}

# with_chromium: Chromium for the tests of the page, installed where it is not here and can be; 77 where it cannot, and says why.
with_chromium() {
  local name log
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    type -P "$name" >/dev/null && return 0
  done
  [ -z "${CHROMIUM:-}" ] || return 0
  [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null ||
    { echo "Chromium is not here, and only root with apt can install it"; return 77; }
  log=$(mktemp)
  {
    timeout 120 apt-get -qq update &&
      DEBIAN_FRONTEND=noninteractive timeout 400 apt-get -qq -y -o DPkg::Lock::Timeout=60 install --no-install-recommends chromium
  } >"$log" 2>&1 && type -P chromium >/dev/null && { rm -f "$log"; return 0; }
  tail -n 3 "$log"
  rm -f "$log"
  echo "Chromium is not here and could not be installed with apt"
  return 77
}

# account: prints the table; fails if a step failed.
account() {
  printf '\n'
  printf '%s\n' "${rows[@]}"
  printf '%d passed, %d failed, %d skipped in %d s\n' "$passed" "$failed" "$skipped" "$SECONDS"
  [ "$failed" -eq 0 ]
}
