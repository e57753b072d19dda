"""Fake quantization: floats rounded to the values that a quantized dtype could store, for training with it in mind."""

from __future__ import annotations

import engine
from engine.arguments import INTEGER, SCALAR, accepts, check_tensor, type_word, wanted_word
from engine.function_schema import SchemaType
from engine.tensor import Tensor

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


def _rounded(input: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    """Return round(input / scale) + zero_point within the limits, as floats; the gradient passes where it is within."""
    values = input.detach()
    quantized = engine.round(values * (1 / scale)) + zero_point
    result = ((quantized.clamp(low, high) - zero_point) * scale).to(input.dtype)
    is_within = (quantized >= low) & (quantized <= high)
    return result + engine.where(is_within, input - values, 0)


def _check(function: str, input: Tensor, low: int, high: int) -> None:
    check_tensor(function, "input", input)
    for name, value in (("quant_min", low), ("quant_max", high)):
        _check_number(function, name, value, INTEGER)
    if not input.is_floating_point():
        raise RuntimeError(f"{function}: expected a floating point tensor, got {input.dtype}")
    if low > high:
        raise RuntimeError(
            f"{function}: `quant_min` should be less than or equal to `quant_max`, got {low} and {high}"
        )


def _check_number(function: str, name: str, value: object, type_: SchemaType) -> None:
    if not accepts(type_, value):
        expected = wanted_word(type_)
        raise TypeError(f"{function}: argument {name!r} must be {expected}, got {type_word(value)}")


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """Round to the values of a quantized dtype: (clamp(round(input / scale) + zero_point) - zero_point) * scale.

    Raises: RuntimeError for integers, or limits that `zero_point` is not within.

    >>> fake_quantize_per_tensor_affine(engine.tensor([0.26, 9.0]), 0.5, 0, 0, 4)
    tensor([0.5000, 2.0000])
    """
    _check("fake_quantize_per_tensor_affine", input, quant_min, quant_max)
    for name, value in (("scale", scale), ("zero_point", zero_point)):
        if not isinstance(value, Tensor):
            type_ = SCALAR if name == "scale" else INTEGER
            _check_number("fake_quantize_per_tensor_affine", name, value, type_)
        elif value.numel() != 1:
            raise RuntimeError(
                f"fake_quantize_per_tensor_affine: {name} must have one element, got {tuple(value.shape)}"
            )
    zero = engine.as_tensor(zero_point)
    if not quant_min <= int(zero) <= quant_max:
        raise RuntimeError(
            "fake_quantize_per_tensor_affine: `zero_point` must be between `quant_min` and `quant_max`, "
            f"got {int(zero)}, {quant_min} and {quant_max}"
        )
    arguments = engine.as_tensor(scale, dtype=engine.float32), zero, quant_min, quant_max
    return _rounded(input, *arguments)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """Return the same with a scale and a zero point for each index of dimension `axis`.

    Raises: RuntimeError for integers, other limits, or another number of scales or zero points.
    """
    function = "fake_quantize_per_channel_affine"
    _check(function, input, quant_min, quant_max)
    check_tensor(function, "scale", scale)
    check_tensor(function, "zero_point", zero_point)
    _check_number(function, "axis", axis, INTEGER)
    count = input.size(axis)
    if scale.shape != (count,) or zero_point.shape != (count,):
        raise RuntimeError(
            f"{function}: scale and zero_point must have {count} elements, the size of dimension {axis}, "
            f"got shapes {tuple(scale.shape)} and {tuple(zero_point.shape)}"
        )
    if ((zero_point < quant_min) | (zero_point > quant_max)).any():
        raise RuntimeError(
            f"{function}: `zero_point` must be between `quant_min` and `quant_max`, "
            f"got {zero_point.tolist()}, {quant_min} and {quant_max}"
        )
    shape = [1] * input.dim()
    shape[axis] = count
    per_index = scale.float().reshape(shape), zero_point.reshape(shape)
    return _rounded(input, *per_index, quant_min, quant_max)
