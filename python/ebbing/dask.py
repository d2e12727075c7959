"""Forecasts of tasks that are too large for one machine, on a Dask cluster.

Kernels are made on the workers by the library's own code and stay there in row panels; solves are conjugate gradients with a
randomly pivoted partial Cholesky factor as preconditioner, whose residuals are reported. No P × P matrix is ever in one place, and what a
worker that dies held is computed again. `pip install 'ebbing[dask]'` brings what it needs; the workers need the package too.

>>> from distributed import Client
>>> import numpy as np, ebbing, ebbing.dask
>>> rng = np.random.default_rng(1)
>>> tasks = [(rng.normal(size=(60, 30)), np.sign(rng.normal(size=60))) for _ in range(2)]
>>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
...     result = ebbing.dask.forecast(tasks, client=client)
>>> bool(abs(result.forgetting[1, 0] - ebbing.forecast(tasks).forgetting[1, 0]) < 1e-6), result.converged
(True, True)
"""

from __future__ import annotations

import math
from inspect import signature
from typing import Any

import numpy as np

from . import _ebbing
from ._cluster_data import ClusterTask, cluster_tasks
from ._cluster_kernels import Cluster, Load, Memory, tile
from ._cluster_scores import ClusterForecast, assembled
from ._cluster_theory import Settings, Theory
from ._ebbing import __version__
from ._progress import Listener, listener
from ._requests import forecast as ebbing_forecast
from ._settings import Seed, count, given, real, seed_of

try:
    import distributed as _distributed
except ImportError as error:
    raise ImportError("ebbing.dask needs Dask: pip install 'ebbing[dask]', or pip install 'dask[array,distributed]'") from error

__all__ = ["ClusterForecast", "forecast"]

#: What `ebbing.forecast` does and this does not, and what to do instead.
_ELSEWHERE = {
    "variance": "it needs factors of kernels; losses here are those of the mean",
    "replay": "stored examples are not learned again here",
    "replay_budget": "stored examples are not learned again here",
    "replay_selection": "stored examples are not learned again here",
    "bootstrap": "intervals need many subsamples; forecast subsamples that fit one machine",
    "shuffles": "a null needs many shuffles; forecast subsamples that fit one machine",
    "depths": "call forecast once per depth",
    "lambdas": "call forecast once per penalty, with mode='gibbs'",
    "widths": "a readout per task needs factors of kernels",
    "order": "the best order is searched on one machine; forecast a subsample",
    "ridge": "give beta: a temperature is a ridge of 1/beta",
}


