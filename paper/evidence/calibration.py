"""Which forecast suits which training, and how far measured networks lie from it: chosen on two thirds, judged on the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Modes and depths that may become a default; "own" is the depth of the network itself, at most 3.
CANDIDATES = [f"{mode}-{d}" for mode in ("rf", "ntk", "lazy") for d in (1, 2, 3, "own")]
CANDIDATES += ["rf-1-b10", "rf-1-b30", "rf-1-b100", "rf-2-b30", "rf-2-b100"]
#: Besides, where there are features of a network.
FEATURES = ["features", "features-b10", "features-b1"]
#: What a user knows of the training, and the kinds of runs behind it.
CLASSES = {
    "plain": ("adam-ce", "adam-mse", "sgd-ce", "sgd-mse", "long"),
    "brief": ("brief",),
    "replay": ("replay",),
    "l2": ("l2",),
    "ewc": ("ewc",),
    "gating": ("gating",),
    "heads": ("heads",),
    "cnn": ("cnn",),
    "frozen": ("frozen",),
    "pretrained": ("pretrained",),
}
CLASS_OF = {kind: name for name, kinds in CLASSES.items() for kind in kinds}
#: The theory at zero temperature that `ebbing forecast` computes forgetting and order parameters with by default.
COLD = "rf-1"
#: Classes measured on whitened images too.
WHITENED = ("plain", "replay", "gating")
QUANTITIES = ("lost", "accuracy")
LEVELS = (0.8, 0.9)
#: Edges of the forecast accuracy lost between which errors are pooled: errors grow with what is lost.
EDGES = (0.05, 0.3)
#: So many networks give quantiles of their own.
ENOUGH = 25


@dataclass
class Run:
    """One trained network beside its forecasts."""

    sequence: dict
    kind: str
    settings: dict
    measured: dict
    forecasts: dict
    held_out: bool

    def forecast(self, name: str, what: str) -> float:
        """A forecast by its name; nan where it was not made."""
        if name.endswith("-own"):
            name = name[:-3] + str(min(self.settings["depth"], 3))
        found = self.forecasts.get(name)
        return np.nan if found is None else found[what]

    @property
    def place(self) -> int:
        return self.sequence["number"]


def runs_of(rows: list[dict]) -> list[Run]:
    """Every run of the main study."""
    made = []
    for row in rows:
        for run in row["runs"]:
            own = run["forecast"] if run["kind"] in ("replay", "gating", "heads") else {**row["forecast"], **run["forecast"]}
            made.append(Run(row["sequence"], run["kind"], run["settings"], run["measured"], own, row["held_out"]))
    return made


def columns(runs: list[Run], name: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Forecast and measured values where the forecast was made."""
    pairs = np.array([(r.forecast(name, what), r.measured[what]) for r in runs], dtype=float).reshape(-1, 2)
    pairs = pairs[np.isfinite(pairs[:, 0])]
    return pairs[:, 0], pairs[:, 1]


def error(runs: list[Run], name: str, what: str) -> float:
    """The mean absolute error of a forecast; nan where it was not made for all."""
    predicted, seen = columns(runs, name, what)
    return float(np.abs(predicted - seen).mean()) if len(predicted) == len(runs) > 0 else np.nan


def best(runs: list[Run], candidates: list[str] = CANDIDATES) -> str:
    """The forecast with the least mean absolute error of loss and final accuracy together."""
    scores = {name: sum(error(runs, name, what) for what in QUANTITIES) for name in candidates}
    return min((name for name in scores if np.isfinite(scores[name])), key=lambda name: (round(scores[name], 4), name))


def better(runs: list[Run], usual: str, candidates: list[str]) -> str:
    """The usual forecast, unless another is better by more than twice the standard error of the difference."""
    other = best(runs, candidates)
    if usual not in candidates or not np.isfinite(error(runs, usual, "lost")):
        return other
    size = lambda name: np.mean([np.abs(np.subtract(*columns(runs, name, what))) for what in QUANTITIES], axis=0)
    gain = size(usual) - size(other)
    return other if len(runs) > 5 and gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(runs)) else usual


def split(name: str) -> dict:
    """Mode, depth and inverse temperature of a forecast's name (null: infinite; of features in units of 1/K_ii)."""
    mode, *rest = name.split("-")
    beta = next((float(part[1:]) for part in rest if part.startswith("b")), None)
    depth = next((int(part) if part.isdigit() else part for part in rest if not part.startswith("b")), None)
    return {"mode": mode, "depth": depth, "beta": beta}


def theory(name: str) -> dict | None:
    """The same as the library reads it; nothing where it is not a theory of inputs."""
    parts = split(name)
    return parts if parts["mode"] in ("rf", "ntk", "lazy") and isinstance(parts["depth"], int) else None


def ends(residuals: np.ndarray, level: float) -> tuple[float, float]:
    """The quantiles between which a new residual falls at the level, from those of n others (of ranks of n + 1)."""
    ordered, n = np.sort(residuals), len(residuals)
    below = (1 - level) / 2 * (n + 1) - 1
    at = lambda rank: float(np.interp(rank, np.arange(n), ordered))
    return at(max(below, 0.0)), at(min(n - 1 - below, n - 1.0))


def part(forecast_lost: float) -> int:
    """Where a forecast lies between the edges: hardly anything lost, something, much."""
    return int(np.searchsorted(EDGES, forecast_lost, side="right"))


def table(runs: list[Run], name: str) -> dict:
    """Measured minus forecast for a set of runs: bias, mean error and quantiles, pooled and by the forecast loss."""
    made = {"runs": len(runs), "sequences": len({r.place for r in runs})}
    parts = np.array([part(r.forecast(name, "lost")) for r in runs])
    for what in QUANTITIES:
        predicted, seen = columns(runs, name, what)
        residuals = seen - predicted
        made[what] = {"error": round(float(np.abs(residuals).mean()), 4), "bias": round(float(residuals.mean()), 4), "parts": []}
        for k in range(len(EDGES) + 1):
            own = residuals[parts == k]
            # Too few of their own: all of the class.
            own = own if len(own) >= ENOUGH else residuals
            quantiles = {f"{level:.0%}".replace("%", ""): [round(q, 4) for q in ends(own, level)] for level in LEVELS}
            made[what]["parts"].append({"runs": len(own), **quantiles})
    return made


def interval(entry: dict, run: Run, name: str, what: str, level: float) -> tuple[float, float]:
    """What a network like this is said to lose (or to have as its accuracy), at a level."""
    low, high = entry[what]["parts"][part(run.forecast(name, "lost"))][f"{level:.0%}".replace("%", "")]
    predicted = run.forecast(name, what)
    return max(predicted + low, -1.0 if what == "lost" else 0.0), min(predicted + high, 1.0)


def coverage(runs: list[Run], entries: dict[str, tuple[str, dict]], what: str, level: float) -> tuple[np.ndarray, float]:
    """Which runs lie within their interval, and the mean width of the intervals."""
    inside, width = [], []
    for run in runs:
        name, entry = entries[CLASS_OF[run.kind]]
        low, high = interval(entry, run, name, what, level)
        inside.append(low - 1e-9 <= run.measured[what] <= high + 1e-9)
        width.append(high - low)
    return np.array(inside), float(np.mean(width))
