"""Ebbing beside its peers on the same inputs and cores: agreement, ratios of time and memory, growth of cost, roofline.

`bash paper/compare` prepares the peers and runs this with an interpreter that has NumPy. Every side is a process that
answers requests (see protocol.py): ebbing's is the bench `serve`, the peers' are the scripts beside this one.
"""

import protocol  # isort: skip  (first: it sets the number of threads, and as many cores, for this and all sides)

import argparse
import datetime
import functools
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from contextlib import ExitStack
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
FEATURES = 784
# Works on which either side takes longer are done three times only, the first time included.
SLOW_SECONDS = 30
# A learning rate at which nothing changes much, so that every step is alike.
ETA = 1e-7
# Shapes (P, N0, width, hidden layers) on which both sides take the same steps: with the first layer by its Gram matrix, and
# by its weights. Networks of ReLUs are small, for rounding may put an input of a unit that is almost 0 on the other side,
# which changes a gradient by more than rounding. Of 60·100 inputs in 3 layers and 10 steps, 0.05 are expected to be that close.
COMPARED = [([600, 784, 400, 1], "erf"), ([500, 200, 300, 3], "erf"), ([100, 80, 60, 1], "relu"), ([100, 30, 60, 3], "relu")]
STEPS = 10
# Files for the sides; it goes when this ends.
FOLDER = tempfile.TemporaryDirectory()


class Side:
    """A process that answers every line it is asked with one line."""

    def __init__(self, *command, threads=protocol.THREADS):
        variables = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        xla = f"--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads={threads}"
        environment = {**os.environ, **dict.fromkeys(variables, str(threads)), "XLA_FLAGS": xla, "JAX_PLATFORMS": "cpu"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, **request):
        # Threads of the other side that wait for work by spinning have gone to sleep after this.
        time.sleep(0.1)
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline() or '{"error": "its end"}')
        if "error" in answer:
            raise RuntimeError(f"{Path(self.process.args[-1]).stem} answered {request} with {answer['error']}")
        return answer

    def best(self, rounds, **request):
        """The best seconds of several answers."""
        return min(self.ask(**request)["seconds"] for _ in range(rounds))


@functools.cache
def program():
    """Ebbing's side, as cargo builds it."""
    build = "cargo bench --quiet -p ebbing-paper --bench serve --no-run --message-format=json"
    made = [json.loads(line) for line in output(*build.split()).splitlines()]
    # Cargo builds the program of the package too.
    return next(one["executable"] for one in made if one.get("executable") and one["target"]["name"] == "serve")


def ebbing(threads=protocol.THREADS):
    return Side(program(), "--serve", threads=threads)


def peer(python, script, threads=protocol.THREADS):
    return Side(python, str(HERE / f"{script}.py"), threads=threads)


def file(name):
    return str(Path(FOLDER.name) / name)


# What both sides are asked for, and what draws the arrays for it.
Work = namedtuple("Work", "description request inputs")


def save(work):
    """The file with the inputs of a work."""
    path = file("inputs.npz")
    np.savez(path, **work.inputs())
    return path


def arrays_of(path):
    with np.load(path) as file:
        return dict(file)


def spread_inputs(p):
    """Gaussian rows with a common direction of random strength and sign, so that cosines fill all of (−1, 1)."""
    draws = np.random.default_rng(1)
    strength = 4 * draws.standard_normal((p, 1)) * np.where(np.arange(FEATURES) % 2, -1, 1)
    return {"x": draws.standard_normal((p, FEATURES)) + strength}


def labeled_inputs(p):
    draws = np.random.default_rng(1)
    x, x_test = draws.standard_normal((p, FEATURES)), draws.standard_normal((100, FEATURES))
    return {"x": x, "x_test": x_test, "y": draws.choice([-1.0, 1.0], (p, 1))}


def permuted(first, **settings):
    """Permuted tasks from the images that ebbing carries."""
    path = file("tasks.npz")
    with ebbing() as side:
        side.ask(work="tasks", out=path, first=first, permuted={"p_test": 0, **settings})
    return arrays_of(path)


def related_tasks(p, loads):
    """A task and the same images with 15 % of their pixels permuted; loads from 0.1 to 10."""
    return {**permuted(1, tasks=2, p=p, ratio=0.15, permute_first=False), "alphas": np.geomspace(0.1, 10, loads)}


def kernel(kind, p, depth):
    text = f"{kind.upper()} {p} × {p}, N0 = {FEATURES}, depth {depth}, f64"
    return Work(text, {"work": kind, "depth": depth}, lambda: spread_inputs(p))


