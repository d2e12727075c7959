"""Results as dictionaries, tables, pictures and pickles."""

import json
import pickle

import numpy as np
import pytest

import ebbing


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(2)
    part = lambda p: (rng.normal(size=(p, 20)), np.sign(rng.normal(size=p)))
    tasks = [part(16) + part(9) for _ in range(4)]
    pair = tasks[0][:2] + tasks[1][:2]
    small = [(X[:6], y[:6]) for X, y, *_ in tasks[:2]]
    return {
        "order_parameters": ebbing.order_parameters(*pair),
        "with intervals": ebbing.order_parameters(*pair, bootstrap=20, shuffles=20),
        "limit": ebbing.two_task_limit(*pair, alpha=1.5),
        "limits": ebbing.two_task_limit(*pair, alpha=np.geomspace(0.2, 5, 8)),
        "critical": ebbing.critical_load(*pair),
        "curves": ebbing.phase(tasks[:2], lam=[5.0, np.inf], alpha=np.geomspace(0.2, 5, 4)).curves,
        "curve": ebbing.phase(tasks[:3], lam=5.0, alpha=[0.5, 1.5]),
        "best": ebbing.best_lambda(tasks[:2], alpha=1.5, low=0.1, high=100.0),
        "explained": ebbing.variance_explained(tasks[0][0][:, :3], tasks[0][1]),
        "forecast": ebbing.forecast(tasks, depths=[2], order="best"),
        "one task": ebbing.forecast(tasks[:1]),
        "seeds": ebbing.forecast([ebbing.TaskSequence(tasks), ebbing.TaskSequence(tasks[::-1])]),
        "fit": ebbing.fit_forgetting([0, 0.3, 0.4, 0.45, 0.47]),
        "metrics": ebbing.metrics([[0.9, 0.5], [0.7, 0.8]]),
        "trained": ebbing.train(tasks, width=50, max_steps=500),
        "sampled": ebbing.sample(small, width=8, beta=20.0, chains=2, warmup=20, draws=20),
    }


NAMES = (
    ["order_parameters", "with intervals", "limit", "limits", "critical", "forecast", "one task", "seeds", "fit"]
    + ["metrics", "trained", "sampled", "curves", "curve", "best", "explained"]
)


@pytest.mark.parametrize("name", NAMES)
def test_every_result(results, name):
    result = results[name]
    reported = result.to_dict()
    assert set(reported) == set(vars(result))
    json.dumps(reported)
    again = pickle.loads(pickle.dumps(result))
    assert again == result and type(again) is type(result)
    assert type(result).__name__ in repr(result) and len(repr(result)) < 1500
    page = result._repr_html_()
    assert page.count("<table") == page.count("</table>") >= 1 and "<script" not in page


@pytest.mark.parametrize("name", NAMES)
def test_tables(results, name):
    pandas = pytest.importorskip("pandas")
    table = results[name].to_pandas()
    assert isinstance(table, (pandas.DataFrame, pandas.Series)) and len(table)


