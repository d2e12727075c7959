"""Bridges from PyTorch: data sets as tasks, a model's layer or its gradients as features. PyTorch is imported when they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ._arrays import Array, Task, TaskSequence, detached, squeezed, target_columns
from ._settings import Seed, count, seed_of

__all__ = ["features", "from_torch", "tangent_features"]

#: Features that each weight goes to: more than one, so that two large gradients rarely coincide altogether.
SPREAD = 4
#: Rows on which the error of a projection is measured, at most.
SAMPLE = 64


def from_torch(datasets: Sequence[Any], test: Sequence[Any] | None = None, *, limit: int | None = None) -> TaskSequence:
    """Tasks from a list of PyTorch `Dataset`s, each of (input, label) pairs, and optionally held-out ones.

    Inputs are flattened. Integer labels become ±1 (two classes in all) or one-hot columns; `limit` takes the first examples.
    """
    _refuse_loaders("datasets", datasets)
    _refuse_loaders("test", test)
    train_sets = [_examples(one, limit) for one in datasets]
    test_sets = [_examples(one, limit) for one in test or []]
    if test is not None and len(test_sets) != len(train_sets):
        raise ValueError(f"test: {len(test_sets)} sets for {len(train_sets)} tasks; give one per task")
    y, y_test, rule = target_columns([labels for _, labels in train_sets], [labels for _, labels in test_sets])
    tasks: list[tuple[Any, ...]] = [(x, squeezed(own, own.shape[1])) for (x, _), own in zip(train_sets, y)]
    if test_sets:
        held_out = [(x, squeezed(own, own.shape[1])) for (x, _), own in zip(test_sets, y_test)]
        tasks = [(*task, *other) for task, other in zip(tasks, held_out)]
    return TaskSequence(tasks, settings={"targets": rule})


def _refuse_loaders(name: str, given: Any) -> None:
    """Refuses loaders of batches in the place of data sets, alone or in a list."""
    listed = isinstance(given, (list, tuple))
    for i, one in enumerate(given if listed else [given]):
        if hasattr(one, "batch_size") and hasattr(one, "dataset"):
            what, own = (f"{name}[{i}]", f"{name}[{i}].dataset") if listed else (name, f"[{name}.dataset]")
            raise TypeError(f"{what} is a {type(one).__name__}, which gives batches; give its data set: {own}")


def _examples(dataset: Any, limit: int | None) -> tuple[Array, Any]:
    """Inputs, one per row, and labels; examples may carry more than two parts."""
    size = len(dataset) if limit is None else min(limit, len(dataset))
    rows, labels = [], []
    for i in range(size):
        x, label, *_ = dataset[i]
        rows.append(np.asarray(detached(x), dtype=float).ravel())
        labels.append(np.asarray(detached(label)))
    if not rows:
        raise ValueError("a data set is empty; a task needs examples")
    return np.stack(rows), np.stack(labels)


def features(model: Any, loader: Iterable[Any], layer: Any = None) -> tuple[Array, Any]:
    """`Φ ∈ R^{P×N}`, the activity of a layer on every example of a loader, and the labels (None where it has none).

    `layer` is a submodule of the model or its name (`"2"`, `"encoder.fc1"`); None takes the model's output. Give Φ to
    `order_parameters_from_features` or `SingleHead.from_features`.
    """
    import torch

    module = model if layer is None else dict(model.named_modules()).get(layer) if isinstance(layer, str) else layer
    if module is None:
        known = ", ".join(name for name, _ in model.named_modules() if name)
        raise ValueError(f"layer is {layer!r}; the model has {known}")
    seen: list[Array] = []
    hook = module.register_forward_hook(lambda _, __, out: seen.append(_flat(out)))
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    was_training, labels, batches = model.training, [], 0
    model.eval()
    try:
        with torch.no_grad():
            for batch in loader:
                x, *rest = batch if isinstance(batch, (list, tuple)) else (batch,)
                model(x.to(device))
                batches += 1
                labels += [np.asarray(detached(rest[0]))] if rest else []
    finally:
        hook.remove()
        model.train(was_training)
    if len(seen) != batches or not batches:
        raise ValueError(f"layer {layer!r} ran {len(seen)} times in {batches} batches; it must run once in each")
    return np.concatenate(seen), np.concatenate(labels) if labels else None


def _flat(out: Any) -> Array:
    """A layer's output, one example per row."""
    array = np.asarray(detached(out), dtype=float)
    return array.reshape(len(array), -1)


