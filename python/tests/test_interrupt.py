"""Ctrl-C: whatever is interrupted ends, and what comes next does not wait for it."""

import subprocess
import sys

import pytest

#: Each runs for much longer than it is let; sizes are moderate.
CALLS = """
"kernel": lambda: ebbing.kernel(rng.normal(size=(9000, 50)), depth=30, activation="erf"),
"single head": lambda: ebbing.SingleHead([(X, y), (X2, y), (X3, y)] * 8, mode="gibbs", lam=3.0),
"variance": lambda: ebbing.SingleHead([(X, y), (X2, y), (X3, y)] * 2, mode="gibbs", lam=3.0).forecast(variance=True),
"intervals": lambda: ebbing.order_parameters(X, y, X2, y, bootstrap=100_000),
"shuffles": lambda: ebbing.order_parameters(X, y, X2, y, shuffles=10_000_000),
"forecast": lambda: ebbing.forecast([(X, y), (X2, y)], depths=list(range(1, 400))),
"orders": lambda: ebbing.forecast(many),
"orders in gibbs": lambda: ebbing.forecast(many[:5], mode="gibbs", lam=3.0),
"advise": lambda: ebbing.advise(many),
"descent": lambda: ebbing.train([(X, y), (X2, y)], threshold=1e-30, max_steps=10**9, tolerance=1e-30, patience=10**8),
"levenberg": lambda: ebbing.train([(X, y), (X2, y)], solver="levenberg", width=300, depth=3),
"chains": lambda: ebbing.sample([(X, y), (X2, y)], chains=200, warmup=1000, draws=1000),
"multi head": lambda: ebbing.MultiHead([(X, y), (X2, y), (X3, y)], alpha=0.5, lam=3.0),
"""

PROGRAM = """
import _thread, random, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, ebbing
rng = np.random.default_rng(0)
draw = lambda p: (rng.normal(size=(p, 60)), np.sign(rng.normal(size=p)))
(X, y), (X2, _), (X3, _) = draw(900), draw(900), draw(900)
many = [draw(150) for _ in range(9)]
random.seed(1)
calls = {%s}
for name, call in calls.items():
    timer = threading.Timer(0.3 + random.random(), _thread.interrupt_main)
    timer.start()
    try:
        call()
        # Too quick a machine to interrupt it.
        timer.join()
        time.sleep(1)
        print(name, "whole", flush=True)
        continue
    except KeyboardInterrupt:
        pass
    begin = time.monotonic()
    ebbing.kernel(X[:20])
    tiny = time.monotonic() - begin
    time.sleep(1)
    before = time.process_time()
    time.sleep(1)
    print(name, "ended" if time.process_time() - before < 0.3 else "runs", f"{tiny:.3f}", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows interrupts in another way")
def test_interrupted_work_ends_and_the_next_call_does_not_wait():
    code = PROGRAM % CALLS
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert answer.returncode == 0, answer.stderr
    lines = [line.rsplit(" ", 2) for line in answer.stdout.splitlines() if not line.endswith("whole")]
    assert len(lines) >= 10, answer.stdout + answer.stderr
    running = [name for name, state, _ in lines if state == "runs"]
    assert not running, answer.stdout
    # A kernel of twenty rows takes milliseconds; it used to wait for work of a minute.
    assert max(float(seconds) for *_, seconds in lines) < 5, answer.stdout
