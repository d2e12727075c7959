"""What can be asked of tasks. Made by tools/make_python.py from the fields that the library declares: change those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._advise import Advice
from ._ask import ask
from ._forecast import Forecast
from ._networks import SampledPosterior, Trained
from ._phase import Phase
from ._progress import Listener
from ._settings import Numbers, Seed


def forecast(
    tasks: Any, *, order: str | Sequence[int] | None = None, features: bool = False, theory: bool = False,
    at_risk: bool = False, depth: int = 1, activation: str = "relu", mode: str = "rf", lam: float = float("inf"),
    sigma: float = 1.0, bias: float = 0.0, beta: float = float("inf"), variance: bool = False, replay: int = 0,
    replay_budget: str = "per-task", replay_selection: str = "random", depths: Sequence[int] = (),
    lambdas: Numbers = (), widths: Numbers = (), max_p: int | None = None, bootstrap: int = 0, shuffles: int = 0,
    ridge: float = 0.0, convention: str = "gem", progress: bool | Listener = False,
) -> Forecast:
    """Forecasts forgetting from the data alone: as `ebbing forecast` does.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per draw, to average over.

    | setting | |
    |---|---|
    | `order` | learn the tasks in this order: every task once, by its number; best: search for a better one |
    | `features` | inputs are feature matrices: `K = ΦΦᵀ/N`, pseudo-inverses where it is singular |
    | `theory` | show the theory's own quantities too (training-loss forgetting, order parameters, fits); they are computed at any size |
    | `at_risk` | show which examples are at risk: the output, margin and fate of each, and where the forgetting sits |
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
    | `replay_selection` | which examples are stored: random, by-class, greedy or at-risk |
    | `depths` | set the forecast beside other depths |
    | `lambdas` | set beside it what each of these penalties would do at this beta where all weights learn, inf included |
    | `widths` | set beside it a readout per task at each of these widths; at every one of lambdas |
    | `max_p` | use at most this many examples per task, other ones for every seed |
    | `bootstrap` | how often a tenth of the examples is left out for intervals of the order parameters; 0 for none |
    | `shuffles` | label shuffles for the order parameters of unrelated labels; 0 for none |
    | `ridge` | ridge on each task's kernel, beside 1/beta; features without one have pseudo-inverses |
    | `convention` | names and formulas of the accuracy metrics: gem, avalanche or chaudhry |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> found = forecast(tasks)
    >>> found.forgetting.shape, len(found.pairs)
    ((3, 3), 6)
    >>> print(found.summary().split(":")[0])
    Forecast for 3 tasks of 20 examples (inputs as stored)
    """
    return Forecast.of(*ask("forecast", locals()))


def advise(
    tasks: Any, *, order: str | Sequence[int] | None = None, features: bool = False, depth: int = 1,
    activation: str = "relu", mode: str = "rf", sigma: float = 1.0, bias: float = 0.0, beta: float = float("inf"),
    width: float | None = None, widths: Numbers = (), lambdas: Numbers = (), keep_accuracy_above: float | None = None,
    lose_at_most: float | None = None, keep_forgetting_below: float | None = None, budget: int | None = None,
    replay_budget: str = "per-task", memory_budget: str | None = None, random_features: int = 2000, ewc: float = 100.0,
    theory: bool = False, max_p: int | None = None, progress: bool | Listener = False,
) -> Advice:
    """Forecasts what helps against forgetting on these tasks, by accuracy and memory: as `ebbing advise` does.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per draw, to average over.

    | setting | |
    |---|---|
    | `order` | learn the tasks in this order: every task once, by its number; best: search for a better one |
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
    | `keep_accuracy_above` | the final accuracy to reach, as a share: 0.8 for 80 % |
    | `lose_at_most` | the accuracy that may be lost, as a share: 0.05 for 5 points |
    | `keep_forgetting_below` | how many examples hold training-loss forgetting F below this, in theory (default: half of doing nothing, with theory) |
    | `budget` | the most examples that may be kept (default: all) |
    | `replay_budget` | what the budget counts: per-task, in-all or per-class |
    | `memory_budget` | the most that may be kept between tasks, such as 2MB |
    | `random_features` | random features of the ridge regression that has some; 0 leaves it out |
    | `ewc` | strength of elastic weight consolidation; 10 to 1000 were measured |
    | `theory` | try the theory's own remedies too, by training-loss forgetting: penalties, context, depth and what replay adds to them |
    | `max_p` | use at most this many examples per task (default: 5000 of all tasks together, of features all; 300 for theory) |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> found = advise(tasks, keep_forgetting_below=0.1)
    >>> found.examples_needed <= 20, found.remedies[-1]["applies"]
    (True, True)
    """
    return Advice.of(*ask("advise", locals()))


def phase(
    tasks: Any, *, alpha: str | float | Numbers = "0.1:10:60", lam: float | Numbers = float("inf"), sigma: float = 1.0,
    sigma_readout: float | None = None, readout_norm: float | None = None, beta: float = float("inf"),
    activation: str = "relu", heads: str = "exact", rescale_labels: bool = False,
    pair: tuple[int | str, int | str] | None = None, pairs: bool = False, width: float | None = None,
    representation: bool = False, progress: bool | Listener = False,
) -> Phase:
    """Tasks with a readout each against the load, and the place of a width in the diagram of two of them: as `ebbing phase` does.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, or the path of a file that `tasks.load`
    reads.

    | setting | |
    |---|---|
    | `alpha` | loads P/N as from:to:count, evenly on a logarithmic scale, or a list |
    | `lam` | penalties of the curves, inf included (at a finite beta the limit at that temperature) |
    | `sigma` | prior standard deviation of a weight |
    | `sigma_readout` | prior standard deviation of readouts (default: that of all weights) |
    | `readout_norm` | bound on the norm |a|^2/N of every readout: nothing diverges any more |
    | `beta` | inverse temperature; inf interpolates the training data, anything else is reported as curves alone |
    | `activation` | nonlinearity: relu, linear, erf or gelu |
    | `heads` | the factors of heads with several outputs (more than two classes each): exact or symmetric |
    | `rescale_labels` | scale labels so that Y'K^-1 Y/P = 1, which the gamma_sim law assumes |
    | `pair` | two of the tasks, by name or number, in the order learned |
    | `pairs` | every pair of the tasks, in the order learned: similarity, critical load and, with width, the regime |
    | `width` | the width N to place in the diagram of two tasks, or of more |
    | `representation` | what two tasks do to the hidden layer at that width: the change of representations, and how the learned kernel lines up with the labels |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> found = phase(tasks, pair=(1, 3), width=15)
    >>> found.regime, found.curves.alpha.shape
    ('overfitting', (60,))
    >>> phase(tasks, lam=[10.0, np.inf], alpha=[0.5, 1.5]).curves.f_t1.shape
    (2, 2)
    >>> [pair["first"] for pair in phase(tasks, pairs=True).pairs]
    [1, 1, 2]
    """
    return Phase.of(*ask("phase", locals()))


def train(
    tasks: Any, *, seed: Seed = 0, learners: Sequence[str] = ("gd", "l2"), kappa: float = 0.1, solver: str = "descent",
    first_solver: str | None = None, gradient_tolerance: float = 1e-06, readout_scales: float | Numbers = 1.0,
    readout_penalty: float = 0.0, gamma: float = 1.0, fisher: str = "rms", printed: bool = False, heads: str = "single",
    depth: int = 1, activation: str = "relu", readout_only: bool = False, width: int = 400, loads: Numbers = (),
    sigma0: float = 1.0, loss: str = "sum", eta: float | str = "auto", eta_factor: float = 1.0, explicit: bool = False,
    threshold: float = 0.001, tolerance: float = 0.001, patience: int = 200, max_steps: int = 20000,
    batch: int | None = None, momentum: float = 0.0, seeds: int = 1, progress: bool | Listener = False,
) -> Trained:
    """Trains networks of finite width on the tasks, one after another, beside the theory: as `ebbing train` does.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per draw, to average over.

    | setting | |
    |---|---|
    | `seed` | of everything that is drawn; with several seeds, the first of them |
    | `learners` | learning rules: gd, l2 or ewc |
    | `kappa` | strength of the penalty |
    | `solver` | how a task's weights are found: step by step, or at the minimum itself (gd and l2 only): descent or levenberg |
    | `first_solver` | how the weights of the first task, which has no penalty, are found: descent or levenberg (default: as solver) |
    | `gradient_tolerance` | levenberg: a task ends when the gradient's norm is below this share of what it was at the start |
    | `readout_scales` | levenberg: start penalized tasks from their initial readout times each of these, and keep the lowest objective |
    | `readout_penalty` | levenberg: strength of a penalty on the readout of penalized tasks, which pulls it to 0 |
    | `gamma` | EWC: decay of older tasks' Fisher information |
    | `fisher` | EWC: how the Fisher information is taken: paper, rms, empirical or exact |
    | `printed` | EWC: use the paper's printed indexing (the current task's Fisher, the first task's dropped) |
    | `heads` | one readout for all tasks, or one for each (then only hidden weights are penalized): single or multi |
    | `depth` | hidden layers |
    | `activation` | nonlinearity: relu, linear, erf or gelu |
    | `readout_only` | only the readout learns; hidden weights stay as they were drawn |
    | `width` | width N of every hidden layer |
    | `loads` | multi-head, two tasks: sweep the load P/N over these values instead of one width |
    | `sigma0` | standard deviation of initial weights |
    | `loss` | loss whose gradient is followed: half the sum or half the mean of squared errors: sum or mean |
    | `eta` | learning rate: a number, or auto: one over the loss's largest curvature, from the network's own tangent kernel, at most half of what is stable and adapted on the way |
    | `eta_factor` | multiplies the automatic rate: with 0.5 losses change by less than 5 % |
    | `explicit` | step the penalty explicitly (refused where that is unstable) |
    | `threshold` | mean squared error at which an unpenalized task counts as learned |
    | `tolerance` | a penalized task ends when loss and distance change less than this, relatively ... |
    | `patience` | ... over this many steps |
    | `max_steps` | most steps per task |
    | `batch` | examples per step (default: all) |
    | `momentum` | heavy-ball momentum |
    | `seeds` | number of seeds, each with its own tasks and initial weights |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> found = train(tasks, learners=["gd"], width=100, max_steps=2000)
    >>> found.train_loss.shape, found.reports[0]["learned"]
    ((3, 3), True)
    >>> [w.shape for w in found.weights]
    [(100, 30), (1, 100)]
    """
    return Trained.of(*ask("train", locals()))


def sample(
    tasks: Any, *, seed: Seed = 0, heads: str = "multi", depth: int = 1, activation: str = "relu", width: int = 80,
    lam: float = 5.0, sigma: float = 1.0, sigma_readout: float | None = None, beta: float = 2000.0, chains: int = 16,
    warmup: int = 300, draws: int = 100, leapfrog: int = 20, progress: bool | Listener = False,
) -> SampledPosterior:
    """Networks drawn from `p(Θ_t | Θ_{t−1}, D_t)`, task after task, by Hamiltonian Monte Carlo, beside the theory: as `ebbing sample` does.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, or the path of a file that `tasks.load`
    reads.

    | setting | |
    |---|---|
    | `seed` | of everything that is drawn; with several seeds, the first of them |
    | `heads` | one readout for all tasks, or one for each: single or multi |
    | `depth` | hidden layers |
    | `activation` | nonlinearity: relu, linear, erf or gelu |
    | `width` | width N of every hidden layer |
    | `lam` | penalty on the change of weights |
    | `sigma` | prior standard deviation of a weight |
    | `sigma_readout` | prior standard deviation of readouts, with a readout each (default: that of all weights) |
    | `beta` | inverse temperature |
    | `chains` | independent chains |
    | `warmup` | moves that adapt the step size, per task and chain |
    | `draws` | moves kept, per task and chain |
    | `leapfrog` | most leapfrog steps of a move |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> small = [(X[:6], y[:6]) for X, y in tasks[:2]]
    >>> found = sample(small, width=10, beta=50.0, chains=2, warmup=20, draws=20)
    >>> found.u1.shape, found.forgetting.shape
    ((2, 2), (2,))
    """
    return SampledPosterior.of(*ask("sample", locals()))
