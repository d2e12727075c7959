"""Whatever users have goes in, and what cannot is refused with a sentence."""

import numpy as np
import pytest

import ebbing

rng = np.random.default_rng(0)
X, y = rng.normal(size=(12, 8)), np.sign(rng.normal(size=12))
WANT = ebbing.kernel(X)


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


LAYOUTS = {
    "list": X.tolist(),
    "fortran": np.asfortranarray(X),
    "strided": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": X[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": X.T.copy().T,
    "read-only": read_only(X),
    "other byte order": X.astype(X.dtype.newbyteorder()),
    "unaligned": np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(X.shape),
    "three axes": X.reshape(12, 2, 4),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    before = np.array(LAYOUTS[name])
    assert np.array_equal(ebbing.kernel(LAYOUTS[name]), WANT)
    assert np.array_equal(ebbing.SingleHead([(LAYOUTS[name], y)]).mean(X), ebbing.SingleHead([(X, y)]).mean(X))
    assert np.array_equal(np.array(LAYOUTS[name]), before), "inputs are not written to"


def test_single_precision_and_integers():
    single = X.astype(np.float32)
    assert np.array_equal(ebbing.kernel(single), ebbing.kernel(single.astype(float)))
    whole = rng.integers(-3, 4, size=(12, 8))
    whole[:, 0] = 1
    for dtype in (np.int8, np.int64):
        assert np.array_equal(ebbing.kernel(whole.astype(dtype)), ebbing.kernel(whole.astype(float)))
    assert ebbing.order_parameters(X, y.astype(int), X, y > 0).ranks == [12, 12]


def test_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    assert np.array_equal(ebbing.kernel(frame), WANT)
    pair = ebbing.order_parameters(frame, pandas.Series(y), frame, pandas.Series(y))
    assert pair.gamma_feature == pytest.approx(1)


class Tensor:
    """Has the array protocol and a graph, as a tensor has."""

    def __init__(self, values, attached=True):
        self.values, self.attached = values, attached

    def detach(self):
        return Tensor(self.values, False)

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        if self.attached:
            raise RuntimeError("call detach() first")
        return np.asarray(self.values, dtype=dtype)


def test_whatever_has_the_array_protocol():
    assert np.array_equal(ebbing.kernel(Tensor(X)), WANT)


def test_float64_is_not_copied():
    from ebbing._arrays import matrix, targets

    for array in (X, np.asfortranarray(X), X[::2]):
        assert np.shares_memory(matrix(array), array)
    assert np.shares_memory(targets(y), y)


def test_results_own_their_memory_and_can_be_written_to():
    K = ebbing.kernel(X)
    view = K[2:5]
    del K
    view *= 2
    assert np.array_equal(view, 2 * WANT[2:5])


def test_several_target_columns():
    Y = rng.normal(size=(12, 3))
    network = ebbing.SingleHead([(X, Y), (X[::-1] + 1, Y)])
    assert network.mean(X).shape == (12, 3) and network.sample(X, 2).shape == (2, 12, 3)
    heads = ebbing.MultiHead([(X, Y), (X[::-1] + 1, Y)], alpha=0.5, lam=3.0)
    assert heads.outputs == [3, 3] and heads.u1.shape == (2, 2, 3, 3)
    assert heads.mean(X, 1).shape == (12, 3) and heads.covariance(X, 2).shape == (12, 3, 3)
    with pytest.raises(ValueError, match="derived for one output per head"):
        heads.hidden_kernel(X)


BAD = {
    "unequal lengths": (ValueError, "12 inputs but 11 targets", lambda: ebbing.SingleHead([(X, y[:11])])),
    "unequal features": (ValueError, "features", lambda: ebbing.SingleHead([(X, y), (X[:, :7], y)])),
    "nan": (ValueError, "finite", lambda: ebbing.SingleHead([(np.where(X > 1, np.nan, X), y)])),
    "nan in a kernel": (ValueError, "finite", lambda: ebbing.kernel(np.where(X > 1, np.nan, X))),
    "infinite target": (ValueError, "finite", lambda: ebbing.order_parameters(X, y / 0.0, X, y)),
    "one axis": (ValueError, "two axes", lambda: ebbing.kernel(X[0])),
    "three axes of targets": (ValueError, "vector or a matrix", lambda: ebbing.SingleHead([(X, X[:, :, None])])),
    "strings": (TypeError, "real numbers", lambda: ebbing.kernel([["a", "b"]])),
    "complex": (TypeError, "real numbers", lambda: ebbing.kernel(X + 1j)),
    "ragged": (TypeError, "array of numbers|rows of equal length", lambda: ebbing.kernel([[1.0, 2.0], [3.0]])),
    "objects": (TypeError, "rows of equal length", lambda: ebbing.kernel(np.array([[object()]]))),
    "no task": (ValueError, "no task", lambda: ebbing.SingleHead([])),
    "no list": (TypeError, "list of", lambda: ebbing.SingleHead(7)),
    "a matrix alone": (TypeError, "give \\(X, y\\)", lambda: ebbing.SingleHead([X])),
    "three parts": (ValueError, "3 parts", lambda: ebbing.SingleHead([(X, y, X)])),
    "test inputs alone": (ValueError, "come together", lambda: ebbing.SingleHead([(X, y, X, None)])),
    "targets of zero": (ValueError, "all zero", lambda: ebbing.SingleHead([(X, np.zeros(12))])),
    "unknown kind": (ValueError, "kind is ntkk", lambda: ebbing.kernel(X, kind="ntkk")),
    "unknown activation": (ValueError, "activation is tanh", lambda: ebbing.kernel(X, activation="tanh")),
    "unknown mode": (ValueError, "mode is fast", lambda: ebbing.SingleHead([(X, y)], mode="fast")),
    "depth 0": (ValueError, "depth is 0", lambda: ebbing.kernel(X, depth=0)),
    "depth below 0": (ValueError, "depth is -1", lambda: ebbing.kernel(X, depth=-1)),
    "depth in part": (ValueError, "whole number", lambda: ebbing.kernel(X, depth=1.5)),
    "negative sigma": (ValueError, "sigma is -1", lambda: ebbing.kernel(X, sigma=-1)),
    "negative lam": (ValueError, "lam is -1", lambda: ebbing.kernel(X, kind="k1", lam=-1)),
    "lam in mode rf": (ValueError, "lam is 1", lambda: ebbing.SingleHead([(X, y)], lam=1.0)),
    "delta at the first task": (ValueError, "outside the theory", lambda: ebbing.kernel(X, kind="delta")),
    "no load": (ValueError, "give alpha or width", lambda: ebbing.MultiHead([(X, y), (X + 1, y)])),
    "alpha 1": (ValueError, "alpha is 1", lambda: ebbing.MultiHead([(X, y), (X + 1, y)], alpha=1).forgetting()),
    "few resamples": (ValueError, "bootstrap is 5", lambda: ebbing.order_parameters(X, y, X, y, bootstrap=5)),
    "unknown setting": (TypeError, "unexpected keyword argument 'dept'", lambda: ebbing.forecast([(X, y), (X + 1, y)], dept=2)),
    "wrong type": (ValueError, "order is yes; must be best or the numbers of all tasks", lambda: ebbing.forecast([(X, y), (X + 1, y)], order="yes")),
    "nan setting": (ValueError, "ratio is nan", lambda: ebbing.tasks.permuted(ratio=float("nan"))),
    "ratio above 1": (ValueError, "ratio is 1.5", lambda: ebbing.tasks.permuted(ratio=1.5)),
    "unknown set": (ValueError, "nowhere", lambda: ebbing.data.load("nowhere")),
    "unknown convention": (ValueError, "convention", lambda: ebbing.metrics([[1.0]], convention="mine")),
    "accuracy above 1": (ValueError, "\\[0, 1\\]", lambda: ebbing.metrics([[1.5]])),
    "no rule": (ValueError, "learners is sgd; must be gd, l2 or ewc", lambda: ebbing.train([(X, y)], learners=["sgd"])),
    "sampling at lam = inf": (ValueError, "finite", lambda: ebbing.sample([(X, y)], lam=float("inf"))),
    "no such head": (ValueError, "head is 3", lambda: ebbing.MultiHead([(X, y)], alpha=0.5).mean(X, 3)),
    "no such time": (ValueError, "tasks count from 1 to 1", lambda: ebbing.SingleHead([(X, y)]).mean(X, 2)),
    "no test sets": (ValueError, "held-out", lambda: ebbing.SingleHead([(X, y)]).generalization()),
    "no file": (OSError, "nothing.npz", lambda: ebbing.tasks.load("nothing.npz")),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_with_a_sentence(name):
    kind, sentence, act = BAD[name]
    with np.errstate(divide="ignore"), pytest.raises(kind, match=sentence) as caught:
        act()
    assert "\n" not in str(caught.value)


def test_singular_kernels_are_numerical_errors():
    twice = np.vstack([X, X * (1 + 1e-15)])
    with pytest.raises(ebbing.NumericalError, match="positive definite|correct digits"):
        ebbing.order_parameters_from_kernels(np.ones((4, 4)), np.eye(4), np.eye(4) * 0, y[:4], y[:4], ridge=1e-300)
    assert issubclass(ebbing.NumericalError, ArithmeticError)
    with pytest.raises((ebbing.NumericalError, ValueError)):
        ebbing.SingleHead([(twice, np.concatenate([y, -y]))])
