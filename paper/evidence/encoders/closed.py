"""Closed forms of what a head learns from one task after another, in NumPy: the candidates that trained heads are held against.

Every form is the recursion `u_t = g(K_tt) (Y_t − Σ_{s<t} K_ts u_s)`, `f(x) = Σ_s K(x, X_s) u_s`, with a kernel K and a function g of its
eigenvalues: `1/(k + 1/β)` for a head at a temperature, `(1 − (1 − ηk)^n)/k` for n steps of gradient descent.
"""

from __future__ import annotations

import numpy as np

from .draw import Task


def inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The kernel of a linear head."""
    return a @ b.T / a.shape[1]


def fold(linear: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """One layer of ReLUs on a kernel, with the diagonals of its two sides."""
    size = np.sqrt(np.outer(np.maximum(left, 1e-30), np.maximum(right, 1e-30))).astype(linear.dtype)
    rho = np.clip(linear / size, -1, 1)
    return size / (2 * np.pi) * (rho * (np.pi - np.arccos(rho)) + np.sqrt(np.maximum(1 - rho**2, 0)))


def moving(linear: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What the weights of a hidden layer of ReLUs add to the kernel as they learn."""
    size = np.sqrt(np.outer(np.maximum((a**2).mean(1), 1e-30), np.maximum((b**2).mean(1), 1e-30)))
    return linear * (np.pi - np.arccos(np.clip(linear / size, -1, 1))) / (2 * np.pi)


def kernel(a: np.ndarray, b: np.ndarray, depth: int) -> np.ndarray:
    """The kernel of the last hidden layer of a wide network with `depth` layers of ReLUs; 0: of its inputs."""
    found = inner(a, b)
    left, right = (a**2).mean(1), (b**2).mean(1)
    for _ in range(depth):
        found = fold(found, left, right)
        left, right = left / 2, right / 2
    return found


class Sequence:
    """Kernels of the rows of a sequence, from which every form is solved."""

    def __init__(self, tasks: list[Task], outputs: int, depth: int) -> None:
        self.tasks, self.outputs = tasks, outputs
        self.x = np.concatenate([t.x for t in tasks]).astype(np.float32)
        self.test = np.concatenate([t.x_test for t in tasks]).astype(np.float32)
        self.k, self.k_test = (kernel(a, self.x, depth).astype(np.float32) for a in (self.x, self.test))
        ends = np.cumsum([0, *(len(t.x) for t in tasks)])
        self.rows = [np.arange(a, b) for a, b in zip(ends, ends[1:])]
        ends = np.cumsum([0, *(len(t.x_test) for t in tasks)])
        self.tests = [slice(a, b) for a, b in zip(ends, ends[1:])]
        self.y = np.concatenate([t.y for t in tasks])
        self.hot = (self.y[:, None] == np.arange(outputs)).astype(np.float32)

    def learn(self, kept: list[np.ndarray], solve, weigh: str = "") -> list[np.ndarray]:
        """The coefficients of all rows after each task. `solve(K, R, t)` applies g; rows of a task may be weighed. A number in place of
        `solve` is the β of cross-entropy."""
        u, found = np.zeros((len(self.y), self.outputs), np.float32), []
        for t, own in enumerate(self.rows):
            rows = np.concatenate([own, *(self.rows[s][kept[s]] for s in range(t))]).astype(int)
            # Only rows of the tasks so far have coefficients.
            seen = slice(0, own[0])
            now = self.k[rows, seen] @ u[seen]
            if isinstance(solve, float):
                u = u.copy()
                u[rows] += crossed(self.k[np.ix_(rows, rows)], now, self.hot[rows], solve)
                found.append(u)
                continue
            residual = self.hot[rows] - now
            root = np.sqrt(self.weights(rows, weigh))[:, None].astype(np.float32)
            u = u.copy()
            u[rows] += root * solve(root * self.k[np.ix_(rows, rows)] * root.T, root * residual, t)
            found.append(u)
        return found

    def weights(self, rows: np.ndarray, weigh: str) -> np.ndarray:
        """One per row, of mean 1: `class` gives a row `n_c^{-1/2}` of its class among the rows of the task."""
        if weigh != "class":
            return np.ones(len(rows))
        counts = np.bincount(self.y[rows], minlength=self.outputs)
        w = counts[self.y[rows]] ** -0.5
        return w / w.mean()

    def outputs_on(self, u: np.ndarray, t: int) -> np.ndarray:
        """Outputs on the test examples of task t."""
        return self.k_test[self.tests[t]] @ u

    def right(self, learned: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Which test examples of every task are answered rightly after it and at the end."""
        last = self.k_test @ learned[-1]
        right = lambda f, t: f.argmax(1) == self.tasks[t].y_test
        count = range(len(self.tasks))
        return [right(self.outputs_on(learned[t], t), t) for t in count], [right(last[self.tests[t]], t) for t in count]

    def outcome(self, learned: list[np.ndarray]) -> dict:
        """Accuracies as they are measured."""
        first, final = self.right(learned)
        return {
            "lost": float(np.mean([a.mean() - b.mean() for a, b in zip(first, final)][:-1])),
            "accuracy": float(np.mean([r.mean() for r in final])),
        }

    def margins(self, answers: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The output of the own class minus the largest other one."""
        own = answers[np.arange(len(y)), y]
        others = answers.copy()
        others[np.arange(len(y)), y] = -np.inf
        return own - others.max(1)


def ridge(beta: float):
    """`(K + 1/β)^{-1} R`."""
    from scipy.linalg import solve

    return lambda k, r, t: solve(k + np.eye(len(k), dtype=k.dtype) / k.dtype.type(beta), r, assume_a="pos")


def steps(times, spectra: dict | None = None):
    """`(1 − e^{−k τ})/k · R`: gradient descent for a time τ (one number, or one per task). `spectra` keeps those of the tasks."""

    def filtered(k, r, t):
        if spectra is None or t not in spectra:
            found = np.linalg.eigh(k)
            if spectra is not None:
                spectra[t] = found
        values, vectors = found if spectra is None else spectra[t]
        tau = times[t] if np.ndim(times) else times
        values = np.maximum(values, 0)
        gain = np.where(values * tau > 1e-8, -np.expm1(-values * tau) / np.maximum(values, 1e-300), tau)
        return vectors @ (gain[:, None] * (vectors.T @ r))

    return filtered


def softmax(z: np.ndarray) -> np.ndarray:
    made = np.exp(z - z.max(1, keepdims=True))
    return made / made.sum(1, keepdims=True)


def crossed(k: np.ndarray, before: np.ndarray, y: np.ndarray, beta: float, most: int = 300, close: float = 2e-3) -> np.ndarray:
    """`u = β (Y − softmax(f + K u))`: the step from outputs f that lowers cross-entropy and half the change's norm over β the most.

    The Hessian of cross-entropy is at most ½ in each output, so that `(K/2 + 1/β)^{-1}` is a step that never overshoots; Nesterov's
    acceleration with restarts makes it fast.
    """
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor(k / 2 + np.eye(len(k), dtype=k.dtype) / k.dtype.type(beta), check_finite=False)
    u = np.zeros_like(before)
    v, pace = u, 1.0
    for _ in range(most):
        wrong = v / k.dtype.type(beta) + softmax(before + k @ v) - y
        new = v - cho_solve(factor, wrong, check_finite=False)
        if np.abs(wrong).max() < close:
            return new
        if (wrong * (new - u)).sum() > 0:
            pace, v = 1.0, new
        else:
            faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
            v, pace = new + k.dtype.type((pace - 1) / faster) * (new - u), faster
        u = new
    return u
