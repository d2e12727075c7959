"""The same request at every door: the same numbers, to the last bit, or the same refusal."""

from __future__ import annotations

import re

import ebbing
import numpy as np

from doors import Answer, of_json
from judge import MATRICES, Case, core, law, lower, matrices, rounding
from request import Request, Task, request

#: What every door shows of a forecast.
SHOWN = (*MATRICES, "pairs", "f21_at_lambda_zero", "delta_f21", "digits")
#: One library computes behind them: not even rounding differs.
EXACT = 0.0


def drawn(case: Case, **more: object) -> Request:
    """A request that every door knows the words of."""
    return request(case.chance, **{"sizes": (8, 20), **more})


def agree(
    case: Case, what: str, one: Answer, other: Answer, names: tuple[str, ...] = SHOWN, tolerance: float = EXACT
) -> None:
    """Both answer with the same numbers, or both refuse."""
    if case.both(what, one, other):
        case.same(what, {name: one[name] for name in names}, {name: other[name] for name in names}, tolerance)


def agree_with_page(case: Case, what: str, one: Answer, page: Answer) -> None:
    """The same where the other is the page, which keeps factors for every order of the tasks: to rounding."""
    if case.both(what, one, page):
        case.same(what, core(one), core(page), rounding(one, page))


@law(6, "forgetting", "pairs", "test_loss")
def python_and_program(case: Case) -> None:
    """`ebbing.forecast` and `ebbing forecast`: matrices, order parameters, sentences."""
    asked = drawn(case)
    one, other = case.doors.python(asked), case.doors.program(asked)
    agree(case, "Python and program", one, other)
    if "refused" not in one:
        case.same("sentences", one["sentences"], [said.replace("--max-p", "max_p") for said in other["sentences"]])


@law(3, "depths", "lambdas", "worst")
def sweeps_of_python_and_program(case: Case) -> None:
    """Other depths and penalties, the worst pair."""
    asked = drawn(case, features=False).but(depths=[1, 2], lambdas=[3.0, 30.0])
    one, other = case.doors.python(asked), case.doors.program(asked)
    if case.both("Python and program", one, other):
        names = ("final_forgetting", "accuracy", "backward_transfer")
        rows = ([{name: row[name] for name in names} for row in answer["lambdas"]] for answer in (one, other))
        case.same("penalties", *rows, EXACT)
        case.same("depths", one["depths"], other["depths"], EXACT)
        # No pair may be worth a word.
        worst = (
            {name: (answer["worst"] or {}).get(name) for name in ("first", "second", "conflict")} for answer in (one, other)
        )
        case.same("the worst pair", *worst)


@law(3, "forgetting", "pairs")
def python_and_page(case: Case) -> None:
    """`ebbing.forecast` and the page, of a file that is dropped on it."""
    asked = drawn(case, features=False).but(ridge=None)
    agree_with_page(case, "Python and page", case.doors.python(asked), case.doors.page(asked))


@law(2, "forgetting", "train_accuracy")
def python_and_study(case: Case) -> None:
    """`ebbing.forecast` and a study of one cell."""
    asked = drawn(case)
    one, other = case.doors.python(asked), case.doors.study(asked)
    if case.both("Python and study", one, other):
        case.same("Python and study", matrices(one), matrices(other))


@law(2, "forgetting", sees="G")
def the_order_at_every_door(case: Case) -> None:
    """Tasks in another order: by a flag, by a study's key, by the page's address, and put so in Python."""
    asked = drawn(case, features=False, count=3).but(ridge=None)
    order = [int(k) + 1 for k in case.chance.permutation(3)]
    other = asked.but(order=order)
    one = case.doors.python(asked.of([asked.tasks[k - 1] for k in order]))
    for door in (case.doors.program, case.doors.study, case.doors.page):
        answer = door(other)
        if case.both(f"order {order} at the door {door.__name__}", one, answer):
            case.same(
                f"order {order}, {door.__name__}", lower(one["forgetting"]), lower(answer["forgetting"]), rounding(one)
            )


