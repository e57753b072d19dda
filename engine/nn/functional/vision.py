"""Image functions of `nn.functional`: interpolation, grid sampling, unfold and fold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from engine._generated import ops
from engine.tensor import Tensor

__all__ = [
    "affine_grid",
    "fold",
    "grid_sample",
    "interpolate",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

# The inputs that a mode takes.
_RANKS = {
    "nearest": "3D or 4D or 5D",
    "nearest-exact": "3D or 4D or 5D",
    "linear": "3D",
    "bilinear": "4D",
    "bicubic": "4D",
    "trilinear": "5D",
}
_NOT_ALIGNED = ("nearest", "nearest-exact", "area")  # modes without corners to align


def _per_dimension(value: Any, dims: int, argument: str, input: Tensor) -> Any:
    if not isinstance(value, (list, tuple)):
        return [value] * dims
    if len(value) != dims:
        raise ValueError(
            f"interpolate: {argument} must have one number per spatial dimension, but got input with "
            f"spatial dimensions of {list(input.shape[2:])} and {argument} {tuple(value)}"
        )
    return list(value)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample the spatial dimensions to `size`, or by `scale_factor`.

    Formula: `mode` is nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area (means of equal
    windows); `align_corners` aligns the centres of the outer pixels, not their edges; `antialias`
    widens the kernel when the image shrinks.
    Shape: (N, C, L), (N, C, H, W) or (N, C, D, H, W); linear accepts the first, bilinear and bicubic the
    second, trilinear the last.
    Dtype: floating; nearest, bilinear and bicubic also uint8. Memory: a new tensor.
    Raises: ValueError for arguments that exclude each other, NotImplementedError for a mode that does not
    support the rank.

    >>> import engine
    >>> interpolate(engine.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if align_corners is not None and mode in _NOT_ALIGNED:
        raise ValueError(
            "interpolate: align_corners can only be set with the modes linear, bilinear, bicubic "
            f"and trilinear, not with {mode}"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate: only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("interpolate: either size or scale_factor should be defined")
    dims = input.dim() - 2
    aligned = align_corners is not None and align_corners
    recomputed = recompute_scale_factor is not None and recompute_scale_factor
    if size is not None:
        if isinstance(size, (list, tuple)) and any(isinstance(n, float) for n in size):
            raise TypeError(f"interpolate: size must be ints, got {size}")
        if recomputed:
            raise ValueError(
                "interpolate: recompute_scale_factor is not meaningful with an explicit size"
            )
        sizes = _per_dimension(size, dims, "size", input)
        return _resize(input, sizes, None, mode, aligned, antialias)
    scales = _per_dimension(scale_factor, dims, "scale_factor", input)
    if recomputed or mode == "area":
        sizes = [int(n * scale) for n, scale in zip(input.shape[2:], scales, strict=True)]
        return _resize(input, sizes, None, mode, aligned, antialias)
    if any(isinstance(x, Tensor) for x in scales):
        raise TypeError(
            "interpolate: scale_factor must be a number, or one per dimension, got a Tensor: pass x.item()"
        )
    return _resize(input, None, [float(x) for x in scales], mode, aligned, antialias)


def _resize(
    input: Tensor, sizes: Any, scales: Any, mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    """Resample to `sizes`, or by `scales`; one of the two is None."""
    rank = input.dim()
    if antialias:
        if rank == 4 and mode == "bilinear":
            return ops._upsample_bilinear2d_aa_vec(input, sizes, align_corners, scales)
        if rank == 4 and mode == "bicubic":
            return ops._upsample_bicubic2d_aa_vec(input, sizes, align_corners, scales)
        raise ValueError(
            "interpolate: antialias is restricted to bilinear and bicubic modes and a 4-D input, "
            f"got {mode} and {rank}-D"
        )
    if rank == 4:
        if mode == "nearest":
            return ops.upsample_nearest2d_vec(input, sizes, scales)
        if mode == "nearest-exact":
            return ops._upsample_nearest_exact2d_vec(input, sizes, scales)
        if mode == "bilinear":
            return ops.upsample_bilinear2d_vec(input, sizes, align_corners, scales)
        if mode == "bicubic":
            return ops.upsample_bicubic2d_vec(input, sizes, align_corners, scales)
        if mode == "area" and sizes is not None:
            return ops.adaptive_avg_pool2d(input, sizes)
    if rank == 3:
        if mode == "nearest":
            return ops.upsample_nearest1d_vec(input, sizes, scales)
        if mode == "nearest-exact":
            return ops._upsample_nearest_exact1d_vec(input, sizes, scales)
        if mode == "linear":
            return ops.upsample_linear1d_vec(input, sizes, align_corners, scales)
        if mode == "area" and sizes is not None:
            return ops.adaptive_avg_pool1d(input, sizes)
    if rank == 5:
        if mode == "nearest":
            return ops.upsample_nearest3d_vec(input, sizes, scales)
        if mode == "nearest-exact":
            return ops._upsample_nearest_exact3d_vec(input, sizes, scales)
        if mode == "trilinear":
            return ops.upsample_trilinear3d_vec(input, sizes, align_corners, scales)
        if mode == "area" and sizes is not None:
            return ops.adaptive_avg_pool3d(input, sizes)
    raise NotImplementedError(
        f"interpolate: mode {mode!r} needs {_RANKS[mode]} input, got {rank}D"
        if mode in _RANKS
        else f"interpolate: there is no mode {mode!r} for {rank}D input"
    )


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Call `interpolate`, under its older name."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Call `interpolate(mode="nearest")`."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Call `interpolate(mode="bilinear", align_corners=True)`."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_SAMPLES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


def _aligned(align_corners: bool | None, name: str) -> bool:
    if align_corners is None:
        warnings.warn(
            f"{name}: align_corners is False unless given; before PyTorch 1.3 it was True",
            stacklevel=3,
        )
    return bool(align_corners)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample images at the positions in `grid`, (x, y) or (x, y, z) in [-1, 1].

    Shape: (N, C, H, W) and (N, H', W', 2) give (N, C, H', W'); volumes similarly.
    Memory: a new tensor. Raises: ValueError for an unknown mode or padding_mode.

    >>> import engine
    >>> grid_sample(engine.tensor([[[[1.0, 3.0]]]]), engine.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[2.]]]])
    """
    if mode not in _SAMPLES:
        raise ValueError(
            f"grid_sample: mode must be 'bilinear', 'nearest' or 'bicubic', got {mode!r}"
        )
    if padding_mode not in _OUTSIDE:
        raise ValueError(
            f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', "
            f"got {padding_mode!r}"
        )
    aligned = _aligned(align_corners, "grid_sample")
    return ops.grid_sampler(input, grid, _SAMPLES[mode], _OUTSIDE[padding_mode], aligned)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the grid for `grid_sample` of an affine map: theta is (N, 2, 3), or (N, 3, 4) for volumes.

    Shape: size (N, C, H, W) gives (N, H, W, 2); (N, C, D, H, W) gives (N, D, H, W, 3).
    Raises: ValueError for a theta that is not floating or does not fit the size.

    >>> import engine
    >>> theta = engine.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> affine_grid(theta, (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    aligned = _aligned(align_corners, "affine_grid")
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: theta must have a floating dtype, got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            f"affine_grid: only supports 4D and 5D sizes, for 2D and 3D maps, got {tuple(size)}"
        )
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"affine_grid: expected a batch of matrices of shape N x {dims} x {dims + 1} for size "
            f"{tuple(size)}, got {tuple(theta.shape)}"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: expected non-zero, positive output size, got {tuple(size)}")
    return ops.affine_grid_generator(theta, size, aligned)


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Copy every window of an image into a column of a matrix.

    Shape: (N, C, H, W) gives (N, C * kernel elements, windows). Memory: a new tensor.

    >>> import engine
    >>> unfold(engine.arange(3.0).view(1, 1, 1, 3), (1, 2))
    tensor([[[0., 1.],
             [1., 2.]]])
    """
    return ops.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Add the columns of `unfold` back into an image; overlapping windows are summed.

    >>> import engine
    >>> fold(engine.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """
    return ops.col2im(input, output_size, kernel_size, dilation, padding, stride)
