"""Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another: from the data alone.

>>> import ebbing
>>> tasks = ebbing.tasks.permuted(length=3, examples=200, test_examples=0)
>>> result = ebbing.forecast(tasks)
>>> result.forgetting.shape  # [t, s]: after task t, on task s
(3, 3)

The theory is that of H. Shan, Q. Li and H. Sompolinsky, "Order parameters and phase transitions of continual learning in deep
neural networks" (arXiv:2407.10315).
"""

from . import data, tasks, torch
from ._advise import Advice
from ._arrays import Task, TaskSequence
from ._avalanche import from_avalanche
from ._ebbing import NumericalError, __version__, memory_limit
from ._forecast import Forecast
from ._multi_head import CriticalLoad, MultiHead, TwoTaskLimit, critical_load, two_task_limit
from ._networks import SampledPosterior, Trained, TrainedNetwork
from ._order import OrderParameters
from ._phase import BestLambda, Phase, PhaseCurves, best_lambda
from ._requests import advise, forecast, phase, sample, train
from ._statistics import ForgettingFit, Metrics, VarianceExplained, fit_forgetting, metrics, variance_explained
from ._two_heads import TwoTaskFactors, TwoTaskTheory
from ._wide import (
    SingleHead,
    kernel,
    order_parameters,
    order_parameters_from_features,
    order_parameters_from_kernels,
)

__all__ = [
    "Advice",
    "BestLambda",
    "CriticalLoad",
    "Forecast",
    "ForgettingFit",
    "Metrics",
    "MultiHead",
    "NumericalError",
    "OrderParameters",
    "Phase",
    "PhaseCurves",
    "SampledPosterior",
    "SingleHead",
    "Task",
    "TaskSequence",
    "Trained",
    "TrainedNetwork",
    "TwoTaskFactors",
    "TwoTaskLimit",
    "TwoTaskTheory",
    "VarianceExplained",
    "__version__",
    "advise",
    "best_lambda",
    "critical_load",
    "data",
    "fit_forgetting",
    "forecast",
    "from_avalanche",
    "kernel",
    "memory_limit",
    "metrics",
    "order_parameters",
    "order_parameters_from_features",
    "order_parameters_from_kernels",
    "phase",
    "sample",
    "tasks",
    "torch",
    "train",
    "two_task_limit",
    "variance_explained",
]
