"""What must not matter: the order of examples, names of classes, rotations, scales, tasks that come later."""

from __future__ import annotations

import ebbing
import numpy as np

from judge import Case, core, law, lower, matrices, rounding
from request import INF, Request, Task, request

#: What one changed number of a forecast may be.
WATCHED = ("forgetting", "pairs")


def rotation(chance: np.random.Generator, size: int) -> np.ndarray:
    """A random orthogonal matrix."""
    return np.linalg.qr(chance.normal(size=(size, size)))[0]


def unchanged(case: Case, asked: Request, other: Request, what: str) -> None:
    """Both requests have the same core, to the rounding that the answers report."""
    one, two = case.numbers(case.doors.python(asked)), case.doors.python(other)
    case.both(what, one, two)
    # Accuracies count signs: of 40 outputs none lies within rounding of 0 by chance.
    case.same(what, core(one), core(two), rounding(one, two))


@law(8, *WATCHED, "test_loss")
def a_prefix_of_a_sequence(case: Case) -> None:
    """What is reported after t tasks does not depend on those that come later."""
    asked = request(case.chance)
    whole = case.numbers(case.doors.python(asked))
    count = len(asked.tasks) - 1
    case.needs(count >= 2)
    # A rule by which labels become columns looks at all tasks; these are columns already.
    part = case.numbers(case.doors.python(asked.of(asked.tasks[:count])))
    tolerance = rounding(whole, part)
    for name, rows in matrices(part).items():
        case.same(f"{name} of the first {count} tasks", lower(whole[name])[: len(rows)], rows, tolerance)
    case.same("pairs", {name: whole["pairs"][name] for name in part["pairs"]}, part["pairs"], tolerance)


@law(8, *WATCHED, "test_loss")
def permuted_examples(case: Case) -> None:
    """Rows have no order."""
    asked = request(case.chance)

    def mixed(task: Task) -> Task:
        test = None if task.x_test is None else case.chance.permutation(len(task.x_test))
        return task.rows(case.chance.permutation(len(task.x)), test)

    unchanged(case, asked, asked.of([mixed(task) for task in asked.tasks]), "rows in another order")


@law(8, *WATCHED, "test_loss")
def rotated_inputs(case: Case) -> None:
    """Kernels see products of inputs alone."""
    asked = request(case.chance)
    turn = rotation(case.chance, asked.tasks[0].x.shape[1])
    unchanged(case, asked, asked.of([task.mapped(x=lambda x: x @ turn) for task in asked.tasks]), "rotated inputs")


@law(6, *WATCHED)
def scaled_inputs(case: Case) -> None:
    """ReLU and linear networks without biases are homogeneous: at β = ∞ the scale of inputs cancels, that of weights too."""
    asked = request(case.chance, modes=("rf", "ntk", "lazy")).but(bias=None, ridge=None, beta=None)
    case.needs(asked.setting("activation", "relu") in ("relu", "linear"))
    factor = float(np.exp(case.chance.uniform(-3, 3)))
    unchanged(case, asked, asked.of([task.mapped(x=lambda x: factor * x) for task in asked.tasks]), "scaled inputs")


@law(6, *WATCHED, "test_loss")
def scaled_targets(case: Case) -> None:
    """Outputs are linear in all targets together, losses are relative to them."""
    asked = request(case.chance, kind="numbers")
    factor = float(case.chance.choice([-1.0, 3.7, 1e-3, -250.0]))
    other = asked.of([task.mapped(y=lambda y: factor * y) for task in asked.tasks])
    one, two = case.numbers(case.doors.python(asked)), case.doors.python(other)
    case.both("scaled targets", one, two)
    names = ("forgetting", "test_loss", "generalization")
    case.same("scaled targets", matrices(one, names), matrices(two, names), rounding(one, two))
    case.same("pairs", one["pairs"], two["pairs"], rounding(one, two))


@law(6, *WATCHED, "test_loss")
def rotated_targets(case: Case) -> None:
    """Columns of targets count by their products alone."""
    asked = request(case.chance, kind="numbers", columns=int(case.chance.integers(2, 4)))
    turn = rotation(case.chance, asked.tasks[0].y.shape[1])
    other = asked.of([task.mapped(y=lambda y: y @ turn) for task in asked.tasks])
    one, two = case.numbers(case.doors.python(asked)), case.doors.python(other)
    case.both("rotated targets", one, two)
    names = ("forgetting", "test_loss", "generalization")
    case.same("rotated targets", matrices(one, names), matrices(two, names), rounding(one, two))
    case.same("pairs", one["pairs"], two["pairs"], rounding(one, two))


@law(6, *WATCHED, "train_accuracy", "test_accuracy")
def renamed_classes(case: Case) -> None:
    """Classes go by any names, in any order."""
    asked = request(case.chance, kind="classes", columns=int(case.chance.integers(2, 4)))
    names = np.array(["ape", "bee", "cow"])
    others = case.chance.permutation(np.array(["zebra", "yak", "7"]))

    def called(task: Task, words: np.ndarray) -> tuple[np.ndarray, ...]:
        return task.mapped(y=lambda y: words[np.argmax(y, axis=1)]).given()

    one, two = (case.doors.of_tasks([called(task, words) for task in asked.tasks], asked) for words in (names, others))
    case.needs(case.both("renamed classes", one, two))
    case.same("renamed classes", core(one), core(two), rounding(one, two))


