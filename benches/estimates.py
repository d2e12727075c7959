"""Whether what `ebbing` says of time and memory before it starts is true: 25 shapes, each estimated and then run.

python benches/estimates.py [--program target/release/ebbing] [--only WORD …] [--json FILE] needs NumPy; nothing else should run.

Estimates are those of `ebbing check --json` (forecast, advise, phase) and of `ebbing study run --dry-run --json` (all others); times are
by the clock, memory is the largest resident set of the process. It fails where an estimate is off by more than a factor of 1.5 in time or
1.2 in memory: then the constants of `crates/ebbing/src/plan` are stale. Of what takes less than a second starting and reading count, and
0.5 s are allowed besides; of memory 10 MB, by which the program itself differs from build to build.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TIME, MEMORY = 1.5, 1.2
SLACK_SECONDS, SLACK_BYTES = 0.5, 10e6

# Name, command, tasks, examples, features, target columns, more arguments. "features" are given as they are.
SHAPES = [
    ("features, many classes", "forecast", "features", 10, 1000, 384, 100, []),
    ("features, Split CIFAR-100", "forecast", "features", 10, 5000, 768, 100, []),
    ("features, two tasks", "forecast", "features", 2, 4000, 512, 2, []),
    ("features, 40 tasks", "forecast", "features", 40, 300, 128, 80, []),
    ("features, fewer examples than features", "forecast", "features", 8, 400, 1024, 40, []),
    ("features, one column", "forecast", "features", 5, 2000, 256, 1, []),
    ("features, 300 classes", "forecast", "features", 10, 900, 256, 300, []),
    ("intents", "forecast", "tasks", 10, 1500, 384, 150, []),
    ("two tasks", "forecast", "tasks", 2, 3000, 784, 1, []),
    ("one column, five tasks", "forecast", "tasks", 5, 1000, 784, 1, []),
    ("few examples, many tasks", "forecast", "tasks", 40, 150, 256, 80, []),
    ("ten tasks of 500", "forecast", "tasks", 10, 500, 768, 20, []),
    ("two large tasks of classes", "forecast", "tasks", 2, 5000, 256, 20, []),
    ("300 classes", "forecast", "tasks", 10, 900, 256, 300, []),
    ("no test data", "forecast", "untested", 6, 800, 512, 1, []),
    ("within a memory limit", "forecast", "tasks", 2, 3000, 512, 1, ["--memory", "400MiB"]),
    ("advice on features", "advise", "features", 10, 150, 768, 20, []),
    ("advice on features, more of them", "advise", "features", 5, 1000, 256, 10, ["--max-p", "1000"]),
    ("advice on tasks", "advise", "tasks", 5, 300, 784, 10, []),
    ("advice on one column", "advise", "tasks", 4, 300, 256, 1, []),
    ("phase of two tasks", "phase", "tasks", 2, 600, 256, 1, []),
    ("phase of two larger tasks", "phase", "tasks", 2, 1500, 256, 1, []),
    ("training", "train", "study", 2, 600, 0, 1, {"width": 400, "learners": "gd", "max_steps": 500, "tolerance": 1e-12}),
    ("training, deep", "train", "study", 2, 400, 0, 1, {"width": 300, "depth": 3, "learners": "gd", "max_steps": 300, "tolerance": 1e-12}),
    ("sampling", "sample", "study", 2, 40, 0, 1, {"width": 40, "chains": 4}),
]


def tasks(file, kind, count, rows, features, columns):
    """Inputs around the mean of their class; task t has the t-th part of the classes. A fifth as many are held out."""
    import numpy as np

    rng = np.random.default_rng(1)
    own = max(1, columns // count)
    means = 0.5 * rng.standard_normal((max(2, columns), features))
    arrays = {}
    for t in range(1, count + 1):
        for part, n in (("", rows), ("_test", 0 if kind == "untested" else rows // 5)):
            if n == 0:
                continue
            label = (t - 1) * own + np.arange(n) % own if columns > 1 else rng.choice([-1.0, 1.0], n)
            center = means[label] if columns > 1 else means[(label > 0).astype(int)]
            arrays[f"x_{t}{part}"] = (center + rng.standard_normal((n, features))) / 1.25**0.5
            arrays[f"y_{t}{part}"] = label
    np.savez(file, **arrays)


def asked(*command, folder):
    """What the program prints as JSON."""
    done = subprocess.run([*command, "--json"], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measured(*command, folder):
    """Seconds by the clock, the largest resident set in bytes and processor time of a run of the program, and its remarks."""
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        said = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {said.decode()}")
    return time.perf_counter() - start, 1024 * used.ru_maxrss, used.ru_utime + used.ru_stime, said.decode()


def announced(line):
    """Seconds and bytes of the line before the start."""
    units = {"s": 1.0, "min": 60.0, "h": 3600.0, "MB": 1e6, "GB": 1e9}
    seconds, size = re.search(r"about ([\d.]+) (s|min|h)\b", line), re.search(r"([\d.]+) (MB|GB) of memory", line)
    return tuple(float(found[1]) * units[found[2]] for found in (seconds, size))


def shape(program, folder, name, command, kind, count, rows, features, columns, more):
    """What is said of a shape, and what it takes."""
    if kind == "study":
        study = [f'command = "{command}"', "[settings]", f"length = {count}", f"examples = {rows}", "test_examples = 100"]
        study += [f"{key} = {json.dumps(value)}" for key, value in more.items()]
        (folder / "study.toml").write_text("\n".join(study) + "\n")
        estimate = asked(program, "study", "run", "study.toml", "--dry-run", folder=folder)["bills"][0]
        flags = [f"--{key.replace('_', '-')}={value}" for key, value in more.items()]
        run = [program, command, "--length", str(count), "--examples", str(rows), "--test-examples", "100", *flags, "--threads", "1"]
        return (estimate["core_seconds"], estimate["bytes"]), measured(*run, "--json", folder=folder)
    # In a process of its own: what this one holds when it starts another counts as memory of that.
    making = multiprocessing.get_context("spawn").Process(
        target=tasks, args=(folder / "tasks.npz", kind, count, rows, features, columns)
    )
    making.start()
    making.join()
    what = ["--features"] if kind == "features" else []
    given = ["--features" if kind == "features" else "--tasks", "tasks.npz"]
    took = measured(program, command, *given, *more, "--json", folder=folder)
    if "--memory" in more:
        return announced(took[-1]), took
    estimate = asked(program, "check", "tasks.npz", *what, folder=folder)["computations"]
    found = next(one for one in estimate if one["command"] == command)
    return (found["seconds"], found["cost"]["bytes"]), took


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default="target/release/ebbing")
    parser.add_argument("--only", nargs="*", default=[], help="words, one of which the name of a shape must hold")
    parser.add_argument("--json", help="a file for the numbers")
    asked_for = parser.parse_args()
    program = str(Path(asked_for.program).resolve())
    print(f"{'shape':40} {'said':>8} {'took':>8} {'ratio':>6}   {'said':>8} {'took':>8} {'ratio':>6}")
    stale, rows = 0, []
    for one in SHAPES:
        if asked_for.only and not any(word in one[0] for word in asked_for.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            (seconds, size), (took, peak, used, _) = shape(program, Path(folder), *one)
        times, sizes = seconds / took, size / peak
        wrong_time = not 1 / TIME <= times <= TIME and abs(seconds - took) > SLACK_SECONDS
        wrong_size = not 1 / MEMORY <= sizes <= MEMORY and abs(size - peak) > SLACK_BYTES
        stale += wrong_time or wrong_size
        rows.append({"shape": one[0], "said": [seconds, size], "took": [took, peak], "processor": used})
        marks = " time" * wrong_time + " memory" * wrong_size
        text = f"{one[0]:40} {seconds:6.2f} s {took:6.2f} s {times:6.2f}   {size / 1e6:5.0f} MB {peak / 1e6:5.0f} MB {sizes:6.2f}"
        print(text + (f"  STALE:{marks}" if marks else ""), flush=True)
    if asked_for.json:
        Path(asked_for.json).write_text(json.dumps(rows, indent=1))
    if stale:
        sys.exit(f"{stale} of {len(rows)} estimates are stale")


if __name__ == "__main__":
    main()
