"""Layers over SparseConvTensors: submanifold, regular and inverse convolutions, max pooling, SparseSequential."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from engine.nn import Module, init
from engine.nn.containers import Sequential
from engine.nn.modules.utils import new_parameter, ntuple
from engine.sparse_conv.functions import gather_gemm_scatter, max_pool
from engine.sparse_conv.rulebook import Rulebook, build_rulebook
from engine.sparse_conv.tensor import SparseConvTensor


class SparseModule(Module):
    """A layer that takes a SparseConvTensor and returns one."""

    dims: ClassVar[int]

    def _sizes(self, name: str, value: Any, min_value: int) -> tuple[int, ...]:
        sizes = ntuple(value, self.dims)
        if (
            len(sizes) != self.dims
            or any(type(size) is not int for size in sizes)
            or min(sizes) < min_value
        ):
            raise ValueError(
                f"{type(self).__name__}: {name} must be an integer of at least {min_value}, or {self.dims} of "
                f"them, got {value!r}"
            )
        return sizes

    def _check_input(self, input: Any) -> None:
        if not isinstance(input, SparseConvTensor):
            raise TypeError(
                f"{type(self).__name__}: expected a SparseConvTensor, got {type(input).__name__}"
            )
        if len(input.spatial_shape) != self.dims:
            raise ValueError(
                f"{type(self).__name__}: expected {self.dims} spatial dimensions, got spatial_shape="
                f"{input.spatial_shape}"
            )


class _WithRulebook(SparseModule):
    """A layer with a kernel, which builds a rulebook or takes the cached one of its `indice_key`."""

    submanifold: ClassVar[bool] = False
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    indice_key: str | None

    def _set_up_kernel(
        self, kernel_size: Any, stride: Any, padding: Any, dilation: Any, indice_key: str | None
    ) -> None:
        self.kernel_size = self._sizes("kernel_size", kernel_size, 1)
        self.stride = self._sizes("stride", stride, 1)
        self.padding = self._sizes("padding", padding, 0)
        self.dilation = self._sizes("dilation", dilation, 1)
        if self.submanifold and any(size % 2 == 0 for size in self.kernel_size):
            raise ValueError(
                f"{type(self).__name__}: kernel_size must be odd, so that it has a centre, got {kernel_size!r}. "
                f"Hint: SparseConv{self.dims}d takes any size"
            )
        self.indice_key = indice_key

    def rulebook(self, input: SparseConvTensor) -> Rulebook:
        """Return the rulebook for the sites of `input`, a cached one if its `indice_key` has one.

        Raises: ValueError when the cached rulebook belongs to other sites or another kernel.
        """
        cached = input.rulebooks.get(self.indice_key) if self.indice_key is not None else None
        if cached is not None:
            self._check_cached(cached, input)
            return cached
        rulebook = build_rulebook(
            input.indices,
            input.batch_size,
            input.spatial_shape,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.submanifold,
        )
        if self.indice_key is not None:
            input.rulebooks[self.indice_key] = rulebook
        return rulebook

    def _check_cached(self, cached: Rulebook, input: SparseConvTensor) -> None:
        names = ["submanifold", "kernel_size", "dilation"]
        names += [] if self.submanifold else ["stride", "padding"]
        for name in names:
            if getattr(cached, name) != getattr(self, name):
                raise ValueError(
                    f"{type(self).__name__}: the rulebook of indice_key {self.indice_key!r} has "
                    f"{name}={getattr(cached, name)}, this layer {getattr(self, name)}"
                )
        if cached.in_shape != input.spatial_shape or not (
            cached.in_indices is input.indices or cached.in_indices.equal(input.indices)
        ):
            raise ValueError(
                f"{type(self).__name__}: the rulebook of indice_key {self.indice_key!r} is for other sites: "
                f"{cached.in_indices.size(0)} in {cached.in_shape}, the input has {input.indices.size(0)} in "
                f"{input.spatial_shape}"
            )

    def extra_repr(self) -> str:
        parts = [f"kernel_size={self.kernel_size}"]
        if not self.submanifold:
            parts += [f"stride={self.stride}", f"padding={self.padding}"]
        if self.dilation != (1,) * self.dims:
            parts.append(f"dilation={self.dilation}")
        if self.indice_key is not None:
            parts.append(f"indice_key={self.indice_key!r}")
        return ", ".join(parts)


class _Convolution(_WithRulebook):
    """A layer with a weight of shape (*kernel_size, in_channels, out_channels) and a bias."""

    weight: Any
    bias: Any

    def _set_up_weight(
        self, in_channels: int, out_channels: int, bias: bool, device: Any, dtype: Any
    ) -> None:
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            if type(value) is not int or value < 1:
                raise ValueError(
                    f"{type(self).__name__}: {name} must be a positive integer, got {value!r}"
                )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.weight = new_parameter((*self.kernel_size, in_channels, out_channels), device, dtype)
        if bias:
            self.bias = new_parameter(out_channels, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from [-b, b), b = 1 / sqrt(inputs of one output)."""
        bound = 1 / math.sqrt(self.in_channels * math.prod(self.kernel_size))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: SparseConvTensor) -> SparseConvTensor:
        self._check_input(input)
        if input.channels != self.in_channels:
            raise ValueError(
                f"{type(self).__name__}: expected {self.in_channels} channels, got features of shape "
                f"{tuple(input.features.shape)}"
            )
        if input.features.dtype != self.weight.dtype:
            raise TypeError(
                f"{type(self).__name__}: features are {input.features.dtype}, the weight is "
                f"{self.weight.dtype}"
            )
        rulebook = self.rulebook(input)
        weight = self.weight.flatten(0, self.dims - 1)
        features = gather_gemm_scatter(input.features, weight, rulebook)
        if self.bias is not None:
            features = features + self.bias
        return input.output(features, rulebook)

    def extra_repr(self) -> str:
        bias = "" if self.bias is not None else ", bias=False"
        return f"{self.in_channels}, {self.out_channels}, {super().extra_repr()}{bias}"


