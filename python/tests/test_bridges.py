"""Tasks and features from PyTorch and Avalanche, with the packages themselves."""

import numpy as np
import pytest

import ebbing

def torch_or_skip():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def test_tensors():
    torch = torch_or_skip()
    x = torch.randn(10, 6, dtype=torch.float64, requires_grad=True)
    want = ebbing.kernel(x.detach().numpy())
    assert np.array_equal(ebbing.kernel(x), want)
    single = x.detach().float()
    assert np.array_equal(ebbing.kernel(single), ebbing.kernel(single.numpy().astype(float)))


def test_tasks_from_data_sets():
    torch = torch_or_skip()
    from torch.utils.data import TensorDataset

    torch.manual_seed(0)
    sets = [TensorDataset(torch.randn(12, 1, 4, 4), torch.arange(12) % 2 + 3) for _ in range(3)]
    tasks = ebbing.tasks.from_torch(sets, sets)
    assert len(tasks) == 3 and tasks[0].x.shape == (12, 16) and set(tasks[0].y) == {-1.0, 1.0}
    assert np.array_equal(tasks[1].x_test, tasks[1].x)
    np.testing.assert_array_equal(tasks[2].x[3], sets[2][3][0].numpy().ravel().astype(float))
    assert ebbing.SingleHead(tasks).forgetting().shape == (3, 3)
    # Training data is interpolated, and answered by class.
    assert np.array_equal(ebbing.MultiHead(tasks[:2], alpha=0.5).predict(tasks[1].x), np.arange(12) % 2 + 3)
    assert len(ebbing.tasks.from_torch(sets, limit=5)[0].x) == 5
    with pytest.raises(ValueError, match="one per task"):
        ebbing.tasks.from_torch(sets, sets[:1])


def test_features_of_a_layer():
    torch = torch_or_skip()
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1))
    model.train()
    x, y = torch.randn(20, 8), torch.arange(20) % 2
    loader = DataLoader(TensorDataset(x, y), batch_size=6)
    phi, labels = ebbing.torch.features(model, loader, "1")
    want = torch.relu(model[0](x)).detach().numpy()
    # The same layer in batches of another size: single precision.
    np.testing.assert_allclose(phi, want, rtol=1e-5, atol=1e-6)
    assert np.array_equal(labels, y.numpy()) and model.training
    by_module, _ = ebbing.torch.features(model, loader, model[1])
    assert np.array_equal(by_module, phi)
    out, none = ebbing.torch.features(model, [x])
    assert out.shape == (20, 1) and none is None
    with pytest.raises(ValueError, match="the model has"):
        ebbing.torch.features(model, loader, "9")
    pair = ebbing.order_parameters_from_features(phi, 2.0 * labels - 1, phi, 2.0 * labels - 1)
    assert pair.gamma_feature == pytest.approx(1, abs=1e-6)


def test_tasks_from_an_avalanche_benchmark():
    pytest.importorskip("avalanche", reason="avalanche-lib is not installed")
    import torch
    from avalanche.benchmarks.utils import as_classification_dataset
    from avalanche.benchmarks.scenarios.dataset_scenario import benchmark_from_datasets
    from torch.utils.data import TensorDataset

    torch.manual_seed(0)

    def experiences(count):
        made = []
        for task in range(3):
            data = TensorDataset(torch.randn(count, 1, 4, 4), torch.arange(count) % 2 + 2 * task)
            data.targets = data.tensors[1].tolist()
            made.append(as_classification_dataset(data))
        return made

    train, test = experiences(12), experiences(6)
    benchmark = benchmark_from_datasets(train=train, test=test)
    tasks = ebbing.from_avalanche(benchmark)
    assert len(tasks) == 3 and tasks[0].x.shape == (12, 16) and tasks[0].x_test.shape == (6, 16)
    assert tasks[2].y.shape == (12, 6) and np.array_equal(tasks[2].y.sum(0), [0, 0, 0, 0, 6, 6])
    np.testing.assert_array_equal(tasks[1].x[4], train[1][4][0].numpy().ravel().astype(float))
    assert ebbing.forecast(tasks).forgetting.shape == (3, 3)
    assert len(ebbing.from_avalanche(benchmark.train_stream, limit=5)[0].x) == 5


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]", "float64"])
def test_nullable_and_arrow_columns_are_numbers(dtype: str) -> None:
    pandas = pytest.importorskip("pandas")
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    x = np.random.default_rng(1).normal(size=(6, 4))
    y = np.array([1.0, -1.0] * 3)
    frame = pandas.DataFrame(x).astype(dtype)
    expected = ebbing.forecast([(x, y), (x[::-1], y)]).forgetting
    answer = ebbing.forecast([(frame, pandas.Series(y).astype(dtype)), (frame[::-1], y)])
    np.testing.assert_array_equal(answer.forgetting, expected)
    frame.iloc[2, 1] = None
    with pytest.raises((TypeError, ValueError), match="task 1"):
        ebbing.forecast([(frame, y), (x, y)])


class Loader:
    """What a DataLoader looks like from outside."""

    batch_size = 2
    dataset = [([0.0, 1.0], 0), ([1.0, 0.0], 1)]


def test_loaders_are_no_data_sets() -> None:
    with pytest.raises(TypeError, match=r"datasets is a Loader, which gives batches; give its data set: \[datasets.dataset\]"):
        ebbing.tasks.from_torch(Loader())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"datasets\[1\] is a Loader.*datasets\[1\].dataset"):
        ebbing.tasks.from_torch([Loader.dataset, Loader()])
    assert len(ebbing.tasks.from_torch([Loader.dataset, Loader.dataset])) == 2


def test_tensors_of_half_as_many_digits_are_numbers() -> None:
    torch = pytest.importorskip("torch")
    x = torch.eye(3, dtype=torch.bfloat16)
    assert ebbing.kernel(x).tolist() == ebbing.kernel(np.eye(3)).tolist()
