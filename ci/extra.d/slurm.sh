#!/usr/bin/env bash
# A study on a real Slurm of one node: submit, kill a task, resubmit what failed, collect; the bytes of a local run
set -euo pipefail

if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "slurm-wlm and munge are not installed, and only root with apt can install them"
    exit 77
  fi
  # Installed, not started: the test starts its own.
  policy=/usr/sbin/policy-rc.d
  made=
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy && made=1
  fi
  installed=1
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge; } ||
    installed=
  [ -z "$made" ] || rm -f $policy
  [ -n "$installed" ] || { echo "slurm-wlm and munge could not be installed"; exit 77; }
fi
[ "$(id -u)" -eq 0 ] || { echo "slurmd needs root to start jobs"; exit 77; }

cargo build --quiet -p ebbing-cli
program=$PWD/target/debug/ebbing
folder=$(mktemp -d)
daemons=()
finish() {
  local code=$?
  # Backwards: the node before its controller, munge last. By their own ids only.
  for ((k = ${#daemons[@]} - 1; k >= 0; k--)); do
    kill "${daemons[k]}" 2>/dev/null || true
    wait "${daemons[k]}" 2>/dev/null || true
  done
  if [ $code -ne 0 ]; then
    tail -n 20 "$folder"/*.log 2>/dev/null || true
  fi
  rm -rf "$folder"
  exit $code
}
trap finish EXIT

# wait_for SECONDS WHAT COMMAND…: until the command succeeds.
wait_for() {
  local until=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $until ]; then
      echo "waited in vain for $what"
      return 1
    fi
    sleep 0.2
  done
}

# Munge: a key and a socket of its own.
munge_folder=$folder/munge
mkdir -m 755 "$munge_folder"
chmod 755 "$folder"
dd if=/dev/urandom of="$munge_folder/key" bs=1024 count=1 status=none
chmod 400 "$munge_folder/key"
munged --foreground --force --key-file="$munge_folder/key" --socket="$munge_folder/socket" \
  --pid-file="$munge_folder/pid" --seed-file="$munge_folder/seed" --log-file="$munge_folder/log" >"$folder/munged.log" 2>&1 &
daemons+=($!)
wait_for 20 munge test -S "$munge_folder/socket"

host=$(hostname -s)
cores=$(nproc)
memory=$(($(awk '/MemTotal/ {print $2}' /proc/meminfo) / 1024))
mkdir "$folder/state" "$folder/spool"
cat >"$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=17817
SlurmdPort=17818
AuthType=auth/munge
AuthInfo=socket=$munge_folder/socket
CryptoType=crypto/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores RealMemory=$memory State=UNKNOWN
PartitionName=short Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
CONF
export SLURM_CONF=$folder/slurm.conf
slurmctld -D >"$folder/slurmctld.out.log" 2>&1 &
daemons+=($!)
wait_for 30 slurmctld scontrol ping
slurmd -D >"$folder/slurmd.out.log" 2>&1 &
daemons+=($!)
wait_for 60 "an idle node" sh -c 'sinfo --noheader --format=%t | grep -q idle'
sinfo --version
sinfo

# Four cells in one task each; the last two take long enough to be met at work.
cat >"$folder/study.toml" <<STUDY
command = "train"
name = "grid"
seeds = 2
[settings]
length = 2
examples = 100
test_examples = 50
width = 200
learners = "gd"
threshold = 1e-12
no_whiten = true
[grid]
max_steps = [20, 10000]
[slurm]
partition = "short"
time = "10:00"
memory = "500M"
cells_per_task = 1
STUDY
"$program" study run "$folder/study.toml" --out "$folder/local" --quiet

cd "$folder"
"$program" study submit --slurm study.toml --out cluster | tee submitted
job=$(sed -n 's/.*Submitted as job \([0-9]*\);.*/\1/p' submitted)
# Cell 3 is the first long one. It is killed at work, as a node that fails would.
running() { "$program" study status cluster --json | grep -q '"running": [1-9]'; }
wait_for 120 "cell 3" sh -c "test \$(ls cluster/cells | wc -l) = 2 && test -n \"\$(ls cluster/running)\""
running && echo "status sees it at work"
if "$program" study submit --slurm study.toml --out cluster 2>refused; then
  echo "a second submission while the first is queued was not refused"
  exit 1
fi
grep "still in the queue" refused
scancel --signal=KILL --full "${job}_3"
wait_for 300 "the jobs to end" sh -c "test -z \"\$(squeue --noheader)\""
"$program" study status cluster | tee status
grep -Eq '^done +3$' status && grep -Eq '^missing +1$' status
test ! -e cluster/grid.csv

# Only what is missing goes again; its collect job ends the study.
"$program" study submit --slurm study.toml --out cluster | tee submitted
grep -q '1 of 4 cells are missing' submitted
test "$(cat cluster/slurm/002/cells.txt)" = 3
wait_for 300 "the jobs to end" sh -c "test -z \"\$(squeue --noheader)\""
"$program" study status cluster
cmp local/grid.csv cluster/grid.csv
cmp local/grid.parquet cluster/grid.parquet
echo "the collected files are those of the local run, byte for byte"
