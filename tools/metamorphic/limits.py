"""Limits in β and λ, and theories that are the same in another's words."""

from __future__ import annotations

import ebbing
import numpy as np

from doors import number
from judge import Case, core, final, law, lower, matrices, rounding
from request import INF, Request, Task, log_uniform, request

#: A limit is met approximately: the self-test changes numbers by more than that.
COARSE = number("forgetting", 0.5)


def penalties(case: Case, asked: Request, values: list[float]) -> list[dict]:
    """Mode gibbs at several penalties."""
    return [case.lasting(case.doors.python(asked.but(**{"mode": "gibbs", "lambda": value}))) for value in values]


@law(10, COARSE, sees="E, 8")
def a_growing_penalty_has_a_limit(case: Case) -> None:
    """At a fixed temperature forgetting tends to what it is at λ = ∞, in the matrix and in the sweep; far out, too.

    Where K̃ ~ Q/λ has fallen below 1/β what is learned goes with β|Q|/λ: at 1e12 and more nothing is left of it. At β = ∞ the
    approach goes with λ^(-1/2): 1e-6 at 1e12, times the condition of the kernels.
    """
    asked = request(case.chance, features=False, modes=("gibbs",), tested=False, sizes=(8, 20)).but(ridge=None)
    # Every kernel must be inverted well, or the small change of it is not one of its inverse.
    large = log_uniform(case.chance, 1e12, 1e15)
    near, far, limit = penalties(case, asked, [large, 1e4 * large, INF])
    for answer in (near, far, limit):
        case.needs("refused" in answer or answer["digits"] > 8)
    if "refused" in near and "refused" in far and "refused" in limit:
        case.needs(False)
    case.both("λ = 1e4 times as large", near, far)
    # λ = ∞ may be refused at a temperature, where two orders of limits differ; a number must be the limit.
    if "refused" not in limit and "refused" not in near:
        for t in range(1, len(asked.tasks)):
            case.same(f"after task {t + 1}, λ = {large:g} and ∞", near["forgetting"][t], limit["forgetting"][t], 2e-3)
            case.same(f"after task {t + 1}, λ = {1e4 * large:g} and ∞", far["forgetting"][t], limit["forgetting"][t], 2e-3)


@law(5, number("lambdas", 0.5), sees="E")
def a_sweep_of_penalties_has_a_limit(case: Case) -> None:
    """λ = ∞ in a sweep is where the finite penalties of the sweep lead."""
    asked = request(case.chance, features=False, modes=("rf", "ntk"), tested=False, sizes=(8, 20)).but(ridge=None)
    large = log_uniform(case.chance, 1e12, 1e15)
    answer = case.lasting(case.doors.python(asked.but(lambdas=[large, 1e3 * large, INF])))
    case.needs("refused" not in answer and answer["digits"] > 8)
    found = [point["final_forgetting"] for point in answer["lambdas"]]
    case.needs(None not in found[:2])
    case.same("final forgetting, λ large and 1000 times as large", found[0], found[1], 2e-3)
    if found[2] is not None:
        case.same("final forgetting, λ large and ∞", found[1], found[2], 2e-3)


@law(4, "forgetting")
def endless_penalties_are_numbers_or_refused(case: Case) -> None:
    """Every penalty has numbers without NaN, or a sentence without one."""
    asked = request(case.chance, features=False, modes=("gibbs",), sizes=(8, 12))
    beyond = float(case.chance.choice([1e20, 1e60, 1e150, 1e300, 1.7e308, 1e-300, 5e-324, 1e-20]))
    answer = case.lasting(case.doors.python(asked.but(**{"lambda": beyond})))
    case.holds("NaN" not in answer.get("refused", ""), f"λ = {beyond:g} is refused with a NaN: {answer.get('refused')}")
    if "refused" not in answer:
        matrix = np.array(answer["forgetting"])
        case.holds(bool(np.isfinite(matrix).all()), f"λ = {beyond:g} gives {matrix.tolist()}")
        case.holds(bool((matrix >= 0).all()), f"λ = {beyond:g} gives a loss below 0: {matrix.tolist()}")
        again = case.numbers(case.doors.python(asked.but(**{"lambda": beyond})))
        case.same("the same request again", answer["forgetting"], again["forgetting"])


