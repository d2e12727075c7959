"""What people do first: print, predict, save, compare, and give what they have."""

import importlib.util
import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ebbing


def test_settings_are_in_the_signature():
    parameters = inspect.signature(ebbing.forecast).parameters
    assert {"depth", "mode", "lam", "sigma", "beta", "bootstrap", "shuffles", "ridge"} <= parameters.keys()
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    with pytest.raises(TypeError, match="unexpected keyword argument 'depht'"):
        ebbing.forecast([], depht=2)


def test_a_forecast_is_readable(make_tasks, tmp_path):
    outcome = ebbing.forecast(make_tasks(test=10))
    text = str(outcome)
    assert text == outcome.summary() and text.startswith("Forecast for 3 tasks")
    assert "Test accuracy in %" in text and outcome.answer[0].split(":")[0] in text.replace("\n", " ")
    assert "forgetting F" in str(ebbing.forecast(make_tasks(test=10), theory=True))
    outcome.save(tmp_path / "outcome.json")
    assert json.loads((tmp_path / "outcome.json").read_text())["seeds"] == 1
    outcome.report(tmp_path / "outcome.html")
    page = (tmp_path / "outcome.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "<li>" in page and "<script" not in page


def test_frames_of_pairs_and_accuracies(make_tasks):
    pytest.importorskip("pandas", reason="pandas is not installed")
    tasks = ebbing.TaskSequence(make_tasks(tasks=2, test=10), names=["digits", "letters"])
    outcome = ebbing.forecast(tasks, bootstrap=20, shuffles=20)
    frame = outcome.to_pandas()
    assert list(frame.index) == list(frame.columns) == ["digits", "letters"]
    assert frame.loc["digits", "digits"] == 0 and "e-" not in frame.to_string()
    pairs = outcome.to_pandas("pairs")
    assert pairs.index.tolist() == [("digits", "letters"), ("letters", "digits")]
    for name in ("f_pair", "f_pair_low", "f_pair_high", "f_pair_null_mean", "f_pair_null_sd", "f_pair_p"):
        assert np.isfinite(pairs[name]).all(), name
    assert (pairs["gamma_feature_p"] == 1).all()  # targets do not enter it
    accuracies = outcome.to_pandas("accuracies")
    assert accuracies.loc[("letters", "digits"), "test_accuracy"] == outcome.test_accuracy[1, 0]
    with pytest.raises(ValueError, match="forgetting, pairs, accuracies, examples, lambdas or widths"):
        outcome.to_pandas("everything")
    pair = outcome.pair(1, 2).to_pandas()
    assert {"value", "low", "high", "null_mean", "null_sd", "p"} <= set(pair.columns)
    assert "p" in outcome.pair(1, 2)._repr_html_()


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


DRAWN = {
    "permuted": lambda tasks, seed: ebbing.tasks.permuted(length=2, examples=20, test_examples=0, seed=seed)[1].x,
    "train": lambda tasks, seed: ebbing.train(tasks, width=10, max_steps=5, seed=seed).weights[0],
    "sample": lambda tasks, seed: ebbing.sample(
        tasks, width=4, beta=10.0, chains=2, warmup=10, draws=10, seed=seed
    ).forgetting,
    "order_parameters": lambda tasks, seed: [
        *ebbing.order_parameters(*tasks[0], *tasks[1], bootstrap=20, seed=seed).low.values()
    ],
    "SingleHead.sample": lambda tasks, seed: ebbing.SingleHead(tasks).sample(tasks[0][0] + 1, 2, seed=seed),
}


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_may_be_a_generator(make_tasks, name, source):
    draw = lambda seed: np.asarray(DRAWN[name](make_tasks(2, p=10), source(seed)))  # noqa: E731
    assert np.array_equal(draw(1), draw(1)) and not np.array_equal(draw(1), draw(2))


def test_the_boundary_load_has_its_limit(make_tasks):
    (X1, y1), (X2, y2) = make_tasks(tasks=2)
    limit = ebbing.two_task_limit(X1, y1, X2, y2, alpha=[0.5, 1.0, 1.5])
    assert limit.critical.alpha_c == ebbing.critical_load(X1, y1, X2, y2).alpha_c
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


def test_the_package_brings_the_program(tmp_path):
    """`pip install ebbing` gives the command, with the same answers."""
    program = Path(sys.executable).with_name("ebbing")
    run = lambda *words: subprocess.run([program, *words], capture_output=True, text=True, cwd=tmp_path)
    version = run("--version")
    assert (version.returncode, version.stdout.split()) == (0, ["ebbing", ebbing.__version__])
    words = ["forecast", "--length", "2", "-p", "30", "--test-examples", "10", "--json"]
    outcome = run(*words)
    assert outcome.returncode == 0, outcome.stderr
    asked = json.loads(outcome.stdout)
    assert asked["metadata"]["command"] == "ebbing " + " ".join(words)
    as_module = subprocess.run([sys.executable, "-m", "ebbing", *words], capture_output=True, text=True, cwd=tmp_path)
    assert json.loads(as_module.stdout)["forecast"] == asked["forecast"]
    bad = run("forecast", "--depth", "0")
    assert bad.returncode == 2 and bad.stderr.startswith("ebbing: ") and bad.stdout == ""


def test_accuracy_among_a_tasks_own_classes():
    rng = np.random.default_rng(0)
    part = lambda p, classes: (rng.normal(size=(p, 20)), rng.choice(classes, size=p))
    tasks = [part(20, classes) + part(30, classes) for classes in ([0, 1], [2, 3])]
    outcome = ebbing.forecast(tasks)
    assert outcome.task_accuracy.shape == (2, 2)
    if importlib.util.find_spec("pandas"):
        assert outcome.to_pandas("accuracies").loc[(2, 1), "task_accuracy"] == outcome.task_accuracy[1, 0]
    # Fewer classes to choose from: never less often right.
    assert (outcome.task_accuracy >= outcome.test_accuracy).all() and outcome.task_accuracy[1, 0] > outcome.test_accuracy[1, 0]
    assert any("task-incremental" in sentence for sentence in outcome.theory)
    assert any("With the task known: " in sentence for sentence in outcome.answer)
    same = ebbing.forecast([part(20, [0, 1]) + part(10, [0, 1]) for _ in range(2)])
    assert same.task_accuracy is None
    assert outcome.expected is None and "20 features (measured: 256 to 1280)" in outcome.outside
    assert any(sentence.startswith("Not calibrated for data like yours: ") for sentence in outcome.answer)


def test_phase_places_two_tasks(make_tasks):
    tasks = make_tasks(test=10)
    outcome = ebbing.phase(tasks, pair=(1, 2), width=12, alpha=[0.5, 1.5])
    (x1, y1, *_), (x2, y2, *_) = tasks[0], tasks[1]
    assert outcome.critical.alpha_c == ebbing.critical_load(x1, y1, x2, y2).alpha_c
    assert outcome.regime in ("overfitting", "generalization") and outcome.best.lam > 0
    assert any("Load" in sentence for sentence in outcome.sentences())
    assert outcome.to_pandas().shape[0] == 2
    bounded = ebbing.phase(tasks, pair=(1, 2), alpha=[1.5], readout_norm=1.0)
    assert bounded.location is None and float(np.ravel(bounded.curves.g_tt_exponent)[0]) == 0.0
    with pytest.raises(ValueError, match=r"pair is \(1, 9\)"):
        ebbing.phase(tasks, pair=(1, 9))
    assert ebbing.phase(tasks, alpha=[0.5, 1.5]).critical is None


def test_files_of_matlab(tmp_path):
    io = pytest.importorskip("scipy.io", reason="SciPy is not installed")
    rng = np.random.default_rng(0)
    arrays = {f"x_{t}": rng.normal(size=(12, 5)) for t in (1, 2)}
    arrays |= {f"y_{t}": np.sign(rng.normal(size=12)) for t in (1, 2)}
    io.savemat(tmp_path / "tasks.mat", arrays)
    tasks = ebbing.tasks.load(tmp_path / "tasks.mat")
    np.testing.assert_array_equal(tasks[1][0], arrays["x_2"])
    np.testing.assert_array_equal(np.ravel(tasks[1][1]), arrays["y_2"])
    # The program reads the same file to the same numbers.
    words = ["forecast", "--tasks", str(tmp_path / "tasks.mat"), "--json"]
    done = subprocess.run([sys.executable, "-m", "ebbing", *words], capture_output=True, check=True)
    row = json.loads(done.stdout)["forecast"]["forgetting"]["mean"][1]
    assert ebbing.forecast(tmp_path / "tasks.mat").forgetting[1].tolist() == row
    io.savemat(tmp_path / "packed.mat", arrays, do_compression=True)
    assert all((a.x == b.x).all() for a, b in zip(ebbing.tasks.load(tmp_path / "packed.mat"), tasks))
    (tmp_path / "new.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(600))
    with pytest.raises(ValueError, match=r"new.mat: the format is that of MATLAB 7.3 \(HDF5\); only those that save -v7"):
        ebbing.tasks.load(tmp_path / "new.mat")
    io.savemat(tmp_path / "odd.mat", {"a": np.zeros(3)})
    with pytest.raises(ValueError, match="odd.mat"):
        ebbing.tasks.load(tmp_path / "odd.mat")


def test_biases_are_neural_tangents_biases(make_tasks):
    """σ_b² is added to the kernel of every layer, the readout's included; in units of the weights' variance."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6, 5)) * rng.uniform(0.5, 2.0, size=(6, 1))
    sigma2, bias2 = 1.4, 0.3
    K = sigma2 * X @ X.T / 5 + bias2
    T = K.copy()
    for _ in range(2):
        n = np.sqrt(np.outer(np.diag(K), np.diag(K)))
        angle = np.arccos(np.clip(K / n, -1, 1))
        slope = (np.pi - angle) / (2 * np.pi)
        K, T = n / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)), T * slope
        K, T = sigma2 * K + bias2, sigma2 * T
        T = T + K
    network = {"depth": 2, "sigma": sigma2**0.5, "bias": bias2**0.5}
    # arccos near 1 leaves half of the digits on the diagonal.
    np.testing.assert_allclose(sigma2 * ebbing.kernel(X, kind="nngp", **network), K, rtol=1e-7)
    np.testing.assert_allclose(sigma2 * ebbing.kernel(X, kind="ntk", **network), T, rtol=1e-7)
    tasks = make_tasks(2)
    kernel = ebbing.kernel(np.vstack([task[0] for task in tasks]), **network)
    sizes = np.cumsum([0, *(len(task[0]) for task in tasks)])
    rows = [(range(a, b), task[1]) for task, a, b in zip(tasks, sizes, sizes[1:])]
    given = ebbing.SingleHead.from_kernels(kernel, rows).forgetting()
    # Two ways of computing the same kernels, and a solve.
    np.testing.assert_allclose(ebbing.SingleHead(tasks, **network).forgetting(), given, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ebbing.forecast(tasks, **network).forgetting, given, rtol=1e-8, atol=1e-10)
    (X1, y1, *_), (X2, y2, *_) = tasks
    pair = ebbing.forecast(tasks, **network).pair(1, 2)
    assert ebbing.order_parameters(X1, y1, X2, y2, **network).f21 == pytest.approx(pair.f21, rel=1e-9)
    with pytest.raises(ValueError, match="bias is -1"):
        ebbing.kernel(X, bias=-1)


def test_gelu_is_the_mean_over_gaussians():
    from math import erf

    x, x2 = np.array([[1.0, 0.5, -0.2]]), np.array([[0.3, -0.4, 1.1]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / np.sqrt(2 * np.pi)
    gelu = np.vectorize(lambda z: 0.5 * z * (1 + erf(z / 2**0.5)))
    v, v2, c = (float(a @ b) / 3 for a, b in ((x[0], x[0]), (x2[0], x2[0]), (x[0], x2[0])))
    u, w = np.meshgrid(nodes, nodes, indexing="ij")
    other = c / v**0.5 * u + (v2 - c**2 / v) ** 0.5 * w
    want = np.sum(np.outer(weights, weights) * gelu(v**0.5 * u) * gelu(other))
    # Gauss-Hermite with 80 nodes on an entire function: what it leaves is below 1e-10.
    assert ebbing.kernel(x, x2, activation="gelu")[0, 0] == pytest.approx(want, rel=1e-10)


def test_penalties_and_widths_are_swept(make_tasks):
    tasks = make_tasks(2)
    outcome = ebbing.forecast(tasks, lambdas=[1, float("inf")], widths=[10])
    frame = outcome.to_pandas("lambdas")
    assert list(frame.index) == [1.0, float("inf")]
    gibbs = ebbing.SingleHead(tasks, mode="gibbs", lam=1.0).forgetting()
    assert frame["final_forgetting"][1.0] == pytest.approx(gibbs[1, 0], rel=1e-9)
    widths = outcome.to_pandas("widths")
    heads = ebbing.MultiHead(tasks, width=10, lam=1.0)
    assert widths["final_forgetting"][(10.0, 1.0)] == pytest.approx(heads.forgetting()[1, 0], rel=1e-9)
    with pytest.raises(ValueError, match="no widths were swept"):
        ebbing.forecast(tasks).to_pandas("widths")
