"""Memory shared with NumPy and DLPack: written from both sides, kept alive, released once."""

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import engine
from engine.inspect import live


def test_from_numpy_shares_both_ways():
    array = np.arange(6.0).reshape(2, 3)[:, ::2]
    x = engine.from_numpy(array)
    array += 1
    x.add_(1)
    assert x.tolist() == array.tolist() == [[2, 4], [5, 7]]
    assert x.stride() == (3, 2)
    assert live.allocator(x) == "foreign"


def test_the_array_lives_as_long_as_some_view_of_the_tensor():
    array = np.ones(3)
    freed = weakref.ref(array)
    y = engine.from_numpy(array)[1:]
    del array
    gc.collect()
    assert freed() is not None
    assert y.tolist() == [1, 1]
    del y
    gc.collect()
    assert freed() is None


def test_arrays_are_let_go_of_once_from_many_threads():
    arrays = [np.ones(4) for _ in range(200)]
    freed = [weakref.ref(array) for array in arrays]
    tensors = [engine.from_numpy(array) for array in arrays]
    del arrays

    def drop():
        while tensors:
            try:
                tensors.pop()
            except IndexError:
                return

    threads = [threading.Thread(target=drop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not any(ref() is not None for ref in freed)


def test_numpy_holds_the_storage_not_the_tensor():
    x = engine.arange(4)
    array = x[1:].numpy()
    assert live.storage_use_count(x) == 2
    freed = weakref.ref(x)
    del x
    assert freed() is None
    array += 1
    assert array.tolist() == [2, 3, 4]


def test_numpy_counts_go_back():
    x = engine.zeros(3)
    array = x.numpy()
    array[0] = 5
    assert x.tolist() == [5, 0, 0]
    del array
    assert live.storage_use_count(x) == 1


def test_array_protocol():
    x = engine.tensor([1, 2])
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.asarray(x, dtype="f4").dtype == np.float32
    assert memoryview(x.numpy()).tolist() == [1, 2]
    assert engine.zeros(0, 3).numpy().shape == (0, 3)
    assert engine.tensor(5).numpy().shape == ()


@pytest.mark.parametrize("kind", [d for d in engine.dtypes.DTYPES if d.typestr])
def test_every_dtype_goes_to_numpy_and_back(kind):
    x = engine.tensor([0, 1, 1]).to(kind)
    array = x.numpy()
    assert array.dtype.str == kind.typestr
    assert engine.from_numpy(array).dtype is kind
    assert np.array_equal(np.from_dlpack(x), array)
    assert engine.from_dlpack(array).dtype is kind


@pytest.mark.parametrize(
    ("array", "error", "pattern"),
    [
        (np.arange(4)[::-1], ValueError, "negative"),
        (np.array([1, 2], ">i4"), ValueError, "byte order"),
        (np.array(["a"]), TypeError, "can't convert"),
        (np.array([None]), TypeError, "can't convert"),
        (np.zeros(3, [("a", "f4"), ("b", "i2")])["a"], ValueError, "not a multiple"),
        ([1], TypeError, r"expected np.ndarray \(got list\)"),
    ],
)
def test_arrays_that_cannot_be_shared(array, error, pattern):
    with pytest.raises(error, match=pattern):
        engine.from_numpy(array)


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.bool_(True)])
def test_numbers_of_numpy_are_operands_on_both_sides(number):
    x = engine.tensor([1.0, 3.0], requires_grad=True)
    for result, expected in (
        (number * x, float(number) * x),
        (number - x, float(number) - x),
        (number / x, float(number) / x),
        (x**number, x ** float(number)),
        (number < x, float(number) < x),
    ):
        assert type(result) is engine.Tensor
        assert engine.equal(result, expected)


def test_arrays_are_operands():
    x, array = engine.tensor([1.0, 3.0]), np.array([1.0, 2.0])
    assert (x == array).tolist() == (array == x).tolist() == [True, False]
    assert (x != array).tolist() == [False, True]
    for result, expected in (
        (x * array, [1, 6]),
        (x + array, [2, 5]),
        (array / x, [1, 2 / 3]),
        (np.sqrt(x), [1, 3**0.5]),
    ):
        assert type(result) is engine.Tensor
        assert result.tolist() == pytest.approx(expected)
    with pytest.raises(TypeError, match="unsupported operand"):
        array * x
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        np.asarray(x.clone().requires_grad_())


def test_read_only_arrays_warn():
    array = np.ones(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        engine.from_numpy(array)


def test_tensors_that_numpy_cannot_have():
    with pytest.raises(TypeError, match="meta"):
        engine.zeros(2, device="meta").numpy()
    with pytest.raises(TypeError, match="bfloat16"):
        engine.zeros(2, dtype=engine.bfloat16).numpy()


def test_dlpack_shares_with_numpy():
    x = engine.zeros(3)
    array = np.from_dlpack(x)
    array[1] = 7
    assert x.tolist() == [0, 7, 0]
    source = np.ones(2)
    y = engine.from_dlpack(source)
    source[0] = 5
    assert y.tolist() == [5, 1]


def test_a_capsule_is_taken_once_and_given_back_once():
    x = engine.zeros(3)
    for options in ({}, {"max_version": (1, 0)}):
        capsule = x.__dlpack__(**options)
        assert live.storage_use_count(x) == 2
        y = engine.from_dlpack(capsule)
        with pytest.raises(RuntimeError, match="taken already"):
            engine.from_dlpack(capsule)
        del capsule
        assert live.storage_use_count(x) == 2
        del y
        assert live.storage_use_count(x) == 1


def test_a_capsule_nobody_takes_gives_back():
    x = engine.zeros(3)
    capsule = x.__dlpack__()
    del capsule
    assert live.storage_use_count(x) == 1


def test_dlpack_refusals():
    with pytest.raises(BufferError, match="meta"):
        engine.zeros(1, device="meta").__dlpack__()
    with pytest.raises(TypeError, match="__dlpack__"):
        engine.from_dlpack([1])
    with pytest.raises(BufferError):
        engine.from_dlpack(np.ones(2, np.uint16))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(BufferError, match="negative"):
            engine.from_dlpack(np.arange(4)[::-1])
