"""Networks of finite width to hold the theory against: trained, or sampled from the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _ebbing
from ._arrays import Array, as_sequence, lower, native, task_names
from ._forecast import described
from ._progress import Listener, listener
from ._result import Result
from ._settings import Seed, encode, given, real, seed_of, weight_variance
from ._table import Table, frame, matrix_frame, matrix_table, names_of, significant, table


class Trained(Result):
    """A trained network's losses and accuracies, indexed [t, s]: after task t, on task s; nan before s is learned.

    `train_loss` is the forgetting matrix F; `test_loss`, `train_accuracy`, `test_accuracy` are nan where undefined; `reports`
    says how each task was learned. `weights` are those after the last task, in float32: the hidden layers `W` (out × in),
    first layer first, then the readouts `a` (targets × width), one or one per task: `h ← φ(h Wᵀ/√in)`, `f = h aᵀ/√width`.
    """

    train_loss: Array
    test_loss: Array
    train_accuracy: Array
    test_accuracy: Array
    reports: list[dict[str, Any]]
    weights: list[npt.NDArray[np.float32]]
    tasks: list[str]
    settings: dict[str, Any]

    def title(self) -> str:
        """What the result is called where it is shown."""
        return f"A network trained on {len(self.reports)} tasks, one after another"

    def forgetting(self) -> Array:
        """`F[t, s] = Σ(f_t(x)−y)²/|Y_s|²` on training data."""
        return self.train_loss

    def to_pandas(self) -> Any:
        """The forgetting matrix as a `DataFrame`, tasks by name or counted from 1."""
        return matrix_frame(self.train_loss, self.tasks)

    def plot(self, ax: Any = None) -> Any:
        """The forgetting matrix."""
        from . import _plotting

        return _plotting.heat_map(self.train_loss, "F, trained network", ax, self.tasks)

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        shown = [matrix_table("Forgetting F (0: remembered, 1: as bad as answering 0)", self.train_loss, self.tasks)]
        if np.isfinite(self.test_accuracy).any():
            shown.append(matrix_table("Test accuracy", self.test_accuracy, self.tasks))
        columns = {"task": names_of(self.tasks), "learned": ["yes" if r["learned"] else "no" for r in self.reports]}
        names = {"steps": "steps", "mse": "training error", "stop": "stopped", "moved": "moved"}
        columns |= {head: [report[name] for report in self.reports] for name, head in names.items()}
        return [*shown, table("How each task was learned", columns)]

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        names = task_names(self.tasks)
        said = []
        # What ended where it was meant to has the error that is left there: more steps would change nothing.
        less = "a larger width" if self.settings.get("kappa") is None else "a smaller kappa or a larger width"
        for ended, helps in ((False, "more max_steps may help"), (True, f"they ended by themselves, {less} may leave less error")):
            missed = [str(n) for n, report in zip(names, self.reports) if not report["learned"] and report["converged"] == ended]
            if missed:
                said.append(f"Not learned to the threshold: {', '.join(missed)}; {helps}.")
        sought = [report for report in self.reports if "gradient" in report]
        if sought:
            at = sum(report["converged"] for report in sought)
            left = significant(max(report["gradient"] for report in sought))
            number = f"{at} of {len(sought)} tasks ended at their minimum"
            said.append(f"{number}; the gradient's norm is at most {left} of that at the start.")
            low, high = max((report["objectives"] for report in sought), key=lambda range: range[1] - range[0])
            if low < high:
                where = f"they differ most where they are {significant(low)} to {significant(high)}"
                said.append(f"Of several starts the lowest objective was kept: {where}.")
        rose = [f"{name} ({report['rose']:.1f} times)" for name, report in zip(names, self.reports) if report["overshot"]]
        if rose:
            said.append(f"The training error rose above its lowest on the way: {', '.join(rose)}; a smaller eta_factor (or eta) may help.")
        last = len(names) - 1
        lost = f"{names[0]} after {last + 1} tasks is {significant(float(self.train_loss[last, 0]))}"
        return said + ([f"Forgetting of task {lost}."] if last else [])


def train(
    tasks: Any,
    *,
    learner: str = "gd",
    kappa: float | None = None,
    gamma: float = 1.0,
    heads: str = "single",
    depth: int = 1,
    activation: str = "relu",
    width: int = 400,
    sigma0: float = 1.0,
    eta: float | None = None,
    threshold: float = 1e-3,
    tolerance: float = 1e-3,
    patience: int = 200,
    max_steps: int = 20_000,
    batch: int | None = None,
    momentum: float = 0.0,
    readout_only: bool = False,
    loss: str = "sum",
    eta_factor: float = 1.0,
    penalty_step: str = "implicit",
    solver: str = "descent",
    first_solver: str | None = None,
    gradient_tolerance: float = 1e-6,
    readout_scales: Sequence[float] = (1.0,),
    readout_penalty: float = 0.0,
    fisher: str = "rms",
    indexing: str = "past",
    seed: Seed = 0,
    progress: bool | Listener = False,
) -> Trained:
    """Trains a network of finite width on the tasks, one after another: `½ Σ|f−y|² + κ/2 Σ F̄_i (Θ−Θ_{t−1})_i²`.

    Learners: `gd` (κ = 0), `l2` (F̄ = 1; needs `kappa`), `ewc` (online EWC; needs `kappa`, with decay `gamma`, `fisher` and
    `indexing`). Without `eta` the rate comes from the network's tangent kernel, times `eta_factor`. Other settings are those
    of `ebbing train`.

    `solver="levenberg"` finds the minimum itself (`gd` and `l2`, full batches): its reports have `objective`, `gradient`
    (the norm over that at the start, at most `gradient_tolerance` where `converged`) and, from several `readout_scales` of
    the initial readout, the range `objectives` and the `readout_scale` that was kept. `readout_penalty` ρ adds `ρ/2 |a|²`.
    `first_solver` is that of the first task, which has no penalty.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(20, 30)), np.sign(rng.normal(size=20))) for _ in range(2)]
    >>> run = train(tasks, width=100, max_steps=2000)
    >>> run.train_loss.shape, run.reports[0]["learned"]
    ((2, 2), True)
    >>> [w.shape for w in run.weights]
    [(100, 30), (1, 100)]
    """
    settings = given(locals())
    tasks = as_sequence(tasks)
    rule: dict[str, Any] = {"rule": learner}
    if learner in ("l2", "ewc"):
        if kappa is None:
            raise ValueError(f"kappa is None; learner {learner} needs the strength of its penalty")
        rule["kappa"] = real(kappa, "kappa")
    if learner == "ewc":
        rule |= {"gamma": real(gamma, "gamma"), "fisher": fisher, "indexing": indexing}
    asked = encode(
        learner=rule,
        heads=heads,
        architecture={"activation": activation, "depth": depth},
        width=width,
        sigma0=sigma0,
        eta=eta,
        threshold=threshold,
        tolerance=tolerance,
        patience=patience,
        max_steps=max_steps,
        batch=batch,
        momentum=momentum,
        readout_only=readout_only,
        loss=loss,
        eta_factor=eta_factor,
        penalty_step=penalty_step,
        solver=solver,
        first_solver=first_solver,
        gradient_tolerance=gradient_tolerance,
        readout_scales=[real(scale, "readout_scales") for scale in readout_scales],
        readout_penalty=readout_penalty,
        seed=seed_of(seed),
    )
    found = _ebbing.train(native(tasks), asked, listener(progress, "train"))
    matrices = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")
    return Trained(
        **{name: lower(found[name]) for name in matrices},
        reports=found["reports"],
        weights=found["weights"],
        tasks=tasks.names,
        settings=described([tasks]) | settings,
    )


class SampledPosterior(Result):
    """What sampled networks do after the last task; every mean has its standard error over chains beside it.

    `u1`, `u1_error` = <a_t·a_s>/N as [t, s]; `forgetting`, `test_loss`, `label_kernel`, `learned` by task with `…_error`;
    `acceptance`, `convergence`, `divergent` and `warnings` show whether the run can be trusted.
    """

    u1: Array
    u1_error: Array
    forgetting: Array
    forgetting_error: Array
    test_loss: Array
    test_loss_error: Array
    label_kernel: Array
    label_kernel_error: Array
    learned: Array
    learned_error: Array
    acceptance: Array
    convergence: list[dict[str, Any]]
    divergent: int
    warnings: list[str]
    tasks: list[str]
    settings: dict[str, Any]

    def title(self) -> str:
        """What the result is called where it is shown."""
        return f"Networks sampled after {len(self.forgetting)} tasks"

    def tables(self) -> list[Table]:
        """The tables that are shown."""
        known = {"forgetting": "F", "test_loss": "test loss", "label_kernel": "label kernel", "learned": "learned"}
        columns = {name: said for name, said in known.items() if np.isfinite(self.__dict__[name]).any()}
        means, errors = ({n: self.__dict__[n + end].tolist() for n in columns} for end in ("", "_error"))
        shown: dict[str, Any] = {"task": names_of(self.tasks)}
        shown |= {head: list(zip(means[name], errors[name])) for name, head in columns.items()}
        return [table("After the last task, ± standard error over chains", shown)]

    def to_pandas(self) -> Any:
        """A `DataFrame` with one row per task, by name or counted from 1."""
        names = [name for name in self.__dict__ if isinstance(self.__dict__[name], np.ndarray) and "u1" not in name]
        return frame({"task": task_names(self.tasks)} | {name: self.__dict__[name] for name in names}, ["task"])

    def plot(self, ax: Any = None) -> Any:
        """Forgetting by task with its standard error."""
        from . import _plotting

        called = [f"task {name}" if isinstance(name, int) else name for name in task_names(self.tasks)]
        values = {name: float(v) for name, v in zip(called, self.forgetting)}
        ends = [(float(v - e), float(v + e)) for v, e in zip(self.forgetting, self.forgetting_error)]
        return _plotting.bars(values, "F after the last task, ± standard error", ax, ends)

    def sentences(self) -> list[str]:
        """What the numbers mean, in sentences."""
        accepted = f"{np.min(self.acceptance):.2f} to {np.max(self.acceptance):.2f}"
        return [f"Proposals accepted: {accepted}; divergent: {self.divergent}.", *self.warnings]


def sample_posterior(
    tasks: Any,
    *,
    heads: str = "multi",
    depth: int = 1,
    activation: str = "relu",
    width: int = 40,
    lam: float = 5.0,
    sigma: float = 1.0,
    sigma_readout: float | None = None,
    beta: float = 2000.0,
    chains: int = 16,
    warmup: int = 300,
    draws: int = 200,
    leapfrog: int = 20,
    seed: Seed = 0,
    progress: bool | Listener = False,
) -> SampledPosterior:
    """Networks drawn from `p(Θ_t | Θ_{t−1}, D_t)`, task after task, by Hamiltonian Monte Carlo.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> tasks = [(rng.normal(size=(6, 10)), np.sign(rng.normal(size=6))) for _ in range(2)]
    >>> found = sample_posterior(tasks, width=10, beta=50.0, chains=2, warmup=20, draws=20)
    >>> found.u1.shape, found.forgetting.shape
    ((2, 2), (2,))
    """
    settings = given(locals())
    tasks = as_sequence(tasks)
    if not np.isfinite(real(lam, "lam")) or not np.isfinite(real(beta, "beta")):
        raise ValueError(f"lam is {lam} and beta is {beta}; both must be finite to sample")
    asked = encode(
        heads=heads,
        architecture={"activation": activation, "depth": depth},
        width=width,
        **{"lambda": lam},
        sigma2=weight_variance(sigma, "sigma"),
        readout_sigma2=None if sigma_readout is None else weight_variance(sigma_readout, "sigma_readout"),
        beta=beta,
        chains=chains,
        warmup=warmup,
        draws=draws,
        leapfrog=leapfrog,
        seed=seed_of(seed),
    )
    found = _ebbing.sample_posterior(native(tasks), asked, listener(progress, "sample"))
    values: dict[str, Any] = {
        "u1": _symmetric(found["u1"], "value"),
        "u1_error": _symmetric(found["u1"], "standard_error"),
    }
    for name in ("forgetting", "test_loss", "label_kernel", "learned"):
        values[name] = np.array([np.nan if e is None else e["value"] for e in found[name]])
        values[f"{name}_error"] = np.array([np.nan if e is None else e["standard_error"] for e in found[name]])
    values["acceptance"] = np.array(found["acceptance"])
    kept = {name: found[name] for name in ("convergence", "divergent", "warnings")}
    return SampledPosterior(**values, **kept, tasks=tasks.names, settings=described([tasks]) | settings)


def _symmetric(rows: list[list[dict[str, float]]], part: str) -> Array:
    """Means or standard errors as a symmetric matrix."""
    half = lower([[entry[part] for entry in row] for row in rows])
    return np.where(np.isnan(half), half.T, half)
