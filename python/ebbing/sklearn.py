"""A scikit-learn estimator: what a wide network answers after learning a single task."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arrays import Array, TaskSequence
from ._single_head import SingleHead

__all__ = ["WideNetworkRegressor"]


class WideNetworkRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """`<f(x)> = k(x,X) (K + β⁻¹ I)⁻¹ y`: kernel regression with the kernel of a wide network.

    `beta` is the inverse temperature (inf interpolates), `bias` a constant input appended to every example (0: none), without
    which inputs of norm 0 have no kernel.

    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(200, random_state=0)
    >>> WideNetworkRegressor(depth=2).fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.8
    True
    """

    def __init__(
        self,
        *,
        depth: int = 1,
        sigma2: float = 1.0,
        beta: float = 1e3,
        activation: str = "relu",
        bias: float = 1.0,
    ) -> None:
        self.depth = depth
        self.sigma2 = sigma2
        self.beta = beta
        self.activation = activation
        self.bias = bias

    def fit(self, X: Any, y: Any) -> WideNetworkRegressor:
        """Learns the task."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        network = {name: getattr(self, name) for name in ("depth", "sigma2", "beta", "activation")}
        # A regression: whole numbers are targets all the same.
        task = (self._inputs(X), np.asarray(y, dtype=np.float64))
        self.network_ = SingleHead(TaskSequence([task], settings={"targets": "as-given"}), **network)
        self.flat_targets_ = np.ndim(y) == 1
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _inputs(self, X: Array) -> Array:
        return np.hstack([X, np.full((len(X), 1), self.bias)]) if self.bias else X

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """What the network answers, with the standard deviation over networks where asked for."""
        check_is_fitted(self)
        inputs = self._inputs(validate_data(self, X, reset=False, dtype=np.float64))
        mean = self.network_.mean(inputs)
        if not self.flat_targets_ and mean.ndim == 1:
            mean = mean[:, None]
        if not return_std:
            return mean
        return mean, np.sqrt(np.maximum(self.network_.variance(inputs), 0.0))