@law(3, "forgetting", "pairs", sees="F")
def a_part_of_the_examples(case: Case) -> None:
    """`max_p` takes the same examples as `--max-p`: of own tasks, and of tasks that share images."""
    most = int(case.chance.integers(5, 9))
    words = {"max_p": most, "beta": 30.0}
    if case.chance.random() < 0.3:
        asked = drawn(case, features=False)
        one = case.doors.python(asked.but(**words))
        other = case.doors.program(asked.but(**words), "--seeds=1")
    else:
        count, size = int(case.chance.integers(2, 4)), int(case.chance.integers(12, 30))
        drawing = {"length": count, "examples": size, "test_examples": 0}
        tasks = ebbing.tasks.permuted(**drawing, data=ebbing.data.sample(whiten=False))
        drawn_words = Request((), words)
        one = case.doors.of_tasks([tasks], drawn_words)
        flags = ["--protocol=permuted", "--no-whiten", f"--length={count}", f"--examples={size}", "--test-examples=0"]
        flags += [f"--max-p={most}", "--seeds=1", "--beta=30.0"]
        other = case.doors.json(
            ["forecast", "--json", "--quiet", *flags], lambda printed: of_json(printed["forecast"])
        )
    agree(case, f"max_p={most}", one, other, ("forgetting", "pairs"))


@law(2, "remedies", "replay", "target")
def advice_of_python_and_program(case: Case) -> None:
    """`ebbing.advise` and `ebbing advise`."""
    asked = drawn(case, modes=("rf", "ntk", "lazy"), sizes=(8, 12)).but(ridge=None)
    one, other = case.doors.advice(asked), case.doors.program_advice(asked)
    if case.both("advice", one, other):
        strip = [
            {k: row.get(k) for k in ("kind", "remedy", "forgetting", "accuracy", "cost", "applies")}
            for row in one["remedies"]
        ]
        rows = [
            {k: row.get(k) for k in ("kind", "remedy", "forgetting", "accuracy", "cost", "applies")}
            for row in other["remedies"]
        ]
        case.same("remedies", strip, rows, EXACT)
        case.same("replay", one["replay"], other["replay"], EXACT)
        case.same("target", one["target"], other["target"], EXACT)


def turned(answer: Answer, chance: np.random.Generator) -> bool:
    """A refusal in place of an answer, an answer in place of a refusal."""
    refused = "refused" in answer
    answer.clear()
    answer |= {"remedies": []} if refused else {"refused": "no"}
    return True


@law(2, turned, sees="G")
def advice_at_a_penalty(case: Case) -> None:
    """Advice on a network that learns at a penalty: every door advises on the same network, or refuses."""
    asked = drawn(case, features=False, modes=("gibbs",), sizes=(8, 12)).but(ridge=None)
    page = case.doors.page(asked, "advise")
    program = case.doors.program_advice(asked)
    if case.both("page and program", page, program):
        nothing = [row["forgetting"] for row in page["remedies"] if row["kind"] == "nothing"][0]
        answer = case.numbers(case.doors.page(asked))
        last = answer["forgetting"][-1][:-1]
        case.same("doing nothing is the forecast", nothing, float(np.mean(last)), 1e-6)
    mode = asked.but(**{"lambda": None})
    python = case.doors.computed(lambda: {"remedies": ebbing.advise(
        [t.given() for t in asked.tasks], **{k: v for k, v in mode.settings.items()}).remedies})  # fmt: skip
    case.both("mode gibbs in Python and program", python, case.doors.program_advice(mode))


@law(3, "forgetting", turned, sees="12")
def odd_tasks_at_every_door(case: Case) -> None:
    """Tasks of one class, of constant targets, with an input of zeros or an input twice: all doors say the same."""
    asked = drawn(case, kind="signs", columns=1, tested=False).but(ridge=None)
    kind = str(case.chance.choice(["one class", "constant", "zero input", "twice", "one example"]))
    tasks = [Task(t.x.copy(), t.y.ravel().copy()) for t in asked.tasks]
    odd = int(case.chance.integers(len(tasks)))
    if kind == "one class":
        tasks[odd].y[:] = 1.0
    elif kind == "constant":
        tasks[odd].y[:] = 0.7
    elif kind == "zero input":
        tasks[odd].x[int(case.chance.integers(len(tasks[odd].x)))] = 0.0
    elif kind == "twice":
        tasks[odd].x[1] = tasks[odd].x[0]
    else:
        tasks[odd] = Task(tasks[odd].x[:1], tasks[odd].y[:1])
    other = asked.of(tasks)
    one = case.doors.python(other)
    agree(case, f"{kind}: Python and program", one, case.doors.program(other), ("forgetting", "pairs"))
    if not asked.features:
        agree_with_page(case, f"{kind}: Python and page", one, case.doors.page(other))
    # An input of zeros has a bias that distinguishes it from others.
    if kind == "zero input" and asked.setting("bias", 0.0) > 0:
        case.holds(
            "refused" not in one, f"a zero input is refused beside biases of {asked.settings['bias']}: {one.get('refused')}"
        )


