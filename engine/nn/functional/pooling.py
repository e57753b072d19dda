"""Pooling with the signatures of `nn.functional`: a value per window, optionally with its index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from engine._generated import ops
from engine.arguments import type_word
from engine.tensor import Tensor

Sizes: TypeAlias = int | Sequence[int]
Pair: TypeAlias = tuple[Tensor, Tensor]

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def _listed(value: Sizes, dims: int) -> list[int]:
    """Convert a size to a list: a single number applies to all dimensions."""
    return [value] * dims if isinstance(value, int) else list(value)


# ---- maximum


def _max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Pair]]:
    plain, both = getattr(ops, f"max_pool{dims}d"), getattr(ops, f"max_pool{dims}d_with_indices")

    def max_pool(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        call = both if return_indices else plain
        steps = () if stride is None else stride
        return call(input, kernel_size, steps, padding, dilation, ceil_mode)

    def with_indices(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Pair:
        steps = () if stride is None else stride
        return both(input, kernel_size, steps, padding, dilation, ceil_mode)

    max_pool.__name__ = max_pool.__qualname__ = f"max_pool{dims}d"
    max_pool.__doc__ = (
        f"{plain.__doc__}\n\n`return_indices` also returns the index of each maximum."
    )
    with_indices.__name__ = with_indices.__qualname__ = f"max_pool{dims}d_with_indices"
    with_indices.__doc__ = both.__doc__
    return max_pool, with_indices


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _adaptive(input: Tensor, output_size: Any, dims: int) -> Sizes:
    """Replace each None in `output_size` by the size of its dimension."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"adaptive_max_pool{dims}d: argument 'input' must be Tensor, got {type_word(input)}"
        )
    if isinstance(output_size, int) or dims == 1:
        return output_size  # the operator checks it
    if input.dim() <= len(output_size):
        raise ValueError(
            f"adaptive pooling: input dimension should be at least {len(output_size) + 1}, "
            f"got {input.dim()}"
        )
    if len(output_size) != dims:
        return [0 if size is None else size for size in output_size]  # the operator raises an error
    sizes = input.shape[-dims:]
    return [have if size is None else size for size, have in zip(output_size, sizes, strict=True)]


def _adaptive_max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Pair]]:
    both = getattr(ops, f"adaptive_max_pool{dims}d")

    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Pair:
        return both(input, _adaptive(input, output_size, dims))

    def adaptive_max_pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        results = both(input, _adaptive(input, output_size, dims))
        return results if return_indices else results[0]

    adaptive_max_pool.__name__ = adaptive_max_pool.__qualname__ = f"adaptive_max_pool{dims}d"
    with_indices.__name__ = with_indices.__qualname__ = f"adaptive_max_pool{dims}d_with_indices"
    adaptive_max_pool.__doc__ = (
        f"{both.__doc__}\n\nThe indices are returned only with `return_indices`."
    )
    with_indices.__doc__ = both.__doc__
    return adaptive_max_pool, with_indices


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


