"""The part of docs/evidence.md on heads that learn on features, and its picture."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

import calibration as c
import pictures
from analyze import Study, markdown, number, percent, points, points_span
from encoders.forms import CROSSED, GRID
from encoders.table import DATA, TRAINED, TRAININGS, rows
from intervals import mean_error, over_sequences, rank_correlation

ENCODERS = {"minilm": "all-MiniLM-L6-v2", "lite0": "EfficientNet-Lite0", "lite2": "EfficientNet-Lite2", "mlp": "fully connected, pretrained here", "conv": "convolutional, pretrained here", "pixels": "none (pixels)"}
PREPARED = {"scalar": "centered, one number", "feature": "standardized one by one", "unit": "norm 1", "raw": "as they come"}
#: Groups of heads: name and which runs.
GROUPS = {
    "one hidden layer": lambda r: r.kind in TRAINED and len(r.settings["hidden"]) == 1,
    "two hidden layers": lambda r: r.kind in TRAINED and len(r.settings["hidden"]) == 2,
    "linear": lambda r: r.kind in TRAINED and not r.settings["hidden"],
    "1 to 3 epochs, one hidden layer": lambda r: r.kind == "brief",
    "1 to 3 epochs, linear": lambda r: r.kind == "brief-linear",
    "weight decay or label smoothing": lambda r: r.kind == "varied",
}


def encoder(run: c.Run) -> str:
    """The encoder of a run's sequence."""
    name = run.sequence["data"]
    return {"clinc": "minilm", "cifar10": "lite0"}.get(name, name.split("-")[0])


def pretrained(run: c.Run) -> bool:
    return encoder(run) != "pixels"


def held(runs: list[c.Run]) -> list[c.Run]:
    return [r for r in runs if r.held_out]


def errors(runs: list[c.Run], name: str = "forecast") -> list[str]:
    """Cells of a table: networks, error of the loss with its interval, bias, error of the final accuracy."""
    if not runs:
        return ["0", "–", "–", "–", "–"]
    lost, accuracy = c.columns(runs, name, "lost"), c.columns(runs, name, "accuracy")
    places = np.array([r.place for r in runs])
    ends = over_sequences(mean_error, *lost, places) if len(set(places)) > 2 else (np.nan, np.nan)
    return [str(len(runs)), f"{points(mean_error(*lost))} ({points_span(ends)})", points(float(np.mean(lost[1] - lost[0]))), points(mean_error(*accuracy)), number(rank_correlation(*accuracy))]


HEAD = ["networks", "error of accuracy lost", "measured − forecast", "error of final accuracy", "rank correlation of final accuracy"]


def page(study: Study, folder: Path) -> list[str]:
    """The sections, in their order."""
    return [part(study, folder) for part in (opening, held_out, forms, ranges, examples, methods, apart, cost)]


