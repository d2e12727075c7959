"""Full-batch gradient steps in PyTorch, on request (see protocol.py).

- `step` (`shape`: P, N0, N and the number of hidden layers; `steps`, `eta`): the seconds of a step on random data, the best
  over two ways to write it and over stretches of 25 steps or 0.1 s, whichever is shorter. Networks are kept between requests
  for the same sizes.
- `steps` (inputs `x`, `y`, `before0`, `before1`, …; `activation`, `steps`, `eta`): takes them in double precision from these
  weights; the weights `after0`, `after1`, … and the squared error `mse`.
"""

import protocol  # isort: skip  (first: it sets the number of threads)

import math
import sys
import time

import numpy as np
import torch

torch.set_num_threads(protocol.THREADS)

# The network of the last sizes.
PROBLEMS = {}
# ReLUs in place: their input is not needed again.
ACTIVATIONS = {"relu": torch.relu_, "erf": torch.erf}


class Problem:
    """Full-batch descent on half the squared error of x -> phi(x V) ... -> x a, without biases.

    The factors 1/sqrt(dim) of a network phi(x W/sqrt(dim)) are part of the weights V = W/sqrt(dim) here, which spares a
    pass over every layer; a step of rate eta on W is one of rate eta/dim on V.
    """

    def __init__(self, x, y, weights, activation, eta):
        self.x, self.y = x, y
        self.activation = ACTIVATIONS[activation]
        self.weights = [(w / math.sqrt(len(w))).requires_grad_() for w in weights]
        self.rates = [eta / len(w) for w in weights]
        groups = [{"params": [w], "lr": rate} for w, rate in zip(self.weights, self.rates)]
        self.optimizer = torch.optim.SGD(groups, lr=eta)

    def loss(self):
        h = self.x
        for w in self.weights[:-1]:
            h = self.activation(h @ w)
        return 0.5 * (h @ self.weights[-1] - self.y).square().sum()

    def step_plain(self):
        gradients = torch.autograd.grad(self.loss(), self.weights)
        with torch.no_grad():
            for w, gradient, rate in zip(self.weights, gradients, self.rates):
                w.sub_(gradient, alpha=rate)

    def step_by_optimizer(self):
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()


def random_problem(rows, inputs, width, depth, eta):
    torch.manual_seed(0)
    sizes = [inputs] + [width] * depth + [1]
    weights = [torch.randn(a, b) for a, b in zip(sizes, sizes[1:])]
    return Problem(torch.randn(rows, inputs), torch.randn(rows, 1), weights, "relu", eta)


def best_seconds(step, steps):
    best, done = math.inf, 0
    while done < steps:
        start, count = time.perf_counter(), 0
        while count < 25 and time.perf_counter() - start < 0.1:
            step()
            count += 1
        best = min(best, (time.perf_counter() - start) / count)
        done += count
    return best


def timed_step(arrays, request):
    shape, eta, steps = tuple(request["shape"]), request["eta"], request["steps"]
    if shape not in PROBLEMS:
        PROBLEMS.clear()
        PROBLEMS[shape] = random_problem(*shape, eta)
        PROBLEMS[shape].step_plain()
        PROBLEMS[shape].step_by_optimizer()
    problem = PROBLEMS[shape]

    def run():
        seconds = [best_seconds(step, steps) for step in (problem.step_plain, problem.step_by_optimizer)]
        assert math.isfinite(problem.loss().item()), "the learning rate is too large"
        return {}, {"seconds": min(seconds)}

    return run


def all_steps(arrays, request):
    arrays = {name: torch.from_numpy(array) for name, array in arrays.items()}
    before = [arrays[f"before{k}"] for k in range(sum(name.startswith("before") for name in arrays))]
    problem = Problem(arrays["x"], arrays["y"], before, request["activation"], request["eta"])

    def run():
        for _ in range(request["steps"]):
            problem.step_plain()
        after = {f"after{k}": (v.detach() * math.sqrt(len(v))).numpy() for k, v in enumerate(problem.weights)}
        return {"mse": 2 * problem.loss().item() / arrays["y"].numel(), **after}, {}

    return run


if __name__ == "__main__":
    about = {"torch": torch.__version__, "numpy": np.__version__, "python": sys.version.split()[0]}
    protocol.serve({"step": timed_step, "steps": all_steps}, about)
