"""A PyTorch model's own tangent kernel: against the wide limit, its projections, and descent by small steps."""

import numpy as np
import pytest

import ebbing

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Wide(torch.nn.Module):
    """`f(x) = a·relu(W x/√N0)/√N` with standard normal weights: the library's network."""

    def __init__(self, inputs, width, seed):
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        self.w = torch.nn.Parameter(torch.randn(width, inputs, generator=draw, dtype=torch.float64))
        self.a = torch.nn.Parameter(torch.randn(width, generator=draw, dtype=torch.float64))

    def forward(self, x):
        hidden = torch.relu(x @ self.w.T / self.w.shape[1] ** 0.5)
        return hidden @ self.a / len(self.a) ** 0.5


def cnn(outputs=1, width=16, seed=0):
    torch.manual_seed(seed)
    parts = torch.nn.Conv2d(1, width, 3, padding=1), torch.nn.GELU(), torch.nn.AvgPool2d(2)
    more = torch.nn.Conv2d(width, width, 3), torch.nn.GELU(), torch.nn.Flatten(), torch.nn.Linear(width * 4, outputs)
    return torch.nn.Sequential(*parts, *more).double().eval()


def kernel_of(task):
    return task.x @ task.x.T / task.x.shape[1]


def images(count, seed):
    return torch.randn(count, 1, 8, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def signs(shape, seed):
    return torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(seed)) * 2.0 - 1


def test_the_kernel_of_a_wide_network_tends_to_the_tangent_kernel():
    x = np.random.default_rng(0).normal(size=(6, 10))
    y = np.array([1.0, -1.0] * 3)
    want = ebbing.kernel(x, kind="ntk")
    scaled = {}
    for width in (32, 512):
        made = [ebbing.torch.tangent_features(Wide(10, width, seed), [(x, y)], dim=None)[0] for seed in range(30)]
        kernels = np.array([kernel_of(task) for task in made])
        # Without bias: within five standard errors over the seeds, for each of 21 entries.
        error = kernels.std(0, ddof=1) / 30**0.5
        assert (np.abs(kernels.mean(0) - want) < 5 * error).all()
        np.testing.assert_allclose(made[3].f[:, 0], Wide(10, width, 3)(torch.tensor(x)).detach(), rtol=1e-12)
        squared = width * ((kernels - want) ** 2).mean((1, 2))
        scaled[width] = squared.mean(), squared.std(ddof=1) / 30**0.5
    # An entry is a mean over hidden units, so N times its variance is the same at every width: five standard errors.
    (low, low_error), (high, high_error) = scaled.values()
    assert abs(low - high) < 5 * np.hypot(low_error, high_error), scaled


def test_projected_kernels_are_right_within_the_error_stated():
    tasks = [(images(7, 1), signs((7,), 2)), (images(5, 3), signs((5,), 4))]
    model, dim = cnn(), 256
    exact = ebbing.torch.tangent_features(model, tasks, dim=None)
    answer = exact.settings["tangent"]
    weights = sum(parameter.numel() for parameter in model.parameters())
    assert answer == {**answer, "parameters": weights, "features": 12, "expected": 0.0, "measured": 0.0} and weights > dim
    want = np.concatenate([task.x for task in exact])
    want = want @ want.T / want.shape[1]
    size = np.sqrt(np.diag(want))
    misses, found = [], []
    for seed in range(40):
        made = ebbing.torch.tangent_features(model, tasks, dim=dim, seed=seed)
        phi = np.concatenate([task.x for task in made])
        assert phi.shape == (12, dim) and np.allclose(made[1].f, exact[1].f, rtol=0, atol=1e-12)
        misses.append((phi @ phi.T / dim - want) / (size[:, None] * size))
        found.append(made.settings["tangent"])
        # The first batch holds the first task, and the second task is sampled too: both within themselves.
        own = np.concatenate([misses[-1][:7, :7].ravel(), misses[-1][7:, 7:].ravel()])
        assert found[-1]["measured"] == pytest.approx(np.sqrt((own**2).mean()), rel=1e-9)
    misses = np.array(misses)
    assert found[0]["expected"] == pytest.approx((2 / dim) ** 0.5)
    # Unbiased, and no entry varies by more than stated: five standard errors over 40 seeds.
    assert (np.abs(misses.mean(0)) < 5 * misses.std(0, ddof=1) / 40**0.5 + 1e-12).all()
    squares = (misses**2).mean((1, 2))
    assert squares.mean() < found[0]["expected"] ** 2 + 5 * squares.std(ddof=1) / 40**0.5
    again = ebbing.torch.tangent_features(model, tasks, dim=dim, seed=39, memory=1.0)
    # One example at a time: the same projection, sums in another order.
    np.testing.assert_allclose(again[0].x, made[0].x, rtol=1e-9, atol=1e-12)


