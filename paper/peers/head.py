"""Training of the head whose forecast a bench times, on the same file (see benches/exact.rs and benches/features.rs).

head.py FILE TASKS ROWS HELD_OUT FEATURES CLASSES WIDTH prints {"network": [final accuracy, [seconds, processor seconds]], "ridge": …}:
a head of WIDTH ReLU units (a linear one at 0) that learns one task after another by PyTorch, Adam at 1e-3 with batches of 128 and
cross-entropy, 20 epochs each; and scikit-learn's Ridge on everything at once. What is not installed is left out.
"""

import importlib.util
import json
import sys
import time

import numpy as np
from features import tasks

EPOCHS, BATCH, RATE = 20, 128, 1e-3


def timed(work):
    start = time.perf_counter(), time.process_time()
    result = work()
    return [result, [time.perf_counter() - start[0], time.process_time() - start[1]]]


def trained(all_tasks, width):
    """Final accuracy over all tasks of a head trained on one after another."""
    import torch

    torch.manual_seed(0)
    (x, y), _ = all_tasks[0]
    layers = [torch.nn.Linear(x.shape[1], width), torch.nn.ReLU(), torch.nn.Linear(width, y.shape[1])]
    model = torch.nn.Sequential(*layers) if width else torch.nn.Linear(x.shape[1], y.shape[1])
    single = [[(torch.tensor(x, dtype=torch.float32), torch.tensor(y.argmax(1))) for x, y in task] for task in all_tasks]
    for (x, y), _ in single:
        optimizer = torch.optim.Adam(model.parameters(), RATE)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(x)).split(BATCH):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
    with torch.no_grad():
        return float(np.mean([(model(x).argmax(1) == y).float().mean() for _, (x, y) in single]))


def ridge(all_tasks):
    """Final accuracy over all tasks of ridge regression on everything at once."""
    from sklearn.linear_model import Ridge

    x, y = (np.vstack([task[0][part] for task in all_tasks]) for part in range(2))
    model = Ridge(alpha=1.0).fit(x, y)
    return float(np.mean([(model.predict(x).argmax(1) == y.argmax(1)).mean() for _, (x, y) in all_tasks]))


if __name__ == "__main__":
    all_tasks, width = tasks(sys.argv[1], *(int(word) for word in sys.argv[2:7])), int(sys.argv[7])
    there = {name: importlib.util.find_spec(name) for name in ("torch", "sklearn")}
    found = {}
    if there["torch"]:
        found["network"] = timed(lambda: trained(all_tasks, width))
    if there["sklearn"]:
        found["ridge"] = timed(lambda: ridge(all_tasks))
    print(json.dumps(found))
