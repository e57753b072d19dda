"""Pooling layers: the maximum, mean or p-norm of windows, and unpooling."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.nn import functional as F
from engine.nn.module import Module
from engine.nn.modules.utils import ntuple
from engine.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _WindowPool(Module):
    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AdaptivePool(Module):
    output_size: Any

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _MaxPoolNd(Module):
    __constants__ = (
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "return_indices",
        "ceil_mode",
    )

    pool: ClassVar[Any]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self.pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of every window of (N, C, L) or (C, L), with its index if `return_indices`.

    >>> import engine
    >>> MaxPool1d(3, stride=2)(engine.arange(5.).view(1, 1, 5))
    tensor([[[2., 4.]]])
    """

    pool = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The maximum of every window of (N, C, H, W) or (C, H, W).

    >>> import engine
    >>> MaxPool2d(2)(engine.arange(4.).view(1, 1, 2, 2))
    tensor([[[[3.]]]])
    """

    pool = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The maximum of every window of (N, C, D, H, W) or (C, D, H, W)."""

    pool = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(_WindowPool):
    dims: ClassVar[int]
    unpool: ClassVar[Any]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, self.dims)
        self.stride = ntuple(stride if stride is not None else kernel_size, self.dims)
        self.padding = ntuple(padding, self.dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        unpooled: Tensor = self.unpool(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )
        return unpooled


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts elements back at the indices that MaxPool1d returned; all others are 0.

    >>> import engine
    >>> pool, unpool = engine.nn.MaxPool1d(2, return_indices=True), MaxUnpool1d(2)
    >>> unpool(*pool(engine.tensor([[[1., 2., 4., 3.]]])))
    tensor([[[0., 2., 4., 0.]]])
    """

    dims, unpool = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts elements back at the indices that MaxPool2d returned; all others are 0."""

    dims, unpool = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts elements back at the indices that MaxPool3d returned; all others are 0."""

    dims, unpool = 3, staticmethod(F.max_unpool3d)


class AvgPool1d(_WindowPool):
    """The mean of every window of (N, C, L) or (C, L).

    >>> import engine
    >>> AvgPool1d(3, stride=2)(engine.tensor([[1., 2., 3., 4., 5., 6., 7.]]))
    tensor([[2., 4., 6.]])
    """

    __constants__ = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, 1)
        self.stride = ntuple(stride if stride is not None else kernel_size, 1)
        self.padding = ntuple(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class _AvgPoolNd(_WindowPool):
    __constants__ = (
        "kernel_size",
        "stride",
        "padding",
        "ceil_mode",
        "count_include_pad",
        "divisor_override",
    )

    pool: ClassVar[Any]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        pooled: Tensor = self.pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
        return pooled


class AvgPool2d(_AvgPoolNd):
    """The mean of every window of (N, C, H, W) or (C, H, W).

    >>> import engine
    >>> AvgPool2d(2)(engine.arange(4.).view(1, 1, 2, 2))
    tensor([[[[1.5000]]]])
    """

    pool = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W)."""

    pool = staticmethod(F.avg_pool3d)


class _LPPoolNd(Module):
    __constants__ = ("norm_type", "kernel_size", "stride", "ceil_mode")

    pool: ClassVar[Any]

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pooled: Tensor = self.pool(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return pooled

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of every window: (sum of x**p) ** (1/p).

    >>> import engine
    >>> LPPool1d(2, 2)(engine.tensor([[3., 4.]]))
    tensor([[5.]])
    """

    pool = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The p-norm of every window of the last two dimensions."""

    pool = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The p-norm of every window of the last three dimensions."""

    pool = staticmethod(F.lp_pool3d)


class _AdaptiveMaxPoolNd(_AdaptivePool):
    __constants__ = ("output_size", "return_indices")

    pool: ClassVar[Any]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return self.pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maxima of `output_size` windows of about equal size.

    >>> import engine
    >>> AdaptiveMaxPool1d(2)(engine.arange(6.).view(1, 6))
    tensor([[2., 5.]])
    """

    pool = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maxima of `output_size` windows of about equal size; None keeps a dimension's size."""

    pool = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maxima of `output_size` windows of about equal size; None keeps a dimension's size."""

    pool = staticmethod(F.adaptive_max_pool3d)


class _AdaptiveAvgPoolNd(_AdaptivePool):
    __constants__ = ("output_size",)

    pool: ClassVar[Any]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        pooled: Tensor = self.pool(input, self.output_size)
        return pooled


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows of about equal size.

    >>> import engine
    >>> AdaptiveAvgPool1d(2)(engine.arange(6.).view(1, 6))
    tensor([[1., 4.]])
    """

    pool = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows of about equal size; None keeps a dimension's size.

    >>> import engine
    >>> AdaptiveAvgPool2d((5, None))(engine.ones(1, 64, 10, 9)).shape
    engine.Size([1, 64, 5, 9])
    """

    pool = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows of about equal size; None keeps a dimension's size."""

    pool = staticmethod(F.adaptive_avg_pool3d)


class _FractionalMaxPool(Module):
    __constants__ = ("kernel_size", "return_indices", "output_size", "output_ratio")

    dims: ClassVar[int]
    pool: ClassVar[Any]

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, self.dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else ntuple(output_size, self.dims)
        self.output_ratio = None if output_ratio is None else ntuple(output_ratio, self.dims)
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return self.pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of windows with random steps, for any output size.

    Pass `output_size`, or `output_ratio` between 0 and 1.
    """

    dims, pool = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """`FractionalMaxPool2d` in three dimensions."""

    dims, pool = 3, staticmethod(F.fractional_max_pool3d)