def opening(study: Study, folder: Path) -> str:
    heads = study.heads
    stored, runs = list(heads.stored.values()), heads.runs
    extra = sum(len(r.get("single", {}).get("networks", [])) + len(r.get("methods", {})) + len(r.get("apart", [])) for r in stored)
    family = Counter(encoder(heads.of(r["number"])[0]) for r in stored)
    protocols = Counter(r["sequence"]["protocol"] for r in stored)
    own = held([r for r in runs if pretrained(r) and GROUPS["one hidden layer"](r)])
    kept = [r for r in own if r.settings["m"]]
    linear = held([r for r in runs if pretrained(r) and GROUPS["linear"](r)])
    picture(study, folder)
    low, high = (min(r["sequence"][key] for r in stored) for key in ("tasks", "per_class")), (max(r["sequence"][key] for r in stored) for key in ("tasks", "per_class"))
    (tasks, per_class), (most_tasks, most) = low, high
    error = lambda runs, what: points(c.error(runs, "forecast", what))
    return f"""# Forecast and measurement

People who learn task after task today train a head on features of a pretrained encoder. So this page begins with {len(runs)} such heads,
and {extra} more for single examples, methods and separate heads, on {len(stored)} sequences of tasks. Networks that learn images from the beginning
follow below. It is written by `python paper/evidence/analyze.py` from the results in `paper/evidence/results`.

![Forecast against measured accuracy lost and final accuracy of heads on pretrained encoders](evidence-encoders.png)

*Heads with one hidden layer, trained until little changes, on features of encoders that were pretrained elsewhere or here. Each point is a
network; filled ones belong to held-out sequences.*

On held-out sequences the forecast misses the final accuracy of heads with one hidden layer by {error(own, "accuracy")} points and the accuracy lost by {error(own, "lost")}
({len(own)} networks). With examples kept of every class the errors are {error(kept, "accuracy")} and {error(kept, "lost")} ({len(kept)} networks). For linear heads they are
{error(linear, "accuracy")} and {error(linear, "lost")} ({len(linear)} networks). What is worst is named in the tables: new classes without any examples kept, where the
loss depends on how long and how fast a head is trained.

**Sequences.** {sentence(protocols)}; {tasks} to {most_tasks} tasks with {per_class} to {most} training examples of each class. Encoders: {", ".join(f"{ENCODERS[k]} ({n})" for k, n in family.most_common())}, on
CLINC150 (150 intents), explanations of WordNet by the field of their word, CIFAR-10, and gray images of MNIST, Fashion-MNIST, EMNIST and
CIFAR-100. Domains are other classes under the same labels, superclasses of CIFAR-100, or images turned, inverted, blurred, shifted or with noise.

**Heads.** Each sequence is learned by ten heads: one hidden layer (128 to 2048 units) without replay and with two amounts of it, linear heads
with and without, two hidden layers, SGD with momentum, two that train for 1 to 3 epochs only, and one with weight decay or label smoothing. Adam
or SGD, cross-entropy, learning rates 10⁻⁴ to 10⁻², up to 50 epochs, at least 120 steps on a task except in the last three kinds. Features are centered and divided by one number, standardized one by one,
scaled to norm 1, or taken as they come.

Which third of the sequences is held out follows from their numbers. Everything was chosen on the other two thirds. *Accuracy lost* is
the test accuracy of a task just after it was learned minus that after the last task, averaged over all tasks but the last; *final accuracy* is the average over all
tasks after the last. Errors are mean absolute differences in percentage points, with 95 % intervals over sequences in brackets."""


def sentence(counts: Counter) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.most_common())


def held_out(study: Study, _: Path) -> str:
    runs = held(study.heads.runs)
    lines = []
    for name, which in GROUPS.items():
        own = [r for r in runs if which(r)]
        lines.append([name, *errors([r for r in own if pretrained(r)])])
    one = [r for r in runs if GROUPS["one hidden layer"](r)]
    fine = [["Adam", [r for r in one if r.settings["optimizer"] == "adam"]], ["SGD", [r for r in one if r.settings["optimizer"] == "sgd"]]]
    fine += [[words, [r for r in one if r.settings["prepared"] == how]] for how, words in PREPARED.items()]
    fine += [[ENCODERS[k], [r for r in one if encoder(r) == k]] for k in ENCODERS]
    new = lambda r: r.sequence["protocol"] == "class-incremental"
    kept = [["new classes, nothing kept", lambda r: new(r) and not r.settings["m"]], ["new classes, examples kept", lambda r: new(r) and r.settings["m"]]]
    kept += [["other sequences, nothing kept", lambda r: not new(r) and not r.settings["m"]], ["other sequences, examples kept", lambda r: not new(r) and r.settings["m"]]]
    fine += [[words, [r for r in one if which(r)]] for words, which in kept]
    linear = [r for r in runs if GROUPS["linear"](r)]
    fine += [[f"linear: {words}", [r for r in linear if which(r)]] for words, which in kept]
    return f"""## Held-out sequences

Features of encoders, by the kind of head:

{markdown(["head", *HEAD], lines)}

One hidden layer in detail, pixels included, and linear heads by what is kept:

{markdown(["", *HEAD], [[words, *errors(own)] for words, own in fine])}"""


