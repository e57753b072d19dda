"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

from engine.creation import empty
from engine.dtypes import get_default_dtype
from engine.tensor import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class Parameter(Tensor):
    """A tensor to learn: assigned to a Module it becomes one of its `parameters()`.

    Memory: shared with `data`, but without its autograd history.
    Raises: RuntimeError for `requires_grad` with a dtype that is neither floating nor complex.

    >>> import engine
    >>> Parameter(engine.ones(2), requires_grad=False)
    Parameter containing:
    tensor([1., 1.])
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise AttributeError(
                f"{cls.__name__}: expected a Tensor: '{type(data).__name__}' object has no "
                "attribute 'detach'"
            )
        parameter: Parameter = Tensor._make_subclass(cls, data, requires_grad)
        return parameter

    def __copy__(self) -> Parameter:
        return _rebuild(type(self), self.data, (self.requires_grad,), self.__dict__)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        copy: Parameter = memo[id(self)]
        return copy

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.data, (self.requires_grad,), dict(self.__dict__))


class Buffer(Tensor):
    """A tensor of a module's state that is not learned: assigned to a Module it becomes a buffer.

    A buffer that is not `persistent` is left out of the `state_dict`.

    >>> import engine
    >>> module = engine.nn.Module(); module.steps = Buffer(engine.zeros(1))
    >>> list(module.state_dict())
    ['steps']
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = empty(0)
        buffer: Buffer = Tensor._make_subclass(cls, data, data.requires_grad)
        buffer.persistent = persistent
        return buffer

    def __deepcopy__(self, memo: dict[Any, Any]) -> Buffer:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), persistent=self.persistent)
        copy: Buffer = memo[id(self)]
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.data, (), dict(self.__dict__))


def _rebuild(
    kind: Any, data: Tensor, arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    tensor = kind(data, *arguments)
    tensor.__dict__.update(attributes)
    return tensor


# ---- lazy modules, which infer their sizes from the first input


class _Uninitialized:
    """A tensor with a dtype and a device, but without a shape until `materialize`."""

    cls_to_become: type

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Set the shape and allocate uninitialised memory."""
        kind, target_device = dtype or self.data.dtype, device or self.data.device
        self.data = empty(shape, dtype=kind, device=target_device)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A Parameter without a shape: lazy modules have them before their first input."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return Tensor._make_subclass(cls, _nothing(device, dtype), requires_grad)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        device, dtype = self.data.device, self.data.dtype
        return UninitializedParameter, (self.requires_grad, device, dtype)


class UninitializedBuffer(_Uninitialized, Buffer):
    """A Buffer without a shape: lazy modules have them before their first input."""

    cls_to_become = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        buffer = Tensor._make_subclass(cls, _nothing(device, dtype), requires_grad)
        buffer.persistent = persistent
        return buffer

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(False, self.data.device, self.data.dtype, self.persistent)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        device, dtype = self.data.device, self.data.dtype
        return UninitializedBuffer, (False, device, dtype, self.persistent)


def _nothing(device: Any, dtype: Any) -> Tensor:
    return empty(0, dtype=dtype or get_default_dtype(), device=device)


def is_lazy(param: object) -> bool:
    """Return True if the tensor has no shape yet."""
    return isinstance(param, _Uninitialized)
