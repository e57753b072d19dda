"""Variable: PyTorch's old name of a tensor that autograd follows. Every Tensor is one."""

from __future__ import annotations

from typing import Any

from engine.tensor import Tensor


class _VariableType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableType):
    """Create a tensor over the memory of `data`: `Variable(x, requires_grad=True)`.

    `volatile` has no effect, as in PyTorch since 0.4: use `no_grad`.
    """

    def __new__(  # type: ignore[misc]
        cls, data: Any = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        result = data.detach()
        return result.requires_grad_() if requires_grad else result