def forms(study: Study, _: Path) -> str:
    """Candidates on the two thirds."""
    folder = study.heads.folder
    squared, crossed = rows(folder, "forms"), rows(folder, "crossed")
    groups = {"one hidden layer, kept": (1, True), "one hidden layer, nothing kept": (1, False), "two hidden layers": (2, None), "linear, kept": (0, True), "linear, nothing kept": (0, False)}
    wanted = {"rf": "one layer of random ReLUs, squared error", "rf-class": "rows weighted by n_c^{−1/2}", "ntk": "hidden weights learn too", "rf2": "two layers", "rf ce": "one layer, cross-entropy", "lin": "features, squared error", "lin-class": "rows weighted by n_c^{−1/2}", "lin ce": "features, cross-entropy"}
    found: dict[tuple[str, str], list[list[float]]] = {}
    for n in sorted(squared.keys() & crossed.keys()):
        row = study.heads.stored.get(n)
        if row is None or row["held_out"]:
            continue
        for run, a, b in zip(row["runs"], squared[n]["forms"], crossed[n]["forms"]):
            every = {**a, **{f"{name} ce": values for name, values in b.items()}}
            base = every.get("lin ce" if not run["hidden"] else "rf ce")
            if run["kind"] not in TRAINED or not base:
                continue
            for group, (depth, kept) in groups.items():
                if len(run["hidden"]) != depth or (kept is not None and kept != (run["m"] > 0)):
                    continue
                for name in wanted:
                    grid = CROSSED if name.endswith(" ce") else GRID
                    if every.get(name) and all(every[name][grid.index(beta)] for beta in grid if beta >= 1 and beta <= 100):
                        off = [np.mean(np.abs(np.subtract(v, (run["measured"]["lost"], run["measured"]["accuracy"])))) if v else np.nan for v in every[name]]
                        found.setdefault((group, name), []).append(off)
    lines = []
    for group in groups:
        for name, words in wanted.items():
            if (group, name) in found:
                grid = CROSSED if name.endswith(" ce") else GRID
                means = np.nanmean(np.array(found[group, name]), axis=0)
                best = int(np.nanargmin(means))
                lines.append([group, words, str(len(found[group, name])), f"{grid[best]:g}", points(float(means[best]))])
    return f"""## Which closed form describes which head

The mean error (accuracy lost and final accuracy together, in points) of each candidate at its best temperature, on the two thirds that were used for choices;
β for features of mean square 1:

{markdown(["heads", "theory", "networks", "best β", "error"], lines)}

Taken into the library: for hidden layers cross-entropy in place of squared error (`rf`, depth 1, β = 20, between its two best temperatures;
[derivation](theory.md#cross-entropy-in-place-of-squared-error)), which was better than squared error at β = 30 by 0.7 ± 0.5 points over the first 264 heads with hidden layers that were measured, and by 0.6 ± 0.2 where examples are kept; for linear heads squared error at β = 1. What did not win: rows weighted by
their class's n_c^{{−1/2}} under squared error; hidden weights that learn (the tangent kernel), which gains without replay and loses with it; two layers of the kernel for
two layers of the network; cross-entropy for linear heads, which is as good as squared error at β = 1 and no better; temperatures that follow learning rate, steps, width and dimension by a power law
(by cross-validation no better than a constant); and the spectral filter of finitely many steps, which at the same time constant differs little from a temperature."""


def ranges(study: Study, _: Path) -> str:
    """Coverage on held-out sequences, by table."""
    heads, lines, all_inside = study.heads, [], {what: [] for what in c.QUANTITIES}
    for data, (words, _) in DATA.items():
        for training in TRAININGS:
            own = heads.trained(data, training)
            used, judged = [r for r in own if not r.held_out], held(own)
            entry, cells = c.table(used, "forecast"), []
            for what in c.QUANTITIES:
                inside, width = [], []
                for run in judged:
                    low, high = c.interval(entry, run, "forecast", what, 0.8)
                    inside.append(low - 1e-9 <= run.measured[what] <= high + 1e-9)
                    width.append(high - low)
                all_inside[what] += inside
                cells += [percent(np.mean(inside)) if inside else "–", points(float(np.mean(width))) if width else "–"]
            lines.append([f"{words}, {'examples kept' if training == 'replay' else 'nothing kept'}", str(len(used)), str(len(judged)), *cells])
    return f"""## Ranges

Quantiles of measured minus forecast on two thirds of the sequences, by how much is forecast to be lost, printed at a nominal level of 80 % where tasks are like those measured. On held-out sequences they covered {percent(np.mean(all_inside["lost"]))}
of {len(all_inside["lost"])} networks for the accuracy lost and {percent(np.mean(all_inside["accuracy"]))} for the final accuracy:

{markdown(["heads", "networks used", "held out", "lost: covered", "width", "final: covered", "width"], lines)}"""


