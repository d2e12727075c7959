"""Forecasts on a Dask cluster of several processes: the numbers of one machine, whatever dies, and sentences for what is wrong."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ebbing

pytest.importorskip("distributed", reason="dask and distributed are not installed")
da = pytest.importorskip("dask.array", reason="dask and distributed are not installed")

import dask  # noqa: E402
import ebbing.dask  # noqa: E402
from ebbing._cluster_kernels import Load, Memory  # noqa: E402
from distributed import LocalCluster  # noqa: E402

#: Errors of outputs are at most residual × √condition: 1e-8 × √(1e3) for the kernels here.
CLOSE = 1e-6


def started(workers, **options):
    return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", **options)


@pytest.fixture(scope="module")
def client():
    with started(2) as cluster, cluster.get_client() as client:
        yield client


@pytest.fixture(scope="module")
def tasks():
    """Images of digits, in an order of pixels per task: two classes, with held-out data."""
    return ebbing.tasks.permuted(length=3, examples=90, test_examples=40, seed=2)


def agrees(found, expected):
    assert found.converged and found.residual <= 1e-8
    for name in ("forgetting", "train_accuracy", "test_loss", "generalization", "test_accuracy"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=CLOSE, rtol=CLOSE, err_msg=name)
    assert [(p.first, p.second) for p in found.pairs] == [(p.first, p.second) for p in expected.pairs]
    for answer, exact in zip(found.pairs, expected.pairs):
        drawn = "gamma_feature", "gamma_sim"
        for name, value in exact.values().items():
            if name not in drawn:
                assert answer.values()[name] == pytest.approx(value, abs=CLOSE), name
        # Estimates of 16 probes: 5 standard errors, which are themselves known to 20 %.
        for name in drawn:
            assert 0 < answer.standard_error[name] < 0.05
            assert abs(answer.values()[name] - exact.values()[name]) < 5 * answer.standard_error[name]
    for name in ("f21_at_lambda_zero", "delta_f21"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=CLOSE)


@pytest.mark.parametrize(
    "settings",
    [
        {"mode": "rf", "rank": 30},
        {"mode": "rf", "beta": 20.0},
        {"mode": "ntk", "sigma": 0.7, "depth": 2},
        {"mode": "lazy", "bias": 0.3},
        {"mode": "gibbs", "lam": 3.0, "depth": 2},
        {"mode": "gibbs"},
        {"mode": "gibbs", "beta": 20.0, "sigma": 1.3},
        {"mode": "ntk", "beta": 20.0, "sigma": 1.3, "activation": "erf"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_the_numbers_of_one_machine(client, tasks, settings):
    found = ebbing.dask.forecast(tasks, client=client, **settings)
    settings.pop("rank", None)
    agrees(found, ebbing.forecast(tasks, **settings))


def test_classes_in_several_columns(client):
    rng = np.random.default_rng(5)
    make = lambda p, classes: (rng.normal(size=(p, 30)), rng.choice(classes, size=p))
    tasks = [make(40, ["a", "b"]) + make(25, ["a", "b"]), make(50, ["b", "c", "d"]) + make(25, ["b", "c", "d"])]
    found, exact = ebbing.dask.forecast(tasks, client=client), ebbing.forecast(tasks)
    agrees(found, exact)
    np.testing.assert_allclose(found.task_accuracy, exact.task_accuracy)
    assert found.metrics.intransigence == pytest.approx(exact.metrics.intransigence, abs=1e-12)


def test_one_task(client, tasks):
    found, exact = ebbing.dask.forecast(tasks[:1], client=client), ebbing.forecast(tasks[:1])
    assert found.pairs == [] and found.worst is None
    np.testing.assert_allclose(found.test_loss, exact.test_loss, atol=CLOSE)


def written(folder, name, array, parts):
    paths = [folder / f"{name}-{k}.npy" for k in range(parts)]
    for path, part in zip(paths, np.array_split(array, parts)):
        np.save(path, part)
    return paths


def test_any_form_of_input_gives_the_same_bits(client, tasks, tmp_path):
    two = tasks[:2]
    expected = ebbing.dask.forecast(two, client=client)
    chunked = [tuple(da.from_array(np.asarray(part), chunks=(37,) + (300,) * (np.ndim(part) - 1)) for part in task) for task in two]
    files = []
    for t, task in enumerate(two):
        files.append(tuple(written(tmp_path, f"{t}{k}", np.asarray(part), 3) for k, part in enumerate(task)))
    zipped = []
    for t, task in enumerate(two):
        train, test = tmp_path / f"train{t}.npz", tmp_path / f"test{t}.npz"
        np.savez(train, x=task.x, y=task.y), np.savez(test, x=task.x_test, y=task.y_test)
        zipped.append(([train], [train], [str(test)], [str(test)]))
    # Of a number of rows that only its workers know, and an empty chunk.
    first = da.from_array(np.arange(100) < 90, chunks=37)
    masked = [(da.concatenate([X, X[:10]])[first], y, *test) for (X, y, *test) in chunked]
    assert np.isnan(masked[0][0].shape[0])
    for given in (chunked, files, zipped, masked):
        found = ebbing.dask.forecast(given, client=client)
        np.testing.assert_array_equal(found.forgetting, expected.forgetting)
        np.testing.assert_array_equal(found.test_loss, expected.test_loss)
        assert [p.values() for p in found.pairs] == [p.values() for p in expected.pairs]


def test_kernels_made_anew_for_every_product(client, tasks):
    kept = ebbing.dask.forecast(tasks[:2], client=client)
    anew = ebbing.dask.forecast(tasks[:2], client=client, blocks="recompute")
    assert kept.kernel_bytes == 4 * 8 * 90**2 and anew.kernel_bytes == 0
    assert any("made anew" in note for note in anew.notes) and not kept.notes
    np.testing.assert_allclose(anew.forgetting, kept.forgetting, atol=CLOSE)


def test_no_square_matrix_is_gathered(client, tasks, monkeypatch):
    largest = [0]
    plain = client.gather

    def watched(futures, **options):
        found = plain(futures, **options)
        largest[0] = max(largest[0], sum(np.size(part) for part in found))
        return found

    monkeypatch.setattr(client, "gather", watched)
    rng = np.random.default_rng(4)
    size = 300
    large = [(rng.normal(size=(size, 40)), np.sign(rng.normal(size=size))) for _ in range(2)]
    ebbing.dask.forecast(large, client=client, rank=60, probes=2)
    # At most as many columns at once as pivots are drawn at once, a sixth of the kernel.
    assert 0 < largest[0] <= 50 * size


def test_the_result_is_a_forecast(client, tasks):
    found = ebbing.dask.forecast(tasks, client=client)
    assert isinstance(found, ebbing.Forecast) and found.digits > 5
    assert found.fit.points == 3 and found.order is None
    frame = pytest.importorskip("pandas", reason="pandas is not installed") and found.to_pandas("solves")
    assert list(frame.task) == [1, 2, 3] * 2 and (frame.residual <= 1e-8).all() and (frame.iterations > 0).all()
    assert found.to_pandas("pairs").shape[0] == 6
    assert "Forecast of 3 tasks" in str(found) and "±" in found.pair(1, 2)._repr_html_()
    assert all(len(line) <= 100 for line in str(found).splitlines())


def test_progress_is_reported(client, tasks):
    heard = []
    ebbing.dask.forecast(tasks[:2], client=client, progress=lambda done, total, text: heard.append((done / total, text)))
    assert [part for part, _ in heard] == sorted(part for part, _ in heard) and heard[-1][0] <= 1
    assert "other tasks, task 2" in [text for _, text in heard]


def test_a_residual_that_is_not_reached_is_reported(client, tasks):
    found = ebbing.dask.forecast(tasks[:2], client=client, rank=5, iterations=3)
    assert not found.converged and found.residual > 1e-8
    note = found.notes[0]
    assert "did not reach the relative residual 1e-08" in note and "after 3 iterations" in note and "rank=" in note
    assert note in str(found).replace("\n", " ")


def test_a_worker_that_dies_changes_nothing():
    rng = np.random.default_rng(3)
    data = [(rng.normal(size=(120, 20)), np.sign(rng.normal(size=120))) for _ in range(2)]
    with started(3) as cluster, cluster.get_client() as client:
        tasks = [tuple(da.from_array(part, chunks=30) for part in task) for task in data]
        settings = {"client": client, "rank": 20, "depth": 2}
        undisturbed = ebbing.dask.forecast(tasks, **settings)
        pids = client.run(os.getpid)
        victim, killed = next(iter(pids.values())), []

        def kill(done, total, text):
            # In the midst of the second solve's iterations, when every worker holds panels.
            if text == "targets and probes, task 2" and done % 1 > 0.3 and not killed:
                killed.append(text)
                os.kill(victim, signal.SIGKILL)

        disturbed = ebbing.dask.forecast(tasks, progress=kill, **settings)
        assert killed and victim not in client.run(os.getpid).values()
    assert undisturbed.converged and disturbed.converged
    # Panels are made again to the same bits and sums have one order: nothing but another machine could change the last digit.
    np.testing.assert_allclose(disturbed.forgetting, undisturbed.forgetting, atol=1e-10, rtol=0)
    for found, expected in zip(disturbed.pairs, undisturbed.pairs):
        assert found.values() == pytest.approx(expected.values(), abs=1e-10, rel=0)


def test_parts_with_other_columns(client, tmp_path):
    good, bad = tmp_path / "one.npy", tmp_path / "two.npy"
    np.save(good, np.eye(4)), np.save(bad, np.eye(4, 3))
    with pytest.raises(ValueError, match="task 1, X: .*two.npy has 3 columns, .*one.npy has 4; every part must hold the same features"):
        ebbing.dask.forecast([([good, bad], np.ones(8))], client=client)
    # A Dask array whose blocks are not what it says.
    lies = [da.from_delayed(dask.delayed(np.ones)((4, n)), (4, 5), dtype=float) for n in (5, 6)]
    with pytest.raises(ValueError, match="task 1, X: chunk 2 of 2 has 6 columns, chunk 1 of 2 has 5"):
        ebbing.dask.forecast([(da.concatenate(lies), np.ones(8))], client=client)


def test_a_chunk_with_nan(client):
    X = np.random.default_rng(0).normal(size=(30, 5))
    X[17, 3] = np.nan
    with pytest.raises(ValueError, match=r"task 2, X: chunk 2 of 3 holds nan in its row 7 \(row 17 of the task\), column 3"):
        ebbing.dask.forecast([(np.eye(30, 5), np.ones(30)), (da.from_array(X, chunks=(10, 5)), np.ones(30))], client=client)
    with pytest.raises(ValueError, match="task 1, y: row 2 .* targets must be finite"):
        ebbing.dask.forecast([(np.eye(5), [0.1, 0.2, np.inf, 0.3, 0.5])], client=client)


@pytest.mark.parametrize(
    ("tasks", "sentence"),
    [
        ([(np.eye(5), np.ones(4))], "task 1: X has 5 rows, y 4"),
        ([(np.eye(5), np.ones(5)), (np.eye(6), np.ones(6))], "task 2: X has 6 features, task 1 has 5"),
        ([(np.eye(5), np.zeros(5))], "all of y is zero"),
        ([(["missing.npy"], np.ones(5))], "missing.npy: a worker does not find it; put the files where every worker sees them"),
        ([(np.eye(5), np.ones(5), np.eye(5), None)], "X_test and y_test come together"),
        ([], "there is none"),
        ([(da.ones(5), np.ones(5))], "two axes"),
    ],
)
def test_tasks_that_do_not_fit(client, tasks, sentence):
    with pytest.raises((ValueError, OSError), match=sentence):
        ebbing.dask.forecast(tasks, client=client)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"mode": "deep"}, "mode is deep; must be rf, ntk, lazy or gibbs"),
        ({"lam": 1.0}, "lam is 1"),
        ({"mode": "gibbs", "lam": -1.0}, "lam is -1"),
        ({"beta": 0.0}, "beta is 0"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"probes": 1}, "probes is 1; it must be at least 2"),
        ({"depth": 0}, "depth is 0"),
        ({"activation": "tanh"}, "activation is tanh"),
        ({"convention": "mine"}, "convention is mine; must be gem, avalanche or chaudhry"),
        ({"blocks": "disk"}, "blocks is 'disk'"),
        ({"variance": True}, "variance: a forecast on a cluster has no such setting"),
        ({"replay": 5}, "replay: a forecast on a cluster has no such setting"),
        ({"deepth": 1}, "unexpected keyword argument 'deepth'"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_settings_that_are_refused(client, tasks, settings, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        ebbing.dask.forecast(tasks[:1], client=client, **settings)


def test_a_client_that_is_none(tasks, client):
    with pytest.raises(TypeError, match="client is a str; it must be a distributed.Client"):
        ebbing.dask.forecast(tasks, client="tcp://127.0.0.1:8786")
    with pytest.raises(TypeError, match="give a list of"):
        ebbing.dask.forecast("tasks", client=client)


def test_workers_with_too_little_memory(tasks):
    # Dask's own guards are off: it would end such workers before they are asked for anything.
    guards = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause", "terminate")}
    with dask.config.set(guards), started(1, memory_limit="60MB") as cluster, cluster.get_client() as client:
        with pytest.raises(MemoryError, match="too little memory: the smallest has a limit of 57 MiB.*give every worker more memory"):
            ebbing.dask.forecast(tasks[:1], client=client)


@pytest.mark.parametrize(
    ("examples", "workers", "limit", "per_thread"),
    [
        # A kernel's share of 1.6 GB, 0.6 GB to work with and 1.2 GB fetched ahead fit 8.4 GB: one block per thread balances best.
        (20_000, 2, 12e9, 1),
        # A share of 200 MB leaves 87 of the 448 that can be planned with: panels must be of those that can be written, 80 MB.
        (10_000, 4, 640e6, 3),
        # No kernel fits: tiles are made anew, and one block per thread has room for that.
        (60_000, 2, 4e9, 1),
        # Not even that: blocks are made smaller until work on them fits.
        (60_000, 2, 1.6e9, 3),
        (10_000, 3, None, 1),
    ],
)
def test_row_blocks_follow_the_memory_of_workers(examples, workers, limit, per_thread):
    used = 130e6
    memory = Memory(workers, None if limit is None else 0.7 * limit - used, limit, [str(k) for k in range(workers)])
    assert memory.blocks(Load(examples, 2 * examples, 784, 6)) == workers * per_thread


def test_a_worker_without_the_package(tmp_path, tasks):
    (tmp_path / "ebbing.py").write_text("raise ModuleNotFoundError(\"No module named 'ebbing'\", name='ebbing')")
    with LocalCluster(n_workers=0, processes=True, dashboard_address=None, host="127.0.0.1") as cluster, cluster.get_client() as client:
        with pytest.raises(RuntimeError, match="its cluster has no workers yet"):
            ebbing.dask.forecast(tasks, client=client)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-dashboard", "--nthreads", "1"]
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        worker = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(RuntimeError, match="it cannot import ebbing .*; install ebbing .* in the environment in which workers start"):
                ebbing.dask.forecast(tasks, client=client)
        finally:
            worker.terminate()
            worker.wait(30)


def test_without_dask_it_says_what_to_install():
    code = "import sys; sys.modules['distributed'] = None; import ebbing.dask"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "ImportError: ebbing.dask needs Dask: pip install 'ebbing[dask]'" in done.stderr


def test_the_slurm_script():
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    path = Path(__file__).resolve().parents[1] / "examples" / "slurm_dask.py"
    spec = importlib.util.spec_from_file_location("slurm_dask", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with example.cluster(queue="long", memory="64GB", scheduler_options={"host": "127.0.0.1"}) as cluster:
        lines = cluster.job_script().splitlines()
    assert lines[0].startswith("#!") and "#SBATCH -p long" in lines and "#SBATCH -t 02:00:00" in lines
    assert "#SBATCH --cpus-per-task=8" in lines and "#SBATCH --mem=60G" in lines
    # One process with all threads, in the environment that has the package, with the limit that plans are made by.
    assert "source $HOME/ebbing/bin/activate" in lines
    command = lines[-1]
    assert "dask_worker" in command and "--nthreads 8" in command and "--memory-limit 59.60GiB" in command
