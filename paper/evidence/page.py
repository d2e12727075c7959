"""The text of docs/evidence.md and its pictures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

import calibration as c
import pictures
from analyze import CLASS_NAMES, KINDS, MEASURES, Study, markdown, mode_name, number, percent, seconds, span
from intervals import mean_error, over_sequences, rank_correlation
from sequences import NAMES

#: The sweeps: setting, name on the axis, its usual value.
SWEEPS = {
    "width": ("hidden units", 200),
    "epochs": ("epochs", 20),
    "rate": ("learning rate (Adam)", 1e-3),
    "scale": ("output scale", 1.0),
}
#: How many whitened sequences there were when the held-out ones among them were first looked at.
FIRST_LOOK = 96
SHOWN = ("rf-1", "rf-2", "rf-3", "ntk-1", "ntk-2", "ntk-3", "lazy-1", "lazy-2", "lazy-3", "rf-1-b100", "rf-1-b30", "rf-1-b10", "rf-2-b100", "rf-2-b30")


def page(study: Study, folder: Path) -> str:
    """The whole page; pictures go to the folder."""
    parts = [opening, summary, sample, kinds, networks, protocols, modes, bars, whitened, limits, alternatives, advice, undone, again]
    return "\n\n".join(part(study, folder) for part in parts) + "\n"


def figures(study: Study, runs: list[c.Run], what: str = "lost") -> dict:
    """Rank correlation and mean error of a set of runs with their intervals over sequences."""
    told, seen, places, _ = study.pairs(runs, what)
    made = {"n": len(runs), "sequences": len(set(places))}
    for name, statistic in (("rho", rank_correlation), ("error", mean_error)):
        made[name] = statistic(told, seen)
        made[f"{name} ends"] = over_sequences(statistic, told, seen, places)
    made["bias"] = float(np.mean(seen - told))
    return made


def opening(study: Study, _: Path) -> str:
    every = study.sequences()
    runs = study.runs
    return f"""# Forecast and measurement

The theory speaks of wide networks that learn by small steps and squared error. People train networks of ordinary width by
Adam with cross-entropy. This page holds the forecast against {trained(study)} networks trained in PyTorch on {len(every)} sequences
of tasks, and says how far it can be trusted. It is written by `python paper/evidence/analyze.py` from the results in
`paper/evidence/results`.

Two thirds of the sequences served to choose the mode and depth and to set the width of error bars. The other third
({len({r.place for r in study.judged})} of the {len(study.main)} sequences of the main part) was set aside by number before anything was drawn, and judges them.

*Loss of accuracy* is held-out accuracy of a task just after it was learned minus that after the last task, averaged over all
tasks but the last. *Final accuracy* is the average over all tasks after the last."""


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
    told, seen, _, held = study.pairs(ordinary(study.runs))
    text = lambda f: f"held out: mean error {number(f['error'], 3)}\nrank correlation {number(f['rho'])}"
    left = {"told": told, "seen": seen, "held": held, "range": (-0.15, 1.02), "what": "loss of accuracy", "title": "What is forgotten", "text": text(lost)}
    told, seen, _, held = study.pairs(ordinary(study.runs), "accuracy")
    right = {"told": told, "seen": seen, "held": held, "range": (0.0, 1.02), "what": "final accuracy", "title": "What is left in the end", "text": text(accuracy)}
    pooled = c.table(ordinary(study.seen), study.typical)
    ends = (-0.15, *c.EDGES, 1.02)
    bands = [(a, b, *part["80"]) for a, b, part in zip(ends, ends[1:], pooled["lost"]["parts"])]
    pictures.summary(left, right, bands, folder, "evidence")
    eighty = c.coverage(study.judged, study.entries, "lost", 0.8)[0]
    return f"""![Measured against forecast loss of accuracy and final accuracy](evidence.png)

*Fully connected networks trained to the end by Adam or SGD, with and without replay: {len(ordinary(study.runs))} networks on {len(study.main)} sequences. Each
point is a network; on the line forecast and measurement agree. The band holds 80 % of the networks that served for choices.*

## What may be expected

