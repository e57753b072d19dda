"""Fractional max pooling: windows whose steps are drawn at random, so that any output size fits.

Made of `gather` and `max`: the places of the windows come first, as they depend on no value of the input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine._generated import ops
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


def _starts(samples: Tensor, size: int, kernel: int, wanted: int) -> Tensor:
    """Where windows begin, (N, C, wanted): steps of alpha from a random start, the last at the end."""
    last = ops.full([*samples.shape, 1], size - kernel, dtype=int64)
    if wanted == 1:
        return last
    alpha = (size - kernel) / (wanted - 1)
    steps = arange(wanted - 1, dtype=samples.dtype)
    first = ((steps + samples.unsqueeze(-1)) * alpha).trunc()
    offset = (samples * alpha).trunc().unsqueeze(-1)
    return ops.cat([(first - offset).to(int64), last], -1)


def _samples(given: Tensor | None, input: Tensor, dims: int, name: str) -> Tensor:
    batch, channels = input.shape[:2]
    if given is None:
        from engine.random_factories import rand

        return rand(batch, channels, dims, dtype=input.dtype)
    if given.dim() != 3 or given.shape[0] < batch or tuple(given.shape[1:]) != (channels, dims):
        raise RuntimeError(
            f"{name}: expected _random_samples of shape ({batch}, {channels}, {dims}), "
            f"got {tuple(given.shape)}"
        )
    return given[:batch]


def _pooled(
    input: Tensor, kernel: tuple[int, ...], wanted: tuple[int, ...], samples: Tensor
) -> tuple[Tensor, Tensor]:
    """Maxima and their flat indices, of a batched input."""
    dims, (batch, channels), sizes = len(kernel), input.shape[:2], input.shape[2:]
    place = ops.zeros([batch, channels], dtype=int64)
    for d in range(dims):
        # (N, C, out, kernel) of this dimension, between those of the dimensions before and after;
        # the samples are for the last dimension first, in three dimensions for the first first
        sample = samples[:, :, d if dims == 3 else dims - 1 - d]
        starts = _starts(sample, sizes[d], kernel[d], wanted[d])
        here = starts.unsqueeze(-1) + arange(kernel[d])
        shape = [batch, channels, *[1] * (2 * dims)]
        shape[2 + d], shape[2 + dims + d] = wanted[d], kernel[d]
        place = place.view([*place.shape, *[1] * (2 + 2 * dims - place.dim())])
        place = place * sizes[d] + here.view(shape)
    windows = place.flatten(2 + dims)
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
        if input.dim() not in (dims + 1, dims + 2):
            raise IndexError(
                f"{name}: expected {dims + 1} or {dims + 2} dimensions, got {input.dim()}"
            )
        kernel = _per_dimension(kernel_size, dims, name, "kernel_size")
        if output_size is None:
            ratios = _per_dimension(output_ratio, dims, name, "output_ratio")
            sizes = input.shape[-dims:]
            wanted = tuple(int(size * ratio) for size, ratio in zip(sizes, ratios, strict=True))
        else:
            wanted = _per_dimension(output_size, dims, name, "output_size")
        for size, window, count in zip(input.shape[-dims:], kernel, wanted, strict=True):
            if count + window - 1 > size or window < 1 or count < 1:
                raise RuntimeError(
                    f"{name}: pool size {window} too large relative to input size {size}, for "
                    f"{count} windows"
                )
        batched = input if input.dim() == dims + 2 else input.unsqueeze(0)
        samples = _samples(_random_samples, batched, dims, name)
        made, index = _pooled(batched, kernel, wanted, samples)
        return (made, index) if batched is input else (made.squeeze(0), index.squeeze(0))

    def pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        found = with_indices(
            input, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )
        return found if return_indices else found[0]

    pool.__name__ = pool.__qualname__ = name
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = (
        f"The maxima of {dims}-d windows whose steps are drawn at random, so that any output size fits.\n\n"
        "    Give `output_size`, or `output_ratio`, which is between 0 and 1. `return_indices` adds where\n"
        "    each maximum was found.\n\n"
        "    Raises: RuntimeError for windows that do not fit, ValueError without a size or a ratio."
    )
    with_indices.__doc__ = f"`{name}`, and where each maximum was found."
    return pool, with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)
