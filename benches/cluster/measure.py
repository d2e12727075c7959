"""Forecasts of two permuted tasks on a local Dask cluster: time, iterations, residuals and memory, as the system reports them.

    python measure.py --examples 10000 --workers 4 --memory 640MB [--depth 3] [--data mnist] [--beside]

--beside also runs the one-process path (ebbing.forecast) in the same run and sets the times beside each other; --blocks recompute
makes kernels anew for each product. Without MNIST (`ebbing data get mnist`) images are made from the embedded sample by shifts of up
to two pixels.
"""

import os

# Here the workers share the machine with what drives them, whose idle threads would wait at their expense.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402

import ebbing  # noqa: E402
import ebbing.dask  # noqa: E402
from distributed import LocalCluster  # noqa: E402


def images(data, count):
    """So many whitened images with labels."""
    if data == "mnist":
        found = ebbing.data.load("mnist")
        rows = np.random.default_rng(0).permutation(len(found))[:count]
        return found.examples(rows), found.y[rows]
    plain = ebbing.data.load("mnist-sample", center="none", whiten=False, norm=False)
    rng = np.random.default_rng(0)
    rows = rng.integers(len(plain), size=count)
    pictures = plain.x[rows].reshape(count, 28, 28)
    shifted = np.stack([np.roll(picture, shift, (0, 1)) for picture, shift in zip(pictures, rng.integers(-2, 3, size=(count, 2)))])
    # The same picture is drawn several times: noise of a tenth of the range keeps its copies apart, and the kernel well-conditioned.
    noise = 0.1 * plain.x.max() * rng.normal(size=(count, 784))
    made = ebbing.data.from_arrays(shifted.reshape(count, -1) + noise, plain.y[rows])
    return made.x, made.y


def permuted(data, examples):
    """Two tasks, odd digits from even ones, each with its own order of pixels."""
    x, y = images(data, 2 * examples)
    rng = np.random.default_rng(1)
    y = np.where(y % 2 == 1, 1, -1)
    parts = [(x[k * examples : (k + 1) * examples], y[k * examples : (k + 1) * examples]) for k in range(2)]
    return [(np.ascontiguousarray(part[:, rng.permutation(part.shape[1])]), labels) for part, labels in parts]


def peak():
    """The most memory that this process had, by the system's account, in MB."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 / 1e6 for line in status if line.startswith("VmHWM"))


def spent(client, before):
    """CPU seconds of every worker since then."""
    return [round(seconds - before[worker], 1) for worker, seconds in client.run(time.process_time).items()]


def on_cluster(tasks, args):
    """The forecast, its seconds, the CPU seconds of each worker, and the peak of each."""
    options = {"n_workers": args.workers, "threads_per_worker": 1, "memory_limit": args.memory, "dashboard_address": None}
    with LocalCluster(processes=True, host="127.0.0.1", **options) as cluster, cluster.get_client() as client:
        busy = client.run(time.process_time)
        began = time.perf_counter()
        result = ebbing.dask.forecast(tasks, client=client, depth=args.depth, probes=args.probes, rank=args.rank, blocks=args.blocks, parts=args.parts)
        seconds = time.perf_counter() - began
        return result, seconds, spent(client, busy), list(client.run(peak).values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="auto")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--probes", type=int, default=4)
    parser.add_argument("--rank", type=int, default=400)
    parser.add_argument("--blocks", default="auto")
    parser.add_argument("--parts", type=int, help="row blocks per task [default: as the package chooses]")
    parser.add_argument("--data", choices=["mnist", "made"], default="made")
    parser.add_argument("--beside", action="store_true")
    args = parser.parse_args()
    tasks = permuted(args.data, args.examples)
    result, seconds, busy, peaks = on_cluster(tasks, args)
    account = {
        "examples": args.examples,
        "workers": args.workers,
        "seconds": round(seconds, 1),
        "worker_cpu_s": round(sum(busy), 1),
        "cpu_of_each_s": busy,
        "forgetting": result.forgetting[1, 0],
        "gamma_feature": [result.pair(1, 2).gamma_feature, result.pair(1, 2).standard_error["gamma_feature"]],
        "iterations": [solve["iterations"] for solve in result.solves],
        "residual": result.residual,
        "condition": [round(solve["condition"]) for solve in result.solves],
        "kernels_held_MB": result.kernel_bytes / 1e6,
        "one_kernel_MB": 8 * args.examples**2 / 1e6,
        "peak_of_workers_MB": [round(each) for each in peaks],
        "peak_here_MB": round(peak()),
        "notes": result.notes,
    }
    if args.beside:
        began = time.perf_counter()
        alone = ebbing.forecast(tasks, depth=args.depth)
        account["one_process_seconds"] = round(time.perf_counter() - began, 1)
        account["throughput_beside_one_process"] = round(account["one_process_seconds"] / account["seconds"], 2)
        account["difference_of_forgetting"] = abs(alone.forgetting[1, 0] - result.forgetting[1, 0])
        account["gamma_feature_exact"] = alone.pair(1, 2).gamma_feature
    account["load"] = os.getloadavg()[0]
    print(json.dumps(account, indent=1))


if __name__ == "__main__":
    main()
