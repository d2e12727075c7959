"""What to do against forgetting: every remedy with its forecast forgetting, accuracy and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _ebbing
from ._forecast import described, draws, named, numbers_of, sequences
from ._progress import Listener, listener
from ._result import Answer
from ._settings import as_json, bias_variance, encode, given, weight_variance
from ._table import frame

#: The columns of the table of remedies, those that everyone asks for first.
COLUMNS = (
    "remedy",
    "forgetting",
    "accuracy",
    "cost",
    "applies",
    "gain",
    "backward_transfer",
    "standard_error",
    "beyond_noise",
    "task_known",
    "needs",
    "why",
    "kind",
)


class Advice(Answer):
    """What `ebbing advise` tells.

    | attribute | |
    |---|---|
    | `remedies` | dictionaries, the least forgetting first, those that do not apply last |
    | `replay` | forgetting and cost against the number of examples kept |
    | `target`, `examples_needed`, `examples_most` | what replay was to reach, how many it takes (None: all are not enough), how many there are |
    | `order` | the best order of tasks found, counted from 1 |
    | `orders` | how many orders were tried, and the `forgetting` and `accuracy` of the best and the worst of them |
    | `draws`, `examples_used`, `held_out` | sequences averaged, examples used of how many, whether accuracies are of test data |
    | `answer`, `assumes` | what to do, and what that assumes, in sentences |
    """

    remedies: list[dict[str, Any]]
    replay: list[dict[str, Any]]
    target: float
    examples_needed: int | None
    examples_most: int
    order: list[int] | None
    orders: dict[str, Any] | None
    draws: int
    examples_used: list[int]
    held_out: bool
    features: bool
    answer: list[str]
    assumes: str
    tasks: list[str]
    settings: dict[str, Any]

    @property
    def best_order(self) -> list[Any] | None:
        """The best order found, by the names of tasks or their numbers; None where it was not searched."""
        return None if self.order is None else named(self.order, self.tasks)

    def title(self) -> str:
        """What the result is called where it is shown."""
        return called(len(self.tasks))

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per remedy: `remedy`, `forgetting`, `accuracy`, `cost`, `applies`, and more."""
        return frame([{name: row[name] for name in COLUMNS} for row in self.remedies])

    def plot(self, ax: Any = None) -> Any:
        """Forgetting against cost, replay as a curve."""
        from . import _plotting

        return _plotting.remedies(self, ax)

    def about(self) -> str:
        """Which number is which task, where they have names: sentences count."""
        return numbers_of(self.tasks)

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        apart = [f"{row['remedy']} does not apply: {row['why']}." for row in self.remedies if not row["applies"]]
        return list(self.answer) + apart


def called(tasks: int) -> str:
    """What advice is called."""
    return f"What would help {tasks} tasks against forgetting"


def advise(
    tasks: Any,
    *,
    depth: int = 1,
    activation: str = "relu",
    mode: str = "rf",
    sigma: float = 1.0,
    bias: float = 0.0,
    beta: float = float("inf"),
    keep_forgetting_below: float | None = None,
    budget: int | None = None,
    replay_budget: str = "per-task",
    features: bool = False,
    width: float | None = None,
    widths: Sequence[float] = (),
    lambdas: Sequence[float] = (),
    max_p: int = 300,
    progress: bool | Listener = False,
) -> Advice:
    """Tells what each remedy against forgetting would do for these tasks, best first: what `ebbing advise` tells.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test), a dictionary of them by name, the path of a file that `tasks.load`
    reads, or a list of `TaskSequence`s, one per seed, to average over.

    | setting | |
    |---|---|
    | `depth`, `activation`, `mode`, `sigma`, `bias`, `beta` | the network and how it learns when nothing is done: rf, ntk or lazy |
    | `keep_forgetting_below` | what replay is to reach; by default half of doing nothing |
    | `budget`, `replay_budget` | the most examples that may be kept: per-task, in-all or per-class |
    | `features` | inputs are feature matrices |
    | `width` | hidden units N: a readout per task is forecast at this width, not for wide networks |
    | `widths`, `lambdas` | more such widths; penalties to try, each told (by default the best of 1, 10, 100 and 1000) |
    | `max_p` | examples per task that are used |

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(3)]
    >>> found = advise(tasks, keep_forgetting_below=0.1)
    >>> found.examples_needed <= 20, found.remedies[-1]["applies"]
    (True, True)
    """
    settings = given(locals())
    theory = {"mode": mode, "sigma2": weight_variance(sigma, "sigma"), "bias2": bias_variance(bias), "beta": beta, "architecture": {"depth": depth, "activation": activation}}
    asked = encode(
        theory=theory,
        keep_forgetting_below=keep_forgetting_below,
        budget=budget,
        replay={"budget": replay_budget},
        features=features,
        width=width,
        widths=list(widths),
        lambdas=list(lambdas),
        max_p=max_p,
    )
    drawn = draws(tasks)
    settings = described(drawn) | settings
    page = called(len(drawn[0])), as_json(settings)
    found = _ebbing.advise(sequences(drawn), asked, page, listener(progress, "advise"))
    advice: Advice = Advice.with_page(found.pop("page"), **found, tasks=drawn[0].names, settings=settings)
    return advice
