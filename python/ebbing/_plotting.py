"""Figures with matplotlib, in one look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import Array, task_names
from ._table import as_math, setting, significant, symbol, without_rounding

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
#: Colors, dashes and markers of categories, in that order: what differs in one differs in all.
COLORS = (BLUE, VERMILLION, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "black")
DASHES = ("-", "--", ":", "-.", (0, (8, 3)), (0, (5, 2, 1, 2, 1, 2)), (0, (3, 2)))
MARKERS = "os^DvPX"
#: The tint behind each regime, and its name.
TINTS = {"fixed-representations": "#B5C3D9", "overfitting": "#F4CCC4", "generalization": "#E2F3DF"}


def look(k: int) -> dict[str, Any]:
    """Color and dash of category `k`."""
    return {"color": COLORS[k % len(COLORS)], "linestyle": DASHES[k % len(DASHES)]}


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


def load_axis(axis: Any) -> None:
    """Ticks of a logarithmic axis that can be read: powers of ten, and what lies between them where decades are few."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 3.0, 5.0, 7.0) if high < 10 * low else (1.0, 2.0, 5.0) if high < 200 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def from_zero(ax: Any, values: Any) -> None:
    """An axis of losses that reaches 1 where all of them are 0."""
    finite = np.asarray(values)[np.isfinite(values)]
    top = finite.max() if finite.size else 0.0
    if top <= 0:
        ax.set_ylim(-0.03, 1)


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
    ax = axes(ax, (5.4 if null else 3.4, 0.5 + 0.22 * len(values)))
    names = [as_math(symbol(name)) for name in values]
    numbers = without_rounding(np.array([value if np.isfinite(value) else np.nan for value in values.values()]))
    ax.barh(names, numbers, color=BLUE, height=0.6, label="tasks" if null else None)
    if ends:
        reach = np.abs(np.array(ends).T - numbers)
        ax.errorbar(numbers, names, xerr=reach, fmt="none", ecolor="black", elinewidth=1, capsize=2)
    if null:
        low, high = np.array(null).T
        ax.hlines(np.arange(len(names)) + 0.38, low, high, color=VERMILLION, linewidth=2.5, label="shuffled targets")
        ax.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.axvline(0, color="black", linewidth=0.8)
    if not np.nanmax(np.abs(numbers), initial=0.0):
        ax.set_xlim(0, 1)
    ax.invert_yaxis()
    ax.set_title(as_math(title), fontsize=9)
    return clean(ax)


def heat_map(values: Array, label: str, ax: Any = None, names: Sequence[str] | None = None) -> Any:
    """A matrix [t, s]: after task downwards, on task to the right, tasks by name or from 1."""
    ax = axes(ax)
    shown = without_rounding(values)
    tasks = len(shown)
    image = ax.imshow(shown, cmap="viridis", vmin=0)
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    step = 1 + (tasks - 1) // 10
    numbered = range(0, tasks, step)
    ax.set(xlabel="on task", ylabel="after task", xticks=numbered, yticks=numbered)
    called = [str(name) for name in task_names(names if names is not None else tasks)]
    long = max(map(len, called)) > 3
    ax.set_xticklabels([called[t] for t in numbered], rotation=45 if long else 0, ha="right" if long else "center")
    ax.set_yticklabels([called[t] for t in numbered])
    ax.spines[:].set_visible(False)
    if tasks <= 10:
        middle = 0.5 * np.nanmax(shown)
        for (t, s), value in np.ndenumerate(shown):
            if np.isfinite(value):
                color = "black" if value > middle else "white"
                text = "0" if value == 0 else f"{value:.2f}"
                ax.text(s, t, text, ha="center", va="center", color=color, fontsize=7)
    return ax


def per_cent_axis(ax: Any, name: str) -> Any:
    """An axis of accuracies, always from 0 to 100 %."""
    ax.set(ylim=(0, 100), ylabel=name)
    return clean(ax)


