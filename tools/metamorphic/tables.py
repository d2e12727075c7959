"""What two tables show of one quantity is equal."""

from __future__ import annotations

from itertools import permutations

import ebbing
import numpy as np

from doors import order_parameters
from judge import Case, final, law, lower, rounding
from request import INF, Request, Task, request


@law(10, "depths", "pairs", "forgetting", sees="1, G")
def the_same_depth_twice(case: Case) -> None:
    """The row of a depth in the sweep is the forecast of that depth: its order parameters over consecutive pairs, F_21, the
    final forgetting and the fit."""
    asked = request(case.chance, features=False)
    depth = int(case.chance.integers(1, 4))
    main = case.numbers(case.doors.python(asked.but(depth=depth)))
    answer = case.doors.python(asked.but(depths=[depth]))
    case.both(f"depths=[{depth}]", main, answer)
    row, tolerance = answer["depths"][0], rounding(main)
    consecutive = [main["pairs"][f"{t}-{t + 1}"] for t in range(1, len(asked.tasks))]
    names = ("gamma_feature", "gamma_rf", "gamma_rule", "conflict", "gamma_sim", "cos", "proj")
    for name in (*names, "f_pair"):
        mean = float(np.mean([values[name] for values in consecutive]))
        found = order_parameters(row["order_parameters"])[name]
        case.same(f"{name} at depth {depth}, table of depths and main table", found, mean, tolerance)
    case.same("F_21", row["f21"], main["forgetting"][1][0], tolerance)
    case.same("final forgetting", row["final_forgetting"], final(main["forgetting"]), tolerance)


@law(5, "lambdas", "forgetting", "test_accuracy")
def the_same_penalty_twice(case: Case) -> None:
    """The row of a penalty in the sweep is the forecast in mode gibbs there."""
    asked = request(case.chance, features=False, kind="signs")
    penalty = float(case.chance.choice([0.0, 0.7, 12.0, 300.0]))
    main = case.numbers(case.doors.python(asked.but(**{"mode": "gibbs", "lambda": penalty})))
    answer = case.numbers(case.doors.python(asked.but(lambdas=[penalty])))
    row, tolerance = answer["lambdas"][0], rounding(main)
    case.same("final forgetting", row["final_forgetting"], final(main["forgetting"]), tolerance)
    accuracy = main["test_accuracy"] if asked.tested else main["train_accuracy"]
    case.same("accuracy", row["accuracy"], float(np.mean(accuracy[-1])), tolerance)


@law(3, "widths", "forgetting")
def the_same_width_twice(case: Case) -> None:
    """The row of a width in the sweep is the theory of a readout per task at that width."""
    asked = request(case.chance, features=False, modes=("rf", "gibbs"), count=2, kind="signs", columns=1, sizes=(10, 20))
    asked = asked.but(depth=1, bias=None, ridge=None, activation=None)
    width = int(case.chance.integers(8, 60))
    case.needs(all(len(task.x) != width for task in asked.tasks))
    answer = case.numbers(case.doors.python(asked.but(widths=[float(width)])))
    row = answer["widths"][0]
    case.needs(row["final_forgetting"] is not None)

    def heads() -> dict:
        words = {"lam": asked.setting("lambda", INF), "sigma": asked.setting("sigma", 1.0), "beta": asked.beta}
        theory = ebbing.MultiHead([task.given() for task in asked.tasks], width=width, **words)
        return {"forgetting": theory.forgetting().tolist(), "digits": theory.digits}

    alone = case.numbers(case.doors.computed(heads))
    # The factors are found to a residual of 1e-10; losses follow them at some hundred times that.
    case.same("final forgetting", row["final_forgetting"], alone["forgetting"][1][0], rounding(alone) + 1e-7)


@law(10, "pairs", "forgetting", sees="2")
def a_pair_is_the_forecast_of_its_two_tasks(case: Case) -> None:
    """F_pair is F_21 of the two tasks learned alone, in the same mode and at the same temperature; so is what it would be
    without the penalty."""
    asked = request(case.chance)
    answer = case.numbers(case.doors.python(asked))
    count = len(asked.tasks)
    first, second = (int(t) for t in case.chance.permutation(count)[:2])
    alone = case.doors.python(asked.of([asked.tasks[first], asked.tasks[second]]))
    case.both("the two tasks alone", answer, alone)
    pair, tolerance = answer["pairs"][f"{first + 1}-{second + 1}"], rounding(answer, alone)
    case.same("F_pair and F_21", pair["f_pair"], alone["forgetting"][1][0], tolerance)
    case.same("F_pair and F_21 at λ = 0", pair["f_pair_at_lambda_zero"], alone["f21_at_lambda_zero"], tolerance)
    case.same("ΔF_pair and ΔF_21", pair["delta_f_pair"], alone["delta_f21"], tolerance)


