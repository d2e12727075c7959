#!/usr/bin/env python3
"""Writes python/ebbing/_requests.py: the functions of the package that ask for what a command computes.

python3 tools/make_python.py [--check]

Their arguments, defaults and tables of settings are the fields that the library declares (crates/ebbing/src/request); what is
here is only what Python has beside them. The package must be installed, since it knows the fields. With --check nothing is
written, and the exit code is 1 where the file is stale.
"""

import json
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "python/ebbing/_requests.py"

SEVERAL = """\
    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per draw, to average over."""
ONE = """\
    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, or the path of a file that `tasks.load`
    reads."""

#: What each function answers with, what it is about, which tasks it takes, and an example that is tested.
FUNCTIONS = {
    "forecast": (
        "Forecast",
        "Forecasts forgetting from the data alone: as `ebbing forecast` does.",
        SEVERAL,
        """\
    >>> found = forecast(tasks)
    >>> found.forgetting.shape, len(found.pairs)
    ((3, 3), 6)
    >>> print(found.summary().split(":")[0])
    Forecast for 3 tasks of 20 examples (inputs as stored)""",
    ),
    "advise": (
        "Advice",
        "Forecasts what helps against forgetting on these tasks, by accuracy and memory: as `ebbing advise` does.",
        SEVERAL,
        """\
    >>> found = advise(tasks, keep_forgetting_below=0.1)
    >>> found.examples_needed <= 20, found.remedies[-1]["applies"]
    (True, True)""",
    ),
    "phase": (
        "Phase",
        "Tasks with a readout each against the load, and the place of a width in the diagram of two of them: as `ebbing phase` does.",
        ONE,
        """\
    >>> found = phase(tasks, pair=(1, 3), width=15)
    >>> found.regime, found.curves.alpha.shape
    ('overfitting', (60,))
    >>> phase(tasks, lam=[10.0, np.inf], alpha=[0.5, 1.5]).curves.f_t1.shape
    (2, 2)
    >>> [pair["first"] for pair in phase(tasks, pairs=True).pairs]
    [1, 1, 2]""",
    ),
    "train": (
        "Trained",
        "Trains networks of finite width on the tasks, one after another, beside the theory: as `ebbing train` does.",
        SEVERAL,
        """\
    >>> found = train(tasks, learners=["gd"], width=100, max_steps=2000)
    >>> found.train_loss.shape, found.reports[0]["learned"]
    ((3, 3), True)
    >>> [w.shape for w in found.weights]
    [(100, 30), (1, 100)]""",
    ),
    "sample": (
        "SampledPosterior",
        "Networks drawn from `p(Θ_t | Θ_{t−1}, D_t)`, task after task, by Hamiltonian Monte Carlo, beside the theory: as `ebbing sample` does.",
        ONE,
        """\
    >>> small = [(X[:6], y[:6]) for X, y in tasks[:2]]
    >>> found = sample(small, width=10, beta=50.0, chains=2, warmup=20, draws=20)
    >>> found.u1.shape, found.forgetting.shape
    ((2, 2), (2,))""",
    ),
}

#: Arguments of Python in the place of fields that name files, say what not to do, or take more than one type here.
INSTEAD = {
    "features": ("features", "bool", "False", "inputs are feature matrices: `K = ΦΦᵀ/N`, pseudo-inverses where it is singular"),
    "order": ("order", "str | Sequence[int] | None", "None", None),
    "pair": ("pair", "tuple[int | str, int | str] | None", "None", "two of the tasks, by name or number, in the order learned"),
    "eta": ("eta", 'float | str', '"auto"', None),
    "alpha": ("alpha", "str | float | Numbers", '"0.1:10:60"', None),
    "seed": ("seed", "Seed", "0", "of everything that is drawn; with several seeds, the first of them"),
}
#: What is swept needs tasks that are drawn; where a command has tasks of one draw, or a list of them, there are no seeds.
NOT_HERE = {"forecast": {"seeds"}, "advise": {"seeds"}, "phase": {"seeds", "sweep", "values", "curves"}}
#: Fields of the tasks that count where tasks are there already.
OF_TASKS = {"forecast": {"order"}, "advise": {"order"}, "train": {"seed"}, "sample": {"seed"}}