def fine_tuned(model, tasks, steps=20000):
    """Mean squared residuals [t, s] of full-batch descent at half of the rate at which it would diverge, to 1e-6 of the start."""
    losses = []
    for x, y in tasks:
        rate = len(y) / torch.linalg.eigvalsh(torch.tensor(rows_kernel(model, x)))[-1]
        for step in range(steps):
            loss = ((model(x) - y) ** 2).mean()
            start = loss.item() if step == 0 else start
            if loss.item() < 1e-6 * start:
                break
            model.zero_grad()
            (loss * y.shape[1] / 2).backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= rate * parameter.grad
        else:
            raise AssertionError(f"the loss is {loss.item()} of {start} after {steps} steps")
        with torch.no_grad():
            losses.append([((model(x) - y) ** 2).sum().item() for x, y in tasks])
    return np.array(losses)


def rows_kernel(model, x):
    made = ebbing.torch.tangent_features(model, [(x, model(x).detach() + 1.0)], dim=None)
    return kernel_of(made[0])


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_forecast_is_what_small_steps_do(outputs):
    errors, p = {}, 6
    for step in (0.04, 0.01):
        model = cnn(outputs, seed=outputs)
        inputs = [images(p, 10 + t) for t in range(3)]
        # Targets a little off the present answers: the tangent theory is the first order in what is learned.
        tasks = [(x, model(x).detach() + step * signs((p, outputs), 20 + t)) for t, x in enumerate(inputs)]
        features = ebbing.torch.tangent_features(model, tasks, dim=None)
        assert features[0].x.shape[0] == p * outputs
        answer = ebbing.forecast(features, features=True).forgetting
        left = answer * [(y**2).sum().item() for _, y in tasks] / (step**2 * p * outputs)
        measured = fine_tuned(model, tasks) / (step**2 * p * outputs)
        errors[step] = np.abs(left - measured)[np.tril_indices(3)].max()
        assert left[2, 0] > 0.3
    # The error is of order `step`: a quarter of the step leaves a quarter of it, beside what descent to 1e-6 leaves (1e-3 of
    # the outputs). It was 0.112 and 0.041 with one output, 0.025 and 0.007 with three.
    assert errors[0.01] < 0.5 * errors[0.04] and errors[0.01] < 0.06, errors


def test_what_a_model_knows_it_does_not_learn():
    model = cnn()
    inputs = [images(8, t) for t in range(2)]
    known = [(x, model(x).detach(), x, model(x).detach()) for x in inputs]
    answer = ebbing.forecast(ebbing.torch.tangent_features(model, known), features=True)
    # Targets are the model's own answers: single examples are not answered to the last bit as batches are.
    assert np.abs(answer.forgetting).max() < 1e-20 and np.abs(answer.test_loss).max() < 1e-20
    # Real targets name no classes.
    assert answer.train_accuracy is None
    # Accuracies are those of the present outputs plus what is learned.
    tasks = [(inputs[0], signs((8, 1), 1)), (inputs[1], signs((8, 1), 2))]
    features = ebbing.torch.tangent_features(model, tasks, dim=None)
    theory = ebbing.SingleHead.from_features(features)
    f = theory.mean(features[1].x, t=1) + features[1].f[:, 0]
    after = np.array(theory.forecast()["train_accuracy"])
    assert after[0, 1] == np.mean(np.sign(f) == np.sign(features[1].y[:, 0])) and after[1, 1] == 1


