"""Conversion of a module's tensors to another dtype or device in place: parameters stay the same objects."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from engine import dtypes
from engine._native.namespace import namespace
from engine.autograd.grad_mode import no_grad
from engine.casts import parse_to
from engine.creation import empty_like
from engine.nn.parameter import Parameter
from engine.nn.traversal import Traversed
from engine.shared_memory import is_shared, moved
from engine.tensor import Tensor

Self = TypeVar("Self", bound="Converted")
Convert = Callable[[Tensor], Tensor]


def _fits(tensor: Tensor, data: Tensor) -> bool:
    """Return True if the tensor can hold the new data: both have memory, or neither has."""
    return tensor.is_meta == data.is_meta


class Converted(Traversed):
    """The part of Module that changes dtypes and devices."""

    def _apply(self: Self, fn: Convert, recurse: bool = True) -> Self:
        """Apply `fn` to the data of every parameter, gradient and buffer.

        A Parameter stays the same object, and so does its gradient: an optimizer that holds it sees the new
        data. Only a conversion between meta and memory replaces the Parameter by a new one.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                data = fn(parameter)
            gradient, target = parameter.grad, parameter
            if _fits(parameter, data):
                parameter.data = data
            else:
                target = self._parameters[name] = Parameter(data, parameter.requires_grad)
            if gradient is None:
                continue
            with no_grad():
                data = fn(gradient)
            if _fits(gradient, data) and target is parameter:
                gradient.data = data
            else:
                target.grad = data.requires_grad_(gradient.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: Self, *args: Any, **options: Any) -> Self:
        """Convert all floating parameters and buffers to a dtype, and all tensors to a device.

        `to(device)`, `to(dtype)`, `to(device, dtype)`, `to(tensor)`, `memory_format=` for tensors of
        4 or 5 dimensions. Integers keep their dtype. Returns the module itself.
        Raises: TypeError for a dtype that is neither floating nor complex.

        >>> import engine
        >>> engine.nn.Linear(1, 1).to(engine.float64).weight.dtype
        engine.float64
        """
        dtype, device, _, format_, non_blocking = parse_to(args, options)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, "
                    f"but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may "
                    "change, and some modules might not work as expected when using complex "
                    "tensors as parameters or buffers.",
                    stacklevel=2,
                )

        def convert(x: Tensor) -> Tensor:
            floating = x.is_floating_point() or x.is_complex()
            kind = dtype if floating else None
            if x.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use "
                    f"{namespace()}.nn.Module.to_empty() instead of {namespace()}.nn.Module.to() "
                    "when moving module from meta to a different device."
                )
            if format_ is not None and x.dim() in (4, 5):
                return x.to(device, kind, non_blocking, memory_format=format_)
            return x.to(device, kind, non_blocking)

        return self._apply(convert)

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """Move all tensors to a device without their values: the new memory is uninitialised."""
        return self._apply(lambda x: empty_like(x, device=device), recurse)

    def type(self: Self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, integers too."""
        return self._apply(lambda x: x.type(dst_type))

    def float(self: Self) -> Self:
        """Cast all floating parameters and buffers to float32."""
        return self._cast(dtypes.float32)

    def double(self: Self) -> Self:
        """Cast all floating parameters and buffers to float64."""
        return self._cast(dtypes.float64)

    def half(self: Self) -> Self:
        """Cast all floating parameters and buffers to float16."""
        return self._cast(dtypes.float16)

    def bfloat16(self: Self) -> Self:
        """Cast all floating parameters and buffers to bfloat16."""
        return self._cast(dtypes.bfloat16)

    def _cast(self: Self, dtype: dtypes.dtype) -> Self:
        return self._apply(lambda x: x.to(dtype) if x.is_floating_point() else x)

    def cpu(self: Self) -> Self:
        """Move all parameters and buffers to main memory."""
        return self._apply(lambda x: x.cpu())

    def cuda(self: Self, device: Any = None) -> Self:
        """Move all parameters and buffers to the device named "cuda": see `Tensor.cuda`."""
        return self._apply(lambda x: x.cuda(device))

    def opencl(self: Self, device: Any = None) -> Self:
        """Move all parameters and buffers to an OpenCL device, by default the current one."""
        return self._apply(lambda x: x.opencl(device))

    def share_memory(self: Self) -> Self:
        """Move all tensors to memory that this process shares with processes that it forks or sends them to."""
        return self._apply(_shared)


def _shared(x: Tensor) -> Tensor:
    return x if not x.is_cpu or is_shared(x) else moved(x)
