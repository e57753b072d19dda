"""Tensors from data, sizes, ranges and random numbers."""

import numpy as np
import pytest

import engine


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (1, engine.int64),
        (True, engine.bool),
        (1.5, engine.float32),
        ([], engine.float32),
        ([True, 2], engine.int64),
        ([True, 2.0], engine.float32),
        ([np.float64(3)], engine.float64),
        ([np.float16(3), 1], engine.float16),
        (np.int32(3), engine.int32),
        (range(3), engine.int64),
        ([np.array([1, 2]), np.array([3, 4.5])], engine.float64),
    ],
)
def test_dtype_is_inferred(data, kind):
    x = engine.tensor(data)
    assert x.dtype is kind
    assert x.tolist() == np.array(data).tolist()


def test_tensor_copies():
    array = np.zeros(3)
    x = engine.tensor(array)
    y = engine.tensor(x)
    array += 1
    x[0] = 5
    assert (x.tolist(), y.tolist()) == ([5, 0, 0], [0, 0, 0])


def test_as_tensor_shares_where_it_can():
    array = np.zeros(2)
    x = engine.as_tensor(array)
    array += 1
    assert x.tolist() == [1, 1]
    assert engine.as_tensor(x) is x
    assert engine.as_tensor(array, dtype=engine.float32).dtype is engine.float32


@pytest.mark.parametrize(
    ("data", "options", "error", "pattern"),
    [
        ([[1, 2], [3]], {}, ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
        ([[1], 2], {}, TypeError, "not a sequence"),
        ([1, [2]], {}, TypeError, "nested sequence"),
        ("abc", {}, TypeError, "invalid data type 'str'"),
        (["a"], {}, ValueError, "too many dimensions 'str'"),
        (None, {}, RuntimeError, "could not infer dtype of NoneType"),
        ([300], {"dtype": engine.uint8}, RuntimeError, "300 cannot be converted to type uint8"),
        ([float("nan")], {"dtype": engine.int64}, RuntimeError, "nan cannot be converted"),
        ([2**63], {}, ValueError, "9223372036854775808"),
        (np.arange(4)[::-1], {}, ValueError, "negative"),
        (np.array(["a"]), {}, TypeError, "can't convert np.ndarray"),
        ([1], {"dtype": "float32"}, TypeError, "'dtype' must be an engine.dtype"),
    ],
)
def test_data_that_is_refused(data, options, error, pattern):
    with pytest.raises(error, match=pattern):
        engine.tensor(data, **options)


def test_minus_one_wraps_in_uint8():
    assert engine.tensor([-1], dtype=engine.uint8).tolist() == [255]


@pytest.mark.parametrize("make", [engine.zeros, engine.ones, engine.empty])
def test_sizes(make):
    assert (
        tuple(make(2, 3).shape) == tuple(make((2, 3)).shape) == tuple(make([2, 3]).shape) == (2, 3)
    )
    assert tuple(make(()).shape) == ()
    assert tuple(make(engine.tensor(3)).shape) == (3,)
    assert make(2, dtype=engine.int8, device="meta").is_meta
    with pytest.raises(RuntimeError, match="-1"):
        make(2, -1)
    with pytest.raises(RuntimeError, match="4611686018427387904"):
        make(2**60)
    with pytest.raises(RuntimeError, match="overflow"):
        make(2**40, 2**40)
    with pytest.raises(TypeError, match=str(2**70)):
        make(2**70)
    for wrong in (2.5, "a", (2, 3.0)):
        with pytest.raises(TypeError, match="size"):
            make(wrong)
    with pytest.raises(TypeError, match="size"):
        make()


def test_out():
    x = engine.zeros(3)
    assert engine.ones(3, out=x) is x
    assert x.tolist() == [1, 1, 1]
    y = engine.empty(0)
    engine.full((2,), 7.0, out=y)
    assert y.tolist() == [7, 7]
    with pytest.warns(UserWarning, match="was resized"):
        engine.ones(2, out=x)
    assert x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match=r"Double does not match dtype of out parameter .Float"):
        engine.ones(2, dtype=engine.float64, out=x)


def test_requires_grad_makes_a_leaf():
    assert not engine.zeros(1, requires_grad=False).requires_grad
    result = engine.zeros(1, requires_grad=True)
    assert result.requires_grad
    assert result.is_leaf
    assert result.grad is None
    with pytest.raises(RuntimeError, match="floating point and complex"):
        engine.zeros(1, dtype=engine.int64, requires_grad=True)


def test_ranges():
    assert engine.arange(5).tolist() == [0, 1, 2, 3, 4]
    assert engine.arange(5.0).dtype is engine.float32
    assert engine.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert engine.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    for arguments in ((5, 0), (0, 5, 0), (0, 5, -1)):
        with pytest.raises(RuntimeError, match="step"):
            engine.arange(*arguments)


def test_random_numbers_repeat():
    engine.manual_seed(3)
    a, state = engine.rand(4), engine.get_rng_state()
    b = engine.randn(4)
    engine.manual_seed(3)
    assert engine.equal(engine.rand(4), a)
    engine.set_rng_state(state)
    assert engine.equal(engine.randn(4), b)
    with engine.fork_rng():
        engine.rand(10)
    with engine.random.fork_rng(devices=[], enabled=True):
        engine.rand(10)
    own = engine.Generator().manual_seed(3)
    assert engine.equal(engine.rand(4, generator=own), a)
    assert not engine.equal(engine.rand(4, generator=own), a)
    with pytest.raises(RuntimeError):
        engine.randint(5, 5, (2,))


def test_tensor_class_makes_default_floats():
    assert tuple(engine.Tensor(2, 3).shape) == (2, 3)
    assert engine.Tensor([1, 2]).dtype is engine.float32
