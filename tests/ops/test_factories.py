"""New tensors from numbers: values, dtypes and errors, against NumPy and PyTorch's rules."""

from __future__ import annotations

import numpy as np
import pytest
from table import ALL, FLOATS, NUMBERS
from tools import assert_same, name_of, values

import engine


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("args", [(5,), (2, 7), (0, 10, 3), (7, 0, -2), (3, 3), (0, 100)])
def test_arange(args: tuple[int, ...], dtype: str) -> None:
    assert_same(
        engine.arange(*args, dtype=getattr(engine, dtype)), np.arange(*args), f"arange{args}"
    )


def test_arange_of_floats() -> None:
    assert_same(engine.arange(0, 1, 0.1), np.arange(0, 1, 0.1), "arange(0, 1, 0.1)")
    assert name_of(engine.arange(3.0).dtype) == "float32"
    assert name_of(engine.arange(3).dtype) == "int64"
    assert engine.arange(2**62, 2**62 + 2).tolist() == [2**62, 2**62 + 1]


@pytest.mark.parametrize(
    ("args", "match"),
    [
        ((0, 3, 0), "step must be nonzero"),
        ((3, 0), "inconsistent with step sign"),
        ((0, float("inf")), "unsupported range"),
    ],
)
def test_arange_refuses(args: tuple[float, ...], match: str) -> None:
    with pytest.raises(RuntimeError, match=match):
        engine.arange(*args)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("args", [(0, 1, 5), (-2, 2, 4), (3, -3, 7), (1, 5, 1), (0, 1, 0)])
def test_linspace(args: tuple[float, float, int], dtype: str) -> None:
    assert_same(
        engine.linspace(*args, dtype=getattr(engine, dtype)), np.linspace(*args), f"linspace{args}"
    )


def test_linspace_ends_exactly() -> None:
    assert engine.linspace(0, 0.7, 11)[-1].item() == np.float32(0.7)
    with pytest.raises(RuntimeError, match="number of steps must be non-negative, got -1"):
        engine.linspace(0, 1, -1)


@pytest.mark.parametrize("dtype", ALL)
def test_eye_full_zeros_ones(dtype: str) -> None:
    kind = getattr(engine, dtype)
    assert_same(engine.eye(3, 5, dtype=kind), np.eye(3, 5), "eye(3, 5)")
    assert_same(engine.eye(2, dtype=kind), np.eye(2), "eye(2)")
    assert_same(engine.zeros(2, 3, dtype=kind), np.zeros((2, 3)), "zeros")
    assert_same(engine.ones((2, 3), dtype=kind), np.ones((2, 3)), "ones")
    assert_same(engine.full((2, 0), 1, dtype=kind), np.ones((2, 0)), "full")
    assert_same(engine.zeros(70_000, dtype=kind), np.zeros(70_000), "zeros(70000)")


def test_full_takes_the_dtype_of_its_number() -> None:
    assert [name_of(engine.full((1,), v).dtype) for v in (True, 3, 0.5)] == [
        "bool",
        "int64",
        "float32",
    ]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(300, "uint8"), (128, "int8"), (2**31, "int32"), (1e39, "float32"), (70000, "float16")],
)
def test_numbers_that_do_not_fit(value: float, dtype: str) -> None:
    with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
        engine.full((2,), value, dtype=getattr(engine, dtype))


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        engine.zeros(2, -1)
    with pytest.raises(RuntimeError, match=r"(?i)memory|alloc"):
        engine.zeros(2**50)
    with pytest.raises(RuntimeError, match="overflow"):
        engine.zeros(2**40, 2**40)


def test_like_keeps_the_order_of_dimensions() -> None:
    x = engine.zeros(3, 4).t()
    assert engine.empty_like(x).stride() == (1, 4)
    assert engine.ones_like(x, dtype=engine.int8).stride() == (1, 4)
    assert values(engine.ones_like(x)).sum() == 12


@pytest.mark.parametrize(
    ("size", "layout", "strides"),
    [
        ((2, 3), (1, 0), (1, 2)),
        ((2, 3, 4), (0, 2, 1), (12, 1, 3)),
        ((), (), ()),
        ((2, 0), (0, 1), (1, 1)),
    ],
)
def test_empty_permuted(
    size: tuple[int, ...], layout: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    result = engine.empty_permuted(size, layout, dtype=engine.int16)
    assert (tuple(result.shape), result.stride()) == (size, strides)
    assert name_of(result.dtype) == "int16"


@pytest.mark.parametrize(
    ("layout", "match"),
    [
        ((0,), "does not match"),
        ((0, 0), "Duplicate"),
        ((0, 2), "out of range"),
        ((0, -1), "out of"),
    ],
)
def test_empty_permuted_refuses(layout: tuple[int, ...], match: str) -> None:
    with pytest.raises(RuntimeError, match=match):
        engine.empty_permuted((2, 3), layout)


def test_new_empty_strided_is_like_its_tensor() -> None:
    result = engine.ones(1, dtype=engine.int8).new_empty_strided((2, 3), (1, 2))
    assert (result.stride(), name_of(result.dtype)) == ((1, 2), "int8")
    wide = engine.ones(1).new_empty_strided((2,), (1,), dtype=engine.int64)
    assert name_of(wide.dtype) == "int64"
    with pytest.raises(RuntimeError):
        engine.ones(1).new_empty_strided((2, 3), (1,))


def test_histogram_of_points() -> None:
    points = np.random.default_rng(0).normal(size=(50, 2))
    expected, edges = np.histogramdd(points, bins=(3, 4))
    hist, actual = engine.histogramdd(engine.tensor(points), [3, 4])
    assert_same(hist, expected, "histogramdd")
    for item, other in zip(actual, edges, strict=True):
        assert_same(item, other, "edges")
    dense, _ = engine.histogramdd(engine.tensor(points), list(actual), density=True)
    assert_same(dense, np.histogramdd(points, bins=edges, density=True)[0], "density")
    with pytest.raises(RuntimeError, match="expected 2 sequences"):
        engine.histogramdd(engine.tensor(points), [3])


def test_a_mask_of_a_tensor_without_elements_writes_nothing() -> None:
    x = engine.zeros(0, 0, 2, 1)
    x[:, :, engine.tensor([True, False])] = 3
    x[..., engine.tensor([True])] = engine.tensor(3.0)
    assert tuple(x.shape) == (0, 0, 2, 1)
