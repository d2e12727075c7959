"""Does the multi-head theory of one hidden layer describe networks of two, if its kernels are those of depth 2?

    python paper/depth_two.py [DRAWS]

Posteriors of two tasks with a head each are sampled (`ebbing.sample`) at depths 1 and 2, and set beside the theory with the kernels of
the same depth (`ebbing.TwoTaskTheory.of_kernels`): the mean over draws of sampled over theory, with its standard error. At depth 1 what
is left is the finite width; at depth 2 it is also the factor that every hidden layer has of its own, which one hidden layer's theory
lacks. Needs the package.
"""

import sys

import numpy as np

import ebbing

LOADS, WIDTHS, LAM, BETA = (0.5, 1.5), (20, 40), 5.0, 500.0
NAMES = ("u11", "u12", "u22", "F21")


def tasks_of(p: int, seed: int) -> list[tuple]:
    """Random inputs and signs, and inputs that overlap with them by 0.8 with the same signs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(p, 2 * p))
    y = np.sign(rng.normal(size=p))
    return [(X, y), (0.8 * X + 0.6 * rng.normal(size=X.shape), y)]


def theory(tasks: list[tuple], alpha: float, depth: int) -> np.ndarray:
    """u11, u12, u22 and F_21, variance included, from kernels of a depth."""
    (X1, y1), (X2, y2) = tasks
    k = lambda kind, A, t, B, s: np.array(ebbing.kernel(A, B, depth=depth, t=t, s=s, lam=LAM, kind=kind))
    K11, K21, K22, delta = k("k1", X1, 1, X1, 1), k("k1", X2, 2, X1, 1), k("k1", X2, 2, X2, 2), k("delta", X2, 2, X2, 2)
    at = ebbing.TwoTaskTheory.of_kernels(K11, K21, K22, delta, y1, y2, lam=LAM).factors(alpha)
    u11, u12, u22, u0 = (float(u[0, 0]) for u in (at.u11, at.u12, at.u22, at.u0))
    d = float(at.d[0, 0])
    # Head 1 after task 2 on its own inputs: f = f⁰ + κ 𝓛⁻¹(Y − f⁰).
    zero = np.zeros((len(X1), len(X2)))
    lower = np.block([[u11 * K11, zero], [u12 * K21, d * K22 + u0 * delta]])
    kappa = np.hstack([u11 * k("k1", X1, 2, X1, 1), u12 * k("delta", X1, 2, X2, 2)])
    c = np.hstack([u11 * k("k1", X1, 2, X1, 1), u12 * k("k1", X1, 2, X2, 2)])
    C = np.block([[u11 * K11, u12 * K21.T], [u12 * K21, u22 * K22]])
    A = np.linalg.solve(lower.T, kappa.T).T
    mean = A @ np.concatenate([y1, y2])
    variance = u11 * np.diag(k("k1", X1, 2, X1, 2)) - 2 * np.sum(A * c, axis=1) + np.sum((A @ C) * A, axis=1)
    return np.array([u11, u12, u22, (np.sum((mean - y1) ** 2) + variance.sum()) / np.sum(y1**2)])


def sampled(tasks: list[tuple], width: int, depth: int, seed: int) -> np.ndarray:
    """The same of sampled networks."""
    found = ebbing.sample(tasks, width=width, depth=depth, lam=LAM, beta=BETA, chains=8, warmup=150, draws=150, leapfrog=16, seed=seed)
    return np.array([found.u1[0, 0], found.u1[1, 0], found.u1[1, 1], found.forgetting[0]])


def main(draws: int) -> None:
    print(f"| depth, load | N | {' | '.join(f'{name}, sampled / theory' for name in NAMES)} |")
    print(f"|---|---|{'---|' * len(NAMES)}")
    for depth in (1, 2):
        for alpha in LOADS:
            for width in WIDTHS:
                ratios = []
                for seed in range(draws):
                    tasks = tasks_of(round(alpha * width), seed)
                    ratios.append(sampled(tasks, width, depth, seed) / theory(tasks, alpha, depth))
                mean, error = np.mean(ratios, axis=0), np.std(ratios, axis=0, ddof=1) / draws**0.5
                print(f"| {depth}, {alpha} | {width} | {' | '.join(f'{m:.3f} ± {e:.3f}' for m, e in zip(mean, error))} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)