- **How much is forgotten.** On held-out sequences the forecast of the loss of accuracy is off by {number(lost['error'], 3)} on average (interval over
  sequences {span(lost['error ends'], 3)}), with a rank correlation of {number(lost['rho'])} ({span(lost['rho ends'])}).
- **What is left.** Final accuracy is off by {number(accuracy['error'], 3)} ({span(accuracy['error ends'], 3)}), rank correlation {number(accuracy['rho'])}.
- **How many examples to keep.** Forecast and measured loss differ by {number(replay_gaps(study), 3)} on average where 0 to 200 examples of each task are kept.
- **Error bars.** Those that are stated for 80 % of networks held {percent(eighty.mean())} of the {len(eighty)} held-out networks of all kinds
  (final accuracy: {percent(c.coverage(study.judged, study.entries, "accuracy", 0.8)[0].mean())}).

## What may not

{shortcomings(study)}"""


def replay_gaps(study: Study) -> float:
    """The mean difference of forecast and measured loss over all amounts kept."""
    name = fixed(study.typical)
    return float(np.mean([abs(a["forecast"][name]["lost"] - a["measured"]["lost"]) for row in study.others["replay"] for a in row["amounts"]]))


def shortcomings(study: Study) -> str:
    """What the forecast does not give, each with its number."""
    _, orders, _ = order_table(study)
    best = max(orders.values(), key=lambda o: o["rho"])
    told, seen, _ = head_gains(study)
    rows = {row["sequence"]["number"]: row for row in study.main}
    runs = [r for r in study.of_kind("adam-ce") if r.held_out]
    small = np.mean([abs(rows[r.place]["baselines"]["proxy network"]["lost"] - r.measured["lost"]) for r in runs])
    own = np.mean([abs(r.forecast(study.chosen["plain"], "lost") - r.measured["lost"]) for r in runs])
    return f"""- **A ranking of orders.** The best of four ways to rank orders of the same tasks by a forecast reaches a rank correlation of {number(best['rho'])} on average,
  and its order gets {percent(best['gain'])} of what the best of eight would have gained. Depths of one to four layers it does not rank at all.
- **What a head per task gives back.** It is forecast to gain {number(told.mean())} of final accuracy on average and gained {number(seen.mean())}.
- **Networks that do not learn their tasks**: ten units, one epoch, a learning rate ten times too large (below).
- **Much more than a small network tells, where the data are small.** Training 50 units on half of the examples takes as long as the forecast
  here, and forecasts the loss of larger networks to {number(small, 3)} (held-out sequences; the forecast: {number(own, 3)})."""


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
their first set. Pixels are standardized, not whitened, but for {len(study.others["whitened"])} sequences (below). Networks are fully connected, of 1 to 4 hidden layers of 50 to 300 units, but
where the kind says otherwise; 20 epochs in batches of 32, Adam at 10⁻³ or SGD with momentum 0.9 at 0.02. Every sequence of the
main part is learned by Adam with cross-entropy, with and without replay (5 to 100 examples of each earlier task), and in three other
ways that take turns. Online EWC is Avalanche's."""


def kinds(study: Study, folder: Path) -> str:
    rows, panels = [], []
    for kind, title in KINDS.items():
        runs = study.of_kind(kind)
        if len(runs) < 3:
            continue
        lost, accuracy = figures(study, runs), figures(study, runs, "accuracy")
        told, seen, _, held = study.pairs(runs)
        rho = f"ρ = {number(lost['rho'])}\n" if np.isfinite(lost["rho"]) else ""
        panels.append({"told": told, "seen": seen, "held": held, "title": title, "text": f"{rho}error {number(lost['error'], 3)}\nn = {len(runs)}"})
        cells = [title, str(len(runs)), f"{number(lost['rho'])} ({span(lost['rho ends'])})" if np.isfinite(lost["rho"]) else "–"]
        cells += [f"{number(lost['error'], 3)} ({span(lost['error ends'], 3)})", number(lost["bias"], 3), number(accuracy["error"], 3)]
        rows.append(cells)
    pictures.kinds(panels, folder, "evidence-kinds")
    return f"""## Every kind of network and training

![Measured against forecast loss of accuracy for every kind of training and network](evidence-kinds.png)

*One point per sequence. The forecast is the one that was chosen for each kind (below).*

{markdown(["training", "networks", "rank correlation", "mean error of the loss", "measured − forecast", "error of final accuracy"], rows)}

In brackets 95 % intervals, sequences drawn anew. {failed(study)} With a head per task the wide limit says that nothing is lost; what is lost is what
the hidden layers change."""


