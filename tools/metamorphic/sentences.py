"""Sentences against numbers: what is said is what the tables hold."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from judge import Answer, Case, final, law, rounding
from request import request

#: A number as it is written, with its power of ten.
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
#: What counts as hardly any forgetting: a conflict below 0.02 stands for F_pair of some 0.04, twice that for several tasks.
HARDLY = 0.1


def written(pattern: str = NUMBER) -> Callable[[Answer, np.random.Generator], bool]:
    """Changes a number in a sentence; of a range, its order."""

    def spoil(answer: Answer, chance: np.random.Generator) -> bool:
        said = answer.get("sentences") or []
        found = [(k, m) for k, sentence in enumerate(said) for m in re.finditer(pattern, sentence)]
        if not found:
            return False
        k, m = found[int(chance.integers(len(found)))]
        both = re.findall(NUMBER, m[0])
        new = f"between {both[1]} and {both[0]}" if len(both) == 2 else f"{float(m[0]) * 1.3 + 0.2:.3g}"
        said[k] = said[k][: m.start()] + new + said[k][m.end() :]
        return len(both) != 2 or both[0] != both[1]

    spoil.__name__ = f"sentences: {pattern}"
    return spoil


BETWEEN = f"between ({NUMBER}) and ({NUMBER})"


def sentence(case: Case, answer: Answer, begins: str) -> str:
    """The sentence that holds these words; it must be there."""
    found = [said for said in answer["sentences"] if begins in said]
    case.holds(len(found) == 1, f"one sentence must say '{begins}'; there are {len(found)} in {answer['sentences']}")
    return found[0]


def near(case: Case, what: str, said: str, value: float, answer: str) -> None:
    """A number that is written with three digits, or with those that its error leaves, stands for a value."""
    # Half a unit of the third digit.
    case.same(f"{what}, in '{answer}'", float(said), value, 0.006 * max(1e-3, abs(value)) if abs(value) < 1 else 0.006)


def ascends(case: Case, answer: Answer) -> None:
    """Every range goes from low to high."""
    for said in answer["sentences"]:
        for low, high in re.findall(BETWEEN, said):
            case.holds(float(low) <= float(high), f"a range goes from high to low: '{said}'")


@law(8, "forgetting", written(r"(?<=tasks is )" + NUMBER))
def the_fate_of_the_first_task(case: Case) -> None:
    """The forgetting of task 1 after the last is what the matrix holds."""
    asked = request(case.chance)
    answer = case.numbers(case.doors.python(asked))
    count = len(asked.tasks)
    said = sentence(case, answer, "Forecast training-loss forgetting F of task 1")
    found = re.search(rf"after {count} tasks is ({NUMBER})", said)
    case.holds(found is not None, f"no number in '{said}'")
    near(case, "F", found[1], answer["forgetting"][-1][0], said)
    case.holds(not any("NaN" in each or "inf " in each for each in answer["sentences"]), f"{answer['sentences']}")


@law(6, "f21_at_lambda_zero", written(r"(?<=would be )" + NUMBER))
def what_the_penalty_changes(case: Case) -> None:
    """What the penalty spares or adds is the difference of two numbers of the tables."""
    asked = request(case.chance)
    answer = case.numbers(case.doors.python(asked))
    said = sentence(case, answer, "Without the penalty")
    free = re.search(rf"would be ({NUMBER})", said)
    case.holds(free is not None, f"no number in '{said}'")
    near(case, "F at λ = 0", free[1], answer["f21_at_lambda_zero"], said)
    spared = answer["f21_at_lambda_zero"] - answer["forgetting"][1][0]
    if abs(spared) > rounding(answer):
        case.holds(("spares" in said) == (spared > 0), f"the penalty changes F_21 by {-spared}: '{said}'")


@law(10, lambda answer, chance: calmed(answer), sees="7")
def the_worst_pair_and_the_matrix(case: Case) -> None:
    """Where the worst pair is said to hardly disturb each other, nothing is forgotten: neither of a pair nor after the last."""
    asked = request(case.chance, sizes=(10, 40))
    answer = case.numbers(case.doors.python(asked))
    calm = [said for said in answer["sentences"] if "hardly disturb" in said]
    # A temperature leaves a loss of its own: what is forgotten is what a task has lost since it was learned.
    matrix = np.array(answer["forgetting"])
    lost = max(float(matrix[t, s] - matrix[s, s]) for t in range(len(matrix)) for s in range(t))
    if calm:
        case.holds(lost <= HARDLY, f"F grows by {lost:.3g} after a task was learned: '{calm[0]}'")
    worst = answer["worst"]
    if worst is not None and any("conflict most" in said for said in answer["sentences"]):
        said = sentence(case, answer, "conflict most")
        first, second = (int(k) for k in re.findall(r"(\d+)", said)[:2])
        case.same("the pair", [first, second], [worst["first"], worst["second"]])
        case.same("its conflict", worst["conflict"], answer["pairs"][f"{first}-{second}"]["conflict"], 1e-12)


def calmed(answer: Answer) -> bool:
    """Says of a forecast that forgets that nothing is disturbed."""
    if "sentences" not in answer or max(row[0] for row in answer["forgetting"]) < 2 * HARDLY:
        return False
    answer["sentences"] = ["Tasks 1 and 2 conflict most (conflict 0): they hardly disturb each other."]
    return True


@law(6, "order", written(r"(?<=instead of )" + NUMBER), written(r"(?<=mean final forgetting )" + NUMBER))
def the_best_order_in_words(case: Case) -> None:
    """The order that is recommended, what it forgets, and what that spares."""
    asked = request(case.chance, count=3, tested=False)
    answer = case.numbers(case.doors.python(asked, order="best"))
    order = answer["order"]
    if order["gain"] <= 0:
        near(case, "F", re.search(f"forgetting ({NUMBER})", sentence(case, answer, "given order is the best"))[1],
             final(answer["forgetting"]), "the given order")  # fmt: skip
        return
    said = sentence(case, answer, "The best order found")
    found = re.search(rf"final forgetting ({NUMBER}) instead of ({NUMBER}) \(({NUMBER}) % less", said)
    case.holds(found is not None, f"no numbers in '{said}'")
    near(case, "F in the best order", found[1], order["forgetting"], said)
    near(case, "F as given", found[2], final(answer["forgetting"]), said)
    case.holds(float(found[1]) <= float(found[2]), f"the best order forgets more: '{said}'")


@law(5, "lambdas", written(r"(?<=forgetting )" + NUMBER), sees="E")
def the_best_penalty_in_words(case: Case) -> None:
    """The penalty that is called the best has the best numbers of the sweep, and is not called so for another limit."""
    asked = request(case.chance, features=False, kind="numbers", tested=False, modes=("rf", "ntk"))
    answer = case.numbers(case.doors.python(asked.but(lambdas=[1.0, 100.0, 1e4, 1e6])))
    points = [point for point in answer["lambdas"] if point["final_forgetting"] is not None]
    case.needs(len(points) == 4)
    said = sentence(case, answer, "penalties tried")
    found = re.search(rf"the best is λ = ([\de.∞]+) \(forgetting ({NUMBER})", said)
    case.holds(found is not None, f"no penalty in '{said}'")
    best = min(points, key=lambda point: point["final_forgetting"])
    near(case, "its forgetting", found[2], best["final_forgetting"], said)
    named = [point for point in points if point["lambda"] == float(found[1].replace("∞", "inf"))]
    # Of two that are equal to rounding either may be named.
    case.same("the penalty", named[0]["final_forgetting"], best["final_forgetting"], 1e-9)


@law(5, "test_accuracy", written(r"(?<=average accuracy )" + NUMBER))
def accuracies_in_words(case: Case) -> None:
    """Average accuracy and learning accuracy are means of the matrix."""
    asked = request(case.chance, kind="signs", tested=True)
    answer = case.numbers(case.doors.python(asked))
    said = sentence(case, answer, "On test data after the last task")
    accuracy = np.array(answer["test_accuracy"])
    near(case, "average accuracy", re.search(f"average accuracy ({NUMBER})", said)[1], float(accuracy[-1].mean()), said)
    near(
        case, "learning accuracy", re.search(f"learning accuracy ({NUMBER})", said)[1], float(np.diag(accuracy).mean()), said
    )
