"""Separate heads at the network's own width: the multi-head theory beside every network of the main study that has separate heads.

    python paper/evidence/heads.py --data FOLDER            # computes what is not stored yet, then the summary
    python paper/evidence/heads.py --summary                # the summary of what is stored

For every such network the theory of one hidden layer (`ebbing.MultiHead`) gives held-out accuracies of all heads when learned and at
the end, at the network's own width, for several penalties λ. PyTorch's networks have none: λ stands for how far training moves the
hidden weights, and is chosen by the network's depth on the sequences that choices may see; the rest is held out.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
STORED = RESULTS / "heads.jsonl"
#: The standard deviation of PyTorch's initial weights, times the root of a layer's inputs.
SIGMA = 3**-0.5
#: Penalties λ on the change of hidden weights.
LAMBDAS = (1.0, 3.0, 10.0, 30.0, 100.0)


def networks() -> list[dict]:
    """Every network with separate heads: its sequence, settings, what was measured, and the wide limit's forecast."""
    found = []
    for line in (RESULTS / "main.jsonl").read_text().splitlines():
        row = json.loads(line)
        for run in row.get("runs", []):
            if run["kind"] == "heads":
                found.append({"sequence": row["sequence"], **{k: run[k] for k in ("settings", "measured", "forecast")}})
    return found


def classes_of(sequence: dict) -> int:
    """The classes of each task."""
    protocol = sequence["protocol"]
    if protocol in ("class-incremental", "split-many", "mixture"):
        return sequence["classes"]
    return 2 if protocol in ("permuted-sign", "split", "flipped") else 10


def tasks_of(sequence: dict) -> list[tuple]:
    """Targets as networks have them: ±1 in one column, or a column per class of the task's own."""
    import sequences

    made = []
    for t in sequences.draw(sequence):
        own = np.unique(t.y)
        if len(own) == 2:
            column = lambda y: np.where(y == own[1], 1.0, -1.0)
        else:
            column = lambda y: (y[:, None] == own).astype(float)
        made.append((t.x.astype(float), column(t.y), t.x_test.astype(float), column(t.y_test)))
    return made


def theory(tasks: list[tuple], width: float, lam: float) -> dict:
    """Held-out accuracies of all heads when learned and at the end: of the mean output, as in the wide limit, and of networks."""
    import ebbing

    network = ebbing.MultiHead(tasks, width=width, lam=lam, sigma=SIGMA)

    def of_mean(head: int, t: int) -> float:
        x, y = tasks[head - 1][2:]
        mean = network.mean(x, head, t)
        right = np.sign(mean) == y if mean.ndim == 1 else mean.argmax(1) == y.argmax(1)
        return float(np.mean(right))

    last, found = len(tasks), {"residual": float(f"{network.residual:.1e}")}
    for prefix, right in (("", of_mean), ("network ", lambda head, t: network.accuracy(head, t, draws=100)[0])):
        learned = [right(t, t) for t in range(1, last + 1)]
        final = [right(t, last) for t in range(1, last + 1)]
        found[f"{prefix}lost"] = round(float(np.mean(np.subtract(learned, final)[:-1])), 4)
        found[f"{prefix}accuracy"] = round(float(np.mean(final)), 4)
    return found


def job(item: dict, folder: str) -> dict:
    """The theory at every λ for one network."""
    import sequences

    sequences.FOLDER = Path(folder)
    began, found = time.process_time(), {}
    tasks = tasks_of(item["sequence"])
    for lam in LAMBDAS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[f"{lam:g}"] = theory(tasks, float(item["settings"]["width"]), lam)
        except Exception as error:  # noqa: BLE001 - said in the results, and counted in the summary
            found[f"{lam:g}"] = {"failed": str(error)[:200]}
    return {"number": item["sequence"]["number"], "outputs": 1 if tasks[0][1].ndim == 1 else tasks[0][1].shape[1],
            "theory": found, "seconds": round(time.process_time() - began, 1)}


def compute(folder: str, processes: int) -> None:
    """Stores what is missing, the cheapest first, one line per network."""
    known = {row["number"] for row in stored()}

    def size(item: dict) -> tuple[bool, float]:
        """More than two tasks of several classes have kernels of P m rows."""
        tasks, m = len(item["measured"]["final"]), classes_of(item["sequence"])
        several = m > 2 and tasks > 2
        return several, tasks * (item["sequence"]["p"] * (m if several else 1)) ** 3

    missing = sorted((item for item in networks() if item["sequence"]["number"] not in known), key=size)
    with ProcessPoolExecutor(processes) as pool:
        for made in pool.map(job, missing, [folder] * len(missing)):
            with STORED.open("a") as file:
                file.write(json.dumps(made) + "\n")
            print(made["number"], f"{made['seconds']} s", flush=True)


def stored() -> list[dict]:
    return [json.loads(line) for line in STORED.read_text().splitlines()] if STORED.exists() else []


