"""Shared by all tests: reference numbers, small tasks, and the account of what could not run here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def reference() -> Any:
    """Reads reference numbers by their name."""
    return lambda name: json.loads((TOP / "tests" / "reference" / f"{name}.json").read_text())


@pytest.fixture
def make_tasks() -> Any:
    """Gaussian inputs with ±1 targets, and held-out ones where asked for."""

    def make(tasks: int = 3, p: int = 20, n0: int = 30, test: int = 0, seed: int = 1) -> list[tuple[Any, ...]]:
        rng = np.random.default_rng(seed)
        made = []
        for _ in range(tasks):
            task = rng.normal(size=(p, n0)), np.sign(rng.normal(size=p))
            held_out = (rng.normal(size=(test, n0)), np.sign(rng.normal(size=test))) if test else ()
            made.append(task + held_out)
        return made

    return make


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that cannot run on this machine is noted in the project's account of skipped tests."""
    account = os.environ.get("EBBING_SKIPPED")
    if report.skipped and account and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        with open(account, "a", encoding="utf-8") as file:
            file.write(f"python {report.nodeid.split('/')[-1]}: {reason}\n")
