"""Forgetting of two tasks of many examples: ebbing, with what memory there is, beside neural-tangents up to where that fails.

    EBBING_EXTRA=target/extra bash paper/peers/install.sh neural-tangents
    target/extra/neural-tangents/bin/python paper/peers/whole.py --program target/release/ebbing --images FILE --labels FILE P...

FILE are MNIST's IDX files. With --memory 6GiB ebbing may plan with that much only, and computes in tiles where kernels take more. Both sides read the same tasks (pixels standardized, with an order of their own in each task; odd digits
against even ones), use two threads and double precision, and compute F_21 of random features at depth 3. neural-tangents makes its
kernels in batches (`nt.batch`), SciPy factors them in place. Each size is a process of its own on either side, so that its peak of
memory is its own; one that fails is reported with its last words.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

DEPTH = 3


def idx(path, header):
    """The bytes of an IDX file after its header."""
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def tasks(images, labels, p):
    """Two tasks of p images each, the same ones where there are not enough for both."""
    rng = np.random.default_rng(0)
    y = idx(labels, 8)
    x = idx(images, 16).reshape(len(y), -1)
    order = rng.permutation(len(y))
    parts = [order[:p], order[p : 2 * p] if 2 * p <= len(y) else order[:p]]
    made = {}
    for t, rows in enumerate(parts, 1):
        pixels = x[rows].astype(float)
        spread = pixels.std(0)
        pixels = (pixels - pixels.mean(0)) / np.where(spread > 0, spread, 1)
        made[f"x_{t}"] = pixels[:, rng.permutation(pixels.shape[1])]
        made[f"y_{t}"] = np.where(y[rows] % 2 == 1, 1.0, -1.0)
    return made


def by_tangents(file):
    """F_21 = |K_12 u_2|²/|Y_1|², u_1 = K_11⁻¹ Y_1, u_2 = K_22⁻¹ (Y_2 − K_21 u_1), with kernels of neural-tangents."""
    import protocol  # isort: skip  (first: it sets the number of threads)
    import tangents_peer  # isort: skip  (switches jax to double precision)
    import neural_tangents as nt
    from scipy.linalg import cho_factor, cho_solve

    arrays = np.load(file)
    x1, y1, x2, y2 = (arrays[name] for name in ("x_1", "y_1", "x_2", "y_2"))
    began = time.perf_counter()
    largest = max(size for size in range(1, 2001) if len(x1) % size == 0)
    kernel = nt.batch(tangents_peer.network(DEPTH), batch_size=largest, store_on_device=False)

    def gram(a, b=None):
        return np.asarray(kernel(a, b, "nngp"))

    def solve(x, y):
        return cho_solve(cho_factor(gram(x).T, overwrite_a=True, check_finite=False), y, check_finite=False)

    u1 = solve(x1, y1)
    u2 = solve(x2, y2 - gram(x2, x1) @ u1)
    change = gram(x1, x2) @ u2
    return {"f21": change @ change / (y1 @ y1), "seconds": time.perf_counter() - began}


def by_ebbing(program, file, memory):
    """F_21 as `ebbing forecast` computes it, in tiles if kernels do not fit."""
    limit = ["--memory", memory] if memory else []
    command = [program, "forecast", "--tasks", file, "--depth", str(DEPTH), "--json", *limit]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    printed = json.loads(done.stdout)["forecast"]
    tiles = any("single precision" in note for note in printed["notes"])
    return {"f21": printed["forgetting"]["mean"][1][0], "seconds": time.perf_counter() - began, "tiles": tiles}


def first_to_go():
    """Where memory runs out, the system is to end this process and no other."""
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def measured(*arguments):
    """What a process of this script with these arguments printed, with the peak memory of it and its children; or its last words."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen([sys.executable, __file__, *map(str, arguments)], stdout=printed, stderr=said, preexec_fn=first_to_go)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (said, printed):
            file.seek(0)
        if process.returncode:
            last = [line.strip() for line in said.read().splitlines() if line.strip()]
            words = last[-1] if last else f"ended by signal {-process.returncode}"
            return {"failed": words[:300], "code": process.returncode, "peak_GB": used.ru_maxrss * 1024 / 1e9}
        return {**json.loads(printed.read()), "peak_GB": used.ru_maxrss * 1024 / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/ebbing")
    parser.add_argument("--images", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--memory")
    parser.add_argument("--sides", nargs="*", default=["ebbing", "neural-tangents"], choices=["ebbing", "neural-tangents"])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("sizes", nargs="*", type=int)
    args = parser.parse_args()
    if args.one:
        side, file = args.one
        print(json.dumps(by_tangents(file) if side == "neural-tangents" else by_ebbing(args.program, file, args.memory)))
        return
    for p in args.sizes:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "tasks.npz"
            np.savez(file, **tasks(args.images, args.labels, p))
            for side in args.sides:
                limit = ("--memory", args.memory) if args.memory else ()
                row = measured("--program", args.program, *limit, "--one", side, file)
                print(json.dumps({"P": p, "side": side, **row}), flush=True)


if __name__ == "__main__":
    main()
