"""One set of examples however it is held: arrays, files, data sets of Hugging Face and torchvision, loaders, bfloat16, memory maps."""

import numpy as np
import pytest

import ebbing


def arrays(classes=6, each=8, test=3, seed=0):
    rng = np.random.default_rng(seed)
    y, y_test = np.repeat(np.arange(classes), each), np.repeat(np.arange(classes), test)
    x, x_test = (rng.normal(size=(len(of), 10)) + 3 * np.eye(10)[of] for of in (y, y_test))
    return x.astype(np.float32), y, x_test.astype(np.float32), y_test


def same(found, known):
    assert found.names == known.names and len(found) == len(known)
    for a, b in zip(found, known):
        for one, other in zip(a, b):
            np.testing.assert_array_equal(one, other)


def test_arrays_become_tasks_of_so_many_classes(tmp_path):
    x, y, x_test, y_test = arrays()
    tasks = ebbing.tasks.by_class((x, y, x_test, y_test), classes_per_task=2, seed=4)
    assert len(tasks) == 3 and tasks[0].x.shape == (16, 10) and tasks[0].y.shape == (16, 6) and len(tasks[2].x_test) == 6
    divided = tasks.settings["drawn"]["classes"]
    assert sorted(sum(divided, [])) == list(range(6))
    for task, classes in zip(tasks, divided):
        assert sorted(np.flatnonzero(task.y.any(axis=0))) == classes
    assert any(ebbing.tasks.by_class((x, y), classes_per_task=2, seed=s).names != tasks.names for s in range(5))
    # The same words and the same tasks from a file, under any usual names.
    path = tmp_path / "set.npz"
    np.savez(path, X_train=x, labels=y, test_features=x_test, y_test=y_test)
    same(ebbing.tasks.draw(tasks=path, classes_per_task=2, seed=4), tasks)
    same(ebbing.tasks.by_class(path, classes_per_task=2, seed=4), tasks)
    same(ebbing.tasks.by_class(ebbing.tasks.load(path), classes_per_task=2, seed=4), tasks)
    found = ebbing.forecast(tasks, features=True, beta=10.0)
    assert found.test_accuracy.shape == (3, 3)
    unequal = ebbing.tasks.by_class((x, y), classes_per_task=4)
    assert sorted(len(task.x) for task in unequal) == [16, 32]


def test_splits_names_and_any_labels():
    x, y, x_test, y_test = arrays(classes=3)
    known = ebbing.tasks.by_class((x, y, x_test, y_test), classes_per_task=1)
    same(ebbing.tasks.by_class({"train": (x, y), "test": (x_test, y_test)}, classes_per_task=1), known)
    names = np.array(["dog", "ape", "cat"])
    named = ebbing.tasks.by_class((x, names[y], x_test, names[y_test]), classes_per_task=1)
    assert sorted(named.names) == ["ape", "cat", "dog"]
    odd = ebbing.tasks.by_class((x, 10**12 * y - 5, x_test, 10**12 * y_test - 5), classes_per_task=1)
    assert sorted(map(int, odd.names)) == [-5, 10**12 - 5, 2 * 10**12 - 5]
    with pytest.raises(TypeError, match="by_class"):
        ebbing.forecast({"train": (x, y), "test": (x_test, y_test)})
    with pytest.raises(ValueError, match="must be at most 2"):
        ebbing.tasks.by_class((x, y), classes_per_task=3)
    with pytest.raises(ValueError, match="there are 3 tasks already"):
        ebbing.tasks.by_class(known, classes_per_task=1)


def test_matlab_files_and_memory_maps(tmp_path):
    x, y, *_ = arrays()
    known = ebbing.tasks.by_class((x, y), classes_per_task=3)
    np.save(tmp_path / "big_x.npy", x.astype(np.float16))
    np.save(tmp_path / "big_y.npy", y)
    mapped = np.load(tmp_path / "big_x.npy", mmap_mode="r")
    half = ebbing.tasks.by_class((mapped, y), classes_per_task=3)
    same(ebbing.tasks.by_class(tmp_path / "big_x.npy", classes_per_task=3), half)
    np.testing.assert_allclose(half[0].x, known[0].x, rtol=1e-3, atol=1e-3)
    scipy = pytest.importorskip("scipy.io", reason="SciPy is not installed")
    # MATLAB keeps labels as doubles.
    scipy.savemat(tmp_path / "set.mat", {"X": x.astype(float), "labels": y.astype(float)}, do_compression=True)
    same(ebbing.tasks.by_class(tmp_path / "set.mat", classes_per_task=3), known)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x, y, *_ = arrays()
    short = x.astype(ml_dtypes.bfloat16)
    same(
        ebbing.tasks.by_class((short, y), classes_per_task=2),
        ebbing.tasks.by_class((short.astype(np.float32), y), classes_per_task=2),
    )


def test_bfloat16_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, y, *_ = arrays()
    short = torch.tensor(x, dtype=torch.bfloat16)
    same(
        ebbing.tasks.by_class((short, torch.tensor(y)), classes_per_task=2),
        ebbing.tasks.by_class((short.float().numpy(), y), classes_per_task=2),
    )


def test_hugging_face_data_sets():
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    x, y, x_test, y_test = arrays(classes=3)
    names = ["dog", "ape", "cat"]
    kinds = datasets.Features({"embedding": datasets.Sequence(datasets.Value("float32")), "label": datasets.ClassLabel(names=names)})

    def table(x, y):
        return datasets.Dataset.from_dict({"embedding": x.tolist(), "label": y.tolist()}, features=kinds)

    both = datasets.DatasetDict({"train": table(x, y), "test": table(x_test, y_test)})
    known = ebbing.tasks.by_class((x, np.array(names)[y], x_test, np.array(names)[y_test]), classes_per_task=1)
    same(ebbing.tasks.by_class(both, classes_per_task=1), known)
    assert sorted(known.names) == sorted(names)
    plain = datasets.Dataset.from_dict({"vector": x.tolist(), "kind": y.tolist()})
    with pytest.raises(ValueError, match="say columns="):
        ebbing.tasks.by_class(plain, classes_per_task=1)
    same(
        ebbing.tasks.by_class(plain, classes_per_task=1, columns=("vector", "kind")),
        ebbing.tasks.by_class((x, y), classes_per_task=1),
    )
    # One data set for every task.
    assert len(ebbing.tasks.TaskSequence([both, both])[1]) == 4


def test_torchvision_data_sets_and_loaders():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, y, x_test, y_test = arrays(classes=3)
    known = ebbing.tasks.by_class((x, y, x_test, y_test), classes_per_task=1)

    def data(x, y):
        return torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y))

    splits = {"train": data(x, y), "test": data(x_test, y_test)}
    same(ebbing.tasks.by_class(splits, classes_per_task=1), known)
    same(ebbing.tasks.by_class((splits["train"], splits["test"]), classes_per_task=1), known)
    loaders = {name: torch.utils.data.DataLoader(one, batch_size=7) for name, one in splits.items()}
    same(ebbing.tasks.by_class(loaders, classes_per_task=1), known)
    vision = pytest.importorskip("torchvision", reason="torchvision is not installed")
    fake = vision.datasets.FakeData(size=30, image_size=(1, 4, 4), num_classes=3, transform=vision.transforms.ToTensor())
    fake.classes = ["dog", "ape", "cat"]
    tasks = ebbing.tasks.by_class({"train": fake}, classes_per_task=1)
    assert sorted(tasks.names) == ["ape", "cat", "dog"] and tasks[0].x.shape[1] == 16