def forgetting(tasks, p):
    text = f"single-head forgetting matrix, {tasks} permuted tasks, P = {p}, depth 10"
    return Work(text, {"work": "forgetting", "depth": 10}, lambda: permuted(0, tasks=tasks, p=p))


def order_parameters(tasks, p):
    text = f"order parameters of all pairs of {tasks} tasks, P = {p}, depth 10"
    return Work(text, {"work": "order_parameters", "depth": 10}, lambda: permuted(0, tasks=tasks, p=p))


def two_tasks(p, loads):
    text = f"two-task multi-head, P = {p}, {loads} loads, λ = 1e4"
    return Work(text, {"work": "two_tasks", "lambda": 1e4, "sigma2": 1.0}, lambda: related_tasks(p, loads))


def regression(p):
    text = f"kernel regression P = {p}, N0 = {FEATURES}, depth 3 (kernel and solve)"
    return Work(text, {"work": "regression", "depth": 3}, lambda: labeled_inputs(p))


def step(steps, *shape):
    request = {"work": "step", "shape": shape, "steps": steps, "eta": ETA}
    return Work(f"full-batch descent step, {name_of(shape)}, f32", request, dict)


def name_of(shape):
    return f"P = {shape[0]}, N = {shape[2]}, L = {shape[3]}"


# Somebody else's program for the same work: its virtual environment, its script, and its name in the table.
Peer = namedtuple("Peer", "environment script title")
NEURAL_TANGENTS = Peer("neural-tangents", "tangents_peer", "neural-tangents")
SCIPY = Peer("scipy", "scipy_theory", "NumPy + SciPy")
PYTORCH = Peer("pytorch", "torch_step", "PyTorch")


class Row:
    """A row of the table: its name, there and in the figure, and how many times as fast as the peer it must be."""

    def __init__(self, name, label, work, peer, target, memory_target=None):
        self.name, self.label, self.work, self.peer, self.target = name, label, work, peer, target
        # What share of the peer's memory it may take.
        self.memory_target = memory_target
        # The difference of results with its bound, and seconds of the peer where it goes further than scripts do.
        self.difference = self.tuned = None

    def measure(self, python, short, apart):
        """Agreement first, then both sides in turns. `apart` keeps how far gradient steps end apart."""
        request, asked = self.work.request, self.work.request["work"]
        with ExitStack() as stack:
            sides = [stack.enter_context(ebbing())]
            if python:
                sides.append(stack.enter_context(peer(python, self.peer.script)))
            if asked == "step":
                if python:
                    apart["steps"] = apart.get("steps") or max(steps_apart(*sides, *each) for each in COMPARED)
                    self.difference = (apart["steps"], 1.0)
                first, slowest, self.rounds = [{} for _ in sides], 0, 2 if short else 6
            else:
                request = {**request, "inputs": save(self.work)}
                outputs = [file("ours.npz"), file("theirs.npz")]
                first = [side.ask(**request, out=out) for side, out in zip(sides, outputs)]
                if python:
                    self.difference = (differ(asked, *map(arrays_of, outputs)), 1e-6)
                slowest = max(answer["seconds"] for answer in first)
                # For half a minute, since what else the machine's host does comes and goes over seconds.
                self.rounds = 2 if short or slowest > SLOW_SECONDS else min(max(int(15 / slowest), 3), 60)
            turns = [[side.ask(**request)["seconds"] for side in sides] for _ in range(self.rounds)]
            if slowest > SLOW_SECONDS:
                turns.append([answer["seconds"] for answer in first])
            if python and asked in ("forgetting", "order_parameters"):
                self.tuned = sides[1].best(min(self.rounds, 3), **request, tuned=True)
        self.seconds, *theirs = map(min, zip(*turns))
        self.theirs = theirs[0] if theirs else None
        # Answers to the first request, with memory and solved loads.
        self.first = first
        self.judge()

    def judge(self):
        """How many times as fast ebbing is, its share of the peer's memory, and whether that is what is wanted."""
        self.ratio = self.theirs and self.theirs / self.seconds
        peaks = [answer.get("peak_bytes") for answer in self.first]
        self.memory = peaks[0] / peaks[1] if len(peaks) > 1 and all(peaks) else None
        self.agrees = self.difference is None or self.difference[0] <= self.difference[1]
        met = self.ratio and self.ratio >= self.target and (self.memory or 1) <= (self.memory_target or math.inf)
        self.verdict = "DIFFERS" if not self.agrees else "no peer" if not self.ratio else "met" if met else "MISSED"

    def result(self):
        """Its line in the first table of the document."""
        ratio, wanted = times(self.ratio), f"≥ {self.target} ×" + (" (goal 1)" if self.target < 1 else "")
        if self.memory_target:
            ratio += f", memory {times(self.memory)}" if self.memory else ""
            wanted += f", memory ≤ {self.memory_target} ×"
        if "converged" in self.first[0]:
            wanted += ", all loads solved"
        took = [duration(self.seconds), duration(self.theirs) if self.theirs else "left out"]
        return [self.work.description, self.peer.title, *took, ratio, wanted, self.verdict]

    def detail(self):
        """Its line in the second."""
        apart = "{} (bound {})".format(*map(scientific, self.difference, (1, 0))) if self.difference else "–"
        loads = ", ".join(str(answer["converged"]) for answer in self.first if "converged" in answer)
        return [self.name, self.rounds, apart, *([memory_cell(answer) for answer in self.first] + ["–"])[:2], loads]

    def brief(self, short):
        """Its line in the terminal. In the short form sizes are small, and targets do not apply."""
        apart = "{} of {}".format(*map(scientific, self.difference, (0, 0))) if self.difference else "–"
        verdict = self.verdict if not (short and self.agrees) else ""
        took = [duration(self.seconds), duration(self.theirs) if self.theirs else "–"]
        return [self.name, *took, times(self.ratio), times(self.memory), apart, "" if short else f"≥ {self.target}", verdict]


