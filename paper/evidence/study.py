"""Trains networks on many sequences of tasks and stores what they lost beside what was forecast.

    python paper/evidence/study.py --data FOLDER [--minutes 60]

The list of experiments is a function of nothing but this file. Results are lines of JSON in paper/evidence/results; what is
there is not run again, so that a run may end at any time and be taken up later.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import sys
import time
import traceback
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
import torch

import baselines
import ebbing
import forecasts
import sequences
import training

RESULTS = Path(__file__).parent / "results"
#: How many jobs of each kind there are.
JOBS = {"main": 176, "whitened": 256, "order": 12, "replay": 12, "depth": 10, "sweep": 8}
#: Kinds of network and training that take turns beside those that every sequence has (adam-ce and replay).
TURNS = ("adam-mse", "sgd-ce", "sgd-mse", "brief", "long", "l2", "ewc", "gating", "heads", "cnn", "frozen", "pretrained")
#: Those that take turns on whitened images, beside the same two.
WHITENED_TURNS = ("adam-mse", "sgd-ce", "sgd-mse", "long", "gating")
#: Sweeps into the regimes where the forecast may fail.
SWEEPS = {
    "width": (10, 30, 100, 300, 1000),
    "epochs": (1, 3, 10, 30, 100),
    "rate": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
    "scale": (0.1, 0.3, 1.0, 3.0, 10.0),
}
AMOUNTS = (0, 10, 25, 50, 100, 200)
DEPTHS = (1, 2, 3, 4)
#: Protocols of the smaller studies.
OTHERS = ("class-incremental", "split", "mixture", "permuted", "rotated", "split-many")


def run_of(kind: str, number: int) -> dict:
    """The settings of a kind of training on a sequence, where they differ from the defaults."""
    rng = np.random.default_rng([21, number, (*TURNS, "adam-ce", "replay").index(kind)])
    network = {"depth": int(rng.choice([1, 2, 2, 3, 4])), "width": int(rng.choice([50, 100, 200, 300]))}
    changed = {
        "adam-ce": {},
        "adam-mse": {"loss": "mse"},
        "sgd-ce": {"optimizer": "sgd"},
        "sgd-mse": {"optimizer": "sgd", "loss": "mse"},
        "brief": {"epochs": 3},
        "long": {"epochs": 50},
        "l2": {"l2": float(rng.choice([1e-3, 1e-2, 1e-1]))},
        "ewc": {"ewc": float(rng.choice([10, 100, 1000]))},
        "replay": {"replay": int(rng.choice([5, 20, 50, 100]))},
        "gating": {"gating": float(rng.choice([0.5, 0.2, 0.1])), "depth": 1, "width": 300},
        "heads": {"heads": True},
        "cnn": {"network": "cnn", "depth": 2, "width": 64, "loss": str(rng.choice(["ce", "mse"]))},
        "frozen": {"network": "frozen", "depth": 2, "width": 300},
        "pretrained": {"network": "pretrained", "depth": 2, "width": 128},
    }[kind]
    return {**network, **changed, "seed": number}


def kinds_of(number: int) -> list[str]:
    """Two kinds that every sequence has, and three that take turns."""
    turns = np.random.default_rng([20, number // 4]).permutation(TURNS).tolist()
    return ["adam-ce", "replay", *turns[3 * (number % 4) : 3 * (number % 4) + 3]]


def of_network(learner: training.Learner) -> dict:
    """Forecasts from features and gradients of a network at the start."""
    predicted, network = {}, learner.settings["network"]
    if network in ("frozen", "pretrained"):
        predicted |= forecasts.from_features(learner)
    if network in ("cnn", "pretrained") and learner.outputs == 1:
        predicted["gradients"] = forecasts.from_gradients(learner)
    return predicted


def main_job(index: int, data: str | None = None, before: dict | None = None) -> dict:
    """A sequence, its forecasts, every kind of training on it, and the other measures; what was measured `before` is kept."""
    sequence = sequences.settings_of(index, data=data)
    tasks = sequences.draw(sequence)
    found = trained(tasks, sequence, kinds_of(index), before)
    others = before["baselines"] if before else baselines.all_of(tasks, sequence)
    return {"sequence": sequence, **found, "baselines": others}


def whitened_job(index: int, data: str | None = None, before: dict | None = None) -> dict:
    """The same for images prepared as the program prepares those that it draws, without the other measures."""
    sequence = sequences.whitened_settings(index, data)
    kinds = ["adam-ce", "replay", WHITENED_TURNS[index % len(WHITENED_TURNS)]]
    return {"sequence": sequence, **trained(sequences.draw(sequence), sequence, kinds, before)}


def trained(tasks: list[sequences.Task], sequence: dict, kinds: list[str], before: dict | None) -> dict:
    """Forecasts of a sequence, and every kind of training on it beside its own; what was measured `before` is kept."""
    pixels = forecasts.Pixels(tasks, sequence)
    began = time.process_time()
    base = pixels.grid()
    seconds = pixels.seconds + (time.process_time() - began) / len(base)
    runs = []
    for k, kind in enumerate(kinds):
        asked = run_of(kind, sequence["number"])
        learner, old = training.Learner(tasks, sequence, asked), before["runs"][k] if before else None
        own = pixels.grid(learner) if kind in ("replay", "gating", "heads") else {}
        predicted = own | ({n: f for n, f in old["forecast"].items() if n.startswith(("features", "gradients"))} if old else of_network(learner))
        measured = old["measured"] if old else training.run(tasks, sequence, asked)
        runs.append({"kind": kind, "settings": asked, "measured": measured, "forecast": predicted})
    return {"forecast": base, "seconds": round(seconds, 3), "runs": runs}


def side_sequence(index: int, first: int, data: str | None = None, **fixed: int) -> dict:
    """A sequence of one of the smaller studies."""
    protocol = OTHERS[index % len(OTHERS)]
    number = first + index
    one = {"class-incremental": 2, "split": 1, "mixture": 2, "split-many": 3}.get(protocol)
    fixed = {**fixed, **({"classes": one} if one else {})}
    if protocol == "split-many":
        fixed["tasks"] = min(fixed["tasks"], 3) if (data or "") == "sample" else fixed["tasks"]
        data = data or ("cifar100gray", "emnist62")[index // len(OTHERS) % 2]
    return sequences.settings_of(number, protocol, data, **fixed)


def order_job(index: int, data: str | None = None) -> dict:
    """Eight orders of five tasks: the ones that the forecast would choose out of 24, and others; two networks each."""
    sequence = side_sequence(index, 1000, data, tasks=5, p=120)
    tasks = sequences.draw(sequence)
    pixels = forecasts.Pixels(tasks, sequence, (1, 2))
    rng = np.random.default_rng([22, index])
    count = len(tasks)
    orders = list(itertools.permutations(range(count)))
    orders = [tuple(range(count))] + [orders[k] for k in rng.permutation(len(orders)) if orders[k] != tuple(range(count))][:23]
    models = ("rf-1", "lazy-2")
    predicted = {name: [forecasts.outcome(pixels.theory(name.split("-")[0], int(name[-1]), order=list(o))) for o in orders] for name in models}
    best = [int(np.argmin([t[what] for t in predicted[name]])) for name in models for what in ("lost", "forgetting")]
    some = list(dict.fromkeys([*best, *range(len(orders))]))[:8]
    measured = []
    for k in some:
        mine = [tasks[t] for t in orders[k]]
        found = [training.run(mine, sequence, {"seed": seed}) for seed in (0, 1)]
        measured.append({"order": list(orders[k]), **{w: round(float(np.mean([f[w] for f in found])), 4) for w in ("lost", "accuracy")}, "forecast": {n: predicted[n][k] for n in models}})
    return {"sequence": sequence, "orders": measured, "tried": len(orders)}


def replay_job(index: int, data: str | None = None, before: dict | None = None) -> dict:
    """How much is lost with 0 to 200 examples of each task kept, of 225; what was measured `before` is kept."""
    sequence = side_sequence(index, 1100, data, tasks=4, p=225)
    tasks = sequences.draw(sequence)
    pixels = forecasts.Pixels(tasks, sequence, (1, 2))
    found = []
    for k, amount in enumerate(AMOUNTS):
        asked = {"replay": amount}
        predicted = pixels.grid(training.Learner(tasks, sequence, asked))
        measured = before["amounts"][k]["measured"] if before else training.run(tasks, sequence, asked)
        found.append({"replay": amount, "measured": measured, "forecast": predicted})
    return {"sequence": sequence, "amounts": found}


def depth_job(index: int, data: str | None = None) -> dict:
    """Networks of one to four hidden layers, two of each."""
    sequence = side_sequence(index, 1200, data, tasks=4, p=150)
    tasks = sequences.draw(sequence)
    pixels = forecasts.Pixels(tasks, sequence, DEPTHS)
    predicted = {f"{mode}-{d}": forecasts.outcome(pixels.theory(mode, d)) for mode in forecasts.MODES for d in DEPTHS}
    found = []
    for depth in DEPTHS:
        runs = [training.run(tasks, sequence, {"depth": depth, "seed": seed}) for seed in (0, 1)]
        found.append({"depth": depth, **{w: round(float(np.mean([r[w] for r in runs])), 4) for w in ("lost", "accuracy", "trained")}})
    return {"sequence": sequence, "depths": found, "forecast": predicted}


def sweep_job(index: int, data: str | None = None, before: dict | None = None) -> dict:
    """Width, epochs, learning rate and the scale of the output, one at a time; what was measured `before` is kept."""
    sequence = side_sequence(index, 1300, data, tasks=4, p=150)
    tasks = sequences.draw(sequence)
    predicted = forecasts.Pixels(tasks, sequence).grid()
    if before:
        return {"sequence": sequence, "runs": before["runs"], "forecast": predicted}
    found = []
    for name, values in SWEEPS.items():
        for value in values:
            # A small output has to grow further, by steps of the usual size.
            longer = {"epochs": round(20 / value)} if name == "scale" and value < 1 else {}
            run = training.run(tasks, sequence, {name: value, **longer})
            found.append({"setting": name, "value": value, **{w: run[w] for w in ("lost", "accuracy", "trained", "seconds")}})
    return {"sequence": sequence, "runs": found, "forecast": predicted}


WORK = {"main": main_job, "whitened": whitened_job, "order": order_job, "replay": replay_job, "depth": depth_job, "sweep": sweep_job}


def jobs() -> list[tuple[str, int]]:
    """All jobs, kinds evenly mixed."""
    every = [(kind, k, (k + 0.5) / count) for kind, count in JOBS.items() for k in range(count)]
    return [(kind, k) for kind, k, _ in sorted(every, key=lambda job: job[2])]


def versions() -> dict:
    return {"ebbing": ebbing.__version__, "torch": torch.__version__, "numpy": np.__version__, "python": platform.python_version()}


def stored(folder: Path) -> dict[tuple[str, int], dict]:
    """Results by kind and number of the job."""
    found = {}
    for file in sorted(folder.glob("*.jsonl")):
        # Other files there are of domain.py and larger.py.
        if file.stem not in JOBS:
            continue
        for line in file.read_text().splitlines():
            row = json.loads(line)
            found[file.stem, row["job"]] = row
    return found


def work(kind: str, index: int, folder: Path, data: str | None = None) -> dict:
    """Does a job and stores its line."""
    began = time.time()
    row = {"job": index, **WORK[kind](index, data), "versions": versions()}
    row["held_out"] = sequences.held_out(row["sequence"]["number"])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{kind}.jsonl", "a") as file:
        file.write(json.dumps(row, separators=(",", ":")) + "\n")
    print(f"{kind} {index}: {time.time() - began:.1f} s", flush=True)
    return row


def refresh(folder: Path, kinds: list[str]) -> None:
    """Makes forecasts from pixels again, keeping what was measured."""
    for kind in kinds:
        fresh = folder / f"{kind}.fresh"
        with open(fresh, "w") as file:
            for (other, index), row in sorted(stored(folder).items()):
                if other != kind:
                    continue
                again = {"job": index, **WORK[kind](index, before=row), "versions": versions(), "held_out": row["held_out"]}
                if again["sequence"] != row["sequence"]:
                    raise SystemExit(f"{kind} {index}: another sequence is drawn than the one that was measured")
                file.write(json.dumps(again, separators=(",", ":")) + "\n")
        fresh.replace(folder / f"{kind}.jsonl")


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--data", default=os.environ.get("EBBING_DATA"), help="folder of the IDX files (default: EBBING_DATA)")
    read.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    read.add_argument("--minutes", type=float, default=float("inf"), help="no job is begun after these minutes")
    read.add_argument("--only", nargs="*", choices=list(JOBS), help="kinds of jobs")
    read.add_argument("--short", action="store_true", help="a few jobs on embedded images, which need no data")
    read.add_argument("--refresh", action="store_true", help="make the forecasts from pixels again, train nothing")
    asked = read.parse_args()
    sequences.FOLDER = Path(asked.data) if asked.data else None
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    warnings.filterwarnings("ignore", module="avalanche|qpsolvers")
    if asked.refresh:
        return refresh(asked.results, asked.only or ["main", "whitened", "replay", "sweep"])
    began, done = time.time(), stored(asked.results)
    todo = [("main", k) for k in range(4)] + [("replay", 0), ("whitened", 0)] if asked.short else jobs()
    for kind, index in todo:
        if (kind, index) in done or (asked.only and kind not in asked.only):
            continue
        if time.time() - began > 60 * asked.minutes:
            break
        try:
            work(kind, index, asked.results, "sample" if asked.short else None)
        except Exception:
            if asked.short:
                raise
            print(f"{kind} {index} failed", file=sys.stderr)
            traceback.print_exc()


if __name__ == "__main__":
    main()