@law(6, "forgetting", "f21_at_lambda_zero", "delta_f21")
def without_a_penalty(case: Case) -> None:
    """What is reported of λ = 0 is what mode gibbs gives there, whatever the mode; the change is the difference."""
    asked = request(case.chance)
    answer = case.numbers(case.doors.python(asked))
    # A change that is zero within the accuracy of its terms is reported as 0.
    change = answer["forgetting"][1][0] - answer["f21_at_lambda_zero"]
    case.same("ΔF_21", answer["delta_f21"], change, rounding(answer))
    if not asked.features and asked.setting("mode", "rf") == "gibbs":
        free = case.numbers(case.doors.python(asked.but(**{"lambda": 0.0})))
        case.same("F_21 at λ = 0", answer["f21_at_lambda_zero"], free["forgetting"][1][0], rounding(answer, free))


@law(6, "forgetting", "pairs", "test_loss")
def no_temperature_is_a_small_one(case: Case) -> None:
    """β → ∞: the ridge 1/β moves a solution by its part of the smallest eigenvalue, which the digits bound from below."""
    asked = request(case.chance).but(ridge=None, beta=None)
    # The two limits do not commute: at any β a network of λ = ∞ learns nothing new, at β = ∞ it is that of mode ntk.
    case.needs(asked.setting("mode", "rf") != "gibbs" or asked.setting("lambda", INF) < INF)
    zero = case.numbers(case.doors.python(asked))
    # |δK⁻¹y| ≤ |K⁻¹y|/(βκ), κ the smallest eigenvalue, at least 10^(digits−16) of the largest: β = 1e18 of it leaves 1e-2
    # of rounding; times the digits that a sequence loses.
    case.needs(zero["digits"] > 9)
    warm = case.numbers(case.doors.python(asked.but(beta=1e14)))
    # What features cannot reach of a target has a readout that grows with β, and none at β = ∞: cos and proj, quotients by its
    # norm, have no limit there.
    if asked.features and any(len(task.x) > task.x.shape[1] for task in asked.tasks):
        for answer in (zero, warm):
            for pair in (answer["pairs"] or {}).values():
                [pair.pop(name) for name in ("cos", "proj", "gamma_sim")]
    case.same("β = 1e14 and ∞", core(zero), core(warm), 1e-4)


@law(5, "forgetting")
def a_hot_network_learns_nothing(case: Case) -> None:
    """β → 0: outputs stay 0, losses 1; outputs go with β|K|, far below 1e-6 here."""
    asked = request(case.chance)
    answer = case.numbers(case.doors.python(asked.but(beta=1e-10)))
    case.same("losses at β = 1e-10", answer["forgetting"], np.ones_like(answer["forgetting"]), 1e-5)


@law(6, "forgetting", "pairs", "test_loss", sees="3")
def a_ridge_is_a_temperature(case: Case) -> None:
    """1/β and the ridge stand at the same place, beside every task's own kernel: of inputs and of features."""
    asked = request(case.chance).but(ridge=None, beta=None)
    ridge = log_uniform(case.chance, 1e-3, 3)
    one = case.numbers(case.doors.python(asked.but(ridge=ridge)))
    two = case.numbers(case.doors.python(asked.but(beta=1 / ridge)))
    case.same(f"ridge {ridge:g} and β = {1 / ridge:g}", core(one), core(two), rounding(one, two))


@law(4, "forgetting", sees="3")
def a_large_ridge_learns_nothing(case: Case) -> None:
    """Outputs go with |K|/ridge: far below 1e-5 at 1e10."""
    asked = request(case.chance)
    answer = case.numbers(case.doors.python(asked.but(ridge=1e10)))
    case.same("losses at ridge 1e10", answer["forgetting"], np.ones_like(answer["forgetting"]), 1e-5)


@law(5, "forgetting", "pairs")
def gibbs_at_its_limit_is_ntk(case: Case) -> None:
    """At β = ∞ mode gibbs at λ = ∞ is mode ntk."""
    asked = request(case.chance, features=False).but(ridge=None, beta=None)
    one = case.numbers(case.doors.python(asked.but(**{"mode": "gibbs", "lambda": INF})))
    two = case.numbers(case.doors.python(asked.but(**{"mode": "ntk", "lambda": None})))
    case.same("gibbs at λ = ∞ and ntk", core(one), core(two), rounding(one, two))