def failed(study: Study) -> str:
    """Networks that did not learn although they were trained to the end."""
    own = [r for r in study.runs if c.CLASS_OF[r.kind] in ("plain", "replay") and r.measured["trained"] < 0.7]
    kinds_ = Counter(r.kind for r in own)
    told = ", ".join(f"{n} of {KINDS[k]}" for k, n in kinds_.most_common())
    return f"Points far below the line are networks that did not learn: {len(own)} of those trained to the end have a training accuracy below .7\n({told})." if own else ""


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
        rows.append([label, str(f["n"]), f"{number(f['error'], 3)} ({span(f['error ends'], 3)})", number(f["bias"], 3), number(a["error"], 3)])
    return f"""### Depth and width

{markdown(["network", "networks", "mean error of the loss", "measured − forecast", "error of final accuracy"], rows)}"""


def protocols(study: Study, _: Path) -> str:
    plain = ordinary(study.runs)
    rows = []
    for protocol, title in NAMES.items():
        for kept in (False, True):
            own = [r for r in plain if r.sequence["protocol"] == protocol and (r.kind == "replay") == kept]
            if len(own) < 5:
                continue
            f, a = figures(study, own), figures(study, own, "accuracy")
            told, seen, *_ = study.pairs(own)
            rows.append([title + (", replay" if kept else ""), str(f["n"]), number(told.mean()), number(seen.mean()), number(f["error"], 3), number(a["error"], 3)])
    return f"""### Protocols

{markdown(["protocol", "networks", "forecast loss", "measured loss", "mean error of the loss", "error of final accuracy"], rows)}"""


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
            cells.append(number(value, 3) if np.isfinite(value) else "–")
        rows.append([mode_name(name), *cells])
    chosen = [[CLASS_NAMES[k], mode_name(v)] for k, v in study.chosen.items()]
    usual = ordinary(study.judged)
    default = {w: c.error(usual, c.COLD, w) for w in c.QUANTITIES}
    new = {w: c.error(usual, study.typical, w) for w in c.QUANTITIES}
    blurred = [r for r in ordinary(study.seen) if r.sequence["protocol"] == "blurred"]
    mended = {name: c.error(blurred, name, "lost") for name in ("rf-1", study.typical)}
    gradient = gradients_against_pixels(study)
    return f"""## Which mode and depth

Mean error (half of it of the loss of accuracy, half of final accuracy) on the two thirds that served for choices:

{markdown(["forecast", *groups.values()], rows)}

Chosen, by class of training:

{markdown(["training", "forecast"], chosen)}

This is what `ebbing forecast` and `ebbing advise` take, by default and in every mode, to tell what networks that people train are
to be expected to lose and keep. Order parameters and the forgetting matrix are quantities of the theory and stay at zero temperature
({mode_name(c.COLD)}) unless another is asked for; that would forecast held-out networks trained by Adam or SGD, with and without replay, to
{number(default['lost'], 3)} (loss) and {number(default['accuracy'], 3)} (final accuracy), where {mode_name(study.typical)} forecasts them to {number(new['lost'], 3)} and {number(new['accuracy'], 3)}.

A temperature 1/β keeps the theory from fitting directions in which inputs hardly differ, as training by small steps does. It matters most for blurred
images: the loss there is forecast to {number(mended['rf-1'], 3)} at zero temperature and to {number(mended[study.typical], 3)} by {mode_name(study.typical)}. Inputs have a mean square of 1, so that K is
about 1/2 on the diagonal; for inputs of another scale the program divides β by their mean square. At such a temperature a kernel of depth 2 forecasts
worse, tangent kernels (`ntk`, `lazy`) get worse with depth, and taking the depth of the network itself does not help.

{gradient}"""


