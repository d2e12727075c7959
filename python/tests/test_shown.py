"""What people read: prints, notebook tables, data frames, reports and figures, by the names of tasks and without noise."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import ebbing

NAMES = ["dogs", "cats", "mice"]
#: Powers of ten that only rounding has, in text as in HTML.
NOISE = re.compile(r"\de-(1[3-9]|[2-9]\d)\b")


@pytest.fixture(scope="module")
def tasks():
    rng = np.random.default_rng(1)
    part = lambda p: (rng.normal(size=(p, 30)), np.sign(rng.normal(size=p)))
    return ebbing.TaskSequence({name: part(20) + part(10) for name in NAMES})


@pytest.fixture(scope="module")
def outcome(tasks):
    return ebbing.forecast(tasks, bootstrap=20, shuffles=20, order="best")


@pytest.fixture
def agg():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def labels(axis):
    axis.figure.canvas.draw()
    return [text.get_text() for text in axis.get_ticklabels() if text.get_text()]


@pytest.fixture(scope="module")
def results(tasks, outcome):
    (X1, y1, *_), (X2, y2, *_) = tasks[:2]
    small = [(task.x[:6], task.y[:6]) for task in tasks[:2]]
    return {
        "forecast": outcome,
        "pair": outcome.pair(1, 2),
        "advice": ebbing.advise(tasks),
        "phase": ebbing.phase(tasks, pair=(1, 2), width=12),
        "pairs": ebbing.phase(tasks, pairs=True, width=12),
        "curves": ebbing.phase(tasks[:2], lam=[10.0, np.inf], alpha=np.geomspace(0.2, 5, 30)).curves,
        "limit": ebbing.two_task_limit(X1, y1, X2, y2, alpha=np.geomspace(0.2, 5, 30)),
        "one load": ebbing.two_task_limit(X1, y1, X2, y2, alpha=0.5),
        "critical": ebbing.critical_load(X1, y1, X2, y2),
        "best": ebbing.best_lambda(tasks[:2], alpha=1.5, low=0.1, high=100.0),
        "trained": ebbing.train(tasks, width=50, max_steps=200),
        "sampled": ebbing.sample(small, width=8, beta=20.0, chains=2, warmup=20, draws=20),
        "explained": ebbing.variance_explained(X1[:, :3], y1),
        "heads": ebbing.MultiHead(tasks[:2], alpha=0.5),
        "network": ebbing.SingleHead(tasks),
    }


RESULTS = ["forecast", "pair", "advice", "phase", "pairs", "curves", "limit", "one load", "critical", "best", "trained"]
RESULTS += ["sampled", "explained", "heads", "network"]


@pytest.mark.parametrize("name", RESULTS)
def test_every_print_is_a_short_readable_table(results, name):
    text, page = str(results[name]), results[name]._repr_html_()
    assert text == results[name].summary() and len(text.splitlines()) > 4
    # 80 columns, and a rule under the head of every table.
    assert max(map(len, text.splitlines())) <= 80 and "\n───" in text
    assert not NOISE.search(text) and not NOISE.search(page), text
    assert "nan" not in text.lower().split() and "gamma_rf" not in text and "f21" not in text.lower().replace("f_21", "")
    assert page.count("<table") == page.count("</table>") >= 1


def test_long_grids_are_shortened_and_say_so(results):
    for name, rows in (("limit", 30), ("curves", 60)):
        text = str(results[name])
        assert f"(12 of {rows}; to_pandas() has all)" in text
        assert len(results[name].to_pandas()) == rows
    # Where a readout grows without limit its power of λ is outcome.
    assert "λ^(0.5)" in str(results["limit"])


def test_zero_within_accuracy_is_zero(results, tasks):
    from ebbing._table import significant, with_error

    assert significant(-2e-16) == significant(3e-10, accuracy=1e-9) == with_error(1e-17, 1e-17) == "0"
    assert significant(4.1e-7) == "4.1e-7"
    heads = ebbing.MultiHead(tasks[:2], alpha=0.5).forgetting()
    # Fixed representations forget nothing: what the theory leaves is rounding, far below 1e-12.
    assert heads[1, 0] == 0 and (heads[np.tri(2, dtype=bool)] >= 0).all()
    pytest.importorskip("pandas", reason="pandas is not installed")
    pairs = results["forecast"].to_pandas("pairs")
    assert (pairs["gamma_feature_null_sd"] == 0).all()  # targets do not enter it
    for name in ("forecast", "limit", "curves", "pair", "advice"):
        values = results[name].to_pandas().select_dtypes("float").to_numpy().ravel()
        assert not np.any((np.abs(values) > 0) & (np.abs(values) < 1e-12)), name


def test_intervals_null_and_p_are_shown_everywhere(outcome, tmp_path, agg):
    pair = outcome.pair("dogs", "cats")
    p = pair.p("conflict")
    assert p == pair.null["p_value"]["conflict"] and pair.p("gamma_feature") is None
    head = ["from", "to", "null", "p"]
    outcome.report(tmp_path / "outcome.html")
    for shown in (str(outcome), str(pair), outcome._repr_html_(), pair._repr_html_(), (tmp_path / "outcome.html").read_text()):
        assert "95 % intervals" in shown and "20 shuffles of the targets" in shown
        assert all(re.search(rf"(>|\s){word}(<|\s)", shown) for word in head)
        assert ebbing._table.significant(p) in shown
    plain = ebbing.order_parameters(*[a for t in ([[1.0, 0], [0, 1]], [[1.0, 1], [0, 1]]) for a in (t, [1.0, -1.0])])
    assert "from" not in str(plain) and "null" not in str(plain)
    *_, below = outcome.plot(theory=True)
    assert any(f"(p {ebbing._table.significant(p)})" in text for text in labels(below.yaxis))
    assert "shuffled targets" in [text.get_text() for text in below.get_legend().get_texts()]
    assert any(f"(p {ebbing._table.significant(p)})" in text for text in labels(pair.plot().yaxis))


def test_draws_are_told_apart(tasks, outcome):
    """Over several draws values are means, while intervals are of the first."""
    both = ebbing.forecast([tasks, tasks[::-1]], bootstrap=20)
    assert "(first seed)" in str(both).replace("\n", " ") and "±" in str(both)
    # An interval stands beside the value that it is of.
    one, pair = ebbing.forecast(tasks, bootstrap=20).pairs[0], both.pairs[0]
    assert pair.low is None and pair.first_draw.values() == one.values() and pair.first_draw.low == one.low
    assert all(one.low[name] <= value <= one.high[name] for name, value in one.values().items())
    row = both.to_pandas("pairs").iloc[0]
    assert row["first_draw_conflict_low"] <= row["first_draw_conflict"] and "conflict_low" not in row
    assert "mean of 2 draws" in str(both).split("\n\n")[0].replace("\n", " ") and "first seed" not in str(outcome)
    assert both.pair_errors[0]["f_pair"] >= 0 and both.settings["tasks"].startswith("2 draws of 3 tasks")


@pytest.mark.parametrize("name", ["bootstrap", "shuffles"])
def test_resampling_needs_as_many_as_the_program_asks_for(tasks, name):
    (X1, y1, *_), (X2, y2, *_) = tasks[:2]
    for call in (
        lambda: ebbing.forecast(tasks, **{name: 5}),
        lambda: ebbing.order_parameters(X1, y1, X2, y2, **{name: 5}),
        lambda: ebbing.order_parameters_from_features(X1, y1, X2, y2, **{name: 19}),
    ):
        with pytest.raises(ValueError, match=rf"{name} is \d+; must be 0 \(none\), or from 20 to 1e9"):
            call()


def test_names_are_used_wherever_tasks_are_shown(tasks, outcome, results, agg):
    assert tasks[1:].names == ["cats", "mice"] and isinstance(tasks[1:], ebbing.TaskSequence) and tasks[0].x.shape == (20, 30)
    assert outcome.pair("dogs", "cats") == outcome.pair(1, 2) == outcome.pair("dogs", 2)
    with pytest.raises(ValueError, match=r"pair is \('dogs', 'apes'\).*dogs, cats, mice"):
        outcome.pair("dogs", "apes")
    assert ebbing.phase(tasks, pair=("dogs", "mice"), alpha=1.5).tasks == ["dogs", "mice"]
    assert outcome.best_order == [NAMES[t - 1] for t in outcome.order["order"]]
    order = ", ".join(f"{t} ({NAMES[t - 1]})" for t in outcome.order["order"])
    assert any(f"The best order found is {order}" in said for said in outcome.answer)
    assert "dogs → cats" in str(outcome) and "Tasks: 1 dogs, 2 cats, 3 mice" in str(outcome)
    assert re.search(r"after task +dogs +cats +mice", str(outcome))
    assert results["advice"].order is None, "orders are searched where asked for"
    assert all(name in str(results[shown]) for shown, name in (("heads", "cats"), ("network", "mice")))
    matrix, curve, _ = outcome.plot(theory=True)
    assert labels(matrix.xaxis) == labels(matrix.yaxis) == NAMES and "dogs" in curve.get_ylabel()
    assert labels(results["trained"].plot().xaxis) == NAMES
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert list(results["trained"].to_pandas().index) == NAMES
    assert outcome.to_pandas("pairs").index[0] == ("dogs", "cats")
    with pytest.raises(ValueError, match="names has 1 entries; there are 3 tasks"):
        ebbing.TaskSequence(list(tasks), names=["dogs"])


def test_tasks_by_dictionary_and_by_path(tasks, outcome, tmp_path):
    given = ebbing.forecast(dict(zip(NAMES, tasks)))
    assert given.tasks == NAMES and np.array_equal(given.forgetting, outcome.forgetting)
    ebbing.tasks.save(tmp_path / "tasks.npz", tasks)
    for path in (tmp_path / "tasks.npz", str(tmp_path / "tasks.npz")):
        assert np.array_equal(ebbing.SingleHead(path).forgetting(), ebbing.SingleHead(tasks).forgetting())
    io = pytest.importorskip("scipy.io", reason="SciPy is not installed")
    io.savemat(tmp_path / "tasks.mat", {f"{n}_{t}": v for t, task in enumerate(tasks, 1) for n, v in zip("xy", task)})
    assert np.array_equal(ebbing.forecast(tmp_path / "tasks.mat").forgetting, outcome.forgetting)
    with pytest.raises(OSError, match="missing.npz"):
        ebbing.forecast(tmp_path / "missing.npz")
    with pytest.raises(TypeError, match="a dictionary of them by name, or the path of a file"):
        ebbing.forecast(3)


def test_a_report_opens_with_a_few_points_and_records_its_settings(results, tmp_path):
    for name in ("forecast", "advice", "phase", "trained"):
        results[name].report(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        opening = page[page.index('class="answer"') : page.index("<table")]
        assert opening.split("</ul>")[0].count("<li>") <= 5 and "." in opening
        assert "<script" not in page and not re.search(r'(src|href)="http', page)
        assert "Settings" in page and "3 tasks of 20 examples with 30 features" in page
        assert f"<td>{ebbing.__version__}</td>" in page and "2407.10315" in page
    results["forecast"].report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "γ<sub>RF</sub>" in page and "gamma_rf" not in page and "F<sub>pair</sub>" in page
    assert "&quot;bootstrap&quot;: 20" in page
    # What was asked is recorded, and two results are the same whatever was asked to get them.
    assert results["forecast"].settings["shuffles"] == 20 and results["forecast"].settings["lam"] == np.inf
    features = ebbing.forecast([(np.eye(4), [1.0, -1.0, 1.0, -1.0])], features=True)
    assert str(features).startswith("Forecast for 1 task of 4 examples with given features")


def test_phase_defines_its_losses_and_names_the_best_width(results, tasks):
    said = str(results["phase"]).replace("\n", " ")
    assert "G₂₁ and G₂₂ are test losses" in said and "F₂₁ is the training loss of task 1" in said
    assert "G_T1 and G_TT are test losses of the first" in str(ebbing.phase(tasks, alpha=[0.5, 1.5], lam=10.0)).replace("\n", " ")
    # Without held-out data there are no test losses to define.
    limit = str(results["limit"]).replace("\n", " ")
    assert "F₂₁ is the training loss of task 1 after task 2 (0:" in limit and "G₂₁" not in limit
    own, best = results["phase"].widths["own"], results["phase"].widths["best"]
    assert own["width"] == 12 and max(best["g21"], best["g22"]) <= max(own["g21"], own["g22"])
    assert f"the best of the widths computed is N = {best['width']:.0f}" in said
    # The same numbers as a network of that width.
    heads = ebbing.MultiHead(tasks[:2], width=best["width"]).generalization()
    # Two ways to the same limit, each to rounding times the kernels' condition.
    assert best["g22"] == pytest.approx(heads[1, 1], rel=1e-6)


def test_all_pairs_are_those_of_single_pairs(results, tasks):
    assert len(results["pairs"].pairs) == 3
    for row in results["pairs"].pairs:
        one = ebbing.phase(tasks, pair=(row["first"], row["second"]), width=12, alpha=1.5)
        assert (row["gamma_sim"], row["alpha_c"]) == (one.critical.gamma_sim, one.critical.alpha_c)
        assert (row["alpha"], row["regime"]) == (one.location["alpha"], one.regime)
    with pytest.raises(ValueError, match="holds 1 task; at least two are needed"):
        ebbing.phase(tasks[:1], pairs=True)
    with pytest.raises(ValueError, match="there are 3; best_lambda weighs two"):
        ebbing.best_lambda(tasks, alpha=1.5)


def test_python_is_told_in_pythons_words(tasks):
    advice = ebbing.advise(tasks, max_p=10)
    assert not any("--" in said for said in advice.sentences())
    assert any("max_p takes more" in said for said in advice.sentences())
    outcome = ebbing.forecast(tasks, order="best")
    assert not any("--" in said for said in outcome.sentences())
    assert any("the same TaskSequence several times in a list, with max_p, shows" in said for said in outcome.sentences())
    # What is advised can be done, and answers the question.
    several = ebbing.forecast([tasks] * 3, max_p=10)
    assert several.seeds == 3 and several.forgetting_error[2, 0] > 0 and several.settings["max_p"] == 10
    assert not any("max_p" in said for said in several.sentences())


def test_a_part_of_the_examples_is_that_of_the_program(tasks, tmp_path):
    ebbing.tasks.save(tmp_path / "tasks.npz", tasks)
    words = ["--tasks", str(tmp_path / "tasks.npz"), "--max-p", "8", "--seeds", "2", "--json"]
    program = [sys.executable, "-m", "ebbing", "forecast", *words]
    found = json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout)["forecast"]
    outcome = ebbing.forecast([tasks] * 2, max_p=8)
    assert outcome.forgetting.tolist() == found["forgetting"]["mean"]
    assert np.array_equal(ebbing.forecast(tasks, max_p=20).forgetting, ebbing.forecast(tasks).forgetting)
    with pytest.raises(ValueError, match="max_p is 0; must be a number of examples, at least 1"):
        ebbing.forecast(tasks, max_p=0)


def test_sweeps_are_shown(tasks, tmp_path, agg):
    outcome = ebbing.forecast(tasks, depths=[2, 3], lambdas=[1, np.inf], widths=[12345])
    text = str(outcome)
    assert "What depth would change" in text and "F₂₁, the loss of task 1 after task 2" in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80
    for table, first in zip(outcome.tables()[-3:], (["2", "3"], ["1", "∞"], ["12345", "12345"])):
        assert [str(row[0]) for row in table.rows] == first
        assert len({len(row) for row in [table.head, *table.rows]}) == 1
    assert ebbing._table.significant(outcome.lambdas[0]["final_forgetting"]) in text
    outcome.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("A readout per task at other widths N</caption>") == 1 and "12345" in page


def test_tables_of_a_report_scroll_and_labels_are_plain(results, tmp_path, agg):
    for name in ("forecast", "pairs", "phase"):
        results[name].report(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        labels = re.findall(r'aria-label="([^"]*)"', page)
        # Every table but that of how the page was made scrolls, and has a name; so does every figure.
        assert page.count('<div class="scroll"') == page.count("<table>") == page.count("<table") - 1
        assert len(labels) >= page.count("<table>") + (name != "pairs") and all(label and "{" not in label for label in labels)
        assert "linear-gradient" in page


def test_numbers_that_were_given_keep_their_digits(tasks):
    from ebbing._table import setting

    assert [setting(value) for value in (12345, 0.1, 1e6, np.inf, 20.0)] == ["12345", "0.1", "1e6", "∞", "20"]
    assert "12345" in str(ebbing.MultiHead(tasks[:2], width=12345))


def test_figures_can_be_read(results, tasks, agg):
    def apart(axis):
        """No two tick labels overlap."""
        axis.figure.canvas.draw()
        boxes = sorted((t.get_window_extent() for t in axis.get_ticklabels(which="both") if t.get_text()), key=lambda b: b.x0)
        assert len(boxes) > 1 and all(a.x1 < b.x0 for a, b in zip(boxes, boxes[1:]))

    for name in ("curves", "limit", "phase", "critical"):
        apart(results[name].plot().xaxis)
    for chart in results["advice"].plot():
        apart(chart.xaxis)
    # Where nothing is forgotten the axis still is one of losses.
    zero = ebbing.phase(tasks[:2], alpha=[0.3, 0.5, 0.8]).plot()
    assert zero.get_ylim() == (-0.03, 1)
    # The bound of the search for a critical load is no result.
    critical = results["critical"]
    known = [load for load in (critical.alpha_c, critical.alpha_c_gamma_sim, critical.alpha_c_u11) if np.isfinite(load)]
    # The axis ends at a power of ten above three times the largest load.
    assert critical.bound == 1e6 and critical.plot().get_xlim()[1] <= 30 * max(1, *known)
    straight = ebbing.fit_forgetting([0, 0.1, 0.2, 0.3, 0.4])
    assert straight.shape == "linear" and straight.plot().get_lines()[0].get_label() == "slope · (t−1)"