@law(6, "forgetting", "pairs", "test_loss")
def linear_networks_are_their_inputs(case: Case) -> None:
    """A linear network without biases has K = σ^(2L) x·x'/N0, its tangent kernel L + 1 times that: at β = ∞ features."""
    asked = request(case.chance, features=False, modes=("rf", "ntk", "lazy"), dim=24, sizes=(8, 20))
    asked = asked.but(activation="linear", bias=None, ridge=None, beta=None)
    one = case.numbers(case.doors.python(asked))
    features = Request(asked.tasks, {}, features=True)
    two = case.numbers(case.doors.python(features))
    case.same("linear network and its inputs as features", core(one), core(two), rounding(one, two))


@law(5, "forgetting", "test_loss")
def padded_features_are_scaled(case: Case) -> None:
    """Neurons that are silent change K = ΦΦᵀ/N by their number alone, which β takes up."""
    asked = request(case.chance, features=True, kind="numbers")
    case.needs(asked.beta < INF)
    dim = asked.tasks[0].x.shape[1]
    padded = asked.of([task.mapped(x=lambda x: np.hstack([x, np.zeros_like(x)])) for task in asked.tasks])
    one, two = (case.numbers(case.doors.python(each)) for each in (asked, padded.but(beta=2 * asked.beta)))
    names = ("forgetting", "test_loss")
    case.same(f"{dim} silent neurons", matrices(one, names), matrices(two, names), rounding(one, two))


@law(6, "test_loss", "forgetting")
def replay_of_everything_is_joint_training(case: Case) -> None:
    """Where every example is learned again with every later task, the last network is that of one task of all examples."""
    asked = request(case.chance, features=False, modes=("rf", "lazy"), kind="numbers", tested=True)
    asked = asked.but(beta=None, ridge=None)
    size = min(len(task.x) for task in asked.tasks)
    asked = asked.of([task.rows(np.arange(size)) for task in asked.tasks])
    # Of equal inputs the newest target stands, where one task would have both.
    together = np.vstack([task.x for task in asked.tasks])
    case.needs(len(np.unique(together, axis=0)) == len(together))
    replayed = case.numbers(case.doors.python(asked.but(replay=size)))
    targets = np.concatenate([task.y for task in asked.tasks])
    for s, task in enumerate(asked.tasks):
        joint = Task(together, targets, task.x_test, task.y_test)
        alone = case.numbers(case.doors.python(asked.of([joint])))
        found, wanted = replayed["test_loss"][-1][s], alone["test_loss"][0][0]
        case.same(f"test loss of task {s + 1}", found, wanted, rounding(replayed, alone))
    case.same("training loss", final(replayed["forgetting"]), 0.0, rounding(replayed))


@law(4, "forgetting", "test_loss")
def no_replay_is_replay_of_nothing(case: Case) -> None:
    """No examples stored is the sequence itself, to the last bit."""
    asked = request(case.chance)
    one, two = case.numbers(case.doors.python(asked)), case.numbers(case.doors.python(asked.but(replay=0)))
    case.same("replay of 0", core(one), core(two))


@law(4, "forgetting")
def given_kernels_are_those_of_the_network(case: Case) -> None:
    """A forecast is that of the kernels that the package itself computes, given as features of the same products."""
    asked = request(case.chance, features=False, modes=("rf",), tested=False, kind="numbers", columns=1).but(ridge=None)
    answer = case.numbers(case.doors.python(asked))
    inputs = np.vstack([task.x for task in asked.tasks])
    words = {name: asked.settings[name] for name in ("depth", "activation", "sigma", "bias") if name in asked.settings}
    kernel = case.numbers(case.doors.computed(lambda: {"kernel": ebbing.kernel(inputs, **words).tolist()}))
    sigma2 = asked.setting("sigma", 1.0) ** 2
    ends = np.cumsum([0] + [len(task.x) for task in asked.tasks])
    given = [(range(a, b), task.y) for a, b, task in zip(ends, ends[1:], asked.tasks)]

    def matrix() -> dict:
        theory = ebbing.SingleHead.from_kernels(np.array(kernel["kernel"]), given, sigma=sigma2**0.5, beta=asked.beta)
        return {"forgetting": theory.forgetting().tolist(), "digits": theory.digits}

    other = case.numbers(case.doors.computed(matrix))
    case.same(
        "forgetting of given kernels", lower(answer["forgetting"]), lower(other["forgetting"]), rounding(answer, other)
    )
