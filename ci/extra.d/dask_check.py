"""Two tasks of 10,000 examples on four workers of 640 MB: one kernel is 800 MB, so no worker can hold it, and all together can."""

import json
import subprocess
import sys
from pathlib import Path

MEMORY_MB = 640
measure = Path(__file__).resolve().parents[2] / "benches" / "cluster" / "measure.py"
command = [sys.executable, measure, "--examples", "10000", "--workers", "4", "--memory", f"{MEMORY_MB}MB", "--data", "made", "--beside"]
done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
print(done.stdout)
result = json.loads(done.stdout)

assert result["one_kernel_MB"] > MEMORY_MB, "the limit must be one that the kernel breaks"
assert result["kernels_held_MB"] >= result["one_kernel_MB"], "a kernel stayed on the workers"
assert max(result["peak_of_workers_MB"]) < MEMORY_MB, "by the system's account no worker went beyond its limit"
assert result["residual"] <= 1e-8 and not result["notes"]
# Outputs are right to residual × √condition, 1e-8 × √(1e5), and losses are as good.
assert result["difference_of_forgetting"] < 1e-5
value, error = result["gamma_feature"]
# The error of eight probes is itself known to a quarter.
assert abs(value - result["gamma_feature_exact"]) < 6 * error
print("the forecast of one process, with no kernel in one place")