@pytest.mark.parametrize("name", NAMES)
def test_pictures(results, name, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    drawn = results[name].plot()
    figure = np.ravel(drawn)[0].figure
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 2000
    _, ax = plt.subplots()
    assert results[name].plot(ax=ax) is ax
    plt.close("all")


def test_forgetting_is_indexed_after_task_on_task(results):
    reported = results["forecast"]
    frame_like = reported.forgetting
    assert frame_like.shape == (4, 4)
    # The newest task is learned exactly; an earlier one is not, and a later one is not yet.
    assert np.all(np.diag(frame_like) < 1e-20) and frame_like[3, 0] > 0.1
    pandas = pytest.importorskip("pandas")
    table = reported.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert table.index.name == "after task" and table.loc[4, 1] == frame_like[3, 0]


def test_a_forecast_reports_everything(results):
    reported = results["forecast"]
    assert len(reported.pairs) == 12 and reported.pair(1, 2).second == 2
    assert reported.worst["conflict"] == max(p.conflict for p in reported.pairs if p.first < p.second)
    assert reported.generalization.shape == reported.test_accuracy.shape == (4, 4)
    assert reported.metrics.average_accuracy == pytest.approx(reported.test_accuracy[3].mean())
    assert reported.depths[0]["depth"] == 2 and sorted(reported.order["order"]) == [1, 2, 3, 4]
    assert reported.fit.points <= 4 and reported.digits > 8
    # The same sentences as the program's, in its words.
    assert reported.sentences() == reported.answer and reported.assumes.startswith("Assumes a wide")
    assert reported.answer[0].startswith("Expect to lose ") and any("conflict most" in sentence for sentence in reported.theory)
    assert any(sentence.startswith("On test data after the last task (gem convention)") for sentence in reported.theory)
    seeds = results["seeds"]
    assert seeds.seeds == 2 and seeds.forgetting_error.shape == (4, 4)


def test_intervals_hold_the_value(results):
    pair = results["with intervals"]
    assert pair.low["gamma_rf"] < pair.gamma_rf < pair.high["gamma_rf"]
    assert pair.standard_error["gamma_rf"] > 0 and pair.null["samples"] == 20
    assert results["order_parameters"].low is None


def test_theories_are_pickled_with_what_made_them(make_tasks):
    tasks = make_tasks(2)
    x = tasks[0][0] + 0.1
    kernel = ebbing.kernel(np.vstack([X for X, _ in tasks]))
    rows = [(range(20), tasks[0][1]), (range(20, 40), tasks[1][1])]
    for network in (
        ebbing.SingleHead(tasks, depth=2),
        ebbing.SingleHead.from_features(tasks),
        ebbing.SingleHead.from_kernels(kernel, rows),
    ):
        again = pickle.loads(pickle.dumps(network))
        points = [1, 2, 3] if network._kind == "kernels" else x
        assert np.array_equal(again.mean(points), network.mean(points))
        assert np.array_equal(again.forgetting(), network.forgetting())
        assert "<table" in network._repr_html_() and "2 tasks" in repr(network)
    for settings in ({"lam": 5.0}, {}, {"beta": 50.0}):
        network = ebbing.MultiHead(tasks, alpha=0.5, **settings)
        again = pickle.loads(pickle.dumps(network))
        assert np.array_equal(again.u1, network.u1)
        assert "<table" in network._repr_html_() and "2 tasks" in repr(network)


def test_regimes_and_limits_of_two_heads(make_tasks):
    tasks = make_tasks(2, test=10)
    fixed, over = ebbing.MultiHead(tasks, alpha=0.5), ebbing.MultiHead(tasks, width=20 / 1.5)
    assert (fixed.regime, over.regime) == ("fixed_representations", "overfitting")
    assert over.alpha == pytest.approx(1.5)
    # Fixed representations forget nothing; overfitting neither, but its second readout diverges.
    assert fixed.forgetting()[1, 0] == pytest.approx(0, abs=1e-10)
    assert np.isnan(fixed.forgetting()[0, 1]) and np.isfinite(fixed.u1).all()
    assert np.isinf(over.u1[1, 1]) and np.isinf(over.generalization()[1, 1])
    assert np.isinf(over.variance(tasks[0][0], 2)).all() and np.isfinite(over.mean(tasks[0][0], 2)).all()
    np.testing.assert_allclose(fixed.mean(tasks[0][0], 1, t=1), tasks[0][1], atol=1e-9)
    np.testing.assert_allclose(fixed.mean(tasks[1][0], 2), tasks[1][1], atol=1e-9)
    # 1/λ away from the limit: theory.
    near = ebbing.MultiHead(tasks, alpha=0.5, lam=1e7)
    np.testing.assert_allclose(near.u1, fixed.u1, rtol=1e-3)
    np.testing.assert_allclose(near.generalization()[1], fixed.generalization()[1], rtol=1e-2)


def test_regimes_are_shaded_up_to_the_critical_load():
    """However far apart the loads are, the edge of the overfitting regime is α_c."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(2)
    X1, y1 = rng.normal(size=(30, 40)), np.sign(rng.normal(size=30))
    X2 = 0.8 * X1 + 0.6 * rng.normal(size=X1.shape)
    critical = ebbing.critical_load(X1, y1, X2, y1).alpha_c
    assert 1.1 < critical < 6
    ax = np.ravel(ebbing.two_task_limit(X1, y1, X2, y1, alpha=[0.5, 1.05, 8.0]).plot())[0]
    edges = {patch.get_label(): [patch.get_x(), patch.get_x() + patch.get_width()] for patch in ax.patches}
    plt.close("all")
    assert edges["overfitting"] == pytest.approx([1.0, critical])
    assert edges["generalization"] == pytest.approx([critical, 8.0])


def test_three_heads_take_a_large_lambda(make_tasks):
    network = ebbing.MultiHead(make_tasks(3), alpha=0.5)
    assert network.regime is None and network.lam_used >= 1e4
    assert network.evidence[-1]["change"] <= 1e-3
    assert network.forgetting().shape == (3, 3)


def test_pictures_show_tasks_regimes_and_the_null(results):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    def legend(ax):
        return [text.get_text() for text in ax.get_legend().get_texts()]

    _, curve = results["forecast"].plot(theory=True)
    curve.figure.canvas.draw()
    ticks = [text.get_text() for text in curve.get_xticklabels() if text.get_text()]
    assert ticks and all(tick == str(int(tick)) for tick in ticks), "tasks are whole numbers"
    pair = results["with intervals"]
    assert ("shuffled targets" in legend(pair.plot())) == bool(pair.null)
    rng = np.random.default_rng(0)
    tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(2)]
    named = legend(ebbing.phase(tasks, width=15).plot())
    assert {"fixed representations", "overfitting", "N = 15"} <= set(named) and len(named) == len(set(named))
    plt.close("all")
