"""The pictures of docs/evidence.md, in the project's look."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
GRAY = "#8c8c8c"
#: Shares on an axis as percentage points.
POINTS = FuncFormatter(lambda share, _: f"{100 * share:.0f}".replace("-", "−"))
MM = 1 / 25.4
plt.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "legend.fontsize": 7.5,
        "legend.frameon": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.7,
        "lines.linewidth": 1.2,
    }
)


def save(figure, folder: Path, name: str) -> None:
    figure.savefig(folder / f"{name}.png", dpi=300, metadata={"Software": None})
    plt.close(figure)


def diagonal(ax, low: float = -0.12, high: float = 1.02) -> None:
    """Where forecast and measurement agree."""
    ax.plot([low, high], [low, high], color="black", linewidth=0.8, zorder=1)
    ax.set(xlim=(low, high), ylim=(low, high), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    ax.xaxis.set_major_formatter(POINTS)
    ax.yaxis.set_major_formatter(POINTS)


def points(ax, predicted, seen, held, size: float = 9) -> None:
    """One point per network; held-out sequences filled."""
    predicted, seen, held = map(np.asarray, (predicted, seen, held))
    ax.scatter(predicted[~held], seen[~held], s=size, facecolor="none", edgecolor=BLUE, linewidth=0.6, zorder=2)
    ax.scatter(predicted[held], seen[held], s=size, color=VERMILLION, marker="D", linewidth=0, zorder=3)


def legend(figure, **where) -> None:
    """What the two kinds of points are."""
    open_, full = (
        plt.Line2D([], [], marker="o", linestyle="none", markerfacecolor="none", markeredgecolor=BLUE, markersize=4),
        plt.Line2D([], [], marker="D", linestyle="none", color=VERMILLION, markersize=3.5),
    )
    figure.legend([open_, full], ["sequences used for choices", "held-out sequences"], ncols=2, **where)


def kinds(panels: list[dict], folder: Path, name: str) -> None:
    """Forecast against measured accuracy lost, one panel per kind of network and training."""
    across = 5
    down = -(-len(panels) // across)
    figure, grid = plt.subplots(down, across, figsize=(178 * MM, (39 * down + 12) * MM), sharex=True, sharey=True, layout="constrained")
    for ax, panel in zip(grid.ravel(), panels):
        diagonal(ax)
        points(ax, panel["predicted"], panel["seen"], panel["held"], 7)
        ax.set_title(panel["title"], pad=3)
        ax.text(0.04, 0.97, panel["text"], transform=ax.transAxes, va="top", fontsize=6.5, linespacing=1.2)
    for ax in grid.ravel()[len(panels) :]:
        ax.set_axis_off()
    for k, ax in enumerate(grid.ravel()[: len(panels)]):
        if k + across >= len(panels):
            ax.tick_params(labelbottom=True)
    figure.supxlabel("forecast accuracy lost (points)", fontsize=8)
    figure.supylabel("measured accuracy lost (points)", fontsize=8)
    legend(figure, loc="outside upper center")
    save(figure, folder, name)


def encoders(panels: dict, folder: Path, name: str) -> None:
    """Forecast against measured, one panel per quantity."""
    figure, axes = plt.subplots(1, len(panels), figsize=(140 * MM, 78 * MM), layout="constrained")
    for ax, letter, (what, (predicted, seen, held)) in zip(axes, "ab", panels.items()):
        diagonal(ax, low=-0.35 if "lost" in what else -0.02)
        points(ax, predicted, seen, held, 6)
        error = np.abs(np.subtract(predicted, seen))[np.asarray(held)]
        ax.set(xlabel=f"forecast {what} (points)", ylabel=f"measured {what} (points)")
        ax.text(0.04, 0.97, f"held out: off by {100 * error.mean():.1f} points\nhalf of them by less than {100 * np.median(error):.1f}", transform=ax.transAxes, va="top", fontsize=7)
        ax.set_title(letter, loc="left", fontweight="bold")
    legend(figure, loc="outside upper center")
    save(figure, folder, name)


def summary(lost: dict, accuracy: dict, bands: list[tuple[float, float, float, float]], folder: Path, name: str) -> None:
    """All networks at once: accuracy lost with its band, and final accuracy."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(140 * MM, 78 * MM), layout="constrained")
    for ax, panel, letter in ((left, lost, "a"), (right, accuracy, "b")):
        diagonal(ax, *panel["range"])
        points(ax, panel["predicted"], panel["seen"], panel["held"], 9)
        ax.set(xlabel=f"forecast {panel['what']}", ylabel=f"measured {panel['what']}")
        ax.set_title(panel["title"], pad=4)
        ax.text(-0.2, 1.04, letter, transform=ax.transAxes, fontweight="bold", fontsize=10)
        ax.text(0.03, 0.97, panel["text"], transform=ax.transAxes, va="top", fontsize=7.5)
    for low, high, below, above in bands:
        x = np.array([low, high])
        left.fill_between(x, x + below, x + above, color=SKY, alpha=0.3, linewidth=0, zorder=0)
    legend(figure, loc="outside upper center")
    save(figure, folder, name)


