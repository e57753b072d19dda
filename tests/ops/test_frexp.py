"""frexp gives two tensors of different dtypes, which no row of the table can say."""

import numpy as np
import pytest

import engine


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16, engine.float32, engine.float64])
def test_mantissa_and_exponent(dtype: engine.dtype) -> None:
    values = np.array([[0.0, -0.0, 1.0, -3.0], [0.375, 1024.0, 2.0**-14, 6.5]])
    actual = engine.frexp(engine.tensor(values, dtype=dtype))
    mantissa, exponent = np.frexp(values)
    assert (actual.mantissa.dtype, actual.exponent.dtype) == (dtype, engine.int32)
    assert np.array_equal(np.array(actual.mantissa.tolist()), mantissa)
    assert np.array_equal(np.array(actual.exponent.tolist()), exponent)


def test_infinities_and_nan_have_exponent_zero() -> None:
    actual = engine.tensor([float("inf"), float("-inf"), float("nan")]).frexp()
    assert actual.exponent.tolist() == [0, 0, 0]
    assert actual.mantissa.tolist()[:2] == [float("inf"), float("-inf")]


def test_integers_are_refused() -> None:
    with pytest.raises(RuntimeError, match="floating-point"):
        engine.frexp(engine.tensor([1]))
