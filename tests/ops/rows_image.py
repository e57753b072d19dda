"""Convolution, pooling, padding, resampling: what networks do to images."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from image_reference import (
    adaptive,
    affine_grid,
    avg_pool,
    channel_shuffle,
    conv,
    conv_transpose,
    fold,
    grid_sample,
    interpolate,
    lp_pool,
    max_pool,
    pad,
    padded_last,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
    unpool,
)
from table import ALL, FLOATS, INTS, Array, Bad, Row, Sample, array

F = "nn.functional."
REAL = tuple(dtype for dtype in ALL if dtype != "bool")


def calls(*cases: Any) -> Callable[[str], Iterator[Sample]]:
    """Samples from (shapes, arguments, options); each shape becomes a tensor."""

    def samples(dtype: str) -> Iterator[Sample]:
        for shapes, remainder, options in cases:
            tensors = [array(dtype, *s, seed=i, low=-2, high=2) for i, s in enumerate(shapes)]
            yield Sample((*tensors, *remainder), options, f"{shapes} {remainder} {options}")

    return samples


def unpool_samples(shape: tuple[int, ...], index: Any) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        yield Sample((array(dtype, *shape), Array(np.array(index).reshape(shape), "int64"), 2), {})

    return samples


# ---- the rows

CONV1 = calls(
    (((2, 3, 9), (4, 3, 3)), (), {}),
    (((2, 4, 17), (6, 2, 3), (6,)), (2, 1, 2, 2), {}),
    (((3, 7), (5, 3, 2)), (None, 3), {}),
    (((1, 2, 40), (3, 2, 5)), (), {"padding": "same"}),
    (((0, 2, 5), (3, 2, 2)), (), {}),
)
CONV2 = calls(
    (((2, 3, 7, 9), (4, 3, 3, 3)), (None, 1, 1), {}),
    (((2, 4, 8, 21), (17, 4, 3, 3), (17,)), (), {"stride": 2, "padding": 1}),
    (((1, 6, 9, 9), (6, 1, 3, 3)), (), {"groups": 6, "padding": 2, "dilation": 2}),
    (((2, 5, 4, 4), (11, 5, 1, 1), (11,)), (), {}),
    (((3, 8, 8), (2, 3, 5, 2)), (None, (3, 1)), {"padding": "valid"}),
    (((1, 2, 20, 60), (9, 2, 3, 3)), (), {"padding": (0, 1)}),
    (((1, 1, 6, 5), (2, 1, 5, 3)), (), {"padding": "same", "dilation": (1, 2)}),
    (((1, 70, 5, 9), (3, 70, 3, 3)), (), {"padding": 1}),
)
CONV3 = calls(
    (((1, 2, 4, 5, 6), (3, 2, 2, 3, 3), (3,)), (1, 1), {}),
    (((1, 4, 5, 5, 5), (4, 2, 3, 3, 3)), (), {"stride": 2, "groups": 2, "dilation": (1, 2, 1)}),
)
# An odd amount of padding: PyTorch warns that it copies.
UNEVEN = calls(
    (((1, 2, 9), (3, 2, 4)), (), {"padding": "same"}),
    (((1, 2, 9), (3, 2, 2)), (), {"padding": "same", "dilation": 3}),
)
TRANSPOSE1 = calls(
    (((2, 3, 5), (3, 4, 3)), (), {}),
    (((1, 4, 6), (4, 2, 3), (4,)), (3, 1, 2), {"groups": 2, "dilation": 2}),
)
TRANSPOSE2 = calls(
    (((2, 3, 4, 5), (3, 4, 3, 3), (4,)), (2, 1, 1), {}),
    (((1, 4, 3, 20), (4, 3, 2, 4)), (), {"groups": 2, "dilation": (3, 1), "padding": (1, 2)}),
    (((1, 2, 3, 3), (2, 9, 1, 1)), (None, 3), {}),
)
TRANSPOSE3 = calls(
    (((1, 2, 2, 3, 3), (2, 3, 2, 2, 3)), (), {"stride": (2, 1, 2)}),
    # No tap reaches the only plane of the output: 0 everywhere.
    (((1, 2, 1, 5, 3), (2, 1, 2, 5, 3)), (None, (3, 1, 1), 1), {"dilation": (2, 1, 2)}),
)

EVEN = Bad(
    lambda m: m.nn.functional.conv2d(m.ones(1, 3, 4, 4), m.ones(2, 2, 3, 3)),
    RuntimeError,
    "to have 2 channels, but got 3",
)
SMALL = Bad(
    lambda m: m.nn.functional.conv1d(m.ones(1, 1, 2), m.ones(1, 1, 3)), RuntimeError, "size"
)
DTYPES = Bad(
    lambda m: m.nn.functional.conv1d(m.ones(1, 1, 4), m.ones(1, 1, 2, dtype=m.float64)),
    RuntimeError,
    "should be the same",
)
STRIDE = Bad(
    lambda m: m.nn.functional.conv2d(m.ones(1, 1, 4, 4), m.ones(1, 1, 2, 2), stride=0),
    RuntimeError,
    "non-positive stride is not supported",
)
SAME = Bad(
    lambda m: m.nn.functional.conv1d(m.ones(1, 1, 4), m.ones(1, 1, 2), stride=2, padding="same"),
    RuntimeError,
    "padding='same' is not supported for strided convolutions",
)
HALF = Bad(
    lambda m: m.nn.functional.max_pool2d(m.ones(1, 4, 4), 2, padding=2),
    RuntimeError,
    "at most half of effective kernel size",
)
NO_MODE = Bad(
    lambda m: m.nn.functional.pad(m.ones(1, 4), (1, 1), mode="mirror"),
    NotImplementedError,
    "mirror",
)
FAR = Bad(
    lambda m: m.nn.functional.pad(m.ones(1, 4), (4, 0), mode="reflect"),
    RuntimeError,
    "less than the corresponding input dimension",
)
BOTH = Bad(
    lambda m: m.nn.functional.interpolate(m.ones(1, 1, 4), size=2, scale_factor=2.0),
    ValueError,
    "only one of size or scale_factor",
)
CORNERS = Bad(
    lambda m: m.nn.functional.interpolate(m.ones(1, 1, 4), size=2, align_corners=True),
    ValueError,
    "align_corners",
)
OUTSIDE = Bad(
    lambda m: m.nn.functional.max_unpool2d(m.ones(1, 1, 1), m.full((1, 1, 1), 4), 2),
    RuntimeError,
    "invalid max index",
)

MAX2: tuple[Any, ...] = (
    (((2, 3, 8, 10),), (2,), {}),
    (((3, 7, 9),), (3, 2, 1), {}),
    (((1, 2, 9, 9),), ((2, 3), (1, 2), (1, 0), (2, 1)), {}),
    (((1, 2, 7, 8),), (3, 2), {"ceil_mode": True}),
)
TWICE = {"return_indices": True}
MODES = tuple(
    (shape, amounts, mode)
    for mode in ("reflect", "replicate", "circular")
    for shape, amounts in (((2, 3, 5), (2, 1)), ((2, 4, 5), (1, 2, 0, 3)), ((1, 2, 4, 5), (-1, 2, 1, 0)))
    if mode != "circular" or min(amounts) >= 0
)  # fmt: skip

ROWS = [
    Row(F + "conv1d", conv, CONV1, INTS + FLOATS, bad=(SMALL, DTYPES, SAME)),
    Row(F + "conv1d", conv, UNEVEN, INTS + FLOATS, torch=False),
    Row(F + "conv2d", conv, CONV2, INTS + FLOATS, bad=(EVEN, STRIDE)),
    Row(F + "conv3d", conv, CONV3, INTS + FLOATS),
    Row(F + "conv_transpose1d", conv_transpose, TRANSPOSE1, ("int64", *FLOATS)),
    Row(F + "conv_transpose2d", conv_transpose, TRANSPOSE2, ("int64", *FLOATS)),
    Row(F + "conv_transpose3d", conv_transpose, TRANSPOSE3, ("int64", *FLOATS)),
    Row("conv1d", conv, CONV1, ("float32",)),
    Row("conv2d", conv, CONV2, ("float32",)),
    Row("conv3d", conv, CONV3, ("float32",)),
    Row("conv_transpose1d", conv_transpose, TRANSPOSE1, ("float32",)),
    Row("conv_transpose2d", conv_transpose, TRANSPOSE2, ("float32",)),
    Row("conv_transpose3d", conv_transpose, TRANSPOSE3, ("float32",)),
    Row(
        "convolution",
        lambda x, w, b, s, p, d, transposed, o, g: conv(x, w, b, s, p, d, g),
        calls((((1, 2, 6), (4, 1, 3)), (None, [1], [2], [1], False, [0], 2), {})),
        FLOATS,
    ),
    Row(F + "max_pool1d", max_pool(1), calls((((2, 3, 9),), (2,), {}), (((3, 9),), (3, 2, 1, 2), {})), FLOATS),
    Row(F + "max_pool2d", max_pool(2), calls(*MAX2), INTS + FLOATS, bad=(HALF,)),
    Row(F + "max_pool3d", max_pool(3), calls((((2, 2, 5, 6, 6),), (3, 2, 1), {})), INTS + FLOATS),
    Row(
        F + "max_pool1d_with_indices", max_pool(1), calls((((2, 3, 9),), (3, 2, 1), TWICE)), FLOATS,
        result="values and int64",
    ),
    Row(
        F + "max_pool2d_with_indices", max_pool(2), calls(*((s, a, o | TWICE) for s, a, o in MAX2)),
        INTS + FLOATS, result="values and int64",
    ),
    Row(
        F + "max_pool3d_with_indices", max_pool(3), calls((((2, 5, 6, 6),), (2, 2, 1), TWICE)),
        INTS + FLOATS, result="values and int64",
    ),
    Row(F + "avg_pool1d", avg_pool(1), calls((((2, 3, 9),), (2,), {}), (((3, 9),), (3, 2, 1, False, False), {})),
        ("int64", *FLOATS)),
    Row(
        F + "avg_pool2d", avg_pool(2),
        calls((((2, 3, 8, 10),), (2,), {}), (((3, 7, 9),), (3, 2, 1), {}), (((1, 7, 9),), ((2, 6), (1, 5), (1, 3)), {}),
              (((3, 7, 9),), (3, 2, 1, False, False), {}), (((3, 7, 9),), (2,), {"divisor_override": 3})),
        ("int64", *FLOATS),
    ),
    Row(F + "avg_pool3d", avg_pool(3), calls((((2, 4, 5, 6),), (2, 1, 1, False, False), {})), ("int64", "float32", "float64")),
    Row(F + "adaptive_avg_pool1d", adaptive(1, False), calls((((2, 3, 7),), (3,), {})), FLOATS),
    Row(F + "adaptive_avg_pool2d", adaptive(2, False),
        calls((((2, 3, 7, 8),), ((3, None),), {}), (((3, 7, 8),), (1,), {}), (((2, 2, 3, 2),), (5,), {})), FLOATS),
    Row(F + "adaptive_avg_pool3d", adaptive(3, False), calls((((1, 2, 3, 4, 5),), ((2, 3, 1),), {})), FLOATS),
    Row(F + "adaptive_max_pool1d", adaptive(1, True), calls((((2, 3, 7),), (3, True), {})), FLOATS, result="values and int64"),
    Row(F + "adaptive_max_pool2d", adaptive(2, True), calls((((2, 3, 7, 8),), ((3, 5), True), {})), FLOATS,
        result="values and int64"),
    Row(F + "adaptive_max_pool3d", adaptive(3, True), calls((((2, 3, 4, 5),), (2, True), {})), FLOATS,
        result="values and int64"),
    Row(F + "max_unpool1d", unpool(1), unpool_samples((1, 2, 3), [0, 3, 4, 1, 2, 5]), ("float32", "float64")),
    Row(F + "max_unpool2d", unpool(2), unpool_samples((1, 2, 2), [5, 2, 8, 15]), ("float32", "float64"), bad=(OUTSIDE,)),
    Row(F + "max_unpool3d", unpool(3), unpool_samples((1, 1, 1, 2), [3, 14]), ("float32", "float64")),
    Row(F + "lp_pool1d", lp_pool(1), calls((((2, 3, 9),), (2, 3), {}), (((2, 9),), (float("inf"), 2), {})), ("float32", "float64")),
    Row(F + "lp_pool2d", lp_pool(2), calls((((2, 3, 6, 9),), (2, (2, 3), 2), {})), ("float32", "float64")),
    Row(F + "lp_pool3d", lp_pool(3), calls((((2, 4, 4, 4),), (2, 2), {})), ("float32", "float64")),
    Row(
        F + "pad", pad,
        calls((((2, 3),), ((1, 2, 0, 1),), {"value": 1}), (((2, 5),), ((-1, 2, 3, -1),), {}), (((0, 2),), ((1, 1, 1, 0),), {}),
              (((2, 3, 4),), ((0, 0, 1, 1),), {}), (((4,),), ((),), {})),
        ALL, bad=(NO_MODE, FAR),
    ),
    Row(F + "pad", pad, calls(*(((s,), (a,), {"mode": m}) for s, a, m in MODES)), REAL),
    Row("constant_pad_nd", lambda x, p, v=0: pad(x, p, value=v), calls((((2, 3),), ((1, 2), 1), {})), ALL),
    *(
        Row(f"ops.aten.{kind}_pad{d}d", padded_last("reflect" if kind == "reflection" else "replicate"),
            calls((((2, 4, 5, 4, 5)[: d + 2],), ([1, 2] * d,), {})), REAL)
        for kind in ("reflection", "replication") for d in (1, 2, 3)
    ),
    Row("ops.aten._pad_circular", padded_last("circular"), calls((((2, 4, 5),), ([1, 2],), {})), ALL),
    Row(
        F + "interpolate", interpolate,
        calls((((2, 3, 4),), (), {"size": 7}), (((2, 3, 4, 6),), (), {"scale_factor": 2}), (((1, 2, 8, 4),), ((3, 9),), {}),
              (((1, 1, 2, 3, 4),), ((4, 3, 6),), {}), (((1, 2, 5),), (), {"size": 8, "mode": "nearest-exact"}),
              (((1, 2, 8),), (), {"scale_factor": 0.75, "mode": "linear"}),
              (((1, 2, 5),), (9,), {"mode": "linear", "align_corners": True}),
              (((1, 3, 4, 6),), ((8, 3),), {"mode": "bilinear"}),
              (((1, 3, 4, 6),), (), {"mode": "bilinear", "scale_factor": 2.0, "align_corners": True}),
              (((1, 2, 4, 6),), ((8, 3),), {"mode": "bicubic"}), (((1, 2, 4, 6),), ((5, 4),), {"mode": "area"}),
              (((1, 2, 2, 4, 3),), ((4, 2, 5),), {"mode": "trilinear"})),
        FLOATS, bad=(BOTH, CORNERS),
    ),
    Row(
        F + "grid_sample", grid_sample,
        calls((((2, 3, 4, 5), (2, 3, 2, 2)), (), {"align_corners": False}),
              (((1, 2, 4, 5), (1, 3, 4, 2)), ("bilinear", "border", True), {}),
              (((1, 2, 4, 4), (1, 3, 4, 2)), ("nearest", "border", False), {})),
        ("float32", "float64"),
    ),
    Row(F + "affine_grid", affine_grid,
        calls((((2, 2, 3),), ((2, 1, 3, 4),), {"align_corners": False}),
              (((1, 3, 4),), ((1, 1, 2, 3, 2),), {"align_corners": True})), FLOATS),
    Row("pixel_shuffle", pixel_shuffle, calls((((2, 8, 2, 3),), (2,), {}), (((9, 1, 2),), (3,), {})), ALL),
    Row("pixel_unshuffle", pixel_unshuffle, calls((((2, 2, 4, 6),), (2,), {}), (((1, 3, 6),), (3,), {})), ALL),
    Row("channel_shuffle", channel_shuffle, calls((((2, 6, 2),), (3,), {}), (((1, 4, 2, 2),), (2,), {})), ALL),
    Row("native_channel_shuffle", channel_shuffle, calls((((2, 6, 2),), (3,), {})), ALL, torch=False),
    Row(F + "unfold", unfold, calls((((2, 3, 5, 6),), (2,), {}), (((1, 2, 6, 7),), ((3, 2), 2, 1, (1, 2)), {})), FLOATS),
    Row(F + "fold", fold, calls((((2, 12, 20),), ((5, 6), 2), {}), (((1, 12, 16),), ((6, 7), (3, 2), 2, 1, (1, 2)), {})), FLOATS),
]  # fmt: skip