def sweeps(found: dict[str, dict], folder: Path, name: str) -> None:
    """The error of the forecast as one setting of the training moves away from the usual."""
    figure, axes = plt.subplots(1, len(found), figsize=(178 * MM, 56 * MM), sharey=True, layout="constrained")
    for ax, letter, (title, sweep) in zip(axes, "abcdef", found.items()):
        x = np.array(sweep["values"], dtype=float)
        for what, color, marker, label in (("lost", VERMILLION, "o", "accuracy lost"), ("accuracy", BLUE, "s", "final accuracy")):
            mean, spread = sweep[f"{what} size"]
            ax.errorbar(x, mean, yerr=spread, color=color, marker=marker, markersize=3.5, capsize=2, linewidth=1, label=label)
        ax.set(xscale="log", xlabel=title)
        ax.axvline(sweep["usual"], color=GRAY, linewidth=0.8, linestyle=":")
        ax.grid(axis="y", color="#e5e5e5", linewidth=0.6)
        ax.minorticks_off()
        ax.text(-0.02, 1.05, letter, transform=ax.transAxes, fontweight="bold", fontsize=10)
    axes[0].set(ylabel="mean error (points)", ylim=(0, None), yticks=[0, 0.05, 0.1])
    axes[0].yaxis.set_major_formatter(POINTS)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    save(figure, folder, name)


def measures(rows: list[dict], folder: Path, name: str) -> None:
    """Alternatives to the forecast: rank correlation, error and time of each measure."""
    figure, axes = plt.subplots(1, 3, figsize=(178 * MM, (14 + 7.5 * len(rows)) * MM), sharey=True, layout="constrained")
    places = np.arange(len(rows))[::-1]
    titles = ("rank correlation with\nthe measured loss", "mean error on held-out\nsequences (points)", "seconds on one core\nper sequence")
    for ax, what, title, letter in zip(axes, ("rho", "error", "seconds"), titles, "abc"):
        for place, row in zip(places, rows):
            color = VERMILLION if place == len(rows) - 1 else BLUE
            value, low, high = (row[what],) * 3 if what == "seconds" else row[what]
            if np.isfinite(value) and value > 0:
                ax.plot([low, high], [place, place], color=color, linewidth=1.4)
                ax.plot(value, place, "D" if place == len(rows) - 1 else "o", color=color, markersize=5)
        ax.set_xlabel(title)
        ax.grid(axis="x", color="#e5e5e5", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.text(0.0, 1.03, letter, transform=ax.transAxes, fontweight="bold", fontsize=10)
    axes[0].set_yticks(places, [row["name"] for row in rows])
    axes[0].set_ylim(-0.6, len(rows) - 0.4)
    axes[1].set_xlim(left=0)
    axes[1].xaxis.set_major_formatter(POINTS)
    axes[2].set_xscale("log")
    axes[2].set_xlim(1e-3, 1)
    axes[2].minorticks_off()
    save(figure, folder, name)


def advice(replay: list[dict], orders: list[dict], heads: dict, folder: Path, name: str) -> None:
    """Do the recommendations work? Replay, order, separate heads."""
    figure, axes = plt.subplots(1, 3, figsize=(178 * MM, 66 * MM), layout="constrained")
    ax = axes[0]
    for k, curve in enumerate(replay):
        color, marker = [VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY][k % 6], "osD^vP"[k % 6]
        x = np.arange(len(curve["amounts"]))
        ax.plot(x, curve["predicted"], color=color)
        ax.plot(x, curve["seen"], color=color, marker=marker, markersize=4, linestyle="none", label=curve["name"])
        ax.set_xticks(x, curve["amounts"])
    ax.set(xlabel="examples kept of each task", ylabel="accuracy lost (points)", ylim=(-0.08, 1.5), yticks=[0, 0.25, 0.5, 0.75, 1])
    ax.legend(loc="upper right", fontsize=6.5, handletextpad=0.2, borderaxespad=0)
    ax = axes[1]
    for k, row in enumerate(orders):
        ax.plot([row["least"], row["most"]], [k, k], color="#c9c9c9", linewidth=3, solid_capstyle="butt", zorder=1, label="range over eight orders" if k == 0 else None)
        ax.plot(row["mean"], k, "|", color="black", markersize=7, zorder=2, label="their mean" if k == 0 else None)
        ax.plot(row["chosen"], k, "D", color=VERMILLION, markersize=4, zorder=3, label="the recommended one" if k == 0 else None)
    ax.set(xlabel="measured accuracy lost (points)", yticks=[], ylabel="sequences", xlim=(-0.1, 1.02), ylim=(-0.8, len(orders) + 3))
    ax.legend(loc="upper left", fontsize=6.5, handletextpad=0.5, borderaxespad=0)
    ax = axes[2]
    ends = (min(0, *heads["predicted"], *heads["seen"]) - 0.05, max(*heads["predicted"], *heads["seen"]) + 0.05)
    ax.plot(ends, ends, color="black", linewidth=0.8, zorder=1)
    points(ax, heads["predicted"], heads["seen"], heads["held"])
    ax.set(xlim=ends, ylim=ends, xlabel="forecast gain (points)", ylabel="measured gain by separate heads (points)", xticks=[-0.4, 0, 0.4, 0.8])
    for axis in (axes[0].yaxis, axes[1].xaxis, ax.xaxis, ax.yaxis):
        axis.set_major_formatter(POINTS)
    for ax, letter in zip(axes, "abc"):
        ax.text(-0.08, 1.03, letter, transform=ax.transAxes, fontweight="bold", fontsize=10)
    save(figure, folder, name)
