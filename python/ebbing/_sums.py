"""Features of any number of examples as sums, from one pass over a Dask array: what a linear head on them knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _ebbing
from ._arrays import Array, TaskSequence, as_sequence, labels, matrix, target_columns
from ._cluster_data import flattened, is_dask

#: `XᵀX`, `XᵀY`, `|Y|²` and the number of examples.
Sums = tuple[Array, Array, float, int]


def summed_tasks(client: Any, tasks: Any, gather: Callable[[list[Any]], list[Any]]) -> TaskSequence:
    """Tasks of d + 1 examples each, which a linear head learns and forgets as all examples of the given ones."""
    sequence = as_sequence(tasks)
    if not sequence:
        raise ValueError("tasks: there is none")
    train = [_labels(task.y, f"task {t}, y") for t, task in enumerate(sequence, 1)]
    test = [_labels(task.y_test, f"task {t}, y_test") for t, task in enumerate(sequence, 1) if task.y_test is not None]
    # The rule is of what there is, however often: a row of the table for every class.
    distinct = [_distinct(y) for y in train]
    tables, tested, rule = target_columns([one for one, _ in distinct], test)
    made: list[Any] = []
    held_out = iter(tested)
    for t, (task, (_, place), table) in enumerate(zip(sequence, distinct, tables), 1):
        parts = _parts(client, task.x, len(place), f"task {t}, X")
        sums = [client.submit(_sums, part, table, place[a:b], pure=False) for part, a, b in parts]
        gram, cross, squares, count = gather([_together(client, sums)])[0]
        x, y = _ebbing.task_of_sums(count, gram, cross, squares, f"task {t}")
        if task.x_test is None:
            made.append((x, y))
        else:
            made.append((x, y, matrix(_here(task.x_test), f"task {t}, X_test"), next(held_out)))
    return TaskSequence(made, sequence.names, {**sequence.settings, "targets": rule})


def _here(values: Any) -> Any:
    return values.compute() if is_dask(values) else values


def _labels(values: Any, name: str) -> Any:
    return labels(_here(values), name)


def _distinct(y: Any) -> tuple[Any, Any]:
    """Distinct labels and the place of every one among them; rows of real targets are all distinct."""
    if isinstance(y, np.ndarray):
        return y, np.arange(len(y))
    found, place = np.unique(np.array(y), return_inverse=True)
    return found.tolist(), place


def _parts(client: Any, x: Any, rows: int, name: str) -> list[tuple[Any, int, int]]:
    """Blocks of rows on the workers, and where they begin and end."""
    if not is_dask(x):
        array = matrix(x, name)
        if len(array) != rows:
            raise ValueError(f"{name}: {len(array)} inputs but {rows} targets; each input needs one")
        # As an argument of a task it is with the scheduler, and a worker that dies does not take it along.
        return [(client.submit(np.asarray, array, pure=False), 0, rows)]
    if any(np.isnan(size) for size in x.chunks[0]):
        x = x.compute_chunk_sizes()
    if x.shape[0] != rows:
        raise ValueError(f"{name}: {x.shape[0]} inputs but {rows} targets; each input needs one")
    whole = x.rechunk({axis: -1 for axis in range(1, x.ndim)})
    edges = np.cumsum([0, *whole.chunks[0]]).tolist()
    blocks = client.compute(list(whole.to_delayed().ravel()), optimize_graph=True)
    return list(zip(blocks, edges[:-1], edges[1:]))


def _sums(x: Any, table: Array, place: Any) -> Sums:
    """Of one block; `table` has the target columns of every label."""
    rows = flattened(np.asarray(x))
    if rows.dtype.kind not in "biuf":
        rows = rows.astype(np.float32)
    values = rows.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        row, column = (int(at) for at in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"X: row {row + 1} of a block, column {column + 1} is {values[row, column]}; every value must be finite")
    y = table[place]
    return values.T @ values, values.T @ y, float((y**2).sum()), len(values)


def _added(one: Sums, other: Sums) -> Sums:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]


def _together(client: Any, sums: list[Any]) -> Any:
    """All sums together: neighbors first, in one order however the work is divided."""
    while len(sums) > 1:
        pairs = zip(sums[::2], sums[1::2])
        sums = [client.submit(_added, a, b, pure=False) for a, b in pairs] + sums[len(sums) - len(sums) % 2 :]
    return sums[0]
