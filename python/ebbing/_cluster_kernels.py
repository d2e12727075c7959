"""Kernels over the workers of a cluster: `K V` with K in row panels that are made where they stay, or made anew for each product.

Panel i holds `K(X_i, X')`, the rows of one block against all points, so a product moves V to every worker and P/panels rows back;
nothing larger than that and no reduction whose order could change. A panel is grown from groups of X', so that a worker never holds
all inputs at once. A worker that dies takes its panels with it; Dask makes them again from the inputs, elsewhere, to the same bits.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from . import _ebbing
from ._arrays import Array
from ._cluster_data import SENT, Rows, identity

#: The share of a worker's memory for inputs that it holds beside its panels while it grows one.
GROUP = 1 / 32
#: Columns of a kernel tile that is made, used and dropped.
TILE = 2048
#: The share of a worker's memory that is planned for: Dask moves data to disk above it.
SHARE = 0.7
#: The share of it that Dask may fill with inputs of work to come.
AHEAD = 0.1
#: The largest panel, as a share, that Dask can write to disk where memory is full: it makes a copy, and ends a worker at 0.95.
WRITTEN = (0.95 - SHARE) / 2
#: At most so many row blocks per thread, and none with fewer rows than that: each piece of work costs milliseconds of its own.
ROUNDS, FEWEST = 32, 64


#: The network whose kernels are meant, by the fields of a forecast.
Network = dict[str, Any]


class Kind(NamedTuple):
    """A multiple of one of the kernels of `ebbing.kernel`, between times t and s."""

    kind: str
    t: int = 1
    s: int = 1
    scale: float = 1.0


def tile(network: Network, kind: Kind, x: Array, x2: Array) -> Array:
    """One block of a kernel, by the library's own code, with as many threads as the worker has."""
    _set_threads()
    at = network if kind.kind == "ktilde" else {**network, "lam": float("inf")}
    made = _ebbing.kernel(x, x2, kind.kind, kind.t, kind.s, at)
    if kind.scale != 1.0:
        made *= kind.scale
    return made


def _set_threads() -> None:
    """Before its first kernel a worker's process has as many threads as the worker; elsewhere nothing is changed."""
    from distributed import get_worker

    try:
        threads = get_worker().state.nthreads
    except ValueError:
        return
    os.environ.setdefault("RAYON_NUM_THREADS", str(threads))


def grown(panel: tuple[Array, ...], network: Network, kind: Kind, x: Array, others: list[Array]) -> tuple[Array, ...]:
    """A panel with the columns of one more group of points."""
    return (*panel, tile(network, kind, x, np.concatenate(others)))


def panel_product(panel: tuple[Array, ...], v: Array) -> Array:
    """`K(X_i, X') V` of a panel that is there."""
    # What was received may lie anywhere, and products of unaligned numbers are summed otherwise: a copy has one form.
    v, start = np.array(v, order="C"), 0
    out = np.zeros((len(panel[0]), v.shape[1]))
    for part in panel:
        out += np.require(part, requirements="A") @ v[start : start + part.shape[1]]
        start += part.shape[1]
    return out


def tiled_product(before: Array | None, network: Network, kind: Kind, x: Array, others: list[Array], v: Array, start: int) -> Array:
    """`K(X_i, X') V` over the points from `start` on, added to that of those before; tiles are made and dropped."""
    x2, v = np.concatenate(others), np.array(v, order="C")
    out = np.zeros((len(x), v.shape[1])) if before is None else before.copy()
    for a in range(0, len(x2), TILE):
        made = tile(network, kind, x, x2[a : a + TILE])
        out += made @ v[start + a : start + a + made.shape[1]]
        # Two of them at once would be most of what a small worker has left.
        del made
    return out


def diagonal_of(network: Network, kind: Kind, x: Array) -> Array:
    """`k(x, x)` of every row."""
    small = 64
    blocks = [tile(network, kind, x[a : a + small], x[a : a + small]) for a in range(0, len(x), small)]
    return np.concatenate([np.diag(block) for block in blocks])


