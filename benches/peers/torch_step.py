"""Full-batch gradient steps in PyTorch, timed on request.

Reads lines `P N0 N L steps eta` from standard input, takes so many steps after two that are not counted, and answers
each with the seconds of a step: the best over stretches of 25 steps or 0.1 s, whichever is shorter. The network is
kept between requests for the same sizes.
"""

import math
import sys
import time

import torch

torch.set_num_threads(2)


class Problem:
    """Random data and a network without biases: x -> relu(x W) ... -> x a.

    The factors 1/sqrt(dim) are part of the weights here, which spares PyTorch a pass over every layer.
    """

    def __init__(self, rows, inputs, width, depth, eta):
        torch.manual_seed(0)
        self.x = torch.randn(rows, inputs)
        self.y = torch.randn(rows, 1)
        sizes = [inputs] + [width] * depth + [1]
        self.weights = [(torch.randn(a, b) / math.sqrt(a)).requires_grad_() for a, b in zip(sizes, sizes[1:])]
        self.optimizer = torch.optim.SGD(self.weights, lr=eta)

    def step(self):
        h = self.x
        for w in self.weights[:-1]:
            h = torch.relu(h @ w)
        loss = 0.5 * ((h @ self.weights[-1] - self.y) ** 2).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def best_seconds(problem, steps):
    best, done = math.inf, 0
    while done < steps:
        start, count = time.perf_counter(), 0
        while count < 25 and time.perf_counter() - start < 0.1:
            loss = problem.step()
            count += 1
        best = min(best, (time.perf_counter() - start) / count)
        done += count
    assert math.isfinite(loss.item()), "the learning rate is too large"
    return best


def main():
    size, problem = None, None
    for line in sys.stdin:
        words = line.split()
        rows, inputs, width, depth, steps = (int(word) for word in words[:5])
        if size != words[:4]:
            size, problem = words[:4], Problem(rows, inputs, width, depth, float(words[5]))
        for _ in range(2):
            problem.step()
        print(best_seconds(problem, steps), flush=True)


if __name__ == "__main__":
    main()