TYPES = {"switch": "bool", "count": "int", "number": "float", "word": "str", "text": "str"}

HEAD = '''\
"""What can be asked of tasks. Made by tools/make_python.py from the fields that the library declares: change those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._advise import Advice
from ._ask import ask
from ._forecast import Forecast
from ._networks import SampledPosterior, Trained
from ._phase import Phase
from ._progress import Listener
from ._settings import Numbers, Seed
'''

SETUP = """\
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]"""


def literal(value):
    """A default as Python writes it."""
    if value == "inf":
        return 'float("inf")'
    return json.dumps(value) if isinstance(value, str) else repr(value)


def described(field):
    """What a field does, with its words, and what happens where it is not given."""
    about = field["help"].replace(", comma-separated", "")
    # "EWC" stays as it is.
    about = about if about[1:2].isupper() else about[0].lower() + about[1:]
    words = [word for word, _ in field["words"]]
    if words:
        about += f": {', '.join(words[:-1])} or {words[-1]}"
    return about + (f" (default: {field['usual']})" if field["usual"] else "")


def typed(field):
    """The type and the default of a field."""
    kind, default = field["kind"], field["default"]
    if kind.startswith("list of "):
        of = TYPES[kind.removeprefix("list of ")]
        several = "Numbers" if of == "float" else f"Sequence[{of}]"
        if isinstance(default, list) and len(default) == 1:
            return f"{of} | {several}", literal(default[0])
        return several, f"({', '.join(map(literal, default))})" if default else "()"
    if default is None:
        return f"{TYPES[kind]} | None", "None"
    if kind == "number" and isinstance(default, int):
        default = float(default)
    return TYPES[kind], literal(default)


def argument(field):
    """Name, type, default and meaning of the argument that sets a field."""
    own = (field["name"], *typed(field), described(field)) if field["key"] not in ("features",) else ("",) * 4
    instead = INSTEAD.get(field["key"], own)
    return tuple(mine if mine is not None else theirs for mine, theirs in zip(instead, own))


def filled(arguments):
    """Arguments on lines of 120 columns."""
    lines = [""]
    for one in arguments:
        if len(lines[-1]) + len(one) > 114:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + f"{one},"
    return [f"    {line}" for line in lines]


def function(name, fields, of_tasks):
    """A function of the package."""
    answer, summary, tasks, example = FUNCTIONS[name]
    left_out = (of_tasks - OF_TASKS.get(name, set())) | NOT_HERE.get(name, set())
    arguments = [argument(field) for field in fields if field["key"] not in left_out]
    typed = [f"{key}: {kind} = {default}" for key, kind, default, _ in arguments]
    lines = [f"def {name}(", *filled(["tasks: Any", "*", *typed, "progress: bool | Listener = False"]), f") -> {answer}:"]
    lines += [f'    """{summary}', "", tasks, "", "    | setting | |", "    |---|---|"]
    lines += [f"    | `{key}` | {about} |" for key, _, _, about in arguments]
    lines += ["", SETUP, example, '    """']
    return "\n".join([*lines, f'    return {answer}.of(*ask("{name}", locals()))'])


def made():
    """The whole file."""
    from ebbing import _ebbing

    of_tasks = {field["key"] for field in json.loads(_ebbing.fields("tasks"))}
    functions = [function(name, json.loads(_ebbing.fields(name)), of_tasks) for name in FUNCTIONS]
    return "\n\n\n".join([HEAD.rstrip("\n"), *functions]) + "\n"


def main():
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(made(), encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != made():
        sys.exit(f"{TARGET} is stale: run python3 tools/make_python.py")


if __name__ == "__main__":
    main()