def losses(answer: Any, ax: Any) -> Any:
    """How much each task loses: its accuracy after every task since it was learned, named where it begins."""
    accuracy = 100 * np.asarray(answer.accuracy)
    names = [name if isinstance(name, str) else f"task {name}" for name in task_names(answer.tasks)]
    tasks = len(accuracy)
    lost = [accuracy[s, s] - accuracy[-1, s] for s in range(tasks)]
    worst = int(np.argmax(lost))
    for s in sorted(range(tasks), key=lambda s: s == worst):
        times = np.arange(s, tasks) + 1
        ax.plot(times, accuracy[s:, s], marker="o", markevery=[-1], markersize=4, **look(1 if s == worst else 0))
        if tasks <= 10 or s == worst:
            short = names[s] if len(names[s]) <= 16 else names[s][:15] + "…"
            high = accuracy[s, s] > 88
            ax.annotate(short, (s + 1, accuracy[s, s]), (0, -10 if high else 5), textcoords="offset points", ha="center", fontsize=7)
    chance(ax, answer.chance)
    ax.set_xlabel("tasks learned")
    ax.set_xlim(0.6, tasks + 0.6)
    whole(ax.xaxis)
    return per_cent_axis(ax, "test accuracy (%)")


def chance(ax: Any, share: float) -> None:
    """The line of guessing, named."""
    ax.axhline(100 * share, color="gray", linewidth=0.8, linestyle="--")
    ax.annotate(f"guessing {100 * share:.0f} %", (1, 100 * share), (-2, 2), xycoords=("axes fraction", "data"), textcoords="offset points", ha="right", fontsize=7, color="gray")


def kept(keep: dict[str, Any], guessing: float, ax: Any) -> Any:
    """Final accuracy against the examples kept of each class, with the band of measured networks."""
    points = [point for point in keep["points"] if point["per_class"]]
    x = [point["per_class"] for point in points]
    ax.semilogx(x, [100 * point["accuracy"] for point in points], **look(0))
    if all(point.get("accuracy_interval") for point in points):
        low, high = 100 * np.array([point["accuracy_interval"] for point in points]).T
        ax.fill_between(x, low, high, color=BLUE, alpha=0.2, linewidth=0)
    for target in keep["targets"]:
        point = target["point"]
        if point and point["per_class"]:
            place = (point["per_class"], 100 * point["accuracy"])
            ax.plot(*place, "o", color=BLUE, markersize=4)
            ax.annotate(str(point["per_class"]), place, (4, -9), textcoords="offset points", fontsize=7)
    chance(ax, guessing)
    ax.set_xlabel("examples kept of each class")
    return per_cent_axis(ax, "final accuracy (%)")


Point = tuple[str, float, float, Any, int]


def by_memory(points: list[Point], guessing: float, joint: float | None, ax: Any) -> Any:
    """Final accuracy against what is kept between tasks, every method named beside its point."""
    sizes = [size for _, size, *_ in points if size > 0]
    left = min(sizes, default=1e3) / 4 / 1e3
    for name, size, accuracy, ends, group in points:
        place = (size / 1e3 if size else left, 100 * accuracy)
        style = {"color": COLORS[group], "marker": MARKERS[group], "markersize": 4}
        ax.plot(*place, linestyle="none", **style)
        if ends:
            ax.vlines(place[0], 100 * ends[0], 100 * ends[1], color=COLORS[group], linewidth=1)
        ax.annotate(name, place, (5, 3), textcoords="offset points", fontsize=7)
    if joint is not None:
        ax.axhline(100 * joint, color="gray", linewidth=0.8, linestyle="--")
        ax.annotate("joint training", (0, 100 * joint), (2, 2), xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=7, color="gray")
    chance(ax, guessing)
    ax.set(xscale="log", xlim=(left / 2, 8 * max(sizes, default=1e3) / 1e3), xlabel="kept between tasks (kB)")
    return per_cent_axis(ax, "final accuracy (%)")


def side_by_side(drawn: list[Any], ax: Any) -> Any:
    """Charts beside each other; the first one where axes are given."""
    if ax is not None:
        return drawn[0](ax)
    import matplotlib.pyplot as plt

    all_axes = plt.subplots(1, len(drawn), figsize=(3.6 * len(drawn), 2.8), layout="constrained", squeeze=False)[1][0]
    for draw, one in zip(drawn, all_axes):
        draw(one)
    return all_axes if len(drawn) > 1 else all_axes[0]


