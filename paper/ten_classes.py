"""Ten classes per task and a head each: do the directions of the second head cross over one after another, in networks too?

    python paper/ten_classes.py            # trains what is not stored yet, prints the tables, draws docs/ten-classes.png
    python paper/ten_classes.py --drawn    # tables and picture from what is stored

Task 2 sees the embedded images of task 1 with a tenth of their pixels permuted; classes 0 to 4 keep their labels, and those of classes 5
to 9 are dealt to their examples anew. Networks are at the minimum of squared errors and penalties (Levenberg-Marquardt): κ/2 |W − W_1|² on
hidden weights and ρ/2 |a|² on the new readouts, so that λ = κ/(ρσ²) is the theory's. Compared are the eigenvalues of A_2ᵀA_2/N and of the
matrix of test errors of task 2, Σ (f − y)(f − y)ᵀ/|y|², with the theory (`ebbing.TwoTaskTheory`) at the same λ. Needs the package; the
picture needs matplotlib.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import ebbing

STORED = Path(__file__).with_name("ten_classes.jsonl")
PICTURE = Path(__file__).parents[1] / "docs" / "ten-classes.png"
P, TESTS, RATIO, KEPT = 100, 200, 0.1, 5
LAMBDAS, LOADS, SEEDS, KAPPA = (1e3, 1e4), (0.8, 1.2, 1.6, 2.0, 2.5, 3.3), (1, 2), 0.1


def tasks() -> list[tuple]:
    """Two tasks of ten classes in ten columns, with test sets."""
    rng, images = np.random.default_rng(1), ebbing.data.sample()
    place = np.arange(images.x.shape[1])
    moved = rng.choice(len(place), round(RATIO * len(place)), replace=False)
    place[moved] = rng.permutation(moved)

    def dealt(y: np.ndarray) -> np.ndarray:
        other, own = y.copy(), np.flatnonzero(y >= KEPT)
        other[own] = y[rng.permutation(own)]
        return other

    parts = []
    for x, y, count in ((images.x, images.y, P), (images.x_test, images.y_test, TESTS)):
        rows = rng.permutation(len(x))[:count]
        x, y = np.asarray(x)[rows], np.asarray(y).astype(int)[rows]
        parts.append((x, np.eye(10)[y], x[:, place], np.eye(10)[dealt(y)]))
    (x1, y1, x2, y2), (t1, u1, t2, u2) = parts
    return [(x1, y1, t1, u1), (x2, y2, t2, u2)]


def spectrum(matrix: np.ndarray) -> list[float]:
    """Eigenvalues, the largest first."""
    return [float(f"{value:.5g}") for value in np.linalg.eigvalsh(matrix)[::-1]]


def theory(pair: list[tuple], lam: float, alpha: float) -> dict:
    """What the theory says at one λ and load."""
    made = ebbing.TwoTaskTheory([task[:2] for task in pair], lam=lam)
    x, y = pair[1][2:]
    mean, covariance = made.predict(alpha, 2, x)
    error = ((mean - y).T @ (mean - y) + covariance.sum(axis=0)) / np.sum(y**2)
    heads = ebbing.MultiHead(pair, alpha=alpha, lam=lam)
    return {"readout": spectrum(made.factors(alpha).u22), "error": spectrum(error), "f21": float(heads.forgetting()[1, 0])}


def network(pair: list[tuple], lam: float, width: int, seed: int) -> dict:
    """A network at its minimum."""
    found = ebbing.train(
        pair, learners=["l2"], kappa=KAPPA, heads="multi", solver="levenberg", width=width, readout_penalty=KAPPA / lam,
        gradient_tolerance=1e-4, max_steps=1000, seed=seed,
    )  # fmt: skip
    hidden, _, readout = (np.array(w, dtype=float) for w in found.runs[0].weights)
    x, y = pair[1][2:]
    output = np.maximum(x @ hidden.T / x.shape[1] ** 0.5, 0) @ readout.T / width**0.5
    error = (output - y).T @ (output - y) / np.sum(y**2)
    reports = found.runs[0].reports
    return {
        "readout": spectrum(readout @ readout.T / width),
        "error": spectrum(error),
        "f21": float(np.array(found.runs[0].train_loss)[1, 0]),
        "converged": bool(all(report["converged"] for report in reports)),
    }


def stored() -> list[dict]:
    return [json.loads(line) for line in STORED.read_text().splitlines()] if STORED.exists() else []


def compute() -> None:
    pair, known = tasks(), {(row["kind"], row.get("lam"), row.get("alpha"), row.get("seed")) for row in stored()}

    def keep(row: dict) -> None:
        with STORED.open("a") as file:
            file.write(json.dumps(row) + "\n")

    if ("loads", None, None, None) not in known:
        keep({"kind": "loads", "alpha_c": [float(f"{a:.5g}") for a in ebbing.TwoTaskTheory([t[:2] for t in pair]).critical_loads()]})
    for alpha in LOADS:
        for lam in LAMBDAS:
            width = round(P / alpha)
            own = P / width
            if ("theory", lam, own, None) not in known:
                keep({"kind": "theory", "lam": lam, "alpha": own, **theory(pair, lam, own)})
            for seed in SEEDS:
                if ("network", lam, own, seed) not in known:
                    keep({"kind": "network", "lam": lam, "alpha": own, "seed": seed, **network(pair, lam, width, seed)})
                    print(f"load {own:.2f}, λ = {lam:g}, seed {seed}", flush=True)


def means(rows: list[dict], kind: str, lam: float, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Loads, and geometric means over seeds of every eigenvalue."""
    own = [row for row in rows if row["kind"] == kind and row["lam"] == lam]
    loads = np.array(sorted({row["alpha"] for row in own}))
    return loads, np.array([np.exp(np.mean([np.log(row[name]) for row in own if row["alpha"] == a], axis=0)) for a in loads])


