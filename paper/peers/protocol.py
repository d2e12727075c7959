"""Answers requests for timed work, one line of JSON each on standard input, with one line of JSON on standard output.

A request names its `work`, the `.npz` file of its `inputs` and, where results are wanted, the `.npz` file `out` they go to:
`{"work": "nngp", "inputs": "x.npz", "depth": 10, "out": null}`. The answer holds

- `seconds`: of the work alone, by the clock; inputs are read, functions compiled and results written outside of it;
  where a work is timed in parts, of the best one;
- `peak_bytes`: the largest resident memory during the work, beside `base_bytes`, the resident memory before it.

`{"work": "about"}` is answered with `versions` and `threads`; what cannot be done, with `{"error": "..."}`.
The number of threads is that of the environment variable `OMP_NUM_THREADS`, 2 unless set. Import this module before
NumPy, SciPy or jax: they read their settings when they are loaded.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

THREADS = int(os.environ.get("OMP_NUM_THREADS") or 2)


def limit_threads():
    """Holds BLAS and jax to THREADS threads; jax counts the processors that the process may use."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ[name] = str(THREADS)
    # NumPy and SciPy bring an OpenBLAS each, whose idle threads would spin for 2^26 cycles and hold up the other's.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:THREADS])


limit_threads()

import numpy as np  # noqa: E402  (after its number of threads is set)


def blas_of(package):
    """Name and version of the BLAS that a package (NumPy or SciPy) was built with."""
    blas = package.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"


def status_bytes(field):
    """A memory size of this process, such as VmRSS, or None if the system does not report it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")]
    return found[0] if found else None


def forget_peak():
    """Restarts the count of the largest resident memory, where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def peak_bytes():
    """The largest resident memory since `forget_peak`, or of the whole process."""
    unit = 1 if sys.platform == "darwin" else 1024
    return status_bytes("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Inputs:
    """The arrays of the file that was asked for last, in double precision."""

    def __init__(self):
        self.key, self.arrays = None, None

    def read(self, path):
        if path is None:
            return {}
        key = (path, os.stat(path).st_mtime_ns)
        if key != self.key:
            self.key = self.arrays = None
            with np.load(path) as file:
                self.arrays = {name: np.ascontiguousarray(file[name], dtype=np.float64) for name in file.files}
            self.key = key
        return self.arrays


def serve(works, versions):
    """Answers until standard input ends.

    `works` maps a name to a function of (arrays, request) that prepares the work and returns what does it: a function
    without arguments, which returns the arrays to be saved and a dictionary of what else belongs into the answer.
    """
    inputs = Inputs()
    for line in sys.stdin:
        if line.strip():
            try:
                answer = respond(json.loads(line), works, versions, inputs)
            except Exception as problem:
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            print(json.dumps(answer), flush=True)


def respond(request, works, versions, inputs):
    work = request["work"]
    if work == "about":
        return {"versions": versions, "threads": THREADS}
    if work not in works:
        raise ValueError(f"work is {work}; it must be about or one of {', '.join(works)}")
    run = works[work](inputs.read(request.get("inputs")), request)
    forget_peak()
    base = status_bytes("VmRSS")
    start = time.perf_counter()
    results, more = run()
    seconds = time.perf_counter() - start
    answer = {"seconds": seconds, "peak_bytes": peak_bytes(), "base_bytes": base, **more}
    if request.get("out"):
        # What a work leaves open is NaN, and 0 in the file, which holds finite numbers only.
        np.savez(request["out"], **{name: np.nan_to_num(value) for name, value in results.items()})
    return answer
