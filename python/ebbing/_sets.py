"""One set of examples with labels as it is held: arrays, data sets of Hugging Face and of PyTorch, loaders of batches, splits of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import Task, detached, plain_array

#: What a split to learn from, and a held-out one, is called.
TRAIN, TEST = ("train", "training"), ("test", "validation", "valid", "val", "dev")
#: What columns of features, and of labels, are called.
FEATURES = ("features", "embeddings", "embedding", "x", "inputs", "input", "feature", "pixel_values", "image", "img", "images")
LABELS = ("label", "labels", "target", "targets", "y", "class", "intent", "fine_label", "classes")


def is_splits(data: Any) -> bool:
    """Whether data are the parts of one set by their names, `{"train": …, "test": …}`.

    >>> is_splits({"train": ([[1.0]], [0]), "test": ([[2.0]], [0])}), is_splits({"cats": ([[1.0]], [0])})
    (True, False)
    """
    return isinstance(data, Mapping) and bool(data) and set(map(str, data)) <= {*TRAIN, *TEST} and any(n in TRAIN for n in data)


def is_examples(data: Any) -> bool:
    """Whether data are examples with their labels, in a data set or a loader."""
    return is_table(data) or is_loader(data) or is_indexed(data)


def is_table(data: Any) -> bool:
    """A data set of Hugging Face: columns by name."""
    return hasattr(data, "column_names") and hasattr(data, "with_format")


def is_loader(data: Any) -> bool:
    """Something that gives batches."""
    return hasattr(data, "batch_size") and hasattr(data, "dataset")


def is_indexed(data: Any) -> bool:
    """A data set of PyTorch: examples by their number."""
    arrays = isinstance(data, (str, bytes, Sequence, Mapping)) or hasattr(data, "dtype") or hasattr(data, "__array__")
    return not arrays and hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "iloc")


def one_set(data: Any, columns: tuple[str, str] | None = None) -> Task:
    """(X, y) or (X, y, X_test, y_test) of one set of examples, however it is held.

    >>> one_set({"train": ([[1.0], [2.0]], ["a", "b"]), "test": ([[3.0]], ["b"])}).y_test
    ['b']
    """
    if isinstance(data, Task):
        return data
    if is_splits(data):
        held_out = [name for name in data if str(name) in TEST]
        if len(held_out) > 1:
            # A set to choose settings by is not what one is judged by.
            held_out = [name for name in held_out if name == "test"] or held_out[:1]
        train = next(data[name] for name in data if str(name) in TRAIN)
        x, y = examples(train, columns, "train")
        return Task(x, y, *examples(data[held_out[0]], columns, str(held_out[0]))) if held_out else Task(x, y)
    if isinstance(data, (tuple, list)) and len(data) == 2 and all(is_examples(part) for part in data):
        return Task(*examples(data[0], columns, "train"), *examples(data[1], columns, "test"))
    if isinstance(data, (tuple, list)) and len(data) in (2, 4):
        return Task(*data)
    return Task(*examples(data, columns, "data"))


def examples(data: Any, columns: tuple[str, str] | None, name: str) -> tuple[Any, Any]:
    """Features and labels of one part."""
    if is_table(data):
        return _of_table(data, columns, name)
    if is_loader(data):
        return _of_batches(data, name)
    if is_indexed(data):
        return _of_examples(data, name)
    if isinstance(data, (tuple, list)) and len(data) == 2:
        return data[0], data[1]
    raise TypeError(f"{name}: it is a {type(data).__name__}; give (X, y), a data set or a loader of (input, label)")


def _of_table(data: Any, columns: tuple[str, str] | None, name: str) -> tuple[Any, Any]:
    """The two columns of a data set of Hugging Face."""
    known = list(data.column_names)
    labeled = [column for column in known if hasattr(data.features[column], "names")]
    y = columns[1] if columns else next(iter(labeled), None) or _named(known, LABELS)
    x = columns[0] if columns else _named([column for column in known if column != y], FEATURES)
    for column, what in ((x, "features"), (y, "labels")):
        if column not in known:
            asked = f"no column {column!r}" if columns else f"no column that is known to hold {what}"
            raise ValueError(f'{name}: it has {asked} among {", ".join(known)}; say columns=("features", "label") with its own names')
    arrays = data.select_columns([x, y]).with_format("numpy")[:]
    return _stacked(arrays[x], name), _called(np.asarray(arrays[y]), getattr(data.features[y], "names", None), name)


def _named(known: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column with one of its usual names."""
    small = {column.lower(): column for column in known}
    return next((small[name] for name in usual if name in small), None)


def _of_batches(loader: Iterable[Any], name: str) -> tuple[Any, Any]:
    """The batches of a loader, one after the other."""
    rows, labels = [], []
    for batch in loader:
        x, y, *_ = _pair(batch, name)
        rows.append(plain_array(x, f"{name}, inputs"))
        labels.append(np.asarray(detached(y)))
    if not rows:
        raise ValueError(f"{name}: it is empty; examples are needed")
    return np.concatenate(rows), _called(np.concatenate(labels), _classes(getattr(loader, "dataset", None)), name)


def _of_examples(data: Any, name: str) -> tuple[Any, Any]:
    """The examples of a data set of PyTorch, one after the other; more than two parts may be there."""
    rows, labels = [], []
    for i in range(len(data)):
        x, y, *_ = _pair(data[i], name)
        rows.append(plain_array(x, f"{name}, input"))
        labels.append(np.asarray(detached(y)))
    if not rows:
        raise ValueError(f"{name}: it is empty; examples are needed")
    return _stacked(rows, name), _called(np.stack(labels), _classes(data), name)


def _pair(one: Any, name: str) -> Sequence[Any]:
    """Input and label of an example, or of a batch."""
    if isinstance(one, Mapping):
        x, y = _named(list(one), FEATURES), _named(list(one), LABELS)
        if x is not None and y is not None:
            return one[x], one[y]
    elif isinstance(one, (tuple, list)) and len(one) >= 2:
        return one
    raise TypeError(f"{name}: an example is a {type(one).__name__}; (input, label) is needed")


def _stacked(rows: Any, name: str) -> Any:
    """Rows of one shape as an array."""
    shapes = {np.shape(row) for row in rows}
    if len(shapes) > 1:
        some = " and ".join(str(shape) for shape in sorted(shapes)[:2])
        raise ValueError(f"{name}: inputs have shapes {some}; all must have one, so resize them first")
    return rows if isinstance(rows, np.ndarray) and rows.dtype != object else np.stack([np.asarray(row) for row in rows])


def _classes(data: Any) -> Sequence[str] | None:
    """The names of the classes that a data set of torchvision has."""
    found = getattr(data, "classes", None)
    return list(found) if isinstance(found, (list, tuple)) and found and all(isinstance(one, str) for one in found) else None


def _called(labels: Any, names: Sequence[str] | None, name: str) -> Any:
    """Labels 0, 1, … by the names of their classes, where there are some."""
    if names is None or labels.dtype.kind not in "iu" or labels.ndim != 1 or len(set(names)) < len(names):
        return labels
    if labels.size and not 0 <= labels.min() <= labels.max() < len(names):
        bad = labels[(labels < 0) | (labels >= len(names))][0]
        raise ValueError(f"{name}: a label is {bad}, and there are names of classes 0 to {len(names) - 1}; drop what has no label")
    return [names[label] for label in labels]
