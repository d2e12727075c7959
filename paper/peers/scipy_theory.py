"""The theory in NumPy and SciPy, on request (see protocol.py): what a careful script reaches without ebbing.

- `forgetting` (inputs `x0`, `y0`, `x1`, …; `depth`): `f[t, s]`, the loss on task s's training data of the mean network
  after task t, one readout for all tasks, random features (λ → ∞).
- `order_parameters` (the same inputs): `gamma_feature`, `gamma_rf`, `gamma_rule` of all pairs i < j, NaN elsewhere.
- `two_tasks` (inputs `x1`, `y1`, `x2`, `y2`, `alphas`; `lambda`, `sigma2`): `u11`, `u12`, `u0`, `u22` at every load,
  a readout for each task, one hidden layer; the answer has how many loads `converged`, and the `evaluations` of the equations.

ReLU, weights of variance 1 (in `two_tasks`: sigma2). Every kernel block between two tasks is computed once, of a task's
own block one half; every kernel is factored once; products and solves are those of BLAS and LAPACK, in place.

NumPy's functions of entries use one thread, and so does a script. A request with `"tuned": true` goes further than one
would: blocks of rows, small enough to stay in the cache, are shared out among as many threads as BLAS has.
"""

import protocol  # isort: skip  (first: it sets the number of threads)

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsymv, dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf, dsygst
from scipy.optimize import root

# Entries that one thread works on at a time: with two temporaries they fit into a cache of 1 MB.
PANEL = 1 << 15
# Loads count as solved below this residual, relative to the terms of the equations.
TOLERANCE = 1e-10