def growth(rows: list[dict], kind: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """`d ln/d ln λ` of every eigenvalue against the load."""
    (loads, low), (_, high) = means(rows, kind, LAMBDAS[0], name), means(rows, kind, LAMBDAS[1], name)
    return loads[: len(high)], np.log(high / low[: len(high)]) / np.log(LAMBDAS[1] / LAMBDAS[0])


def tables(rows: list[dict]) -> None:
    edges = np.array(next(row["alpha_c"] for row in rows if row["kind"] == "loads"))
    over = int(np.sum(edges > max(LOADS)))
    print(f"critical loads: {', '.join(f'{e:.3g}' for e in edges)}")
    nets = [row for row in rows if row["kind"] == "network"]
    print(f"{sum(row['converged'] for row in nets)} of {len(nets)} networks ended at their minimum\n")
    print(f"| load | exponent of λ in readouts, {over} largest | {10 - over} smallest | in test errors, {over} largest | {10 - over} smallest | F_21 |")
    print("|---|---|---|---|---|---|")
    found = {(kind, name): growth(rows, kind, name) for kind in ("network", "theory") for name in ("readout", "error")}
    for i, load in enumerate(found["network", "readout"][0]):
        cells = []
        for name in ("readout", "error"):
            for part in (slice(0, over), slice(over, 10)):
                nets, own = (found[kind, name][1][i, part].mean() for kind in ("network", "theory"))
                cells.append(f"{nets:.2f} ({own:.2f})")
        f21 = [np.mean([r["f21"] for r in rows if r["kind"] == kind and r["alpha"] == load and r["lam"] == LAMBDAS[1]]) for kind in ("network", "theory")]
        print(f"| {load:.2f} | {' | '.join(cells)} | {f21[0]:.3f} ({f21[1]:.3f}) |")
    print("\nNetworks, in brackets the theory.")


def picture(rows: list[dict]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    edges = np.array(next(row["alpha_c"] for row in rows if row["kind"] == "loads"))
    over = int(np.sum(edges > max(LOADS)))
    colors = ["#d55e00" if k < over else "#0072b2" for k in range(10)]
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 7), layout="constrained")
    for column, (name, label) in enumerate((("readout", "eigenvalues of $A_2^TA_2/N$"), ("error", "eigenvalues of test errors of task 2"))):
        sizes, exponents = axes[0, column], axes[1, column]
        for kind, style in (("theory", "-"), ("network", "o")):
            loads, values = means(rows, kind, LAMBDAS[1], name)
            slopes_at, slopes = growth(rows, kind, name)
            for k in range(10):
                named = {0: f"{over} largest: overfitting", over: f"{10 - over} smallest: generalization"}.get(k) if kind == "theory" else None
                sizes.plot(loads, values[:, k], style, color=colors[k], ms=3.5, lw=1, alpha=0.8)
                exponents.plot(slopes_at, slopes[:, k], style, color=colors[k], ms=3.5, lw=1, alpha=0.8, label=named)
        sizes.set(xscale="log", yscale="log", ylabel=f"{label}, λ = $10^4$")
        exponents.set(xscale="log", ylabel="exponent of λ in them", xlabel="load α = P/N", ylim=(-0.35, 0.85))
        for ax in (sizes, exponents):
            for edge in edges[edges < max(LOADS)]:
                ax.axvline(edge, color="gray", lw=0.6, ls="--")
            ax.set_xticks(LOADS, [f"{a:g}" for a in LOADS])
            ax.set_xticks([], minor=True)
    for letter, ax in zip("abcd", axes.T.ravel()):
        ax.set_title(letter, loc="left", weight="bold")
    axes[1, 0].legend(frameon=False, fontsize=8)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drawn", action="store_true", help="only what is stored")
    if not parser.parse_args().drawn:
        compute()
    tables(stored())
    picture(stored())


if __name__ == "__main__":
    main()
