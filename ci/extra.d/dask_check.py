"""Two tasks of 10,000 examples on four workers of 640 MB: one kernel is 800 MB, so no worker can hold it, and all together can.

Then two tasks of half a million rows of features each, whose sums are made in one pass although a worker dies on the way.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import LocalCluster

import ebbing.dask

MEMORY_MB = 640
ROWS, D, CLASSES, BETA = 500_000, 128, 4, 10.0


def made(t, block_info=None):
    """A block of rows, the same wherever and whenever it is made."""
    first, last = block_info[None]["array-location"][0]
    time.sleep(0.1)
    own = np.random.default_rng([t, first])
    centers = np.random.default_rng(7).normal(size=(2 * CLASSES, D))
    return (centers[CLASSES * t + np.arange(first, last) % CLASSES] + own.normal(size=(last - first, D))).astype(np.float16)


def features(t):
    return da.map_blocks(made, t, chunks=((20_000,) * (ROWS // 20_000), (D,)), dtype=np.float16)


def one_pass():
    """Losses of both tasks after both, from a cluster that loses a worker, and in plain NumPy."""
    y = [CLASSES * t + np.arange(ROWS) % CLASSES for t in range(2)]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, cluster.get_client() as client:
        doomed = next(iter(client.run(os.getpid).values()))
        threading.Timer(2.0, os.kill, (doomed, signal.SIGKILL)).start()
        found = ebbing.dask.forecast([(features(t), y[t]) for t in range(2)], client=client, features=True, beta=BETA)
        assert doomed not in client.run(os.getpid).values(), "no worker died on the way"
    x = [features(t).compute(scheduler="threads").astype(float) for t in range(2)]
    hot = [np.eye(2 * CLASSES)[labels] for labels in y]
    w, losses = np.zeros((D, 2 * CLASSES)), np.zeros((2, 2))
    for t in range(2):
        w = w + np.linalg.solve(x[t].T @ x[t] / D + np.eye(D) / BETA, x[t].T @ (hot[t] - x[t] @ w) / D)
        losses[t] = [np.sum((x[s] @ w - hot[s]) ** 2) / np.sum(hot[s] ** 2) for s in range(2)]
    # Sums of half a million rows in double precision.
    np.testing.assert_allclose(found.forgetting, losses, atol=1e-9)
    print(f"sums of {2 * ROWS} rows, one worker killed: losses of plain NumPy to {np.abs(found.forgetting - losses).max():.1e}")


def kernels():
    """A forecast with kernels that no worker could hold."""
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


if __name__ == "__main__":
    kernels()
    one_pass()
