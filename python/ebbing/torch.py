"""Bridges from PyTorch: data sets as tasks, and a model's layer as features. PyTorch itself is imported when they are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._arrays import Array, TaskSequence, detached, squeezed, target_columns

__all__ = ["features", "from_torch"]


def from_torch(datasets: Sequence[Any], test: Sequence[Any] | None = None, *, limit: int | None = None) -> TaskSequence:
    """Tasks from a list of PyTorch `Dataset`s, each of (input, label) pairs, and optionally held-out ones.

    Inputs are flattened. Integer labels become ±1 (two classes in all) or one-hot columns; `limit` takes the first examples.
    """
    train_sets = [_examples(one, limit) for one in datasets]
    test_sets = [_examples(one, limit) for one in test or []]
    if test is not None and len(test_sets) != len(train_sets):
        raise ValueError(f"test: {len(test_sets)} sets for {len(train_sets)} tasks; give one per task")
    y, y_test, rule = target_columns([labels for _, labels in train_sets], [labels for _, labels in test_sets])
    tasks: list[tuple[Any, ...]] = [(x, squeezed(own, own.shape[1])) for (x, _), own in zip(train_sets, y)]
    if test_sets:
        held_out = [(x, squeezed(own, own.shape[1])) for (x, _), own in zip(test_sets, y_test)]
        tasks = [(*task, *other) for task, other in zip(tasks, held_out)]
    return TaskSequence(tasks, settings={"targets": rule})


def _examples(dataset: Any, limit: int | None) -> tuple[Array, Any]:
    """Inputs, one per row, and labels; examples may carry more than two parts."""
    size = len(dataset) if limit is None else min(limit, len(dataset))
    rows, labels = [], []
    for i in range(size):
        x, label, *_ = dataset[i]
        rows.append(np.asarray(detached(x), dtype=float).ravel())
        labels.append(np.asarray(detached(label)))
    if not rows:
        raise ValueError("a data set is empty; a task needs examples")
    return np.stack(rows), np.stack(labels)


def features(model: Any, loader: Iterable[Any], layer: Any = None) -> tuple[Array, Any]:
    """`Φ ∈ R^{P×N}`, the activity of a layer on every example of a loader, and the labels (None where it has none).

    `layer` is a submodule of the model or its name (`"2"`, `"encoder.fc1"`); None takes the model's output. Give Φ to
    `order_parameters_from_features` or `SingleHead.from_features`.
    """
    import torch

    module = model if layer is None else dict(model.named_modules()).get(layer) if isinstance(layer, str) else layer
    if module is None:
        known = ", ".join(name for name, _ in model.named_modules() if name)
        raise ValueError(f"layer is {layer!r}; the model has {known}")
    seen: list[Array] = []
    hook = module.register_forward_hook(lambda _, __, out: seen.append(_flat(out)))
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    was_training, labels, batches = model.training, [], 0
    model.eval()
    try:
        with torch.no_grad():
            for batch in loader:
                x, *rest = batch if isinstance(batch, (list, tuple)) else (batch,)
                model(x.to(device))
                batches += 1
                labels += [np.asarray(detached(rest[0]))] if rest else []
    finally:
        hook.remove()
        model.train(was_training)
    if len(seen) != batches or not batches:
        raise ValueError(f"layer {layer!r} ran {len(seen)} times in {batches} batches; it must run once in each")
    return np.concatenate(seen), np.concatenate(labels) if labels else None


def _flat(out: Any) -> Array:
    """A layer's output, one example per row."""
    array = np.asarray(detached(out), dtype=float)
    return array.reshape(len(array), -1)