def forecast(
    tasks: Any,
    *,
    client: Any = None,
    probes: int = 8,
    rank: int = 400,
    tolerance: float = 1e-8,
    iterations: int = 2000,
    blocks: str = "auto",
    parts: int | None = None,
    seed: Seed = 0,
    progress: bool | Listener = False,
    **settings: Any,
) -> ClusterForecast:
    """What `ebbing.forecast` tells, of tasks whose inputs lie on a cluster's workers.

    `tasks` is a list of (X, y) or (X, y, X_test, y_test). Each X is a Dask array chunked by rows, a list of `.npy` or `.npz` files (an
    array `x`, or their only one) that every worker can read, or an array in memory; each y the same (an array `y`) or any labels, by the
    rule of `ebbing.forecast`.

    | setting | |
    |---|---|
    | `client` | of `distributed`; by default the current one |
    | `probes` | random probes per task for γ_feature and γ_sim (at least 2); all else needs none |
    | `rank` | columns of the preconditioner: P × rank numbers are held here |
    | `tolerance`, `iterations` | the relative residual that every solve is to reach, and how many iterations it may take |
    | `blocks` | `keep`: kernels stay on the workers; `recompute`: they are made for every product; `auto`: as memory allows |
    | `parts` | row blocks per task (by default one per thread, or more where memory is short); with the same, the same bits come out |
    | `seed` | of pivots and probes |
    | `depth`, `activation`, `mode`, `lam`, `sigma`, `beta`, `convention`, … | the network and its limit, and the metrics: as in `ebbing.forecast` |

    Where a solve ends above the tolerance, `converged` is False and `notes` say by how much.
    """
    asked = {name: value for name, value in given(locals()).items() if name not in ("client", "settings")} | given(settings)
    _refuse(settings)
    checked = _settings(_ebbing.checked(settings), tolerance, iterations, rank, probes, blocks, seed)
    asked_parts = None if parts is None else max(1, count(parts, "parts"))
    convention = settings.get("convention", "gem")
    network = {name: value for name, value in settings.items() if name not in ("mode", "beta", "convention")}
    # What is wrong with a kernel's settings is said before any work.
    for time in (1, 2):
        tile(network, checked.kind(time, time), np.ones((1, 1)), np.ones((1, 1)))
    client = _client(client)
    _check_package(client)
    memory = Memory.of(client)

    def row_blocks(examples: list[int], held_out: list[int], features: int, targets: int) -> int:
        if asked_parts is not None:
            return asked_parts
        return memory.blocks(Load(max(examples), sum(examples) + sum(held_out), features, _columns(len(examples), targets, checked)))

    data = cluster_tasks(client, tasks, row_blocks, _gather(client))
    # The inputs are there by now: what is left of the memory is left for kernels.
    _distributed.wait([part for task in data for rows in (task.x, task.x_test) if rows is not None for part in rows.parts])
    memory = Memory.of(client)._replace(seats=memory.seats)
    working = _working(memory, data, checked)
    cluster = Cluster(client, _gather(client), network, memory, blocks, working)
    theory = Theory(cluster, data, checked, _heard(progress, data, checked.mode))
    outcome = theory.learn() if checked.mode != "rf" else None
    pairs, shared = theory.pairs(learning=outcome is None)
    final = outcome if outcome is not None else shared
    assert final is not None
    checks = {"ridge": checked.ridge, "tolerance": checked.tolerance, "convention": convention, "settings": asked}
    return assembled(data, final, pairs, theory.solves, checks, _notes(theory, cluster), cluster.held)


def _refuse(settings: dict[str, Any]) -> None:
    for name in settings:
        if name in _ELSEWHERE:
            raise TypeError(f"{name}: a forecast on a cluster has no such setting ({_ELSEWHERE[name]})")
        if name not in signature(ebbing_forecast).parameters or name in ("max_p", "tasks"):
            raise TypeError(f"forecast() got an unexpected keyword argument {name!r}")


def _settings(
    theory: dict[str, Any], tolerance: float, iterations: int, rank: int, probes: int, blocks: str, seed: Seed
) -> Settings:
    """Settings in their ranges; λ = ∞ in mode `gibbs` is mode `ntk`, or at a finite β what only learns the first task."""
    if blocks not in ("auto", "keep", "recompute"):
        raise ValueError(f"blocks is {blocks!r}; it must be auto, keep or recompute")
    if not 1e-14 <= real(tolerance, "tolerance") < 1:
        raise ValueError(f"tolerance is {tolerance}; it must be a relative residual, from 1e-14 to below 1")
    for name, value, least in (("iterations", iterations, 1), ("rank", rank, 1), ("probes", probes, 2)):
        if count(value, name) < least:
            raise ValueError(f"{name} is {value}; it must be at least {least}")
    mode, beta = theory["mode"], theory["beta"]
    if mode == "gibbs" and math.isinf(theory["lambda"]):
        mode = "ntk" if math.isinf(beta) else "frozen"
    return Settings(mode, 1.0 / beta, theory["sigma2"], float(tolerance), int(iterations), int(rank), int(probes), seed_of(seed))


def _client(client: Any) -> Any:
    """The client given, or the current one."""
    if client is None:
        try:
            client = _distributed.get_client()
        except ValueError:
            raise ValueError("client: there is no current one; give client=distributed.Client(…)") from None
    if not isinstance(client, _distributed.Client):
        raise TypeError(f"client is a {type(client).__name__}; it must be a distributed.Client (that of a cluster: cluster.get_client())")
    if client.asynchronous:
        raise TypeError("client is asynchronous; give one made without asynchronous=True")
    if not client.scheduler_info(n_workers=-1)["workers"]:
        raise RuntimeError("client: its cluster has no workers yet; start some, and call client.wait_for_workers(1) before")
    return client


