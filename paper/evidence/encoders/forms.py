"""What every closed form says about every measured head, over a grid of temperatures: the material from which one is chosen.

    python paper/evidence/forms.py --data FOLDER --glosses FILE [--cache FOLDER]

Nothing is trained: sequences are drawn again by their number. One line of JSON per sequence in paper/evidence/results/forms.jsonl.
A form is a kernel (`lin`: of the features; `rf`: of one wide layer of ReLUs; `ntk`: with its hidden weights learning too), rows weighed by
class or not (`-class`), and a temperature or a number of steps (`-steps`); β and τ are for features of mean square 1.
"""

from __future__ import annotations

import numpy as np

from . import closed, draw

GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
#: Rows of a task beyond which the spectrum is not computed.
SPECTRUM = 350
#: Rows of the largest task up to which these temperatures are tried.
TRIED = ((900, GRID), (1600, (1.0, 10.0, 30.0, 100.0)), (10**9, (30.0,)))


#: β of the forms with cross-entropy, and the rows of the largest task up to which they are tried.
CROSSED, MOST = (0.1, 0.5, 2.0, 10.0, 50.0, 300.0), 800


def forms_of(hidden: int) -> tuple[str, ...]:
    """Forms for a head with so many hidden layers."""
    return ("lin", "lin-class") if hidden == 0 else ("rf", "rf-class", "ntk") if hidden == 1 else ("rf", "rf-class", "rf2")


def sequence_for(form: str, tasks: list[draw.Task], outputs: int, ready: dict) -> closed.Sequence:
    """Kernels for features scaled to mean square 1, each made once."""
    kind = form.split("-")[0]
    if kind not in ready:
        size = np.sqrt(np.mean(np.concatenate([t.x for t in tasks]) ** 2))
        scaled = [draw.Task(t.x / size, t.y, t.x_test / size, t.y_test) for t in tasks]
        if kind == "ntk":
            made = closed.Sequence(scaled, outputs, 1)
            inner, inner_test = closed.inner(made.x, made.x), closed.inner(made.test, made.x)
            made.k, made.k_test = made.k + closed.moving(inner, made.x, made.x), made.k_test + closed.moving(inner_test, made.test, made.x)
        else:
            made = closed.Sequence(scaled, outputs, {"lin": 0, "rf": 1, "rf2": 2}[kind])
        ready[kind] = made
    return ready[kind]


def outcomes(form: str, sequence: closed.Sequence, kept: list[np.ndarray], largest: int) -> dict[str, list]:
    """Loss and final accuracy at every point of the grid."""
    weigh = "class" if form.endswith("-class") else ""
    pair = lambda learned: [round(v, 3) for v in sequence.outcome(learned).values()]
    tried = next(own for most, own in TRIED if largest <= most)
    found = {form: [pair(sequence.learn(kept, closed.ridge(beta), weigh=weigh)) if beta in tried else None for beta in GRID]}
    if largest <= SPECTRUM and form != "ntk":
        spectra: dict[int, tuple] = {}
        found[f"{form}-steps"] = [pair(sequence.learn(kept, closed.steps(tau, spectra), weigh=weigh)) for tau in GRID]
    return found


def crossed_forms(hidden: int, number: int) -> tuple[str, ...]:
    """Forms with cross-entropy for a head with so many hidden layers; moving hidden weights are tried on a quarter of the sequences."""
    return ("lin",) if hidden == 0 else ("rf", "ntk") if hidden == 1 and number % 4 == 0 else ("rf",)


def crossed(form: str, sequence: closed.Sequence, kept: list[np.ndarray], largest: int) -> dict[str, list]:
    """The same with cross-entropy in place of squared error."""
    if largest > MOST:
        return {form: None}
    return {form: [[round(v, 3) for v in sequence.outcome(sequence.learn(kept, beta)).values()] for beta in CROSSED]}


def row_of(row: dict, entropy: bool = False) -> dict:
    """All forms of all heads of a stored sequence; with cross-entropy if that is asked for."""
    raw = draw.tasks_of(row["sequence"])
    outputs, number = row["outputs"], row["number"]
    kernels: dict[str, dict] = {}
    known: dict[tuple, dict] = {}
    found = []
    for run in row["runs"]:
        ready = kernels.setdefault(run["prepared"], {})
        kept = draw.kept_rows(raw, run["m"], number)
        largest = max(len(t.x) + sum(len(k) for k in kept[:s]) for s, t in enumerate(raw))
        own = {}
        for form in crossed_forms(len(run['hidden']), number) if entropy else forms_of(len(run["hidden"])):
            key = (run["prepared"], min(run["m"], row["sequence"]["per_class"]), form)
            if key not in known:
                tasks = draw.prepare(raw, run["prepared"]) if form.split("-")[0] not in ready else []
                known[key] = (crossed if entropy else outcomes)(form, sequence_for(form, tasks, outputs, ready), kept, largest)
            own |= known[key]
        found.append(own)
    return {"number": number, "forms": found}
