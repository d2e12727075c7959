"""What people do first: print, predict, save, compare, and give what they have."""

import inspect
import json

import numpy as np
import pytest

import ebbing


def test_settings_are_in_the_signature():
    parameters = inspect.signature(ebbing.forecast).parameters
    assert {"depth", "mode", "lam", "sigma2", "beta", "bootstrap", "shuffles", "ridge"} <= parameters.keys()
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    with pytest.raises(TypeError, match="unexpected keyword argument 'depht'"):
        ebbing.forecast([], depht=2)


def test_a_forecast_is_readable(make_tasks, tmp_path):
    told = ebbing.forecast(make_tasks(test=10))
    text = str(told)
    assert text == told.summary() and text.startswith("Forecast of 3 tasks")
    assert "Forgetting F" in text and told.answer[0].split(":")[0] in text.replace("\n", " ")
    told.save(tmp_path / "told.json")
    assert json.loads((tmp_path / "told.json").read_text())["seeds"] == 1
    told.report(tmp_path / "told.html")
    page = (tmp_path / "told.html").read_text()
    assert page.startswith("<!doctype html>") and "<li>" in page and "<script" not in page


def test_frames_of_pairs_and_accuracies(make_tasks):
    pytest.importorskip("pandas", reason="pandas is not installed")
    tasks = ebbing.TaskSequence(make_tasks(tasks=2, test=10), names=["digits", "letters"])
    told = ebbing.forecast(tasks, bootstrap=20, shuffles=20)
    frame = told.to_pandas()
    assert list(frame.index) == list(frame.columns) == ["digits", "letters"]
    assert frame.loc["digits", "digits"] == 0 and "e-" not in frame.to_string()
    pairs = told.to_pandas("pairs")
    assert pairs.index.tolist() == [(1, 2), (2, 1)]
    for name in ("f21", "f21_low", "f21_high", "f21_null_mean", "f21_null_sd", "f21_p"):
        assert np.isfinite(pairs[name]).all(), name
    assert (pairs["gamma_feature_p"] == 1).all()  # targets do not enter it
    accuracies = told.to_pandas("accuracies")
    assert accuracies.loc[("letters", "digits"), "test_accuracy"] == told.test_accuracy[1, 0]
    with pytest.raises(ValueError, match="forgetting, pairs or accuracies"):
        told.to_pandas("everything")
    pair = told.pair(1, 2).to_pandas()
    assert {"value", "low", "high", "null_mean", "null_sd", "p"} <= set(pair.columns)
    assert "p" in told.pair(1, 2)._repr_html_()


def test_networks_predict_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2, 20, 30))
    y = [rng.choice(["ape", "bee"], size=20), rng.choice(["cat", "dog"], size=20)]
    network = ebbing.SingleHead(list(zip(X, y)))
    assert (network.predict(X[1]) == y[1]).all() and (network.predict(X[0], t=1) == y[0]).all()
    heads = ebbing.MultiHead(list(zip(X, y)), alpha=0.5, lam=10.0)
    assert (heads.predict(X[1]) == y[1]).all()
    assert set(heads.predict(X[0], head=1)) <= {"ape", "bee"}
    real = ebbing.SingleHead([(X[0], rng.normal(size=20))])
    assert np.array_equal(real.predict(X[0]), real.mean(X[0]))


def test_a_seed_may_be_a_generator():
    draw = lambda seed: ebbing.tasks.permuted(tasks=2, p=20, p_test=0, seed=seed)[1].x  # noqa: E731
    assert np.array_equal(draw(np.random.default_rng(1)), draw(np.random.default_rng(1)))
    assert not np.array_equal(draw(np.random.default_rng(1)), draw(np.random.default_rng(2)))


def test_the_boundary_load_has_its_limit(make_tasks):
    (X1, y1), (X2, y2) = make_tasks(tasks=2)
    limit = ebbing.two_task_limit(X1, y1, X2, y2, alpha=[0.5, 1.0, 1.5])
    assert np.isinf(limit.u22[1]) and limit.d[1] == 0 and limit.f21[1] == 0
    assert np.isfinite(limit.u22[[0, 2]]).all() and limit.alpha.tolist() == [0.5, 1.0, 1.5]
    # Just below the boundary the readout grows as 1/(1 − α); its other factors are continuous.
    below = ebbing.two_task_limit(X1, y1, X2, y2, alpha=1 - 1e-6)
    assert below.u22 > 1e4 and abs(below.u11 - limit.u11[1]) < 1e-4 * below.u11


def test_classes_by_scikit_learn():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn.datasets import load_iris

    from ebbing.sklearn import WideNetworkClassifier

    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    fitted = WideNetworkClassifier().fit(X[::2], names[::2])
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert fitted.decision_function(X[1::2]).shape == (75, 3)
    assert fitted.score(X[1::2], names[1::2]) > 0.9
    two = WideNetworkClassifier().fit(X[:100:2], y[:100:2])
    assert two.decision_function(X[1:100:2]).shape == (50,) and two.score(X[1:100:2], y[1:100:2]) > 0.9
