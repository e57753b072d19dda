"""Convolutions: Conv1d, Conv2d, Conv3d, their transposes, and the lazy variants."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from engine.nn import functional as F
from engine.nn import init
from engine.nn.module import Module
from engine.nn.modules.lazy import LazyModule
from engine.nn.modules.utils import new_parameter, ntuple, weight_and_bias
from engine.nn.parameter import UninitializedParameter
from engine.tensor import Tensor

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The base of convolutions and their transposes: arguments, weight and its initialisation."""

    __constants__ = (
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    )

    dims: ClassVar[int]
    transposed: bool
    weight: Any
    bias: Any
    padding: Any

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        dims = self.dims
        kernel_size, stride = ntuple(kernel_size, dims), ntuple(stride, dims)
        dilation = ntuple(dilation, dims)
        padding = padding if isinstance(padding, str) else ntuple(padding, dims)
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}"
                )
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(_PADDING_MODES)}, but got "
                f"padding_mode='{padding_mode}'"
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.transposed = dilation, transposed
        self.output_padding = ntuple(output_padding, dims)
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._each_end()
        self.weight = new_parameter(self._weight_shape(), device, dtype)
        if bias:
            self.bias = new_parameter(out_channels, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            first, second = self.in_channels, self.out_channels // self.groups
        return (first, second, *self.kernel_size)

    def _each_end(self) -> list[int]:
        """Return the padding in the order of `nn.functional.pad`: last dimension first, both ends of each."""
        ends: list[int] = []
        if self.padding == "valid":
            return [0, 0] * self.dims
        for d in reversed(range(self.dims)):
            if self.padding == "same":
                total = self.dilation[d] * (self.kernel_size[d] - 1)
                ends += [total // 2, total - total // 2]
            else:
                ends += [self.padding[d], self.padding[d]]
        return ends

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from [-b, b), b = 1 / sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.size(1) * math.prod(self.kernel_size)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        none = (0,) * self.dims
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ]
        if self.padding != none:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * self.dims:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != none:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            False,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Any, bias: Any) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self.dims
        run = _CONV[self.dims]
        return run(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, *weight_and_bias(self))


_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


class Conv1d(_Conv):
    """Slides `out_channels` windows over (N, C, L) or (C, L).

    Shape of the result: (N, out_channels, L'), L' = (L + 2 padding - dilation (kernel - 1) - 1) / stride + 1.
    `padding` may be "valid" or "same"; `padding_mode` "zeros", "reflect", "replicate" or "circular".

    >>> import engine
    >>> Conv1d(16, 33, 3, stride=2)(engine.ones(20, 16, 50)).shape
    engine.Size([20, 33, 24])
    """

    dims = 1


class Conv2d(_Conv):
    """Slides `out_channels` windows over (N, C, H, W) or (C, H, W); see Conv1d.

    >>> import engine
    >>> Conv2d(16, 33, (3, 5), stride=(2, 1), padding=(4, 2))(engine.ones(2, 16, 50, 100)).shape
    engine.Size([2, 33, 28, 100])
    """

    dims = 2


class Conv3d(_Conv):
    """Slides `out_channels` windows over (N, C, D, H, W) or (C, D, H, W); see Conv1d."""

    dims = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            True,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Return the padding to add at one end so that the result has `output_size`."""
        if output_size is None:
            return self.output_padding
        dims, sizes = self.dims, list(output_size)
        if len(sizes) == input.dim():
            sizes = sizes[-dims:]
        if len(sizes) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{input.dim()} elements (got {len(sizes)})"
            )
        min_sizes = [
            (have - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d, have in enumerate(input.shape[-dims:])
        ]
        max_sizes = [low + step - 1 for low, step in zip(min_sizes, self.stride, strict=True)]
        if any(
            not low <= n <= high for n, low, high in zip(sizes, min_sizes, max_sizes, strict=True)
        ):
            raise ValueError(
                f"requested an output size of {tuple(output_size)}, but valid sizes range from "
                f"{min_sizes} to {max_sizes} (for an input of {tuple(input.shape[2:])})"
            )
        return tuple(size - low for size, low in zip(sizes, min_sizes, strict=True))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        weight, bias = weight_and_bias(self)
        added = self._output_padding(input, output_size)
        run = _CONV_TRANSPOSE[self.dims]
        return run(
            input, weight, bias, self.stride, self.padding, added, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of Conv1d with respect to its input: spreads every element over a window.

    Shape: (N, C, L) gives (N, out_channels, (L - 1) stride - 2 padding + dilation (kernel - 1) +
    output_padding + 1); `forward(input, output_size)` chooses the output_padding.

    >>> import engine
    >>> ConvTranspose1d(2, 3, 3, stride=2)(engine.ones(1, 2, 4)).shape
    engine.Size([1, 3, 9])
    """

    dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of Conv2d with respect to its input; see ConvTranspose1d.

    >>> import engine
    >>> up = ConvTranspose2d(16, 16, 3, stride=2, padding=1)
    >>> up(engine.ones(1, 16, 6, 6), output_size=(12, 12)).shape
    engine.Size([1, 16, 12, 12])
    """

    dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of Conv3d with respect to its input; see ConvTranspose1d."""

    dims = 3


# ---- lazy variants, which infer in_channels from the first input


class _LazyConvXdMixin(LazyModule, _ConvNd):
    def _set_up(self, *args: Any) -> None:
        *front, bias, padding_mode, device, dtype = args
        _, out_channels, *rest = front
        super()._set_up(0, 0, *rest, False, padding_mode, None, None)  # type: ignore[call-arg]
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new values for weight and bias, once they have a size."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Allocate the parameters in the size of the first input."""
        if not self.has_uninitialized_params():
            if self.in_channels == 0:  # the weight was loaded
                first = 0 if self.transposed else 1
                self.in_channels = self.weight.shape[first] * (
                    1 if self.transposed else self.groups
                )
            return
        batched, single = self.dims + 2, self.dims + 1
        if input.dim() not in (batched, single):
            raise RuntimeError(
                f"Expected {single}D (unbatched) or {batched}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[1 if input.dim() == batched else 0]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, out_channels, kernel_size, *args, **kwargs)


class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that infers `in_channels` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that infers `in_channels` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d that infers `in_channels` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """A ConvTranspose1d that infers `in_channels` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """A ConvTranspose2d that infers `in_channels` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """A ConvTranspose3d that infers `in_channels` from its first input."""

    cls_to_become = ConvTranspose3d