def examples(study: Study, _: Path) -> str:
    """Which examples are lost."""
    heads = study.heads
    found = [(heads.stored[n]["held_out"], heads.chosen[n]["single"]) for n in heads.stored if "single" in heads.chosen[n]]
    mean = lambda own, key: float(np.mean([s[key] for s in own if s.get(key) is not None])) if own else np.nan
    parts = {"held out": [s for h, s in found if h], "all": [s for _, s in found]}
    lines = [[name, str(len(own)), number(mean(own, "area")), number(mean(own, "area of one network more")), percent(mean(own, "share lost")), percent(mean(own, "agreement")), percent(mean(own, "agreement of one network more"))] for name, own in parts.items()]
    bins = np.sum([s["bins"] for s in parts["held out"]], axis=0)
    table = [[f"{10 * b} to {10 * b + 10} %", f"{int(n)}", percent(stated / n) if n else "–", percent(measured / n) if n else "–"] for b, (n, stated, measured) in enumerate(bins)]
    return f"""## Single examples

Six networks of one setting (256 units, Adam at 10⁻³, 15 epochs; 1 to 20 examples of each class kept) on {len(found)} sequences. *Lost* is a test example that the majority of
five networks answers rightly after its own task and wrongly after the last. The forecast margin (own class minus the best other) after the last task ranks examples; beside it the ranking and the agreement of the sixth
network:

{markdown(["sequences", "", "area under the curve", "of one network more", "lost", "forecast agrees with the majority", "one network more agrees"], lines)}

The chance of a wrong answer that the forecast states (one minus the softmax of its outputs), and the share of wrong answers of the six networks, held out:

{markdown(["stated", "examples", "mean stated", "measured"], table)}"""


METHODS = {"plain": "training on", "replay-5-balanced": "replay of 5 per class", "replay-20-balanced": "replay of 20 per class", "mean": "nearest class mean", "discriminant": "discriminant", "ridge": "ridge regression", "projection": "ridge on 2000 random ReLUs"}
PENALTIES = {"ewc": "EWC (the better of two strengths)", "lwf": "learning without forgetting (the better of two)"}
CHOICES = {"balanced": "as many of every class", "random": "at random", "greedy": "greedy (herding)", "risk": "smallest forecast margins"}


def methods(study: Study, _: Path) -> str:
    """Measured accuracy of every method, of the advice, and of ways to choose what is kept."""
    heads, table, gains, chosen_best, choices = study.heads, {}, {}, [], {}
    for n, row in heads.stored.items():
        if "methods" not in row:
            continue
        seen, forecast = {name: one["accuracy"] for name, one in row["methods"].items()}, heads.chosen[n]["methods"]
        own = {name: seen.get(name, forecast.get(name)) for name in METHODS}
        own |= {name: max(v for key, v in seen.items() if key.startswith(name)) for name in PENALTIES}
        stated = {"plain": forecast["replay-0"], "replay-5-balanced": forecast["replay-5"], "replay-20-balanced": forecast["replay-20"]}
        # Heads in closed form are judged by training examples that were held out, as a user can.
        stated |= {name: forecast[f"{name} on training examples held out"] for name in ("mean", "discriminant", "ridge", "projection")}
        advice, best = max(stated, key=stated.get), max(own.values())
        gain = best - own["plain"]
        if gain > 0.02:
            gains.setdefault("the advice", []).append((own[advice] - own["plain"], gain))
            for name in own:
                gains.setdefault(name, []).append((own[name] - own["plain"], gain))
        chosen_best.append(own[advice] >= best - 0.01)
        for name, value in {**own, "the advice": own[advice]}.items():
            table.setdefault(name, []).append(value)
        for how in CHOICES:
            choices.setdefault(how, []).append(seen[f"replay-5-{how}"])
    names = {**METHODS, **PENALTIES, "the advice": "**following the advice**"}
    share = lambda name: float(np.sum([a for a, _ in gains[name]]) / np.sum([b for _, b in gains[name]]))
    lines = [[names[name], percent(np.mean(table[name])), "–" if name == "plain" else percent(share(name))] for name in sorted(table, key=lambda name: np.mean(table[name]))]
    base = np.array(choices["balanced"])
    ways = [[words, percent(np.mean(choices[how])), points(float(np.mean(np.array(choices[how]) - base))), f"{int((np.array(choices[how]) > base).sum())} of {len(base)}"] for how, words in CHOICES.items()]
    return f"""## Methods

Heads of 256 units (Adam at 10⁻³, 15 epochs) on {len(base)} sequences with replay, EWC and learning without forgetting, and heads in closed form, which are exact. The advice is the method with the best forecast: of trained heads by the
theory, of heads in closed form by training examples that were held out. *Share of the gain*: what a method gains over training on, of what the best method of each sequence gains, where that is more than 2 points.

{markdown(["method", "final accuracy", "share of the gain"], lines)}

The recommended method was the best one, or within a point of it, on {percent(np.mean(chosen_best))} of the sequences.

Which 5 examples of each class to keep (at random: as many in all):

{markdown(["examples kept", "final accuracy", "beside as many of every class", "better in"], ways)}"""


