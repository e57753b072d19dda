"""The derivatives of activations and of what picks elements: operators that formulas of gradients call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rows_activation import sigmoid
from table import Bad, Row, Sample, array

WIDE = ("float32", "float64")
SHAPES = ((), (5,), (3, 4), (2, 3, 5), (0, 3), (1, 700))


def mish(g: np.ndarray, x: np.ndarray) -> Any:
    t = np.tanh(np.log1p(np.exp(x)))
    return g * (t + x * sigmoid(x) * (1 - t * t))


def softplus(g: np.ndarray, x: np.ndarray, beta: float, threshold: float) -> Any:
    return g * np.where(x * beta > threshold, 1.0, sigmoid(np.minimum(x * beta, threshold + 1)))


def elu(g: np.ndarray, x: np.ndarray, alpha: float, scale: float, input_scale: float) -> Any:
    low = alpha * scale * input_scale * np.exp(np.minimum(x, 0) * input_scale)
    return g * np.where(x > 0, scale, low)


def hardswish(g: np.ndarray, x: np.ndarray) -> Any:
    return g * np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1))


def silu(g: np.ndarray, x: np.ndarray) -> Any:
    s = sigmoid(x)
    return g * s * (1 + x * (1 - s))


def pointwise(
    name: str, reference: Callable[..., Any], *numbers: tuple[float, ...], unit: bool = False
) -> Row:
    """Yield a row for ``name(grad_output, self, *numbers)``; `unit`: what is saved is an output in [-1, 1]."""

    def samples(dtype: str) -> Iterator[Sample]:
        for shape in SHAPES:
            low, high = (-1, 1) if unit else (-6, 6)
            for more in numbers or ((),):
                g, x = array(dtype, *shape), array(dtype, *shape, seed=1, low=low, high=high)
                yield Sample((g, x, *more), name=f"{shape}{more}")

    return Row(f"ops.aten.{name}", reference, samples, WIDE, torch=False)


def dropout_samples(dtype: str) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((array(dtype, *shape), array("bool", *shape, seed=1), 2.0), name=f"{shape}")


# ---- gradients of views: the adjoint of a linear function is the transpose of its matrix


def adjoint(
    f: Callable[[np.ndarray], np.ndarray], sizes: tuple[int, ...], g: np.ndarray
) -> np.ndarray:
    """The gradient of a tensor of `sizes` that `f`, which is linear, makes something of."""
    n = int(np.prod(sizes))
    result = np.zeros(n, g.dtype)
    for i in range(n):
        unit = np.zeros(n)
        unit[i] = 1
        result[i] = np.sum(g * f(unit.reshape(sizes)))
    return result.reshape(sizes)


def of_view(name: str, view: Callable[..., Any], *calls: tuple[Any, ...]) -> Row:
    """Yield a row for ``name(grad_output, input_sizes, *call)``, the gradient of ``view(input, *call)``."""

    def samples(dtype: str) -> Iterator[Sample]:
        for sizes, *call in calls:
            shape = view(np.zeros(sizes), *call).shape
            yield Sample((array(dtype, *shape), list(sizes), *call), name=f"{sizes}{call}")

    def reference(g: np.ndarray, sizes: list[int], *call: Any) -> np.ndarray:
        return adjoint(lambda x: view(x, *call), tuple(sizes), g)

    wrong = Bad(
        lambda m: getattr(m.ops.aten, name)(m.ones(7, 7, 7, 7), list(calls[0][0]), *calls[0][1:]),
        RuntimeError,
        r"backward|Dimension|shape|size",
    )
    return Row(
        f"ops.aten.{name}", reference, samples, (*WIDE, "complex64"), torch=False, bad=(wrong,)
    )


def select(x: np.ndarray, dim: int, index: int) -> Any:
    return np.take(x, index, axis=dim)


def slices(x: np.ndarray, dim: int, start: int | None, end: int | None, step: int) -> Any:
    return np.moveaxis(np.moveaxis(x, dim, 0)[start:end:step], 0, dim)


def windows(x: np.ndarray, dim: int, size: int, step: int) -> Any:
    result = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim)
    return slices(result, dim, None, None, step)


def strided_reference(
    g: np.ndarray,
    sizes: list[int],
    strides: list[int],
    start: int,
    size: list[int],
    stride: list[int],
    offset: int,
) -> np.ndarray:
    """Into a flat storage, then out of it: elements that share a place share what arrived there."""
    shift = min(start, offset)

    def addresses(shape: list[int], steps: list[int], first: int) -> np.ndarray:
        index = np.indices(shape)
        return (
            first
            - shift
            + sum((i * s for i, s in zip(index, steps, strict=True)), np.zeros(shape, int))
        )

    to, back = addresses(size, stride, offset), addresses(sizes, strides, start)
    room = 1 + max(int(to.max(initial=0)), int(back.max(initial=0)))
    sums, shared = np.zeros(room, g.dtype), np.zeros(room)
    np.add.at(sums, to, g)
    np.add.at(shared, back, 1)
    return np.asarray(sums[back] / shared[back])


def strided_samples(dtype: str) -> Iterator[Sample]:
    for sizes, strides, start, size, stride, offset in (
        ([12], [1], 0, [3, 4], [4, 1], 0),
        ([12], [1], 0, [3, 4], [2, 1], 1),  # windows that overlap
        ([3, 4], [4, 1], 2, [2, 2], [4, 2], 3),
        ([3, 4], [0, 1], 0, [4], [1], 0),  # an expanded input
        ([2, 2], [1, 2], 0, [], [], 3),
    ):
        args = (array(dtype, *size), sizes, strides, start, size, stride, offset)
        yield Sample(args, name=f"{sizes}{size}")


ROWS = [
    pointwise("elu_backward", elu, (1.0, 1.0, 1.0), (1.5, 1.25, 0.5)),
    pointwise("hardsigmoid_backward", lambda g, x: g * (np.abs(x) < 3) / 6),
    pointwise("hardswish_backward", hardswish),
    pointwise(
        "hardtanh_backward",
        lambda g, x, low, high: g * ((x > low) & (x < high)),
        (-1.0, 1.0),
        (-2.0, 0.5),
    ),
    pointwise(
        "leaky_relu_backward", lambda g, x, slope: g * np.where(x > 0, 1, slope), (0.01,), (0.5,)
    ),
    pointwise("log_sigmoid_backward", lambda g, x: g * sigmoid(-x)),
    pointwise("mish_backward", mish),
    pointwise("shrink_backward", lambda g, x, by: g * (np.abs(x) > by), (0.5,), (2.0,)),
    pointwise("silu_backward", silu),
    pointwise("softplus_backward", softplus, (1.0, 20.0), (2.0, 3.0)),
    pointwise("threshold_backward", lambda g, x, at: g * (x > at), (0.0,), (1.5,)),
    pointwise("sigmoid_backward", lambda g, y: g * y * (1 - y), unit=True),
    pointwise("tanh_backward", lambda g, y: g * (1 - y * y), unit=True),
    Row(
        "ops.aten.native_dropout_backward",
        lambda g, m, scale: g * m * scale,
        dropout_samples,
        WIDE,
        torch=False,
    ),
    of_view("select_backward", select, ((3, 4), 0, 1), ((2, 3, 4), -1, -2), ((3,), 0, 2)),
    of_view(
        "slice_backward",
        slices,
        ((5, 4), 0, 1, 4, 2),
        ((2, 6), 1, None, None, 1),
        ((3, 3), -1, 2, 2, 1),
    ),
    of_view(
        "diagonal_backward",
        np.diagonal,
        ((4, 4), 0, 0, 1),
        ((3, 5), 1, 0, 1),
        ((2, 3, 4), -1, 1, 2),
    ),
    of_view("unfold_backward", windows, ((7,), 0, 3, 2), ((2, 6), 1, 2, 3), ((4, 3), 0, 2, 1)),
    Row("ops.aten.as_strided_backward", strided_reference, strided_samples, WIDE, torch=False),
]
