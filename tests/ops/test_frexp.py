"""frexp gives two tensors of different dtypes, which no row of the table can say."""

import numpy as np
import pytest

import engine


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16, engine.float32, engine.float64])
def test_mantissa_and_exponent(dtype: engine.dtype) -> None:
    values = np.array([[0.0, -0.0, 1.0, -3.0], [0.375, 1024.0, 2.0**-14, 6.5]])
    found = engine.frexp(engine.tensor(values, dtype=dtype))
    mantissa, exponent = np.frexp(values)
    assert (found.mantissa.dtype, found.exponent.dtype) == (dtype, engine.int32)
    assert np.array_equal(np.array(found.mantissa.tolist()), mantissa)
    assert np.array_equal(np.array(found.exponent.tolist()), exponent)


def test_infinities_and_nan_have_exponent_zero() -> None:
    found = engine.tensor([float("inf"), float("-inf"), float("nan")]).frexp()
    assert found.exponent.tolist() == [0, 0, 0]
    assert found.mantissa.tolist()[:2] == [float("inf"), float("-inf")]


def test_integers_are_refused() -> None:
    with pytest.raises(RuntimeError, match="floating-point"):
        engine.frexp(engine.tensor([1]))