def apart(study: Study, _: Path) -> str:
    """Separate heads."""
    heads, widths = study.heads, {}
    for n, row in heads.stored.items():
        for one in row.get("apart", []):
            found = heads.chosen[n]["apart"]
            widths.setdefault(one["hidden"][0], []).append((one["accuracy"], one["lost"], found["alone"], found["one output"][1]))
    lines = []
    for width, own in sorted(widths.items()):
        own = np.array(own)
        lines.append([f"{width} units", str(len(own)), percent(own[:, 0].mean()), points(own[:, 1].mean()), percent(own[:, 2].mean()), points(np.abs(own[:, 0] - own[:, 2]).mean())])
    return f"""## Separate heads

Networks with one hidden layer and a readout for each task, that of the task being used (15 epochs, Adam at 10⁻³, nothing kept), beside the wide limit, in which hidden units do not change and nothing is lost:

{markdown(["network", "networks", "measured final accuracy", "accuracy lost", "wide limit", "error of final accuracy"], lines)}

What is lost comes from the hidden layer that later tasks change. The theory at the network's own width was not held against these networks."""


def cost(study: Study, _: Path) -> str:
    """Seconds of forecast beside training."""
    runs = [r for r in study.heads.runs if r.kind in TRAINED]
    by_place: dict[int, list[c.Run]] = {}
    for r in runs:
        by_place.setdefault(r.place, []).append(r)
    ratio = [np.sum([r.measured["seconds"] for r in own]) / max(np.sum([r.sequence["seconds"] for r in own]), 1e-3) for own in by_place.values()]
    trained, forecast = (np.median([value(r) for r in runs]) for value in (lambda r: r.measured["seconds"], lambda r: r.sequence["seconds"]))
    return f"""## What it costs

Seconds of one core on the same busy machine, forecasts by the NumPy form of the same equations that the study uses: training a head took {trained:.2g} s (median), its forecast {forecast:.2g} s. Over a sequence,
training took {np.median(ratio):.1f} times as long as forecasting (middle half of the sequences {np.quantile(ratio, 0.25):.1f} to {np.quantile(ratio, 0.75):.1f}). Heads of this size are cheap: the forecast spares the choice of learning rates and repetitions rather than time."""


def limits(study: Study, _: Path) -> str:
    """The end of the page."""
    return """## Limits of heads on features

- New classes without anything kept: Adam goes on moving weights when a task has been learned, so that the loss depends on learning rate and steps.
  The forecast knows neither; its ranges there are wide.
- Heads that are trained for few epochs, on raw features of small norm above all, are not described: no range is meant for them.
- Sequences have at most 4000 examples, since each head had to train in seconds; encoders are two of images, one of sentences, and small ones pretrained here. Encoders were frozen.
- All heads learn by cross-entropy with one softmax over all classes, and outputs for classes to come from the beginning."""


def picture(study: Study, folder: Path) -> None:
    """Forecast against measured, loss and final accuracy."""
    runs = [r for r in study.heads.runs if pretrained(r) and GROUPS["one hidden layer"](r)]
    of = lambda what: (*c.columns(runs, "forecast", what), [r.held_out for r in runs])
    pictures.encoders({"accuracy lost": of("lost"), "final accuracy": of("accuracy")}, folder, "evidence-encoders")
