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

#: What each function is about, in its docstring, and an example that is tested.
FUNCTIONS = {
    "forecast": (
        "Forecast",
        "Forecasts forgetting from the data alone: as `ebbing forecast` does.",
        """\
    >>> found = forecast(tasks)
    >>> found.forgetting.shape, len(found.pairs), sorted(found.order["order"])
    ((3, 3), 6, [1, 2, 3])
    >>> print(found.summary().splitlines()[0])
    Forecast of 3 tasks""",
    ),
    "advise": (
        "Advice",
        "Forecasts what each remedy against forgetting would do for these tasks, best first: as `ebbing advise` does.",
        """\
    >>> found = advise(tasks, keep_forgetting_below=0.1)
    >>> found.examples_needed <= 20, found.remedies[-1]["applies"]
    (True, True)""",
    ),
}

#: Arguments of Python in the place of fields that name files, or say what not to do.
INSTEAD = {
    "features": ("features", "bool", "False", "inputs are feature matrices: `K = ΦΦᵀ/N`, pseudo-inverses where it is singular"),
    "no_order": ("order", "bool", "True", "whether the best order of tasks is searched"),
}
#: A list of sequences has a seed each.
NOT_HERE = {"seeds"}

TYPES = {"switch": "bool", "count": "int", "number": "float", "word": "str", "text": "str"}

HEAD = '''\
"""What can be asked of tasks. Made by tools/make_python.py from the fields that the library declares: change those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._advise import Advice, ask_advice
from ._forecast import Forecast, ask_forecast
from ._progress import Listener
'''

TASKS = """\
    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per seed, to average over."""

SETUP = """\
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]"""


def literal(value):
    """A default as Python writes it."""
    if value == "inf":
        return 'float("inf")'
    return json.dumps(value) if isinstance(value, str) else repr(value)


def argument(field):
    """Name, type, default and meaning of the argument that sets a field."""
    if field["key"] in INSTEAD:
        return INSTEAD[field["key"]]
    kind, default = field["kind"], field["default"]
    about = field["help"][0].lower() + field["help"][1:].replace(", comma-separated", "")
    words = [word for word, _ in field["words"]]
    if words:
        about += f": {', '.join(words[:-1])} or {words[-1]}"
    if field["usual"]:
        about += f" (default: {field['usual']})"
    if kind.startswith("list of "):
        return field["name"], f"Sequence[{TYPES[kind.removeprefix('list of ')]}]", "()", about
    if default is None:
        return field["name"], f"{TYPES[kind]} | None", "None", about
    if kind == "number" and isinstance(default, int):
        default = float(default)
    return field["name"], TYPES[kind], literal(default), about


def function(name, fields, of_tasks):
    """A function of the package."""
    answer, summary, example = FUNCTIONS[name]
    arguments = [argument(field) for field in fields if field["key"] not in of_tasks | NOT_HERE]
    lines = [f"def {name}(", "    tasks: Any,", "    *,"]
    lines += [f"    {key}: {kind} = {default}," for key, kind, default, _ in arguments]
    lines += ["    progress: bool | Listener = False,", f") -> {answer}:"]
    lines += [f'    """{summary}', "", TASKS, "", "    | setting | |", "    |---|---|"]
    lines += [f"    | `{key}` | {about} |" for key, _, _, about in arguments]
    lines += ["", SETUP, example, '    """']
    return "\n".join([*lines, f"    return ask_{answer.lower()}(locals())"])


def made():
    """The whole file."""
    from ebbing import _ebbing

    of_tasks = {field["key"] for field in json.loads(_ebbing.fields("tasks"))}
    functions = [function(name, json.loads(_ebbing.fields(name)), of_tasks) for name in FUNCTIONS]
    return "\n\n".join([HEAD, *functions]) + "\n"


def main():
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(made(), encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != made():
        sys.exit(f"{TARGET} is stale: run python3 tools/make_python.py")


if __name__ == "__main__":
    main()
