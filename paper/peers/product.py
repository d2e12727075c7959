"""NumPy's product of a square matrix `a` with itself, in the `precision` "f64" or "f32", on request (see protocol.py)."""

import protocol  # isort: skip  (first: it sets the number of threads)

import numpy as np


def product(arrays, request):
    a = arrays["a"].astype(np.float32) if request["precision"] == "f32" else arrays["a"]
    result = np.empty_like(a)
    return lambda: ({"c": np.matmul(a, a, out=result)}, {})


if __name__ == "__main__":
    protocol.serve({"product": product}, {"numpy": np.__version__, "blas": protocol.blas_of(np)})
