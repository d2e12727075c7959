"""What a forecast of two tasks of P examples costs on k workers: constants measured here, a prediction, and its check.

    python model.py [--data mnist] [--depth 3] [--check account.json] [--at 30000] [--single] [--counted 30000:233]

Measures on one core the seconds per entry of a kernel tile and of a product with a kernel that is there, and the iterations of the
preconditioned solve at four sizes with the growth that fits them; then prints time and memory from 10⁴ to 10⁶ examples.
--check takes what measure.py printed at another size and sets prediction beside measurement. --at counts the iterations at larger
sizes, with the whole kernel here (8 P² bytes; with --single its entries rounded to 4 P², products still added up in double precision),
beside what the growth says; RAYON_NUM_THREADS may be more than 1 for it, and products take as many threads. --counted gives what --at
found before. Where two or more large sizes were counted, the growth between them is what the table goes by.
"""

import os

for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
from concurrent.futures import ThreadPoolExecutor  # noqa: E402

import numpy as np  # noqa: E402

import ebbing  # noqa: E402
from distributed import LocalCluster  # noqa: E402
from ebbing._cluster_data import spread_rows  # noqa: E402
from ebbing._cluster_kernels import Cluster, Kind, Memory, Network  # noqa: E402
from ebbing._cluster_solve import conjugate_gradients, preconditioner  # noqa: E402
from measure import images  # noqa: E402

RANK, COLUMNS = 400, 5
#: Solves and passes of two tasks: own kernels, and each way between them.
SOLVES, PASSES = 4, 4
SIZES = (1000, 1600, 2500, 4000)
#: Bytes per second of one machine's network, which is assumed, and features of an example.
LINK, FEATURES = 1e9, 784


def seconds_of(work, repeats=5):
    """CPU seconds of one call, the best of some: other processes only ever add to it."""
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def constants(x, depth):
    """Seconds per entry of a tile and of a product, and per number of the preconditioner that is used once, on one core."""
    rows, v = x[:1000], np.random.default_rng(0).normal(size=(4000, COLUMNS))
    panel = ebbing.kernel(rows, x[:4000], depth=depth)
    basis = np.random.default_rng(0).normal(size=(4000, RANK))
    return {
        "tile": seconds_of(lambda: ebbing.kernel(rows, x[:2000], depth=depth)) / (1000 * 2000),
        "product": seconds_of(lambda: panel @ v) / panel.size,
        "precondition": seconds_of(lambda: basis @ (basis.T @ v)) / basis.size,
    }


class Held:
    """A kernel in panels of rows, of double or single precision; its products are added up in double precision."""

    ROWS, BLOCK = 1000, (200, 2000)

    def __init__(self, x, depth, kind):
        self.size = len(x)
        self.panels = [ebbing.kernel(x[at : at + self.ROWS], x, depth=depth).astype(kind, copy=False) for at in range(0, self.size, self.ROWS)]
        self.pool = ThreadPoolExecutor(int(os.environ["RAYON_NUM_THREADS"]))

    def diagonal(self):
        return np.concatenate([panel[np.arange(len(panel)), k * self.ROWS + np.arange(len(panel))] for k, panel in enumerate(self.panels)])

    def columns(self, at):
        return np.concatenate([panel[:, at] for panel in self.panels]).astype(float)

    def product(self, v):
        return np.concatenate(list(self.pool.map(lambda panel: self._times(panel, v), self.panels)))

    def _times(self, panel, v):
        if panel.dtype == float:
            return panel @ v
        # Blocks are small enough to stay near the processor while they are widened and used.
        rows, columns = self.BLOCK
        out = np.zeros((len(panel), v.shape[1]))
        wide = np.empty(self.BLOCK)
        for i in range(0, len(panel), rows):
            for j in range(0, self.size, columns):
                block = panel[i : i + rows, j : j + columns]
                here = wide[: block.shape[0], : block.shape[1]]
                here[...] = block
                out[i : i + rows] += here @ v[j : j + columns]
        return out


def iterations(x, y, depth, sizes=SIZES, kind=float):
    """Iterations to a residual of 1e-8 at each size, for the targets and four probes, and seconds per iteration by the clock."""
    found = []
    for size in sizes:
        kernel = Held(x[:size], depth, kind)
        factor = preconditioner(kernel.diagonal().astype(float), kernel.columns, RANK, seed=0)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(size, COLUMNS - 1))
        b = np.hstack([y[:size, None], factor.power(0.5, signs)])
        began = time.time()
        result = conjugate_gradients(kernel.product, lambda v: factor.power(-1.0, v), b, 1e-8, 2000)
        found.append((result.iterations, (time.time() - began) / result.iterations))
    return found


