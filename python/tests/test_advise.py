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
    F = ebbing.forecast(tasks, replay=24, order=False).forgetting
    # Interpolation: zero up to rounding, squared.
    assert F[1, 0] < 1e-18
    told = ebbing.forecast(tasks, replay=24, order=False)
    X, y = (np.concatenate([task[k] for task in tasks]) for k in (0, 1))
    X_test, y_test = tasks[0][2:]
    f = relu_kernel(X_test, X) @ np.linalg.solve(relu_kernel(X, X), y)
    # A cosine from a plain product, and the condition number of 48 random inputs.
    assert told.test_loss[1, 0] == pytest.approx(np.mean((f - y_test) ** 2), rel=1e-6)


def test_replay_forgets_less_and_none_changes_nothing():
    tasks = make_tasks()
    plain = ebbing.forecast(tasks)
    assert ebbing.forecast(tasks, replay=0) == plain
    final = [ebbing.forecast(tasks, replay=m, order=False).forgetting[2, :2].mean() for m in (4, 12, 20)]
    assert plain.forgetting[2, :2].mean() > final[0] > final[1] > final[2]
    lazy = ebbing.forecast(tasks, mode="lazy")
    assert lazy.forgetting.shape == (3, 3) and not np.allclose(lazy.forgetting, plain.forgetting)


def test_advice_is_a_table_with_sentences():
    tasks = make_tasks()
    told = ebbing.advise(tasks, keep_forgetting_below=0.1)
    frame = told.to_pandas()
    assert list(frame.columns[:5]) == ["remedy", "forgetting", "accuracy", "cost", "applies"]
    assert frame.applies.all() and frame.forgetting.is_monotonic_increasing
    nothing = frame[frame.remedy == "nothing"].iloc[0]
    plain = ebbing.forecast(tasks)
    # The same theory through another table of kernels: rounding.
    assert nothing.forgetting == pytest.approx(plain.forgetting[2, :2].mean(), rel=1e-8)
    assert nothing.accuracy == pytest.approx(plain.metrics.average_accuracy)
    kept = ebbing.forecast(tasks, replay=told.examples_needed, order=False).forgetting[2, :2].mean()
    assert kept <= 0.1
    text = str(told)
    assert "remedy" in text and "Do this:" in text and max(map(len, text.split("\n\n")[0].splitlines())) <= 80
    assert told.plot().get_ylabel() == "mean final forgetting"


def test_several_draws_and_features():
    draws = [ebbing.TaskSequence(make_tasks(seed=seed)) for seed in (1, 2)]
    assert ebbing.advise(draws).to_pandas().standard_error.notna().all()
    frame = ebbing.advise(make_tasks(), features=True).to_pandas()
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
