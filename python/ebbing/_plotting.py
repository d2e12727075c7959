"""Figures with matplotlib, in one look."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
#: The tint behind each regime.
TINTS = {"fixed-representations": "#d8e0ea", "overfitting": "#f6d9d5", "generalization": "#d7ecd9"}


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


def bars(values: dict[str, float], title: str, ax: Any, ends: list[tuple[float, float]] | None = None) -> Any:
    """Horizontal bars, with intervals where there are some."""
    ax = axes(ax, (3.4, 0.5 + 0.22 * len(values)))
    names = [SYMBOLS.get(name, name) for name in values]
    numbers = np.array([value if np.isfinite(value) else np.nan for value in values.values()])
    ax.barh(names, numbers, color=BLUE, height=0.6)
    if ends:
        reach = np.abs(np.array(ends).T - numbers)
        ax.errorbar(numbers, names, xerr=reach, fmt="none", ecolor="black", elinewidth=1, capsize=2)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.invert_yaxis()
    ax.set_title(title, fontsize=9)
    return clean(ax)


#: Order parameters as they are written.
SYMBOLS = {
    "gamma_feature": "γ$_{feature}$",
    "gamma_rf": "γ$_{RF}$",
    "gamma_rule": "γ$_{rule}$",
    "gamma_sim": "γ$_{sim}$",
    "f21": "F$_{21}$",
}


def heat_map(values: Array, label: str, ax: Any = None) -> Any:
    """A matrix [t, s]: after task downwards, on task to the right, tasks from 1."""
    ax = axes(ax)
    shown = np.where(np.abs(values) < 1e-20, 0.0, values)
    tasks = len(shown)
    image = ax.imshow(shown, cmap="viridis", vmin=0)
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    ax.set(xlabel="on task", ylabel="after task", xticks=range(tasks), yticks=range(tasks))
    ax.set_xticklabels(range(1, tasks + 1))
    ax.set_yticklabels(range(1, tasks + 1))
    if tasks <= 10:
        middle = 0.5 * np.nanmax(shown)
        for (t, s), value in np.ndenumerate(shown):
            if np.isfinite(value):
                colour = "black" if value > middle else "white"
                ax.text(s, t, f"{value:.2g}", ha="center", va="center", color=colour, fontsize=7)
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
    right.errorbar(t, told.forgetting[:, 0], yerr=errors, fmt="o", color=BLUE, label="task 1")
    if told.fit is not None:
        fitted(told.fit, right, len(told.tasks))
    right.set(xlabel="tasks learned", ylabel="forgetting of task 1")
    right.legend(frameon=False, fontsize=8)
    return np.array([left, clean(right)])


def fitted(fit: Any, ax: Any = None, last: int | None = None) -> Any:
    """The fitted exponential."""
    ax = axes(ax)
    t = np.linspace(1, last or fit.points, 100)
    ax.plot(t, fit.at(t), color=VERMILLION, label="fit")
    ax.set(xlabel="tasks learned", ylabel="forgetting")
    ax.xaxis.get_major_locator().set_params(integer=True)
    return clean(ax)


def loads(limit: Any, ax: Any = None) -> Any:
    """F_21 and the readout's norm against the load, with the regimes behind them."""
    ax = axes(ax)
    order = np.argsort(np.atleast_1d(limit.alpha))
    alpha, regime = np.atleast_1d(limit.alpha)[order], np.atleast_1d(limit.regime)[order]
    edges = np.concatenate([alpha[:1], np.sqrt(alpha[1:] * alpha[:-1]), alpha[-1:]])
    for low, high, name in zip(edges[:-1], edges[1:], regime):
        ax.axvspan(low, high, color=TINTS[name], linewidth=0)
    for name, label, colour in (("f21", "F$_{21}$", BLUE), ("u22", "|a$_2$|²/N", GREEN)):
        if name in limit.__dict__:
            value = np.atleast_1d(limit.__dict__[name])[order]
            finite = np.atleast_1d(limit.__dict__[f"{name}_exponent"])[order] == 0
            ax.plot(alpha, np.where(finite, value, np.nan), ".-", color=colour, label=label)
    ax.set(xscale="log", xlabel="load α = P/N", ylabel="limit for λ → ∞, where finite")
    ax.legend(frameon=False, fontsize=8)
    return clean(ax)


def curves(found: Any, quantity: str, ax: Any = None) -> Any:
    """A quantity of several λ against the load."""
    ax = axes(ax)
    alpha, lam = np.atleast_1d(found.alpha), np.atleast_1d(found.lam)
    order, shape = np.argsort(alpha), (lam.size, alpha.size)
    value = np.reshape(getattr(found, quantity), shape)
    finite = np.reshape(getattr(found, f"{quantity}_exponent"), shape) == 0
    for row, shown, each in zip(value, finite, lam):
        ax.plot(alpha[order], np.where(shown, row, np.nan)[order], ".-", label=f"λ = {each:g}")
    ax.set(xscale="log", xlabel="load α = P/N", ylabel=QUANTITIES[quantity])
    ax.legend(frameon=False, fontsize=8)
    return clean(ax)


#: What a curve against the load shows.
QUANTITIES = {"f_t1": "F$_{T1}$", "g_t1": "G$_{T1}$", "g_tt": "G$_{TT}$", "u_tt": "|a$_T$|²/N"}


def penalties(found: Any, ax: Any = None) -> Any:
    """G_21 and G_22 against λ, with the best one."""
    ax = axes(ax)
    for name, label, colour in (("g21", "G$_{21}$", BLUE), ("g22", "G$_{22}$", GREEN)):
        ax.plot(found.tried["lam"], found.tried[name], ".-", color=colour, label=label)
    ax.axvline(found.lam, color="black", linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel="penalty λ", ylabel="held-out loss over that of learning alone")
    ax.legend(frameon=False, fontsize=8)
    return clean(ax)


def remedies(advice: Any, ax: Any = None) -> Any:
    """Forgetting against the work of training for every remedy, replay as a curve."""
    ax = axes(ax, (5.4, 3.2))
    ax.plot([p["cost"] for p in advice.replay], [p["forgetting"] for p in advice.replay], color=BLUE, label="replay, more and more")
    markers = "osD^v<>PX*hp8"
    for k, row in enumerate(row for row in advice.remedies if row["applies"]):
        ax.plot(row["cost"], row["forgetting"], markers[k % len(markers)], linestyle="none", label=row["remedy"])
    ax.axhline(advice.target, color="black", linewidth=0.8, linestyle=":")
    ax.set(xlabel="work of training, doing nothing = 1", ylabel="mean final forgetting")
    ax.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    return clean(ax)
