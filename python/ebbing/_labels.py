"""Class labels as targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array


def targets_of(labels: list[Any]) -> list[Array]:
    """Integer labels of all tasks as targets, as in files of tasks; real targets stay as they are.

    Labels out of −1, 0, 1 that include −1 stay; two classes become −1 (the smaller) and +1; more become one-hot columns, one
    per class of the whole sequence.

    >>> targets_of([np.array([3, 7]), np.array([7, 7])])
    [array([-1.,  1.]), array([1., 1.])]
    >>> targets_of([np.array([0, 1]), np.array([2, 2])])[1]
    array([[0., 0., 1.],
           [0., 0., 1.]])
    """
    arrays = [np.asarray(one) for one in labels]
    if any(one.dtype.kind not in "biu" or one.ndim != 1 for one in arrays):
        return [one.astype(float) for one in arrays]
    classes = np.unique(np.concatenate([one.astype(np.int64) for one in arrays]))
    if len(classes) < 2:
        raise ValueError(f"every label is {classes.tolist()}; at least two classes are needed")
    if classes[0] == -1 and classes[-1] <= 1:
        return [one.astype(float) for one in arrays]
    if len(classes) == 2:
        return [np.where(one == classes[1], 1.0, -1.0) for one in arrays]
    return [(one[:, None] == classes).astype(float) for one in arrays]
