"""Parametrizations: parameters that modules compute from other tensors.

The parameter becomes a property of a class created for this module; it is computed from
`module.parametrizations.<name>.original` (several tensors are `original0`, `original1`, ...).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import engine
from engine.nn.containers import ModuleDict, ModuleList
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Tensor] = {}
_caching = 0


@contextmanager
def cached() -> Iterator[None]:
    """Compute every parametrized tensor only once inside the block."""
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cache.clear()


def _register(module: Module, name: str, value: Tensor) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _as_parameter_if(trained: bool, value: Tensor) -> Tensor:
    return Parameter(value.detach()) if trained else value


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in turn, and its original tensors.

    Raises: ValueError if values change dtype or shape, unless `unsafe`.
    """

    unsafe: bool

    def __init__(self, modules: Sequence[Any], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        start: Any = original
        with engine.no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    start = module.right_inverse(start)
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        trained = isinstance(original, Parameter)
        if self.is_tensor:
            if start.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\n"
                    f"right_inverse(original).dtype: {start.dtype}"
                )
            # The parameter object is reused: an optimizer may hold it.
            if start is not original:
                original.data = start.detach()
            _register(self, "original", original)
        else:
            for i, part in enumerate(start):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors. "
                        f"Got element {i} of the sequence with type {type(part).__name__}."
                    )
                _register(self, f"original{i}", _as_parameter_if(trained, part))
        if not unsafe:
            _check_alike(self(), original, "A parametrization")

    def _originals(self) -> list[Any]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`.

        Raises: RuntimeError if a parametrization has no `right_inverse`.
        """
        start: Any = value
        with engine.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                start = module.right_inverse(start)
            parts = [start] if self.is_tensor else list(start)
            if len(parts) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(parts)}."
                )
            for original, part in zip(self._originals(), parts, strict=True):
                if part.dtype != original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype} "
                        f"while `original` has dtype {original.dtype}"
                    )
                original.data = part.detach()

    def forward(self) -> Tensor:
        first, *rest = self
        result: Tensor = first(*self._originals())
        for module in rest:
            result = module(result)
        return result


def _check_alike(result: Any, original: Tensor, role: str) -> None:
    if not isinstance(result, Tensor):
        raise ValueError(f"{role} must return a tensor. Got {type(result).__name__}.")
    for aspect in ("dtype", "shape"):
        before, after = getattr(original, aspect), getattr(result, aspect)
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {aspect} of the tensor, unless "
                f"the `unsafe` flag is enabled.\nunparametrized {aspect}: {before}\n"
                f"parametrized {aspect}: {after}"
            )


def _own_class(module: Module) -> None:
    """Give the module its own class, to which properties can be added."""
    cls = type(module)

    def getstate(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict()."
        )

    def deepcopied(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        copied = self.__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied

    members: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deepcopied
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module: Module, name: str) -> None:
    def get(self: Any) -> Tensor:
        key = id(self), name
        if _caching and key in _cache:
            return _cache[key]
        value: Tensor = self.parametrizations[name]()
        if _caching:
            _cache[key] = value
        return value

    def set_(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set_))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Module:
    """Replace a parameter or buffer by `parametrization(original)`; further ones are applied in turn.

    `parametrization.right_inverse(value)`, if it exists, computes the original from a value, so that the
    tensor keeps its value and can be assigned.
    Raises: ValueError for a name the module does not have, or a change of dtype or shape.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        current = getattr(module, tensor_name)
        if not unsafe:
            with engine.no_grad():
                _check_alike(parametrization(current), current, "A parametrization")
        if hasattr(parametrization, "right_inverse"):
            with engine.no_grad():
                getattr(module, tensor_name)
                start = parametrization.right_inverse(current)
                if isinstance(start, Tensor) and start is not current:
                    module.parametrizations[tensor_name].right_inverse(start)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return True if the tensor of that name, or any tensor of the module, is parametrized."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return bool(len(parametrizations)) if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Replace a parametrized tensor by a plain one, with its current value or its `original`.

    Raises: ValueError for a tensor that is not parametrized, or has several originals, without
    `leave_parametrized`.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if leave_parametrized:
        with engine.no_grad():
            value = getattr(module, tensor_name).detach()
        tensor = parametrizations._originals()[0]
        if parametrizations.is_tensor:
            tensor.data = value
        else:
            tensor = _as_parameter_if(isinstance(tensor, Parameter), value)
    elif parametrizations.is_tensor:
        tensor = parametrizations.original
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the module's class without parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of another module, or of one tensor, with their originals.

    A tensor that `to_module` lacks is added. Returns: `to_module`.
    """
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, parametrization)
        source, target = from_module.parametrizations[name], to_module.parametrizations[name]
        for part in (
            ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]
        ):
            setattr(target, part, getattr(source, part))
    return to_module
