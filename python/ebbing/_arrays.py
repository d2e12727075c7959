"""Whatever users have (arrays, lists, frames, tensors) as float64 matrices; a float64 matrix stays as it is, uncopied."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from . import _ebbing

Array = npt.NDArray[np.float64]

#: Targets as the compiled half takes them: numbers, or one class per example.
Labels = Array | list[int] | list[str]
#: What the compiled half takes: inputs, targets, held-out inputs, held-out targets, name, outputs at the start, the same held out,
#: and which image and view of it each input is.
Native = tuple[
    Array, Labels, Array | None, Labels | None, str, Array | None, Array | None, npt.NDArray[np.uint64] | None
]


def matrix(values: Any, name: str = "X") -> Array:
    """`values` as a float64 matrix with one example per row; further axes are flattened into features.

    >>> matrix([[1, 2], [3, 4]]).dtype
    dtype('float64')
    >>> matrix(np.zeros((5, 2, 3), dtype=np.float32)).shape
    (5, 6)
    """
    array = numbers(values, name)
    if array.ndim < 2:
        raise ValueError(f"{name}: its shape is {array.shape}; it must have two axes, one example per row")
    return array.reshape(len(array), -1) if array.ndim > 2 else array


def targets(values: Any, name: str = "y") -> Array:
    """`values` as a float64 matrix of target columns; a vector is one column."""
    array = numbers(values, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name}: its shape is {array.shape}; it must be a vector or a matrix of target columns")
    return array[:, None] if array.ndim == 1 else array


def labels(values: Any, name: str = "y") -> Labels:
    """Targets as they are meant: integers, booleans and strings in one column are classes, anything else is numbers.

    >>> labels(np.array([[3], [5]])), labels([True, False]), labels(["cat", "dog"])
    ([3, 5], [1, 0], ['cat', 'dog'])
    >>> labels([1.0, 2.0]).shape
    (2, 1)
    """
    array = plain_array(values, name)
    column = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if column.ndim == 1 and column.dtype.kind in "biu":
        if column.dtype.kind == "u" and column.size and column.max() > np.iinfo(np.int64).max:
            raise ValueError(f"{name}: a class is {column.max()}; classes are at most 2^63 - 1")
        return [int(label) for label in column]
    if column.ndim == 1 and (column.dtype.kind in "US" or _strings(column)):
        return [_text(label, name) for label in column.tolist()]
    return targets(array, name)


def _text(label: str | bytes, name: str) -> str:
    """A class by name: text that can be written."""
    try:
        text = label.decode() if isinstance(label, bytes) else label
        text.encode()
    except UnicodeError:
        raise ValueError(f"{name}: a label is {label!r}, which is no text in UTF-8; classes are whole numbers or text") from None
    return text


def _strings(column: npt.NDArray[Any]) -> bool:
    """Whether an array of objects holds nothing but strings, as columns of data frames do."""
    return column.dtype == object and column.size > 0 and all(isinstance(label, str) for label in column)


def target_columns(train: Sequence[Any], test: Sequence[Any] = ()) -> tuple[list[Array], list[Array], Any]:
    """Targets of all tasks as matrices of target columns, and the rule by which classes became them.

    Labels out of −1, 0, 1 that include −1 stay; two classes become −1 (the smaller) and +1; more become one-hot columns, one
    per class of the whole sequence; floats stay.

    >>> (first, second), _, rule = target_columns([[3, 7], [7, 7]])
    >>> first.ravel(), second.ravel(), rule
    (array([-1.,  1.]), array([1., 1.]), {'signs': [3, 7]})
    >>> target_columns([[0, 1], [2, 2]])[0][1]
    array([[0., 0., 1.],
           [0., 0., 1.]])
    """
    given = [labels(y, f"task {t}, y") for t, y in enumerate(train, 1)]
    return _ebbing.target_columns(given, [labels(y, f"task {t}, y_test") for t, y in enumerate(test, 1)])


def classes_of(tasks: Iterable[Any]) -> list[Any] | None:
    """The classes behind the target columns of tasks that were given as labels, in their order; None for real targets.

    >>> classes_of([(np.eye(2), ["b", "a"])]), classes_of([(np.eye(2), [0.5, 1.0])])
    (['a', 'b'], None)
    """
    return _columns_and_classes(as_sequence(tasks))[1]


def own_classes(tasks: TaskSequence) -> list[list[Any]] | None:
    """The same where every task has a readout of its own: those of each task.

    >>> own_classes(TaskSequence([(np.eye(2), [3, 5]), (np.eye(2), [9, 7])]))
    [[3, 5], [7, 9]]
    """
    columns, classes = _columns_and_classes(tasks)
    if classes is None:
        return None
    # One column is of both classes, whichever of them a task has.
    used = [np.flatnonzero(y.any(axis=0)) if y.shape[1] > 1 else range(len(classes)) for y in columns]
    return [[classes[k] for k in own] for own in used]


def _columns_and_classes(tasks: TaskSequence) -> tuple[list[Array], list[Any] | None]:
    """Target columns of every task, and the classes behind them."""
    if "targets" in tasks.settings:
        columns, rule = [targets(task.y) for task in tasks], tasks.settings["targets"]
    else:
        columns, _, rule = target_columns([task.y for task in tasks])
    return columns, list(next(iter(rule.values()))) if isinstance(rule, dict) else None


def decided(outputs: Array, classes: Sequence[Any] | None) -> Any:
    """The class that outputs stand for: by the sign of one column, or the largest of several; outputs where there are none.

    >>> decided(np.array([0.2, -3.0]), ["a", "b"]).tolist(), decided(np.eye(3), [5, 7, 9]).tolist()
    (['b', 'a'], [5, 7, 9])
    """
    if classes is None:
        return outputs
    chosen = (outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)
    return np.array(classes)[chosen]


def vector(values: Any, name: str) -> Array:
    """`values` as a float64 vector."""
    array = numbers(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name}: its shape is {array.shape}; it must be a vector")
    return array


def numbers(values: Any, name: str) -> Array:
    """`values` as a float64 array of any shape."""
    array = plain_array(values, name)
    if array.dtype == object:
        raise TypeError(f"{name}: it holds {held(array)}; rows of equal length with numbers are needed")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name}: its dtype is {array.dtype}; real numbers are needed")
    return np.require(array, dtype=np.float64, requirements="A")


def plain_array(values: Any, name: str) -> npt.NDArray[Any]:
    """`values` as an array of whatever they hold."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name}: it is a masked array; fill or drop what is masked first, as with {name}.filled()")
    if _holds_masks(values):
        raise TypeError(f"{name}: it holds masked rows; fill or drop what is masked first, as with row.filled()")
    try:
        return _numeric(np.asarray(detached(values)))
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name}: it cannot become an array of numbers: {error}") from error