def gradients_against_pixels(study: Study) -> str:
    """Networks with one output, for which gradients were taken."""
    lines = []
    for kind, title in (("pretrained", "pretrained networks"), ("cnn", "convolutional networks")):
        own = [r for r in study.of_kind(kind) if "gradients" in r.forecasts]
        if len(own) < 3:
            continue
        parts = [f"{number(c.error(own, name, 'lost'), 3)} from {what}" for name, what in (("gradients", "their gradients at the start"), ("features", "their last hidden layer"), (study.typical, "pixels")) if np.isfinite(c.error(own, name, "lost"))]
        lines.append(f"The loss of {len(own)} {title} with one output is forecast to " + ", ".join(parts) + ".")
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
            cells += [percent(inside.mean()), number(width)]
        rows.append(cells)
    cells = ["**all**", str(len({r.place for r in study.seen})), str(len(study.judged))]
    verdicts, off, words = [], {}, {"lost": "loss of accuracy", "accuracy": "final accuracy"}
    places = np.array([r.place for r in study.judged])
    for what in c.QUANTITIES:
        for level in c.LEVELS:
            inside, width = c.coverage(study.judged, study.entries, what, level)
            ends = over_sequences(lambda share, _: float(share.mean()), inside, inside, places)
            verdicts.append([f"{words[what]}", percent(level), f"{100 * inside.mean():.1f} %", f"{percent(ends[0])} to {percent(ends[1])}"])
            off[what, level] = 100 * abs(inside.mean() - level)
            if level == 0.8:
                cells += [percent(inside.mean()), number(width)]
    rows.append(cells)
    worst = max(off, key=off.get)
    fine = "All are within five points of what is stated." if off[worst] <= 5 else f"One or more are not within five points of what is stated: {words[worst[0]]} at {percent(worst[1])} is off by {off[worst]:.1f} points. Networks of one sequence err alike, so that the intervals, with sequences drawn anew, are wide."
    # The first look at the held-out third: 157 jobs, one of which (138) had failed.
    early = Study(study.folder, lambda job: job > 156 or job == 138)
    then = c.coverage(early.judged, early.entries, "accuracy", 0.8)[0].mean()
    example = study.entries["plain"][1]["lost"]["parts"]
    return f"""## Error bars

A forecast of a kind of training carries the range in which 80 % (or 90 %) of measured networks lay: quantiles of measured minus
forecast among networks of that class, apart for forecast losses below {number(c.EDGES[0])}, up to {number(c.EDGES[1])} and above. For plain training the 80 % range
is {", ".join(f"{number(p['80'][0])} to +{number(p['80'][1])}" for p in example)} around the forecast. On the held-out third:

{markdown(["training", "sequences behind it", "held-out networks", "within 80 %: loss", "width", "within 80 %: accuracy", "width"], rows)}

Over all {len(study.judged)} held-out networks:

{markdown(["error bar of", "stated", "found", "95 % interval over sequences"], verdicts)}

{fine} The held-out third was looked at once before the list of sequences was complete, after {len(early.main)} of {len(study.main)}; at that time {100 * then:.1f} % of
final accuracies lay within their 80 % bars. No choice was changed afterwards: the list was run to its end, and one sequence of which two tasks share
an image, so that the kernel with replay is singular, was given a small ridge.

Rows of the first table with few networks scatter: of 12 networks, the share has a standard error of 12 points. The numbers are in
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
            cells += [number(error, 3), *(percent(c.coverage(own, entries, what, level)[0].mean()) for level in c.LEVELS)]
        rows.append(cells)
    usual = [r for r in judged if c.CLASS_OF[r.kind] in ("plain", "replay")]
    told, measured = np.array([[r.forecast(entries[c.CLASS_OF[r.kind]][0], "lost"), r.measured["lost"]] for r in usual]).T
    low = np.mean([r.measured["accuracy"] for r in seen + judged])
    early = [r for r in judged if r.place < 2000 + FIRST_LOOK]
    drawn_then = [r for r in seen if r.place < 2000 + FIRST_LOOK]
    entries_then = {name: study.choice(drawn_then, name, c.CANDIDATES) for name in c.WHITENED}
    then = {what: c.coverage(early, entries_then, what, 0.8)[0].mean() for what in c.QUANTITIES}
    head = ["training: forecast", "sequences behind it", "held-out networks"]
    head += [part for what in ("loss", "accuracy") for part in (f"mean error: {what}", "within 80 %", "within 90 %")]
    return f"""## Whitened images

