"""Gradients of layers, losses and tables: operators that formulas of gradients call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from rows_backward_pointwise import adjoint
from table import Array, Bad, Row, Sample, array

WIDE = ("float32", "float64")


def integers(values: Any, dtype: str = "int64") -> Array:
    return Array(np.asarray(values, dtype), dtype)


def row(
    name: str,
    reference: Any,
    samples: Any,
    bad: tuple[Bad, ...] = (),
    dtypes: tuple[str, ...] = WIDE,
) -> Row:
    return Row(f"ops.aten.{name}", reference, samples, dtypes, torch=False, bad=bad)


def refused(name: str, match: str, *args: Any) -> Bad:
    """`args`: functions of the module, or values."""
    return Bad(
        lambda m: getattr(m.ops.aten, name)(*(a(m) if callable(a) else a for a in args)),
        RuntimeError,
        match,
    )


# ---- means over windows


def means(
    x: np.ndarray,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    ceil: bool,
    counted: bool,
    by: int | None,
) -> np.ndarray:
    """Windows over the last dimensions, without ceil_mode."""
    del ceil
    n = len(kernel)
    step, pad = (stride or kernel), padding
    lead = x.shape[:-n]
    inner = x.shape[-n:]
    out_sizes = [
        (s + 2 * p - k) // t + 1 for s, p, k, t in zip(inner, pad, kernel, step, strict=True)
    ]
    out = np.zeros((*lead, *out_sizes))
    for item in product(*map(range, out_sizes)):
        starts = [o * t - p for o, t, p in zip(item, step, pad, strict=True)]
        ends = [min(s + k, i + p) for s, k, i, p in zip(starts, kernel, inner, pad, strict=True)]
        part: tuple[Any, ...] = (
            ...,
            *(slice(max(s, 0), min(e, i)) for s, e, i in zip(starts, ends, inner, strict=True)),
        )
        inside = x[part]
        count = int(np.prod([e - s for s, e in zip(starts, ends, strict=True)]))
        size = int(np.prod(inside.shape[-n:]))
        at: tuple[Any, ...] = (..., *item)
        out[at] = inside.sum(axis=tuple(range(-n, 0))) / (by or (count if counted else size))
    return out


def pool_samples(dims: int) -> Any:
    def samples(dtype: str) -> Iterator[Sample]:
        for sizes in ((2, 5, 6), (1, 2, 4, 4)) if dims == 2 else ((1, 2, 4, 3, 4),):
            calls: list[tuple[list[int], list[int], list[int], bool, bool, int | None]] = [
                ([2] * dims, [2] * dims, [0] * dims, False, True, None),
                ([3] + [2] * (dims - 1), [], [1] * dims, False, False, None),
                ([2] * dims, [1] * dims, [1] * dims, False, True, 3),
            ]
            for call in calls:
                g = array(dtype, *means(np.zeros(sizes), *call).shape)
                yield Sample((g, list(sizes), *call), name=f"{sizes}{call}")

    return samples


def pool(g: np.ndarray, sizes: list[int], *call: Any) -> np.ndarray:
    return adjoint(lambda x: means(x, *call), tuple(sizes), g)


# ---- tables


def table_samples(dtype: str) -> Iterator[Sample]:
    for padding, scaled in product((-1, 2), (False, True)):
        index = integers([[0, 2, 2], [4, 0, 2]])
        yield Sample((array(dtype, 2, 3, 5), index, 6, padding, scaled), name=f"{padding} {scaled}")


def table(g: np.ndarray, index: np.ndarray, n: int, padding: int, scaled: bool) -> np.ndarray:
    result = np.zeros((n, g.shape[-1]))
    for at in np.ndindex(index.shape):
        if index[at] != padding:
            result[index[at]] += g[at] / (np.sum(index == index[at]) if scaled else 1)
    return result


# ---- convolutions


def convolved(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, stride: int, pad: int, dilation: int, groups: int
) -> Any:
    """Return a convolution over one dimension: (N, C, L) and (K, C / groups, W)."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad)))
    kernels, each, width = w.shape
    length = (x.shape[2] - dilation * (width - 1) - 1) // stride + 1
    out = np.zeros((x.shape[0], kernels, length)) + b[None, :, None]
    for k, i, j in product(range(kernels), range(each), range(width)):
        channel = k // (kernels // groups) * each + i
        start = j * dilation
        out[:, k] += w[k, i, j] * x[:, channel, start : start + stride * (length - 1) + 1 : stride]
    return out