@law(4, lambda answer, chance: miscounted(answer), sees="12")
def rows_count_within_their_task(case: Case) -> None:
    """A row that is at fault goes by its task and by its place there, the same at every door."""
    asked = drawn(case, features=False, tested=False, kind="signs", columns=1).but(ridge=None, bias=None)
    tasks = [Task(t.x.copy(), t.y.ravel()) for t in asked.tasks]
    odd, row = int(case.chance.integers(len(tasks))), int(case.chance.integers(8))
    value = float(case.chance.choice([0.0, np.nan, np.inf]))
    if value == 0.0:
        tasks[odd].x[row] = 0.0
    else:
        tasks[odd].x[row, -1] = value
    answers = [door(asked.of(tasks)) for door in (case.doors.python, case.doors.program)]
    for door, answer in zip(("Python", "program"), answers):
        case.lasting(answer)
        case.needs("refused" in answer)
        said = answer["refused"]
        named = re.search(r"task (\d+)", said.replace("x_", "task "))
        found = re.search(r"row (\d+)", said)
        case.holds(found is not None, f"{door} names no row: {said}")
        case.holds(named is not None and int(named[1]) == odd + 1, f"{door} names not task {odd + 1}: {said}")
        case.holds(int(found[1]) == row + 1 or int(found[1]) == row, f"{door}: row {row + 1} of task {odd + 1}: {said}")
    places = [re.search(r"row (\d+)", answer["refused"])[1] for answer in answers]
    case.holds(places[0] == places[1], f"Python says row {places[0]}, the program row {places[1]}: {answers[1]['refused']}")


def miscounted(answer: Answer) -> bool:
    """A row that counts over all tasks."""
    if "refused" not in answer:
        return False
    answer["refused"] = re.sub(r"row (\d+)", lambda m: f"row {int(m[1]) + 60}", answer["refused"])
    return True


def read(printed: object, name: str) -> list:
    """A loss of the points of a curve, with the power of λ that it goes with."""
    return [[point[name]["coefficient"], point[name]["exponent"]] for point in printed["curves"][0]["points"]]


@law(2, "f21", "g22", "critical")
def phases_of_python_and_program(case: Case) -> None:
    """`ebbing.phase` and `ebbing phase`: losses and lengths against the load, and the critical load."""
    asked = drawn(case, features=False, count=2, kind="signs", columns=1, tested=True, sizes=(8, 14))
    loads = sorted(float(load) for load in case.chance.choice([0.3, 0.7, 1.6, 4.0], 2, replace=False))
    penalty = float(case.chance.choice([3.0, 100.0, np.inf]))
    path, tasks = case.doors.npz(asked.tasks), [task.given() for task in asked.tasks]

    def python() -> Answer:
        phase = ebbing.phase(tasks, alpha=loads, lam=penalty).to_dict()
        curves = phase["curves"]
        named = {"f21": "f_t1", "g21": "g_t1", "g22": "g_tt"}
        found = {name: [list(p) for p in zip(curves[own], curves[f"{own}_exponent"])] for name, own in named.items()}
        return found | {"critical": phase["critical"]["alpha_c"]}

    words = ["phase", "--json", "--quiet", f"--tasks={path}", f"--alpha={loads[0]!r},{loads[1]!r}", f"--lambda={penalty!r}"]
    one = case.doors.computed(python)
    other = case.doors.json(
        words,
        lambda printed: {name: read(printed, name) for name in ("f21", "g21", "g22")}
        | {"critical": printed["critical_load"]["alpha_c"]},
    )
    agree(case, "a readout each", one, other, ("f21", "g21", "g22", "critical"))


@law(1, "train_loss", "test_loss")
def networks_of_python_and_program(case: Case) -> None:
    """`ebbing.train` and `ebbing train`: the same network after the same steps."""
    asked = drawn(case, features=False, count=2, kind="signs", columns=1, tested=True, sizes=(8, 14))
    heads, width = str(case.chance.choice(["single", "multi"])), int(case.chance.integers(5, 20))
    path, tasks = case.doors.npz(asked.tasks), [task.given() for task in asked.tasks]
    names = ("train_loss", "test_loss")

    def python() -> Answer:
        trained = ebbing.train(tasks, learners=["l2"], kappa=0.1, width=width, max_steps=30, heads=heads)
        return {name: [row[: t + 1].tolist() for t, row in enumerate(getattr(trained, name))] for name in names}

    words = ["train", "--json", "--quiet", f"--tasks={path}", f"--width={width}", "--max-steps=30", f"--heads={heads}"]
    one = case.doors.computed(python)
    other = case.doors.json(
        [*words, "--learners=l2", "--kappa=0.1"],
        lambda printed: {name: printed["learners"][0]["runs"][0][name] for name in names},
    )
    agree(case, "networks", one, other, names)
