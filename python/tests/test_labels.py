"""One rule for labels at every door: integers, booleans and strings are classes, floats are targets."""

import warnings

import numpy as np
import pytest

import ebbing


def classes(per_task, p=24, n0=40, seed=3):
    """Tasks of Gaussian inputs with integer labels out of each task's own classes, each class around its own center."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(10, n0))
    tasks = []
    for own in per_task:
        y = np.array([own[i % len(own)] for i in range(p)])
        tasks.append((rng.normal(size=(p, n0)) + centers[y], y))
    return tasks


def coded(tasks, code):
    return [(x, y.astype(code) if isinstance(code, type) else code(y)) for x, y in tasks]


def signs(smaller):
    return lambda y: np.where(y == smaller, -1.0, 1.0)


def one_hot(count):
    return lambda y: np.eye(count)[y]


TWO, FOUR = classes([(0, 1), (0, 1)]), classes([(0, 1), (2, 3)])


def test_a_file_and_arrays_say_the_same(tmp_path):
    """The door of files had the rule already; arrays regressed on the numbers."""
    path = tmp_path / "tasks.npz"
    np.savez(path, **{f"{name}_{t}": part for t, task in enumerate(FOUR, 1) for name, part in zip("xy", task)})
    answer, arrays = ebbing.forecast(ebbing.tasks.load(path)), ebbing.forecast(FOUR)
    assert np.array_equal(answer.forgetting, arrays.forgetting)
    assert answer.notes == arrays.notes and "4 classes (0, 1, 2, 3), one target column each" in arrays.notes
    assert np.array_equal(arrays.forgetting, ebbing.forecast(coded(FOUR, one_hot(4))).forgetting)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.bool_, lambda y: np.array(["ape", "bee"])[y], lambda y: y[:, None]])
def test_two_classes_are_signs(kind):
    want = coded(TWO, signs(0))
    given = coded(TWO, kind)
    answer = ebbing.forecast(given)
    assert np.array_equal(answer.forgetting, ebbing.forecast(want).forgetting)
    assert any("are -1 and +1" in note for note in answer.notes)
    assert np.array_equal(ebbing.SingleHead(given).forgetting(), ebbing.SingleHead(want).forgetting())
    pairs = [ebbing.order_parameters(*tasks[0], *tasks[1]).f21 for tasks in (given, want)]
    assert pairs[0] == pairs[1]
    loads = [ebbing.critical_load(*tasks[0], *tasks[1]).alpha_c for tasks in (given, want)]
    assert loads[0] == loads[1]


def test_a_readout_per_task_has_signs_of_its_own():
    want = [(FOUR[0][0], signs(0)(FOUR[0][1])), (FOUR[1][0], signs(2)(FOUR[1][1]))]
    assert np.array_equal(ebbing.MultiHead(FOUR, alpha=0.5).u1, ebbing.MultiHead(want, alpha=0.5).u1)
    assert np.array_equal(ebbing.MultiHead(coded(FOUR, one_hot(4)), alpha=0.5).u1, ebbing.MultiHead(want, alpha=0.5).u1)
    loads = [ebbing.critical_load(*tasks[0], *tasks[1]).alpha_c for tasks in (FOUR, want)]
    assert loads[0] == loads[1]
    curves = [ebbing.phase(tasks, alpha=[0.5, 2.0]).curves.f_t1 for tasks in (FOUR, want)]
    assert np.array_equal(*curves)
    runs = [ebbing.train(tasks, heads="multi", width=20, max_steps=20).train_loss for tasks in (FOUR, want)]
    assert np.array_equal(*runs, equal_nan=True)
    single = [ebbing.train(tasks, width=20, max_steps=20).weights[-1].shape for tasks in (FOUR, TWO)]
    assert single == [(4, 20), (1, 20)]


def test_kernels_and_features_follow_the_rule():
    (x1, y1), (x2, y2) = TWO
    want = signs(0)(y1), signs(0)(y2)
    kernels = ebbing.kernel(x1), ebbing.kernel(x1, x2), ebbing.kernel(x2)
    found = [ebbing.order_parameters_from_kernels(*kernels, *y).f21 for y in ((y1, y2), want)]
    assert found[0] == found[1]
    found = [ebbing.order_parameters_from_features(x1, y[0], x2, y[1]).f21 for y in ((y1, y2), want)]
    assert found[0] == found[1]
    rows, K = [range(24), range(24, 48)], ebbing.kernel(np.vstack([x1, x2]))
    heads = [ebbing.SingleHead.from_kernels(K, list(zip(rows, y))).forgetting() for y in ((y1, y2), want)]
    assert np.array_equal(*heads)


def test_signs_stay_and_floats_are_targets():
    signed = coded(TWO, lambda y: 2 * y - 1)
    assert np.array_equal(ebbing.forecast(signed).forgetting, ebbing.forecast(coded(signed, np.float64)).forgetting)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ebbing.SingleHead(coded(signed, np.float64))
        ebbing.SingleHead(coded(TWO, lambda y: y + 0.5))
    with pytest.warns(UserWarning, match="whole numbers from 0 to 3 stored as floats"):
        answer = ebbing.forecast(coded(FOUR, np.float64))
    assert any("whole numbers from 0 to 3 stored as floats" in note for note in answer.notes)


def test_what_cannot_be_classes_is_reported():
    x, y = TWO[0]
    with pytest.raises(ValueError, match="task 1, y: every label is 3; at least two classes"):
        ebbing.SingleHead([(x, np.full(len(x), 3))])
    with pytest.raises(ValueError, match="class 7 occurs in no training set"):
        ebbing.SingleHead([(x, y, x, y + 7)])
    with pytest.raises(ValueError, match="task 1, y: it holds integer classes where task 2, y holds real targets"):
        ebbing.SingleHead([(x, y), (x + 1, y * 0.5)])


def test_labels_become_target_columns():
    columns = ebbing._arrays.target_columns
    assert [t.ravel().tolist() for t in columns([[0, 1], [1, 1]])[0]] == [[-1.0, 1.0], [1.0, 1.0]]
    assert columns([[-1, 0, 1]])[0][0].ravel().tolist() == [-1.0, 0.0, 1.0]
    assert columns([[0.5, 1.0]])[0][0].ravel().tolist() == [0.5, 1.0]
    assert columns([[5, 7], [9]])[0][1].tolist() == [[0.0, 0.0, 1.0]]
    with pytest.raises(ValueError, match="two classes"):
        columns([[3, 3]])


def test_heads_answer_by_class_whatever_the_door(tmp_path):
    for tasks in (TWO, FOUR):
        path = tmp_path / f"{len(set(tasks[1][1]) | set(tasks[0][1]))}.npz"
        np.savez(path, **{f"{name}_{t}": part for t, task in enumerate(tasks, 1) for name, part in zip("xy", task)})
        for given in (tasks, ebbing.tasks.load(path)):
            heads = ebbing.MultiHead(given, alpha=0.5)
            # Training data is interpolated.
            assert np.array_equal(heads.predict(tasks[1][0]), tasks[1][1])
            assert set(heads.predict(tasks[1][0], head=1)) <= set(tasks[0][1])


def test_a_note_on_targets_is_reported_once():
    rng = np.random.default_rng(0)
    part = lambda p: (rng.normal(size=(p, 30)), rng.integers(0, 2, size=p).astype(float))
    tasks = [part(20) + part(10) for _ in range(3)]
    for call in (lambda: ebbing.phase(tasks[:2], width=15, alpha=[0.5]), lambda: ebbing.phase(tasks, pairs=True, width=15)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call()
        assert len([one for one in said if "stored as floats" in str(one.message)]) == 1
