"""Convolution, pooling, padding and resampling in NumPy: loops and dense matrices."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np


def listed(value: Any, dims: int) -> list[int]:
    return [value] * dims if isinstance(value, int) else list(value)


# ---- windows


def patches(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, fill: float) -> Any:
    """Return every window: the dimensions of the kernel are added after those of the image."""
    dims = len(kernel)
    lead = x.ndim - dims
    around = [(0, 0)] * lead + [(p, p) for p in padding]
    x = np.pad(x.astype(np.float64), around, constant_values=fill)
    for d, (k, s, dil) in enumerate(zip(kernel, stride, dilation, strict=True)):
        count = (x.shape[lead + d] - dil * (k - 1) - 1) // s + 1
        index = np.arange(count)[:, None] * s + np.arange(k) * dil
        x = np.moveaxis(np.take(x, index, axis=lead + d), lead + d + 1, -1)
    return x


def conv(x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
         groups: int = 1) -> Any:  # fmt: skip
    dims = w.ndim - 2
    if x.ndim == dims + 1:
        return conv(x[None], w, b, stride, padding, dilation, groups)[0]
    dil = listed(dilation, dims)
    if isinstance(padding, str):
        total = [
            d * (k - 1) if padding == "same" else 0 for d, k in zip(dil, w.shape[2:], strict=True)
        ]
        after = [(t // 2, t - t // 2) for t in total]
        x, padding = np.pad(x, [(0, 0), (0, 0), *after]), 0
    seen = patches(x, w.shape[2:], listed(stride, dims), listed(padding, dims), dil, 0)
    inner, outer = w.shape[1], w.shape[0] // groups
    axes = [1, *range(2 + dims, 2 + 2 * dims)], [1, *range(2, 2 + dims)]
    results = [
        np.tensordot(seen[:, g * inner : (g + 1) * inner],
                     w[g * outer : (g + 1) * outer].astype(np.float64), axes)
        for g in range(groups)
    ]  # fmt: skip
    result = np.moveaxis(np.concatenate(results, -1), -1, 1)
    return result if b is None else result + b.reshape(1, -1, *[1] * dims)


def conv_transpose(x: Any, w: Any, b: Any = None, stride: Any = 1, padding: Any = 0,
                   output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Any:  # fmt: skip
    """Add the kernel, scaled by each input element, to the output."""
    dims = w.ndim - 2
    s, p, o, d = (listed(v, dims) for v in (stride, padding, output_padding, dilation))
    full = [
        (n - 1) * s[i] + d[i] * (w.shape[2 + i] - 1) + 1 + o[i] for i, n in enumerate(x.shape[2:])
    ]
    outer, inner = w.shape[1], w.shape[0] // groups
    out = np.zeros((x.shape[0], outer * groups, *full))
    for item in product(*(range(n) for n in x.shape[2:])):
        for tap in product(*(range(k) for k in w.shape[2:])):
            at = tuple(item[i] * s[i] + tap[i] * d[i] for i in range(dims))
            for g in range(groups):
                pixel = x[(slice(None), slice(g * inner, (g + 1) * inner), *item)]
                weight = w[(slice(g * inner, (g + 1) * inner), slice(None), *tap)]
                out[(slice(None), slice(g * outer, (g + 1) * outer), *at)] += pixel @ weight
    crop = tuple(slice(p[i], full[i] - p[i]) for i in range(dims))
    out = out[(slice(None), slice(None), *crop)]
    return out if b is None else out + b.reshape(1, -1, *[1] * dims)


def max_pool(dims: int) -> Callable[..., Any]:
    def pool(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False, return_indices: bool = False) -> Any:  # fmt: skip
        k = listed(kernel, dims)
        s = k if stride is None else listed(stride, dims)
        p, d = listed(padding, dims), listed(dilation, dims)
        sizes = x.shape[-dims:]
        if ceil_mode:
            missing = [-(n + 2 * q - e * (m - 1) - 1) % t
                       for n, m, t, q, e in zip(sizes, k, s, p, d, strict=True)]  # fmt: skip
            wide = np.pad(x.astype(np.float64), [(0, 0)] * (x.ndim - dims) + [(0, m) for m in missing],
                          constant_values=-np.inf)  # fmt: skip
        else:
            wide = x.astype(np.float64)
        seen = patches(wide, k, s, p, d, -np.inf)
        flat = seen.reshape(*seen.shape[: x.ndim], -1)
        if not return_indices:
            return flat.max(-1)
        numbers = np.arange(wide[(0,) * (x.ndim - dims)].size).reshape(wide.shape[-dims:])
        positions = np.stack(np.unravel_index(numbers, wide.shape[-dims:]))
        linear = np.zeros(numbers.shape, dtype=np.int64)
        for size, item in zip(sizes, positions, strict=True):
            linear = linear * size + item
        location = patches(linear, k, s, p, d, -1).reshape(*flat.shape[x.ndim - dims :])
        best = flat.argmax(-1)
        index = np.take_along_axis(np.broadcast_to(location, flat.shape), best[..., None], -1)[
            ..., 0
        ]
        return flat.max(-1), index.astype(np.int64)

    return pool


def avg_pool(dims: int, truncate: bool = True) -> Callable[..., Any]:
    def pool(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Any:  # fmt: skip
        k = listed(kernel, dims)
        s = k if stride is None else listed(stride, dims)
        p = listed(padding, dims)
        own = tuple(range(x.ndim, x.ndim + dims))
        total = patches(x, k, s, p, [1] * dims, 0).sum(own)
        ones = patches(np.ones_like(x), k, s, p, [1] * dims, 0).sum(own)
        count = np.full_like(ones, np.prod(k)) if count_include_pad else ones
        mean = total / (count if divisor_override is None else divisor_override)
        return np.trunc(mean) if x.dtype == np.int64 else mean

    return pool


def shares(size: int, out: int) -> list[slice]:
    return [slice(o * size // out, -(-(o + 1) * size // out)) for o in range(out)]


def adaptive(dims: int, best: bool) -> Callable[..., Any]:
    def pool(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        sizes = x.shape[-dims:]
        expected = [n if w is None else w for n, w in
                  zip(sizes, [output_size] * dims if isinstance(output_size, int) else output_size,
                      strict=True)]  # fmt: skip
        lead = x.shape[:-dims]
        out = np.zeros((*lead, *expected))
        index = np.zeros((*lead, *expected), dtype=np.int64)
        numbers = np.broadcast_to(np.arange(np.prod(sizes)).reshape(sizes), x.shape)
        cut = [shares(n, w) for n, w in zip(sizes, expected, strict=True)]
        for item in product(*(range(w) for w in expected)):
            at = (..., *(cut[d][o] for d, o in enumerate(item)))
            seen, location = x[at].reshape(*lead, -1), numbers[at].reshape(*lead, -1)
            if best:
                out[(..., *item)] = seen.max(-1)
                first = seen.argmax(-1)[..., None]
                index[(..., *item)] = np.take_along_axis(location, first, -1)[..., 0]
            else:
                out[(..., *item)] = seen.mean(-1)
        return (out, index) if return_indices else out

    return pool


def lp_pool(dims: int) -> Callable[..., Any]:
    def pool(x: Any, norm: float, kernel: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        k = listed(kernel, dims)
        s = k if stride is None else listed(stride, dims)
        own = tuple(range(x.ndim, x.ndim + dims))
        seen = np.abs(patches(x, k, s, [0] * dims, [1] * dims, 0))
        return seen.max(own) if norm == float("inf") else (seen**norm).sum(own) ** (1 / norm)

    return pool


# ---- padding and resampling


def pad(x: Any, amounts: Any, mode: str = "constant", value: float | None = None) -> Any:
    pairs = [(amounts[i], amounts[i + 1]) for i in range(0, len(amounts), 2)][::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))
    around = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if mode == "constant":
        return np.pad(x[cut], around, constant_values=value or 0)
    return np.pad(x[cut], around, mode={"replicate": "edge", "circular": "wrap"}.get(mode, mode))


def padded_last(mode: str) -> Callable[..., Any]:
    return lambda x, amounts: pad(x, amounts, mode)


def matrix(size: int, out: int, mode: str, aligned: bool, scale: float | None) -> np.ndarray:
    """Row o holds the weights of the inputs that make output o."""
    result = np.zeros((out, size))
    step = size / out if scale is None else 1 / scale
    if aligned:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    for o in range(out):
        if mode == "area":
            current = shares(size, out)[o]
            result[o, current] = 1 / (current.stop - current.start)
        elif mode.startswith("nearest"):
            result[o, min(int((o + (0.5 if "exact" in mode else 0)) * step), size - 1)] = 1
        else:
            position = o * step if aligned else (o + 0.5) * step - 0.5
            cubic = mode == "bicubic"
            position = position if cubic else max(position, 0.0)
            first = int(np.floor(position))
            for k in range(-1, 3) if cubic else range(2):
                far = abs(position - first - k)
                if cubic:
                    near = (1.25 * far - 2.25) * far * far + 1
                    weight = near if far <= 1 else -0.75 * (((far - 5) * far + 8) * far - 4)
                else:
                    weight = 1 - far
                result[o, np.clip(first + k, 0, size - 1)] += weight
    return result


def interpolate(x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None) -> Any:  # fmt: skip
    dims = x.ndim - 2
    factors = [None] * dims
    if size is None:
        factors = [scale_factor] * dims if not isinstance(scale_factor, list) else scale_factor
        size = [int(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
    for d, out in enumerate(listed(size, dims)):
        result = matrix(x.shape[2 + d], out, mode, bool(align_corners), factors[d])
        x = np.moveaxis(np.tensordot(result, x, (1, 2 + d)), 0, 2 + d)
    return x


def grid_sample(x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool = False) -> Any:  # fmt: skip
    n, c, height, width = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]))
    for i, oy, ox in product(range(n), *map(range, grid.shape[1:3])):
        at = []
        for value, size in zip(grid[i, oy, ox], (width, height), strict=True):
            position = (
                (value + 1) / 2 * (size - 1) if align_corners else ((value + 1) * size - 1) / 2
            )
            at.append(np.clip(position, 0, size - 1) if padding_mode == "border" else position)
        if mode == "nearest":
            taps = [(int(np.rint(at[1])), int(np.rint(at[0])), 1.0)]
        else:
            y, x0 = int(np.floor(at[1])), int(np.floor(at[0]))
            taps = [(y + b, x0 + a, (1 - abs(at[1] - y - b)) * (1 - abs(at[0] - x0 - a)))
                    for b in (0, 1) for a in (0, 1)]  # fmt: skip
        for py, px, weight in taps:
            if 0 <= py < height and 0 <= px < width:
                out[i, :, oy, ox] += weight * x[i, :, py, px]
    return out


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Any:
    def line(n: int) -> Any:
        result = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        return result if align_corners else result * (n - 1) / n

    axes = [line(n) for n in size[2:]]
    grids = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*grids[::-1], np.ones([*size[2:]])], -1)
    return np.stack([base @ item.T for item in theta])


def unfold(x: Any, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    k = listed(kernel, 2)
    seen = patches(x, k, listed(stride, 2), listed(padding, 2), listed(dilation, 2), 0)
    n, c, h, w = seen.shape[:4]
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * k[0] * k[1], h * w)


def fold(x: Any, output_size: Any, kernel: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Any:  # fmt: skip
    k, size = listed(kernel, 2), listed(output_size, 2)
    c = x.shape[1] // (k[0] * k[1])
    out = np.zeros((x.shape[0], c * size[0] * size[1]))
    numbers = np.arange(1.0, c * size[0] * size[1] + 1).reshape(1, c, *size)
    location = unfold(numbers, kernel, dilation, padding, stride)[0].astype(int) - 1
    for i, j in zip(*np.nonzero(location >= 0), strict=True):
        out[:, location[i, j]] += x[:, i, j]
    return out.reshape(x.shape[0], c, *size)


def pixel_shuffle(x: Any, r: int) -> Any:
    *lead, c, h, w = x.shape
    x = x.reshape(*lead, c // r**2, r, r, h, w)
    n = len(lead)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return x.transpose(order).reshape(*lead, c // r**2, h * r, w * r)


def pixel_unshuffle(x: Any, r: int) -> Any:
    *lead, c, h, w = x.shape
    x = x.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return x.transpose(order).reshape(*lead, c * r**2, h // r, w // r)


def channel_shuffle(x: Any, groups: int) -> Any:
    split = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return split.swapaxes(1, 2).reshape(x.shape)


def unpool(dims: int) -> Callable[..., Any]:
    def reference(x: Any, indices: Any, kernel: Any) -> Any:
        size = [n * k for n, k in zip(x.shape[-dims:], listed(kernel, dims), strict=True)]
        out = np.zeros((*x.shape[:-dims], int(np.prod(size))))
        flat = indices.reshape(*x.shape[:-dims], -1)
        np.put_along_axis(out, flat, x.reshape(flat.shape), -1)
        return out.reshape(*x.shape[:-dims], *size)

    return reference
