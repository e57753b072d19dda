"""Operators that write into tensors: copies, fills, indexed writes; what they touch and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from table import ALL, NUMBERS, array
from tools import assert_same, spread, tensor, values

import engine


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((3, 4), (3, 1)),
        ((2, 3), ()),
        ((0, 3), (3,)),
        ((40, 50), (40, 50)),
    ],
)
def test_copy(dtype: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    source = array(dtype, *shapes[1], seed=1)
    for make in (tensor, spread):
        for target_dtype in ("float32", "int64", "bool", "bfloat16"):
            target = make(engine, array(target_dtype, *shapes[0]))
            assert target.copy_(make(engine, source)) is target
            want = values(tensor(engine, source).to(getattr(engine, target_dtype)))
            assert_same(
                target, np.broadcast_to(want, shapes[0]), f"copy_ {dtype} to {target_dtype}"
            )


def test_copy_writes_only_its_elements() -> None:
    x = engine.zeros(4, 6)
    x[1:3, ::2].copy_(engine.ones(2, 3))
    want = np.zeros((4, 6))
    want[1:3, ::2] = 1
    assert_same(x, want, "copy_ into a strided view")


def test_copy_refuses_overlap() -> None:
    x = engine.arange(6.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        x[1:].copy_(x[:-1])
    square = engine.zeros(3, 3)
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        square.copy_(square.t())


@pytest.mark.parametrize("dtype", ALL)
def test_fill_and_zero(dtype: str) -> None:
    x = spread(engine, array(dtype, 3, 5))
    assert x.fill_(1) is x
    assert_same(x, np.ones((3, 5)), "fill_")
    assert_same(x.fill_(engine.tensor(0)), np.zeros((3, 5)), "fill_ with a tensor")
    x.fill_(1)
    assert_same(x.zero_(), np.zeros((3, 5)), "zero_")


@pytest.mark.parametrize("size", [(2000, 30), (17, 1000), (64, 64), (3, 70, 50)])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_transposed_copies(size: tuple[int, ...], dtype: str) -> None:
    x = np.arange(np.prod(size)).reshape(size).astype(dtype)
    dims = tuple(reversed(range(len(size))))
    assert_same(
        engine.tensor(x).permute(dims).contiguous(), x.transpose(dims), f"transposed copy of {size}"
    )


@pytest.mark.parametrize("dtype", NUMBERS)
def test_index_put(dtype: str) -> None:
    base = array(dtype, 4, 5)
    rows, columns = np.array([3, 0, -1]), np.array([1, 1, 2])
    value = array(dtype, 3, seed=5)

    def indices(*arrays: np.ndarray) -> tuple[engine.Tensor, ...]:
        return tuple(engine.tensor(a) for a in arrays)

    for make in (tensor, spread):
        x, want = make(engine, base), base.values.copy()
        x.index_put_(indices(rows, columns), tensor(engine, value))
        want[rows, columns] = value.values
        assert_same(x, want, "index_put_")
        x, want = make(engine, base), base.values.copy()
        x[:, engine.tensor(columns)] = tensor(engine, value)
        want[:, columns[[1]]] = value.values[1]
        want[:, columns[2]] = value.values[2]
        assert_same(x, want, "x[:, i] = v: of two values for one element the last one stays")
        x, want = make(engine, base), base.values.copy()
        mask = want > 0
        x[engine.tensor(mask)] = 1
        want[mask] = 1
        assert_same(x, want, "x[mask] = 1")


def test_index_put_accumulates() -> None:
    x = engine.zeros(3)
    x.index_put_((engine.tensor([0, 0, 2]),), engine.ones(3), accumulate=True)
    assert x.tolist() == [2.0, 0.0, 1.0]
    with pytest.raises(
        RuntimeError, match="dtypes match, got Float for the destination and Double"
    ):
        x.index_put_((engine.tensor([0]),), engine.ones(1, dtype=engine.float64))


@pytest.mark.parametrize("dtype", ALL)
def test_reading_by_tensors(dtype: str) -> None:
    a = array(dtype, 3, 4, 5)
    i, j = np.array([[0, 2], [-1, 1]]), np.array([1, 3])
    mask = array("bool", 3, 4, seed=9).values
    cases = [
        (i,), (slice(None), i), (i, j), (slice(None), i, j), (i, slice(None), j), (mask,), (0, i), (slice(1, 3), j),
        (Ellipsis, j), (None, i), (mask, j[0]), (array("bool", 3, seed=4).values, slice(None), 1),
    ]  # fmt: skip
    for make in (tensor, spread):
        x = make(engine, a)
        for case in cases:
            actual = x[tuple(engine.tensor(c) if isinstance(c, np.ndarray) else c for c in case)]
            assert_same(actual, a.values[case], f"x[{case}]")


def test_float16_rounds_to_nearest_even() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    wide = engine.tensor(every).float()
    assert np.array_equal(values(wide), every.astype(np.float32), equal_nan=True)
    with np.errstate(all="ignore"):
        between = every.astype(np.float32) * np.float32(1 + 2**-12)
        want = between.astype(np.float16)
    assert np.array_equal(values(engine.tensor(between).half()), want, equal_nan=True)
