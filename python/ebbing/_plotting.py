"""Figures with matplotlib, in one look."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array
from ._result import without_rounding

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
#: Colours, dashes and markers of categories, in that order: what differs in one differs in all.
COLOURS = (BLUE, VERMILLION, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "black")
DASHES = ("-", "--", ":", "-.", (0, (8, 3)), (0, (5, 2, 1, 2, 1, 2)), (0, (3, 2)))
MARKERS = "os^DvPX"
#: The tint behind each regime, and its name.
TINTS = {"fixed-representations": "#B5C3D9", "overfitting": "#F4CCC4", "generalization": "#E2F3DF"}


def look(k: int) -> dict[str, Any]:
    """Colour and dash of category `k`."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k % len(DASHES)]}


def axes(ax: Any, size: tuple[float, float] = (3.4, 2.6)) -> Any:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install matplotlib") from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def clean(ax: Any) -> Any:
    """Left and bottom axes only."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def whole(axis: Any) -> None:
    """Ticks at whole numbers only, as for tasks."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def tint(ax: Any, low: float, high: float, critical: float) -> None:
    """The regimes behind an axis of loads, each named once in the legend."""
    edges = {"fixed-representations": (low, min(high, 1.0)), "overfitting": (max(low, 1.0), min(high, critical))}
    edges["generalization"] = (max(low, critical, 1.0), high)
    for name, (start, end) in edges.items():
        if start < end:
            ax.axvspan(start, end, color=TINTS[name], linewidth=0, label=name.replace("-", " "))


def key(ax: Any) -> None:
    """A legend of every label once, beside the axes where it would hide data."""
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    once = dict(zip(reversed(labels), reversed(handles)))
    labels = [label for label in dict.fromkeys(labels)]
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(labels) > 3 else {"loc": "best"}
    ax.legend([once[label] for label in labels], labels, frameon=False, fontsize=7, **beside)


Ends = list[tuple[float, float]]


def bars(values: dict[str, float], title: str, ax: Any, ends: Ends | None = None, null: Ends | None = None) -> Any:
    """Horizontal bars, with intervals and the range of a null where there are some."""
    ax = axes(ax, (3.4, 0.5 + 0.22 * len(values)))
    names = [SYMBOLS.get(name, name) for name in values]
    numbers = np.array([value if np.isfinite(value) else np.nan for value in values.values()])
    ax.barh(names, numbers, color=BLUE, height=0.6, label="tasks" if null else None)
    if ends:
        reach = np.abs(np.array(ends).T - numbers)
        ax.errorbar(numbers, names, xerr=reach, fmt="none", ecolor="black", elinewidth=1, capsize=2)
    if null:
        low, high = np.array(null).T
        ax.hlines(np.arange(len(names)) + 0.38, low, high, color=VERMILLION, linewidth=2.5, label="shuffled targets")
        ax.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.axvline(0, color="black", linewidth=0.8)
    ax.invert_yaxis()
    ax.set_title(title, fontsize=9)
    return clean(ax)


#: Order parameters as they are written.
SYMBOLS = {
    "gamma_feature": "γ$_\\mathregular{feature}$",
    "gamma_rf": "γ$_\\mathregular{RF}$",
    "gamma_rule": "γ$_\\mathregular{rule}$",
    "gamma_sim": "γ$_\\mathregular{sim}$",
    "f21": "F$_\\mathregular{21}$",
}


