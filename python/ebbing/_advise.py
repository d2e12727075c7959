"""What to do against forgetting: every remedy with its forecast forgetting, accuracy and cost."""

from __future__ import annotations

from typing import Any

from . import _plotting
from ._forecast import named
from ._result import Answer
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
    """What `ebbing advise` reports.

    | attribute | |
    |---|---|
    | `remedies` | dictionaries, the least forgetting first, those that do not apply last |
    | `replay` | forgetting and cost against the number of examples kept |
    | `target`, `examples_needed`, `examples_most` | what replay was to reach, how many it takes (None: all are not enough), how many there are |
    | `order` | the best order of tasks found, counted from 1 |
    | `orders` | how many orders were tried, and the `forgetting` and `accuracy` of the best and the worst of them |
    | `draws`, `examples_used`, `held_out` | sequences averaged, examples used of how many, whether accuracies are of test data |
    | `outside` | why nothing is expected with a range: how the tasks are unlike those whose networks were measured |
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
    outside: str | None
    answer: list[str]
    assumes: str
    tasks: list[str]
    settings: dict[str, Any]

    @classmethod
    def of(cls, found: dict[str, Any], about: dict[str, Any]) -> Advice:
        """From what the library answers."""
        made: Advice = cls.with_page(found, **found["advice"], assumes=found["assumes"], **about)
        return made

    @property
    def best_order(self) -> list[Any] | None:
        """The best order found, by the names of tasks or their numbers; None where it was not searched."""
        return None if self.order is None else named(self.order, self.tasks)

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per remedy: `remedy`, `forgetting`, `accuracy`, `cost`, `applies`, and more."""
        return frame([{name: row[name] for name in COLUMNS} for row in self.remedies])

    def plot(self, ax: Any = None) -> Any:
        """Forgetting against cost, replay as a curve."""
        return _plotting.remedies(self, ax)

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        apart = [f"{row['remedy']} does not apply: {row['why']}." for row in self.remedies if not row["applies"]]
        return self.answer + apart
