"""The single-head theory from products and solves alone: what is learned, what it answers everywhere, and order parameters.

`ū_t = K̃_tt⁻¹ (Y_t − Σ_{s<t} K̃_ts ū_s)` and `f_t(x) = Σ_{s≤t} K̃_ts(x, X_s) ū_s`, with K̃_ts = K_GP in mode `rf`; `σ² K_GP` for
s = 1 and K_NTK otherwise in mode `ntk`; K_NTK in mode `lazy`; `m1 K¹ − m0 K⁰` in mode `gibbs`, where λ = ∞ at a finite β leaves
`σ² K_GP` for s = 1 and 0 otherwise (here called `frozen`).

γ_feature = `Tr(K_22⁻¹ K_21 K_11⁻¹ K_12)/P` is the mean of `(K_22⁻¹ M^½ ε)·(K_21 K_11⁻¹ K_12 M^{−½} ε)/P` over random signs ε, for any
M; with M close to K_22 the form is close to symmetric and varies least. The preconditioner is such an M.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _ebbing
from ._arrays import Array
from ._cluster_data import ClusterTask, Rows
from ._cluster_kernels import Cluster, Kind
from ._cluster_solve import Preconditioner, conjugate_gradients, preconditioner

#: Hears what is being done, and how far it is.
Heard = Callable[[str, float], None]


class Settings(NamedTuple):
    """What a forecast on a cluster is asked for."""

    mode: str
    ridge: float
    sigma2: float
    tolerance: float
    most: int
    rank: int
    probes: int
    seed: int

    def kind(self, t: int, s: int) -> Kind:
        """`K̃_ts`, times counted from 1."""
        if self.mode == "rf":
            return Kind("nngp")
        if self.mode in ("ntk", "frozen"):
            early = Kind("nngp", scale=self.sigma2 if s == 1 else 0.0)
            return early if s == 1 or self.mode == "frozen" else Kind("ntk")
        return Kind("ktilde", t, s) if self.mode == "gibbs" else Kind("ntk")


class Pair(NamedTuple):
    """Two tasks in both orders: the order parameters of each, and the standard error of γ_feature."""

    values: tuple[dict[str, float], dict[str, float]]
    error: float


class Outcome(NamedTuple):
    """Outputs [t][s] after task t on task s, on training and held-out inputs; those of a network that learned task s alone."""

    train: list[list[Array]]
    test: list[list[Array]] | None
    alone_test: list[Array] | None
    free: Array | None


class Theory:
    """Solves and products of a sequence of tasks."""

    def __init__(self, cluster: Cluster, tasks: list[ClusterTask], settings: Settings, heard: Heard) -> None:
        self.cluster, self.tasks, self.settings, self.heard = cluster, tasks, settings, heard
        self._made: dict[tuple[Kind, int], Preconditioner] = {}
        self._fresh: dict[int, Array] = {}
        #: What every solve took.
        self.solves: list[dict[str, Any]] = []

    def preconditioner(self, kind: Kind, t: int) -> Preconditioner:
        """Of the kernel of task t with itself."""
        if (kind, t) not in self._made:
            rows = self.tasks[t].x
            self.heard(f"preconditioner of task {t + 1}", 0.0)
            diagonal = self.cluster.diagonal(kind, rows)
            rank = min(self.settings.rank, rows.total)
            seed = self.settings.seed + t
            found = preconditioner(diagonal, lambda at: self.cluster.columns(kind, rows, at), rank, seed)
            self._made[kind, t] = found._replace(rest=found.rest + self.settings.ridge)
        return self._made[kind, t]

    def own(self, kind: Kind, t: int, v: Array) -> Array:
        """`(K + 1/β) V` of task t with itself."""
        x = self.tasks[t].x
        return self.cluster.product(kind, x, x, v) + self.settings.ridge * v

    def solve(self, kind: Kind, t: int, b: Array, what: str) -> Array:
        """`(K + 1/β)⁻¹ b` of task t."""
        if kind.scale == 0.0:
            return b / self.settings.ridge
        chosen = self.preconditioner(kind, t)
        text = f"{what}, task {t + 1}"
        goal = -np.log10(self.settings.tolerance)

        def hear(iterations: int, residual: float) -> None:
            self.heard(text, min(1.0, max(0.0, -np.log10(max(residual, 1e-300)) / goal)))

        self.heard(text, 0.0)
        product: Callable[[Array], Array] = lambda v: self.own(kind, t, v)
        found = conjugate_gradients(
            product, lambda v: chosen.power(-1.0, v), b, self.settings.tolerance, self.settings.most, hear
        )
        norms = np.sum(found.x**2, axis=0)
        energy = np.sum(found.x * b, axis=0)
        # Of all directions that were solved for, the flattest: an estimate of the smallest eigenvalue from above.
        flattest = float(np.min(energy[norms > 0] / norms[norms > 0])) if np.any(norms > 0) else np.nan
        largest = float(chosen.values.max(initial=0.0) + chosen.rest)
        self.solves.append(
            {
                "task": t + 1,
                "what": what,
                "kernel": kind.kind,
                "columns": b.shape[1],
                "iterations": found.iterations,
                "residual": float(found.residuals.max()),
                "condition": largest / flattest if flattest > 0 else np.inf,
            }
        )
        return found.x

    def between(self, kind: Kind, rows: Rows, s: int, v: Array, again: bool = False) -> Array:
        """`K(rows, X_s) V`."""
        if kind.scale == 0.0:
            return np.zeros((rows.total, v.shape[1]))
        return self.cluster.product(kind, rows, self.tasks[s].x, v, again or rows.parts is self.tasks[s].x.parts)

    def tested(self) -> bool:
        """Whether every task has held-out data."""
        return all(task.x_test is not None for task in self.tasks)

    def learn(self) -> Outcome:
        """Everything that is learned in a mode other than `rf`, where order parameters share no solve with it."""
        learning = _Learning(self)
        _ebbing.learn(learning)
        self._fresh[0] = learning.learned[0]
        free, alone_test = self._alone()
        return Outcome(learning.train, learning.test or None, alone_test, free)

    def fresh(self, t: int) -> Array:
        """What a network that learned task t alone has learned."""
        if t not in self._fresh:
            self._fresh[t] = self.solve(self.settings.kind(1, 1), t, self.tasks[t].y, "alone")
        return self._fresh[t]

    def _alone(self) -> tuple[Array | None, list[Array] | None]:
        """What a network that learned one task alone answers: task 2 on the inputs of task 1, each on its held-out ones."""
        kind = self.settings.kind(1, 1)
        wanted = range(len(self.tasks)) if self.tested() else range(min(2, len(self.tasks)))
        alone = {t: self.fresh(t) for t in wanted}
        free = self.between(kind, self.tasks[0].x, 1, alone[1]) if len(self.tasks) > 1 else None
        test = [self.between(kind, task.x_test, t, alone[t]) for t, task in enumerate(self.tasks) if task.x_test]
        return free, test if self.tested() else None

    def pair_forgetting(self) -> dict[tuple[int, int], tuple[float, float]]:
        """`F_21` of tasks i and j learned alone, i first, and the same without penalty: in a mode other than `rf`."""
        first, carried, second = self.settings.kind(1, 1), self.settings.kind(2, 1), self.settings.kind(2, 2)
        count, q = len(self.tasks), self.tasks[0].y.shape[1]
        own = [self.between(carried, task.x, t, self.fresh(t)) for t, task in enumerate(self.tasks)] if count > 1 else []
        found = {}
        for j, task in enumerate(self.tasks if count > 1 else []):
            others = [i for i in range(count) if i != j]
            rest = [task.y - self.between(carried, task.x, i, self.fresh(i)) for i in others]
            learned = self.solve(second, j, np.hstack(rest), "pairs")
            for k, i in enumerate(others):
                x, y = self.tasks[i].x, self.tasks[i].y
                f = own[i] + self.between(second, x, j, np.ascontiguousarray(learned[:, k * q : (k + 1) * q]))
                free = self.between(first, x, j, self.fresh(j))
                found[i, j] = (float(np.sum((f - y) ** 2) / np.sum(y**2)), float(np.sum((free - y) ** 2) / np.sum(y**2)))
        return found

    def pairs(self, learning: bool) -> tuple[dict[tuple[int, int], Pair], Outcome | None]:
        """Order parameters of all pairs; with `learning` also everything that is learned in mode `rf`, from the same solves."""
        pairs, outcome = _Pairs(self).run(learning)
        own = {} if self.settings.mode == "rf" else self.pair_forgetting()
        for i, j in pairs if own else ():
            both = zip(pairs[i, j].values, (own[i, j], own[j, i]))
            one, two = ({**v, "f21": f, "f21_at_lambda_zero": free, "delta_f21": f - free} for v, (f, free) in both)
            pairs[i, j] = pairs[i, j]._replace(values=(one, two))
        return pairs, outcome


class _Learning:
    """One network that learns the tasks: an operator of the library's recursion over tasks."""

    def __init__(self, theory: Theory) -> None:
        self.theory = theory
        self.learned: list[Array] = []
        #: What it answers after each task, at the inputs and at the held-out inputs of every task.
        self.train: list[list[Array]] = []
        self.test: list[list[Array]] = []

    def tasks(self) -> int:
        return len(self.theory.tasks)

    def rest(self, t: int) -> Array:
        task = self.theory.tasks[t]
        return np.asarray(task.y - self._answers(t, task.x, self.train[-1][t] if self.train else None))

    def solve(self, t: int, rest: Array) -> Array:
        return self.theory.solve(self.theory.settings.kind(t + 1, t + 1), t, rest, "learning")

    def carry(self, t: int, dual: Array) -> None:
        self.learned.append(dual)
        tasks = self.theory.tasks
        self.theory.heard(f"outputs after task {t + 1}", 0.0)
        self.train.append([self._answers(t, task.x, self.train[-1][s] if self.train else None) for s, task in enumerate(tasks)])
        if self.theory.tested():
            before = self.test[-1] if self.test else [None] * len(tasks)
            self.test.append([self._answers(t, task.x_test, before[s]) for s, task in enumerate(tasks) if task.x_test])

    def _answers(self, t: int, rows: Rows, before: Array | None) -> Array:
        """`Σ_s K̃_ts(x, X_s) ū_s` of what is learned, after task t (from 0)."""
        theory, learned = self.theory, self.learned
        if not learned:
            return np.zeros((rows.total, theory.tasks[0].y.shape[1]))
        # In the stationary modes K̃_ts does not depend on t, and only the last task is new.
        last = len(learned) - 1
        if theory.settings.mode != "gibbs" and before is not None:
            return before + theory.between(theory.settings.kind(t + 1, last + 1), rows, last, learned[last]) if last == t else before
        kinds = [theory.settings.kind(t + 1, s + 1) for s in range(len(learned))]
        return np.asarray(sum(theory.between(kind, rows, s, learned[s]) for s, kind in enumerate(kinds)))


