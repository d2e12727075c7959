"""Examples and notebooks run, and the README shows one of them word for word."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((HERE / "examples").glob("*.py"))
NOTEBOOKS = sorted((HERE / "notebooks").glob("*.ipynb"))
NEEDS = {"sweep_joblib": "joblib", "sweep_dask": "dask", "slurm_dask": "dask_jobqueue", "pytorch-model": "torch"}


def skip_without_what_it_needs(path):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason=f"{NEEDS[path.stem]} is not installed")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, tmp_path):
    skip_without_what_it_needs(path)
    env = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, path], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # What an example says it prints, it prints.
    promised = re.findall(r"#> (.*)", path.read_text())
    assert promised, "an example says what it prints"
    for line in promised:
        assert line in done.stdout, done.stdout


def test_the_readme_shows_a_tested_example():
    readme = (HERE.parent / "README.md").read_text()
    example = (HERE / "examples" / "readme.py").read_text()
    shown = example.split('"""\n', 1)[1].strip()
    assert f"```python\n{shown}\n```" in readme


def test_there_are_four_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["pytorch-model", "recordings", "tour", "your-own-tasks"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    skip_without_what_it_needs(path)
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are stored without outputs"
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not any(output.output_type == "error" for output in outputs)
    shown = {kind for output in outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= shown
