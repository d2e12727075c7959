"""What to do against forgetting: every remedy with its forecast forgetting, accuracy and cost."""

from __future__ import annotations

from typing import Any

from . import _plotting
from ._forecast import named
from ._result import Answer
from ._table import frame

#: The columns of the table of remedies in theory, those that everyone asks for first.
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
#: The columns of the table of methods.
OF_METHODS = ("method", "accuracy", "low", "high", "lost", "accuracy_gain", "forecast_error", "sure", "per_class", "bytes", "needs", "task_known", "support")


class Advice(Answer):
    """What `ebbing advise` reports.

    | attribute | |
    |---|---|
    | `methods` | the methods by the accuracy they end with: their `rows` (dictionaries, the highest first, those that must know the task last), the row that is `recommended` and the one `recommended_known` where the task is known, `keep`, `chance`; None without test data of classes |
    | `remedies` | the remedies of the theory (`theory=True`): dictionaries, the least forgetting first, those that do not apply last |
    | `replay` | forgetting and cost against the number of examples kept, in theory |
    | `target`, `examples_needed`, `examples_most` | what replay was to reach, how many it takes (None: all are not enough), how many there are |
    | `order` | the best order of tasks found, counted from 1 |
    | `orders` | how many orders were tried, and the `forgetting` and `accuracy` of the best and the worst of them |
    | `draws`, `examples_used`, `held_out` | sequences averaged, examples used of how many, whether accuracies are of test data |
    | `outside` | why nothing is expected with a range: how the tasks are unlike those whose networks were measured |
    | `answer`, `theory`, `assumes` | what to do, what the theory's own remedies come to, and what all assume, in sentences |
    """

    methods: dict[str, Any] | None
    remedies: list[dict[str, Any]]
    replay: list[dict[str, Any]]
    target: float | None
    examples_needed: int | None
    examples_most: int | None
    order: list[int] | None
    orders: dict[str, Any] | None
    draws: int
    examples_used: list[int]
    held_out: bool
    features: bool
    outside: str | None
    answer: list[str]
    theory: list[str]
    assumes: str
    tasks: list[str]
    settings: dict[str, Any]

    @classmethod
    def of(cls, found: dict[str, Any], about: dict[str, Any]) -> Advice:
        """From what the library answers."""
        advice = {"methods": None, **found["advice"]}
        made: Advice = cls.with_page(found, **advice, theory=found["theory"], assumes=found["assumes"], **about)
        return made

    @property
    def recommended(self) -> dict[str, Any] | None:
        """The method to take; None where no gain is sure."""
        row = None if self.methods is None else self.methods["recommended"]
        return None if self.methods is None or row is None else dict(self.methods["rows"][row])

    @property
    def best_order(self) -> list[Any] | None:
        """The best order found, by the names of tasks or their numbers; None where it was not searched."""
        return None if self.order is None else named(self.order, self.tasks)

    def to_pandas(self, what: str | None = None) -> Any:
        """A `DataFrame` with one row per method (accuracy, range, gain, what supports it, bytes kept), or per remedy of the theory
        (`what="remedies"`): `remedy`, `forgetting`, `accuracy`, `cost`, `applies`, and more."""
        if what not in (None, "methods", "remedies"):
            raise ValueError(f"what is {what!r}; it must be methods or remedies")
        if self.methods is None or what == "remedies":
            return frame([{name: row[name] for name in COLUMNS} for row in self.remedies])
        return frame([{name: _of(row, name) for name in OF_METHODS} for row in self.methods["rows"]])

    def plot(self, ax: Any = None) -> Any:
        """Accuracy against memory for every method, beside it accuracy against examples kept (the first one into `ax`); without test
        data of classes forgetting against cost, replay as a curve."""
        return _plotting.remedies(self, ax) if self.methods is None else _plotting.advice(self, ax)

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        apart = [f"{row['remedy']} does not apply: {row['why']}." for row in self.remedies if not row["applies"]]
        return self.answer + self.theory + apart


def _of(row: dict[str, Any], name: str) -> Any:
    """A cell of the table of methods."""
    if name in ("low", "high"):
        return row["accuracy_interval"][name == "high"] if row.get("accuracy_interval") else None
    return row["support"]["kind"] if name == "support" else row.get(name)