def rows(short):
    """All rows; the short form has smaller sizes."""

    def pick(long, small):
        return small if short else long

    p, tasks = pick(2000, 500), pick(10, 4)
    return [
        Row("nngp-10", "NNGP, depth 10", kernel("nngp", p, 10), NEURAL_TANGENTS, 5),
        Row("ntk-10", "NTK, depth 10", kernel("ntk", p, 10), NEURAL_TANGENTS, 5),
        Row("nngp-1", "NNGP, depth 1", kernel("nngp", p, 1), NEURAL_TANGENTS, 1.5),
        Row("ntk-1", "NTK, depth 1", kernel("ntk", p, 1), NEURAL_TANGENTS, 1.5),
        Row("forgetting", "forgetting", forgetting(tasks, pick(2000, 300)), SCIPY, 4),
        Row("order", "order parameters", order_parameters(tasks, pick(1000, 200)), SCIPY, 3),
        Row("two-tasks", "two heads", two_tasks(*pick((1000, 100), (100, 10))), SCIPY, 100),
        Row("step-small", "step, 1 layer", step(150, *pick((600, 784, 400, 1), (200, 784, 100, 1))), PYTORCH, 2),
        Row("step-middle", "step, 2 layers", step(8, *pick((2000, 784, 1000, 2), (300, 100, 150, 2))), PYTORCH, 0.85),
        Row("step-large", "step, 9 layers", step(1, *pick((2000, 784, 2000, 9), (300, 100, 300, 9))), PYTORCH, 0.85),
        Row(
            *("regression", "regression", regression(pick(8000, 1000))),
            *(NEURAL_TANGENTS._replace(title="neural-tangents + SciPy"), 1.2, 0.7),
        ),
    ]


def differ(work, ours, theirs):
    """The largest difference of results, relative to the largest entry of each array.

    Both sides work in f64. Kernels agree to 1e-6, which users of both may count on. Solves amplify the rounding of kernels,
    1e-16 (neural-tangents: 1e-9 for the NTK of equal inputs), by condition numbers of up to 1e6, and roots are searched to
    1e-8 or better: 1e-6 again.
    """
    worst = []
    for name, a in ours.items():
        # A name or a shape that the peer does not have is an error.
        a, b = a.reshape(len(a), -1), theirs[name].reshape(len(a), -1)
        if work == "two_tasks":
            # A load that the peer did not solve is 0 there.
            a, b = a[b != 0], b[b != 0]
        if work == "order_parameters":
            # Pairs with the earlier task first are compared.
            a, b = np.triu(a, 1), np.triu(b, 1)
        worst.append(np.max(np.abs(a - b)) / np.max(np.abs(b)))
    # Unlike Python's, NumPy's keeps a NaN.
    return float(np.max(worst))