class _Pairs:
    """Order parameters: two rounds of solves per task, and two passes over the kernel between any two tasks. In mode `rf` a network
    learns from the second round as well: an operator of the library's recursion over tasks."""

    def __init__(self, theory: Theory) -> None:
        self.theory, self.data, self.kind = theory, theory.tasks, Kind("nngp")
        count, self.columns = len(theory.tasks), theory.tasks[0].y.shape[1]
        rng = np.random.default_rng(theory.settings.seed)
        probes = theory.settings.probes if count > 1 else 0
        self.signs = [rng.choice([-1.0, 1.0], size=(task.x.total, probes)) for task in self.data]
        self.others = [[s for s in range(count) if s != t] for t in range(count)]

    def run(self, learning: bool) -> tuple[dict[tuple[int, int], Pair], Outcome | None]:
        self.first = [self._first_round(t) for t in range(len(self.data))]
        # out[s, t]: K_st [u_t, M_t^{-1/2} ε_t]; solved[t, s]: K_tt⁻¹ of it; back[s, t]: K_st of that.
        self.out = {(s, t): self._out(s, t) for t in range(len(self.data)) for s in self.others[t]}
        self.solved: dict[tuple[int, int], Array] = {}
        self.back: dict[tuple[int, int], Array] = {}
        self.learned: list[Array] = []
        #: What the network answers after each task at the inputs of every task, where one learns beside the pairs.
        self.answers: list[list[Array]] | None = [] if learning else None
        _ebbing.learn(self)
        pairs = {(i, j): self._pair(i, j) for i in range(len(self.data)) for j in self.others[i] if i < j}
        return pairs, None if self.answers is None else self._outcome(self.answers)

    def tasks(self) -> int:
        return len(self.data)

    def rest(self, t: int) -> Array | None:
        """What was learned before answers on X_t; after one task that is what already came from it."""
        return self.answers[-1][t] if self.answers and t > 1 else None

    def _first_round(self, t: int) -> Array:
        """`K⁻¹ [Y, M^½ ε]`."""
        root = self.theory.preconditioner(self.kind, t).power(0.5, self.signs[t])
        return self.theory.solve(self.kind, t, np.hstack([self.data[t].y, root]), "targets and probes")

    def _out(self, s: int, t: int) -> Array:
        self.theory.heard(f"kernel between tasks {s + 1} and {t + 1}", 0.0)
        turned = self.theory.preconditioner(self.kind, t).power(-0.5, self.signs[t])
        return self.theory.between(self.kind, self.data[s].x, t, np.hstack([self.first[t][:, : self.columns], turned]), again=True)

    def solve(self, t: int, known: Array | None) -> Array:
        """`K_tt⁻¹` of what comes from every other task, and what is learned of task t itself: `K_tt⁻¹ (Y_t − known)`."""
        u = self.first[t][:, : self.columns]
        parts = [self.out[t, s] for s in self.others[t]]
        if not parts:
            return u
        found = self.theory.solve(self.kind, t, np.hstack([*parts, *([] if known is None else [known])]), "other tasks")
        width = parts[0].shape[1]
        for k, s in enumerate(self.others[t]):
            self.solved[t, s] = found[:, k * width : (k + 1) * width]
        if known is not None:
            return u - found[:, len(parts) * width :]
        return u - self.solved[1, 0][:, : self.columns] if t == 1 else u

    def carry(self, t: int, dual: Array) -> None:
        """`K_st K_tt⁻¹ K_ts …`, and what the network answers everywhere after task t."""
        self.learned.append(dual)
        row = []
        for s, task in enumerate(self.data):
            if s != t:
                self.theory.heard(f"kernel between tasks {s + 1} and {t + 1}", 0.5)
                found = self.theory.between(self.kind, task.x, t, np.hstack([self.solved[t, s], dual]), again=True)
                self.back[s, t], answer = found[:, : -self.columns], found[:, -self.columns :]
            elif self.answers is not None:
                answer = self.theory.between(self.kind, task.x, t, dual)
            if self.answers is not None:
                row.append(self.answers[-1][s] + answer if self.answers else answer)
        if self.answers is not None:
            self.answers.append(row)

    def _pair(self, i: int, j: int) -> Pair:
        first, out, back, solved, q = self.first, self.out, self.back, self.solved, self.columns
        sides = []
        samples = []
        for a, b in ((i, j), (j, i)):
            y, u = self.data[a].y, first[a][:, :q]
            # Of task a: its targets, its solution, what that says at b, b's solution for it, and what comes back.
            sides.append((y, u, out[b, a][:, :q], solved[b, a][:, :q], back[a, b][:, :q]))
            smaller = min(self.data[a].x.total, self.data[b].x.total)
            samples.append(np.sum(first[a][:, q:] * back[a, b][:, q:], axis=0) / smaller)
        drawn = np.concatenate(samples)
        gamma = float(drawn.mean())
        error = float(drawn.std(ddof=1) / np.sqrt(len(drawn)))
        ridge = self.theory.settings.ridge
        both = (_ebbing.order_parameters_of_sides(one, two, gamma, ridge) for one, two in (sides, sides[::-1]))
        return Pair((next(both), next(both)), error)

    def _outcome(self, answers: list[list[Array]]) -> Outcome:
        """Held-out answers of what was learned, and of each task alone."""
        first, learned, q = self.first, self.learned, self.columns
        free = self.out[0, 1][:, :q] if len(self.data) > 1 else None
        if not self.theory.tested():
            return Outcome(answers, None, None, free)
        test: list[list[Array]] = [[] for _ in self.data]
        alone = []
        for s, task in enumerate(self.data):
            assert task.x_test is not None
            for t in range(len(self.data)):
                self.theory.heard(f"held-out data of task {s + 1}", t / len(self.data))
                v = np.hstack([learned[t], first[t][:, :q]]) if s == t else learned[t]
                found = self.theory.between(self.kind, task.x_test, t, v)
                test[t].append(found[:, :q] + (test[t - 1][s] if t else 0.0))
                if s == t:
                    alone.append(found[:, q:])
        return Outcome(answers, test, alone, free)
