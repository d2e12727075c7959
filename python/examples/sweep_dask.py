"""A sweep with Dask: calls release the interpreter, so that its threads compute side by side."""

import dask

import ebbing


@dask.delayed
def regime(alpha: float) -> str:
    tasks = ebbing.tasks.permuted(length=2, examples=100, test_examples=0, ratio=0.05, first_unpermuted=True)
    return f"alpha {alpha}: {ebbing.MultiHead(tasks, alpha=alpha).regime}"


if __name__ == "__main__":
    for line in dask.compute(*(regime(alpha) for alpha in (0.5, 1.2, 20.0)), scheduler="threads"):
        print(line)
    #> alpha 0.5: fixed_representations