def steps_apart(ours, theirs, shape, activation):
    """Takes the same steps on both sides; how far apart they end, as a multiple of what rounding allows."""
    request = {"work": "steps", "activation": activation, "steps": STEPS}
    paths = [file(name) for name in ("steps.npz", "theirs.npz")]
    answer = ours.ask(**request, shape=shape, out=paths[0])
    theirs.ask(**request, eta=answer["eta"], inputs=paths[0], out=paths[1])
    a, b = map(arrays_of, paths)
    # Of the squared error, relatively; of every layer's weights, in units of how far they moved.
    differences = [abs(a["mse"].item() / b["mse"].item() - 1)]
    for k in range(shape[3] + 1):
        moved = np.linalg.norm(b[f"after{k}"] - a[f"before{k}"])
        differences.append(np.linalg.norm(a[f"after{k}"] - b[f"after{k}"]) / moved)
    worst = float(np.max(differences))
    # Every step rounds a weight by up to 2^-24 of it, which adds up like a random walk and stands beside how far the
    # weights moved; products of a few hundred terms round as much. Four times that.
    bound = 4 * 2**-24 * math.sqrt(STEPS) / answer["moved"]
    text = f"differ by {scientific(worst, 1)} of the way, rounding allows {scientific(bound, 1)}"
    print(f"  {STEPS} steps, {name_of(shape)}, {activation}: {text}")
    # The largest over shapes may lose a NaN.
    return math.inf if math.isnan(worst) else worst / bound


# Works at growing sizes; the slopes of log time against log size that theory expects, at small and large ones, and why.
Growth = namedtuple("Growth", "name axis sizes work expected reason")


def growths(short):
    def pick(long, small):
        return small if short else long

    factor = "the kernel takes P² N0 operations, its Cholesky factor P³/3"
    pairs = "one factor per task, one kernel per pair of tasks"
    flat = "whatever the depth, a kernel is one product and one function of an entry"
    search = "one decomposition for all loads, then O(P) for each step of a search"
    tasks, layers = pick([2, 5, 10, 20, 40], [2, 4, 8]), pick([1, 3, 10, 20, 50], [1, 5, 25])
    examples, loads = pick([500, 1000, 2000, 4000, 8000], [100, 200, 400]), pick([10, 30, 100, 300, 1000], [5, 20, 80])
    p = pick({"forgetting": 200, "nngp": 2000, "loads": 500}, {"forgetting": 50, "nngp": 200, "loads": 60})
    return [
        Growth("kernel regression, depth 3", "examples *P*", examples, regression, (2, 3), factor),
        Growth(
            *("single-head forgetting matrix, depth 10", "tasks *T*", tasks),
            *(lambda tasks: forgetting(tasks, p["forgetting"]), (1, 2), pairs),
        ),
        Growth("NNGP", "hidden layers *L*", layers, lambda depth: kernel("nngp", p["nngp"], depth), (0, 0), flat),
        Growth("two-task multi-head, λ = 10^{4}", "loads", loads, lambda n: two_tasks(p["loads"], n), (0, 1), search),
    ]


def grow(growth, short):
    """Seconds at every size on one thread, and on as many as the comparison uses."""
    seconds = ([], [])
    for work in map(growth.work, growth.sizes):
        request = {**work.request, "inputs": save(work)}
        for threads, found in zip((1, protocol.THREADS), seconds):
            with ebbing(threads) as side:
                # The first does not count unless it is slow.
                first = side.best(1, **request)
                found.append(min(first, side.best(1, **request)) if first > 3 else side.best(2 if short else 5, **request))
    print(f"  {growth.name} by {growth.axis.replace('*', '')}")
    return seconds


def growth_line(growth, seconds):
    """With slopes between the two smallest sizes and between the two largest ones, and the gain by a second thread."""
    slopes = [np.diff(np.log(each)) / np.diff(np.log(growth.sizes)) for each in seconds]
    small, large = (", ".join(f"{slope[k]:.2f}" for slope in slopes) for k in (0, -1))
    expected, sizes = " to ".join(dict.fromkeys(map(str, growth.expected))), ", ".join(map(str, growth.sizes))
    return [growth.name, sizes, small, large, expected, growth.reason, f"{seconds[0][-1] / seconds[1][-1]:.2f} ×"]