class _SubMConv(_Convolution):
    submanifold = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        dilation: Any = 1,
        bias: bool = True,
        indice_key: str | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_up_kernel(kernel_size, 1, 0, dilation, indice_key)
        self._set_up_weight(in_channels, out_channels, bias, device, dtype)


class SubMConv2d(_SubMConv):
    """A submanifold convolution over 2 dimensions: its active sites are those of its input.

    It equals a dense convolution with padding `kernel_size // 2 * dilation`, taken at the active sites only. Kernel
    sizes are odd, as in spconv: one of an even size has no centre, and which cells it would reach is a convention
    (MinkowskiEngine's starts at the site itself, `padding="same"` of a dense one half a kernel before it).
    Layers with one `indice_key` and the same sites share a rulebook.
    """

    dims = 2


class SubMConv3d(_SubMConv):
    """A submanifold convolution over 3 dimensions: its active sites are those of its input."""

    dims = 3


class _SparseConv(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        bias: bool = True,
        indice_key: str | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_up_kernel(kernel_size, stride, padding, dilation, indice_key)
        self._set_up_weight(in_channels, out_channels, bias, device, dtype)


class SparseConv2d(_SparseConv):
    """A convolution over 2 dimensions whose active sites are all cells that an input site reaches.

    It equals a dense convolution at these cells; everywhere else a dense one is its bias.
    """

    dims = 2


class SparseConv3d(_SparseConv):
    """A convolution over 3 dimensions whose active sites are all cells that an input site reaches."""

    dims = 3


class _SparseInverseConv(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        indice_key: str,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set_up_kernel(kernel_size, 1, 0, 1, indice_key)
        self._set_up_weight(in_channels, out_channels, bias, device, dtype)

    def rulebook(self, input: SparseConvTensor) -> Rulebook:
        """Return the cached rulebook of the convolution that this layer inverts, outputs and inputs exchanged."""
        cached = input.rulebooks.get(str(self.indice_key))
        if cached is None:
            known = ", ".join(map(repr, input.rulebooks)) or "none"
            raise ValueError(
                f"{type(self).__name__}: no layer before it has the indice_key {self.indice_key!r}; "
                f"the tensor's rulebooks: {known}"
            )
        if cached.kernel_size != self.kernel_size:
            raise ValueError(
                f"{type(self).__name__}: the rulebook of indice_key {self.indice_key!r} has kernel_size="
                f"{cached.kernel_size}, this layer {self.kernel_size}"
            )
        if cached.out_shape != input.spatial_shape or not (
            cached.out_indices is input.indices or cached.out_indices.equal(input.indices)
        ):
            raise ValueError(
                f"{type(self).__name__}: the rulebook of indice_key {self.indice_key!r} leads to other sites: "
                f"{cached.out_indices.size(0)} in {cached.out_shape}, the input has {input.indices.size(0)} "
                f"in {input.spatial_shape}"
            )
        return cached.inverse()


class SparseInverseConv2d(_SparseInverseConv):
    """The way back from a SparseConv2d or SparseMaxPool2d of the same `indice_key`: to the sites of its input.

    It uses the rulebook of that layer with inputs and outputs exchanged, so it restores exactly those sites.
    """

    dims = 2


class SparseInverseConv3d(_SparseInverseConv):
    """The way back from a SparseConv3d or SparseMaxPool3d of the same `indice_key`: to the sites of its input."""

    dims = 3


class _SparseMaxPool(_WithRulebook):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        indice_key: str | None = None,
    ) -> None:
        super().__init__()
        stride = kernel_size if stride is None else stride
        self._set_up_kernel(kernel_size, stride, padding, dilation, indice_key)

    def forward(self, input: SparseConvTensor) -> SparseConvTensor:
        self._check_input(input)
        rulebook = self.rulebook(input)
        return input.output(max_pool(input.features, rulebook), rulebook)


class SparseMaxPool2d(_SparseMaxPool):
    """The largest feature of the active sites in each window over 2 dimensions; empty cells take no part."""

    dims = 2


class SparseMaxPool3d(_SparseMaxPool):
    """The largest feature of the active sites in each window over 3 dimensions; empty cells take no part."""

    dims = 3


class SparseSequential(Sequential, SparseModule):
    """A Sequential in which sparse layers take the tensor, and other layers its features.

    >>> import engine
    >>> from engine import nn, sparse_conv
    >>> net = sparse_conv.SparseSequential(sparse_conv.SubMConv2d(1, 4, 3), nn.ReLU())
    >>> net(sparse_conv.SparseConvTensor(engine.ones(1, 1), engine.tensor([[0, 2, 2]]), [5, 5], 1))
    SparseConvTensor(1 sites, 4 channels, spatial_shape=(5, 5), batch_size=1)
    """

    def forward(self, input: Any) -> Any:
        for module in self:
            if isinstance(module, SparseModule) or not isinstance(input, SparseConvTensor):
                input = module(input)
            else:
                input = input.replace_feature(module(input.features))
        return input