def answer(found: Any, ax: Any = None) -> Any:
    """The three charts of a forecast's answer."""
    drawn = [lambda one: losses(found, one)]
    points: list[Point] = []
    joint = None
    if found.keep:
        drawn.append(lambda one: kept(found.keep, found.chance, one))
        first, last = found.keep["points"][0], found.keep["points"][-1]
        joint = last["accuracy"]
        points.append(("fine-tuning", 0, first["accuracy"], first.get("accuracy_interval"), 0))
        reached = [target["point"] for target in found.keep["targets"] if target["point"] and target["point"]["per_class"]]
        points += [(f"replay {p['per_class']}", p["bytes"], p["accuracy"], p.get("accuracy_interval"), 0) for p in reached]
    heads = {"nearest-mean": "class means", "discriminant": "discriminant", "ridge": "ridge"}
    points += [(heads.get(h["kind"], h["kind"]), h["bytes"], h["mean_accuracy"], None, 2) for h in (found.heads or {}).get("heads", [])]
    if len(points) > 1:
        drawn.append(lambda one: by_memory(points, found.chance, joint, one))
    return side_by_side(drawn, ax)


def advice(found: Any, ax: Any = None) -> Any:
    """The methods by memory, and the accuracy against examples kept."""
    methods = found.methods
    joint = next((row["accuracy"] for row in methods["rows"] if row["kind"] == "joint"), None)
    points: list[Point] = []
    for row in methods["rows"]:
        if row["kind"] != "joint":
            group = 2 if row["support"]["kind"] == "exact" else 1 if row["task_known"] else 0
            name = f"replay {row['per_class']}" if row["kind"] == "replay" else row["method"].split(",")[0].split(" (")[0]
            points.append((name + "*" * row["task_known"], row["bytes"], row["accuracy"], row.get("accuracy_interval"), group))
    drawn = [lambda one: by_memory(points, methods["chance"], joint, one), lambda one: kept(methods["keep"], methods["chance"], one)]
    return side_by_side(drawn, ax)


def forecast(answer: Any, ax: Any = None) -> Any:
    """The forgetting matrix; beside it, unless axes were given, the first task's curve with its fit, and where pairs have
    intervals or a null these below."""
    learned = np.where(np.tri(len(answer.tasks), dtype=bool), answer.forgetting, np.nan)
    if ax is not None:
        return heat_map(learned, "forgetting F", ax, answer.tasks)
    import matplotlib.pyplot as plt

    pairs = [pair for pair in answer.shown_pairs() if pair.resampled()]
    below = 0.8 + 0.25 * len(pairs)
    shape: dict[str, Any] = {"figsize": (7, 2.8), "layout": "constrained"}
    if pairs:
        shape["figsize"] = (8.5, 3.2 + below)
        _, grid = plt.subplot_mosaic("LR;PP", **shape, height_ratios=(3.2, below))
        drawn = [grid[place] for place in "LRP"]
        conflicts(answer, pairs, drawn[2])
    else:
        drawn = list(plt.subplots(1, 2, **shape)[1])
    heat_map(learned, "forgetting F", drawn[0], answer.tasks)
    first_task(answer, drawn[1])
    return np.array(drawn)


def first_task(answer: Any, ax: Any) -> None:
    """The forgetting of the first task with its fit."""
    t = np.arange(1, len(answer.tasks) + 1)
    errors = None if answer.forgetting_error is None else answer.forgetting_error[:, 0]
    curve = without_rounding(answer.forgetting[:, 0])
    if errors is not None:
        ax.fill_between(t, curve - errors, curve + errors, color=BLUE, alpha=0.22, linewidth=0, label="± standard error")
    ax.plot(t, curve, color=BLUE, label="theory")
    if answer.fit is not None and answer.fit.shape != "undetermined":
        fitted(answer.fit, ax, len(answer.tasks))
    name = task_names(answer.tasks)[0]
    called = "task 1" if name == 1 else str(name)
    ax.set(xlabel="tasks learned, t", ylabel=as_math(f"forgetting of {called}, F_{{t1}}"), ylim=(0, None))
    from_zero(ax, curve)
    whole(ax.xaxis)
    ax.legend(frameon=False, fontsize=7)
    clean(ax)


