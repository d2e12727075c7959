"""Full-batch gradient steps in PyTorch, on request: timed, or compared with steps taken elsewhere.

Requests are lines on standard input, each answered with one line on standard output:

- `time P N0 N L STEPS ETA`: the seconds of a step on random data, the best over two ways to write it and over stretches
  of 25 steps or 0.1 s, whichever is shorter. Networks are kept between requests for the same sizes.
- `compare FILE ACTIVATION STEPS ETA`: takes the steps in double precision from the weights in an `.npz` file and answers
  with differences from the results there: of the squared error, relatively; then, for every layer, of the weights, in
  units of how far they moved.
"""

import math
import sys
import time

import numpy
import torch

torch.set_num_threads(2)

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


def compare(path, activation, steps, eta):
    with numpy.load(path) as file:
        arrays = {name: torch.from_numpy(file[name]) for name in file.files}
    layers = sum(name.startswith("before") for name in arrays)
    before = [arrays[f"before{k}"] for k in range(layers)]
    problem = Problem(arrays["x"], arrays["y"], before, activation, eta)
    for _ in range(steps):
        problem.step_plain()
    error = 2 * problem.loss().item() / arrays["y"].numel()
    differences = [abs(arrays["mse"].item() / error - 1)]
    for k, v in enumerate(problem.weights):
        want = v.detach() * math.sqrt(len(v))
        moved = torch.linalg.norm(want - before[k])
        differences.append((torch.linalg.norm(arrays[f"after{k}"] - want) / moved).item())
    return differences


def main():
    size, problem = None, None
    for line in sys.stdin:
        request, *words = line.split()
        if request == "compare":
            print(*compare(words[0], words[1], int(words[2]), float(words[3])), flush=True)
            continue
        rows, inputs, width, depth, steps = (int(word) for word in words[:5])
        if size != words[:4]:
            size, problem = words[:4], random_problem(rows, inputs, width, depth, float(words[5]))
            problem.step_plain()
            problem.step_by_optimizer()
        seconds = [best_seconds(step, steps) for step in (problem.step_plain, problem.step_by_optimizer)]
        assert math.isfinite(problem.loss().item()), "the learning rate is too large"
        print(min(seconds), flush=True)


if __name__ == "__main__":
    main()
