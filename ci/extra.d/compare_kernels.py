"""Compares ebbing's NNGP and NTK with those of neural-tangents on random inputs of unequal norms.

Usage: compare_kernels.py PROGRAM, where PROGRAM is the built example `kernel_npz`. The Python package is compared too.
"""

import itertools
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import ebbing
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
# Its experimental part needs TensorFlow and is not used here.
sys.modules["neural_tangents.experimental"] = types.ModuleType("neural_tangents.experimental")
from neural_tangents import stax  # noqa: E402  (after the switch to 64 bits)

# Float64 on both sides leaves about 1e-13; 1e-6 is what users of both may count on.
TOLERANCE = 1e-6
DEPTHS = (1, 3, 10)
SIGMA2 = 1.7
ACTIVATIONS = {"relu": stax.Relu, "erf": stax.Erf, "gelu": stax.Gelu}
BIASES = (0.0, 0.6)


def peer(activation, depth, bias, x, x2):
    """The kernels in ebbing's convention: without the readout's σ², derivatives by the weights themselves."""
    dense = [stax.Dense(1, W_std=SIGMA2**0.5, b_std=bias or None, parameterization="ntk")]
    _, _, kernel = stax.serial(*(dense + [ACTIVATIONS[activation]()]) * depth, *dense)
    both = kernel(x, x2, ("nngp", "ntk"))
    # neural-tangents puts σ into the architecture and draws unit weights: one σ² in each kernel.
    return np.asarray(both.nngp) / SIGMA2, np.asarray(both.ntk) / SIGMA2


def main(program):
    draw = np.random.default_rng(7)
    x = draw.normal(size=(40, 30)) * draw.uniform(0.5, 2.0, size=(40, 1))
    x2 = draw.normal(size=(25, 30)) * draw.uniform(0.5, 2.0, size=(25, 1))
    # One pair that is equal and one that is opposite, where the angle's functions have their branch points.
    x2[0], x2[1] = x[0], -x[1]
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        inputs, outputs = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(inputs, x=x, x2=x2)
        for activation, depth, bias in itertools.product(ACTIVATIONS, DEPTHS, BIASES):
            command = [program, inputs, outputs, activation, str(depth), str(SIGMA2)]
            subprocess.run(command, check=True)
            ours = np.load(outputs)
            for name, theirs in zip(("nngp", "ntk"), peer(activation, depth, bias, x, x2)):
                settings = {"depth": depth, "sigma": SIGMA2**0.5, "bias": bias, "kind": name, "activation": activation}
                package = ebbing.kernel(x, x2, **settings)
                # Relative to the size of the kernel: near a zero crossing the relative error of one entry says nothing.
                found = [package, *([] if bias else [ours[name]])]
                error = max(np.max(np.abs(k - theirs)) / np.max(np.abs(theirs)) for k in found)
                print(f"{activation:6} depth {depth:2}  bias {bias}  {name:4}  relative difference {error:.1e}")
                worst = max(worst, error)
    print(f"largest relative difference {worst:.1e}, tolerance {TOLERANCE:.0e}")
    return 0 if worst < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
