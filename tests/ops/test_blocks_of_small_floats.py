"""Short expressions of 16-bit floats are computed in blocks of 16: tails, numbers and every bit pattern."""

from __future__ import annotations

import pytest

import engine

DTYPES = pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16], ids=str)
UNARY = ("relu", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "trunc", "frac", "deg2rad")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "fmax", "copysign", "heaviside")


def every_value(dtype: engine.dtype) -> engine.Tensor:
    """Return all 65,536 bit patterns."""
    return engine.arange(-(1 << 15), 1 << 15, dtype=engine.int16).view(dtype)


def assert_same_bits(actual: engine.Tensor, expected: engine.Tensor) -> None:
    """Equal, also in the signs of zeros; any NaN equals any other."""
    assert actual.dtype == expected.dtype
    nan = expected.isnan()
    assert actual.isnan().equal(nan)
    same = actual.view(engine.int16) == expected.view(engine.int16)
    assert bool((same | nan).all())


@DTYPES
@pytest.mark.parametrize("name", UNARY)
def test_every_value(dtype: engine.dtype, name: str) -> None:
    x = every_value(dtype)
    function = getattr(engine, name)
    assert_same_bits(function(x), function(x.float()).to(dtype))


@DTYPES
@pytest.mark.parametrize("name", BINARY)
def test_every_length_with_tensors_and_numbers(dtype: engine.dtype, name: str) -> None:
    function = getattr(engine, name)
    for length in (*range(1, 36), 100, 1025):
        x, y = (engine.randn(2, 3 * length).to(dtype)[:, length : 2 * length] for _ in range(2))
        x[0, 0], y[1, -1] = float("nan"), float("-inf")
        column, row = y[:, :1], y[:1]
        for b in (y, column, row, y.t().contiguous().t()):
            expected = function(x.float(), b.float()).to(dtype)
            assert_same_bits(function(x, b), expected)
            assert_same_bits(function(b, x), function(b.float(), x.float()).to(dtype))
            out = engine.zeros(2, length, dtype=dtype)
            assert_same_bits(function(x, b, out=out), expected)
            both = x.clone()  # read and written
            assert_same_bits(function(both, b, out=both), expected)


@DTYPES
def test_three_operands(dtype: engine.dtype) -> None:
    for length in (1, 15, 16, 17, 40):
        x, y, z = (engine.randn(4, length).to(dtype) for _ in range(3))
        wide = [t.float() for t in (x, y, z)]
        for function in (engine.addcmul, engine.addcdiv, engine.lerp):
            assert_same_bits(function(x, y, z), function(*wide).to(dtype))
            assert_same_bits(
                function(x, y, z[:, :1]), function(*wide[:2], wide[2][:, :1]).to(dtype)
            )
        low, high = 0.1, 0.7  # rounded only with the result
        assert_same_bits(x.clamp(low, high), wide[0].clamp(low, high).to(dtype))


@DTYPES
def test_a_number_is_not_rounded_before_a_product(dtype: engine.dtype) -> None:
    x = engine.randn(37).to(dtype)
    assert_same_bits(x * 0.3, (x.float() * 0.3).to(dtype))
    assert_same_bits(x / 0.3, (x.float() / 0.3).to(dtype))
