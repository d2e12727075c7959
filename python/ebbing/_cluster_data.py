"""Tasks over the workers of a cluster: inputs as row blocks that stay there, targets (one row per example) here."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _ebbing
from ._arrays import Array, Labels, TaskSequence, labels, matrix, plain_array

#: Bytes that are sent at once.
SENT = 4 << 20


class Rows(NamedTuple):
    """Examples: a future of a float64 matrix for every block of rows."""

    parts: list[Any]
    sizes: list[int]
    features: int

    @property
    def total(self) -> int:
        """The number of examples."""
        return sum(self.sizes)

    def edges(self) -> list[int]:
        """Where blocks begin, and where the last one ends."""
        return [0, *np.cumsum(self.sizes).tolist()]


class ClusterTask(NamedTuple):
    """A task whose inputs lie on the workers."""

    name: str
    x: Rows
    y: Array
    x_test: Rows | None
    y_test: Array | None


def identity(value: Any) -> Any:
    """What it is given: a value sent to the workers this way is sent again where one dies."""
    return value


def read_part(path: str, name: str) -> Any:
    """The array of a `.npy` file, or of a `.npz` file: the one of that name (x, y), or its only one."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path}: a worker does not find it; put the files where every worker sees them, and give full paths"
        )
    found = np.load(path, allow_pickle=False)
    if isinstance(found, np.ndarray):
        return found
    with found as arrays:
        if name not in arrays.files and len(arrays.files) != 1:
            raise ValueError(f"{path}: it holds {', '.join(arrays.files)}; an array {name} is needed, or one array alone")
        return arrays[name if name in arrays.files else arrays.files[0]]


def measured(piece: Any) -> tuple[int, int, str, tuple[int, int, float] | None]:
    """Rows, columns and kind of numbers of a piece, and its first number that is not finite."""
    array = np.asarray(piece)
    flat, bad = flattened(array), None
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        row, column = (int(at) for at in np.argwhere(~np.isfinite(flat))[0])
        bad = row, column, float(flat[row, column])
    return flat.shape[0], flat.shape[1] if array.ndim > 1 else 0, array.dtype.kind, bad


def flattened(array: Any) -> Any:
    """One row per example, further axes as features; a vector is one column, and there may be no rows."""
    return array.reshape(len(array), int(np.prod(array.shape[1:], dtype=int)))


def assembled(pieces: list[Any], cuts: list[tuple[int, int]]) -> Array:
    """Some rows of each of several pieces, as one float64 matrix."""
    taken = [np.asarray(piece)[a:b] for piece, (a, b) in zip(pieces, cuts)]
    return np.concatenate([flattened(part).astype(np.float64, copy=False) for part in taken])


def is_dask(values: Any) -> bool:
    """Whether values are a Dask array or a Dask collection that can become one."""
    return hasattr(values, "__dask_graph__")


def files_of(values: Any) -> list[str] | None:
    """The paths, where values are a list of files."""
    if isinstance(values, (str, os.PathLike)):
        values = [values]
    listed = isinstance(values, Sequence) and len(values) > 0
    if not listed or not all(isinstance(v, os.PathLike) or (isinstance(v, str) and v.endswith((".npy", ".npz"))) for v in values):
        return None
    return [os.fspath(path) for path in values]


class Pieces(NamedTuple):
    """Parts as they were given: a future and a name for messages of each."""

    futures: list[Any]
    names: list[str]