def test_named_parameters_labels_and_flat_inputs(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(6, 30), torch.nn.ReLU(), torch.nn.Linear(30, 3)).double()
    x = np.random.default_rng(1).normal(size=(9, 6))
    labels = np.arange(9) % 3
    readout = ebbing.torch.tangent_features(model, [(x, labels)], parameters=["2.weight"], dim=None)
    phi, _ = ebbing.torch.features(model, [torch.tensor(x)], "1")
    # The gradient of output c is the hidden layer, in the place of c.
    np.testing.assert_allclose(kernel_of(readout[0]), np.kron(phi @ phi.T, np.eye(3)), rtol=0, atol=1e-12)
    assert readout[0].y.tolist() == np.eye(3)[labels].tolist()
    folded = torch.nn.Sequential(torch.nn.Flatten(), model)
    again = ebbing.torch.tangent_features(folded, [(x, labels)], parameters=["1.2.weight"], dim=None, shape=(2, 3))
    np.testing.assert_allclose(kernel_of(again[0]), kernel_of(readout[0]), rtol=0, atol=1e-12)
    tasks = ebbing.torch.tangent_features(model, [(x, labels, x, labels), (-x, labels, -x, labels)])
    ebbing.tasks.save(tmp_path / "model.npz", tasks)
    loaded = ebbing.tasks.load(tmp_path / "model.npz")
    assert np.array_equal(loaded[1].f_test, tasks[1].f_test) and repr(tasks).startswith("<2 tasks of 9 examples")
    answer, kept = (ebbing.forecast(one, features=True) for one in (tasks, loaded))
    assert np.array_equal(answer.test_accuracy, kept.test_accuracy)
    advice = ebbing.advise(tasks, features=True)
    nothing = next(row for row in advice.remedies if row["kind"] == "nothing")
    # The mean over all tasks but the last, of which there is one.
    assert nothing["forgetting"] == pytest.approx(answer.forgetting[1, 0], rel=1e-12)


def test_models_that_cannot_be_forecast_are_refused_in_a_sentence():
    x, y = torch.randn(6, 4), torch.tensor([1.0, -1.0] * 3)

    def refused(words, model, data=((x, y),), **settings):
        with pytest.raises(ValueError, match=words) as error:
            ebbing.torch.tangent_features(model, list(data), **settings)
        assert "\n" not in str(error.value)

    def linear(outputs=1):
        return torch.nn.Linear(4, outputs)

    refused(r"training mode with dropout \(1\)", torch.nn.Sequential(linear(), torch.nn.Dropout()))
    refused("batch normalization", torch.nn.Sequential(torch.nn.BatchNorm1d(4), linear()))
    assert len(ebbing.torch.tangent_features(torch.nn.Sequential(torch.nn.BatchNorm1d(4), linear()).eval(), [(x, y)])) == 1
    refused("requires a gradient; nothing", linear().requires_grad_(False))
    fixed = linear()
    fixed.bias.requires_grad_(False)
    refused("'bias' does not require", fixed, parameters=["weight", "bias"])
    refused("'heads' is none of the model's: weight, bias", linear(), parameters=["heads"])
    refused("2 outputs for 1 target columns", linear(2))
    refused("from 0 to 4; the model has 3 outputs", linear(3), [(x, torch.tensor([0, 1, 2, 4, 1, 0]))])
    refused("returns a tuple", torch.nn.LSTM(4, 2))
    refused("GiB; give a dim", linear(), dim=None, memory=100)
    refused("dim is 0", linear(), dim=0)
    refused("an input has 4 numbers", linear(), shape=(3, 2))
    refused("6 inputs but 5 targets", linear(), [(x, y[:5])])
    refused("no task", linear(), [])
    refused("come together", linear(), [(x, y, x, None)])
    refused("do not depend", torch.nn.Sequential(linear(), torch.nn.Threshold(1e9, 0.0)))
    tasks = ebbing.torch.tangent_features(linear(), [(x, y), (-x, y)])
    for theory in (ebbing.forecast, ebbing.SingleHead):
        with pytest.raises(ValueError, match="take them as features"):
            theory(tasks)


def test_the_projection_may_be_drawn_by_a_generator():
    data = [(images(6, 0), signs((6,), 1))]
    draw = lambda seed: ebbing.torch.tangent_features(cnn(), data, dim=32, seed=np.random.default_rng(seed))  # noqa: E731
    assert np.array_equal(draw(1)[0].x, draw(1)[0].x) and not np.array_equal(draw(1)[0].x, draw(2)[0].x)
    assert isinstance(draw(1).settings["tangent"]["seed"], int)