def tangent_features(
    model: Any,
    data: Any,
    dim: int | None = 4096,
    *,
    parameters: Sequence[str] | None = None,
    shape: Sequence[int] | None = None,
    seed: Seed = 0,
    memory: float = 2.0**31,
) -> TaskSequence:
    """`K(x, x') = ∇f(x)·∇f(x')`: tasks as a PyTorch model sees them when it learns by small steps, from what it answers now.

    Give the result to `forecast(tasks, features=True)`, `advise(tasks, features=True)`, `SingleHead.from_features` or, saved
    by `tasks.save`, to `ebbing forecast --features FILE.npz`. Each task has the gradients of the outputs with respect to the
    weights as its inputs, and the present outputs as `f` and `f_test`: what is learned is the targets minus these, losses and
    accuracies are those of the present outputs plus what is learned. With several outputs every example has one row for each.

    | argument | |
    |---|---|
    | `data` | list of (X, y) or (X, y, X_test, y_test); an example of X is what the model takes, without the batch axis |
    | `dim` | features to which gradients are projected at random; None for the exact kernel, where it fits into `memory` |
    | `parameters` | names of the parameters that learn; all that require a gradient by default |
    | `shape` | the shape of one input, where X has flat rows |
    | `seed`, `memory` | of the projection; bytes that gradients may take at a time |

    Whole-number labels of a model with several outputs are the numbers of outputs; targets otherwise are as in `from_torch`.

    `settings["tangent"]` of the result gives the number of `parameters` and of `features`, and the projection's error of
    kernel entries relative to `√(K_ii K_jj)`: `expected`, at most `√(2/dim)`, and as `measured` on a sample (both 0 where
    nothing is projected). A forecast inverts the kernel of each task, so it wants `dim` well above the rows of a task.

    How far to trust it: it is the first order in what is learned, and gradients turn while a model learns. In a trial (a CNN of
    99,257 weights, random or pretrained on odd against even digits, two seeds each; four pairs of Fashion-MNIST classes, 200
    examples each; full-batch descent to a loss of 0.01) the forecast loss of held-out accuracy of an earlier task, 24 values
    measured between 0 and 0.47, was off by 0.09 on average and 0.34 at most, with `dim=4096` as with the exact kernel; their
    mean alone would be off by 0.12. The correlation was 0.66 over all and 0.68 to 0.97 within a run; losses were off by up to
    a factor of 4. Read it as a ranking of which tasks suffer, not as numbers to two digits.

    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(5, 50), torch.nn.ReLU(), torch.nn.Linear(50, 1))
    >>> tasks = tangent_features(model, [(torch.randn(8, 5), torch.tensor([1.0, -1.0] * 4)) for _ in range(2)])
    >>> tasks[0].x.shape, tasks[0].f.shape, tasks.settings["tangent"]["measured"]
    ((8, 16), (8, 1), 0.0)
    """
    import torch

    chosen, drawn = _learning(model, parameters), seed_of(seed)
    sequence = data if isinstance(data, TaskSequence) else TaskSequence(data)
    if any((task.x_test is None) != (task.y_test is None) for task in sequence):
        raise ValueError("data: X_test and y_test come together; a task has one of them")
    sets = [(x, y) for task in sequence for x, y in ((task.x, task.y), (task.x_test, task.y_test)) if x is not None]
    first = next(iter(chosen.values()))
    inputs = [_inputs(x, shape, first) for x, _ in sets]
    outputs = _outputs(model, inputs)
    y = _model_targets([np.asarray(detached(y)) for _, y in sets], outputs)
    for x, targets in zip(inputs, y):
        if len(x) != len(targets):
            raise ValueError(f"data: {len(x)} inputs but {len(targets)} targets; each input needs one")
    weights = sum(parameter.numel() for parameter in chosen.values())
    rows = outputs * sum(len(x) for x in inputs)
    exact = dim is None or weights <= count(dim, "dim")
    batch = max(1, int(memory / (4 * outputs * weights * first.element_size())))
    if exact:
        _check_memory(rows, weights, first.element_size(), memory)
    project = None if exact else _Projection(count(dim, "dim"), drawn)
    width = weights if project is None else project.dim
    made, present = [], []
    for x in inputs:
        made.append(first.new_empty(outputs * len(x), width))
        present.append(np.empty((len(x), outputs)))
        done = 0
        for gradients, f in _gradients(model, chosen, x, batch):
            some = slice(outputs * done, outputs * (done + len(f)))
            made[-1][some] = torch.cat(gradients, 1) if project is None else project(gradients)
            present[-1][done : done + len(f)] = f.double().cpu()
            done += len(f)
    phi = _square_root(made) if project is None else [np.asarray(one.double().cpu()) for one in made]
    if not any(one.any() for one in phi):
        raise ValueError("model: its outputs do not depend on the parameters that learn; name others")
    features = phi[0].shape[1]
    found = zip(phi, y, present)
    tasks = []
    for task in sequence:
        (x, target, f), held_out = next(found), next(found) if task.x_test is not None else (None, None, None)
        tasks.append(Task(x, target, held_out[0], held_out[1]).with_present(f, held_out[2]))
    result = {"parameters": weights, "features": features, "outputs": outputs, "seed": drawn, "expected": 0.0, "measured": 0.0}
    if project is not None:
        result.update(expected=float(np.sqrt(2 / features)), measured=project.error())
    return TaskSequence(tasks, sequence.names, {**sequence.settings, "tangent": result})


