"""Infinities, huge numbers and shared memory: where a function has to end, and what it answers."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy
import pytest

import engine

HUGE = [
    s * m for m in (1e38, 1e100, 2e203, 1e204, 9e204, 1e250, 1e300, 1e306, 1.7e308) for s in (1, -1)
]
BESSEL = [name for name in dir(engine.special) if "bessel" in name or "airy" in name]


def test_every_bessel_function_returns_for_every_size_of_number() -> None:
    program = f"""
import engine
x = engine.tensor({[*HUGE, 5e-324, 1e-310, 1e-300]!r}, dtype=engine.float64)
for name in {BESSEL!r}:
    getattr(engine.special, name)(x)
    getattr(engine.special, name)(x.float())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize(
    "name", [name for name in BESSEL if "_k" not in name and "spherical" not in name]
)
def test_at_the_infinities_they_are_nan_as_in_pytorch(name: str) -> None:
    for dtype in (engine.float32, engine.float64):
        x = engine.tensor([math.inf, -math.inf, math.nan], dtype=dtype)
        assert getattr(engine.special, name)(x).isnan().all()


def test_beyond_what_a_double_holds() -> None:
    x = engine.tensor([1e4, 1e300, 1.7e308, -1.7e308], dtype=engine.float64)
    assert engine.special.modified_bessel_i0(x).tolist() == [math.inf] * 4
    assert engine.special.modified_bessel_i1(x).tolist() == [math.inf] * 3 + [-math.inf]
    assert engine.special.airy_ai(x[:3]).tolist() == [0.0] * 3
    assert engine.special.modified_bessel_k0(x[:3]).tolist() == [0.0] * 3
    scaled = engine.special.scaled_modified_bessel_k0(x[1:3]).tolist()  # sqrt(pi / (2 x))
    assert scaled == pytest.approx(
        [math.sqrt(math.pi / 2 / 1e300), math.sqrt(math.pi / 2 / 1.7e308)]
    )


def doubled_mean_in_half(x: engine.Tensor) -> engine.Tensor:
    return (x + x).mean(0, dtype=engine.float16)


@pytest.mark.parametrize("dtype", [engine.int32, engine.float32, engine.float64])
def test_when_numbers_are_rounded_to_the_dtype_of_the_result(dtype: engine.dtype) -> None:
    """float16 numbers end at 65504. A sum rounds its elements first, a mean its result only."""
    x = engine.tensor([70000, -70000, 6], dtype=dtype)
    assert str(x.cumsum(0, dtype=engine.float16).tolist()) == "[inf, nan, nan]"
    assert x.cumprod(0, dtype=engine.float16).tolist() == [math.inf, -math.inf, -math.inf]
    assert math.isnan(x.sum(0, dtype=engine.float16).item())
    assert x.mean(0, dtype=engine.float16).item() == 2
    assert x.expand(2, 3).t().mean((0, 1), dtype=engine.float16).item() == 2
    assert engine.jit.script(doubled_mean_in_half)(x).item() == 4


def test_nan_to_num_of_integers_writes_nothing_so_memory_may_be_shared() -> None:
    for dtype in (engine.int64, engine.uint8, engine.bool_):
        x = engine.tensor([1, 0]).to(dtype).expand(3, 2)
        assert x.nan_to_num_(nan=5.0) is x
        assert x.tolist() == engine.tensor([1, 0]).to(dtype).expand(3, 2).tolist()
    with pytest.raises(RuntimeError, match="single memory location"):
        engine.ones(1).expand(3).nan_to_num_()


@pytest.mark.parametrize("threshold_", [engine.threshold_, engine.nn.functional.threshold_])
def test_threshold_may_write_an_element_twice(threshold_: Any) -> None:
    base = engine.tensor([[1.0], [5.0]])
    x = base.expand(2, 3)
    version = base._version
    assert threshold_(x, 2.0, 9.0) is x
    assert x.tolist() == [[9.0] * 3, [5.0] * 3]
    assert base._version == version + 1
    other = engine.arange(4)
    threshold_(other[::2], 1, 7)
    assert other.tolist() == [7, 1, 2, 3]


def test_threshold_in_place_has_its_gradient() -> None:
    leaf = engine.tensor([1.0, 5.0], requires_grad=True)
    engine.threshold_(leaf.clone(), 2.0, 9.0).sum().backward()
    assert leaf.grad.tolist() == [0.0, 1.0]


def test_hash_tensor_refuses() -> None:
    x = engine.ones(2, 0)
    for call, error, message in (
        (lambda: engine.hash_tensor(x, mode=1), RuntimeError, "Unknown hash_tensor mode: 1"),
        (lambda: engine.hash_tensor(x), RuntimeError, "Expected reduction dim to be specified"),
        (lambda: engine.hash_tensor(x, 1), IndexError, "non-zero size"),
        (lambda: engine.hash_tensor(engine.tensor([1j])), NotImplementedError, "ComplexFloat"),
        (lambda: engine.hash_tensor(engine.ones(2), out=engine.ones(())), RuntimeError, "dtype"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_sixteen_bits_are_rounded_once_in_addr_and_gradient() -> None:
    for dtype in (engine.float16, engine.bfloat16):
        a, b = engine.tensor([-1.7, 3.6], dtype=dtype), engine.tensor([0.3, 2.9, -7.1], dtype=dtype)
        base = engine.tensor(-8.4, dtype=dtype)
        wide = engine.addr(base.float(), a.float(), b.float(), beta=0.6, alpha=0.2)
        assert engine.equal(engine.addr(base, a, b, beta=0.6, alpha=0.2), wide.to(dtype))
        near = engine.tensor(
            [8.5, 8.5625, 8.625], dtype=dtype
        )  # differences are exact, quotients not
        for slopes in engine.gradient(near, spacing=2.1):
            exact = engine.gradient(near.float(), spacing=2.1)[0]
            assert ((slopes.float() - exact) / exact).abs().max() < 2**-7


def test_out_of_truths_and_of_magnitudes_converts() -> None:
    x = engine.tensor([5, 0], dtype=engine.uint8)
    out = engine.empty((), dtype=engine.bool_)
    assert engine.any(x, out=out).item() is True
    assert engine.all(x, out=out).item() is False
    wide = engine.empty(1, dtype=engine.float64)
    assert engine.abs(engine.tensor([3 + 4j]), out=wide).tolist() == [5.0]


def test_normal_draws_no_integers() -> None:
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        engine.normal(0.0, 1.0, (2,), out=engine.empty(2, dtype=engine.int64))


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("scale", [1e-30, 1e-24, 1e-20, 1e18, 1e20, 1e30])
def test_a_standard_deviation_is_computed_where_its_square_is_not_a_float32(
    scale: float, dim: int | None
) -> None:
    values = numpy.random.default_rng(1).standard_normal((300, 40)).astype(
        numpy.float32
    ) * numpy.float32(scale)
    exact = values.astype(numpy.float64).std(dim, ddof=1)
    assert numpy.allclose(
        numpy.array(engine.tensor(values).std(dim).tolist()), exact, rtol=1e-5, atol=0
    )


def test_the_direction_of_a_subnormal_complex_number() -> None:
    z = engine.tensor([complex(3e-39, -4e-39)])
    assert engine.allclose(z.sgn(), engine.tensor([0.6 - 0.8j]), atol=1e-5)
