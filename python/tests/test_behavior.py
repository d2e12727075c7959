"""Threads, memory, interruption and progress."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ebbing


def test_two_threads_at_once_get_what_one_gets(make_tasks):
    jobs = [make_tasks(3, p=60, seed=seed) for seed in range(8)]

    def work(tasks):
        network = ebbing.SingleHead(tasks, depth=2)
        pair = ebbing.order_parameters(*tasks[0], *tasks[1])
        return network.forgetting(), network.variance(tasks[0][0]), pair.f21, ebbing.kernel(tasks[0][0])

    alone = [work(tasks) for tasks in jobs]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(work, jobs))
    for one, other in zip(alone, together):
        assert all(np.array_equal(a, b) for a, b in zip(one, other))


def test_one_object_serves_two_threads(make_tasks):
    tasks = make_tasks(3, p=60)
    network, x = ebbing.SingleHead(tasks), tasks[0][0] + 1
    want = network.variance(x)
    fresh = ebbing.SingleHead(tasks)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(got, want) for got in pool.map(fresh.variance, [x] * 8))


def test_other_threads_run_meanwhile(make_tasks):
    done, ticks = threading.Event(), []

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    other = threading.Thread(target=tick)
    other.start()
    try:
        start = time.monotonic()
        tasks = make_tasks(2, p=300)
        while time.monotonic() - start < 0.5:
            ebbing.order_parameters(*tasks[0], *tasks[1], bootstrap=20)
    finally:
        end = time.monotonic()
        done.set()
        other.join()
    # The longest silence of a thread that only needs the interpreter; held throughout, it would be a whole call.
    gaps = np.diff([start, *[t for t in ticks if start < t < end], end])
    assert len(ticks) > 10 and gaps.max() < 0.9 * (end - start)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not report how much memory a process has")
def test_memory_does_not_grow(make_tasks):
    tasks = make_tasks(2, p=120, n0=60)
    X, y = tasks[0]

    def once():
        ebbing.kernel(X)
        network = ebbing.SingleHead(tasks)
        network.forgetting()
        network.covariance(X)
        ebbing.order_parameters(X, y, *tasks[1]).to_dict()
        ebbing.MultiHead(tasks, alpha=0.5).mean(X, 1)
        with pytest.raises(ValueError):
            ebbing.SingleHead([(X, y[:3])])

    for _ in range(20):
        once()
    before = resident()
    for _ in range(200):
        once()
    # A leak of the smallest array here (57 kB of inputs) would leave 11 MB; allocators keep some pages.
    assert resident() - before < 8_000_000


INTERRUPTED = """
import signal
# A program started in the background of a script ignores Ctrl-C, and its children do as well.
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, ebbing
rng = np.random.default_rng(0)
X, X2, y = rng.normal(size=(400, 50)), rng.normal(size=(400, 50)), np.sign(rng.normal(size=400))
print("started", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
CALLS = {
    "no steps": "ebbing.order_parameters(X, y, X2, y, bootstrap=100_000)",
    "steps": "ebbing.train([(X, y), (X2, y)], threshold=1e-30, max_steps=10**9, tolerance=1e-30, patience=10**8)",
    "steps to a listener that runs no Python": (
        "ebbing.train([(X, y), (X2, y)], threshold=1e-30, max_steps=10**9, tolerance=1e-30, patience=10**8,"
        " progress=slice)"
    ),
    "progress": "ebbing.forecast([(X, y), (X2, y)], depths=list(range(1, 400)), progress=lambda *_: None)",
    "chains": "ebbing.sample([(X, y), (X2, y)], chains=200, warmup=1000, draws=1000)",
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to another process")
@pytest.mark.parametrize("name", CALLS)
def test_control_c_ends_long_work(name):
    code = INTERRUPTED.format(call=CALLS[name])
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(0.7)
        assert process.poll() is None, "the work is too short to be interrupted"
        process.send_signal(signal.SIGINT)
        # The work itself would take hours.
        watch = threading.Timer(120, process.kill)
        watch.start()
        said = process.stdout.readline()
        watch.cancel()
        assert said == "interrupted\n", "not interrupted within two minutes"
        process.wait(120)


def test_progress_is_reported(make_tasks):
    heard = []
    ebbing.forecast(make_tasks(3), progress=lambda *step: heard.append(step), depths=[2])
    assert heard[0][0] == 0 and heard[-1][:2] == (1.0, 1.0)
    assert [step[0] for step in heard] == sorted(step[0] for step in heard)
    assert {type(part) for step in heard for part in step} == {float, str}
    heard.clear()
    ebbing.train(make_tasks(2), width=50, max_steps=300, progress=lambda *step: heard.append(step))
    assert heard[-1] == (1.0, 1.0, "done")
    heard.clear()
    ebbing.sample(
        make_tasks(2, p=5), width=5, beta=10.0, chains=3, warmup=10, draws=10, progress=lambda *step: heard.append(step)
    )
    assert sorted(step[0] for step in heard) == pytest.approx([1 / 3, 2 / 3, 1, 1])


def test_what_a_listener_raises_ends_the_work(make_tasks):
    def listener(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ebbing.forecast(make_tasks(3), progress=listener)


def test_bars_in_terminals_and_elsewhere(make_tasks, capsys, monkeypatch):
    ebbing.forecast(make_tasks(2), progress=True)
    plain = capsys.readouterr().err
    assert "forecast: order parameters" in plain and "\r" not in plain
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    ebbing.forecast(make_tasks(2), progress=True)
    assert "100 %" in capsys.readouterr().err
    ebbing.forecast(make_tasks(2))
    assert capsys.readouterr().err == ""


def test_results_have_the_same_bits_at_any_number_of_threads():
    code = (
        "import numpy as np, ebbing; rng = np.random.default_rng(0);"
        "tasks = [(rng.normal(size=(60, 30)), np.sign(rng.normal(size=60))) for _ in range(2)];"
        "F = ebbing.SingleHead(tasks, depth=2).forgetting(); print(F.tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "RAYON_NUM_THREADS": n}, capture_output=True, text=True, check=True
        ).stdout
        for n in ("1", "2", "5")
    }
    assert len(outputs) == 1


def test_a_limit_that_is_not_reached_is_reported():
    """Next to a transition of three tasks no λ stands for ∞; away from it there is nothing to say."""
    three = ebbing.tasks.interpolated(
        ebbing.tasks.permuted(length=2, examples=100, test_examples=20, ratio=0.15, first_unpermuted=True), intermediate=1
    )
    with pytest.warns(UserWarning, match="lam = inf is not quite reached.*when lam grows tenfold"):
        ebbing.MultiHead(three, alpha=1.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ebbing.MultiHead(three, alpha=0.5)
    said = "λ → ∞ is not quite reached: losses still move"
    assert said in " ".join(ebbing.phase(three, alpha=1.7).answer) and said not in " ".join(ebbing.phase(three, alpha=0.5).answer)


def test_more_threads_than_serve_are_reported_once():
    code = (
        "import numpy as np, ebbing; rng = np.random.default_rng(0);"
        "tasks = [(rng.normal(size=(10, 5)), np.sign(rng.normal(size=10))) for _ in range(2)];"
        "ebbing.kernel(tasks[0][0]); ebbing.SingleHead(tasks); ebbing.SingleHead(tasks)"
    )
    env = {**os.environ, "RAYON_NUM_THREADS": "100000", "PYTHONWARNINGS": "always"}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stderr
    assert said.count("UserWarning: RAYON_NUM_THREADS is 100000; this machine has ") == 1 and "threads are used" in said
