"""Module: the base class of layers and networks.

A module stores its tensors and submodules in three dicts, `_parameters`, `_buffers` and `_modules`, which its
attributes read and write: `self.layer = Linear(2, 3)` registers a submodule. More of its methods are in
traversal.py, conversion.py, state_dict.py and hooks.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar

import engine
from engine._native.namespace import namespace
from engine.nn import hooks
from engine.nn.conversion import Converted
from engine.nn.hook_registers import shared
from engine.nn.hooks import Hooked
from engine.nn.parameter import Buffer, Parameter
from engine.nn.state_dict import Stateful
from engine.tensor import Tensor

__all__ = ["Module"]

_set = object.__setattr__
_TABLES = frozenset(("_parameters", "_modules", "_buffers"))
_global_forward, _global_forward_pre = shared.forward, shared.forward_pre
_global_backward, _global_backward_pre = shared.backward, shared.backward_pre


class Module(Converted, Stateful, Hooked):
    """The base class of layers and networks: create submodules in `__init__`, compute in `forward`.

    >>> import engine
    >>> class Twice(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = engine.nn.Parameter(engine.tensor(2.), requires_grad=False)
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Twice()(engine.tensor([1., 3.]))
    tensor([2., 6.])
    """

    dump_patches: ClassVar[bool] = False
    _compiled_call_impl: Callable[..., Any] | None = None  # set by `compile`
    call_super_init: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(
                    f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- calling

    def forward(self, *input: Any) -> Any:
        """Compute the output. Every subclass defines it; call the module itself, which also runs hooks."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or _global_forward
            or _global_forward_pre
            or _global_backward
            or _global_backward_pre
            or self._compiled_call_impl
        ):
            return (self._compiled_call_impl or self._call_impl)(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return hooks.call(self, args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the calls of this module in place, as `compile(module, ...)` does for a new module."""
        self.__dict__["_compiled_call_impl"] = engine.compiler.compiled_call(self, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_compiled_call_impl", None)
        return state

    # ---- attributes

    def __getattr__(self, name: str) -> Any:
        """Look up names that the instance's dict and the class do not have."""
        if name not in _TABLES:  # missing before Module.__init__()
            table: Any
            try:
                if name in (table := self._parameters):
                    return table[name]
                if name in (table := self._modules):
                    return table[name]
                if name in (table := self._buffers):
                    return table[name]
            except AttributeError:
                pass
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        ready = "_modules" in attributes
        if isinstance(value, Parameter):
            if not ready:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif ready and name in attributes["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_kind(value)}' as parameter '{name}' "
                    f"({namespace()}.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if not ready:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            attributes["_modules"][name] = shared.replaced(shared.module, self, name, value)
        elif ready and name in attributes["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_kind(value)}' as child module '{name}' "
                    f"({namespace()}.nn.Module or None expected)"
                )
            attributes["_modules"][name] = shared.replaced(shared.module, self, name, value)
        elif isinstance(value, Buffer) or (ready and name in attributes["_buffers"]):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{_kind(value)}' as buffer '{name}' "
                    f"({namespace()}.nn.Buffer, {namespace()}.Tensor or None expected)"
                )
            self._set_buffer(name, value)
        else:
            _set(self, name, value)

    def _set_buffer(self, name: str, value: Tensor | None) -> None:
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        if type(self).register_buffer is Module.register_buffer:
            self.register_buffer(name, value, persistent)
            return
        import inspect

        if "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def _forget(self, name: str, keep: str) -> None:
        """Remove a name from all tables but `keep`."""
        attributes = self.__dict__
        attributes.pop(name, None)
        for table in _TABLES:
            if table != keep:
                attributes[table].pop(name, None)
        attributes["_non_persistent_buffers_set"].discard(name)

    def __dir__(self) -> list[str]:
        tables = (self._parameters, self._modules, self._buffers)
        names = {*dir(type(self)), *self.__dict__, *(name for table in tables for name in table)}
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_forward_hooks_always_called" not in self.__dict__:  # a file of PyTorch before 2.1
            for name, table in vars(Module()).items():
                self.__dict__.setdefault(name, table)

    # ---- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter under `name`; None reserves the name without a parameter.

        Raises: KeyError for a name that is in use, empty or has a dot; TypeError unless it is a Parameter;
        ValueError for a non-leaf tensor.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_kind(param)}' object to parameter '{name}' "
                    f"({namespace()}.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            if shared.parameter:
                param = shared.replaced(shared.parameter, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is part of the state but not learned, such as running statistics.

        `persistent=False` leaves it out of `state_dict`.
        Raises: KeyError for a name that is in use, empty or has a dot; TypeError unless it is a Tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_kind(tensor)}' object to buffer '{name}' "
                "(engine Tensor or None required)"
            )
        self._buffers[name] = shared.replaced(shared.buffer, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule under `name`; None reserves the name without a module."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_kind(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = shared.replaced(shared.module, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Do the same as `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: object, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_kind(name)}")
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in table and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # ---- by path

    def get_submodule(self, target: str) -> Module:
        """Return the module at a path such as "encoder.layers.0"; the module itself for "".

        Raises: AttributeError if part of the path is missing or is not a module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        submodule: Module = module
        return submodule

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at a path; with `strict` the path must exist already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        above, _, name = target.rpartition(".")
        parent = self.get_submodule(above)
        if not hasattr(parent, name):
            if strict:
                raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        elif not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _member(self, target: str) -> tuple[Module, str, Any]:
        above, _, name = target.rpartition(".")
        module = self.get_submodule(above)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a path. Raises: AttributeError if there is none."""
        _, name, value = self._member(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a path. Raises: AttributeError if there is none."""
        module, name, value = self._member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        buffer: Tensor = value
        return buffer

    # ---- display

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the text between the parentheses of `repr`: in subclasses usually their arguments."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        below = [f"({name}): {indented(repr(m), 2)}" for name, m in self._modules.items()]
        if not below and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + below) + "\n)"


def indented(text: str, spaces: int) -> str:
    """Indent all lines but the first."""
    return text.replace("\n", "\n" + " " * spaces)


def _kind(value: object) -> str:
    """Return the name of a value's type as in PyTorch's errors: `engine.FloatTensor`, `int`."""
    if isinstance(value, Tensor):
        return str(value.type())
    cls = type(value)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
