"""Layers that only rearrange elements: Flatten, Unflatten, Fold, Unfold, pixel and channel shuffles."""

from __future__ import annotations

from typing import Any

from engine.nn import functional as F
from engine.nn.module import Module
from engine.tensor import Tensor

__all__ = [
    "ChannelShuffle",
    "Flatten",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unflatten",
    "Unfold",
]


class Flatten(Module):
    """Merges the dimensions `start_dim` to `end_dim` into one: by default all but the batch.

    >>> import engine
    >>> Flatten()(engine.ones(32, 1, 5, 5)).shape
    engine.Size([32, 25])
    """

    __constants__ = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits a dimension into several, of sizes `unflattened_size`.

    >>> import engine
    >>> Unflatten(1, (2, 5, 5))(engine.ones(2, 50)).shape
    engine.Size([2, 2, 5, 5])
    """

    __constants__ = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Fold(Module):
    """Adds the columns of Unfold back into an image; overlapping windows are summed.

    Shape: (N, C * kernel elements, windows) gives (N, C, *output_size).
    """

    __constants__ = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Copies every window of an image into a column of a matrix.

    Shape: (N, C, H, W) gives (N, C * kernel elements, windows).

    >>> import engine
    >>> Unfold((2, 3))(engine.ones(2, 5, 3, 4)).shape
    engine.Size([2, 30, 4])
    """

    __constants__ = ("kernel_size", "dilation", "padding", "stride")

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class PixelShuffle(Module):
    """Rearranges r * r groups of channels into an image `r` times as high and wide.

    >>> import engine
    >>> PixelShuffle(3)(engine.ones(1, 9, 4, 4)).shape
    engine.Size([1, 1, 12, 12])
    """

    __constants__ = ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of PixelShuffle.

    >>> import engine
    >>> PixelUnshuffle(3)(engine.ones(1, 1, 12, 12)).shape
    engine.Size([1, 9, 4, 4])
    """

    __constants__ = ("downscale_factor",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Takes channels from each of `groups` groups in turn.

    >>> import engine
    >>> ChannelShuffle(2)(engine.arange(4.).view(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    __constants__ = ("groups",)

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