def _holds_masks(values: Any) -> bool:
    """Whether a list holds masked arrays, whose masks an array of it would lose."""
    return isinstance(values, (list, tuple)) and any(
        isinstance(one, np.ma.MaskedArray) or _holds_masks(one) for one in values
    )


def _numeric(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of objects that are all numbers, as nullable columns of data frames are, as numbers.

    >>> _numeric(np.array([1.5, 2], dtype=object)).dtype, _numeric(np.array([True, False], dtype=object)).dtype
    (dtype('float64'), dtype('bool'))
    """
    if array.dtype.name in ("bfloat16",) or array.dtype.name.startswith("float8"):
        # NumPy has no such types; single precision holds all of their numbers.
        return array.astype(np.float32)
    if array.dtype != object or not array.size:
        return array
    kinds = {type(one) for one in array.ravel()}
    for dtype, of_kind in ((np.bool_, (bool, np.bool_)), (np.int64, (int, np.integer)), (np.float64, Real)):
        if all(issubclass(kind, of_kind) and (dtype is not np.int64 or kind is not bool) for kind in kinds):
            try:
                return array.astype(dtype)
            except OverflowError:
                return array
    return array


def detached(values: Any) -> Any:
    """A tensor that is part of a graph or lives elsewhere as one that has the array protocol."""
    if not (hasattr(values, "detach") and hasattr(values, "cpu")):
        return values
    tensor = values.detach().cpu()
    # NumPy has no such type; single precision holds all of its numbers.
    return tensor.float() if str(getattr(tensor, "dtype", "")).startswith(("torch.bfloat", "torch.float8")) else tensor


def held(array: npt.NDArray[Any]) -> str:
    """What an array of objects holds, in a word."""
    first = next((one for one in array.ravel() if not isinstance(one, (bool, Real))), None)
    return f"objects of type {type(first).__name__}"


class _Parts(NamedTuple):
    x: Any
    y: Any
    x_test: Any = None
    y_test: Any = None


class Task(_Parts):
    """One task: training inputs and targets, and optionally held-out ones.

    `f` and `f_test` are what the model answers before it learns the first task (None: 0); they belong to features. `rows` says of
    drawn tasks which image each input is, and which view of it: tasks on the same images go on having the same where `max_p`
    takes a part of them.
    """

    f: Any = None
    f_test: Any = None
    rows: Any = None

    def with_present(self, f: Any, f_test: Any = None) -> Task:
        """The same learned by a model that answers `f` now, and `f_test` at the held-out inputs; shapes are those of y.

        >>> task = Task([[1.0, 0.0], [0.0, 1.0]], [1, -1]).with_present([0.5, 0.5])
        >>> len(task), task.f
        (4, [0.5, 0.5])
        """
        task = Task(*self)
        task.f, task.f_test, task.rows = f, f_test, self.rows
        return task


def in_tasks(data: Any, classes_per_task: int, seed: int, columns: tuple[str, str] | None = None) -> TaskSequence:
    """Tasks of so many classes each, out of one set of examples: arrays, data sets, or the path of a file."""
    from ._sets import one_set
    from .tasks import _sequence, draw

    if isinstance(data, (str, os.PathLike)):
        return draw(tasks=data, classes_per_task=classes_per_task, seed=seed)
    if isinstance(data, TaskSequence):
        if len(data) != 1:
            raise ValueError(f"classes_per_task: tasks are made by class of one set of examples, and there are {len(data)} tasks already")
    whole = data if isinstance(data, TaskSequence) else TaskSequence([one_set(data, columns)])
    return _sequence(_ebbing.by_class(native(whole), whole.settings, classes_per_task, seed))


class TaskSequence(list[Task]):
    """Tasks in the order in which they are learned: a list of `Task` with names and with what made them.

    A dictionary `{name: (X, y)}` gives tasks with their names; a slice keeps them.

    >>> tasks = TaskSequence({name: (np.eye(2), [1, -1]) for name in ("dogs", "cats", "mice")})
    >>> tasks.names, tasks[1:].names
    (['dogs', 'cats', 'mice'], ['cats', 'mice'])
    """

    names: list[str]
    settings: dict[str, Any]
    #: Whether the user was warned that its real targets look like class labels.
    _warned: bool = False

    def __init__(self, tasks: Any, names: Sequence[str] = (), settings: dict[str, Any] | None = None) -> None:
        if isinstance(tasks, Mapping):
            tasks, names = tasks.values(), list(names) or [str(name) for name in tasks]
        super().__init__(as_task(task, t) for t, task in enumerate(tasks))
        self.names = list(names) or [f"task {t + 1}" for t in range(len(self))]
        if len(self.names) != len(self):
            raise ValueError(f"names has {len(self.names)} entries; there are {len(self)} tasks")
        self.settings = dict(settings or {})

    @overload
    def __getitem__(self, which: SupportsIndex) -> Task: ...
    @overload
    def __getitem__(self, which: slice) -> TaskSequence: ...
    def __getitem__(self, which: Any) -> Any:
        chosen = super().__getitem__(which)
        return TaskSequence(chosen, self.names[which], self.settings) if isinstance(which, slice) else chosen

    def __repr__(self) -> str:
        sizes = sorted({len(task.y) for task in self})
        examples = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}" if sizes else "no"
        features = np.prod(np.shape(self[0].x)[1:], dtype=int) if self else 0
        return f"<{len(self)} tasks of {examples} examples with {features} features>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TaskSequence, (list(self), self.names, self.settings)


def as_task(task: Any, t: int) -> Task:
    """(X, y) or (X, y, X_test, y_test) as a `Task`."""
    if isinstance(task, Task):
        return task
    from ._sets import is_examples, is_splits, one_set

    if is_examples(task) or is_splits(task):
        return one_set(task)
    if isinstance(task, (str, bytes)) or not isinstance(task, Sequence):
        raise TypeError(f"task {t + 1}: it is a {type(task).__name__}; give (X, y) or (X, y, X_test, y_test)")
    if len(task) not in (2, 4):
        raise ValueError(f"task {t + 1}: it has {len(task)} parts; give (X, y) or (X, y, X_test, y_test)")
    return Task(*task)


def as_sequence(tasks: Any) -> TaskSequence:
    """Tasks as users give them: a list of (X, y), a dictionary of them by name, or the path of a file or folder."""
    if isinstance(tasks, TaskSequence):
        return tasks
    if isinstance(tasks, (str, os.PathLike)):
        from .tasks import load

        return load(tasks)
    from ._sets import is_examples, is_splits

    if is_examples(tasks) or is_splits(tasks):
        made = "tasks.by_class(data, classes_per_task=10)"
        raise TypeError(f"tasks: it is one set of examples and no sequence of tasks; {made} makes tasks of 10 classes each of it")
    if isinstance(tasks, bytes) or not isinstance(tasks, Iterable):
        ways = "give a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, or the path of a file"
        raise TypeError(f"tasks: a {type(tasks).__name__}; {ways}")
    return TaskSequence(tasks)


def task_names(names: Sequence[str] | int) -> list[Any]:
    """Names of tasks, or numbers from 1 where they have none of their own.

    >>> task_names(["task 1", "task 2"]), task_names(["digits", "letters"]), task_names(2)
    ([1, 2], ['digits', 'letters'], [1, 2])
    """
    if isinstance(names, int):
        return list(range(1, names + 1))
    numbered = all(name in ("", f"task {t}") for t, name in enumerate(names, 1))
    return task_names(len(names)) if numbered or len(set(names)) < len(names) else list(names)


def two_of(pair: Any, names: Sequence[str]) -> tuple[int, int]:
    """Two different tasks, each by its number from 1 or by its name, as numbers from 1.

    >>> two_of(("cats", 1), ["dogs", "cats"])
    (2, 1)
    """
    known = task_names(names)
    places = {name: t for t, name in enumerate(known, 1)} | {t: t for t in range(1, len(names) + 1)}
    chosen = list(pair) if isinstance(pair, (list, tuple)) else []
    found = [places.get(one) for one in chosen]
    if len(found) != 2 or None in found or found[0] == found[1]:
        named = "" if known == task_names(len(names)) else f" or of {', '.join(map(str, known))}"
        raise ValueError(f"pair is {pair}; it must be two different tasks from 1 to {len(names)}{named}, such as (1, 2)")
    return found[0], found[1]  # type: ignore[return-value]


def native(tasks: Any) -> list[Native]:
    """Tasks for the compiled half; warns, once of a sequence, where real targets look like class labels."""
    sequence = as_sequence(tasks)
    made: list[Native] = []
    for t, (task, name) in enumerate(zip(sequence, sequence.names)):
        label = f"task {t + 1}"
        if (task.x_test is None) != (task.y_test is None):
            raise ValueError(f"{label}: X_test and y_test come together; one of them is missing")
        tested = task.x_test is not None
        made.append(
            (
                matrix(task.x, f"{label}, X"),
                labels(task.y, f"{label}, y"),
                matrix(task.x_test, f"{label}, X_test") if tested else None,
                labels(task.y_test, f"{label}, y_test") if tested else None,
                name,
                None if task.f is None else targets(task.f, f"{label}, f"),
                None if task.f_test is None else targets(task.f_test, f"{label}, f_test"),
                None if task.rows is None else np.asarray(task.rows, dtype=np.uint64),
            )
        )
    if "targets" not in sequence.settings and not sequence._warned:
        real = [y for _, y, *_ in made if isinstance(y, np.ndarray)]
        note = _ebbing.whole_targets(real) if len(real) == len(made) else None
        if note:
            sequence._warned = True
            warnings.warn(note, stacklevel=3)
    return made


def squeezed(array: Array, columns: int) -> Array:
    """One target column as a vector (the last axis), several as they are."""
    return array[..., 0] if columns == 1 else array


def lower(rows: Sequence[Sequence[float | None]]) -> Array:
    """Rows of growing length as a square matrix, nan where there is nothing."""
    size = len(rows)
    full = np.full((size, size), np.nan)
    for t, row in enumerate(rows):
        full[t, : len(row)] = [np.nan if v is None else v for v in row]
    return full