@law(5, *WATCHED)
def named_tasks(case: Case) -> None:
    """Tasks with names have the same numbers, to the last bit."""
    asked = request(case.chance)
    plain = case.numbers(case.doors.python(asked))
    named = {f"the {k}th": task.given() for k, task in enumerate(asked.tasks)}
    case.same("named tasks", core(plain), core(case.numbers(case.doors.of_tasks(named, asked))))


@law(6, "pairs")
def permuted_tasks(case: Case) -> None:
    """The order parameters of a pair do not depend on where its tasks stand among the others."""
    asked = request(case.chance)
    order = case.chance.permutation(len(asked.tasks))
    one = case.numbers(case.doors.python(asked))
    two = case.numbers(case.doors.python(asked.of([asked.tasks[k] for k in order])))
    place = {int(old) + 1: new + 1 for new, old in enumerate(order)}
    moved = {}
    for name in one["pairs"]:
        first, second = (place[int(k)] for k in name.split("-"))
        moved[name] = two["pairs"][f"{first}-{second}"]
    case.same("pairs of permuted tasks", one["pairs"], moved, rounding(one, two))


@law(6, "forgetting", "forgetting_error", "pairs", "test_loss")
def several_draws_are_averaged(case: Case) -> None:
    """The forecast of two sequences is the mean of theirs, with the standard error of two numbers."""
    asked = request(case.chance)
    other = asked.of([task.mapped(x=lambda x: x[:, ::-1].copy() + 0.1) for task in asked.tasks])
    one, two = case.numbers(case.doors.python(asked)), case.numbers(case.doors.python(other))
    draws = [ebbing.TaskSequence([task.given() for task in each.tasks]) for each in (asked, other)]
    both = case.numbers(case.doors.of_tasks(draws, asked))
    for name in ("forgetting", "test_loss", "pairs"):
        a, b = one[name], two[name]
        if a is None:
            continue
        case.same(f"mean {name}", both[name], averaged(a, b), 1e-12)  # one sum of two numbers
    error = np.abs(np.array(one["forgetting"]) - np.array(two["forgetting"])) / 2
    # A difference of nearly equal numbers: absolute.
    case.same("standard error", both["forgetting_error"], error, 1e-12 * (1 + float(np.max(one["forgetting"]))))


def averaged(a: object, b: object) -> object:
    """The mean of two answers, number by number."""
    if isinstance(a, dict) and isinstance(b, dict):
        return {key: averaged(a[key], b[key]) for key in a}
    return ((np.array(a) + np.array(b)) / 2).tolist()


@law(6, "forgetting", "test_loss", "train_accuracy", "test_accuracy")
def training_data_as_test_data(case: Case) -> None:
    """Held out or not, the same examples have the same loss and accuracy."""
    asked = request(case.chance, tested=False)
    answer = case.numbers(case.doors.python(asked.of([Task(t.x, t.y, t.x, t.y) for t in asked.tasks])))
    tolerance = rounding(answer)
    case.same("loss", lower(answer["forgetting"]), lower(answer["test_loss"]), tolerance)
    case.same("accuracy", lower(answer["train_accuracy"]), lower(answer["test_accuracy"]), tolerance)


@law(5, *WATCHED)
def the_same_task_again(case: Case) -> None:
    """A task that comes twice is not forgotten: interpolated, it is all there."""
    asked = request(case.chance, count=2, features=False, modes=("rf", "ntk", "lazy")).but(beta=None, ridge=None)
    answer = case.numbers(case.doors.python(asked.of([asked.tasks[0], asked.tasks[0]])))
    pair, tolerance = answer["pairs"]["1-2"], rounding(answer)
    case.same("forgetting", answer["forgetting"][1], [0.0, 0.0], tolerance)
    overlap = {"gamma_feature": 1.0, "f_pair": 0.0, "conflict": 0.0, "gamma_sim": 1.0, "cos": 1.0}
    case.same("pair", {name: pair[name] for name in overlap}, overlap, tolerance)


@law(4, *WATCHED)
def one_example_stands_for_its_copies(case: Case) -> None:
    """At a temperature, n copies of every example at β are one copy at n β."""
    asked = request(case.chance, modes=("rf", "lazy"), features=False, tested=False)
    case.needs(asked.beta < INF)
    twice = asked.of([Task(np.tile(t.x, (2, 1)), np.tile(t.y, (2,) + (1,) * (t.y.ndim - 1))) for t in asked.tasks])
    one = case.numbers(case.doors.python(asked.but(ridge=None)))
    two = case.numbers(case.doors.python(twice.but(ridge=None, beta=asked.beta / 2)))
    case.same("copies", lower(one["forgetting"]), lower(two["forgetting"]), rounding(one, two))
    names = ("gamma_rf", "gamma_rule", "conflict", "f_pair")
    for pair, values in one["pairs"].items():
        case.same(f"pair {pair}", *({n: v[n] for n in names} for v in (values, two["pairs"][pair])), rounding(one, two))
