"""Trained weights as arrays: a forward pass made from them is the network's own."""

import math

import numpy as np
import pytest

import ebbing

PHI = {"relu": lambda z: np.maximum(z, 0), "linear": lambda z: z, "erf": np.vectorize(math.erf)}


@pytest.mark.parametrize("activation", PHI)
@pytest.mark.parametrize("heads", ["single", "multi"])
@pytest.mark.parametrize("depth", [1, 2])
def test_weights_give_the_losses(make_tasks, activation, heads, depth):
    tasks = make_tasks(3, test=7)
    run = ebbing.train(tasks, width=40, depth=depth, activation=activation, heads=heads, max_steps=300)
    hidden, readouts = run.weights[:depth], run.weights[depth:]
    assert [w.shape for w in hidden] == [(40, 30), (40, 40)][:depth]
    assert [a.shape for a in readouts] == [(1, 40)] * (3 if heads == "multi" else 1)
    assert all(w.dtype == np.float32 and w.flags.c_contiguous for w in run.weights)
    for s, (x, y, x_test, y_test) in enumerate(tasks):
        for inputs, targets, losses in [(x, y, run.train_loss), (x_test, y_test, run.test_loss)]:
            h = inputs.astype(np.float32).astype(float)
            for w in hidden:
                h = PHI[activation](h @ w.T / np.sqrt(w.shape[1]))
            f = (h @ readouts[s % len(readouts)].T / np.sqrt(40))[:, 0]
            # √loss is a distance: it differs by at most |f − f'|/|y|, some hundred roundings of 6e-8 of the network's own.
            ours = np.linalg.norm(f - targets) / np.linalg.norm(targets)
            assert abs(ours - np.sqrt(losses[2, s])) < 1e-5


@pytest.mark.parametrize("heads", ["single", "multi"])
def test_the_solver_finds_the_minimum(make_tasks, heads):
    tasks = make_tasks(2)
    # Fewer units than examples: above load 1 hidden weights have to move.
    kappa, width = 0.1, 12
    run = ebbing.train(tasks, learners=["l2"], kappa=kappa, width=width, heads=heads, solver="levenberg")
    for report in run.reports:
        assert report["converged"] and report["gradient"] <= 1e-6 and report["steps"] > 0
    assert "2 of 2 tasks ended at their minimum" in " ".join(run.sentences())
    # The objective is that of the weights before and after the task.
    before = ebbing.train(tasks[:1], learners=["l2"], kappa=kappa, width=width, heads=heads, solver="levenberg")
    x, y = (np.asarray(part, dtype=float) for part in tasks[1][:2])
    (hidden, *_), readout = run.weights, run.weights[-1]
    f = (np.maximum(x @ hidden.T / np.sqrt(x.shape[1]), 0) @ readout.T / np.sqrt(width))[:, 0]
    moved = np.sum((hidden.astype(float) - before.weights[0]) ** 2)
    if heads == "single":
        moved += np.sum((readout.astype(float) - before.weights[-1]) ** 2)
    objective = 0.5 * np.sum((f - y) ** 2) + 0.5 * kappa * moved
    # Weights are kept in single precision.
    assert abs(objective - run.reports[1]["objective"]) < 1e-5 * objective
    # What its minimum leaves is no matter of steps, and of several starts the lowest is kept.
    far = ebbing.train(tasks, learners=["l2"], kappa=30.0, width=width, heads=heads, solver="levenberg", readout_scales=[0.3, 1, 30])
    low, high = far.reports[1]["objectives"]
    assert far.reports[1]["objective"] == low <= high
    said = " ".join(far.sentences())
    assert not far.reports[1]["learned"] and far.reports[1]["converged"]
    assert "a smaller kappa or a larger width may leave less" in said and "max_steps" not in said
    assert ("Of several starts" in said) == (low < high)
    with pytest.raises(ValueError, match="EWC"):
        ebbing.train(tasks, learners=["ewc"], kappa=kappa, solver="levenberg")


def test_the_first_task_may_have_a_solver_of_its_own(make_tasks):
    run = ebbing.train(make_tasks(2), learners=["l2"], kappa=0.1, width=40, solver="levenberg", first_solver="descent")
    stops = [report["stop"] for report in run.reports]
    assert stops == ["threshold", "converged"] and "objective" in run.reports[1]


def test_steps_that_overshoot_are_reported(make_tasks):
    run = ebbing.train(make_tasks(2), width=40)
    # Plain descent at the automatic rate only falls.
    assert [(report["rose"], report["overshot"]) for report in run.reports] == [(1.0, False)] * 2 and "rose" not in str(run)
    # Heavy momentum in a deep network does not.
    run = ebbing.train(make_tasks(2), width=40, depth=9, momentum=0.99)
    overshot = [report["overshot"] for report in run.reports]
    assert any(overshot) and overshot == [report["rose"] > 1.5 for report in run.reports]
    assert "times its lowest: steps overshot" in " ".join(run.sentences())
