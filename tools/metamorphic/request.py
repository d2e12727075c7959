"""Random small requests: a few tasks and the settings of a forecast, in the words of the program's flags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Chance = np.random.Generator
MODES = ("rf", "ntk", "lazy", "gibbs")
ACTIVATIONS = ("relu", "linear", "erf", "gelu")
INF = float("inf")


@dataclass(frozen=True)
class Task:
    """Examples of a task, and held-out ones where there are some."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray | None = None
    y_test: np.ndarray | None = None

    def given(self) -> tuple[np.ndarray, ...]:
        """As Python's functions take it."""
        return (self.x, self.y) if self.x_test is None else (self.x, self.y, self.x_test, self.y_test)

    def mapped(self, x: Callable[[Any], Any] = lambda x: x, y: Callable[[Any], Any] = lambda y: y) -> Task:
        """With inputs and targets, held-out ones included, put through functions."""
        if self.x_test is None:
            return Task(x(self.x), y(self.y))
        return Task(x(self.x), y(self.y), x(self.x_test), y(self.y_test))

    def rows(self, train: np.ndarray, test: np.ndarray | None = None) -> Task:
        """Some rows, in their order."""
        if self.x_test is None or test is None:
            return Task(self.x[train], self.y[train], self.x_test, self.y_test)
        return Task(self.x[train], self.y[train], self.x_test[test], self.y_test[test])


@dataclass(frozen=True)
class Request:
    """Tasks and settings; `features`: the inputs are features of a frozen network."""

    tasks: tuple[Task, ...]
    settings: dict[str, Any]
    features: bool = False

    def but(self, **settings: Any) -> Request:
        """With other settings; None leaves one out."""
        kept = {name: value for name, value in {**self.settings, **settings}.items() if value is not None}
        return replace(self, settings=kept)

    def of(self, tasks: Sequence[Task]) -> Request:
        """The same of other tasks."""
        return replace(self, tasks=tuple(tasks))

    def setting(self, name: str, default: Any) -> Any:
        """A setting, or what it is where it is left out."""
        return self.settings.get(name, default)

    @property
    def beta(self) -> float:
        """The inverse temperature."""
        return float(self.setting("beta", INF))

    @property
    def tested(self) -> bool:
        """Whether there are held-out examples."""
        return self.tasks[0].x_test is not None

    def words(self) -> str:
        """The request in a line."""
        if not self.tasks:
            return f"drawn tasks; {self.settings}"
        first = self.tasks[0]
        sizes = "+".join(str(len(task.x)) for task in self.tasks)
        columns = 1 if first.y.ndim == 1 else first.y.shape[1]
        tested = f", {len(first.x_test)} test" if first.x_test is not None else ""
        kind = "features" if self.features else "inputs"
        size = f" of mean square {np.mean(np.square(first.x)):.2g}"
        return f"{sizes} × {first.x.shape[1]} {kind}{size}, {columns} columns{tested}; {self.settings}"


def log_uniform(chance: Chance, low: float, high: float) -> float:
    """A number whose logarithm is uniform, of few digits so that every door reads the same one."""
    return float(f"{np.exp(chance.uniform(np.log(low), np.log(high))):.3g}")


def targets(chance: Chance, kind: str, columns: int, count: int) -> np.ndarray:
    """Targets of a kind; every class is there."""
    if kind == "numbers":
        return chance.normal(size=(count, columns))
    classes = np.arange(count) % max(2, columns)
    chance.shuffle(classes)
    return np.eye(columns)[classes] if kind == "classes" else np.where(classes > 0, 1.0, -1.0)


def tasks(
    chance: Chance,
    count: int | None = None,
    dim: int | None = None,
    kind: str | None = None,
    columns: int | None = None,
    tested: bool | None = None,
    sizes: tuple[int, int] = (8, 40),
) -> tuple[Task, ...]:
    """Two to four tasks on Gaussian inputs, some of them with inputs in common or with a rule in common."""
    count = count or int(chance.integers(2, 5))
    dim = dim or int(chance.integers(3, 21))
    kind = kind or str(chance.choice(["signs", "classes", "numbers"]))
    columns = columns or (int(chance.integers(2, 4)) if kind == "classes" else int(chance.integers(1, 4)))
    tested = bool(chance.random() < 0.5) if tested is None else tested
    scale, rule = log_uniform(chance, 0.3, 3), chance.normal(size=dim)
    common = chance.normal(size=(int(chance.integers(1, 5)), dim)) if chance.random() < 0.25 else None
    made = []
    for _ in range(count):
        size = int(chance.integers(sizes[0], sizes[1] + 1))
        x = chance.normal(size=(size, dim))
        if common is not None:
            x[: len(common)] = common
        y = targets(chance, kind, columns, size)
        if kind == "signs" and chance.random() < 0.5:
            y = np.where(x @ rule > np.median(x @ rule), 1.0, -1.0)
        test = (scale * chance.normal(size=(6, dim)), targets(chance, kind, columns, 6)) if tested else ()
        made.append(Task(scale * x, y, *test))
    return tuple(made)


def settings(chance: Chance, features: bool, modes: Sequence[str] = MODES) -> dict[str, Any]:
    """Settings of a forecast; what is left out stands as it is."""
    found: dict[str, Any] = {}
    if chance.random() < 0.5:
        found["beta"] = log_uniform(chance, 0.3, 1e4)
    if features:
        return found
    found["mode"] = str(chance.choice(modes))
    if found["mode"] == "gibbs":
        found["lambda"] = INF if chance.random() < 0.15 else log_uniform(chance, 0.1, 1e3)
    found["depth"] = int(chance.integers(1, 4))
    if chance.random() < 0.4:
        found["activation"] = str(chance.choice(ACTIVATIONS))
    if chance.random() < 0.5:
        found["sigma"] = log_uniform(chance, 0.5, 2)
    if chance.random() < 0.3:
        found["bias"] = log_uniform(chance, 0.1, 1)
    if chance.random() < 0.25:
        found["ridge"] = log_uniform(chance, 1e-3, 1)
    return found


def request(chance: Chance, features: bool | None = None, modes: Sequence[str] = MODES, **more: Any) -> Request:
    """A forecast; `more` as for `tasks`."""
    features = bool(chance.random() < 0.2) if features is None else features
    return Request(tasks(chance, **more), settings(chance, features, modes), features)
