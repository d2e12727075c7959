"""Writes tests/reference/gradients.json: losses and gradients of small networks by automatic differentiation.

Needs numpy, scipy and autograd from the package index:

    python tools/make_gradients.py > tests/reference/gradients.json
"""

import json

import autograd.numpy as np
import autograd.scipy.special as special
from autograd import grad

ACTIVATIONS = {"relu": lambda z: np.maximum(z, 0.0), "linear": lambda z: z, "erf": special.erf}


def loss(weights, x, y, phi):
    """½ Σ (f − y)² of x^{l+1} = φ(W x^l/√dim), f = x^L a/√N."""
    h = x
    for w in weights[:-1]:
        h = phi(h @ w.T / np.sqrt(w.shape[1]))
    f = h @ weights[-1] / np.sqrt(weights[-1].shape[0])
    return 0.5 * np.sum((f - y) ** 2)


def case(rng, activation, depth, targets):
    dim, width, rows = 5, 7, 6
    weights = [rng.normal(size=(width, dim))] + [rng.normal(size=(width, width)) for _ in range(depth - 1)]
    weights.append(rng.normal(size=(width, targets)))
    # Single-precision values, so that both sides start from the same numbers.
    weights = [w.astype("float32").astype(float) for w in weights]
    x = rng.normal(size=(rows, dim)).astype("float32").astype(float)
    y = rng.normal(size=(rows, targets)).astype("float32").astype(float)
    phi = ACTIVATIONS[activation]
    return {
        "activation": activation,
        "depth": depth,
        "x": x.tolist(),
        "y": y.tolist(),
        "weights": [w.tolist() for w in weights],
        "loss": float(loss(weights, x, y, phi)),
        "gradients": [g.tolist() for g in grad(loss)(weights, x, y, phi)],
    }


if __name__ == "__main__":
    rng = np.random.RandomState(5)
    cases = [case(rng, a, depth, targets) for a in ACTIVATIONS for depth in (1, 2, 4) for targets in (1, 3)]
    print(json.dumps(cases))