def roofline(numpy, outcomes, short):
    """The speed of bare products, and the share of it that Gram matrices and training steps reach."""
    size, rounds = (500, 3) if short else (4000, 7)
    draws = np.random.default_rng(1)
    request = {"work": "product", "inputs": save(Work("", {}, lambda: {"a": draws.standard_normal((size, size))}))}
    peaks = {"f64": (0, ""), "f32": (0, "")}
    with ExitStack() as stack:
        sides = {"faer": stack.enter_context(ebbing())}
        if numpy:
            sides["NumPy"] = stack.enter_context(peer(numpy, "product"))
        for name, precision in [(name, precision) for _ in range(rounds) for name in sides for precision in peaks]:
            seconds = sides[name].ask(**request, precision=precision)["seconds"]
            peaks[precision] = max(peaks[precision], (2 * size**3 / seconds, name))
    p, n0 = 500 if short else 2000, FEATURES
    path, lines = save(kernel("nngp", p, 1)), []
    with ebbing() as side:
        grams = [("gram", "two sets (2 P² N0", 2 * p * p * n0), ("nngp", "one set (P (P + 1) N0", p * (p + 1) * n0)]
        for work, what, operations in grams:
            seconds = side.best(rounds + 1, work=work, depth=1, inputs=path)
            lines.append((f"Gram matrix {p} × {p}, N0 = {n0}, f64, of {what} operations)", operations / seconds, "f64"))
    for row in outcomes:
        if row.work.request["work"] == "step":
            shape = row.work.request["shape"]
            for what, operations in operations_of(*shape):
                lines.append((f"training step, {name_of(shape)}, f32{what}", operations / row.seconds, "f32"))
    speeds = [[work, giga(speed), f"{100 * speed / peaks[precision][0]:.0f} %"] for work, speed, precision in lines]
    products = ", ".join(f"{giga(speed)} in {precision} ({who})" for precision, (speed, who) in peaks.items())
    return {"size": size, "products": products, "speeds": speeds}


def operations_of(p, n0, n, layers):
    """Operations of a step; where P < 2 N0 ebbing carries the first layer by its Gram matrix and needs fewer."""
    plain = 4 * p * n0 * n + 6 * (layers - 1) * p * n * n + 6 * p * n
    if p >= 2 * n0:
        return [("", plain)]
    done = plain - 4 * p * n0 * n + 2 * p * p * n
    more = " (counting the operations of the plain form, more than ebbing performs)"
    return [(more, plain), (" (counting those that ebbing performs, in the Gram form)", done)]


def output(*command):
    """The output of a program, empty if it fails."""
    there = shutil.which(command[0])
    return subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, text=True).stdout.strip() if there else ""


def line_of(path, *names):
    """What stands after the colon in the first line that starts with a name, in a file that may not be there."""
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    return next((line.partition(":")[2].strip() for name in names for line in lines if line.startswith(name)), "")


def facts(peers, wanted):
    """The machine and the versions for the document, as far as the system reports them."""
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", "crates", "paper")
    version = output("git", "describe", "--tags", "--always") or "not from a repository"
    flags, memory = line_of("/proc/cpuinfo", "flags", "Features").split(), line_of("/proc/meminfo", "MemTotal")
    found = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "ebbing": version + (", with changes" if changed else ""),
        "Rust": output("rustc", "--version"),
        "processor": line_of("/proc/cpuinfo", "model name"),
        "widest vector instructions": next((w for w in ("avx512f", "avx2", "asimd", "neon") if w in flags), ""),
        "cores available": len(getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count()))(0)),
        "threads per package": protocol.THREADS,
        "memory": memory and f"{int(memory.split()[0]) / 1024**2:.1f} GiB",
        "system": platform.system().lower(),
        "kernel": platform.release(),
        "load average at the start (1, 5, 15 min)": ", ".join(f"{load:.2f}" for load in os.getloadavg()),
    }
    for name, script in {row.peer.environment: row.peer.script for row in wanted}.items():
        if name in peers:
            with peer(peers[name], script, 1) as side:
                versions = side.ask(work="about")["versions"]
            found[name] = ", ".join(f"{package} {versions[package]}" for package in sorted(versions))
    return {name: value or "not known" for name, value in found.items()}


def scientific(value, digits):
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def significant(value):
    """Three significant digits."""
    exponent = int(f"{value:.2e}".split("e")[1])
    return f"{value:.{max(0, 2 - exponent)}f}" if -4 < exponent < 4 else scientific(value, 2)


def duration(seconds):
    return f"{significant(1e3 * seconds)} ms" if seconds < 1 else f"{significant(seconds)} s"


def times(ratio):
    return f"{significant(ratio)} ×" if ratio else "–"


def giga(speed):
    return f"{1e-9 * speed:.0f} GFLOP/s"


