"""Intervals contain their estimate and lie within what is possible; p-values are shares."""

from __future__ import annotations

import ebbing
import numpy as np

from doors import ORDER_PARAMETERS, Answer
from judge import Case, law
from request import Request, log_uniform, request, tasks

#: What an order parameter can be at all.
POSSIBLE = {name: (-np.inf, np.inf) for name in ORDER_PARAMETERS}
POSSIBLE |= {"gamma_feature": (0.0, 1.0), "cos": (-1.0, 1.0)}
POSSIBLE |= {name: (0.0, np.inf) for name in ("gamma_rf", "f_pair", "f_pair_at_lambda_zero", "proj")}
#: A bound of what is possible is met to rounding.
ROUNDING = 1e-9


def shifted(answer: Answer, chance: np.random.Generator) -> bool:
    """Moves a lower end beyond its estimate."""
    if not answer.get("low"):
        return False
    name = str(chance.choice(ORDER_PARAMETERS))
    answer["low"][name] = answer["high"][name] + 0.1
    return True


def contained(case: Case, answer: Answer) -> None:
    """Every interval holds its estimate and nothing that cannot be."""
    for name in ORDER_PARAMETERS:
        value, low, high = answer["values"][name], answer["low"][name], answer["high"][name]
        slack = ROUNDING * max(1.0, abs(value))
        case.holds(low - slack <= value <= high + slack, f"{name} is {value:.4g}, its interval [{low:.4g}, {high:.4g}]")
        least, most = POSSIBLE[name]
        within = least - ROUNDING <= low and high <= most + ROUNDING
        case.holds(within, f"{name} can be {least} to {most}, its interval is [{low:.4g}, {high:.4g}]")


def resampled(case: Case, asked: Request, **words: int) -> Answer:
    """The order parameters of the first two tasks with intervals, or a refusal."""
    (one, two), ridge = asked.tasks[:2], asked.setting("ridge", 0.0)
    function = ebbing.order_parameters_from_features if asked.features else ebbing.order_parameters
    kept = ("depth", "activation", "sigma", "bias")
    network = {} if asked.features else {name: asked.settings[name] for name in kept if name in asked.settings}

    def found() -> Answer:
        answer = function(one.x, one.y, two.x, two.y, ridge=ridge, **network, **words)
        return {
            "values": answer.values(),
            "low": answer.low,
            "high": answer.high,
            "null": answer.null,
            "digits": answer.digits,
        }

    return case.numbers(case.doors.computed(found))


@law(4, shifted, sees="6")
def intervals_of_networks(case: Case) -> None:
    """Order parameters in the kernel of a network, all of them with their intervals."""
    contained(case, resampled(case, request(case.chance, features=False, tested=False, sizes=(12, 40)), bootstrap=20))


@law(6, shifted, sees="6")
def intervals_of_features(case: Case) -> None:
    """The same of features, half as many as trials too, where half of the examples have a kernel next to singular."""
    dim = int(case.chance.integers(3, 21))
    middle = max(8, 2 * dim + int(case.chance.integers(-3, 4)))
    sizes = (middle, middle) if case.chance.random() < 0.6 else (8, 40)
    made = tasks(case.chance, count=2, dim=dim, tested=False, sizes=sizes)
    ridge = {"ridge": log_uniform(case.chance, 1e-3, 1)} if case.chance.random() < 0.3 else {}
    contained(case, resampled(case, Request(made, ridge, True), bootstrap=int(case.chance.integers(20, 60))))


@law(3, lambda answer, chance: beyond(answer))
def p_values_are_shares(case: Case) -> None:
    """1/(B + 1) ≤ p ≤ 1, and the null's range ascends."""
    asked = request(case.chance, tested=False)
    null = resampled(case, asked.but(beta=None), shuffles=20)["null"]
    for name in ORDER_PARAMETERS:
        p = null["p_value"][name]
        case.holds(1 / 21 - 1e-12 <= p <= 1, f"the p-value of {name} is {p}")
        case.holds(null["low"][name] <= null["high"][name], f"the null of {name} goes from high to low")
        case.holds(null["deviation"][name] >= 0, f"a deviation of {name} is below 0")


def beyond(answer: Answer) -> bool:
    """A p-value above 1."""
    answer["null"]["p_value"]["gamma_rf"] = 1.5
    return True


@law(3, "low", "high", "values")
def intervals_of_a_forecast(case: Case) -> None:
    """A forecast of features reports of a pair the interval that its own function gives."""
    asked = request(case.chance, features=True, tested=False).but(beta=None)
    answer = case.numbers(case.doors.python(asked, bootstrap=20))
    alone = resampled(case, asked, bootstrap=20)
    # The first pair is drawn with the same numbers; rounding may grow where half samples are nearly singular.
    case.same("low", answer["intervals"]["1-2"]["low"], alone["low"], 1e-6)
    case.same("high", answer["intervals"]["1-2"]["high"], alone["high"], 1e-6)
    case.same("values", answer["pairs"]["1-2"], alone["values"], 1e-9)
