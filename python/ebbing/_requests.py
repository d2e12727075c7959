"""What can be asked of tasks. Made by tools/make_python.py from the fields that the library declares: change those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._advise import Advice, ask_advice
from ._forecast import Forecast, ask_forecast
from ._progress import Listener


def forecast(
    tasks: Any,
    *,
    features: bool = False,
    depth: int = 1,
    activation: str = "relu",
    mode: str = "rf",
    lam: float = float("inf"),
    sigma: float = 1.0,
    bias: float = 0.0,
    beta: float = float("inf"),
    variance: bool = False,
    replay: int = 0,
    replay_budget: str = "per-task",
    replay_selection: str = "random",
    depths: Sequence[int] = (),
    lambdas: Sequence[float] = (),
    widths: Sequence[float] = (),
    max_p: int | None = None,
    order: bool = True,
    bootstrap: int = 0,
    shuffles: int = 0,
    ridge: float = 0.0,
    convention: str = "gem",
    progress: bool | Listener = False,
) -> Forecast:
    """Forecasts forgetting from the data alone: as `ebbing forecast` does.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per seed, to average over.

    | setting | |
    |---|---|
    | `features` | inputs are feature matrices: `K = ΦΦᵀ/N`, pseudo-inverses where it is singular |
    | `depth` | hidden layers |
    | `activation` | nonlinearity: relu, linear, erf or gelu |
    | `mode` | which limit of learning: rf, ntk, lazy or gibbs |
    | `lam` | penalty on the change of weights, with mode gibbs; a number or inf (the limit at the beta given) |
    | `sigma` | prior standard deviation of a weight |
    | `bias` | prior standard deviation of a bias in every layer, the readout included; 0 for none |
    | `beta` | inverse temperature: noise on the targets has variance 1/BETA; inf interpolates the training data |
    | `variance` | include the variance over networks in losses and accuracies |
    | `replay` | store M examples of every earlier task and learn them again with each later one |
    | `replay_budget` | what M counts: per-task, in-all or per-class |
    | `replay_selection` | which examples are stored: random, by-class or greedy |
    | `depths` | set the forecast beside other depths |
    | `lambdas` | set beside it what each of these penalties would do at this beta where all weights learn, inf included |
    | `widths` | set beside it a readout per task at each of these widths; at every one of lambdas |
    | `max_p` | use at most this many examples per task, other ones for every seed |
    | `order` | whether the best order of tasks is searched |
    | `bootstrap` | how often a tenth of the examples is left out for intervals of the order parameters; 0 for none |
    | `shuffles` | label shuffles for the order parameters of unrelated labels; 0 for none |
    | `ridge` | ridge on each task's kernel, beside 1/beta; features without one have pseudo-inverses |
    | `convention` | names and formulas of the accuracy metrics: gem, avalanche or chaudhry |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> found = forecast(tasks)
    >>> found.forgetting.shape, len(found.pairs), sorted(found.order["order"])
    ((3, 3), 6, [1, 2, 3])
    >>> print(found.summary().splitlines()[0])
    Forecast of 3 tasks
    """
    return ask_forecast(locals())


def advise(
    tasks: Any,
    *,
    features: bool = False,
    depth: int = 1,
    activation: str = "relu",
    mode: str = "rf",
    sigma: float = 1.0,
    bias: float = 0.0,
    beta: float = float("inf"),
    width: float | None = None,
    widths: Sequence[float] = (),
    lambdas: Sequence[float] = (),
    keep_forgetting_below: float | None = None,
    budget: int | None = None,
    replay_budget: str = "per-task",
    max_p: int | None = None,
    progress: bool | Listener = False,
) -> Advice:
    """Forecasts what each remedy against forgetting would do for these tasks, best first: as `ebbing advise` does.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per seed, to average over.

    | setting | |
    |---|---|
    | `features` | inputs are feature matrices: `K = ΦΦᵀ/N`, pseudo-inverses where it is singular |
    | `depth` | hidden layers |
    | `activation` | nonlinearity: relu, linear, erf or gelu |
    | `mode` | how the network learns when nothing is done: rf, ntk or lazy |
    | `sigma` | prior standard deviation of a weight |
    | `bias` | prior standard deviation of a bias in every layer, the readout included; 0 for none |
    | `beta` | inverse temperature: noise on the targets has variance 1/BETA; inf interpolates the training data |
    | `width` | hidden units N: a readout per task is forecast at this width, not for wide networks |
    | `widths` | more such widths |
    | `lambdas` | penalties to try, inf included at beta inf, each reported (default: 1, 10, 100 and 1000, the best reported) |
    | `keep_forgetting_below` | how many examples must be kept to hold forgetting below this (default: half of doing nothing) |
    | `budget` | the most examples that may be kept (default: all) |
    | `replay_budget` | what the budget counts: per-task, in-all or per-class |
    | `max_p` | use at most this many examples per task (default: 300) |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> found = advise(tasks, keep_forgetting_below=0.1)
    >>> found.examples_needed <= 20, found.remedies[-1]["applies"]
    (True, True)
    """
    return ask_advice(locals())
