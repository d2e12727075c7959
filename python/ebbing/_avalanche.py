"""Tasks from an Avalanche benchmark."""

from __future__ import annotations

from typing import Any

from ._arrays import TaskSequence
from .torch import from_torch


def from_avalanche(benchmark: Any, test: Any = None, *, limit: int | None = None) -> TaskSequence:
    """The experiences of an Avalanche benchmark (or of a stream, with `test` for held-out ones) as tasks.

    Inputs are flattened; labels become ±1 or one-hot columns over all experiences; `limit` takes the first examples of each.
    """
    train = getattr(benchmark, "train_stream", benchmark)
    if test is None:
        test = getattr(benchmark, "test_stream", None)
    held_out = None if test is None else [experience.dataset for experience in test]
    tasks = from_torch([experience.dataset for experience in train], held_out, limit=limit)
    tasks.names = [f"experience {t}" for t in range(len(tasks))]
    return tasks
