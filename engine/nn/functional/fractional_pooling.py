"""Fractional max pooling: windows with random steps, for any output size.

It computes the indices of all windows, which do not depend on the input's values, and then calls `gather` and
`max`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine._generated import ops
from engine.arguments import check_tensor
from engine.creation import arange
from engine.dtypes import int64
from engine.tensor import Tensor


def _per_dimension(value: Any, dims: int, name: str, argument: str) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims
    if len(values) != dims:
        raise RuntimeError(
            f"{name}: {argument} must either be a single number or {dims} of them, got {value}"
        )
    return values


def _starts(samples: Tensor, size: int, kernel: int, count: int) -> Tensor:
    """Return the first index of every window, (N, C, count): steps of alpha from a random start, the last at
    the end."""
    last = ops.full([*samples.shape, 1], size - kernel, dtype=int64)
    if count == 1:
        return last
    alpha = (size - kernel) / (count - 1)
    steps = arange(count - 1, dtype=samples.dtype)
    first = ((steps + samples.unsqueeze(-1)) * alpha).trunc()
    offset = (samples * alpha).trunc().unsqueeze(-1)
    return ops.cat([(first - offset).to(int64), last], -1)


def _samples(samples: Tensor | None, input: Tensor, dims: int, name: str) -> Tensor:
    batch, channels = input.shape[:2]
    if samples is None:
        from engine.random_factories import rand

        return rand(batch, channels, dims, dtype=input.dtype)
    if (
        samples.dim() != 3
        or samples.shape[0] < batch
        or tuple(samples.shape[1:]) != (channels, dims)
    ):
        raise RuntimeError(
            f"{name}: expected _random_samples of shape ({batch}, {channels}, {dims}), "
            f"got {tuple(samples.shape)}"
        )
    return samples[:batch]


def _pooled(
    input: Tensor, kernel: tuple[int, ...], output_size: tuple[int, ...], samples: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the maxima of a batched input and their flat indices."""
    dims, (batch, channels), sizes = len(kernel), input.shape[:2], input.shape[2:]
    flat_index = ops.zeros([batch, channels], dtype=int64)
    for d in range(dims):
        # (N, C, out, kernel) of this dimension, between the previous and the next dimensions. The samples
        # start with the last dimension, but for three dimensions with the first.
        sample = samples[:, :, d if dims == 3 else dims - 1 - d]
        starts = _starts(sample, sizes[d], kernel[d], output_size[d])
        along_dim = starts.unsqueeze(-1) + arange(kernel[d])
        shape = [batch, channels, *[1] * (2 * dims)]
        shape[2 + d], shape[2 + dims + d] = output_size[d], kernel[d]
        flat_index = flat_index.view([*flat_index.shape, *[1] * (2 + 2 * dims - flat_index.dim())])
        flat_index = flat_index * sizes[d] + along_dim.view(shape)
    windows = flat_index.flatten(2 + dims)
    values = input.flatten(2).gather(2, windows.flatten(2)).view(windows.shape)
    best = values.max(-1)
    index = windows.gather(-1, best.indices.unsqueeze(-1)).squeeze(-1)
    return best.values, index


def _fractional(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"fractional_max_pool{dims}d"

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        check_tensor(name, "input", input)
        if input.dim() not in (dims + 1, dims + 2):
            raise IndexError(
                f"{name}: expected {dims + 1} or {dims + 2} dimensions, got {input.dim()}"
            )
        kernel = _per_dimension(kernel_size, dims, name, "kernel_size")
        if output_size is None:
            ratios = _per_dimension(output_ratio, dims, name, "output_ratio")
            sizes = input.shape[-dims:]
            window_counts = tuple(
                int(size * ratio) for size, ratio in zip(sizes, ratios, strict=True)
            )
        else:
            window_counts = _per_dimension(output_size, dims, name, "output_size")
        for size, window, count in zip(input.shape[-dims:], kernel, window_counts, strict=True):
            if count + window - 1 > size or window < 1 or count < 1:
                raise RuntimeError(
                    f"{name}: pool size {window} too large relative to input size {size}, for "
                    f"{count} windows"
                )
        batched = input if input.dim() == dims + 2 else input.unsqueeze(0)
        samples = _samples(_random_samples, batched, dims, name)
        maxima, index = _pooled(batched, kernel, window_counts, samples)
        return (maxima, index) if batched is input else (maxima.squeeze(0), index.squeeze(0))

    def pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        results = with_indices(
            input, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )
        return results if return_indices else results[0]

    pool.__name__ = pool.__qualname__ = name
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = (
        f"Return the maxima of {dims}-d windows with random steps, for any output size.\n\n"
        "    Pass `output_size`, or `output_ratio`, which is between 0 and 1. `return_indices` also returns\n"
        "    the index of each maximum.\n\n"
        "    Raises: RuntimeError for windows that do not fit, ValueError without a size or a ratio."
    )
    with_indices.__doc__ = f"Return the result of `{name}` and the index of each maximum."
    return pool, with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)