def _learning(model: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """The parameters that learn, of a model that gives the same answer whenever it is asked."""
    from torch.nn.modules.batchnorm import _BatchNorm
    from torch.nn.modules.dropout import _DropoutNd

    for name, module in model.named_modules():
        if module.training and isinstance(module, (_BatchNorm, _DropoutNd)):
            kind = "dropout" if isinstance(module, _DropoutNd) else "batch normalization"
            where = f" ({name})" if name else ""
            raise ValueError(f"model: it is in training mode with {kind}{where}, which changes its answers; call model.eval() first")
    every = dict(model.named_parameters())
    unknown = [name for name in names or () if name not in every]
    if unknown:
        raise ValueError(f"parameters: {unknown[0]!r} is none of the model's: {', '.join(every)}")
    chosen = {name: parameter for name, parameter in every.items() if names is None or name in names}
    fixed = [name for name, parameter in chosen.items() if not parameter.requires_grad]
    if names is not None and fixed:
        raise ValueError(f"parameters: {fixed[0]!r} does not require a gradient; call requires_grad_() on it or leave it out")
    chosen = {name: parameter.detach() for name, parameter in chosen.items() if parameter.requires_grad}
    if not chosen:
        raise ValueError("model: none of its parameters requires a gradient; nothing can be learned")
    return chosen


def _inputs(x: Any, shape: Sequence[int] | None, like: Any) -> Any:
    """Inputs as a tensor where the model is; whole numbers (such as tokens) stay whole."""
    import torch

    tensor = torch.as_tensor(np.asarray(x) if not isinstance(x, torch.Tensor) else x.detach())
    tensor = tensor.to(like.device, like.dtype if tensor.is_floating_point() else tensor.dtype)
    if not len(tensor):
        raise ValueError("data: a set is empty; a task needs examples")
    if shape is None:
        return tensor
    if tensor[0].numel() != int(np.prod(shape)):
        raise ValueError(f"shape is {tuple(shape)}; an input has {tensor[0].numel()} numbers, and it must hold as many")
    return tensor.reshape(len(tensor), *shape)


def _outputs(model: Any, inputs: list[Any]) -> int:
    """The number of the model's outputs for one input."""
    import torch

    if not inputs:
        raise ValueError("data: it holds no task; at least one is needed")
    with torch.no_grad():
        out = model(inputs[0][:1])
    if not isinstance(out, torch.Tensor) or not out.is_floating_point():
        what = f"a tensor of {out.dtype}" if isinstance(out, torch.Tensor) else f"a {type(out).__name__}"
        raise ValueError(f"model: it returns {what}; one tensor of real outputs is needed")
    return int(out.numel())


def _model_targets(labels: list[Any], outputs: int) -> list[Array]:
    """Targets with one column per output."""
    whole = all(one.dtype.kind in "biu" and one.ndim == 1 for one in labels)
    if whole and outputs > 1:
        low, high = min(int(one.min()) for one in labels), max(int(one.max()) for one in labels)
        if low < 0 or high >= outputs:
            raise ValueError(f"data: labels run from {low} to {high}; the model has {outputs} outputs, counted from 0")
        return [(one.astype(int)[:, None] == np.arange(outputs)).astype(float) for one in labels]
    y, _, _ = target_columns(labels)
    wrong = next((one.shape[1] for one in y if one.shape[1] != outputs), None)
    if wrong is not None:
        raise ValueError(f"model: it has {outputs} outputs for {wrong} target columns; there must be one for each")
    return y


def _check_memory(rows: int, weights: int, size: int, memory: float) -> None:
    """Refuses an exact kernel that does not fit."""
    needed = 1.0 * rows * weights * size + 3.0 * 8 * rows * min(rows, weights)
    if needed > memory:
        gib = 2.0**30
        raise ValueError(
            f"the exact kernel of {rows} rows and {weights} weights takes {needed / gib:.3g} GiB where memory is "
            f"{memory / gib:.3g} GiB; give a dim below {weights}, fewer examples or more memory"
        )


def _gradients(model: Any, chosen: dict[str, Any], x: Any, batch: int) -> Iterator[tuple[list[Any], Any]]:
    """Gradients with respect to each parameter, one row per output of an example, and the outputs, batch by batch."""
    from torch.func import functional_call, jacrev, vmap

    def answer(parameters: dict[str, Any], example: Any) -> tuple[Any, Any]:
        out = functional_call(model, parameters, (example[None],)).reshape(-1)
        return out, out

    jacobian = vmap(jacrev(answer, has_aux=True), in_dims=(None, 0))
    for part in x.split(batch):
        gradients, f = jacobian(chosen, part)
        yield [gradient.detach().reshape(f.numel(), -1) for gradient in gradients.values()], f.detach()


class _Projection:
    """`Φ = √dim · J S`, `E[S Sᵀ] = 1`: each weight goes to one feature in each of SPREAD parts, with a random sign.

    Kernel entries vary by `(K_ii K_jj + K_ij²)/dim` at most, as with a dense S of random signs, at a cost that does not grow
    with dim. S is drawn anew, block by block, for every batch.
    """

    def __init__(self, dim: int, seed: int) -> None:
        if dim < 1:
            raise ValueError(f"dim is {dim}; it must be at least 1, or None for the exact kernel")
        self.dim, self.seed = dim, seed
        edges = [dim * k // min(SPREAD, dim) for k in range(min(SPREAD, dim) + 1)]
        self.parts = list(zip(edges, edges[1:]))
        self.misses: list[Array] = []
        self.sampled = 0

    def __call__(self, flat: list[Any]) -> Any:
        import torch

        generator = torch.Generator().manual_seed(self.seed)
        phi = flat[0].new_zeros(self.dim, len(flat[0]))
        for block in flat:
            for low, high in self.parts:
                places = torch.randint(low, high, (block.shape[1],), generator=generator).to(block.device)
                signs = torch.randint(0, 2, (block.shape[1], 1), generator=generator).to(block) * 2 - 1
                phi.index_add_(0, places, block.T * signs)
        phi = phi.T * (self.dim / len(self.parts)) ** 0.5
        self._measure(flat, phi)
        return phi

    def _measure(self, flat: list[Any], phi: Any) -> None:
        """Sets kernels of some rows beside those of their projection."""
        rows = min(len(phi), SAMPLE - self.sampled)
        if rows < 1:
            return
        self.sampled += rows
        true = sum(block[:rows].double() @ block[:rows].double().T for block in flat)
        made = phi[:rows].double() @ phi[:rows].double().T / self.dim
        size = true.diagonal().sqrt()
        miss = ((made - true) / (size[:, None] * size))[size > 0][:, size > 0]
        self.misses.append(np.asarray(miss.cpu()).ravel())

    def error(self) -> float:
        """The root mean square error of kernel entries, relative to `√(K_ii K_jj)`."""
        return float(np.sqrt(np.mean(np.concatenate(self.misses) ** 2)))


def _square_root(gradients: list[Any]) -> list[Array]:
    """`Φ` with `ΦΦᵀ/N = J Jᵀ`: no more features than rows, nor than weights."""
    import torch

    weights, rows = gradients[0].shape[1], sum(len(one) for one in gradients)
    if weights <= rows:
        return [np.asarray(one.double().cpu()) * weights**0.5 for one in gradients]
    kernel = torch.zeros(rows, rows, dtype=torch.float64)
    for first in range(0, weights, rows):
        block = torch.cat([one[:, first : first + rows] for one in gradients]).double().cpu()
        kernel += block @ block.T
    values, vectors = torch.linalg.eigh(kernel)
    kept = values > rows * torch.finfo(torch.float64).eps * values[-1]
    root = vectors[:, kept] * (values[kept] * kept.sum()).sqrt()
    return [np.asarray(part) for part in root.split([len(one) for one in gradients])]
