"""Advice: every row is the forecast that it names, recommendations improve what they are to improve, ranges ascend."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from doors import number
from judge import Answer, Case, final, law
from request import Request, Task, request
from sentences import BETWEEN, NUMBER, ascends, sentence, written

#: Rows are computed from kernels made once for all remedies, and come without digits: well-conditioned tasks agree to this.
AGREE = 1e-6


def drawn(case: Case, **more: Any) -> Request:
    """Small tasks, warm enough that every kernel is inverted well."""
    asked = request(case.chance, modes=("rf", "ntk", "lazy"), sizes=(8, 16), **more)
    return asked.but(ridge=None, beta=min(asked.beta, 300.0), depth=None if asked.features else asked.settings["depth"])


def rows(answer: Answer, kind: str) -> list[dict[str, Any]]:
    """The remedies of a kind that apply."""
    return [row for row in answer["remedies"] if row["kind"] == kind and row["applies"]]


def worsened(kind: str) -> Any:
    """Changes the forgetting of a kind of remedy."""

    def spoil(answer: Answer, chance: np.random.Generator) -> bool:
        for row in [] if "remedies" not in answer else rows(answer, kind):
            row["forgetting"] = row["forgetting"] * 1.1 + 0.05
            return True
        return False

    spoil.__name__ = f"forgetting of {kind}"
    return spoil


def agrees(case: Case, row: dict[str, Any], asked: Request) -> None:
    """A row is what the forecast of the same gives, accuracy included."""
    answer = case.numbers(case.doors.python(asked))
    case.same(f"{row['remedy']}: forgetting", row["forgetting"], final(answer["forgetting"]), AGREE)
    accuracy = answer["test_accuracy"] if asked.tested else answer["train_accuracy"]
    case.same(f"{row['remedy']}: accuracy", row["accuracy"], accuracy and float(np.mean(accuracy[-1])), AGREE)


@law(3, worsened("nothing"), worsened("order"), worsened("regime"))
def remedies_are_the_forecasts_that_they_name(case: Case) -> None:
    """Nothing, another order, another way of learning, depth, the best penalty: rows of advice and forecasts are one."""
    asked = drawn(case, features=False)
    answer = case.numbers(case.doors.advice(asked, order="best"))
    for row in rows(answer, "nothing"):
        agrees(case, row, asked)
    for row in rows(answer, "order"):
        order = [int(k) for k in re.findall(r"\d+", row["remedy"])]
        agrees(case, row, asked.of([asked.tasks[k - 1] for k in order]))
    for row in rows(answer, "regime"):
        mode = re.search(r"\((rf|ntk|lazy)\)", row["remedy"])
        case.holds(mode is not None, f"no mode in '{row['remedy']}'")
        agrees(case, row, asked.but(mode=mode[1]))
    for row in rows(answer, "depth"):
        agrees(case, row, asked.but(depth=int(row["remedy"].split()[-1])))
    for row in rows(answer, "penalty"):
        penalty = re.search(rf"λ = ({NUMBER})", row["remedy"])
        # A penalty in a name has the digits that it was chosen with.
        if penalty and "sigma" not in asked.settings:
            agrees(case, row, asked.but(**{"mode": "gibbs", "lambda": float(penalty[1])}))


@law(3, number("replay", 0.3), number("examples_needed", 5.0))
def replay_reaches_its_target(case: Case) -> None:
    """The points of replay are forecasts; where so many examples suffice they do, and where none do no number of them did."""
    asked = drawn(case)
    target = float(case.chance.choice([0.0, 0.1, 0.3])) or None
    answer = case.numbers(case.doors.advice(asked, keep_forgetting_below=target))
    examples = [point["examples"] for point in answer["replay"]]
    case.holds(examples == sorted(set(examples)), f"examples kept do not ascend: {examples}")
    for point in answer["replay"]:
        forecast = case.numbers(case.doors.python(asked.but(replay=int(point["examples"]))))
        case.same(f"replay of {point['examples']}", point["forgetting"], final(forecast["forgetting"]), AGREE)
    needed, reached = answer["examples_needed"], answer["target"]
    if needed is not None:
        at = [point["forgetting"] for point in answer["replay"] if point["examples"] == needed]
        case.holds(bool(at) and at[0] <= reached + 1e-12, f"{needed} examples leave {at}, the target is {reached}")
    else:
        least = min(point["forgetting"] for point in answer["replay"])
        case.holds(least > reached, f"{reached} is called out of reach, but {least} is reached")


@law(3, worsened("joint"))
def joint_training_is_one_task(case: Case) -> None:
    """Everything at once is one task of all examples: the accuracy of the bound is that of a forecast of it."""
    asked = drawn(case, features=False, kind="signs", columns=1, tested=True).but(beta=None)
    together = np.vstack([task.x for task in asked.tasks])
    case.needs(len(np.unique(together, axis=0)) == len(together) and asked.setting("mode", "rf") != "ntk")
    answer = case.doors.advice(asked)
    case.needs("refused" not in case.lasting(answer) and bool(rows(answer, "joint")))
    bound = rows(answer, "joint")[0]
    everything = Task(together, np.concatenate([t.y for t in asked.tasks]),
                      np.vstack([t.x_test for t in asked.tasks]), np.concatenate([t.y_test for t in asked.tasks]))  # fmt: skip
    alone = case.numbers(case.doors.python(asked.of([everything])))
    case.needs(alone["digits"] > 9)
    case.same("accuracy of the bound", bound["accuracy"], alone["test_accuracy"][0][0], AGREE)
    case.same("forgetting of the bound", bound["forgetting"], 0.0, AGREE)


#: How a recommendation begins: what is best without, and with, knowledge of the task.
BEGINS = ("Do this", "If the task is known at test time")
#: Gains that are written: points of accuracy, forgetting in place of another, an accuracy in place of another.
GAIN = rf"accuracy by ({NUMBER}) points"
INSTEAD = rf"Forgetting ({NUMBER}) instead of ({NUMBER})"
ENDS = r"(?<!fine-tuning )ends at (\d+) %"
PLAIN = r"fine-tuning ends at (\d+) %"


def recommended(case: Case, answer: Answer) -> list[tuple[str, dict[str, Any]]]:
    """Every recommendation, with its row."""
    found = []
    for begins in BEGINS:
        for said in [said for said in answer["sentences"] if said.startswith(f"{begins}: ")]:
            named = said.removeprefix(f"{begins}: ")
            row = [row for row in answer["remedies"] if row["applies"] and named.startswith(row["remedy"] + ".")]
            # Methods are followed by their memory or by how they end; of two that begin alike the longer name is meant.
            methods = [row for row in answer["methods"] if re.match(re.escape(row["method"]) + r"(\.| \(| ends )", named)]
            row += sorted(methods, key=lambda row: -len(row["method"]))
            case.holds(bool(row), f"no row of '{said}'")
            found.append((said, row[0]))
    return found


def useless(answer: Answer, chance: np.random.Generator) -> bool:
    """What is recommended ends where doing nothing does."""
    said = [said for said in answer.get("sentences", []) if said.startswith("Do this: ")]
    rows_ = [row for row in answer.get("remedies", []) if said and row["remedy"] + "." in said[0]]
    for row in rows_:
        nothing = rows(answer, "nothing")[0]
        row |= {"accuracy": nothing["accuracy"], "accuracy_gain": 0.0, "gain": 0.0, "forgetting": nothing["forgetting"]}
    methods = [row for row in answer.get("methods", []) if said and row["method"] in said[0]]
    for row in methods:
        row |= {"accuracy_gain": 0.0}
    return bool(rows_ or methods)


@law(5, written(BETWEEN), useless, sees="9")
def advice_improves_its_target(case: Case) -> None:
    """Ranges go from low to high. What is to be done gains accuracy where there are classes, by the forecast of trained networks
    where there is one, and forgets less where there are none; the numbers of the sentence are those of its row."""
    asked = drawn(case)
    answer = case.numbers(case.doors.advice(asked))
    ascends(case, answer)
    plain = [row for row in answer["methods"] if row["kind"] == "fine-tuning"]
    nothing = (plain or rows(answer, "nothing"))[0]
    for said, row in recommended(case, answer):
        if row["accuracy"] is None:
            case.holds(row["gain"] > 0, f"it spares {row['gain']} of forgetting: '{said}'")
        else:
            gain = row.get("accuracy_gain")
            gain = row["accuracy"] - nothing["accuracy"] if gain is None else gain
            case.holds(gain > 1e-9, f"it gains {gain:.3g} of accuracy: '{said}'")
        for value in re.findall(GAIN, said):
            case.holds(float(value) >= 0, f"it loses accuracy: '{said}'")
        for after, before in re.findall(INSTEAD, said):
            case.same("forgetting as said", float(after), row["forgetting"], 0.006)
            case.same("doing nothing as said", float(before), nothing["forgetting"], 0.006)
        # Whole per cent.
        for after in re.findall(ENDS, said):
            case.same("accuracy as said", float(after) / 100, row["accuracy"], 0.0051)
        for before in re.findall(PLAIN, said):
            case.same("accuracy of nothing as said", float(before) / 100, nothing["accuracy"], 0.0051)


def contradicted(answer: Answer, chance: np.random.Generator) -> bool:
    """Two accuracies for the same recommendation."""
    for k, said in enumerate(answer.get("sentences", [])):
        if said.startswith("Do this: "):
            answer["sentences"][k] = said + " Average accuracy 0.5. Average accuracy 0.6."
            return True
    return False


@law(4, contradicted, sees="9")
def one_accuracy_per_recommendation(case: Case) -> None:
    """What is to be done has one accuracy: the theory's does not stand beside a range of trained networks that excludes it."""
    asked = drawn(case, features=False, kind=str(case.chance.choice(["signs", "classes"])), tested=True)
    answer = case.numbers(case.doors.advice(asked.but(beta=30.0)))
    first = next((pair for pair in recommended(case, answer) if pair[0].startswith("Do this")), None)
    if first is None:
        # Nothing is recommended: one accuracy at most is expected.
        ranges = [said for said in answer["sentences"] if "average accuracy of" in said]
        case.holds(len(ranges) <= 2, f"{ranges}")
        return
    said, row = first
    own = [float(value) for value in re.findall(rf"verage accuracy (?:of )?({NUMBER})", said)]
    own += [float(after) / 100 for after in re.findall(ENDS, said)]
    case.holds(len(set(own)) <= 1, f"two accuracies: '{said}'")
    if own and row.get("expected") is not None:
        low, high = row["expected"]["accuracy_interval"]
        case.holds(
            low - 0.005 <= own[0] <= high + 0.005, f"'{said}', and trained networks are expected from {low} to {high}"
        )


@law(3, written(BETWEEN), number("orders", 0.5), sees="9")
def ranges_of_orders(case: Case) -> None:
    """The range of orders goes from low to high, in forgetting and in accuracy, and holds the best one."""
    asked = drawn(case, kind="signs", tested=True, count=3)
    answer = case.numbers(case.doors.advice(asked, order="best"))
    ascends(case, answer)
    case.needs(answer["orders"] is not None)
    best, worst = answer["orders"]["forgetting"]
    case.holds(best <= worst, f"the best order forgets {best}, the worst {worst}")
    if answer["orders"]["accuracy"] is not None:
        best, worst = answer["orders"]["accuracy"]
        case.holds(best >= worst, f"the best order has accuracy {best}, the worst {worst}")
    nothing, found = rows(answer, "nothing")[0], rows(answer, "order")
    low, high = answer["orders"]["forgetting"]
    for row in (nothing, *found):
        case.holds(low - 1e-9 <= row["forgetting"] <= high + 1e-9, f"{row['remedy']} lies outside of {low} to {high}")
    said = sentence(case, answer, "orders were tried")
    case.holds(said is not None, "no sentence")