def conflicts(answer: Any, pairs: list[Any], ax: Any) -> None:
    """The conflict of pairs with intervals, the range of shuffled targets and p-values."""
    pairs = [pair.first_draw or pair for pair in pairs]
    found = [pair.p("conflict") for pair in pairs]
    names = [answer.arrow(pair) + ("" if p is None else f"  (p {significant(p)})") for pair, p in zip(pairs, found)]
    ends = [(p.low["conflict"], p.high["conflict"]) for p in pairs] if pairs[0].low else None
    null = [(p.null["low"]["conflict"], p.null["high"]["conflict"]) for p in pairs] if pairs[0].null else None
    bars(dict(zip(names, (pair.conflict for pair in pairs))), "", ax, ends, null)
    ax.set_xlabel(as_math("conflict γ_{RF} − γ_{rule}" + (", 95 % interval" if ends else "")))


def fitted(fit: Any, ax: Any = None, last: int | None = None) -> Any:
    """The fitted curve."""
    ax = axes(ax)
    t = np.linspace(1, last or fit.points, 100)
    ax.plot(t, fit.at(t), **look(1), label=as_math(fit.formula()))
    ax.set(xlabel="tasks learned, t", ylabel=as_math("forgetting, F_{t1}"))
    whole(ax.xaxis)
    return clean(ax)