def growth_of(sizes, counts):
    """The power law through iterations at some sizes."""
    power, log = np.polyfit(np.log(np.array(sizes) / 1000), np.log(counts), 1)
    return {"power": float(power), "at_1000": float(np.exp(log))}


def task_seconds():
    """CPU seconds of client and scheduler per piece of work: the slope between products in few and in many parts."""
    x = np.random.default_rng(0).normal(size=(512, 8))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(**options) as local, local.get_client() as client:
        spent = []
        for parts in (8, 128):
            network = Network(1, "relu", float("inf"), 1.0, 0.0)
            rows = spread_rows(client, x, "X", lambda features: parts, client.gather)
            cluster = Cluster(client, client.gather, network, Memory.of(client), "keep")
            v = np.ones((512, COLUMNS))
            cluster.product(Kind("nngp"), rows, rows, v)
            spent.append(seconds_of(lambda: cluster.product(Kind("nngp"), rows, rows, v)))
    return (spent[1] - spent[0]) / 120


def predicted(size, workers, c, growth):
    """Cost at a size with so many workers of one thread; kernels between tasks are made for each pass, own ones for each solve."""
    steps = growth["at_1000"] * (size / 1000) ** growth["power"]
    products = SOLVES * (steps + 1)
    tiles = c["tile"] * size**2 * (SOLVES + PASSES)
    hours = {
        "tiles": tiles / workers,
        "products": c["product"] * size**2 * products / workers,
        "here": c["precondition"] * size * RANK * products,
        "tasks": c["task"] * 2 * workers * (products + PASSES),
        "network": 2 * 8 * size * COLUMNS * products / LINK + 8 * size * FEATURES * (SOLVES + PASSES) / LINK,
    }
    result = {name: seconds / 3600 for name, seconds in hours.items()}
    return {
        **result,
        "iterations": steps,
        "worker_cpu_s": tiles + c["product"] * size**2 * products,
        "hours": sum(result.values()),
        "GB/worker": 8 * size**2 / workers / 1e9,
        "GB here": 2 * 8 * size * RANK / 1e9,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["mnist", "made"], default="made")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--check", nargs="*", default=[])
    parser.add_argument("--at", nargs="*", type=int, default=[])
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--counted", nargs="*", default=[])
    args = parser.parse_args()
    x, y = images(args.data, max(*SIZES, *args.at))
    y = np.where(y % 2 == 1, 1.0, -1.0)
    c, counts = constants(x, args.depth) | {"task": task_seconds()}, [count for count, _ in iterations(x, y, args.depth)]
    growth = growth_of(SIZES, counts)
    print(f"depth {args.depth}, on one core: {c['tile'] * 1e9:.1f} ns per entry of a tile, {c['product'] * 1e9:.2f} ns per entry of a product of")
    print(f"{COLUMNS} columns, {c['precondition'] * 1e9:.2f} ns per number of the preconditioner, {c['task'] * 1e3:.1f} ms per task")
    print(f"iterations at P = {SIZES}: {counts}; {growth['at_1000']:.0f} (P/1000)^{growth['power']:.2f}")
    large = dict(tuple(map(int, result.split(":"))) for result in args.counted)
    for size in args.at:
        expected = growth["at_1000"] * (size / 1000) ** growth["power"]
        ((count, seconds),) = iterations(x, y, args.depth, [size], np.float32 if args.single else float)
        print(f"P = {size}: predicted {expected:.0f} iterations, found {count}, {seconds:.2f} s each by the clock", flush=True)
        large[size] = count
    beyond = growth_of(list(large), list(large.values())) if len(large) > 1 else growth
    if len(large) > 1:
        print(f"between the large sizes: {beyond['at_1000']:.1f} (P/1000)^{beyond['power']:.2f}")
    for path in args.check:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        expected = predicted(result["examples"], result["workers"], c, growth)
        took = result["worker_cpu_s"]
        print(f"P = {result['examples']}: predicted {expected['iterations']:.0f} iterations, measured {result['iterations']};")
        print(f"  predicted {expected['worker_cpu_s']:.0f} s of workers' CPU time, measured {took:.0f} s")
    head = ["iterations", "hours", "tiles", "products", "here", "tasks", "network", "GB/worker", "GB here"]
    print("".join(f"{name:>11}" for name in ["examples", "workers", *head]))
    for size, workers in ((10**4, 4), (10**5, 16), (10**5, 64), (10**6, 256), (10**6, 1024)):
        t = predicted(size, workers, c, beyond)
        print(f"{size:>11}{workers:>11}" + "".join(f"{t[name]:>11.0f}" if name == "iterations" else f"{t[name]:>11.2g}" for name in head))


if __name__ == "__main__":
    main()
