"""Data sets: the embedded sample, sets on this machine, and arrays of your own, prepared as in the theory's studies."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _ebbing
from ._arrays import Array, Labels, labels, matrix

__all__ = ["Dataset", "from_arrays", "load", "sample", "whiten"]

Classes = npt.NDArray[np.int64]


class Dataset:
    """A data set with its preprocessing fitted; the protocols in `ebbing.tasks` draw from it.

    `x`, `y`, `x_test`, `y_test` are prepared examples and class labels; `classes` are the names of classes 0, 1, … where labels
    were strings, else None; `settings` says where it came from, with a hash.

    >>> digits = sample()
    >>> digits
    <mnist-sample: 4000 training and 1000 test examples>
    >>> digits.examples([0, 17]).shape
    (2, 784)
    """

    def __init__(self, how: str, arguments: tuple[Any, ...], classes: list[str] | None = None) -> None:
        self._made = how, arguments, classes
        self.classes = classes
        make = _ebbing.Source.load if how == "load" else _ebbing.Source.from_arrays
        self._source: _ebbing.Source = make(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, self._made

    @property
    def settings(self) -> dict[str, Any]:
        """Name, source, hash, and the preprocessing with its parameters."""
        return dict(self._source.settings)

    @property
    def name(self) -> str:
        """The name of the set."""
        return str(self.settings["dataset"])

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """Height and width of an image, where rows are images."""
        shape = self._source.image_shape
        return None if shape is None else tuple(shape)

    def examples(self, rows: Any, test: bool = False) -> Array:
        """Prepared examples by their row numbers."""
        return self._source.examples([int(row) for row in rows], test)

    @property
    def x(self) -> Array:
        """All prepared training inputs."""
        return self.examples(range(self._source.sizes[0]))

    @property
    def x_test(self) -> Array:
        """All prepared test inputs."""
        return self.examples(range(self._source.sizes[1]), test=True)

    @property
    def y(self) -> Classes:
        """Class labels of the training examples."""
        return np.array(self._source.classes(False))

    @property
    def y_test(self) -> Classes:
        """Class labels of the test examples."""
        return np.array(self._source.classes(True))

    def __len__(self) -> int:
        return self._source.sizes[0]

    def __repr__(self) -> str:
        train, test = self._source.sizes
        return f"<{self.name}: {train} training and {test} test examples>"


def preprocessing(
    center: str, whiten: bool, ridge: float | None, norm: bool, order: str, covariance_of: str = "train", gray: bool = False
) -> dict[str, Any]:
    """Preprocessing as the library reads it; a ridge that is not given is that of the order."""
    zca: Any = {"covariance_of": covariance_of} if whiten else False
    if whiten and ridge is not None:
        zca["ridge"] = ridge
    return {"gray": gray, "center": center, "whiten": zca, "normalize": norm, "order": order}


def load(
    name: str,
    *,
    center: str = "image",
    whiten: bool = True,
    ridge: float | None = None,
    covariance_of: str = "train",
    norm: bool = True,
    gray: bool = True,
    order: str = "standard",
) -> Dataset:
    """A set by its name: mnist-sample, mnist, fashion-mnist, emnist, cifar10, cifar100, or one that was imported.

    Sets other than the sample are looked for where `ebbing data list` says; `ebbing data get NAME` fetches them. Examples are
    prepared in this order: `gray` levels, `center` (image, pixel or none), ZCA whitening with a relative `ridge` (1e-7) and
    the training covariance (or that of the set `covariance_of`), and scaling to `|x|² = N0` unless `norm` is False.
    The paper's authors scale before whitening too, and have no ridge: `order="authors"`.
    """
    settings = preprocessing(center, whiten, ridge, norm, order, covariance_of, gray)
    return Dataset("load", (str(name), settings))


@lru_cache(maxsize=4)
def sample(
    *,
    center: str = "image",
    whiten: bool = True,
    ridge: float | None = None,
    norm: bool = True,
    order: str = "standard",
) -> Dataset:
    """4,000 training and 1,000 test images of MNIST, embedded: no file, no network.

    >>> sample().x.shape, sorted(set(sample().y.tolist())) == list(range(10))
    ((4000, 784), True)
    """
    return load("mnist-sample", center=center, whiten=whiten, ridge=ridge, norm=norm, order=order)


def from_arrays(
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    name: str = "arrays",
    center: str = "image",
    whiten: bool = True,
    ridge: float | None = None,
    norm: bool = True,
    order: str = "standard",
) -> Dataset:
    """A set of your own: inputs (one per row, further axes flattened) and class labels: integers, booleans or strings.

    Classes by name count from 0 in alphabetical order, and `classes` has their names.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> own = from_arrays(rng.normal(size=(50, 4, 4)), rng.integers(0, 3, size=50), name="mine")
    >>> own.x.shape, bool(np.allclose((own.x**2).sum(axis=1), 16))
    ((50, 16), True)
    """
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test come together; one of them is missing")
    inputs, given = [matrix(X, "X")], [labels(y, "y")]
    if X_test is not None:
        inputs.append(matrix(X_test, "X_test"))
        given.append(labels(y_test, "y_test"))
    numbers, names = class_numbers(given)
    digest = hashlib.sha256()
    for x, own in zip(inputs, numbers):
        if len(x) != len(own):
            raise ValueError(f"X has {len(x)} rows and y {len(own)}; each input needs one label")
        digest.update(np.ascontiguousarray(x).tobytes())
        digest.update(np.array(own).tobytes())
    digest.update("\n".join(names or []).encode())
    test = (inputs[1], numbers[1]) if X_test is not None else (None, None)
    settings = preprocessing(center, whiten, ridge, norm, order)
    return Dataset("arrays", (inputs[0], numbers[0], *test, name, digest.hexdigest(), settings), names)


def class_numbers(given: list[Labels]) -> tuple[list[list[int]], list[str] | None]:
    """Class labels of training and test sets as integers, and the names of classes 0, 1, … where labels are strings.

    >>> class_numbers([["bee", "ape"], ["bee"]]), class_numbers([[3, 7]])
    (([[1, 0], [1]], ['ape', 'bee']), ([[3, 7]], None))
    """
    for own, name in zip(given, ("y", "y_test")):
        if isinstance(own, np.ndarray) and (own.shape[1] != 1 or (own != np.round(own)).any()):
            raise ValueError(f"{name}: it holds real targets; class labels must be a vector of whole numbers or strings")
    flat: list[list[Any]] = [own[:, 0].tolist() if isinstance(own, np.ndarray) else list(own) for own in given]
    kinds = {isinstance(label, str) for own in flat for label in own}
    if len(kinds) > 1:
        raise ValueError("y: its classes are strings and those of y_test are numbers, or the reverse; give all in one way")
    if kinds != {True}:
        return [[int(label) for label in own] for own in flat], None
    names = sorted({label for own in flat for label in own})
    places = {name: k for k, name in enumerate(names)}
    return [[places[label] for label in own] for own in flat], names


def whiten(
    X: Any,
    *others: Any,
    ridge: float = 1e-7,
    center: str = "image",
    norm: bool = True,
) -> Array | tuple[Array, ...]:
    """`x ← V (Λ + ridge·λ_max)^{-1/2} Vᵀ x` (ZCA) fitted to X after centering, then scaled to `|x|² = N0` unless `norm` is False.

    Returns X prepared, and each of `others` prepared with what was fitted to X.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 10)) * np.arange(1, 11)
    >>> white = whiten(X, center="pixel", norm=False)
    >>> bool(np.allclose(np.cov(white.T, ddof=0), np.eye(10), atol=1e-4))
    True
    """
    sets = [matrix(X, "X"), *(matrix(x, f"others[{i}]") for i, x in enumerate(others))]
    done = _ebbing.prepared(sets, preprocessing(center, True, ridge, norm, "standard"))
    return tuple(done) if others else done[0]
