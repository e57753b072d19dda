"""The same calls in PyTorch, where it is installed: values, dtypes, strides of views, and error classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table import ALL, BOOL, EXACT, FLOATS, INTS, TOLERANCE, Bad, Row, Sample, rows
from tools import assert_same, name_of, parts, reference, run, values

import engine

torch = pytest.importorskip("torch")

ROWS = [row for row in rows() if row.torch]
CASES = [pytest.param(row, dtype, id=f"{row.name}-{dtype}") for row in ROWS for dtype in row.dtypes]
BAD = [pytest.param(bad, id=f"{row.name}-{i}") for row in ROWS for i, bad in enumerate(row.bad)]
# What PyTorch's CPU kernels do not have for these dtypes.
MISSING = (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError)
# PyTorch warns that some of its functions are old, or new, or want a window.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(deprecated|in beta|A window was not provided):UserWarning"
)


@pytest.mark.parametrize(("row", "dtype"), CASES)
def test_equals_torch(row: Row, dtype: str) -> None:
    for sample in row.samples(dtype):
        try:
            other = parts(run(row, sample, torch))
        except MISSING:
            continue
        ours = parts(run(row, sample))
        subject = f"{row.name} {sample.name}"
        for a, b in zip(ours, other, strict=True):
            assert name_of(a.dtype) == name_of(b.dtype), (
                f"{subject}: {a.dtype}, PyTorch gives {b.dtype}"
            )
            assert_as_good(a, b, row, sample, subject)
            if row.view:
                assert tuple(a.stride()) == tuple(b.stride()), (
                    f"{subject}: strides {a.stride()}, PyTorch's are {b.stride()}"
                )


def assert_as_good(ours: Any, theirs: Any, row: Row, sample: Sample, label: str) -> None:
    """The same within the tolerance; or nearer to the exact value at every element that is not: some
    of PyTorch's functions (trigamma, Bessel's near a zero, sums in bfloat16) are not good to it."""
    try:
        assert_same(ours, values(theirs), label)
    except AssertionError:
        exact = parts(reference(row, sample))
        if name_of(ours.dtype) in EXACT or len(exact) != 1:
            raise
        own, other = (np.abs(values(t) - exact[0]) for t in (ours, theirs))
        if not (own <= other + TOLERANCE[name_of(ours.dtype)] / 100 * np.abs(exact[0])).all():
            raise


@pytest.mark.parametrize("bad", BAD)
def test_fails_as_torch_does(bad: Bad) -> None:
    with pytest.raises(bad.error):
        bad.call(torch)


@pytest.mark.parametrize("a", ALL)
@pytest.mark.parametrize("b", ALL)
def test_promotion(a: str, b: str) -> None:
    def ones(module: Any, name: str, shape: tuple[int, ...]) -> Any:
        return module.ones(shape, dtype=getattr(module, name))

    for left, right in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
        ours = ones(engine, a, left) + ones(engine, b, right)
        other = ones(torch, a, left) + ones(torch, b, right)
        assert name_of(ours.dtype) == name_of(other.dtype), f"{a}{left} + {b}{right}"


@pytest.mark.parametrize("dtype", ALL)
def test_promotion_with_numbers(dtype: str) -> None:
    for number in (True, 2, 2.5):
        ours = engine.ones(2, dtype=getattr(engine, dtype)) * number
        other = torch.ones(2, dtype=getattr(torch, dtype)) * number
        assert name_of(ours.dtype) == name_of(other.dtype), f"{dtype} * {number}"


@pytest.mark.parametrize("to", ALL)
@pytest.mark.parametrize("dtype", ALL)
def test_casts(dtype: str, to: str) -> None:
    numbers = [0, 1, 2, 3, 100] if dtype in (*BOOL, "uint8") else [-100, -2, -1, 0, 1, 3, 100]
    if dtype in FLOATS:
        numbers += [0.5, -0.5, 1.75, 64.25] if to not in ("uint8",) else [0.5, 1.75]
    if dtype in FLOATS and to in FLOATS:
        numbers += [float("inf"), float("nan"), 65519.0, 1e-7, 6.1e-5]
    if dtype in INTS[3:]:
        numbers += [300, 40000, -129]
    ours = engine.tensor(numbers).to(getattr(engine, dtype)).to(getattr(engine, to))
    other = torch.tensor(numbers).to(getattr(torch, dtype)).to(getattr(torch, to))
    assert_same(ours, values(other), f"{dtype} to {to}")