@law(6, "pairs", sees="2")
def order_parameters_by_their_own_function(case: Case) -> None:
    """`order_parameters` of two tasks gives what a forecast reports of the pair, and its difference adds up."""
    asked = request(case.chance, modes=("rf",)).but(beta=None)
    answer = case.numbers(case.doors.python(asked))
    first, second = asked.tasks[0], asked.tasks[1]
    given, ridge = (first.x, first.y, second.x, second.y), asked.setting("ridge", 0.0)
    words = {name: asked.settings[name] for name in ("depth", "activation", "sigma", "bias") if name in asked.settings}

    def alone() -> dict:
        one = ebbing.order_parameters_from_features if asked.features else ebbing.order_parameters
        found = one(*given, ridge=ridge, **words)
        return {"pairs": found.values(), "digits": found.digits}

    found = case.numbers(case.doors.computed(alone))
    case.same("the pair", answer["pairs"]["1-2"], found["pairs"], rounding(answer, found))
    pair = found["pairs"]
    tolerance = rounding(found)
    case.same("conflict", pair["conflict"], pair["gamma_rf"] - pair["gamma_rule"], tolerance)
    case.same("ΔF_pair", pair["delta_f_pair"], pair["f_pair"] - pair["f_pair_at_lambda_zero"], tolerance)
    case.same("γ_sim", pair["gamma_sim"], pair["gamma_feature"] + pair["cos"] ** 2 - pair["proj"], tolerance)
    case.holds(-tolerance <= pair["gamma_feature"] <= 1 + tolerance, f"γ_feature is {pair['gamma_feature']}")
    case.holds(min(pair["gamma_rf"], pair["f_pair"], pair["proj"]) >= 0, f"a sum of squares is below 0: {pair}")


@law(6, "order", "forgetting")
def the_best_order_is_the_best(case: Case) -> None:
    """Of up to four tasks every order is tried: none is better than the one reported, which has the forgetting reported."""
    asked = request(case.chance, count=int(case.chance.integers(2, 4)), tested=False)
    answer = case.numbers(case.doors.python(asked, order="best"))
    best, tolerance = answer["order"], rounding(answer)
    case.same("forgetting in the order given", best["given"], final(answer["forgetting"]), tolerance)
    case.same("gain", best["gain"], best["given"] - best["forgetting"], tolerance)
    for order in permutations(range(len(asked.tasks))):
        tried = case.numbers(case.doors.python(asked.of([asked.tasks[k] for k in order])))
        found, tolerance = final(tried["forgetting"]), rounding(answer, tried)
        if [k + 1 for k in order] == best["order"]:
            case.same("forgetting in the best order", best["forgetting"], found, tolerance)
        bound = best["forgetting"] - tolerance * max(1.0, found)
        case.holds(found >= bound, f"order {order} forgets {found}, the best one {best['forgetting']}")


@law(5, "test_accuracy", "metrics")
def metrics_are_those_of_the_matrix(case: Case) -> None:
    """Average accuracy and transfer by their definitions."""
    asked = request(case.chance, kind=str(case.chance.choice(["signs", "classes"])), tested=True)
    answer = case.numbers(case.doors.python(asked))
    case.needs(answer["metrics"] is not None)
    accuracy, found = np.array(answer["test_accuracy"]), answer["metrics"]
    learned = np.diag(accuracy)
    case.same("average accuracy", found["average_accuracy"], float(accuracy[-1].mean()), 1e-12)
    case.same("learning accuracy", found["learning_accuracy"], float(learned.mean()), 1e-12)
    transfer = float((accuracy[-1] - learned)[:-1].mean())
    case.same("backward transfer", found["backward_transfer"], transfer, 1e-12)


@law(5, "generalization", "test_loss")
def generalization_is_relative_to_learning_alone(case: Case) -> None:
    """G is the test loss over that of a network that learns the task alone."""
    asked = request(case.chance, tested=True)
    answer = case.numbers(case.doors.python(asked))
    s = int(case.chance.integers(len(asked.tasks)))
    alone = case.numbers(case.doors.python(asked.of([asked.tasks[s]])))
    for t in range(s, len(asked.tasks)):
        ratio = answer["test_loss"][t][s] / alone["test_loss"][0][0]
        case.same(f"G after {t + 1} on {s + 1}", answer["generalization"][t][s], ratio, rounding(answer, alone))