# ---- mean


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Compute the mean of every window of the last dimension.

    >>> import engine
    >>> avg_pool1d(engine.tensor([[1.0, 3.0, 2.0, 6.0]]), 2)
    tensor([[2., 4.]])
    """
    steps = () if stride is None else stride
    return ops.avg_pool1d(input, kernel_size, steps, padding, ceil_mode, count_include_pad)


def _avg_pool(dims: int) -> Callable[..., Tensor]:
    plain, into = getattr(ops, f"avg_pool{dims}d"), getattr(ops, f"avg_pool{dims}d_out")

    def avg_pool(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        steps = () if stride is None else stride
        options = (steps, padding, ceil_mode, count_include_pad, divisor_override)
        if out is None:
            return plain(input, kernel_size, *options)
        return into(input, kernel_size, *options, out=out)

    avg_pool.__name__ = avg_pool.__qualname__ = f"avg_pool{dims}d"
    avg_pool.__doc__ = plain.__doc__
    return avg_pool


avg_pool2d = _avg_pool(2)
avg_pool3d = _avg_pool(3)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Compute the means of `output_size` windows of about equal size; None keeps a dimension's size.

    >>> import engine
    >>> adaptive_avg_pool2d(engine.ones(1, 4, 6), (None, 2)).shape
    engine.Size([1, 4, 2])
    """
    return ops.adaptive_avg_pool2d(input, _adaptive(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Compute the means of `output_size` windows of about equal size; None keeps a dimension's size.

    >>> import engine
    >>> adaptive_avg_pool3d(engine.ones(1, 4, 6, 8), (None, 2, 1)).shape
    engine.Size([1, 4, 2, 1])
    """
    return ops.adaptive_avg_pool3d(input, _adaptive(input, output_size, 3))


# ---- the p-norm of a window


def _largest_of_windows(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None, ceil: bool, dims: int
) -> Tensor:
    if dims == 1:
        return max_pool1d(input, kernel_size, stride, 0, 1, ceil)
    if dims == 2:
        return max_pool2d(input, kernel_size, stride, 0, 1, ceil)
    return max_pool3d(input, kernel_size, stride, 0, 1, ceil)


def _mean_of_windows(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None, ceil: bool, dims: int
) -> Tensor:
    if dims == 1:
        return avg_pool1d(input, kernel_size, stride, 0, ceil)
    if dims == 2:
        return avg_pool2d(input, kernel_size, stride, 0, ceil)
    return avg_pool3d(input, kernel_size, stride, 0, ceil)


def _lp_pool(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None, ceil: bool, dims: int
) -> Tensor:
    sizes = _listed(kernel_size, dims)
    if dims > 1 and len(sizes) != dims:
        raise ValueError(f"lp_pool{dims}d: kernel_size must have {dims} sizes, got {kernel_size}")
    if norm_type == float("inf"):
        return _largest_of_windows(input.abs(), kernel_size, stride, ceil, dims)
    if norm_type == -float("inf"):
        return -_largest_of_windows(-input.abs(), kernel_size, stride, ceil, dims)
    count = 1
    for size in sizes:
        count *= size
    powers = _mean_of_windows(input.pow(norm_type), kernel_size, stride, ceil, dims)
    return (powers.sign() * powers.abs().relu()).mul(count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Compute the p-norm of every window: (sum of x**p) ** (1/p); inf is the largest magnitude.

    >>> import engine
    >>> lp_pool1d(engine.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Compute the p-norm of every window of the last two dimensions.

    >>> import engine
    >>> lp_pool2d(engine.ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Compute the p-norm of every window of the last three dimensions.

    >>> import engine
    >>> lp_pool3d(engine.ones(1, 2, 2, 4), 2, (2, 2, 4))
    tensor([[[[4.]]]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)


# ---- unpooling


def _unpooled_size(
    input: Tensor, kernel: list[int], stride: list[int], padding: list[int], output_size: Any
) -> list[int]:
    """Return the size before pooling: the smallest possible one, or `output_size` if it is valid."""
    dims = len(kernel)
    sizes = input.shape[-dims:]
    for name, values in (("input", sizes), ("stride", stride), ("padding", padding)):
        if len(values) != dims:
            raise IndexError(
                f"max_unpool{dims}d: {name} must have {dims} sizes, got {list(values)}"
            )
    smallest = [
        (n - 1) * s + k - 2 * p for n, k, s, p in zip(sizes, kernel, stride, padding, strict=True)
    ]
    if output_size is None:
        unpooled = smallest
    else:
        unpooled = list(output_size)
        if len(unpooled) == dims + 2:
            unpooled = unpooled[2:]
        if len(unpooled) != dims:
            raise ValueError(
                f"max_unpool{dims}d: output_size should have {dims} or {dims + 2} elements, "
                f"got {len(output_size)}"
            )
        for d, (size, usual, step) in enumerate(zip(unpooled, smallest, stride, strict=True)):
            if not usual - step < size < usual + step:
                raise ValueError(
                    f"max_unpool{dims}d: invalid output_size {unpooled}: dim {d} must be between "
                    f"{usual - step} and {usual + step}"
                )
    for d, size in enumerate(unpooled):
        if size < 0:
            raise ValueError(
                f"max_unpool{dims}d: output_size must not be negative, got output_size[{d}]={size}"
            )
    return unpooled


def _unpool_arguments(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Any,
    dims: int,
) -> tuple[list[int], list[int], list[int]]:
    kernel, around = _listed(kernel_size, dims), _listed(padding, dims)
    steps = kernel if stride is None else _listed(stride, dims)
    return _unpooled_size(input, kernel, steps, around, output_size), steps, around


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put the elements back at the indices that `max_pool1d(..., return_indices=True)` returned.

    >>> import engine
    >>> max_unpool1d(engine.tensor([[5.0]]), engine.tensor([[1]]), 2)
    tensor([[0., 5.]])
    """
    size, _, _ = _unpool_arguments(input, kernel_size, stride, padding, output_size, 1)
    unpooled = ops.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1])
    return unpooled.squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put the elements back at the indices that `max_pool2d(..., return_indices=True)` returned.

    >>> import engine
    >>> max_unpool2d(engine.tensor([[[5.0]]]), engine.tensor([[[3]]]), 2)
    tensor([[[0., 0.],
             [0., 5.]]])
    """
    size, _, _ = _unpool_arguments(input, kernel_size, stride, padding, output_size, 2)
    return ops.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put the elements back at the indices that `max_pool3d(..., return_indices=True)` returned.

    >>> import engine
    >>> max_unpool3d(engine.ones(1, 1, 1, 1), engine.tensor([[[[1]]]]), (1, 1, 2))
    tensor([[[[0., 1.]]]])
    """
    size, steps, around = _unpool_arguments(input, kernel_size, stride, padding, output_size, 3)
    return ops.max_unpool3d(input, indices, size, steps, around)
