"""Scikit-learn estimators: what a wide network answers after learning a single task."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arrays import Array, TaskSequence, decided, target_columns
from ._wide import SingleHead

__all__ = ["WideNetworkClassifier", "WideNetworkRegressor"]


class _WideNetwork(BaseEstimator):  # type: ignore[misc]
    """What regressor and classifier share."""

    def __init__(
        self,
        *,
        depth: int = 1,
        sigma: float = 1.0,
        beta: float = 1e3,
        activation: str = "relu",
        constant: float = 1.0,
    ) -> None:
        self.depth = depth
        self.sigma = sigma
        self.beta = beta
        self.activation = activation
        self.constant = constant

    def _learn(self, X: Array, y: Array) -> None:
        """Learns inputs and target columns."""
        network = {name: getattr(self, name) for name in ("depth", "sigma", "beta", "activation")}
        # Target columns are numbers here, whole or not.
        tasks = TaskSequence([(self._inputs(X), np.asarray(y, dtype=np.float64))], settings={"targets": "as-given"})
        self.network_ = SingleHead(tasks, **network)

    def _inputs(self, X: Array) -> Array:
        return np.hstack([X, np.full((len(X), 1), self.constant)]) if self.constant else X

    def _outputs(self, X: Any) -> tuple[Array, Array]:
        """Checked inputs and the network's mean outputs."""
        check_is_fitted(self)
        inputs = self._inputs(validate_data(self, X, reset=False, dtype=np.float64))
        return inputs, self.network_.mean(inputs)


class WideNetworkRegressor(RegressorMixin, _WideNetwork):  # type: ignore[misc]
    """`<f(x)> = k(x,X) (K + β⁻¹ I)⁻¹ y`: kernel regression with the kernel of a wide network.

    `beta` is the inverse temperature (inf interpolates), `constant` an input of this value appended to every example (0: none),
    without which inputs of norm 0 have no kernel.

    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(200, random_state=0)
    >>> WideNetworkRegressor(depth=2).fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.8
    True
    """

    def fit(self, X: Any, y: Any) -> WideNetworkRegressor:
        """Learns the task."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        self._learn(X, y)
        self.flat_targets_ = np.ndim(y) == 1
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """What the network answers, with the standard deviation over networks where asked for."""
        inputs, mean = self._outputs(X)
        if not self.flat_targets_ and mean.ndim == 1:
            mean = mean[:, None]
        if not return_std:
            return mean
        return mean, np.sqrt(np.maximum(self.network_.variance(inputs), 0.0))


class WideNetworkClassifier(ClassifierMixin, _WideNetwork):  # type: ignore[misc]
    """The class with the largest `<f(x)>` of a wide network that learned ±1 (two classes) or one-hot columns.

    Settings are those of `WideNetworkRegressor`. There is no `predict_proba`: targets are fitted by squared loss, so outputs are
    no probabilities; `decision_function` has them as they are.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> WideNetworkClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    def fit(self, X: Any, y: Any) -> WideNetworkClassifier:
        """Learns the task."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class, {self.classes_[0]!r}; at least two classes are needed")
        self._learn(X, target_columns([labels])[0][0])
        return self

    def decision_function(self, X: Any) -> Array:
        """The network's mean outputs: one number per point for two classes, one per class for more."""
        return self._outputs(X)[1]

    def predict(self, X: Any) -> Any:
        """The class that the outputs stand for."""
        return decided(self.decision_function(X), list(self.classes_))