class Entries:
    """Functions of the entries of kernels: of all at once, or by blocks of rows on several threads."""

    def __init__(self, request):
        self.pool = ThreadPoolExecutor(protocol.THREADS) if request.get("tuned") else None

    def apply(self, function, rows, columns):
        """Calls `function(first, last)` for ranges that cover the rows."""
        if self.pool is None:
            return function(0, rows)
        step = max(1, PANEL // max(1, columns))
        ranges = [(i, min(i + step, rows)) for i in range(0, rows, step)]
        for _ in self.pool.map(lambda ends: function(*ends), ranges):
            pass


def directions(x, out=None):
    """Rows divided by their norms, and those norms over √N0."""
    norms = np.sqrt(np.einsum("ij,ij->i", x, x))
    return np.divide(x, norms[:, None], out=out), norms / np.sqrt(x.shape[1])


def deepen(rho, depth):
    """`ρ ← (ρ(π − acos ρ) + √(1−ρ²))/π`, depth times, in place: the correlation of ReLU features from that of inputs."""
    np.clip(rho, -1, 1, out=rho)
    angle, sine = np.empty_like(rho), np.empty_like(rho)
    for _ in range(depth):
        np.arccos(rho, out=angle)
        angle *= rho
        np.multiply(rho, rho, out=sine)
        np.subtract(1, sine, out=sine)
        np.sqrt(sine, out=sine)
        sine -= angle
        sine *= 1 / np.pi
        rho += sine


def nngp(entries, one, two, depth, out=None):
    """`K(x, x')` between two sets of inputs, given as their directions and norms."""
    k = np.matmul(one[0], two[0].T, out=out)
    left, right = one[1][:, None] * 0.5**depth, two[1]

    def panel(first, last):
        deepen(k[first:last], depth)
        k[first:last] *= right
        k[first:last] *= left[first:last]

    entries.apply(panel, *k.shape)
    return k


def own_factor(entries, one, depth):
    """The Cholesky factor U of `K(x, x) = UᵀU`, of which only one triangle is ever computed."""
    upper = dsyrk(1.0, one[0].T, trans=1)
    k = upper.T
    np.fill_diagonal(k, 1)
    left, right = one[1][:, None] * 0.5**depth, one[1]

    def panel(first, last):
        half = k[first:last, :last]
        deepen(half, depth)
        half *= right[:last]
        half *= left[first:last]

    entries.apply(panel, *k.shape)
    return cho_factor(upper, overwrite_a=True, check_finite=False)


def tasks_of(arrays):
    """Inputs and target vectors of all tasks."""
    count = sum(name.startswith("x") for name in arrays)
    return [arrays[f"x{t}"] for t in range(count)], [arrays[f"y{t}"].ravel() for t in range(count)]


def forgetting(arrays, request):
    xs, ys = tasks_of(arrays)
    entries = Entries(request)

    def run():
        return {"f": forgetting_matrix(entries, xs, ys, request["depth"])}, {}

    return run


def forgetting_matrix(entries, xs, ys, depth):
    """`u_t = K_tt^{-1}(Y_t − Σ_{s<t} K_ts u_s)`, `F[t, s] = |Y_s − Σ_{r≤t} K_sr u_r|²/|Y_s|²`.

    Task t needs one row of blocks, K_t1 … K_tt, which serves what earlier networks do on task t, then u_t, then,
    transposed, what the network after task t does on earlier tasks. Nothing else is kept.
    """
    count, ends = len(xs), np.cumsum([0] + [len(x) for x in xs])
    units, norms = np.empty((ends[-1], xs[0].shape[1])), np.empty(ends[-1])
    buffer = np.empty(max(len(x) * start for x, start in zip(xs, ends)))
    u, rest = np.empty(ends[-1]), np.empty(ends[-1])
    sizes = [y @ y for y in ys]
    f = np.empty((count, count))
    for t, (x, y) in enumerate(zip(xs, ys)):
        start, end = ends[t], ends[t + 1]
        here = (units[start:end], norms[start:end])
        norms[start:end] = directions(x, out=here[0])[1]
        row = buffer[: len(x) * start].reshape(len(x), start)
        nngp(entries, here, (units[:start], norms[:start]), depth, out=row)
        missing = y.copy()
        for s in range(t):
            missing -= row[:, ends[s] : ends[s + 1]] @ u[ends[s] : ends[s + 1]]
            f[s, t] = missing @ missing / sizes[t]
        u[start:end] = cho_solve(own_factor(entries, here, depth), missing, overwrite_b=True, check_finite=False)
        rest[:start] -= row.T @ u[start:end]
        rest[start:end] = 0
        f[t, : t + 1] = np.add.reduceat(rest[:end] ** 2, ends[: t + 1]) / sizes[: t + 1]
    return f


def order_parameters(arrays, request):
    xs, ys = tasks_of(arrays)
    entries = Entries(request)

    def run():
        return all_pairs(entries, xs, ys, request["depth"]), {}

    return run


def all_pairs(entries, xs, ys, depth):
    """Order parameters of all pairs; one kernel block at a time is held beside the factors."""
    count = len(xs)
    sets = [directions(x) for x in xs]
    factors = [own_factor(entries, one, depth) for one in sets]
    w = [cho_solve(factor, y / np.linalg.norm(y), check_finite=False) for factor, y in zip(factors, ys)]
    found = {name: np.full((count, count), np.nan) for name in ("gamma_feature", "gamma_rf", "gamma_rule")}
    for j in range(count):
        for i in range(j):
            k21 = nngp(entries, sets[j], sets[i], depth)
            values = pair(k21, (factors[i], factors[j]), (w[i], w[j]))
            for name, value in zip(found, values):
                found[name][i, j] = value
    return found


def pair(k21, factors, w):
    """`γ_feature`, `γ_RF` and `γ_rule` of two tasks; the kernel between them is overwritten.

    With `K_ii = U_iᵀU_i`, `Tr(K_22^{-1} K_21 K_11^{-1} K_12)` is the squared norm of `U_1^{-T} K_12 U_2^{-1}`.
    """
    a, c = k21.T @ w[1], k21 @ w[0]
    back_a = k21 @ cho_solve(factors[0], a, check_finite=False)
    back_c = k21.T @ cho_solve(factors[1], c, check_finite=False)
    half = dtrsm(1.0, factors[0][0], k21.T, trans_a=1, overwrite_b=1)
    half = dtrsm(1.0, factors[1][0], half, side=1, overwrite_b=1).ravel(order="K")
    feature = half @ half / min(k21.shape)
    return feature, (a @ a + back_a @ back_a) / 2, (a @ back_c + back_a @ c) / 2


def relu(entries, rho, scale):
    """`E[φ(z)φ(z')] = √(v v')/(2π) (ρ(π − acos ρ) + √(1−ρ²))`, in place, of correlations and `√v/√2`, `√v'/√2`."""

    def panel(first, last):
        deepen(rho[first:last], 1)
        rho[first:last] *= scale[1]
        rho[first:last] *= scale[0][first:last, None]

    entries.apply(panel, *rho.shape)
    return rho


class TwoTasks:
    """The equations of two tasks with a readout each: what does not depend on the load.

    `k1`, `delta` and `g` are the upper triangles, in Fortran's order and zero below, of `K^1_22`, `ΔK_22` and
    `G = K_21 K_11^{-1} K_12`; `y` and `b` are `Y_2` and `K_21 K_11^{-1} Y_1`.
    """

    def __init__(self, entries, arrays, lam, sigma2):
        one, two = directions(arrays["x1"]), directions(arrays["x2"])
        y1, self.y = arrays["y1"].ravel(), arrays["y2"].ravel()
        self.sigma2, self.size = sigma2, len(self.y)
        decay = lam / (lam + 1 / sigma2)
        m11, m21 = sigma2, sigma2 * decay
        m22, m0 = sigma2 * (1 + decay**3) / (1 + decay), sigma2 * (decay**2 + decay**3) / (1 + decay)
        scale1, scale2 = one[1] * np.sqrt(m11 / 2), two[1] * np.sqrt(m22 / 2)

        factor = cho_factor(self.own(entries, one, scale1, 1).T, overwrite_a=True, check_finite=False)
        w = cho_solve(factor, y1, check_finite=False)
        self.quadratic, self.first_size = y1 @ w, len(y1)
        k21 = one[0] @ two[0].T
        k21 *= m21 / np.sqrt(m11 * m22)
        k21 = relu(entries, k21, (scale1, scale2)).T
        self.b = k21 @ w
        half = dtrsm(1.0, factor[0], k21, side=1, overwrite_b=1)
        self.g = dsyrk(1.0, half)
        self.k1 = np.asfortranarray(np.triu(self.own(entries, two, scale2, 1)))
        self.delta = self.k1 - np.triu(self.own(entries, two, scale2, m0 / m22))
        self.labels = np.stack([self.y, self.b], axis=1)

    @staticmethod
    def own(entries, one, scale, correlation):
        """The kernel of a set of inputs with itself."""
        rho = one[0] @ one[0].T
        np.fill_diagonal(rho, 1)
        rho *= correlation
        return relu(entries, rho, (scale, scale))

    def first(self, width):
        """The positive root of `σ^{-2}u² − (1−α)u − Y_1ᵀK_11^{-1}Y_1/N = 0`."""
        linear, constant = 1 - self.first_size / width, self.quadratic / width
        return self.sigma2 / 2 * (linear + np.sqrt(linear**2 + 4 * constant / self.sigma2))

    def traces(self, d, u0):
        """Everything that the equations need of `K̃ = d K^1 + u0 ΔK = UᵀU`, from that factor and two reductions.

        With `E = U^{-T} ΔK U^{-1}`, every `K̃^{-1}K` is a combination of E and the identity: `d K̃^{-1}K^1 = 1 − u0 E`
        and `d K̃^{-1}K^0 = 1 − (u0 + d) E`.
        """
        k = u0 * self.delta
        k += d * self.k1
        u, info = dpotrf(k, clean=0, overwrite_a=1)
        if info != 0:
            raise LinAlgError("the kernel is not positive definite")
        e, _ = dsygst(self.delta, u)
        g, _ = dsygst(self.g, u)
        labels = dtrsm(1.0, u, self.labels, trans_a=1)
        e_diagonal, g_diagonal = e.diagonal(), g.diagonal()
        flat_e, flat_g = e.ravel(order="K"), g.ravel(order="K")
        return {
            "e": e_diagonal.sum(),
            "ee": 2 * (flat_e @ flat_e) - e_diagonal @ e_diagonal,
            "g": g_diagonal.sum(),
            "ge": 2 * (flat_g @ flat_e) - g_diagonal @ e_diagonal,
            "labels": labels.T @ labels,
            "labels_e": labels.T @ np.stack([dsymv(1.0, e, column) for column in labels.T], axis=1),
        }


class Load:
    """The equations of one load, for (ln d, ln u0); u12 is explicit."""

    def __init__(self, tasks, alpha):
        self.tasks, self.width = tasks, tasks.size / alpha
        self.u11 = tasks.first(self.width)
        # Of every point tried: u12, the relative residual, and whether u0 is that of a true solution.
        self.seen = {}

    def __call__(self, unknowns):
        d, u0 = np.exp(np.clip(unknowns, -40, 40))
        n, u11, u22 = self.width, self.u11, d + u0
        try:
            of = self.tasks.traces(d, u0)
        except LinAlgError:
            self.seen[unknowns.tobytes()] = np.nan, np.inf, False
            return np.full(2, 1e3)
        by, bb = of["labels"][1]
        u12 = by / n / (1 / d - of["g"] / n + bb / (n * u11))
        q, r = u12**2 / u11, np.array([1, -u12 / u11])
        y, ye = r @ of["labels"] @ r, r @ of["labels_e"] @ r
        # Each equation as its terms: that of u0, times d²/u0, and that of d, times d.
        terms_u0 = [
            u0,
            -q,
            -u0 / n * (self.tasks.size - 2 * u22 * of["e"] + u22**2 * of["ee"]),
            q / n * d * (of["g"] - u22 * of["ge"]),
            -d / n * (y - u22 * ye),
        ]
        terms_d = [
            1,
            -d / self.tasks.sigma2,
            u0 / n * (of["e"] - u22 * of["ee"]),
            -(self.tasks.size - u0 * of["e"]) / n,
            -q / n * d * of["ge"],
            d / n * ye,
        ]
        sums = np.array([sum(terms_u0) / u0, sum(terms_d)])
        sizes = np.array([sum(map(abs, terms_u0)) / u0, sum(map(abs, terms_d))])
        # Independent solutions overlap at least along the first readout; a false root has less.
        true = u0 - q > -1e-8 * (u0 + q + 1e-3 * d)
        self.seen[unknowns.tobytes()] = u12, np.max(np.abs(sums) / sizes), true
        return sums

    def solve(self, start, slope):
        """Powell's method, from a start and, unless None, a neighbor's derivatives; with u12 and whether it is solved."""
        found = root(self, start, jac=None if slope is None else lambda _: slope, options={"xtol": 1e-9})
        u12, residual, true = self.seen[found.x.tobytes()]
        return found, u12, found.success and residual < TOLERANCE and true


def derivatives(found):
    """The derivatives of the equations as Powell's method knew them at its end, from their factors Q and R."""
    r = np.zeros((2, 2))
    r[np.triu_indices(2)] = found.r
    return found.fjac.T @ r


def follow(tasks, alphas):
    """Solves the equations at every load, from the smallest on, each from where the last two loads point to."""
    results = {name: np.full(len(alphas), np.nan) for name in ("u11", "u12", "u0", "u22")}
    known, slope, evaluations, converged = [], None, 0, 0
    for k in np.argsort(alphas):
        load = Load(tasks, alphas[k])
        at = np.log(alphas[k])
        for start, matrix in starts(known, slope, at, tasks.sigma2):
            found, u12, solved = load.solve(start, matrix)
            if solved:
                break
        evaluations += len(load.seen)
        if not solved:
            continue
        converged, slope = converged + 1, derivatives(found)
        known = known[-1:] + [(at, found.x)]
        d, u0 = np.exp(found.x)
        for name, value in zip(results, (load.u11, u12, u0, d + u0)):
            results[name][k] = value
    return results, {"converged": converged, "evaluations": evaluations}


def starts(known, slope, at, sigma2):
    """Starts with derivatives, best first: extrapolated, the neighbor's solution, and fixed ones."""
    if len(known) == 2:
        (before, x0), (last, x1) = known
        ahead = x1 + (x1 - x0) * (at - last) / (last - before) if last > before else x1
        yield ahead, slope
        yield ahead, None
    if known:
        yield known[-1][1], None
    for factor in (1, 0.1, 10, 100):
        yield np.log(sigma2 * np.array([0.5 / factor, 0.8 * factor])), None


def two_tasks(arrays, request):
    entries = Entries(request)

    def run():
        tasks = TwoTasks(entries, arrays, request["lambda"], request["sigma2"])
        return follow(tasks, arrays["alphas"])

    return run


def main():
    versions = {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numpy_blas": protocol.blas_of(np),
        "scipy_blas": protocol.blas_of(scipy),
        "python": sys.version.split()[0],
    }
    works = {"forgetting": forgetting, "order_parameters": order_parameters, "two_tasks": two_tasks}
    protocol.serve(works, versions)


if __name__ == "__main__":
    main()