def memory_cell(answer):
    peak, base = answer.get("peak_bytes"), answer.get("base_bytes")
    return "–" if not peak else f"{peak / 1e6:.0f} MB" + (f" ({(peak - base) / 1e6:.0f} MB)" if base else "")


def cells(lines):
    """Lines of a table in Markdown."""
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def aligned(lines):
    """A table for the terminal."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def write(out, outcomes, growth, products, about, missing):
    """The document and its figures, which ebbing draws: it knows how they look."""
    tuned = [f"{row.label} {duration(row.tuned)} ({times(row.tuned / row.seconds)})" for row in outcomes if row.tuned]
    text = "\nThe same script with NumPy's elementwise functions shared between two threads in blocks that fit the cache "
    text += f"(more tuning than a script usually gets): {', '.join(tuned)}.\n"
    document = (HERE / "document.md").read_text().format(
        results=cells(row.result() for row in outcomes),
        tuned=text if tuned else "",
        missing="".join(f"\n{peer} is left out: {reason}.\n" for peer, reason in missing.items()),
        details=cells(row.detail() for row in outcomes),
        growth=cells(growth_line(*each) for each in growth),
        facts=cells(about.items()),
        **{**products, "speeds": cells(products["speeds"])},
    )
    ratios = [(row.label, row.ratio, row.target) for row in outcomes if row.ratio]
    threads = ("1 thread", f"{protocol.THREADS} threads")
    curves = [(each.name, each.axis, each.sizes, list(zip(threads, seconds)), each.expected) for each, seconds in growth]
    with ebbing() as side:
        side.ask(work="figures", folder=str(out), rows=ratios, growth=curves)
    (out / "benchmarks.md").write_text(document)
    print(f"written to {out}")


def compare(wanted, short, whole, out, peers, missing):
    """Compares rows and, as a whole, growth of cost and products, with what is written about them."""
    about = facts(peers, wanted)
    print("\n".join(f"{name}: {value}" for name, value in about.items()))
    print("".join(f"{name} is left out: {reason}\n" for name, reason in missing.items()), end="")
    outcomes, failed, apart = [], [], {}
    for row in wanted:
        print(f"{row.name}: {row.work.description} ({row.peer.title})")
        try:
            row.measure(peers.get(row.peer.environment), short, apart)
        except Exception as problem:
            failed.append(f"{row.name}: {type(problem).__name__}: {problem}")
            continue
        if row.ratio:
            print(f"  {row.ratio:.2f} times as fast")
        if not row.agrees:
            failed.append(f"{row.name}: results differ")
        outcomes.append(row)
    head = ["row", "ebbing", "peer", "ratio", "memory", "difference", "" if short else "target", ""]
    print(f"\n{aligned([head, *(row.brief(short) for row in outcomes)])}\n")
    if failed:
        sys.exit(f"FAILED: {'; '.join(failed)}")
    if whole:
        print("growth of cost")
        growth = [(each, grow(each, short)) for each in growths(short)]
        products = roofline(peers.get("scipy") or peers.get("neural-tangents"), outcomes, short)
        print(f"\nproducts of {products['size']} × {products['size']}: {products['products']}\n{aligned(products['speeds'])}")
        if out:
            write(out, outcomes, growth, products, about, missing)


def main():
    sys.stdout.reconfigure(line_buffering=True)
    pair = {"action": "append", "default": [], "type": lambda pair: pair.split("=", 1), "help": argparse.SUPPRESS}
    parser = argparse.ArgumentParser(prog="bash paper/compare", description=__doc__.split("\n")[0])
    parser.add_argument("--short", action="store_true", help="small sizes and few rounds; writes nothing")
    parser.add_argument("--only", action="append", default=[], metavar="ROW", help="rows that start so; writes nothing")
    parser.add_argument("--out", metavar="FOLDER", help="where document and figures go; docs unless given")
    parser.add_argument("--peer", **pair)
    parser.add_argument("--missing", **pair)
    options = parser.parse_args()
    every = rows(options.short)
    for name in options.only:
        if not any(row.name.startswith(name) for row in every):
            sys.exit(f"there is no row '{name}'; there are {', '.join(row.name for row in every)}")
    wanted = [row for row in every if row.name.startswith(tuple(options.only or [""]))]
    out = options.out or (None if options.short else "docs")
    compare(wanted, options.short, not options.only, out and TOP / out, dict(options.peer), dict(options.missing))


if __name__ == "__main__":
    main()
