"""A wide network that learns tasks one after another at a temperature, by NumPy and SciPy (see benches/exact.rs).

exact.py FILE TASKS ROWS HELD_OUT FEATURES CLASSES BETA prints [F, [seconds, processor seconds]].
"""

import json
import sys
import time

import numpy as np
import scipy.linalg
from features import tasks


def kernel(x, norms, x2, norms2):
    """K_GP of one hidden layer of ReLU."""
    k = x @ x2.T
    scale = np.outer(norms, norms2)
    k /= scale
    np.clip(k, -1, 1, out=k)
    angle = np.arccos(k)
    k *= np.pi - angle
    k += np.sin(angle)
    k *= scale
    k /= 2 * np.pi * x.shape[1]
    return k


def forecast(all_tasks, beta):
    """Losses and accuracies after every task, on training and on held-out data, and held-out ones of fresh networks."""
    norms = [np.linalg.norm(x, axis=1) for (x, _), _ in all_tasks]
    duals, alone, f, losses, accuracies = [], [], [], [], []
    count = len(all_tasks)
    losses = np.zeros((count, count))
    accuracies = np.zeros((count, count))

    def score(t, s, outputs):
        y = all_tasks[s][0][1]
        losses[t, s] = ((outputs - y) ** 2).sum() / (y**2).sum()
        accuracies[t, s] = (outputs.argmax(1) == y.argmax(1)).mean()

    for b, ((x, y), _) in enumerate(all_tasks):
        blocks = [kernel(x, norms[b], all_tasks[a][0][0], norms[a]) for a in range(b)]
        now = np.zeros(y.shape)
        for a, block in enumerate(blocks):
            now += block @ duals[a]
            score(a, b, now)
        k = kernel(x, norms[b], x, norms[b])
        own = k.copy()
        own[np.diag_indices(len(x))] += 1 / beta
        factor = scipy.linalg.cho_factor(own, overwrite_a=True, check_finite=False)
        both = scipy.linalg.cho_solve(factor, np.hstack([y - now, y]), check_finite=False)
        duals.append(both[:, : y.shape[1]].copy())
        alone.append(both[:, y.shape[1] :].copy())
        f.append(now + k @ duals[b])
        for a, block in enumerate(blocks):
            f[a] += block.T @ duals[b]
        for a in range(b + 1):
            score(b, a, f[a])
    test = []
    for s, (_, (x, y)) in enumerate(all_tasks):
        own = np.linalg.norm(x, axis=1)
        now = np.zeros(y.shape)
        for t, ((x_t, _), _) in enumerate(all_tasks):
            block = kernel(x, own, x_t, norms[t])
            now += block @ duals[t]
            fresh = block @ alone[t] if t == s else None
            for outputs in [now] if fresh is None else [now, fresh]:
                test.append([((outputs - y) ** 2).sum() / (y**2).sum(), (outputs.argmax(1) == y.argmax(1)).mean()])
    return losses, accuracies, test


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[2:7]]
    all_tasks = tasks(sys.argv[1], *numbers)
    start = time.perf_counter(), time.process_time()
    f, *_ = forecast(all_tasks, float(sys.argv[7]))
    seconds = [time.perf_counter() - start[0], time.process_time() - start[1]]
    print(json.dumps([f.tolist(), seconds]))
