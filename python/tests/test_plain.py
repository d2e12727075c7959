"""Against the equations of small cases in plain NumPy."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import ebbing

spec = importlib.util.spec_from_file_location("plain", Path(__file__).with_name("plain.py"))
plain = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plain)

# Plain inverses of well-conditioned kernels of 20 examples leave about twelve digits.
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_kernels(make_tasks, depth):
    (X, _), (X2, _) = make_tasks(2)
    k, q = plain.nngp_and_ntk(X, X2, depth, 1.3)
    settings = {"depth": depth, "sigma": 1.3**0.5}
    np.testing.assert_allclose(ebbing.kernel(X, X2, **settings), k, **CLOSE)
    np.testing.assert_allclose(ebbing.kernel(X, X2, kind="ntk", **settings), q, **CLOSE)
    for t, s in ((2, 2), (3, 2), (4, 1)):
        k1, k0 = plain.two_time(X, X2, depth, t, s, 2.0, 1.3)
        m1, m0 = (m(t, s) for m in plain.prior(2.0, 1.3))
        times = {"t": t, "s": s, "lam": 2.0, **settings}
        np.testing.assert_allclose(ebbing.kernel(X, X2, kind="k1", **times), k1, **CLOSE)
        np.testing.assert_allclose(ebbing.kernel(X, X2, kind="k0", **times), k0, **CLOSE)
        np.testing.assert_allclose(ebbing.kernel(X, X2, kind="delta", **times), k1 - k0, **CLOSE)
        np.testing.assert_allclose(ebbing.kernel(X, X2, kind="ktilde", **times), m1 * k1 - m0 * k0, **CLOSE)


def test_a_kernel_of_a_set_with_itself_is_symmetric(make_tasks):
    ((X, _),) = make_tasks(1)
    K = ebbing.kernel(X, depth=3)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(K, ebbing.kernel(X, X, depth=3), rtol=1e-12)
    norms = (X**2).sum(1)
    np.testing.assert_allclose(
        ebbing.kernel(X, kind="derivative"), plain.slope(norms[:, None], norms[None], X @ X.T), **CLOSE
    )


@pytest.mark.parametrize("mode, lam", [("rf", np.inf), ("ntk", np.inf), ("gibbs", 2.0)])
@pytest.mark.parametrize("depth", [1, 3])
def test_single_head(make_tasks, mode, lam, depth):
    tasks = make_tasks(3)
    x = np.random.default_rng(5).normal(size=(7, 30))
    settings = {"mode": mode, "lam": lam, "depth": depth}
    network = ebbing.SingleHead(tasks, sigma=0.8**0.5, **settings)
    assert network.tasks == 3 and network.digits > 8
    for t in (1, 2, 3):
        mean, variance = plain.single_head(tasks, x, t, sigma2=0.8, **settings)
        np.testing.assert_allclose(network.mean(x, t), mean, **CLOSE)
        np.testing.assert_allclose(network.variance(x, t), variance, **CLOSE)
    np.testing.assert_allclose(np.diag(network.covariance(x)), network.variance(x), **CLOSE)
    forgetting, spread = network.forgetting(), network.forgetting(variance=True)
    for t in (1, 2, 3):
        for s, (X, y) in enumerate(tasks):
            mean, variance = plain.single_head(tasks, X, t, sigma2=0.8, **settings)
            assert forgetting[t - 1, s] == pytest.approx(((mean - y) ** 2).sum() / (y @ y), rel=1e-9, abs=1e-15)
            both = ((mean - y) ** 2 + variance).sum() / (y @ y)
            assert spread[t - 1, s] == pytest.approx(both, rel=1e-9, abs=1e-10)


def test_samples_have_the_mean_and_variance_of_the_theory(make_tasks):
    tasks = make_tasks(2)
    x = np.random.default_rng(5).normal(size=(4, 30))
    network = ebbing.SingleHead(tasks)
    n = 4000
    drawn = network.sample(x, n, seed=3)
    error = np.sqrt(network.variance(x) / n)
    # Four standard errors of a mean; relative standard error √(2/n) of a variance.
    assert np.all(np.abs(drawn.mean(0) - network.mean(x)) < 4 * error)
    assert np.all(np.abs(drawn.var(0) / network.variance(x) - 1) < 4 * np.sqrt(2 / n))
    assert np.array_equal(drawn, network.sample(x, n, seed=3))
    assert not np.array_equal(drawn, network.sample(x, n, seed=4))


def test_generalization(make_tasks):
    tasks = make_tasks(2, test=15)
    G = ebbing.SingleHead(tasks).generalization()
    for s, (X, y, x, y_test) in enumerate(tasks):
        loss = lambda f: ((f - y_test) ** 2).sum()
        alone = loss(plain.single_head([(X, y)], x, 1)[0])
        for t in (1, 2):
            f = plain.single_head([task[:2] for task in tasks], x, t)[0]
            assert G[t - 1, s] == pytest.approx(loss(f) / alone, rel=1e-9)


def test_order_parameters(make_tasks):
    (X1, y1), (X2, y2) = make_tasks(2)
    kernels = [plain.nngp_and_ntk(a, b, 2, 1.0)[0] for a, b in ((X1, X1), (X1, X2), (X2, X2))]
    want = plain.order_parameters(*kernels, y1, y2)
    for got in (
        ebbing.order_parameters(X1, y1, X2, y2, depth=2),
        ebbing.order_parameters_from_kernels(*kernels, y1, y2),
    ):
        for name, value in want.items():
            assert getattr(got, name) == pytest.approx(value, rel=1e-9, abs=1e-10), name
    kernels = [a @ b.T / 30 for a, b in ((X1, X1), (X1, X2), (X2, X2))]
    got = ebbing.order_parameters_from_features(X1, y1, X2, y2)
    for name, value in plain.order_parameters(*kernels, y1, y2).items():
        assert getattr(got, name) == pytest.approx(value, rel=1e-8, abs=1e-9), name


def test_random_features_forget_what_the_order_parameters_say(make_tasks):
    (X1, y1), (X2, y2) = tasks = make_tasks(2)
    f21 = ebbing.order_parameters(X1, y1, X2, y2).f21
    assert ebbing.SingleHead(tasks).forgetting()[1, 0] == pytest.approx(f21, rel=1e-9)
    assert ebbing.forecast(tasks).forgetting[1, 0] == pytest.approx(f21, rel=1e-9)


def test_first_factor_of_many_heads(make_tasks):
    tasks = make_tasks(1)
    (X, y), width = tasks[0], 15.0
    K = plain.nngp_and_ntk(X, X, 1, 0.7)[0]
    for lam in (3.0, np.inf):
        network = ebbing.MultiHead(tasks, width=width, lam=lam, sigma=0.7**0.5)
        assert network.u1[0, 0] == pytest.approx(plain.one_task_factor(K, y, width, 0.7), rel=1e-10)
        np.testing.assert_allclose(network.mean(X, 1), y, atol=1e-10)
        np.testing.assert_allclose(network.variance(X, 1), 0, atol=1e-10)


def test_a_fit_finds_the_curve_it_was_made_of():
    t = np.arange(1, 16)
    fit = ebbing.fit_forgetting(0.4 * (1 - np.exp(-(t - 1) / 10)))
    # Noiseless: rounding times τ/T.
    assert (fit.f_max, fit.tau) == (pytest.approx(0.4, rel=1e-10), pytest.approx(10, rel=1e-10))
    np.testing.assert_allclose(fit.at(t), 0.4 * (1 - np.exp(-(t - 1) / 10)), rtol=1e-10, atol=1e-15)
    assert set(fit.stderr) == {"f_max", "tau", "slope"} and fit.r2 == pytest.approx(1)
    assert ebbing.fit_forgetting([0, 0.1, 0.2, 0.3, 0.4]).shape == "linear"


def test_metrics_by_their_definitions():
    R = np.array([[0.9, 0.5, 0.4], [0.7, 0.8, 0.6], [0.6, 0.75, 0.85]])
    found = ebbing.metrics(R, untrained=[0.5, 0.45, 0.5], reference=[0.95, 0.9, 0.9])
    assert found.average_accuracy == pytest.approx(R[2].mean())
    assert found.backward_transfer == pytest.approx((R[2, :2] - np.diag(R)[:2]).mean())
    assert found.forward_transfer == pytest.approx(((0.5 - 0.45) + (0.6 - 0.5)) / 2)
    assert found.intransigence == pytest.approx((np.array([0.95, 0.9, 0.9]) - np.diag(R)).mean())
    assert found.forgetting_matrix[2, 0] == pytest.approx(0.3)
    chaudhry = ebbing.metrics(R, convention="chaudhry")
    assert chaudhry.forgetting == pytest.approx(((0.9 - 0.6) + (0.8 - 0.75)) / 2)
    lower = np.where(np.tri(3, dtype=bool), R, np.nan)
    assert ebbing.metrics(lower).backward_transfer == found.backward_transfer


def test_a_curve_is_the_theory_at_every_load(make_tasks):
    for count, settings in ((2, {"activation": "erf"}), (2, {"beta": 30.0}), (3, {"sigma": 0.7**0.5})):
        tasks = make_tasks(count, test=10)
        lam, alpha = [2.0, np.inf], [0.5, 1.4]
        curves = ebbing.phase(tasks, lam=lam, alpha=alpha, **settings).curves
        assert curves.f_t1.shape == (2, 2) and len(curves.to_pandas()) == 4
        for i, j in np.ndindex(2, 2):
            network = ebbing.MultiHead(tasks, lam=lam[i], alpha=alpha[j], **settings)
            assert curves.lam_used[i, j] == network.lam_used and curves.regime[i, j] == network.regime
            losses = {"f_t1": network.forgetting()[-1, 0], "u_tt": network.u1[-1, -1]}
            losses |= {"g_t1": network.generalization()[-1, 0], "g_tt": network.generalization()[-1, -1]}
            for name, want in losses.items():
                value, exponent = getattr(curves, name)[i, j], getattr(curves, f"{name}_exponent")[i, j]
                got = value * network.lam_used**exponent if exponent else value
                # Two routes to the same equations where there are two tasks: rounding times the kernels' condition.
                assert got == pytest.approx(want, rel=1e-8, abs=1e-12), (name, lam[i], alpha[j])
    single = ebbing.phase(tasks, lam=2.0, alpha=0.5, sigma=0.7**0.5).curves
    assert single.f_t1 == curves.f_t1[0, 0] and np.ndim(single.f_t1) == 0 and len(single.to_pandas()) == 1
    with pytest.raises(ValueError, match="lam is empty; must name at least one penalty"):
        ebbing.phase(tasks, lam=[], alpha=0.5)


def test_the_best_penalty_is_the_lowest_of_a_curve(make_tasks):
    tasks = make_tasks(2, test=10)
    for settings in ({"activation": "erf"}, {"beta": 30.0}):
        best = ebbing.best_lambda(tasks, alpha=1.5, low=0.1, high=1e4, **settings)
        curve = ebbing.phase(tasks, lam=best.tried["lam"], alpha=1.5, **settings).curves
        # The same equations by the same route.
        np.testing.assert_allclose(best.tried["g21"], curve.g_t1, rtol=1e-10)
        np.testing.assert_allclose(best.tried["g22"], curve.g_tt, rtol=1e-10)
        grid = ebbing.phase(tasks, lam=np.geomspace(0.1, 1e4, 11), alpha=1.5, **settings).curves
        assert max(best.g21, best.g22) <= np.maximum(grid.g_t1, grid.g_tt).min() * (1 + 1e-12)
    with pytest.raises(ValueError, match="lambda range"):
        ebbing.best_lambda(tasks, alpha=1.5, low=2.0, high=1.0)


def test_change_of_representations(make_tasks):
    """`ΔΦ(x)·ΔΦ(x') = −u0 Δk<v_2v_2>Δk` by inverses, with the factors of a large λ."""
    tasks = make_tasks(2)
    (X1, y1), (X2, y2) = tasks
    x, lam, alpha = X1[:5], 1e6, 4.0
    network = ebbing.MultiHead(tasks, lam=lam, alpha=alpha)
    k1 = lambda a, b, t, s: ebbing.kernel(a, b, t=t, s=s, lam=lam, kind="k1")
    delta = lambda a: ebbing.kernel(a, X2, t=2, s=2, lam=lam, kind="delta")
    u11, u12, u22, u0, d = *network.u1[0], network.u1[1, 1], network.u0[1, 1], network.d[1, 1]
    inverse, first = np.linalg.inv(d * k1(X2, X2, 2, 2) + u0 * delta(X2)), np.linalg.inv(k1(X1, X1, 1, 1))
    k21 = k1(X2, X1, 2, 1)
    spread = u22 * k1(X2, X2, 2, 2) - u12**2 / u11 * k21 @ first @ k21.T
    mean = inverse @ (y2 - u12 / u11 * k21 @ first @ y1)
    vv = 2 * inverse - inverse @ spread @ inverse - np.outer(mean, mean)
    want = -u0 * delta(x) @ vv @ delta(x).T
    limit = ebbing.MultiHead(tasks, alpha=alpha)
    got = limit.representation_change(x)
    # λ^(-1/2) = 1e-3 away from the limit, times a factor that grows towards transitions.
    assert np.abs(got - want).max() < 1e-2 * np.abs(want).max() and np.abs(want).max() > 1e-3
    with pytest.raises(ValueError, match="two tasks at lambda = beta = inf"):
        network.representation_change(x)


def test_variance_explained_by_least_squares():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
    y = X @ [1.0, -0.5, 0.2] + rng.normal(size=40)

    def r2(columns):
        A = np.column_stack([X[:, columns], np.ones(40)])
        return 1 - ((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2).sum() / ((y - y.mean()) ** 2).sum()

    found, whole = ebbing.variance_explained(X, y), r2([0, 1, 2])
    pve = np.array([(whole - r2([k for k in range(3) if k != j])) / whole for j in range(3)])
    # Rounding times the condition of the predictors.
    assert found.r2 == pytest.approx(whole, rel=1e-10)
    np.testing.assert_allclose(found.pve, pve, rtol=1e-9)
    np.testing.assert_allclose(found.share, pve / pve.sum(), rtol=1e-9)
