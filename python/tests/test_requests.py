"""The functions that ask are those of the fields that the library declares."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ebbing

MAKER = Path(__file__).resolve().parents[2] / "tools/make_python.py"


@pytest.mark.skipif(not MAKER.is_file(), reason="the package is tested outside of the project")
def test_the_functions_are_made_of_the_fields_of_today() -> None:
    spec = importlib.util.spec_from_file_location("make_python", MAKER)
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.made() == maker.TARGET.read_text(encoding="utf-8"), "run python3 tools/make_python.py"


def test_tasks_are_drawn_in_the_words_of_the_program() -> None:
    drawn = ebbing.tasks.draw(length=3, examples=30, test_examples=0, ratio=0.3, order=[2, 1, 3], seed=4)
    known = ebbing.tasks.permuted(length=3, examples=30, test_examples=0, ratio=0.3, seed=4)
    assert all(np.array_equal(drawn[k].x, known[t].x) for k, t in enumerate((1, 0, 2)))
    with pytest.raises(ValueError, match="protocol is shuffled; must be permuted, class-incremental, split, partial-split or target-distractor"):
        ebbing.tasks.draw(protocol="shuffled")
    with pytest.raises(ValueError, match="the nearest known one is `length`"):
        ebbing.tasks.draw(lenght=3)
    with pytest.raises(ValueError, match="rho_flip is 0.1; belongs to protocol target-distractor"):
        ebbing.tasks.draw(rho_flip=0.1)


def test_refusals_have_the_words_of_python() -> None:
    tasks = ebbing.tasks.draw(length=2, examples=20, test_examples=0)
    with pytest.raises(ValueError, match="lam is -1"):
        ebbing.forecast(tasks, mode="gibbs", lam=-1.0)
    with pytest.raises(ValueError, match="bootstrap is 5; .*from 20 to 1e9"):
        ebbing.forecast(tasks, bootstrap=5)
    with pytest.raises(ValueError, match="mode is gibbs; must be rf, ntk or lazy"):
        ebbing.advise(tasks, mode="gibbs")


def small_tasks(seed: int = 5) -> ebbing.TaskSequence:
    rng = np.random.default_rng(seed)
    part = lambda p: (rng.normal(size=(p, 8)), np.sign(rng.normal(size=p)))  # noqa: E731
    return ebbing.TaskSequence([part(14) + part(9) for _ in range(2)])


SAMPLED = {"width": 6, "beta": 20.0, "chains": 2, "warmup": 20, "draws": 20, "seed": 3}
TRAINED = {"learners": ["l2", "gd"], "kappa": 0.2, "width": 9, "max_steps": 40, "seed": 3, "seeds": 2, "activation": "erf"}
#: Settings of every command, and numbers of its answer in Python and as the program prints them.
ASKED: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "forecast": (
        {"depth": 2, "mode": "gibbs", "lam": 3.0},
        lambda outcome: [outcome.forgetting.tolist(), outcome.pairs[0].gamma_rf, outcome.test_loss.tolist()],
        lambda said: [(f := said["forecast"])["forgetting"]["mean"], f["pairs"][0]["values"]["gamma_rf"], f["test"]["loss"]["mean"]],
    ),
    "advise": (
        {"width": 30.0, "keep_forgetting_below": 0.1},
        lambda outcome: [outcome.examples_needed, [[row["remedy"], row["forgetting"]] for row in outcome.remedies]],
        lambda said: [said["advice"]["examples_needed"], [[row["remedy"], row["forgetting"]] for row in said["advice"]["remedies"]]],
    ),
    "phase": (
        {"width": 11.0, "alpha": [0.4, 1.7], "lam": [5.0, float("inf")], "representation": True},
        lambda outcome: [outcome.critical.alpha_c, outcome.location, outcome.best.lam, outcome.representation, outcome.curves.f_t1.tolist()],
        lambda said: [
            said["critical_load"]["alpha_c"],
            said["location"],
            said["best_lambda"]["best"]["lambda"],
            [{name: float(v) if v == "inf" else v for name, v in row.items()} for row in said["representation"]],
            [[point["f21"]["coefficient"] for point in curve["points"]] for curve in said["curves"]],
        ],
    ),
    "train": (
        TRAINED,
        lambda outcome: [[run.train_loss[1].tolist() for run in outcome.runs], outcome.theory["loss_of_task_1"]],
        lambda said: [[run["train_loss"][1] for one in said["learners"] for run in one["runs"]], said["theory"]["loss_of_task_1"]],
    ),
    "sample": (
        SAMPLED,
        lambda outcome: [outcome.forgetting.tolist(), [row["theory"] for row in outcome.comparison]],
        lambda said: [[e["value"] for e in said["sampled"]["forgetting"]], [row["theory"] for row in said["comparison"]]],
    ),
}


@pytest.mark.parametrize("command", ASKED)
def test_every_function_answers_as_its_command_does(tmp_path: Path, command: str) -> None:
    settings, own, printed = ASKED[command]
    tasks, path = small_tasks(), tmp_path / "tasks.npz"
    ebbing.tasks.save(path, tasks)
    words = [command, "--json", "--quiet", f"--tasks={path}"]
    for name, value in settings.items():
        listed = ",".join(map(str, value)) if isinstance(value, list) else value
        flag = f"--{'lambda' if name == 'lam' else name.replace('_', '-')}"
        words.append(flag if value is True else f"{flag}={listed}")
    done = subprocess.run([sys.executable, "-m", "ebbing", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcome = getattr(ebbing, command)(tasks, **settings)
    # The same request, the same code, the same machine: to the last bit.
    assert own(outcome) == printed(json.loads(done.stdout))


def test_networks_of_several_seeds_and_at_several_loads() -> None:
    tasks = small_tasks()
    found = ebbing.train(tasks, **TRAINED)
    assert [run.learner["rule"] for run in found.runs] == ["l2", "l2", "gd", "gd"] and found.diverged == []
    assert np.array_equal(found.train_loss, found.runs[0].train_loss, equal_nan=True)
    assert not np.array_equal(found.runs[0].weights[0], found.runs[1].weights[0])
    # A sequence per draw is a sequence per seed.
    drawn = ebbing.train([tasks, small_tasks(6)], learners=["gd"], width=9, max_steps=40)
    alone = ebbing.train(small_tasks(6), learners=["gd"], width=9, max_steps=40, seed=1)
    assert len(drawn.runs) == 2 and drawn.runs[1] == alone.runs[0]
    loads = ebbing.train(tasks, learners=["l2"], heads="multi", loads=[0.5, 2.0], max_steps=200)
    assert [point["width"] for point in loads.points] == [28, 7] and loads.critical_load >= 1 and loads.runs == []
    with pytest.raises(ValueError, match="seeds is 3; must be 1: there are 2 sequences"):
        ebbing.train([tasks, tasks], seeds=3)
    with pytest.raises(ValueError, match="there are 2 sequences of them; ebbing sample takes one"):
        ebbing.sample([tasks, tasks])
    with pytest.raises(ebbing.NumericalError, match="diverged"):
        ebbing.train(tasks, learners=["gd"], width=9, eta=1e6)


class Steps:
    """An operator of three tasks that remembers what it was asked."""

    def __init__(self, ends: BaseException | None = None) -> None:
        self.heard: list[Any] = []
        self.ends = ends

    def tasks(self) -> int:
        return 3

    def rest(self, t: int) -> str:
        return f"rest {t}"

    def solve(self, t: int, rest: str) -> str:
        if self.ends is not None and t == 1:
            raise self.ends
        return f"solved {rest}"

    def carry(self, t: int, dual: str) -> None:
        self.heard.append((t, dual))


def test_the_librarys_recursion_runs_over_an_operator_of_python() -> None:
    steps = Steps()
    ebbing._ebbing.learn(steps)
    assert steps.heard == [(t, f"solved rest {t}") for t in range(3)]
    for ends in (KeyboardInterrupt(), RuntimeError("no worker")):
        steps = Steps(ends)
        with pytest.raises(type(ends)) as raised:
            ebbing._ebbing.learn(steps)
        assert raised.value is ends and steps.heard == [(0, "solved rest 0")]
