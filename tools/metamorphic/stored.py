"""What is written, and what is computed where kernels do not fit into memory."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np

from judge import Answer, Case, MATRICES, law
from request import Request, Task, log_uniform, request

#: Tiles invert in single precision and refine to this residual; losses follow to some digits less.
TILES = 1e-4
#: Of γ_feature tiles have an estimate, with its error; of F_pair, in other modes than rf, nothing, with a note.
EXACT_PAIRS = ("gamma_rf", "gamma_rule", "conflict")
OF_PAIRS = ("f_pair", "f_pair_at_lambda_zero", "delta_f_pair")


def contents(folder: Path) -> Answer:
    """The files below a folder, by their content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def stale(answer: Answer, chance: np.random.Generator) -> bool:
    """A file of an earlier run."""
    answer["files"]["test.csv"] = b"old"
    return "files" in answer


@law(1, stale, sees="H")
def a_result_folder_holds_one_result(case: Case) -> None:
    """What a second run writes into a folder is what it writes into a new one, whatever the folder held."""
    first = request(case.chance, features=False, tested=True, sizes=(8, 12)).but(depths=[1, 2])
    second = request(case.chance, features=False, tested=False, sizes=(8, 12))
    if case.chance.random() < 0.3:
        first, second = second, first
    home = case.doors.place("")
    home.mkdir()
    for folder, runs in (("used", (first, second)), ("new", (second,))):
        for asked in runs:
            case.doors.npz(asked.tasks, home / "tasks.npz")
            # The folder is named in the record of a run: both have the same name, one after the other.
            words = ["forecast", "--quiet", "--out=out", *case.doors.words(asked, Path("tasks.npz"))]
            code, _, said = case.doors.run(words, home)
            case.holds(code is not None, "a run did not end")
            case.needs(code == 0)
        shutil.move(home / "out", home / folder)
    used, new = (case.doors.passed({"files": contents(home / name)})["files"] for name in ("used", "new"))
    case.holds(list(used) == list(new), f"left from the first run: {sorted(set(used) ^ set(new))}")
    differ = [name for name in new if used[name] != new[name]]
    case.holds(not differ, f"written otherwise: {differ}")


def memory_between(case: Case, asked: Request) -> float:
    """Less memory than kernels need, and enough for tiles: what a refusal of one byte names, and a little more."""
    refusal = case.doors.program(asked, "--memory=1B")
    case.needs("refused" in refusal)
    named = re.search(r"([\d.]+) ([kMG])B", refusal["refused"])
    case.needs(named is not None)
    return float(named[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[named[2]]


@law(1.5, "forgetting", sees="A, B")
def tiles_and_memory(case: Case) -> None:
    """Where kernels do not fit, they are cut in tiles: the same numbers, or the same refusal, again and again."""
    count, size = int(case.chance.integers(2, 4)), int(case.chance.integers(780, 860))
    dim = int(case.chance.integers(20, 60))
    scale = float(case.chance.choice([1.0, 1e20, 1e-25, 1e-12, 1e9], p=[0.4, 0.2, 0.2, 0.1, 0.1]))
    near = bool(case.chance.random() < 0.3)
    tasks = []
    for _ in range(count):
        x, y = case.chance.normal(size=(size, dim)), np.where(case.chance.random(size) < 0.5, -1.0, 1.0)
        if near:
            x[1], y[:2] = x[0], (1.0, -1.0)
            x[1, 0] += float(10.0 ** case.chance.uniform(-10, -6))
        tasks.append(Task(scale * x, y))
    settings = {"depth": int(case.chance.integers(1, 4)), "mode": str(case.chance.choice(["rf", "ntk"]))}
    if case.chance.random() < 0.3:
        settings["sigma"] = log_uniform(case.chance, 0.01, 100)
    asked = Request(tuple(tasks), settings)
    memory = memory_between(case, asked)
    plain = case.doors.program(asked)
    tiled = case.doors.program(asked, f"--memory={int(1.08 * memory)}B")
    case.lasting(tiled)
    # A note says that tiles were taken.
    case.needs("refused" in tiled or tiled["notes"] != plain.get("notes"))
    # Refinement with factors in single precision converges where the condition leaves them a digit: at some 1e7.
    case.needs("refused" not in tiled or "refused" in plain or plain["digits"] > 9)
    case.both("in memory and in tiles", plain, tiled)
    if "refused" in plain:
        again = case.doors.program(asked, f"--memory={int(1.08 * memory)}B")
        case.holds("refused" in again, "a second run in tiles answers what the first refused")
        return
    tolerance = TILES + 10.0 ** (3 - plain["digits"])
    case.same("forgetting", plain["forgetting"], tiled["forgetting"], tolerance)
    left_out = any("F_pair in this mode" in note for note in tiled["notes"])
    case.holds(left_out == (settings["mode"] != "rf"), f"notes: {tiled['notes']}")
    for pair, values in plain["pairs"].items():
        other = tiled["pairs"][pair]
        case.holds(all((other[name] is None) == left_out for name in OF_PAIRS), f"{pair}: {other}, notes: {tiled['notes']}")
        names = EXACT_PAIRS if left_out else (*EXACT_PAIRS, *OF_PAIRS)
        case.same(pair, *({name: v[name] for name in names} for v in (values, other)), tolerance)


@law(0.5, "forgetting", sees="5")
def enough_memory_changes_nothing(case: Case) -> None:
    """A bound on memory that is wide enough leaves every number as it is."""
    asked = request(case.chance, features=False, sizes=(8, 20))
    one, other = case.doors.program(asked), case.doors.program(asked, "--memory=3GB")
    if case.both("with a bound", one, other):
        names = (*MATRICES, "pairs")
        case.same("with a bound on memory", {n: one[n] for n in names}, {n: other[n] for n in names})