def _pieces(client: Any, values: Any, name: str, stored: str) -> Pieces:
    """The parts of whatever was given, on the workers."""
    paths = files_of(values)
    if paths is not None:
        return Pieces([client.submit(read_part, path, stored, pure=False) for path in paths], paths)
    if is_dask(values):
        array = values if hasattr(values, "rechunk") else values.to_dask_array()
        if array.ndim < 2:
            raise ValueError(f"{name}: its shape is {array.shape}; it must have two axes, one example per row")
        # Rows may be of unknown number, as of frames; only features that are cut are joined.
        cut = {axis: -1 for axis in range(1, array.ndim) if len(array.chunks[axis]) > 1}
        whole = array.rechunk(cut) if cut else array
        futures = client.compute(whole.to_delayed().ravel().tolist())
        return Pieces(futures, [f"chunk {k} of {len(futures)}" for k in range(1, len(futures) + 1)])
    array = matrix(values, name)
    step = max(1, SENT // max(1, array.shape[1] * 8))
    cuts = range(0, len(array), step)
    return Pieces(
        [client.submit(identity, array[a : a + step], pure=False) for a in cuts],
        [f"rows {a} to {min(a + step, len(array)) - 1}" for a in cuts],
    )


def spread_rows(client: Any, values: Any, name: str, parts: Callable[[int], int], gather: Any) -> Rows:
    """Inputs as at most `parts(features)` blocks of nearly equal size, checked where they lie."""
    pieces = _pieces(client, values, name, "x")
    found = gather([client.submit(measured, piece, pure=False) for piece in pieces.futures])
    features, start = found[0][1], 0
    for (rows, columns, kind, bad), piece in zip(found, pieces.names):
        if kind not in "biuf":
            raise TypeError(f"{name}: {piece} does not hold real numbers (kind {kind!r}); numbers are needed")
        if columns == 0:
            raise ValueError(f"{name}: {piece} has one axis; it must have two, one example per row")
        if columns != features:
            raise ValueError(
                f"{name}: {piece} has {columns} columns, {pieces.names[0]} has {features}; "
                "every part must hold the same features in the same order"
            )
        if bad is not None:
            raise ValueError(
                f"{name}: {piece} holds {bad[2]} in its row {bad[0]} (row {start + bad[0]} of the task), column {bad[1]}, "
                "counted from 0; drop such rows or fill them in"
            )
        start += rows
    if start == 0:
        raise ValueError(f"{name}: it has no rows; a task needs examples")
    return _blocks(client, pieces, [rows for rows, *_ in found], features, parts(features))


def _blocks(client: Any, pieces: Pieces, rows: list[int], features: int, parts: int) -> Rows:
    """Pieces cut and joined into blocks of nearly equal size."""
    starts = np.concatenate([[0], np.cumsum(rows)])
    edges = np.linspace(0, starts[-1], min(parts, int(starts[-1])) + 1).astype(int)
    made = []
    for a, b in zip(edges[:-1], edges[1:]):
        inside = [k for k in range(len(rows)) if starts[k] < b and starts[k + 1] > a]
        cuts = [(int(max(a - starts[k], 0)), int(min(b - starts[k], rows[k]))) for k in inside]
        made.append(client.submit(assembled, [pieces.futures[k] for k in inside], cuts, pure=False))
    return Rows(made, np.diff(edges).tolist(), features)


def gathered_labels(client: Any, values: Any, name: str, gather: Any) -> Labels:
    """Targets, here: one row per example."""
    paths = files_of(values)
    if paths is not None:
        parts = gather([client.submit(read_part, path, "y", pure=False) for path in paths])
        columns = {np.shape(part)[1:] for part in parts}
        if len(columns) > 1:
            raise ValueError(f"{name}: its files have {sorted(columns)} target columns; all must have as many")
        values = np.concatenate(parts)
    elif is_dask(values):
        values = gather([client.compute(values)])[0]
    found = labels(values, name)
    if isinstance(found, np.ndarray) and not np.isfinite(found).all():
        row = int(np.argwhere(~np.isfinite(found))[0][0])
        raise ValueError(f"{name}: row {row} (from 0) is {plain_array(values, name)[row]}; targets must be finite")
    return found


#: Row blocks per task, from the examples of every task, its held-out ones, features and target columns.
Parts = Callable[[list[int], list[int], int, int], int]


def cluster_tasks(client: Any, tasks: Any, parts: Parts, gather: Any) -> list[ClusterTask]:
    """Checked tasks, inputs on the workers, targets by the rule of every forecast."""
    if isinstance(tasks, (str, bytes)) or not hasattr(tasks, "__iter__") or is_dask(tasks):
        raise TypeError(f"tasks: a {type(tasks).__name__}; give a list of (X, y) or (X, y, X_test, y_test)")
    sequence = tasks if isinstance(tasks, TaskSequence) else TaskSequence(tasks)
    if not sequence:
        raise ValueError("tasks: there is none; give a list of (X, y) or (X, y, X_test, y_test)")
    for t, task in enumerate(sequence, 1):
        if (task.x_test is None) != (task.y_test is None):
            raise ValueError(f"task {t}: X_test and y_test come together; one of them is missing")
        if task.f is not None or task.f_test is not None:
            raise ValueError(f"task {t}: it has outputs at the start; ebbing.forecast(features=True) takes them, a cluster does not")
    train = [gathered_labels(client, task.y, f"task {t}, y", gather) for t, task in enumerate(sequence, 1)]
    with_test = [t for t, task in enumerate(sequence) if task.x_test is not None]
    test = [gathered_labels(client, sequence[t].y_test, f"task {t + 1}, y_test", gather) for t in with_test]
    columns, columns_test, _ = _ebbing.target_columns(train, test)
    if "targets" not in sequence.settings and all(isinstance(y, np.ndarray) for y in train):
        note = _ebbing.whole_targets([y for y in train if isinstance(y, np.ndarray)])
        if note:
            warnings.warn(note, stacklevel=3)
    held_out = dict(zip(with_test, columns_test))
    examples, tested = [len(y) for y in columns], [len(y) for y in columns_test]
    blocks: Callable[[int], int] = lambda features: parts(examples, tested, features, columns[0].shape[1])
    made: list[ClusterTask] = []
    for t, task in enumerate(sequence):
        label = f"task {t + 1}"
        x = spread_rows(client, task.x, f"{label}, X", blocks, gather)
        x_test = spread_rows(client, task.x_test, f"{label}, X_test", blocks, gather) if t in held_out else None
        _check_sizes(label, x, columns[t], x_test, held_out.get(t), made[0].x.features if made else x.features)
        made.append(ClusterTask(sequence.names[t], x, columns[t], x_test, held_out.get(t)))
    return made


def _check_sizes(label: str, x: Rows, y: Array, x_test: Rows | None, y_test: Array | None, features: int) -> None:
    for part, rows, target in (("", x, y), ("_test", x_test, y_test)):
        if rows is None or target is None:
            continue
        if rows.total != len(target):
            raise ValueError(f"{label}: X{part} has {rows.total} rows, y{part} {len(target)}; there must be one target per example")
        if rows.features != features:
            raise ValueError(f"{label}: X{part} has {rows.features} features, task 1 has {features}; all tasks must have as many")
        if not np.any(target):
            raise ValueError(f"{label}: all of y{part} is zero; a relative loss needs targets that are not")
