"""stream_check.py PROGRAM FOLDER ROWS: forecasts features that do not fit into memory, and checks numbers, memory and speed."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

D, CLASSES, TASKS, HELD_OUT = 768, 20, 10, 2000
BLOCK = 50_000


def make(folder: Path, rows: int) -> None:
    """Features around a center per class, in half precision, and a few more that are held out."""
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(CLASSES, D)).astype(np.float32) / 4
    for name, count in (("x_train", rows), ("x_test", HELD_OUT)):
        y = rng.integers(0, CLASSES, size=count)
        np.save(folder / f"{name.replace('x', 'y')}.npy", y)
        x = np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=np.float16, shape=(count, D))
        for first in range(0, count, BLOCK):
            own = y[first : first + BLOCK]
            x[first : first + BLOCK] = centers[own] + rng.standard_normal(size=(len(own), D), dtype=np.float32)
        x.flush()
        del x


def expected(folder: Path, divided: list[list[int]], beta: float) -> np.ndarray:
    """Losses on training data after every task, in plain NumPy, from sums over blocks of the memory map."""
    x = np.load(folder / "x_train.npy", mmap_mode="r")
    y = np.load(folder / "y_train.npy")
    grams = [np.zeros((D, D)) for _ in divided]
    crosses = [np.zeros((D, CLASSES)) for _ in divided]
    counts = [0] * len(divided)
    for first in range(0, len(y), BLOCK):
        block, own = x[first : first + BLOCK].astype(np.float64), y[first : first + BLOCK]
        for t, classes in enumerate(divided):
            some = np.isin(own, classes)
            part, hot = block[some], np.eye(CLASSES)[own[some]]
            grams[t] += part.T @ part
            crosses[t] += part.T @ hot
            counts[t] += int(some.sum())
    w, losses = np.zeros((D, CLASSES)), np.zeros((len(divided), len(divided)))
    for t, (gram, cross) in enumerate(zip(grams, crosses)):
        w = w + np.linalg.solve(gram / D + np.eye(D) / beta, (cross - gram @ w) / D)
        for s in range(len(divided)):
            losses[t, s] = (np.sum(w * (grams[s] @ w)) - 2 * np.sum(w * crosses[s]) + counts[s]) / counts[s]
    return losses


def main() -> int:
    program, folder, rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    start = time.perf_counter()
    # In a process of its own: what this one holds when it starts the program counts as memory of that.
    making = multiprocessing.get_context("spawn").Process(target=make, args=(folder, rows))
    making.start()
    making.join()
    size = os.path.getsize(folder / "x_train.npy")
    print(f"{rows} rows of {D} in half precision, {size / 1e9:.1f} GB, made in {time.perf_counter() - start:.0f} s")
    # Reading alone, of a file that the machine may still hold in part.
    start = time.perf_counter()
    with open(folder / "x_train.npy", "rb", buffering=0) as file:
        while file.read(64 << 20):
            pass
    reading = time.perf_counter() - start
    # What the theory of the tasks takes, and less than the features.
    room = min(max(size, 512 << 20), 4 << 30)
    command = [program, "forecast", "--features", folder / "x_train.npy", "--classes-per-task", str(CLASSES // TASKS)]
    start = time.perf_counter()
    asked = [*map(str, command), "--beta", "0.5", "--theory", "--json", "--memory", f"{room >> 20}MiB"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) as child:
        found = json.loads(child.stdout.read())
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    took = time.perf_counter() - start
    peak = 1024 * used.ru_maxrss
    print(f"read in {reading:.0f} s; forecast in {took:.0f} s ({size / took / 1e6:.0f} MB/s), {peak / 1e6:.0f} MB of memory at most")
    forecast = found["forecast"]
    assert any("one pass over" in note for note in forecast["notes"]), forecast["notes"]
    divided = found["metadata"]["settings"]["tasks"]["drawn"]["classes"]
    losses = np.array(forecast["forgetting"]["mean"])
    gap = np.abs(losses - expected(folder, divided, 0.5)).max()
    print(f"largest difference from plain NumPy: {gap:.1e}")
    # Sums of that many rows in double precision, and losses that are differences of them.
    assert gap < 1e-8, gap
    # d² and d K per task, twice while they become tasks, a block as stored and as numbers, labels as they are read.
    most = 8 * (4 * TASKS * D * D) + 3 * (64 << 20) + 40 * rows + (200 << 20)
    assert peak < most, f"{peak} bytes, of at most {most}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