def heat_map(values: Array, label: str, ax: Any = None) -> Any:
    """A matrix [t, s]: after task downwards, on task to the right, tasks from 1."""
    ax = axes(ax)
    shown = without_rounding(values)
    tasks = len(shown)
    image = ax.imshow(shown, cmap="viridis", vmin=0)
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    step = 1 + (tasks - 1) // 10
    numbered = range(0, tasks, step)
    ax.set(xlabel="on task", ylabel="after task", xticks=numbered, yticks=numbered)
    ax.set_xticklabels([t + 1 for t in numbered])
    ax.set_yticklabels([t + 1 for t in numbered])
    ax.spines[:].set_visible(False)
    if tasks <= 10:
        middle = 0.5 * np.nanmax(shown)
        for (t, s), value in np.ndenumerate(shown):
            if np.isfinite(value):
                colour = "black" if value > middle else "white"
                text = "0" if value == 0 else f"{value:.2f}"
                ax.text(s, t, text, ha="center", va="center", color=colour, fontsize=7)
    return ax


def forecast(told: Any, ax: Any = None) -> Any:
    """The forgetting matrix; beside it, unless axes were given, the first task's curve with its fit."""
    learned = np.where(np.tri(len(told.tasks), dtype=bool), told.forgetting, np.nan)
    if ax is not None:
        return heat_map(learned, "forgetting F", ax)
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
    heat_map(learned, "forgetting F", left)
    t = np.arange(1, len(told.tasks) + 1)
    errors = None if told.forgetting_error is None else told.forgetting_error[:, 0]
    curve = told.forgetting[:, 0]
    if errors is not None:
        right.fill_between(t, curve - errors, curve + errors, color=BLUE, alpha=0.22, linewidth=0, label="± standard error")
    right.plot(t, curve, color=BLUE, label="theory")
    if told.fit is not None:
        fitted(told.fit, right, len(told.tasks))
    right.set(xlabel="tasks learned, t", ylabel="forgetting of task 1, F$_\\mathregular{t1}$", ylim=(0, None))
    whole(right.xaxis)
    right.legend(frameon=False, fontsize=7)
    return np.array([left, clean(right)])


def fitted(fit: Any, ax: Any = None, last: int | None = None) -> Any:
    """The fitted exponential."""
    ax = axes(ax)
    t = np.linspace(1, last or fit.points, 100)
    ax.plot(t, fit.at(t), **look(1), label="F$_\\mathregular{max}$(1 − e$^\\mathregular{−(t−1)/τ}$)")
    ax.set(xlabel="tasks learned, t", ylabel="forgetting, F$_\\mathregular{t1}$")
    whole(ax.xaxis)
    return clean(ax)


def loads(limit: Any, ax: Any = None) -> Any:
    """F_21 and the readout's norm against the load, with the regimes behind them."""
    ax = axes(ax, (4.6, 2.6))
    order = np.argsort(np.atleast_1d(limit.alpha))
    alpha, regime = np.atleast_1d(limit.alpha)[order], np.atleast_1d(limit.regime)[order]
    edges = np.concatenate([alpha[:1], np.sqrt(alpha[1:] * alpha[:-1]), alpha[-1:]])
    for low, high, name in zip(edges[:-1], edges[1:], regime):
        ax.axvspan(low, high, color=TINTS[name], linewidth=0, label=name.replace("-", " "))
    for k, (name, label) in enumerate((("f21", "F$_\\mathregular{21}$"), ("u22", "|a$_\\mathregular{2}$|²/N"))):
        if name in limit.__dict__:
            value = np.atleast_1d(limit.__dict__[name])[order]
            finite = np.atleast_1d(limit.__dict__[f"{name}_exponent"])[order] == 0
            mark = "." if alpha.size < 8 else ""
            ax.plot(alpha, np.where(finite, value, np.nan), marker=mark, **look(k), label=label)
    ax.set(xscale="log", xlabel="load α = P/N", ylabel="limit for λ → ∞, where finite")
    key(ax)
    return clean(ax)