def transposed(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, stride: int, pad: int, dilation: int, groups: int
) -> Any:
    """Return the adjoint of `convolved` in its input, with weights (C, K / groups, W)."""
    width = w.shape[2]
    length = (x.shape[2] - 1) * stride - 2 * pad + dilation * (width - 1) + 1
    sizes = (x.shape[0], w.shape[1] * groups, length)
    none = np.zeros(w.shape[0])
    return (
        adjoint(lambda y: convolved(y, w, none, stride, pad, dilation, groups), sizes, x)
        + b[None, :, None]
    )


def convolution(
    g: np.ndarray, x: np.ndarray, w: np.ndarray, stride: list[int], pad: list[int], dilation: list[int],
    across: bool, extra: list[int], groups: int, mask: list[int],
) -> list[np.ndarray]:  # fmt: skip
    del extra, mask
    f = transposed if across else convolved
    more = (stride[0], pad[0], dilation[0], groups)
    none = np.zeros(g.shape[1])
    return [
        adjoint(lambda v: f(v, w, none, *more), x.shape, g),
        adjoint(lambda v: f(x, v, none, *more), w.shape, g),
        g.sum(axis=(0, 2)),
    ]


def convolution_samples(dtype: str) -> Iterator[Sample]:
    for across, stride, pad, dilation, groups in (
        (False, 1, 0, 1, 1), (False, 2, 1, 1, 2), (False, 1, 2, 2, 1), (True, 1, 0, 1, 1), (True, 2, 1, 1, 2),
    ):  # fmt: skip
        x = array(dtype, 2, 4, 7)
        w = (
            array(dtype, 4, 6 // groups, 3, seed=1)
            if across
            else array(dtype, 6, 4 // groups, 3, seed=1)
        )
        f = transposed if across else convolved
        shape = f(
            np.zeros((2, 4, 7)),
            np.zeros(w.values.shape),
            np.zeros(6),
            stride,
            pad,
            dilation,
            groups,
        ).shape
        args = (
            array(dtype, *shape, seed=2),
            x,
            w,
            [stride],
            [pad],
            [dilation],
            across,
            [0],
            groups,
            [1, 1, 1],
        )
        yield Sample(args, name=f"{across} {stride} {pad} {dilation} {groups}")


# ---- losses


def nll(
    g: np.ndarray,
    scores: np.ndarray,
    target: np.ndarray,
    weight: Any,
    reduction: int,
    ignored: int,
    total: Any,
) -> np.ndarray:
    by_class = np.zeros(scores.shape)
    last = np.moveaxis(by_class, 1 if scores.ndim > 1 else 0, -1)
    for at in np.ndindex(target.shape):
        t = int(target[at])
        if t != ignored:
            own = 1.0 if weight is None else float(weight[t])
            arrived = float(g if g.ndim == 0 else g[at])
            last[(*at, t)] = -arrived * own / (float(total) if reduction == 1 else 1)
    return by_class


def nll_samples(pictures: bool) -> Any:
    def samples(dtype: str) -> Iterator[Sample]:
        shape = (2, 4, 2, 3) if pictures else (3, 4)
        index = np.random.default_rng(3).integers(0, 4, (2, 2, 3) if pictures else 3)
        for weighted, reduction, ignored in product((False, True), (0, 1, 2), (-100, 1)):
            weight = array(dtype, 4, seed=4, low=1, high=3) if weighted else None
            own = np.ones(4) if weight is None else weight.values
            total = Array(np.asarray(own[index[index != ignored]].sum(), dtype), dtype)
            g = array(dtype, *(index.shape if reduction == 0 else ()), seed=5)
            args = (g, array(dtype, *shape), integers(index), weight, reduction, ignored, total)
            yield Sample(args, name=f"{weighted} {reduction} {ignored}")
        if not pictures:
            args = (
                array(dtype, seed=5),
                array(dtype, 4),
                integers(2),
                None,
                1,
                -100,
                Array(np.ones((), dtype), dtype),
            )
            yield Sample(args, name="one row")

    return samples


def labels(
    g: np.ndarray, x: np.ndarray, target: np.ndarray, reduction: int, marks: np.ndarray
) -> np.ndarray:
    rows, classes = np.atleast_2d(x).shape
    result = np.zeros((rows, classes))
    for r in range(rows):
        own, t, mark = np.atleast_2d(x)[r], np.atleast_2d(target)[r], np.atleast_2d(marks)[r]
        pulled = float(np.ravel(g)[0 if g.size == 1 else r]) / (
            classes * (rows if reduction == 1 else 1)
        )
        for c in t[: np.argmax(t < 0) if (t < 0).any() else classes]:
            for other in range(classes):
                if mark[other] == 0 and 1 - own[c] + own[other] > 0:
                    result[r, other] += pulled
                    result[r, c] -= pulled
    return result.reshape(x.shape)


def label_samples(dtype: str) -> Iterator[Sample]:
    target = np.array([[1, 3, -1, 0], [2, -1, -1, -1], [0, 1, 2, 3]])
    marks = np.array([[0, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]], dtype)
    for reduction in (0, 1, 2):
        g = array(dtype, *((3,) if reduction == 0 else ()), seed=1)
        yield Sample(
            (g, array(dtype, 3, 4), integers(target), reduction, Array(marks, dtype)),
            name=f"{reduction}",
        )
    yield Sample(
        (array(dtype, seed=1), array(dtype, 4), integers(target[0]), 1, Array(marks[0], dtype)),
        name="one row",
    )


# ---- normalisations. What was saved: the mean and 1 / sqrt(variance + eps) of each set.


def normal_gradient(
    h: np.ndarray, xhat: np.ndarray, rstd: Any, axes: tuple[int, ...]
) -> np.ndarray:
    mean = np.mean(h, axis=axes, keepdims=True)
    return np.asarray(rstd * (h - mean - xhat * np.mean(h * xhat, axis=axes, keepdims=True)))


def statistics(x: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    return np.mean(x, axis=axes, keepdims=True), 1 / np.sqrt(
        np.var(x, axis=axes, keepdims=True) + 1e-5
    )


def saved(x: Array, axes: tuple[int, ...], shape: tuple[int, ...]) -> list[Array]:
    return [
        Array(s.reshape(shape).astype(x.dtype), x.dtype)
        for s in statistics(x.values.astype(float), axes)
    ]


def layer_samples(dtype: str) -> Iterator[Sample]:
    for shape, last in (((3, 4), (4,)), ((2, 3, 4), (3, 4)), ((5, 300), (300,))):
        x, axes = array(dtype, *shape), tuple(range(-len(last), 0))
        w, b = array(dtype, *last, seed=1), array(dtype, *last, seed=2)
        lead = (*shape[: -len(last)], *(1 for _ in last))
        args = (array(dtype, *shape, seed=3), x, list(last), *saved(x, axes, lead), w, b, [1, 1, 1])
        yield Sample(args, name=f"{shape}")


def layer(
    g: Any, x: Any, last: list[int], mean: Any, rstd: Any, w: Any, b: Any, mask: Any
) -> list[Any]:
    del b, mask
    inside, outside = tuple(range(-len(last), 0)), tuple(range(x.ndim - len(last)))
    mean, rstd = statistics(x, inside)
    xhat = (x - mean) * rstd
    return [
        normal_gradient(g * w, xhat, rstd, inside),
        (g * xhat).sum(axis=outside),
        g.sum(axis=outside),
    ]


def across(channels: np.ndarray, x: np.ndarray) -> np.ndarray:
    return channels.reshape(1, -1, *(1 for _ in x.shape[2:]))


def batch_samples(dtype: str) -> Iterator[Sample]:
    for shape in ((4, 3), (2, 3, 5), (2, 3, 2, 4)):
        x, axes = array(dtype, *shape), (0, *range(2, len(shape)))
        w, mean = array(dtype, 3, seed=1), array(dtype, 3, seed=2)
        var = array(dtype, 3, seed=4, low=1, high=3)
        g = array(dtype, *shape, seed=3)
        yield Sample(
            (g, x, w, None, None, *saved(x, axes, (3,)), True, 1e-5, [1, 1, 1]), name=f"{shape}"
        )
        yield Sample((g, x, w, mean, var, None, None, False, 1e-5, [1, 1, 1]), name=f"{shape} eval")


def batch(
    g: Any,
    x: Any,
    w: Any,
    mean: Any,
    var: Any,
    saved_mean: Any,
    saved_rstd: Any,
    train: bool,
    eps: float,
    mask: Any,
) -> list[Any]:
    del saved_mean, saved_rstd, mask
    axes = (0, *range(2, x.ndim))
    if train:
        mean, rstd = statistics(x, axes)
    else:
        mean, rstd = across(mean, x), 1 / np.sqrt(across(var, x) + eps)
    xhat, h = (x - mean) * rstd, g * across(w, x)
    return [
        normal_gradient(h, xhat, rstd, axes) if train else h * rstd,
        (g * xhat).sum(axis=axes),
        g.sum(axis=axes),
    ]


def group_samples(dtype: str) -> Iterator[Sample]:
    for shape, groups in (((2, 4, 3), 2), ((3, 6), 3), ((2, 4, 2, 3), 1)):
        x, w = array(dtype, *shape), array(dtype, shape[1], seed=1)
        area = int(np.prod(shape[2:]))
        sets = Array(x.values.reshape(shape[0], groups, -1), dtype)
        mean, rstd = saved(sets, (2,), (shape[0], groups))
        g = array(dtype, *shape, seed=3)
        yield Sample(
            (g, x, mean, rstd, w, shape[0], shape[1], area, groups, [1, 1, 1]), name=f"{shape}"
        )


def group(
    g: Any, x: Any, mean: Any, rstd: Any, w: Any, n: int, c: int, area: int, groups: int, mask: Any
) -> list[Any]:
    del c, area, mask
    sets = x.reshape(n, groups, -1)
    mean, rstd = statistics(sets, (2,))
    xhat, h = (sets - mean) * rstd, (g * across(w, x)).reshape(n, groups, -1)
    axes = (0, *range(2, x.ndim))
    return [
        normal_gradient(h, xhat, rstd, (2,)).reshape(x.shape),
        (g * xhat.reshape(x.shape)).sum(axis=axes),
        g.sum(axis=axes),
    ]


# ---- pixels between pixels


def sampled(x: np.ndarray, grid: np.ndarray, border: bool, corners: bool) -> np.ndarray:
    """Linear interpolation over two or three dimensions; a place says its last coordinate first."""
    sizes = x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *item in np.ndindex(grid.shape[:-1]):
        lines = []
        for value, size in zip(grid[(n, *item)][::-1], sizes, strict=True):
            at = (value + 1) / 2 * (size - 1) if corners else ((value + 1) * size - 1) / 2
            at = min(max(at, 0), size - 1) if border else at
            low = int(np.floor(at))
            pairs = ((low, low + 1 - at), (low + 1, at - low))
            lines.append([(i, weight) for i, weight in pairs if 0 <= i < size])
        for corner in product(*lines):
            weight = np.prod([w for _, w in corner])
            out[(n, slice(None), *item)] += weight * x[(n, slice(None), *(i for i, _ in corner))]
    return out


def grid_samples(dims: int) -> Any:
    def samples(dtype: str) -> Iterator[Sample]:
        inner, positions = ((3, 4), (2, 3)) if dims == 2 else ((2, 3, 2), (2, 1, 2))
        x, g = array(dtype, 2, 2, *inner), array(dtype, 2, 2, *positions, seed=1)
        # Odd 64ths: never on a pixel, where the slope has two values.
        numbers = np.random.default_rng(5).integers(-40, 40, (2, *positions, dims)) * 2 + 1
        grid = Array((numbers / 64).astype(dtype), dtype)
        for padding, corners in product((0, 1), (False, True)):
            yield Sample((g, x, grid, 0, padding, corners, [1, 1]), name=f"{padding} {corners}")

    return samples


def grid_gradient(
    g: np.ndarray,
    x: np.ndarray,
    grid: np.ndarray,
    mode: int,
    padding: int,
    corners: bool,
    mask: Any,
) -> list[np.ndarray]:
    """Between pixels the result is linear in every coordinate: differences are exact."""
    del mask, mode
    terms = (padding == 1, corners)
    to_grid = np.zeros(grid.shape)
    for at in np.ndindex(grid.shape):
        step = np.zeros(grid.shape)
        step[at] = 2.0**-12
        change = sampled(x, grid + step, *terms) - sampled(x, grid - step, *terms)
        to_grid[at] = np.sum(g * change) / (2 * step[at])
    return [adjoint(lambda v: sampled(v, grid, *terms), x.shape, g), to_grid]


def zeros(*sizes: int) -> Any:
    return lambda m: m.zeros(sizes)


def numbers(*sizes: int) -> Any:
    return lambda m: m.zeros(sizes, dtype=m.int64)


ROWS = [
    row("avg_pool2d_backward", pool, pool_samples(2), (
        refused("avg_pool2d_backward", "grad_output", zeros(1, 3, 3), [1, 4, 4], [2, 2], [2, 2], [0, 0], False, True, None),
    )),
    row("avg_pool3d_backward", pool, pool_samples(3)),
    row("embedding_dense_backward", table, table_samples, (
        refused("embedding_dense_backward", "the gradient has sizes", zeros(2, 3), numbers(3), 4, -1, False),
    )),
    row("convolution_backward", convolution, convolution_samples),
    row("nll_loss_backward", nll, nll_samples(False), (
        refused("nll_loss_backward", "do not belong together",
                zeros(), zeros(3, 4), numbers(2), None, 1, -100, zeros()),
    )),
    row("nll_loss2d_backward", nll, nll_samples(True), (
        refused("nll_loss2d_backward", "dimensions", zeros(), zeros(3, 4), numbers(3), None, 1, -100, zeros()),
    )),
    row("multilabel_margin_loss_backward", labels, label_samples, (
        refused("multilabel_margin_loss_backward", "do not belong together",
                zeros(), zeros(3, 4), numbers(2), 1, zeros(3, 4)),
    )),
    row("native_layer_norm_backward", layer, layer_samples, (
        refused("native_layer_norm_backward", "native_layer_norm_backward",
                zeros(3, 4), zeros(3, 4), [5], zeros(3, 1), zeros(3, 1), None, None, [1, 1, 1]),
    )),
    row("native_batch_norm_backward", batch, batch_samples, (
        refused("native_batch_norm_backward", "statistics",
                zeros(3, 4), zeros(3, 4), None, None, None, None, None, True, 0.1, [1, 1, 1]),
    )),
    row("native_group_norm_backward", group, group_samples, (
        refused("native_group_norm_backward", "native_group_norm_backward",
                zeros(3, 4), zeros(3, 4), zeros(3, 2), zeros(3, 2), None, 3, 4, 1, 0, [1, 1, 1]),
    )),
    row("grid_sampler_2d_backward", grid_gradient, grid_samples(2), (
        refused("grid_sampler_2d_backward", "do not belong together",
                zeros(1, 1, 2, 2), zeros(1, 1, 3, 3), zeros(2, 2, 2, 2), 0, 0, False, [1, 1]),
    )),
    row("grid_sampler_3d_backward", grid_gradient, grid_samples(3)),
]  # fmt: skip
