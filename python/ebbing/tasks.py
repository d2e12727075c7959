"""Sequences of tasks: protocols that draw them from a data set, steps that change them, and bridges from elsewhere.

Every function returns a `TaskSequence`: a list of (x, y, x_test, y_test) with the names of the tasks and what made them.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from . import _ebbing
from ._arrays import Task, TaskSequence, as_sequence, in_tasks, native
from ._settings import Seed, count, real, seed_of
from .data import Dataset
from .data import load as load_data
from .data import sample as sample_data
from .torch import from_torch

__all__ = [
    "Task",
    "TaskSequence",
    "by_class",
    "draw",
    "from_torch",
    "interpolated",
    "load",
    "partial_split",
    "permuted",
    "save",
    "split",
    "target_distractor",
    "with_context",
]


def permuted(
    data: Dataset | str | None = None,
    *,
    length: int = 5,
    examples: int = 1000,
    test_examples: int = 500,
    ratio: float = 1.0,
    first_unpermuted: bool = False,
    fresh_images: bool = False,
    positive: Any = None,
    seed: Seed = 0,
) -> TaskSequence:
    """`x_t[j] = x[π_t(j)]`: each task sees the images through its own shuffle of round(ratio·N0) pixels.

    `data` is a `Dataset`, the name of one, or None for the embedded sample. Classes in `positive` (a random half) become +1.

    >>> permuted(length=3, examples=100, test_examples=50, ratio=0.15)
    <3 tasks of 100 examples with 784 features>
    """
    return _draw("permuted", locals(), permute_first=not first_unpermuted)


def split(
    data: Dataset | str | None = None,
    *,
    length: int = 5,
    examples: int = 600,
    test_examples: int = 200,
    groups: int = 2,
    classes_per_group: int = 1,
    labels: str = "sign",
    assignment: Any = None,
    seed: Seed = 0,
) -> TaskSequence:
    """Disjoint groups of classes per task, labeled by group: `sign`, `one-hot` or `one-hot-all`.

    >>> split(length=2, examples=100, test_examples=0, assignment=[[[0], [1]], [[2], [3]]])[0].x_test is None
    True
    """
    return _draw("split", locals())


def partial_split(
    data: Dataset | str | None = None,
    *,
    ratio: float = 0.5,
    examples: int = 600,
    test_examples: int = 200,
    pairs: Any = None,
    seed: Seed = 0,
) -> TaskSequence:
    """Two tasks on two pairs of classes: task 1 takes (1 + ratio)/2 of its examples from the first pair, task 2 the others.

    >>> first, second = partial_split(ratio=0.0, examples=100)
    >>> bool((first.x == second.x).all())  # no split: the same task twice
    True
    """
    return _draw("partial-split", locals(), split=ratio)


def target_distractor(
    data: Dataset | str | None = None,
    *,
    length: int = 5,
    examples: int = 1000,
    test_examples: int | None = None,
    rho_target: float = 0.5,
    rho_shared: float = 0.5,
    rho_flip: float = 0.0,
    label_fraction: float = 0.1,
    test_noise: float = 0.2,
    seed: Seed = 0,
) -> TaskSequence:
    """A fraction of each task's images carries ±1 (targets), the rest 0; tasks share ρ_target of the targets and ρ_shared of all.

    Unless `test_examples` says otherwise there are as many noisy ones for tests.

    >>> made = target_distractor(length=2, examples=100)
    >>> int((made[0].y != 0).sum())
    10
    """
    return _draw("target-distractor", locals())


def by_class(
    data: Any, *, classes_per_task: int, seed: Seed = 0, columns: tuple[str, str] | None = None
) -> TaskSequence:
    """Tasks of `classes_per_task` classes each, out of one set of examples: class-incremental, one head over all classes.

    Which classes a task has is drawn by the seed; every example goes with its class, and classes keep their names. `data` is
    (X, y) or (X, y, X_test, y_test), `{"train": …, "test": …}` of such pairs or of data sets (of Hugging Face, PyTorch or
    torchvision, or loaders of them), one data set, a pair (train, test) of them, or the path of a file of one set. `columns` are
    the names of the columns of features and of labels, where a data set has others than usual.

    >>> import numpy as np
    >>> made = by_class((np.eye(6), ["cat", "dog", "ape", "cat", "dog", "ape"]), classes_per_task=1)
    >>> len(made), made[0].y.shape, sorted(made.names)
    (3, (2, 3), ['ape', 'cat', 'dog'])
    """
    return in_tasks(data, count(classes_per_task, "classes_per_task"), seed_of(seed), columns)


def interpolated(tasks: Any, *, intermediate: int = 1, seed: Seed = 0) -> TaskSequence:
    """S `intermediate` datasets between two tasks: the k-th takes round(k/(S+1)·P) rows from the second, the rest from the first.

    >>> len(interpolated(permuted(length=2, examples=50, test_examples=0), intermediate=3))
    5
    """
    tasks = as_sequence(tasks)
    return _sequence(_ebbing.interpolated(native(tasks), count(intermediate, "intermediate"), seed_of(seed)), tasks)


def with_context(
    tasks: Any, *, dim: int = 100, variance: float = 1.0, renormalize: bool = True, seed: Seed = 0
) -> TaskSequence:
    """Appends a context `c_t ~ N(0, variance·I)` of `dim` entries, drawn once per task, to every input of task t.

    >>> with_context(permuted(length=2, examples=50, test_examples=0), dim=16)[0].x.shape
    (50, 800)
    """
    tasks = as_sequence(tasks)
    context = count(dim, "dim"), real(variance, "variance"), bool(renormalize), seed_of(seed)
    return _sequence(_ebbing.with_context(native(tasks), *context), tasks)


def draw(**fields: Any) -> TaskSequence:
    """Tasks by what makes them, in the words of the program's flags: `data`, `protocol`, `length`, `examples`, `ratio`, `order`, …

    `tasks` is a file of your own or a recipe; `ebbing forecast --help` lists all fields.

    >>> draw(protocol="permuted", length=3, examples=50, test_examples=0, order=[3, 1, 2])
    <3 tasks of 50 examples with 784 features>
    """
    return _sequence(_ebbing.draw_tasks(fields))


def load(path: str | os.PathLike[str]) -> TaskSequence:
    """Tasks from an `.npz` file (x_1, y_1, x_1_test, y_1_test, x_2, …), a `.mat` file of the same names (`save -v7`), `.npy`
    files beside each other, a folder of files, or a `.toml` recipe; one set of examples (x_train, y_train, …) is one task, which
    `by_class` divides.

    Beside features it may hold what their model answers at the start: f_1, f_1_test, …
    """
    return _sequence(_ebbing.load_tasks(os.fspath(path)))


def save(path: str | os.PathLike[str], tasks: Any) -> None:
    """Writes tasks as an `.npz` file that `load` and the program read."""
    _ebbing.save_tasks(native(tasks), os.fspath(path))


@lru_cache(maxsize=2)
def _by_name(name: str) -> Dataset:
    """A set by its name, prepared once for all that is drawn from it."""
    return load_data(name)


#: What the settings of protocols are called in recipes.
RECIPE = {"length": "tasks", "examples": "p", "test_examples": "p_test"}


def _draw(kind: str, arguments: dict[str, Any], **others: Any) -> TaskSequence:
    """Tasks by a protocol: its settings among a function's arguments, and those that recipes say otherwise."""
    data, seed = arguments["data"], seed_of(arguments["seed"])
    source = sample_data() if data is None else _by_name(data) if isinstance(data, str) else data
    if not isinstance(source, Dataset):
        raise TypeError(f"data is a {type(source).__name__}; give a Dataset (ebbing.data), its name, or None")
    unsaid = {"data", "seed", "first_unpermuted"} | ({"ratio"} if kind == "partial-split" else set())
    settings = {RECIPE.get(name, name): value for name, value in arguments.items() if name not in unsaid}
    return _sequence(source._source.draw({"kind": kind, **settings, **others}, seed))


def _sequence(made: tuple[list[Any], Any], before: Any = None) -> TaskSequence:
    """A sequence out of what the compiled half made."""
    tasks, settings = made
    each = []
    for x, y, x_test, y_test, _, f, f_test, rows in tasks:
        task = Task(x, _targets(y), x_test, _targets(y_test))
        task.f, task.f_test, task.rows = _targets(f), _targets(f_test), rows
        each.append(task)
    return TaskSequence(each, [task[4] for task in tasks], {**getattr(before, "settings", {}), **(settings or {})})


def _targets(y: Any) -> Any:
    """A single target column as a vector."""
    return y[:, 0] if y is not None and y.shape[1] == 1 else y
