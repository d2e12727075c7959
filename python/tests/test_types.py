"""Types and stubs are right, and every example in the documentation runs."""

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import ebbing

MODULES = ["ebbing"] + [f"ebbing.{module.name}" for module in pkgutil.iter_modules(ebbing.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    needs = {"ebbing.sklearn": ("sklearn", "scikit-learn"), "ebbing.torch": ("torch", "PyTorch"), "ebbing.dask": ("distributed", "Dask")}
    if name in needs:
        pytest.importorskip(needs[name][0], reason=f"{needs[name][1]} is not installed")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_is_documented():
    for name in ebbing.__all__:
        thing = getattr(ebbing, name)
        assert name == "__version__" or (thing.__doc__ or "").strip(), name
        for method in vars(thing) if isinstance(thing, type) else ():
            value = getattr(thing, method)
            if callable(value) and not method.startswith("_") and method not in ("tables", "sentences"):
                assert (value.__doc__ or "").strip(), f"{name}.{method}"


CONFIG = Path(__file__).resolve().parents[1] / "pyproject.toml"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a module of mypy away from the sources, with one memory of what was checked."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    folder = tmp_path_factory.mktemp("mypy")
    env = {**os.environ, "MYPY_CACHE_DIR": str(folder / "cache")}

    def act(*arguments, cwd=folder):
        return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd, env=env)

    return act


def test_the_package_is_typed(run):
    checked = run("mypy", "--config-file", str(CONFIG), "-p", "ebbing")
    assert checked.returncode == 0, checked.stdout


def test_stubs_fit_the_compiled_half(run):
    stubs = run("mypy.stubtest", "ebbing._ebbing", "--mypy-config-file", str(CONFIG))
    assert stubs.returncode == 0, stubs.stdout


def test_users_see_the_types(run, tmp_path):
    (tmp_path / "user.py").write_text(
        "import ebbing\n"
        "tasks = ebbing.tasks.permuted(length=2)\n"
        "reveal_type(ebbing.kernel(tasks[0].x))\n"
        "reveal_type(ebbing.forecast(tasks).forgetting)\n"
        "ebbing.kernel(tasks[0].x, depth='two')\n"
    )
    answer = run("mypy", "--config-file", str(CONFIG), "user.py", cwd=tmp_path).stdout
    assert answer.count("float64") == 2 and 'Argument "depth" to "kernel"' in answer, answer