def curves(found: Any, quantity: str, ax: Any = None) -> Any:
    """A quantity of several λ against the load."""
    ax = axes(ax)
    alpha, lam = np.atleast_1d(found.alpha), np.atleast_1d(found.lam)
    order, shape = np.argsort(alpha), (lam.size, alpha.size)
    value = np.reshape(getattr(found, quantity), shape)
    finite = np.reshape(getattr(found, f"{quantity}_exponent"), shape) == 0
    mark = "." if alpha.size < 8 else ""
    for k, (row, shown, each) in enumerate(zip(value, finite, lam)):
        name = "λ → ∞" if np.isinf(each) else f"λ = {each:g}"
        ax.plot(alpha[order], np.where(shown, row, np.nan)[order], marker=mark, **look(k), label=name)
    ax.set(xscale="log", xlabel="load α = P/N", ylabel=QUANTITIES[quantity])
    key(ax)
    return clean(ax)


def phase(told: Any, ax: Any = None) -> Any:
    """Forgetting of task 1 against the load, the regimes behind it and the width asked about as a line."""
    ax = axes(ax, (4.6, 2.6))
    alpha = np.atleast_1d(told.curves.alpha)
    tint(ax, alpha.min(), alpha.max(), told.critical.alpha_c)
    ax.set_xlim(alpha.min(), alpha.max())
    curves(told.curves, "f_t1", ax)
    if told.location is not None:
        ax.axvline(told.location["alpha"], color="black", linewidth=1, label=f"N = {told.location['width']:g}")
    key(ax)
    return clean(ax)


#: What a curve against the load shows.
QUANTITIES = {
    "f_t1": "forgetting F$_\\mathregular{T1}$",
    "g_t1": "normalised test loss G$_\\mathregular{T1}$",
    "g_tt": "normalised test loss G$_\\mathregular{TT}$",
    "u_tt": "|a$_\\mathregular{T}$|²/N",
}


def penalties(found: Any, ax: Any = None) -> Any:
    """G_21 and G_22 against λ, with the best one."""
    ax = axes(ax)
    for k, (name, label) in enumerate((("g21", "G$_\\mathregular{21}$"), ("g22", "G$_\\mathregular{22}$"))):
        ax.plot(found.tried["lam"], found.tried[name], **look(k), label=label)
    ax.axvline(found.lam, color="grey", linewidth=0.8, linestyle="--", label=f"best λ = {found.lam:.3g}")
    ax.set(xscale="log", yscale="log", xlabel="penalty λ", ylabel="normalised test loss")
    key(ax)
    return clean(ax)


def remedies(advice: Any, ax: Any = None) -> Any:
    """Forgetting against the work of training for every remedy, replay as a curve."""
    ax = axes(ax, (5.4, 3.2))
    ax.plot([p["cost"] for p in advice.replay], [p["forgetting"] for p in advice.replay], color=BLUE, label="replay, more and more")
    applied = [row for row in advice.remedies if row["applies"]]
    most = max(row["forgetting"] for row in applied)
    # Numbers of points that lie together stand together.
    tags: list[tuple[float, float, list[int]]] = []
    for k, row in enumerate(applied):
        forgotten = 0.0 if abs(row["forgetting"]) < 1e-12 else row["forgetting"]
        style = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[(k // len(COLOURS) + k) % len(MARKERS)]}
        ax.plot(row["cost"], forgotten, linestyle="none", label=f"{k + 1} {row['remedy']}", **style)
        near = [t for t in tags if abs(np.log(t[0] / row["cost"])) < 0.08 and abs(t[1] - forgotten) < 0.05 * most]
        if near:
            near[0][2].append(k + 1)
        else:
            tags.append((row["cost"], forgotten, [k + 1]))
    for cost, forgotten, numbers in tags:
        text = ", ".join(str(k) for k in numbers)
        ax.annotate(text, (cost, forgotten), xytext=(6, 0), textcoords="offset points", fontsize=6, va="center")
    ax.axhline(advice.target, color="grey", linewidth=0.8, linestyle="--", label=f"asked for, {advice.target:.3g}")
    ax.set(xlabel="work of training, doing nothing = 1", ylabel="mean final forgetting", xscale="log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("")
    ax.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    return clean(ax)
