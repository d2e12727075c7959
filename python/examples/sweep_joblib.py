"""A sweep over protocols and depths with joblib: each cell is a call, and results can be pickled.

Cells run in processes of their own; RAYON_NUM_THREADS=1 keeps each to one thread. Forked processes (the `multiprocessing`
backend) must not be used once this process has computed something itself: joblib's default, loky, starts fresh ones.
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"

from joblib import Parallel, delayed

import ebbing


def cell(ratio: float, depth: int) -> dict[str, float]:
    tasks = ebbing.tasks.permuted(length=2, examples=100, test_examples=0, ratio=ratio)
    pair = ebbing.order_parameters(*tasks[0][:2], *tasks[1][:2], depth=depth)
    return {"ratio": ratio, "depth": depth, "gamma_sim": pair.gamma_sim, "f_pair": pair.f_pair}


if __name__ == "__main__":
    grid = [(ratio, depth) for ratio in (0.05, 0.5, 1.0) for depth in (1, 3)]
    rows = Parallel(n_jobs=2)(delayed(cell)(*point) for point in grid)
    for row in rows:
        print(f"ratio {row['ratio']:.2f}  depth {row['depth']}  gamma_sim {row['gamma_sim']:.2f}  F_pair {row['f_pair']:.2f}")
    similarity = [row["gamma_sim"] for row in rows if row["depth"] == 1]
    print("more shuffling, less similarity:", similarity == sorted(similarity, reverse=True))
    #> more shuffling, less similarity: True
