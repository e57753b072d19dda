"""Padding layers: add elements at the ends of the last dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.nn import functional as F
from engine.nn.module import Module
from engine.nn.modules.utils import ntuple
from engine.tensor import Tensor

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """The base of padding layers. `padding` is one number, or (before, after) pairs, last dimension first."""

    __constants__: tuple[str, ...] = ("padding",)

    dims: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _Constant(_Pad):
    __constants__ = ("padding", "value")

    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_Constant):
    """Pads the last dimension with `value`.

    >>> import engine
    >>> ConstantPad1d((1, 2), 7.)(engine.zeros(1, 2))
    tensor([[7., 0., 0., 7., 7.]])
    """

    dims = 1


class ConstantPad2d(_Constant):
    """Pads the last two dimensions with `value`."""

    dims = 2


class ConstantPad3d(_Constant):
    """Pads the last three dimensions with `value`."""

    dims = 3


class _Zero(_Constant):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_Zero, ConstantPad1d):
    """Pads the last dimension with zeros."""


class ZeroPad2d(_Zero, ConstantPad2d):
    """Pads the last two dimensions with zeros."""


class ZeroPad3d(_Zero, ConstantPad3d):
    """Pads the last three dimensions with zeros."""


class ReflectionPad1d(_Pad):
    """Pads the last dimension with its reflection, without repeating the outermost element.

    >>> import engine
    >>> ReflectionPad1d(2)(engine.tensor([[1., 2., 3.]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pads the last two dimensions with their reflection."""

    dims, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pads the last three dimensions with their reflection."""

    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pads the last dimension with its outermost elements.

    >>> import engine
    >>> ReplicationPad1d(1)(engine.tensor([[1., 2.]]))
    tensor([[1., 1., 2., 2.]])
    """

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pads the last two dimensions with their outermost elements."""

    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pads the last three dimensions with their outermost elements."""

    dims, mode = 3, "replicate"


class _Circular(_Pad):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise ValueError(
                f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)"
            )
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_Circular):
    """Pads the last dimension with elements from its other end.

    >>> import engine
    >>> CircularPad1d(1)(engine.tensor([[1., 2., 3.]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    dims = 1


class CircularPad2d(_Circular):
    """Pads the last two dimensions with elements from their other ends."""

    dims = 2


class CircularPad3d(_Circular):
    """Pads the last three dimensions with elements from their other ends."""

    dims = 3
