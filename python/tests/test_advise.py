"""Advice, and replay in the forecast."""

import numpy as np
import pytest

import ebbing


def make_tasks(count=3, p=24, test=True, seed=1):
    rng = np.random.default_rng(seed)
    tasks = []
    for _ in range(count):
        teacher = rng.normal(size=15)
        sets = [rng.normal(size=(p, 15)) for _ in range(2 if test else 1)]
        tasks.append(tuple(part for X in sets for part in (X, np.sign(X @ teacher))))
    return tasks


def relu_kernel(X, Z):
    """K_GP of one hidden layer."""
    nx, nz = np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1)
    cos = np.clip(X @ Z.T / np.outer(nx, nz), -1, 1)
    angle = np.arccos(cos)
    return np.outer(nx, nz) / X.shape[1] / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * cos)


def test_replay_of_everything_is_learning_everything():
    tasks = make_tasks(2)
    F = ebbing.forecast(tasks, replay=24).forgetting
    # Interpolation: zero up to rounding, squared.
    assert F[1, 0] < 1e-18
    answer = ebbing.forecast(tasks, replay=24)
    X, y = (np.concatenate([task[k] for task in tasks]) for k in (0, 1))
    X_test, y_test = tasks[0][2:]
    f = relu_kernel(X_test, X) @ np.linalg.solve(relu_kernel(X, X), y)
    # A cosine from a plain product, and the condition number of 48 random inputs.
    assert answer.test_loss[1, 0] == pytest.approx(np.mean((f - y_test) ** 2), rel=1e-6)


def test_replay_forgets_less_and_none_changes_nothing():
    tasks = make_tasks()
    plain = ebbing.forecast(tasks)
    assert ebbing.forecast(tasks, replay=0) == plain
    final = [ebbing.forecast(tasks, replay=m).forgetting[2, :2].mean() for m in (4, 12, 20)]
    assert plain.forgetting[2, :2].mean() > final[0] > final[1] > final[2]
    lazy = ebbing.forecast(tasks, mode="lazy")
    assert lazy.forgetting.shape == (3, 3) and not np.allclose(lazy.forgetting, plain.forgetting)


def test_advice_is_a_table_with_sentences():
    tasks = make_tasks()
    answer = ebbing.advise(tasks, keep_forgetting_below=0.1)
    frame = answer.to_pandas("remedies")
    methods = answer.to_pandas()
    assert list(methods.columns[:2]) == ["method", "accuracy"] and methods.accuracy.between(0, 1).all()
    assert (answer.recommended is None) == str(answer.answer[0]).startswith("No gain")
    assert list(frame.columns[:5]) == ["remedy", "forgetting", "accuracy", "cost", "applies"]
    assert frame.applies.all() and frame.forgetting.is_monotonic_increasing
    nothing = frame[frame.remedy == "nothing"].iloc[0]
    plain = ebbing.forecast(tasks)
    # The same theory through another table of kernels: rounding.
    assert nothing.forgetting == pytest.approx(plain.forgetting[2, :2].mean(), rel=1e-8)
    assert nothing.accuracy == pytest.approx(plain.metrics.average_accuracy)
    kept = ebbing.forecast(tasks, replay=answer.examples_needed).forgetting[2, :2].mean()
    assert kept <= 0.1
    text = str(answer)
    assert "remedy" in text and ("Do this:" in text) != ("No gain that we can be sure of:" in text) and max(map(len, text.split("\n\n")[0].splitlines())) <= 80
    assert answer.plot()[0].get_ylabel() == "final accuracy (%)"


def test_several_draws_and_features():
    draws = [ebbing.TaskSequence(make_tasks(seed=seed)) for seed in (1, 2)]
    assert ebbing.advise(draws, theory=True).to_pandas("remedies").standard_error.notna().all()
    frame = ebbing.advise(make_tasks(), features=True, theory=True).to_pandas("remedies")
    assert not frame.applies.all() and frame[~frame.applies].why.str.contains("features are given").all()


@pytest.mark.parametrize(
    ("tasks", "settings", "words"),
    [
        (make_tasks(1), {}, "it holds 1 task"),
        (make_tasks(), {"budget": 30}, "budget is 30; must be at most 24"),
        (make_tasks(), {"keep_forgetting_below": -1.0}, "keep_forgetting_below is -1"),
        (make_tasks(), {"max_p": 1}, "max_p is 1"),
    ],
)
def test_bad_input_is_named(tasks, settings, words):
    with pytest.raises(ValueError, match=words):
        ebbing.advise(tasks, **settings)


def test_replay_of_more_than_there_is_is_named():
    with pytest.raises(ValueError, match="replay is 25; must be at most 24, the examples of task 1"):
        ebbing.forecast(make_tasks(), replay=25)


def test_readouts_at_a_width_and_the_range_of_orders():
    rng = np.random.default_rng(3)
    task = lambda p: (rng.normal(size=(p, 15)), np.sign(rng.normal(size=p)))
    tasks = [task(20) + task(10) for _ in range(2)]
    answer = ebbing.advise(tasks, width=12, order="best")
    rows = [row for row in answer.remedies if row["kind"] == "readouts"]
    assert len(rows) == 2 and all("N = 12" in row["remedy"] for row in rows)
    assert answer.orders["tried"] == 2
    assert answer.orders["forgetting"][0] <= answer.orders["forgetting"][1]
    with pytest.raises(ValueError, match="width is 0"):
        ebbing.advise(tasks, width=0)


def test_readouts_with_a_prior_or_a_bound_of_their_own():
    rng = np.random.default_rng(4)
    tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(2)]
    free, short = ebbing.MultiHead(tasks, alpha=1.5, lam=10.0), ebbing.MultiHead(tasks, alpha=1.5, lam=10.0, sigma_readout=0.2**0.5)
    assert short.u1[1, 1] < free.u1[1, 1]
    bounded = ebbing.MultiHead(tasks, alpha=1.5, readout_norm=2.0)
    assert np.isinf(ebbing.MultiHead(tasks, alpha=1.5).u1[1, 1])
    np.testing.assert_allclose(bounded.u1[1, 1], 2.0, rtol=1e-12)
    (x1, y1), (x2, y2) = tasks
    limit = ebbing.two_task_limit(x1, y1, x2, y2, alpha=[0.5, 1.5], readout_norm=2.0)
    np.testing.assert_allclose(np.asarray(limit.u22)[1], 2.0, rtol=1e-12)
    with pytest.raises(ValueError, match="readout_norm is -1"):
        ebbing.phase(tasks, alpha=1.5, readout_norm=-1.0)
    with pytest.raises(ebbing.OutsideTheory if hasattr(ebbing, "OutsideTheory") else ValueError, match="beta"):
        ebbing.phase(tasks, alpha=1.5, readout_norm=1.0, beta=10.0)
    sampled = ebbing.sample(tasks, width=10, beta=50.0, chains=2, warmup=20, draws=20, sigma_readout=0.1**0.5)
    assert sampled.u1.shape == (2, 2)