The program centers, whitens and scales images that it draws, as the theory's paper does; error bars of such tasks rest on
{len(seen) + len(judged)} further networks on {len({r.place for r in seen + judged})} sequences of images prepared in that way ({len({r.place for r in judged})} of them held out, by number). Whitening makes pixels of
little use count as much as others, and few examples then teach little: the networks ended with an average accuracy of {number(low)}.
What is lost is forecast less well than for standardized pixels, with a rank correlation of {number(rank_correlation(told, measured))} on held-out sequences (Adam or SGD,
with and without replay); no other mode, depth or temperature was clearly better on the sequences that served for choices.

{markdown(head, rows)}

The list was first {FIRST_LOOK} sequences long; held-out networks then lay within their 80 % bars in {percent(then['lost'])} (loss) and {percent(then['accuracy'])} (final accuracy) of cases.
Too few sequences were behind either number, so the list was lengthened, once and with nothing else changed."""


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
            rows.append([SWEEPS[setting][0] if k == 0 else "", f"{value:g}", f"{sweep['trained'][k]:.2f}", number(sweep["lost"][k], 3), number(sweep["lost size"][0][k], 3), number(sweep["accuracy size"][0][k], 3)])
    return f"""## Where it fails

![The forecast's error grows for narrow networks, brief training and extreme learning rates](evidence-limits.png)

*Mean error and its standard error over {len(study.others['sweep'])} sequences of four tasks; two layers of 200 units, Adam with cross-entropy, one setting changed at a time
(dotted: its usual value). The forecast ({mode_name(name)}) knows none of these settings. A small output scale makes hidden layers
change a lot while a task is learned (strong feature learning), a large one holds them nearly still.*

{markdown(["setting", "value", "training accuracy", "measured − forecast", "mean error of the loss", "error of final accuracy"], rows)}

{reading(found)}"""


def fixed(name: str) -> str:
    """A forecast of networks of two layers."""
    return name.replace("own", "2")


def reading(found: dict[str, dict]) -> str:
    """What the sweeps say, in sentences."""
    size = lambda s, k: number(found[s]["lost size"][0][k], 3)
    final = lambda s, k: number(found[s]["accuracy size"][0][k], 3)
    lines = [
        f"- **Narrow networks.** With {found['width']['values'][0]} hidden units the error of the loss is {size('width', 0)} and that of final accuracy {final('width', 0)}; with {found['width']['values'][-1]} they are {size('width', -1)} and {final('width', -1)}.",
        f"- **Brief training.** After one epoch (training accuracy {found['epochs']['trained'][0]:.2f}) the errors are {size('epochs', 0)} and {final('epochs', 0)}: what was not learned cannot be forgotten. After {found['epochs']['values'][-1]} epochs they are {size('epochs', -1)} and {final('epochs', -1)}.",
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
    told = np.array([runs[p].forecast(study.chosen["plain"], "lost") for p in places])
    measures = {"ebbing's forecast": (told, [rows_[p]["seconds"] for p in places], True)}
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
        table.append([name, f"{number(rho)} ({span(ends)})", number(raw, 3), f"{number(error, 3)} ({span(error_ends, 3)})", seconds(middle)])
    constant = np.full(held.sum(), seen[~held].mean())
    table.append(["the mean of other sequences", "–", "–", number(mean_error(constant, seen[held]), 3), "0"])
    drawn.append({"name": "the mean of other sequences", "rho": (np.nan,) * 3, "error": (mean_error(constant, seen[held]),) * 3, "seconds": 0})
    pictures.measures(drawn, folder, "evidence-measures")
    size = int(np.median([row["sequence"]["p"] for row in study.main])), int(np.median([row["sequence"]["tasks"] for row in study.main]))
    return f"""## What one might take instead

![Rank correlation and error of other measures against the time they take](evidence-measures.png)

*The same {len(places)} sequences, fully connected networks trained by Adam with cross-entropy; bars are 95 % intervals over sequences. Measures
that are not a loss of accuracy themselves are turned into one by a straight line fitted to the sequences that served for choices.*

{markdown(["measure", "rank correlation", "mean error, as it is", "mean error, after a straight line", "time (median)"], table)}

Errors are those of the {held.sum()} held-out sequences; times are of one core, for a median of {size[1]} tasks of {size[0]} examples. Measures of trained
networks include training one network per task (100 units, 8 epochs). The small network has 50 units and sees half of the
examples for ten epochs."""


def straight(value: np.ndarray, seen: np.ndarray, used: np.ndarray) -> np.ndarray:
    """A straight line through what may be used, at every value."""
    slope, offset = np.polyfit(value[used], seen[used], 1)
    return slope * value + offset


def advice(study: Study, folder: Path) -> str:
    name = fixed(study.typical)
    pieces = [replay_advice(study, name), order_advice(study), depth_advice(study)]
    told, seen, held = head_gains(study)
    pictures.advice(pieces[0][0], pieces[1][0], {"told": told, "seen": seen, "held": held}, folder, "evidence-advice")
    return f"""## Does what is recommended hold?

![Loss against examples kept; measured loss of all orders with the recommended one marked; gains by a head per task](evidence-advice.png)

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
        told = [a["forecast"][name]["lost"] for a in row["amounts"]]
        seen = [a["measured"]["lost"] for a in row["amounts"]]
        gaps += [abs(a - b) for a, b in zip(told, seen)]
        curves.append({"amounts": amounts, "told": told, "seen": seen, "name": NAMES[row["sequence"]["protocol"]]})
        if told[0] > 0.1:
            asked += 1
            target = told[0] / 2
            want = needed(amounts, told, target)
            reached.append(np.interp(want, amounts, seen) - target)
            have = needed(amounts, seen, target)
            if np.isfinite(want) and np.isfinite(have):
                ratios.append(want / max(have, 1))
    order = np.argsort([-curve["told"][0] for curve in curves])
    shown, names = [], set()
    for k in order:
        if curves[k]["name"] not in names:
            shown.append(curves[k])
            names.add(curves[k]["name"])
    text = f"""**How many examples to keep.** {len(study.others['replay'])} sequences of four tasks, {len(study.others['replay'][0]['amounts'])} amounts: forecast ({mode_name(name)}) and measured loss differ by {number(float(np.mean(gaps)), 3)} on
average. To halve the forecast loss on the {asked} sequences that lose more than .1, keep as many as forecast, and the measured loss lies
{number(float(np.mean(reached)), 3)} above the target on average (mean size of the miss {number(float(np.mean(np.abs(reached))), 3)}). The number forecast is {number(float(np.median(ratios)))} times the
number that measured networks needed (median; from {number(float(np.min(ratios)))} to {number(float(np.max(ratios)))})."""
    return shown[:4], text


def order_table(study: Study):
    """Which forecast ranks orders best, and how each of them does."""
    found = {}
    for model in ("rf-1", "lazy-2"):
        for what in ("lost", "forgetting"):
            rho, rows = [], []
            for row in study.others["order"]:
                seen = np.array([o["lost"] for o in row["orders"]])
                told = np.array([o["forecast"][model][what] for o in row["orders"]])
                rho.append(rank_correlation(told, seen))
                rows.append({"least": seen.min(), "most": seen.max(), "mean": seen.mean(), "chosen": seen[int(np.argmin(told))]})
            means = {key: float(np.mean([r[key] for r in rows])) for key in ("chosen", "mean", "least")}
            gain = (means["mean"] - means["chosen"]) / (means["mean"] - means["least"])
            found[model, what] = {"rho": np.nanmean(rho), "range": (np.nanmin(rho), np.nanmax(rho)), "gain": gain, **means, "rows": rows}
    used = max(found, key=lambda key: found[key]["rho"])
    return used, found, found[used]["rows"]


def order_advice(study: Study):
    used, found, rows = order_table(study)
    words = {"lost": "loss of accuracy", "forgetting": "forgetting of training data"}
    table = [[f"{mode_name(m)}: {words[w]}", f"{number(b['rho'])} ({span(b['range'])})", number(b["chosen"], 3), number(b["mean"], 3), number(b["least"], 3), percent(b["gain"])] for (m, w), b in found.items()]
    text = f"""**The order of tasks** is the weaker side. {len(rows)} sequences of five tasks, eight orders of each, two networks per order:

{markdown(["ordered by forecast", "rank correlation (range)", "loss, order recommended", "mean of orders", "best of eight", "share of the possible gain"], table)}

The best of eight owes part of its lead to chance, which no forecast can know. In the picture: {mode_name(used[0])}, {words[used[1]]}."""
    return sorted(rows, key=lambda r: r["mean"]), text


def depth_advice(study: Study) -> str:
    cells = []
    for mode in ("rf", "ntk", "lazy"):
        found = []
        for row in study.others["depth"]:
            seen = np.array([d["lost"] for d in row["depths"]])
            told = np.array([row["forecast"][f"{mode}-{d['depth']}"]["lost"] for d in row["depths"]])
            found.append((rank_correlation(told, seen), seen[int(np.argmin(told))], seen.mean(), seen.min()))
        rho, chosen, mean, least = np.array(found).T
        cells.append([f"`{mode}`", number(np.nanmean(rho)), number(chosen.mean(), 3), number(mean.mean(), 3), number(least.mean(), 3)])
    return f"""**Depth.** {len(study.others['depth'])} sequences of four tasks, networks of one to four layers, two of each:

{markdown(["mode", "rank correlation", "loss, depth recommended", "mean of depths", "best of four"], cells)}

Measured networks hardly differ between depths; a recommended depth is not to be relied on."""


def head_gains(study: Study):
    """Forecast and measured gain of final accuracy by a head per task, and whether the sequence is held out."""
    plain = {r.place: r for r in study.of_kind("adam-ce")}
    runs = study.of_kind("heads")
    told = [r.forecast(study.chosen["heads"], "accuracy") - plain[r.place].forecast(study.chosen["plain"], "accuracy") for r in runs]
    seen = [r.measured["accuracy"] - plain[r.place].measured["accuracy"] for r in runs]
    return np.array(told), np.array(seen), np.array([r.held_out for r in runs])


def heads_advice(study: Study) -> str:
    told, seen, _ = head_gains(study)
    return f"""**A head per task**, with the task known at test time: forecast to gain {number(told.mean())} of final accuracy, measured {number(seen.mean())}, on {len(told)} sequences
(rank correlation of the gains {number(rank_correlation(told, seen))}; the sign is right on {int(np.sum((told > 0) == (seen > 0)))}). Networks of ordinary width lose part of it again, which the wide limit does not know."""


def undone(study: Study, _: Path) -> str:
    return """## What was not done

- Networks are small and so are data sets: at most 300 units, 28 × 28 pixels, a few hundred examples per task, up to ten tasks. Nothing
  was tried at the size of today's image or language models, on color images, or with batch normalization, dropout or augmentation.
- Learning rates and numbers of epochs were set beforehand, not tuned for each sequence.
- L2 and EWC are forecast as if there were no penalty of finite strength: the strength is not part of the forecast.
- Gating is forecast at depth 1 only; gradients (tangent features) were tried where the network has one output.
- Single networks were measured but for orders and depths (two each); part of the error is chance, which no forecast can know.
- Orders were compared eight at a time, not all 120."""


def again(study: Study, _: Path) -> str:
    versions = study.main[0]["versions"]
    return f"""## To repeat it

```
bash paper/evidence/install.sh VENV
VENV/bin/python paper/evidence/study.py --data FOLDER
VENV/bin/python paper/evidence/analyze.py
```

FOLDER holds the IDX files that `paper/evidence/sequences.py` names. The study takes about an hour of one core and may be stopped and
taken up at any time; `study.py --short` runs a few experiments on embedded images in a few minutes. Results were made with ebbing
{versions['ebbing']}, PyTorch {versions['torch'].split('+')[0]}, Python {versions['python'].rsplit('.', 1)[0]}."""