def chosen(x: Array, at: list[int]) -> Array:
    """Some rows."""
    return x[at]


class Load(NamedTuple):
    """What a forecast puts on the workers: examples of its largest task and of all sets together, features, right-hand sides."""

    largest: int
    together: int
    features: int
    columns: int


class Memory(NamedTuple):
    """What the workers have: how many they are, bytes left on the one with least, its limit (None: no limit), and who sits where."""

    workers: int
    least: float | None
    limit: float | None
    seats: list[str]

    @property
    def group(self) -> float:
        """Bytes of inputs that are used together."""
        return 256 * 2**20 if self.limit is None else GROUP * self.limit

    @classmethod
    def of(cls, client: Any) -> Memory:
        """Of the workers that are there."""
        workers = client.scheduler_info(n_workers=-1)["workers"]
        left = [SHARE * w["memory_limit"] - w["metrics"]["memory"] if w["memory_limit"] else None for w in workers.values()]
        limits = [w["memory_limit"] for w in workers.values() if w["memory_limit"]]
        rounds = max((w["nthreads"] for w in workers.values()), default=0)
        seats = [address for k in range(rounds) for address, w in workers.items() if w["nthreads"] > k]
        if not workers or any(each is None for each in left):
            return cls(len(workers), None, None, seats)
        return cls(len(workers), min(each for each in left if each is not None), min(limits), seats)

    def working(self, load: Load, rows: int) -> float:
        """Bytes that work on a block of so many rows needs beside inputs and kernels that stay.

        That is a group of inputs as it comes, joined, and as the kernel's code takes it; the block as that takes it; one tile; and the
        right-hand sides, what comes of them, and a copy.
        """
        block = 8 * rows * load.features
        group = max(block, min(self.group, 8 * load.largest * load.features))
        return 3 * group + block + 8 * rows * TILE + 3 * 8 * load.largest * load.columns

    def blocks(self, load: Load) -> int:
        """Row blocks per task: one per thread, which balances best; more where workers are too small for that.

        A task's own kernel and work on a block must fit, and with what Dask fetches ahead: else panels are written to disk now and
        then, and must be small enough for that. Where no number of blocks serves, kernels are made anew for every product, and blocks
        are as small as that needs.
        """
        seats = max(1, len(self.seats))
        if self.least is None or self.limit is None:
            return seats
        left = self.least - 8 * load.together * load.features / self.workers
        kernel = 8 * load.largest**2 / self.workers
        rounds = range(1, max(1, min(ROUNDS, load.largest // (seats * FEWEST))) + 1)
        sizes = {k: -(-load.largest // (seats * k)) for k in rounds}
        room = {k: left - self.working(load, rows) for k, rows in sizes.items()}
        written = {k for k, rows in sizes.items() if 8 * rows * load.largest <= WRITTEN * self.limit}
        held = [k for k in rounds if room[k] - kernel >= (0 if k in written else AHEAD * self.limit)]
        anew = [k for k in rounds if room[k] >= 0]
        return seats * next(iter(held or anew), rounds[-1])


class Cluster:
    """Products with kernels of a network on the workers of a client."""

    def __init__(self, client: Any, gather: Any, network: Network, memory: Memory, blocks: str, working: float = 0.0) -> None:
        self.client, self.gather, self.network, self.memory, self.blocks = client, gather, network, memory, blocks
        self._working = working
        self._kept: dict[tuple[Kind, int, int], tuple[list[Any], int]] = {}
        #: Bytes of kernels held on the workers at most.
        self.held = 0
        #: Products for which a task's own kernel was made anew.
        self.recomputed = 0

    def product(self, kind: Kind, rows: Rows, columns: Rows, v: Array, again: bool = True) -> Array:
        """`K(rows, columns) V`; where it is needed `again`, the kernel stays on the workers if they have room."""
        # Small ones go with the work, which is soonest; large ones are sent once and passed from worker to worker.
        sent = v if v.nbytes <= SENT else self.client.submit(identity, v, pure=False)
        panels = self._panels(kind, rows, columns) if again else None
        if panels is not None:
            parts = [self._at(i, panel_product, panel, sent) for i, panel in enumerate(panels)]
        else:
            parts = [self._tiled(i, kind, x, columns, sent) for i, x in enumerate(rows.parts)]
        return np.concatenate(self.gather(parts))

    def diagonal(self, kind: Kind, rows: Rows) -> Array:
        """`k(x, x)` of every row."""
        return np.concatenate(self.gather([self._at(i, diagonal_of, self.network, kind, x) for i, x in enumerate(rows.parts)]))

    def columns(self, kind: Kind, rows: Rows, at: list[int]) -> Array:
        """`K(rows, rows[at])`, here: as many columns as are asked for."""
        edges = np.array(rows.edges())
        owner = np.searchsorted(edges, at, side="right") - 1
        named = sorted(set(owner.tolist()))
        local = {i: [int(a - edges[i]) for a, o in zip(at, owner) if o == i] for i in named}
        # `at` ascends, so the rows come back in its order.
        found = np.concatenate(self.gather([self.client.submit(chosen, rows.parts[i], local[i], pure=False) for i in named]))
        points = self.client.submit(identity, found, pure=False)
        parts = [self._at(i, tile, self.network, kind, x, points) for i, x in enumerate(rows.parts)]
        return np.concatenate(self.gather(parts))

    def _at(self, i: int, function: Any, *arguments: Any) -> Any:
        """Work on block i, at its worker while that is alive."""
        seats = self.memory.seats
        home = [seats[i % len(seats)]] if seats else None
        return self.client.submit(function, *arguments, pure=False, workers=home, allow_other_workers=home is not None)

    def _groups(self, rows: Rows) -> list[slice]:
        """Blocks of points that are used together."""
        groups, start, size = [], 0, 0
        for i, count in enumerate(rows.sizes):
            size += count * rows.features * 8
            if size > self.memory.group and i > start:
                groups.append(slice(start, i))
                start, size = i, count * rows.features * 8
        return [*groups, slice(start, len(rows.sizes))]

    def _tiled(self, i: int, kind: Kind, x: Any, columns: Rows, sent: Any) -> Any:
        out, edges = None, columns.edges()
        for group in self._groups(columns):
            out = self._at(i, tiled_product, out, self.network, kind, x, columns.parts[group], sent, edges[group.start])
        return out

    def _panels(self, kind: Kind, rows: Rows, columns: Rows) -> list[Any] | None:
        """The panels of a kernel: those that are there, or new ones where there is room; the oldest make room."""
        key = kind, id(rows.parts), id(columns.parts)
        if key in self._kept:
            # The last used is the last to go.
            self._kept[key] = self._kept.pop(key)
            return self._kept[key][0]
        # A task's own kernel, which every iteration needs, takes the room of others; one between tasks, needed twice, does not.
        own, size = rows.parts is columns.parts, 8 * rows.total * columns.total
        while own and self._kept and not self.fits(size + self._bytes()):
            self._kept.pop(next(iter(self._kept)))
        if not self.fits(size + self._bytes(), alone=own and not self._kept):
            self.recomputed += own
            return None
        panels = []
        for i, x in enumerate(rows.parts):
            panel: Any = ()
            for group in self._groups(columns):
                panel = self._at(i, grown, panel, self.network, kind, x, columns.parts[group])
            panels.append(panel)
        self._kept[key] = panels, size
        self.held = max(self.held, self._bytes())
        return panels

    def _bytes(self) -> int:
        return sum(size for _, size in self._kept.values())

    def fits(self, size: float, alone: bool = False) -> bool:
        """Whether the workers have room for so many bytes of kernels; for several with what Dask fetches ahead, `alone` without."""
        if self.blocks != "auto":
            return self.blocks == "keep"
        memory = self.memory
        if memory.least is None or memory.limit is None:
            return True
        # Panels are spread evenly, so the fullest worker decides.
        return size <= memory.workers * (memory.least - self._working - (0.0 if alone else AHEAD * memory.limit))
