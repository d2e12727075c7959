"""Kernels by neural-tangents, and kernel regression by neural-tangents and SciPy, on request (see protocol.py).

- `nngp`, `ntk` (inputs `x`; `depth`): the kernel `k` of a ReLU network, compiled and run once before it is timed.
- `regression` (inputs `x`, `y`, `x_test`; `depth`): `f = K(x_test, x) K(x, x)^{-1} y` with the NNGP.

Kernels are for weights of variance 1, as ebbing defines them: of the last hidden layer, without a readout's variance.
"""

import protocol  # isort: skip  (first: it sets the number of threads)

import sys
import types
from importlib.metadata import version

import jax
import numpy as np
import scipy
from scipy.linalg import cho_factor, cho_solve

jax.config.update("jax_enable_x64", True)
# Its experimental part needs TensorFlow and is not used here.
sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")
from neural_tangents import stax  # noqa: E402  (after the switch to 64 bits)

COMPILED = {}


def network(depth):
    """The kernel function of `depth` hidden ReLU layers and a readout, W ~ N(0, 1), no biases."""
    dense = [stax.Dense(1, W_std=1.0, b_std=None, parameterization="ntk") for _ in range(depth + 1)]
    layers = [layer for each in dense[:-1] for layer in (each, stax.Relu())]
    return stax.serial(*layers, dense[-1])[2]


def compiled(kind, depth, x, x2=None):
    """The compiled kernel function of arrays with these shapes; symmetric, with half of the inputs, without x2."""
    key = (kind, depth, x.shape, None if x2 is None else x2.shape)
    if key not in COMPILED:
        kernel = network(depth)
        arguments = (x,) if x2 is None else (x, x2)
        function = jax.jit(lambda a, b=None: kernel(a, b, kind))
        COMPILED[key] = function.lower(*arguments).compile()
    return COMPILED[key]


def kernel_of(kind):
    def prepare(arrays, request):
        x = jax.numpy.asarray(arrays["x"])
        function = compiled(kind, request["depth"], x)
        function(x).block_until_ready()

        def run():
            return {"k": function(x).block_until_ready()}, {}

        return run

    return prepare


def regression(arrays, request):
    x, x_test = jax.numpy.asarray(arrays["x"]), jax.numpy.asarray(arrays["x_test"])
    y, depth = arrays["y"], request["depth"]
    own, cross = compiled("nngp", depth, x), compiled("nngp", depth, x_test, x)

    def run():
        # The kernel's buffer becomes its factor, without a copy: symmetric, it is its own transpose in Fortran's order.
        k = np.asarray(own(x).block_until_ready()).T
        w = cho_solve(cho_factor(k, overwrite_a=True, check_finite=False), y, check_finite=False)
        del k
        return {"f": np.asarray(cross(x_test, x)) @ w}, {}

    return run


def main():
    versions = {
        "neural_tangents": version("neural-tangents"),
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": protocol.blas_of(scipy),
        "python": sys.version.split()[0],
    }
    works = {"nngp": kernel_of("nngp"), "ntk": kernel_of("ntk"), "regression": regression}
    protocol.serve(works, versions)


if __name__ == "__main__":
    main()
