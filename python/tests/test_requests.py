"""The functions that ask are those of the fields that the library declares."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import ebbing

MAKER = Path(__file__).resolve().parents[2] / "tools/make_python.py"


@pytest.mark.skipif(not MAKER.is_file(), reason="the package is tested outside of the project")
def test_the_functions_are_made_of_the_fields_of_today() -> None:
    spec = importlib.util.spec_from_file_location("make_python", MAKER)
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.made() == maker.TARGET.read_text(encoding="utf-8"), "run python3 tools/make_python.py"


def test_tasks_are_drawn_in_the_words_of_the_program() -> None:
    drawn = ebbing.tasks.draw(length=3, examples=30, test_examples=0, ratio=0.3, order=[2, 1, 3], seed=4)
    known = ebbing.tasks.permuted(length=3, examples=30, test_examples=0, ratio=0.3, seed=4)
    assert all(np.array_equal(drawn[k].x, known[t].x) for k, t in enumerate((1, 0, 2)))
    with pytest.raises(ValueError, match="protocol is shuffled; must be permuted, split, partial-split or target-distractor"):
        ebbing.tasks.draw(protocol="shuffled")
    with pytest.raises(ValueError, match="the nearest known one is `length`"):
        ebbing.tasks.draw(lenght=3)
    with pytest.raises(ValueError, match="rho_flip is 0.1; belongs to protocol target-distractor"):
        ebbing.tasks.draw(rho_flip=0.1)


def test_refusals_have_the_words_of_python() -> None:
    tasks = ebbing.tasks.draw(length=2, examples=20, test_examples=0)
    with pytest.raises(ValueError, match="lam is -1"):
        ebbing.forecast(tasks, mode="gibbs", lam=-1.0)
    with pytest.raises(ValueError, match="bootstrap is 5; .*from 20 to 1e9"):
        ebbing.forecast(tasks, bootstrap=5)
    with pytest.raises(ValueError, match="mode is gibbs; must be rf, ntk or lazy"):
        ebbing.advise(tasks, mode="gibbs")
