"""Numerical derivatives by finite differences, with which gradcheck compares gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import engine
from engine.autograd.tensor_methods import needs_grad


def as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return (value,)


def differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple(y for y in as_tuple(outputs) if needs_grad(y))


def parts(output: Any) -> tuple[complex, ...]:
    """Return the cotangents that select the real functions of one element: its real and imaginary parts."""
    return (1.0, 1j) if output.is_complex() else (1.0,)


def part_name(output: Any, part: complex) -> str:
    if not output.is_complex():
        return ""
    name = "real" if part == 1 else "imaginary"
    return f"While considering the {name} part of complex outputs only, "


def jacobian_by_differences(call: Callable[[], Any], x: Any, part: complex, eps: float) -> Any:
    """Compute the Jacobian by differences: a row for each element of `x`, which is changed in place."""
    rows = []
    data = x.data
    for index in _indices(tuple(x.shape)):
        row = _difference(call, data, index, eps, part)
        if x.is_complex():
            row = engine.complex(row, _difference(call, data, index, eps * 1j, part))
        rows.append(row.to(x.dtype))
    if rows:
        return engine.stack(rows, 0)
    return engine.zeros((0, call().numel()), dtype=x.dtype)


def _indices(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for position in range(math.prod(shape)):
        index = []
        for size in reversed(shape):
            position, coordinate = divmod(position, size)
            index.append(coordinate)
        yield tuple(reversed(index))


@contextmanager
def _moved(data: Any, index: tuple[int, ...], step: complex) -> Iterator[None]:
    before = data[index].clone()
    data[index] = before + step
    try:
        yield
    finally:
        data[index] = before


def _difference(
    call: Callable[[], Any], data: Any, index: tuple[int, ...], step: complex, part: complex
) -> Any:
    """Return the derivative of one part of the output, flat and real."""
    with _moved(data, index, -step):
        below = call().detach().clone()
    with _moved(data, index, step):
        above = call().detach().clone()
    slope = ((above - below) / (2 * abs(step))).reshape(-1)
    if not slope.is_complex():
        return slope
    return slope.real.clone() if part == 1 else slope.imag.clone()


def unit(x: Any) -> Any:
    direction = engine.randn(tuple(x.shape), dtype=x.dtype)
    length = float(direction.abs().square().sum().sqrt())
    return direction / length if length else direction


def inner(gradient: Any, direction: Any) -> float:
    product = gradient.conj() * direction.to(gradient.dtype)
    return float((product.real if product.is_complex() else product).sum())


def shifted(
    func: Callable[..., Any], inputs: tuple[Any, ...], x: Any, direction: Any, step: float
) -> list[Any]:
    data = x.data
    before = data.clone()
    data.add_(direction * step)
    try:
        return [y.detach().clone() for y in differentiable(func(*inputs))]
    finally:
        data.copy_(before)
