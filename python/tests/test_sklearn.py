"""The scikit-learn estimator is one."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ebbing
from ebbing.sklearn import WideNetworkClassifier, WideNetworkRegressor


@pytest.mark.parametrize("settings", [{}, {"depth": 3, "activation": "erf", "beta": 100.0}], ids=["relu", "erf"])
def test_is_an_estimator(settings):
    done = check_estimator(WideNetworkRegressor(**settings), on_skip=None)
    assert {check["status"] for check in done} <= {"passed", "skipped"} and len(done) > 40


def test_the_classifier_is_an_estimator():
    done = check_estimator(WideNetworkClassifier(), on_skip=None)
    assert {check["status"] for check in done} <= {"passed", "skipped"} and len(done) > 40


def test_answers_what_the_theory_says(make_tasks):
    X, y, x, _ = make_tasks(1, test=10)[0]
    network = WideNetworkRegressor(beta=50.0, constant=0.0, depth=2).fit(X, y)
    mean, deviation = network.predict(x, return_std=True)
    K, k = ebbing.kernel(X, depth=2), ebbing.kernel(x, X, depth=2)
    # One linear system of 20 well-conditioned equations on both sides.
    np.testing.assert_allclose(mean, k @ np.linalg.solve(K + np.eye(20) / 50, y), rtol=1e-10)
    direct = ebbing.SingleHead([(X, y)], depth=2, beta=50.0)
    np.testing.assert_allclose(deviation**2, direct.variance(x), rtol=1e-12)
    assert np.array_equal(pickle.loads(pickle.dumps(network)).predict(x), mean)


def test_lives_in_pipelines_and_searches():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    pipeline = make_pipeline(StandardScaler(), WideNetworkRegressor())
    search = GridSearchCV(pipeline, {"widenetworkregressor__depth": [1, 2]}, cv=3).fit(X[:90], y[:90])
    assert search.score(X[90:], y[90:]) > 0.7
