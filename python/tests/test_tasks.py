"""Data sets and the protocols that make tasks of them."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ebbing


def test_permuted():
    tasks = ebbing.tasks.permuted(length=3, examples=80, test_examples=40, seed=7)
    assert tasks.names == ["task 1", "task 2", "task 3"] and tasks.settings["seed"] == 7
    first, second, _ = tasks
    assert first.x.shape == (80, 784) and first.y.shape == (80,) and first.x_test.shape == (40, 784)
    assert set(np.unique(first.y)) == {-1.0, 1.0} and np.array_equal(first.y, second.y)
    # The same pixels in another order.
    assert not np.array_equal(first.x, second.x)
    np.testing.assert_array_equal(np.sort(first.x, axis=1), np.sort(second.x, axis=1))
    np.testing.assert_allclose((first.x**2).sum(1), 784, rtol=1e-10)
    again = ebbing.tasks.permuted("mnist-sample", length=3, examples=80, test_examples=40, seed=7)
    assert np.array_equal(again[2].x, tasks[2].x)
    untouched = ebbing.tasks.permuted(length=2, examples=10, ratio=0.0, test_examples=0)
    assert np.array_equal(untouched[0].x, untouched[1].x)


def test_split_and_partial_split():
    tasks = ebbing.tasks.split(length=2, examples=60, test_examples=20, groups=3, labels="one-hot")
    assert tasks[0].y.shape == (60, 3) and np.array_equal(tasks[0].y.sum(1), np.ones(60))
    one, two = ebbing.tasks.partial_split(ratio=1.0, examples=60, pairs=[[0, 1], [2, 3]])
    assert not {row.tobytes() for row in one.x} & {row.tobytes() for row in two.x}


def test_target_distractor():
    one, two = ebbing.tasks.target_distractor(length=2, examples=100, rho_target=1.0, rho_shared=0.5, seed=3)
    shared = {row.tobytes() for row in one.x} & {row.tobytes() for row in two.x}
    assert len(shared) == 50 and (one.y != 0).sum() == 10
    with pytest.raises(ValueError, match="rho_target"):
        ebbing.tasks.target_distractor(rho_target=0.9, rho_shared=0.01)


def test_steps_between_and_context():
    pair = ebbing.tasks.permuted(length=2, examples=40, test_examples=10)
    more = ebbing.tasks.interpolated(pair, intermediate=3)
    assert len(more) == 5 and np.array_equal(more[0].x, pair[0].x) and np.array_equal(more[4].x, pair[1].x)
    assert more.settings["interpolate"]["steps"] == 3 and more.settings["seed"] == 0
    extended = ebbing.tasks.with_context(pair, dim=10, renormalize=False)
    assert np.array_equal(extended[0].x[:, :784], pair[0].x)
    assert np.ptp(extended[0].x[:, 784:], axis=0).max() == 0
    own = [(np.eye(4), [1, -1, 1, -1]), (np.eye(4) + 1, [1, 1, -1, -1])]
    assert len(ebbing.tasks.interpolated(own)) == 3


def test_saved_and_loaded(tmp_path):
    tasks = ebbing.tasks.permuted(length=2, examples=20, test_examples=5)
    ebbing.tasks.save(tmp_path / "tasks.npz", tasks)
    again = ebbing.tasks.load(tmp_path / "tasks.npz")
    assert all(np.array_equal(a, b) for one, other in zip(tasks, again) for a, b in zip(one, other))
    x, y = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 2
    np.savez(tmp_path / "own.npz", x_1=x, y_1=y, x_2=x + 1, y_2=y)
    assert ebbing.tasks.load(tmp_path / "own.npz")[0].y.tolist() == (2 * y - 1).tolist()


def test_sequences_are_lists_and_pickled():
    tasks = ebbing.tasks.permuted(length=2, examples=20, test_examples=0)
    again = pickle.loads(pickle.dumps(tasks))
    assert isinstance(again, list) and again.names == tasks.names and again.settings == tasks.settings
    assert np.array_equal(again[1].x, tasks[1].x)
    assert repr(tasks) == "<2 tasks of 20 examples with 784 features>"


def test_data_sets():
    digits = ebbing.data.sample()
    assert len(digits) == 4000 and digits.image_shape == (28, 28)
    assert digits.y.shape == (4000,) and digits.x_test.shape == (1000, 784) and digits.y_test.max() == 9
    assert len(digits.settings["sha256"]) == 64
    again = pickle.loads(pickle.dumps(digits))
    assert np.array_equal(again.examples([3, 5]), digits.examples([3, 5]))
    raw = ebbing.data.sample(center="none", whiten=False, norm=False)
    assert raw.x.min() == 0 and raw.x.max() == 255


def test_a_set_by_name_is_prepared_once(monkeypatch):
    loaded = []
    monkeypatch.setattr(ebbing.tasks, "load_data", lambda name: loaded.append(name) or ebbing.data.sample())
    ebbing.tasks._by_name.cache_clear()
    try:
        draws = [ebbing.tasks.permuted("some-set", length=2, examples=10, test_examples=0, seed=seed) for seed in range(3)]
    finally:
        ebbing.tasks._by_name.cache_clear()
    assert loaded == ["some-set"] and not np.array_equal(draws[0][1].x, draws[1][1].x)


def test_protocols_have_the_words_and_the_tasks_of_the_program():
    made, few = ebbing.tasks, {"examples": 20, "test_examples": 10}
    for own, asked in (
        (made.permuted(length=2, first_unpermuted=True, **few), {"length": 2, "first_unpermuted": True}),
        (made.split(length=2, **few), {"protocol": "split", "length": 2}),
        (made.partial_split(ratio=0.2, **few), {"protocol": "partial-split", "ratio": 0.2}),
        (made.target_distractor(length=2, **few), {"protocol": "target-distractor", "length": 2}),
        (made.interpolated(made.permuted(length=2, **few), intermediate=2), {"length": 2, "intermediate": 2}),
    ):
        drawn = made.draw(**asked, **few)
        assert len(own) == len(drawn) and all(np.array_equal(a, b) for one, two in zip(own, drawn) for a, b in zip(one, two))
    assert ebbing.data.sample(center="none", whiten=False, norm=False).x.max() == 255
    with pytest.raises(TypeError, match="unexpected keyword argument 'p'"):
        made.permuted(p=6)
    with pytest.raises(ValueError, match="examples is 0; must be at least 1"):
        made.permuted(examples=0)


def test_classes_of_a_data_set_may_have_names():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), rng.integers(0, 3, size=60)
    names = np.array(["ape", "bee", "cat"])[y]
    named, numbered = ebbing.data.from_arrays(X, names, X[:20] + 1, names[:20]), ebbing.data.from_arrays(X, y, X[:20] + 1, y[:20])
    assert named.classes == ["ape", "bee", "cat"] and numbered.classes is None
    assert np.array_equal(named.y, y) and np.array_equal(named.y_test, y[:20])
    assert pickle.loads(pickle.dumps(named)).classes == named.classes
    assert set(ebbing.data.from_arrays(X, y > 0).y) == {0, 1} and np.array_equal(ebbing.data.from_arrays(X, y * 1.0).y, y)
    with pytest.raises(ValueError, match="give all in one way"):
        ebbing.data.from_arrays(X, names, X, y)


def test_arrays_as_a_data_set():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5, 4)), rng.integers(0, 4, size=200)
    own = ebbing.data.from_arrays(X, y, X[:50], y[:50], name="mine", center="pixel")
    tasks = ebbing.tasks.split(own, length=2, examples=40, test_examples=10)
    assert tasks[0].x.shape == (40, 20) and tasks.settings["data"]["dataset"] == "mine"
    assert np.array_equal(own.x[:50], own.x_test)
    other = ebbing.data.from_arrays(X + 1, y)
    assert other.settings["sha256"] != own.settings["sha256"]
    for bad in (y[:5], y + 0.5):
        with pytest.raises(ValueError):
            ebbing.data.from_arrays(X, bad)


def test_whitening():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6))
    white, other = ebbing.data.whiten(X, X[:7], center="pixel", norm=False, ridge=0.0)
    # ZCA of the training covariance itself: the identity up to rounding.
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(6), atol=1e-9)
    np.testing.assert_allclose(other, white[:7], atol=1e-9)
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    zca = (X - X.mean(0)) @ vectors @ np.diag(values**-0.5) @ vectors.T
    np.testing.assert_allclose(white, zca, atol=1e-8)


@pytest.mark.parametrize("data", ["mnist-sample", "mnist", "cifar100"])
def test_a_recipe_draws_what_its_protocol_draws(data, tmp_path):
    # The program's tests hold flags, recipes, studies and the library against each other in the same way.
    try:
        source = ebbing.data.load(data)
    except (ValueError, OSError) as error:
        pytest.skip(f"{data} is not on this machine: {error}")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'data = "{data}"\n[protocol]\nkind = "target-distractor"\ntasks = 2\np = 60\np_test = 0\nrho_shared = 0.6\n'
    )
    written = ebbing.tasks.load(recipe)
    drawn = ebbing.tasks.target_distractor(source, length=2, examples=60, test_examples=0, rho_shared=0.6)
    for one, other in zip(written, drawn, strict=True):
        assert one.x.tobytes() == other.x.tobytes() and one.y.tobytes() == other.y.tobytes()


def test_repeated_examples_are_left_out_of_any_source():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 5)), np.arange(30) % 2
    twice = ebbing.data.from_arrays(np.vstack([x, x[:4]]), np.concatenate([y, y[:4]]), whiten=False)
    assert len(twice) == 30 and twice.settings["repeated_examples_left_out"] == 4


def program(*words: str) -> dict:
    done = subprocess.run([sys.executable, "-m", "ebbing", *words, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_a_part_of_drawn_tasks_is_the_one_that_the_program_takes():
    size = {"length": 3, "examples": 40, "test_examples": 30}
    flags = ["--protocol", "permuted"] + [word for name, value in size.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    answer = program("forecast", *flags, "--max-p", "20", "--seed", "3", "--seeds", "2")
    tasks = [ebbing.tasks.permuted(**size, seed=seed) for seed in (3, 4)]
    own = ebbing.forecast(tasks, max_p=20)
    for t, row in enumerate(answer["forecast"]["forgetting"]["mean"]):
        assert own.forgetting[t, : t + 1].tolist() == row[: t + 1]
    # Tasks on the same images keep the same ones, and go on doing so when they are saved and read within Python.
    again = ebbing.forecast(pickle.loads(pickle.dumps(tasks)), max_p=20)
    assert np.array_equal(again.forgetting, own.forgetting, equal_nan=True)
    # The program's advice at another seed is on the same part, too.
    answer = program("advise", *flags, "--max-p", "20", "--seed", "3")
    advice = ebbing.advise(tasks[0], max_p=20)
    assert [row["forgetting"] for row in advice.remedies] == [row["forgetting"] for row in answer["advice"]["remedies"]]


def test_images_are_forgotten_where_inputs_were_changed():
    tasks = ebbing.tasks.permuted(length=2, examples=30, test_examples=0, ratio=0.0)
    plain = [(task.x.copy(), task.y) for task in tasks]
    assert tasks[0].rows.shape == (30, 2) and tasks.names and tasks[1:][0].rows is not None
    # Both tasks have the same inputs until one of them changes: what was drawn then no longer says which is which.
    for x in (tasks[1].x, plain[1][0]):
        x[:, 0] += np.arange(30)
    answer, expected = (ebbing.forecast(some, max_p=20) for some in (tasks, plain))
    assert np.array_equal(answer.forgetting, expected.forgetting, equal_nan=True)
