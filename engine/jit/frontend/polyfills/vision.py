"""Images in other sizes, as it is compiled: the mode is known, so is what `size` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine._generated import ops
from engine.nn.functional import vision
from engine.tensor import Tensor


def _per_dimension(value: Any, dims: int, what: str, input: Tensor) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) != dims:
            raise ValueError(
                f"interpolate: {what} must have one number per spatial dimension, but got input "
                f"with spatial dimensions of {input.shape[2:]} and {what} {value}"
            )
        return value
    return [value] * dims


def _check(size: Any, scale_factor: Any, mode: str, align_corners: Any, again: Any) -> None:
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(
            "interpolate: align_corners can only be set with the modes linear, bilinear, bicubic "
            f"and trilinear, not with {mode}"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate: only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("interpolate: either size or scale_factor should be defined")
    if size is not None and again is not None and again:
        raise ValueError(
            "interpolate: recompute_scale_factor is not meaningful with an explicit size"
        )


def _interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Tensor:
    _check(size, scale_factor, mode, align_corners, recompute_scale_factor)
    again = recompute_scale_factor is not None and recompute_scale_factor
    corners = align_corners is not None and align_corners
    dims = input.dim() - 2
    if size is not None:
        sizes = _per_dimension(size, dims, "size", input)
        return _resized(input, sizes, None, mode, corners, antialias)
    scales = [float(x) for x in _per_dimension(scale_factor, dims, "scale_factor", input)]
    if again or mode == "area":
        sizes = [int(n * scale) for n, scale in zip(input.shape[2:], scales, strict=True)]
        return _resized(input, sizes, None, mode, corners, antialias)
    return _resized(input, None, scales, mode, corners, antialias)


def _resized(
    input: Tensor, sizes: Any, scales: Any, mode: str, corners: bool, antialias: bool
) -> Tensor:
    rank = input.dim()
    if antialias:
        if rank == 4 and mode == "bilinear":
            return ops._upsample_bilinear2d_aa_vec(input, sizes, corners, scales)
        if rank == 4 and mode == "bicubic":
            return ops._upsample_bicubic2d_aa_vec(input, sizes, corners, scales)
        raise ValueError(
            "interpolate: antialias is restricted to bilinear and bicubic modes and a 4-D input, "
            f"got {mode} and {rank}-D"
        )
    if rank == 3:
        if mode == "nearest":
            return ops.upsample_nearest1d_vec(input, sizes, scales)
        if mode == "nearest-exact":
            return ops._upsample_nearest_exact1d_vec(input, sizes, scales)
        if mode == "linear":
            return ops.upsample_linear1d_vec(input, sizes, corners, scales)
        if mode == "area":
            return ops.adaptive_avg_pool1d(input, _wanted(sizes))
    if rank == 4:
        if mode == "nearest":
            return ops.upsample_nearest2d_vec(input, sizes, scales)
        if mode == "nearest-exact":
            return ops._upsample_nearest_exact2d_vec(input, sizes, scales)
        if mode == "bilinear":
            return ops.upsample_bilinear2d_vec(input, sizes, corners, scales)
        if mode == "bicubic":
            return ops.upsample_bicubic2d_vec(input, sizes, corners, scales)
        if mode == "area":
            return ops.adaptive_avg_pool2d(input, _wanted(sizes))
    if rank == 5:
        if mode == "nearest":
            return ops.upsample_nearest3d_vec(input, sizes, scales)
        if mode == "nearest-exact":
            return ops._upsample_nearest_exact3d_vec(input, sizes, scales)
        if mode == "trilinear":
            return ops.upsample_trilinear3d_vec(input, sizes, corners, scales)
        if mode == "area":
            return ops.adaptive_avg_pool3d(input, _wanted(sizes))
    raise NotImplementedError(f"interpolate: there is no mode '{mode}' for {rank}D input")


def _wanted(sizes: Any) -> Any:
    """Sizes that are there: of the mode `area`, which has no scales."""
    return [0] if sizes is None else sizes


SUBSTITUTES: dict[Any, Callable[..., Any]] = {vision.interpolate: _interpolate}
