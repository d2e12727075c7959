"""The theory of small cases in plain NumPy: inverses and loops, one line per equation."""

import numpy as np


def prior(lam, sigma2):
    """m1(t, s) and m0(t, s) of the weights' prior."""
    decay = lam / (lam + 1 / sigma2)

    def m1(t, s):
        t, s = max(t, s), min(t, s)
        return sigma2 / (1 + decay) * (decay ** (t - s) + decay ** (t + s - 1))

    def m0(t, s):
        t, s = max(t, s), min(t, s)
        return 0.0 if s == 1 else sigma2 / (1 + decay) * (decay ** (t - s + 2) + decay ** (t + s - 1))

    return m1, m0


def correlation(v, v2, c):
    """c/√(v v2); 1 for equal inputs, where arccos would make 1e-8 out of a rounding error of 1e-16."""
    rho = np.clip(c / np.sqrt(v * v2), -1, 1)
    return np.where(rho > 1 - 1e-13, 1.0, rho)


def dual(v, v2, c):
    """E[φ(z)φ(z')] of ReLU for variances v, v2 and covariance c."""
    norm, rho = np.sqrt(v * v2), correlation(v, v2, c)
    return norm / (2 * np.pi) * (rho * (np.pi - np.arccos(rho)) + np.sqrt(1 - rho**2))


def slope(v, v2, c):
    """E[φ'(z)φ'(z')] of ReLU."""
    return (np.pi - np.arccos(correlation(v, v2, c))) / (2 * np.pi)


def two_time(X, X2, depth, t, s, lam, sigma2):
    """K¹_ts and K⁰_ts."""
    m1, m0 = prior(lam, sigma2)
    n0 = X.shape[1]
    k1 = k0 = X @ X2.T / n0
    v, v2 = (X**2).sum(1)[:, None] / n0, (X2**2).sum(1)[None, :] / n0
    for _ in range(depth):
        k1, k0 = dual(m1(t, t) * v, m1(s, s) * v2, m1(t, s) * k1), dual(m1(t, t) * v, m1(s, s) * v2, m0(t, s) * k0)
        v, v2 = m1(t, t) * v / 2, m1(s, s) * v2 / 2
    return k1, k0


def nngp_and_ntk(X, X2, depth, sigma2):
    n0 = X.shape[1]
    k = q = X @ X2.T / n0
    v, v2 = (X**2).sum(1)[:, None] / n0, (X2**2).sum(1)[None, :] / n0
    for _ in range(depth):
        dot = slope(v, v2, k)
        k, v, v2 = dual(sigma2 * v, sigma2 * v2, sigma2 * k), sigma2 * v / 2, sigma2 * v2 / 2
        q = k + sigma2 * dot * q
    return k, q


def blocks(mode, depth, lam, sigma2):
    """K̃_ts and the prior's covariance between points at times t and s."""

    def tilde(X, X2, t, s):
        if mode == "gibbs":
            (m1, m0), (k1, k0) = prior(lam, sigma2), two_time(X, X2, depth, t, s, lam, sigma2)
            return m1(t, s) * k1 - m0(t, s) * k0
        k, q = nngp_and_ntk(X, X2, depth, sigma2)
        return k if mode == "rf" else sigma2 * k if s == 1 else q

    def covariance(X, X2, t, s):
        if mode == "gibbs":
            return prior(lam, sigma2)[0](t, s) * two_time(X, X2, depth, t, s, lam, sigma2)[0]
        return sigma2 * nngp_and_ntk(X, X2, depth, sigma2)[0]

    return tilde, covariance


def single_head(tasks, x, t, mode="rf", depth=1, lam=np.inf, sigma2=1.0):
    """Mean and variance at x after task t (from 1)."""
    tilde, covariance = blocks(mode, depth, lam, sigma2)
    some = tasks[:t]
    inputs = list(enumerate((X for X, _ in some), 1))
    L = np.block([[tilde(a, b, i, j) * (j <= i) for j, b in inputs] for i, a in inputs])
    C = np.block([[covariance(a, b, i, j) for j, b in inputs] for i, a in inputs])
    A = np.hstack([tilde(x, b, t, j) for j, b in inputs]) @ np.linalg.inv(L)
    c = np.hstack([covariance(x, b, t, j) for j, b in inputs])
    own = np.diag(covariance(x, x, t, t))
    mean = A @ np.concatenate([y for _, y in some])
    return mean, own - 2 * (A * c).sum(1) + ((A @ C) * A).sum(1)


def order_parameters(K11, K12, K22, y1, y2):
    one, two = np.linalg.inv(K11), np.linalg.inv(K22)
    w1, w2 = one @ y1 / np.linalg.norm(y1), two @ y2 / np.linalg.norm(y2)
    a, c = K12 @ w2, K12.T @ w1
    back = K12.T @ one @ a
    v1, v2 = y1 @ w1 / np.linalg.norm(y1), y2 @ w2 / np.linalg.norm(y2)
    cos, proj = w2 @ K12.T @ w1 / np.sqrt(v1 * v2), c @ two @ c / v1
    feature = np.trace(two @ K12.T @ one @ K12) / min(len(y1), len(y2))
    lost = K12 @ two @ (y2 - K12.T @ one @ y1)
    return {
        "gamma_rf": 0.5 * (a @ a + back @ back),
        "gamma_rule": 0.5 * (a @ K12 @ two @ c + back @ c),
        "gamma_feature": feature,
        "cos": cos,
        "proj": proj,
        "gamma_sim": feature + cos**2 - proj,
        "f21": lost @ lost / (y1 @ y1),
    }


def one_task_factor(K, y, width, sigma2):
    """The positive root of σ⁻²u² − (1−α)u − yᵀK⁻¹y/N = 0."""
    b, c = 1 - len(y) / width, y @ np.linalg.inv(K) @ y / width
    return sigma2 / 2 * (b + np.sqrt(b**2 + 4 * c / sigma2))