@law(5, "forgetting", "outputs")
def losses_are_those_of_the_outputs(case: Case) -> None:
    """F from the outputs that the theory itself answers, with the variance over networks where that is asked for."""
    asked = request(case.chance, features=False).but(ridge=None)
    variance = bool(case.chance.random() < 0.5)
    answer = case.numbers(case.doors.python(asked.but(variance=variance)))
    t = int(case.chance.integers(1, len(asked.tasks) + 1))
    words = {name: asked.settings[name] for name in asked.settings if name not in ("lambda", "ridge")}

    def outputs() -> dict:
        theory = ebbing.SingleHead([task.given() for task in asked.tasks], lam=asked.setting("lambda", INF), **words)
        means = [theory.mean(task.x, t).reshape(len(task.x), -1).tolist() for task in asked.tasks[:t]]
        spread = [theory.variance(task.x, t).tolist() for task in asked.tasks[:t]] if variance else None
        return {"outputs": means, "variances": spread, "digits": theory.digits}

    found = case.numbers(case.doors.computed(outputs))
    for s, task in enumerate(asked.tasks[:t]):
        y = task.y.reshape(len(task.y), -1)
        lost = float(((np.array(found["outputs"][s]) - y) ** 2).sum())
        if variance:
            lost += y.shape[1] * float(np.sum(found["variances"][s]))
        value = lost / float((y**2).sum())
        # A variance is a difference of numbers of order 1 and more: what is left of it is right as an absolute number.
        size = 1 + float(np.max(np.abs(found["variances"][s])) if variance else 0)
        case.same(f"F after {t} on {s + 1}", answer["forgetting"][t - 1][s], value, size * rounding(answer, found))


@law(4, "forgetting", "fit")
def the_fit_is_that_of_the_curve(case: Case) -> None:
    """The fit of the first task's curve is what `fit_forgetting` makes of the matrix's first column."""
    asked = request(case.chance, count=int(case.chance.integers(3, 6)), tested=False)
    answer = case.numbers(case.doors.python(asked))
    curve = [row[0] for row in answer["forgetting"]]
    found = case.numbers(case.doors.computed(lambda: {"fit": ebbing.fit_forgetting(curve).to_dict()}))
    case.same("the fit", answer["fit"], found["fit"])


@law(5, "forgetting", "train_accuracy")
def the_newest_task_is_learned(case: Case) -> None:
    """At β = ∞ training data of the newest task is interpolated, and so classified; losses are at least 0."""
    asked = request(case.chance, features=False).but(beta=None, ridge=None)
    answer = case.numbers(case.doors.python(asked))
    newest = np.diag(np.array(answer["forgetting"]))
    case.same("the newest task's loss", newest, np.zeros_like(newest), rounding(answer))
    case.holds(bool((np.array(answer["forgetting"]) >= 0).all()), "a loss is below 0")
    case.holds(0 < answer["digits"] <= 16, f"{answer['digits']} digits")
    if answer["train_accuracy"] is not None:
        case.same("its accuracy", np.diag(np.array(answer["train_accuracy"])), np.ones_like(newest), 0)


@law(3, "forgetting")
def a_bias_is_an_input(case: Case) -> None:
    """In a linear network of random features biases add σ_b² (1 + σ² + … + σ^(2L)) to σ² K_GP: a constant feature of that size."""
    asked = request(case.chance, features=False, modes=("rf",), kind="numbers", tested=False)
    asked = asked.but(activation="linear", ridge=None, beta=asked.beta if asked.beta < INF else 30.0, bias=0.5)
    depth, sigma2, dim = asked.setting("depth", 1), asked.setting("sigma", 1.0) ** 2, asked.tasks[0].x.shape[1]
    answer = case.numbers(case.doors.python(asked))
    kernel = [sigma2**depth, 0.25 * sum(sigma2**k for k in range(depth + 1)) / sigma2]

    def with_constant(task: Task) -> Task:
        scaled = np.sqrt(kernel[0] * (dim + 1) / dim) * task.x
        return Task(np.hstack([scaled, np.full((len(task.x), 1), np.sqrt(kernel[1] * (dim + 1)))]), task.y)

    features = Request(tuple(with_constant(task) for task in asked.tasks), {"beta": asked.beta}, features=True)
    other = case.numbers(case.doors.python(features))
    case.same("forgetting", lower(answer["forgetting"]), lower(other["forgetting"]), rounding(answer, other))
