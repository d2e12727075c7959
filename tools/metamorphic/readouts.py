"""A readout per task: residuals, symmetries, limits."""

from __future__ import annotations

import warnings

import ebbing
import numpy as np

from doors import Answer
from judge import Case, law
from request import INF, Request, Task, log_uniform, request

#: What docs/theory.md promises of every equation.
PROMISED = 1e-10
#: Losses of equations that are solved to a residual of 1e-10: the solution is off by that times its condition.
SOLVED = 1e-5


def heads(case: Case, tasks: "list[Task] | tuple[Task, ...]", **words: float) -> Answer:
    """The theory of a readout per task."""

    def found() -> Answer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theory = ebbing.MultiHead([task.given() for task in tasks], **words)
            answer = {"u1": theory.u1.tolist(), "u0": theory.u0.tolist(), "d": theory.d.tolist()}
            answer |= {"forgetting": theory.forgetting().tolist(), "residual": theory.residual, "digits": theory.digits}
            return answer | {"regime": theory.regime, "residuals": theory.residuals}

    return case.doors.computed(found)


def drawn(case: Case, count: int | None = None, sizes: tuple[int, int] = (8, 20)) -> tuple[Request, dict[str, float]]:
    """Two or three tasks with one column, and the settings of the theory."""
    asked = request(case.chance, features=False, count=count or int(case.chance.integers(2, 4)), kind="signs", columns=1,
                    tested=False, sizes=sizes)  # fmt: skip
    tasks = [Task(task.x, task.y.ravel()) for task in asked.tasks]
    words: dict[str, float] = {"alpha": log_uniform(case.chance, 0.1, 100 if case.chance.random() < 0.3 else 4)}
    words["lam"] = INF if case.chance.random() < 0.4 else log_uniform(case.chance, 0.3, 1e4)
    words["sigma"] = asked.setting("sigma", 1.0)
    if case.chance.random() < 0.3:
        words["beta"] = log_uniform(case.chance, 1, 1e3)
    case.needs(abs(words["alpha"] - 1) > 0.02)
    return asked.of(tasks), words


def raised(answer: Answer, chance: np.random.Generator) -> bool:
    """A residual above what is promised."""
    answer["residual"] = 1e-8
    return "u1" in answer


@law(5, raised, sees="8")
def residuals_are_as_promised(case: Case) -> None:
    """Every equation is solved to below 1e-10 of its terms, or there is an error; what is not solved has no numbers."""
    if case.chance.random() < 0.5:
        asked, words = drawn(case)
    else:
        # Far above the critical load of unrelated tasks roots lie in steep places.
        asked, words = drawn(case, 2, (30, 45))
        words = {"sigma": words["sigma"], "alpha": log_uniform(case.chance, 50, 500), "lam": INF}
    answer = case.numbers(heads(case, asked.tasks, **words))
    case.holds(answer["residual"] < PROMISED, f"the residual is {answer['residual']:.2e} at {words}: {answer['residuals']}")
    case.holds(not np.isnan(np.tril(np.array(answer["forgetting"], dtype=float))).any(), f"NaN at {words}")


@law(2, "forgetting", "u1")
def flipped_labels(case: Case) -> None:
    """All labels of the last task flipped: u1(s, T) changes its sign, losses stay."""
    asked, words = drawn(case, 2)
    flipped = [asked.tasks[0], Task(asked.tasks[1].x, -asked.tasks[1].y)]
    one, two = case.numbers(heads(case, asked.tasks, **words)), heads(case, flipped, **words)
    case.both("flipped labels", one, two)
    case.same("forgetting", one["forgetting"], two["forgetting"], SOLVED)
    turned = [[one["u1"][0][0], -one["u1"][0][1]], [-one["u1"][1][0], one["u1"][1][1]]]
    case.same("u1", turned, two["u1"], SOLVED)


@law(2, "forgetting", "u1")
def examples_of_readouts_have_no_order(case: Case) -> None:
    """Rows in another order, inputs turned."""
    asked, words = drawn(case)
    turn = np.linalg.qr(case.chance.normal(size=(asked.tasks[0].x.shape[1],) * 2))[0]
    other = []
    for task in asked.tasks:
        rows = case.chance.permutation(len(task.x))
        other.append(Task(task.x[rows] @ turn, task.y[rows]))
    one, two = case.numbers(heads(case, asked.tasks, **words)), heads(case, other, **words)
    case.both("rows in another order", one, two)
    for name in ("forgetting", "u1"):
        case.same(name, one[name], two[name], SOLVED)


@law(2, "u1")
def earlier_readouts_stay(case: Case) -> None:
    """Step T leaves the factors of earlier steps untouched."""
    asked, words = drawn(case, 3)
    # The load is that of the newest task: a width is the same for both.
    words["width"] = len(asked.tasks[-1].x) / words.pop("alpha")
    words["lam"] = min(words["lam"], 100.0)
    case.needs(all(abs(len(task.x) / words["width"] - 1) > 0.02 for task in asked.tasks))
    three = case.numbers(heads(case, asked.tasks, **words))
    two = case.numbers(heads(case, asked.tasks[:2], **words))
    case.same("u1", [row[:2] for row in three["u1"][:2]], two["u1"], SOLVED)
    case.same("forgetting", [row[:2] for row in three["forgetting"][:2]], two["forgetting"], SOLVED)


@law(2, "forgetting")
def the_same_task_with_two_readouts(case: Case) -> None:
    """Equal tasks at λ → ∞ and β = ∞: nothing is forgotten, u1(2,2) = u1(1,1) for α > 1 and below."""
    asked, words = drawn(case, 2)
    words = {name: value for name, value in words.items() if name != "beta"} | {"lam": INF}
    answer = case.numbers(heads(case, [asked.tasks[0], asked.tasks[0]], **words))
    case.same("F_21", answer["forgetting"][1][0], 0.0, SOLVED)


@law(2, "critical")
def critical_loads_see_products_alone(case: Case) -> None:
    """α_c does not change with rows, rotations, scales and signs, and γ_sim is that of the order parameters."""
    asked, _ = drawn(case, 2)
    turn = np.linalg.qr(case.chance.normal(size=(asked.tasks[0].x.shape[1],) * 2))[0]

    def load(one: Task, two: Task) -> Answer:
        words = ("alpha_c", "gamma_sim", "gamma_feature", "cos", "proj")

        def found() -> Answer:
            answer = ebbing.critical_load(one.x, one.y, two.x, two.y)
            return {"critical": {name: float(getattr(answer, name)) for name in words}}

        return case.numbers(case.doors.computed(found))

    first, second = asked.tasks
    one = load(first, second)["critical"]
    two = load(Task(first.x @ turn, first.y), Task((second.x @ turn)[::-1].copy(), second.y[::-1].copy()))["critical"]
    case.same("critical load", one, two, SOLVED)
    pair = case.numbers(
        case.doors.computed(lambda: {"pairs": ebbing.order_parameters(first.x, first.y, second.x, second.y).values()})
    )["pairs"]
    for name in ("gamma_sim", "gamma_feature", "cos", "proj"):
        case.same(name, one[name], pair[name], SOLVED)