def held_out(number: int) -> bool:
    """As sequences.held_out, without what that needs to draw."""
    import hashlib

    return hashlib.sha256(f"ebbing evidence {number}".encode()).digest()[0] % 3 == 0


def summary() -> dict:
    """Errors of the wide limit, of the theory at one λ for all, and at a λ for every depth, on held-out sequences and on all."""
    theories = {row["number"]: row["theory"] for row in stored()}
    items = [item for item in networks() if item["sequence"]["number"] in theories]
    solved = [i for i in items if all("failed" not in theories[i["sequence"]["number"]][f"{lam:g}"] for lam in LAMBDAS)]
    # Networks, not their mean: at these widths they differ.
    get = lambda item, lam, what: theories[item["sequence"]["number"]][f"{lam:g}"][f"network {what}"]
    depth = lambda item: item["settings"]["depth"]
    wide = lambda item, what: item["forecast"]["rf-1"][what]
    miss = lambda some, forecast, what: float(np.mean([abs(forecast(i, what) - i["measured"][what]) for i in some]))
    both = lambda some, forecast: miss(some, forecast, "accuracy") + miss(some, forecast, "lost")
    own = {i["sequence"]["number"] for i in solved if held_out(i["sequence"]["number"])}
    seen = [i for i in solved if i["sequence"]["number"] not in own]
    unseen = [i for i in solved if i["sequence"]["number"] in own]
    one = min(LAMBDAS, key=lambda lam: both(seen, lambda i, what: get(i, lam, what)))
    chosen = {}
    for d in sorted({depth(i) for i in solved}):
        some = [i for i in seen if depth(i) == d]
        chosen[d] = min(LAMBDAS, key=lambda lam: both(some, lambda i, what: get(i, lam, what))) if some else one
    ways = {
        "wide limit": wide,
        "own width, one λ": lambda i, what: get(i, one, what),
        "own width, λ by depth": lambda i, what: get(i, chosen[depth(i)], what),
    }
    table = {
        name: {f"{part} {what}": round(miss(some, way, what), 4) for part, some in (("seen", seen), ("held out", unseen), ("all", solved)) for what in ("accuracy", "lost")}
        for name, way in ways.items()
    }
    shallow = [i for i in solved if depth(i) == 1]
    table |= {f"{name}, depth 1": {f"all {what}": round(miss(shallow, way, what), 4) for what in ("accuracy", "lost")} for name, way in ways.items()}
    return {"networks": len(solved), "left out": len(networks()) - len(solved), "seen": len(seen), "held out": len(unseen), "depth 1": len(shallow),
            "one λ": one, "λ by depth": chosen, "mean absolute error": table}


def section(*_: object) -> str:
    """The section of the evidence page."""
    found = summary()
    errors = found["mean absolute error"]
    points = lambda value: f"{100 * value:.1f}"
    rows = [f"| {name} | {' | '.join(points(errors[name][f'{part} {what}']) for part in ('seen', 'held out', 'all') for what in ('accuracy', 'lost'))} |"
            for name in ("wide limit", "own width, one λ", "own width, λ by depth")]
    by_depth = ", ".join(f"{lam:g} for {d} hidden layer{'s' if d > 1 else ''}" for d, lam in found["λ by depth"].items())
    shallow = [errors[f"{name}, depth 1"] for name in ("wide limit", "own width, λ by depth")]
    return f"""## Separate heads at their own width

The multi-head theory of one hidden layer (`ebbing.MultiHead`) at the network's own width and PyTorch's initial weights (σ = 1/√3), beside {found['networks']} networks
with separate heads of one to four hidden layers ({found['left out']} more, on more than two tasks of several classes each, are not computed yet). They have no penalty: λ stands
for how little training moves hidden weights, and is chosen on {found['seen']} sequences, for all networks together ({found['one λ']:g}) or by depth ({by_depth});
{found['held out']} sequences were held out. Accuracies are those of networks, the spread of their outputs included. Mean absolute errors in points of accuracy:

| | chosen on: final | lost | held out: final | lost | all: final | lost |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}

Of the {found['depth 1']} networks of one hidden layer, which the theory describes, the final accuracy is missed by {points(shallow[1]['all accuracy'])} points and what is lost by
{points(shallow[1]['all lost'])} (wide limit: {points(shallow[0]['all accuracy'])} and {points(shallow[0]['all lost'])}). For deeper networks λ is a fit, not a theory. The theory is taken at β = ∞; σ, and that accuracies are those of networks and not of the mean output, were settled after errors of all 29 had been seen, so only λ is held out. `paper/evidence/heads.py --data FOLDER` computes what is missing and `--summary` shows every number."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of IDX files")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--summary", action="store_true", help="only the summary of what is stored")
    asked = parser.parse_args()
    if not asked.summary:
        if not asked.data:
            parser.error("give --data FOLDER, or --summary")
        compute(asked.data, asked.processes)
    print(json.dumps(summary(), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
