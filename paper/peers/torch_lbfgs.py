"""PyTorch's L-BFGS on a problem that the bench `levenberg` wrote: torch_lbfgs.py PROBLEM.json SECONDS.

Minimizes ½ Σ r² + κ/2 |W − W_0|² + ρ/2 |a|² over hidden weights and the readout, in double precision with a strong Wolfe line
search, and prints the objective and the gradient's norm over that at the start, until that is 1e-6 or the time is over.
"""

import json
import math
import sys
import time

import torch

torch.set_default_dtype(torch.float64)
with open(sys.argv[1]) as file:
    problem = json.load(file)
limit = float(sys.argv[2])
x, y = torch.tensor(problem["x"]), torch.tensor(problem["y"])
start = [torch.tensor(w) for w in problem["layers"]]
weights = [w.clone().requires_grad_() for w in start]
readout = torch.tensor(problem["readout"])[:, None].requires_grad_()


def objective():
    h = x
    for w in weights:
        h = torch.relu(h @ w.T / math.sqrt(w.shape[1]))
    r = y - h @ readout / math.sqrt(len(readout))
    moved = sum((w - s).square().sum() for w, s in zip(weights, start))
    return 0.5 * (r.square().sum() + problem["kappa"] * moved + problem["readout_penalty"] * readout.square().sum())


def gradient():
    return math.sqrt(sum(g.square().sum().item() for g in torch.autograd.grad(objective(), [*weights, readout])))


optimizer = torch.optim.LBFGS(
    [*weights, readout], max_iter=50, history_size=20, tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe"
)


def closure():
    optimizer.zero_grad()
    value = objective()
    value.backward()
    return value


first, begun, steps = gradient(), time.perf_counter(), 0
share = 1.0
while share > 1e-6 and time.perf_counter() - begun < limit:
    optimizer.step(closure)
    steps += 50
    share = gradient() / first
    seconds = time.perf_counter() - begun
    print(f"{steps} iterations, {seconds:.1f} s, objective {objective().item():.6f}, gradient {share:.1e}")
