"""The compiled half; the package's functions check and convert what users give before they call it."""

import os
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Labels = _Array | list[int] | list[str]
_Rows = npt.NDArray[np.uint64] | None
_Task = tuple[_Array, _Labels, _Array | None, _Labels | None, str, _Array | None, _Array | None, _Rows]
_KernelTask = tuple[list[int], _Array, list[int] | None, _Array | None, str]
_MadeTask = tuple[_Array, _Array, _Array | None, _Array | None, str, _Array | None, _Array | None, _Rows]
_Made = tuple[list[_MadeTask], dict[str, Any]]
_Progress = Callable[[float, float, str], None]

__all__ = [
    "MultiHead",
    "NumericalError",
    "SingleHead",
    "Source",
    "TwoTasks",
    "__version__",
    "advise",
    "best_lambda",
    "chosen",
    "fit_forgetting",
    "forecast",
    "interpolated",
    "kernel",
    "load_tasks",
    "memory_limit",
    "metrics",
    "order_parameters",
    "order_parameters_of_kernels",
    "phase_curves",
    "prepared",
    "program",
    "sample_posterior",
    "save_tasks",
    "target_columns",
    "train",
    "variance_explained",
    "whole_targets",
    "with_context",
    "written",
]
__version__: str

class NumericalError(ArithmeticError): ...

def kernel(
    x: _Array,
    x2: _Array | None,
    depth: int,
    t: int,
    s: int,
    lam: float,
    sigma2: float,
    bias2: float,
    kind: str,
    activation_name: str,
) -> _Array: ...
def order_parameters(
    tasks: Sequence[_Task],
    features: bool,
    depth: int,
    sigma2: float,
    bias2: float,
    activation_name: str,
    ridge: float,
    bootstrap: int,
    shuffles: int,
    seed: int,
) -> list[dict[str, Any]]: ...
def order_parameters_of_kernels(
    k11: _Array,
    k12: _Array,
    k22: _Array,
    y1: _Array,
    y2: _Array,
    ridge: float,
    bootstrap: int,
    shuffles: int,
    seed: int,
) -> dict[str, Any]: ...
def advise(
    sequences: Sequence[Sequence[_Task]], settings_json: str, progress: _Progress | None
) -> dict[str, Any]: ...
def forecast(
    sequences: Sequence[tuple[Sequence[_Task], str]], settings_json: str, max_p: int | None, progress: _Progress | None
) -> dict[str, Any]: ...
def fit_forgetting(times: Sequence[float], values: Sequence[float], rising: bool) -> dict[str, Any]: ...
def variance_explained(x: _Array, y: Sequence[float]) -> dict[str, Any]: ...
def metrics(
    after: Sequence[Sequence[float]],
    convention: str,
    untrained: Sequence[float] | None,
    reference: Sequence[float] | None,
    test_sizes: Sequence[int] | None,
) -> dict[str, Any]: ...
def train(tasks: Sequence[_Task], settings_json: str, progress: _Progress | None) -> dict[str, Any]: ...
def sample_posterior(tasks: Sequence[_Task], settings_json: str, progress: _Progress | None) -> dict[str, Any]: ...
def program(words: Sequence[str]) -> int: ...
def phase_curves(
    tasks: Sequence[_Task],
    lam: Sequence[float],
    alpha: Sequence[float],
    sigma2: float,
    beta: float,
    activation_name: str,
    readout: tuple[float | None, float | None],
) -> list[dict[str, Any]]: ...
def best_lambda(
    tasks: Sequence[_Task],
    low: float,
    high: float,
    width: float | None,
    alpha: float | None,
    sigma2: float,
    beta: float,
    activation_name: str,
    readout: tuple[float | None, float | None],
) -> dict[str, Any]: ...
def interpolated(tasks: Sequence[_Task], steps: int, seed: int) -> _Made: ...
def with_context(tasks: Sequence[_Task], dim: int, variance: float, renormalize: bool, seed: int) -> _Made: ...
def target_columns(
    train: Sequence[_Labels], test: Sequence[_Labels]
) -> tuple[list[_Array], list[_Array], Any]: ...
def whole_targets(targets: Sequence[_Array]) -> str | None: ...
def written(value: float, error: float | None = None) -> str: ...
def chosen(value: float) -> str: ...
def load_tasks(path: str | os.PathLike[str]) -> _Made: ...
def save_tasks(tasks: Sequence[_Task], path: str | os.PathLike[str]) -> None: ...
def prepared(sets: Sequence[_Array], preprocess_json: str) -> list[_Array]: ...

@final
class SingleHead:
    def __new__(
        cls,
        tasks: Sequence[_Task],
        features: bool,
        depth: int,
        mode: str,
        lam: float,
        sigma2: float,
        bias2: float,
        beta: float,
        activation_name: str,
        variance: bool,
    ) -> SingleHead: ...
    @staticmethod
    def from_kernels(
        nngp: _Array,
        ntk: _Array | None,
        tasks: Sequence[_KernelTask],
        mode: str,
        sigma2: float,
        beta: float,
        variance: bool,
    ) -> SingleHead: ...
    @property
    def digits(self) -> float: ...
    @property
    def columns(self) -> int: ...
    def mean(self, x: Any, t: int) -> _Array: ...
    def variance(self, x: Any, t: int) -> _Array: ...
    def covariance(self, x: Any, t: int, x2: Any, s: int) -> _Array: ...
    def sample(self, x: Any, n: int, seed: int) -> list[list[_Array]]: ...
    def forecast(self) -> dict[str, Any]: ...

@final
class MultiHead:
    def __new__(
        cls,
        tasks: Sequence[_Task],
        width: float | None,
        alpha: float | None,
        lam: float,
        sigma2: float,
        beta: float,
        activation_name: str,
        readout: tuple[float | None, float | None],
    ) -> MultiHead: ...
    def factors(self) -> dict[str, Any]: ...
    def predict(self, x: _Array, head: int, t: int) -> tuple[_Array, _Array]: ...
    def forgetting(self) -> list[list[float]]: ...
    def generalization(self) -> list[list[float]]: ...
    def hidden_kernel(self, x: _Array, learned: bool) -> _Array: ...
    def representation_change(self, x: _Array) -> _Array: ...

@final
class TwoTasks:
    def __new__(
        cls,
        tasks: Sequence[_Task],
        sigma2: float,
        activation_name: str,
        readout: tuple[float | None, float | None],
    ) -> TwoTasks: ...
    def curve(self, alphas: Sequence[float]) -> dict[str, Any]: ...
    def critical_load(self) -> dict[str, Any]: ...
    def locate(self, width: float) -> dict[str, Any]: ...

@final
class Source:
    @staticmethod
    def load(name: str, preprocess_json: str) -> Source: ...
    @staticmethod
    def from_arrays(
        x: _Array,
        classes: Sequence[int],
        x_test: _Array | None,
        classes_test: Sequence[int] | None,
        name: str,
        sha256: str,
        preprocess_json: str,
    ) -> Source: ...
    @property
    def sizes(self) -> tuple[int, int]: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def image_shape(self) -> list[int] | None: ...
    def examples(self, rows: Sequence[int], test: bool) -> _Array: ...
    def classes(self, test: bool) -> list[int]: ...
    def draw(self, protocol_json: str, seed: int) -> _Made: ...


def memory_limit(bytes: float | None = None) -> None: ...