def _check_package(client: Any) -> None:
    """Every worker has this version of the package."""
    found = client.run(eval, "__import__('ebbing').__version__", on_error="return")
    for address, version in found.items():
        if isinstance(version, BaseException):
            raise RuntimeError(
                f"worker {address}: it cannot import ebbing ({type(version).__name__}: {version}); "
                f"install ebbing {__version__} in the environment in which workers start"
            )
        if version != __version__:
            raise RuntimeError(f"worker {address}: it has ebbing {version}, this is {__version__}; install the same everywhere")


def _gather(client: Any) -> Any:
    """Gathers results, with what ended workers in one sentence."""

    def gather(futures: list[Any]) -> list[Any]:
        try:
            return list(client.gather(futures))
        except _distributed.scheduler.KilledWorker as error:
            raise MemoryError(
                f"one part of the work ended {error.allowed_failures + 1} workers, one after another, most likely for want of memory: give "
                "workers more memory, or more parts=… so that each is smaller"
            ) from error
        except ModuleNotFoundError as error:
            raise RuntimeError(
                f"a worker cannot import {error.name}; install ebbing {__version__} in the environment in which workers start"
            ) from error

    return gather


def _columns(tasks: int, targets: int, settings: Settings) -> int:
    """The most right-hand sides of one solve: targets of its own task, and targets and probes of every other."""
    return targets + (tasks - 1) * (targets + settings.probes)


def _working(memory: Memory, tasks: list[ClusterTask], settings: Settings) -> float:
    """What a worker needs beside kernels that stay; it must have that much even where they are made anew."""
    largest = max((task.x for task in tasks), key=lambda x: x.total)
    together = sum(rows.total for task in tasks for rows in (task.x, task.x_test) if rows is not None)
    load = Load(largest.total, together, largest.features, _columns(len(tasks), tasks[0].y.shape[1], settings))
    needed = memory.working(load, max(largest.sizes))
    if memory.least is not None and memory.limit is not None and needed > memory.least:
        raise MemoryError(
            f"the workers have too little memory: the smallest has a limit of {_size(memory.limit)}, of which {_size(max(memory.least, 0))} can "
            f"be planned with, and the inputs, tiles and right-hand sides of {largest.total} examples need {_size(needed)} beside the "
            "kernels; give every worker more memory (memory_limit=…, on Slurm memory=…), or more parts=…"
        )
    return needed


def _size(size: float) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def _notes(theory: Theory, cluster: Cluster) -> list[str]:
    """What a reader should know."""
    notes = []
    tolerance = theory.settings.tolerance
    missed = [solve for solve in theory.solves if not solve["residual"] <= tolerance]
    if missed:
        top = max(missed, key=lambda solve: solve["residual"])
        notes.append(
            f"{len(missed)} of {len(theory.solves)} solves did not reach the relative residual {tolerance:.0e}: the worst ended at "
            f"{top['residual']:.1e} after {top['iterations']} iterations ({top['what']}, task {top['task']}; condition about "
            f"{top['condition']:.0e}); more iterations=…, a larger rank=… or a finite beta=… help"
        )
    if cluster.recomputed:
        notes.append(
            f"the workers have no room for a kernel, so tiles were made anew in each of {cluster.recomputed} products; more or larger "
            "workers are faster"
        )
    return notes


def _heard(progress: bool | Listener, tasks: list[ClusterTask], mode: str) -> Any:
    """Hears of each step; a step has a name and a part that is done."""
    hears = listener(progress, "forecast")
    if hears is None:
        return lambda text, part: None
    number = len(tasks)
    tested = number * number if all(task.x_test is not None for task in tasks) else 0
    steps = number * 3 + 2 * number * (number - 1) + (tested if mode == "rf" else 6 * number)
    past: list[str] = []

    def heard(text: str, part: float) -> None:
        if not past or past[-1] != text:
            past.append(text)
        hears(min(len(past) - 1 + part, steps - 0.01), steps, text)

    return heard
