"""Operators that answer with Python values, write descriptions, or take only sizes."""

from __future__ import annotations

import numpy as np
import pytest
from tools import name_of, values

import engine


def test_equal_and_allclose_answer_with_a_bool() -> None:
    x = engine.tensor([1.0, 2.0])
    assert engine.equal(x, x.clone()) is True
    assert engine.equal(x, engine.tensor([1.0, 2.5])) is False
    assert engine.equal(x, engine.ones(3)) is False
    assert engine.allclose(x, x + 1e-7) is True
    assert engine.allclose(x, x + 0.1) is False
    nan = engine.tensor([float("nan")])
    assert not engine.allclose(nan, nan)
    assert engine.allclose(nan, nan, equal_nan=True)


def test_numpy_T_is_T() -> None:
    x = engine.arange(24).reshape(2, 3, 4)
    assert (x.T.shape, x.T.data_ptr()) == ((4, 3, 2), x.data_ptr())
    assert np.array_equal(values(x.T), values(x).T)


def test_alias_is_another_tensor_over_the_same_memory() -> None:
    x = engine.arange(3)
    other = engine.ops.aten.alias(x)
    assert other is not x
    other.zero_()
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["new_zeros", "new_ones", "new_empty", "new_full"])
def test_new_tensors_take_the_dtype(name: str) -> None:
    source = engine.empty(1, dtype=engine.float64)
    more = (7,) if name == "new_full" else ()
    result = getattr(source, name)((2, 3), *more)
    assert (tuple(result.shape), name_of(result.dtype)) == ((2, 3), "float64")
    other = getattr(source, name)((2,), *more, dtype=engine.int32)
    assert name_of(other.dtype) == "int32"
    expected = {"new_zeros": 0, "new_ones": 1, "new_full": 7}.get(name)
    if expected is not None:
        assert result.tolist() == [[expected] * 3] * 2


def test_scalar_tensor() -> None:
    result = engine.scalar_tensor(3, dtype=engine.int16)
    assert (result.shape, result.item(), name_of(result.dtype)) == ((), 3, "int16")
    assert name_of(engine.scalar_tensor(3).dtype) == "float32"


def test_empty_strided_has_those_strides() -> None:
    result = engine.empty_strided((2, 3), (1, 2))
    assert (tuple(result.shape), result.stride()) == ((2, 3), (1, 2))
    with pytest.raises(RuntimeError):
        engine.empty_strided((2, 3), (1,))


def test_as_strided_reads_the_storage() -> None:
    x = engine.arange(10)
    assert x.as_strided((3, 2), (2, 1), 1).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert x[5:].as_strided((2,), (3,), 0).tolist() == [0, 3]
    with pytest.raises(RuntimeError):
        x.as_strided((4,), (4,))
    assert x.as_strided_((2, 2), (5, 1)) is x
    assert x.tolist() == [[0, 1], [5, 6]]


def test_slice_is_what_brackets_do() -> None:
    x = engine.arange(12).reshape(3, 4)
    assert engine.equal(engine.ops.aten.slice(x, 1, 1, 4, 2), x[:, 1:4:2])
    assert engine.equal(engine.ops.aten.slice(x, 0, -2), x[-2:])


def test_set_takes_another_storage() -> None:
    x, other = engine.zeros(2), engine.arange(6.0).reshape(2, 3)
    engine.ops.aten.set_(x, other)
    assert (x.tolist(), x.data_ptr()) == (other.tolist(), other.data_ptr())


def test_view_by_sizes_and_by_dtype() -> None:
    x = engine.arange(6, dtype=engine.int32)
    assert x.view(2, -1).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.view(engine.int16).tolist() == [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]
    with pytest.raises(RuntimeError):
        x.view(2, 3).t().view(6)


def test_meshgrid() -> None:
    a, b = engine.arange(2), engine.arange(3)
    for indexing in ("ij", "xy"):
        result = engine.meshgrid(a, b, indexing=indexing)
        for grid, want in zip(
            result, np.meshgrid([0, 1], [0, 1, 2], indexing=indexing), strict=True
        ):
            assert np.array_equal(values(grid), want)


def test_fill_and_index_put_leave_their_input() -> None:
    x = engine.arange(4)
    assert engine.ops.aten.fill(x, 7).tolist() == [7, 7, 7, 7]
    put = x.index_put((engine.tensor([0, 3, 3]),), engine.tensor([5, 1, 2]), accumulate=True)
    assert put.tolist() == [5, 1, 2, 6]
    assert x.tolist() == [0, 1, 2, 3]