def loads(limit: Any, ax: Any = None) -> Any:
    """F_21 and the readout's norm against the load, with the regimes behind them."""
    ax = axes(ax, (4.6, 2.6))
    order = np.argsort(np.atleast_1d(limit.alpha))
    alpha = np.atleast_1d(limit.alpha)[order]
    if limit.critical is not None:
        tint(ax, alpha[0], alpha[-1], limit.critical.alpha_c)
    for k, name in enumerate(name for name in ("f21", "u22") if name in limit.__dict__):
        # Forgetting is small where norms are large: each has an axis of its own.
        side = ax if k == 0 else ax.twinx()
        value = without_rounding(np.atleast_1d(limit.__dict__[name])[order])
        finite = np.atleast_1d(limit.__dict__[f"{name}_exponent"])[order] == 0
        shown = np.where(finite, value, np.nan)
        side.plot(alpha, shown, marker="." if alpha.size < 8 else "", **look(k))
        side.set_ylabel(as_math(f"{symbol(name)} for λ → ∞, where finite"), color=COLORS[k])
        side.tick_params(axis="y", colors=COLORS[k])
        side.spines["top"].set_visible(False)
        from_zero(side, shown)
    ax.set(xscale="log", xlabel="load α = P/N")
    if alpha.size > 1:
        ax.set_xlim(alpha.min(), alpha.max())
    load_axis(ax.xaxis)
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(labels, handles))
    ax.legend(once.values(), once.keys(), frameon=False, fontsize=7, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return clean(ax)


def curves(found: Any, quantity: str, ax: Any = None) -> Any:
    """A quantity of several λ against the load."""
    ax = axes(ax)
    alpha, lam = np.atleast_1d(found.alpha), np.atleast_1d(found.lam)
    order, shape = np.argsort(alpha), (lam.size, alpha.size)
    value = without_rounding(np.reshape(getattr(found, quantity), shape))
    finite = np.reshape(getattr(found, f"{quantity}_exponent"), shape) == 0
    mark = "." if alpha.size < 8 else ""
    for k, (row, shown, each) in enumerate(zip(value, finite, lam)):
        name = "λ → ∞" if np.isinf(each) else f"λ = {setting(each)}"
        ax.plot(alpha[order], np.where(shown, row, np.nan)[order], marker=mark, **look(k), label=name)
    ax.set(xscale="log", xlabel="load α = P/N", ylabel=as_math(QUANTITIES[quantity]))
    from_zero(ax, np.where(finite, value, np.nan))
    load_axis(ax.xaxis)
    key(ax)
    return clean(ax)


def phase(answer: Any, ax: Any = None) -> Any:
    """Forgetting of task 1 against the load, the regimes behind it and the width asked about as a line."""
    ax = axes(ax, (4.6, 2.6))
    alpha = np.atleast_1d(answer.curves.alpha)
    if answer.critical is not None:
        tint(ax, alpha.min(), alpha.max(), answer.critical.alpha_c)
    ax.set(xscale="log", xlim=(alpha.min(), alpha.max()))
    curves(answer.curves, "f_t1", ax)
    if answer.location is not None:
        ax.axvline(answer.location["alpha"], color="black", linewidth=1, label=f"N = {answer.location['width']:g}")
    key(ax)
    return clean(ax)


def critical(found: Any, ax: Any = None) -> Any:
    """The critical load and its estimates on the axis of loads, the regimes behind them."""
    ax = axes(ax, (4.6, 1.5))
    names = ("alpha_c", "alpha_c_gamma_sim", "alpha_c_u11")
    known = {name: getattr(found, name) for name in names if np.isfinite(getattr(found, name))}
    high = 10.0 ** np.ceil(np.log10(3 * max([1.0, *known.values()])))
    ax.set(xscale="log", xlim=(0.1, high), ylim=(len(names) - 0.5, -0.5), xlabel="load α = P/N")
    tint(ax, 0.1, high, found.alpha_c)
    for y, name in enumerate(names):
        if name in known:
            ax.plot(known[name], y, marker=MARKERS[y], color=COLORS[y], linestyle="none")
            at = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
            ax.annotate(significant(known[name]), (known[name], y), fontsize=7, **at)
        else:
            ax.text(high, y, "none found ", va="center", ha="right", fontsize=7)
    ax.set_yticks(range(len(names)), [as_math(symbol(name)) for name in names])
    load_axis(ax.xaxis)
    ax.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return clean(ax)


#: What a curve against the load shows.
QUANTITIES = {
    "f_t1": "forgetting F_{T1}",
    "g_t1": "normalized test loss G_{T1}",
    "g_tt": "normalized test loss G_{TT}",
    "u_tt": "|a_{T}|²/N",
}


def penalties(found: Any, ax: Any = None) -> Any:
    """G_21 and G_22 against λ, with the best one."""
    ax = axes(ax)
    for k, name in enumerate(("g21", "g22")):
        ax.plot(found.tried["lam"], found.tried[name], **look(k), label=as_math(symbol(name)))
    ax.axvline(found.lam, color="gray", linewidth=0.8, linestyle="--", label=f"best λ = {significant(found.lam)}")
    ax.set(xscale="log", yscale="log", xlabel="penalty λ", ylabel="normalized test loss")
    key(ax)
    return clean(ax)


def remedies(advice: Any, ax: Any = None) -> Any:
    """Forgetting against the work of training for every remedy, replay as a curve."""
    ax = axes(ax, (5.4, 3.2))
    ax.plot([p["cost"] for p in advice.replay], [p["forgetting"] for p in advice.replay], color=BLUE, label="replay, more and more")
    applied = [row for row in advice.remedies if row["applies"]]
    most = max(row["forgetting"] for row in applied)
    # Numbers of points that lie together stand together.
    reach = 0.1 * np.log(max(row["cost"] for row in applied) / min(row["cost"] for row in applied)) + 1e-9
    tags: list[list[Any]] = []
    for k, row in enumerate(applied):
        forgotten = float(without_rounding(np.array(row["forgetting"])))
        style = {"color": COLORS[k % len(COLORS)], "marker": MARKERS[(k // len(COLORS) + k) % len(MARKERS)]}
        ax.plot(row["cost"], forgotten, linestyle="none", label=f"{k + 1} {row['remedy']}", **style)
        near = [t for t in tags if abs(np.log(t[0] / row["cost"])) < reach and abs(t[1] - forgotten) < 0.05 * most]
        if near:
            near[0][0] = max(near[0][0], row["cost"])
            near[0][2].append(k + 1)
        else:
            tags.append([row["cost"], forgotten, [k + 1]])
    for cost, forgotten, numbers in tags:
        text = ", ".join(str(k) for k in numbers)
        ax.annotate(text, (cost, forgotten), xytext=(6, 0), textcoords="offset points", fontsize=6, va="center")
    ax.axhline(advice.target, color="gray", linewidth=0.8, linestyle="--", label=f"asked for, {significant(advice.target)}")
    ax.set(xlabel="work of training, doing nothing = 1", ylabel="mean final forgetting", xscale="log")
    load_axis(ax.xaxis)
    ax.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    return clean(ax)
