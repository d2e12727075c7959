"""F_21 of two tasks in random features of a network with three hidden layers, by NumPy and SciPy (see benches/pair.rs).

pair.py P prints [seconds, processor seconds].
"""

import json
import sys
import time

import numpy as np
import scipy.linalg


def kernel(x, x2, depth):
    """K_GP between inputs whose squared norm is about their number of features."""
    v, v2 = (x**2).mean(1), (x2**2).mean(1)
    k = x @ x2.T / x.shape[1]
    scale = np.sqrt(np.outer(v, v2))
    for _ in range(depth):
        rho = np.clip(k / scale, -1, 1)
        angle = np.arccos(rho)
        k = scale / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * rho)
        scale = scale / 2
    return k


def forgetting(tasks, depth):
    (x1, y1), (x2, y2) = tasks
    k11, k21, k22 = kernel(x1, x1, depth), kernel(x2, x1, depth), kernel(x2, x2, depth)
    u1 = scipy.linalg.cho_solve(scipy.linalg.cho_factor(k11, check_finite=False), y1, check_finite=False)
    u2 = scipy.linalg.cho_solve(scipy.linalg.cho_factor(k22, check_finite=False), y2 - k21 @ u1, check_finite=False)
    return ((k21.T @ u2) ** 2).sum() / (y1**2).sum()


if __name__ == "__main__":
    p = int(sys.argv[1])
    stream = np.random.default_rng(1)
    tasks = []
    for _ in range(2):
        x = stream.normal(size=(p, 784))
        tasks.append((x, np.sign(x[:, :1] + x[:, 1:2])))
    start = time.perf_counter(), time.process_time()
    forgetting(tasks, 3)
    print(json.dumps([time.perf_counter() - start[0], time.process_time() - start[1]]))
