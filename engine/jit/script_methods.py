"""Classes that derive from ScriptModule: their objects are compiled once their __init__ has run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.jit import frontend
from engine.jit.decorators import export
from engine.jit.frontend import materialise
from engine.jit.nesting import deeply
from engine.jit.runtime.module import ScriptMeta
from engine.nn import Module


class script_method:
    """Marks a method of a class that derives from `jit.ScriptModule`: it is compiled.

    >>> import engine
    >>> class Twice(engine.jit.ScriptModule):
    ...     @engine.jit.script_method
    ...     def forward(self, x):
    ...         return x + x
    >>> Twice()(engine.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.__doc__ = fn.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name

    def __get__(self, obj: Any, kind: type | None = None) -> Any:
        return self if obj is None else obj._method(self.__name__)


def _compiled(cls: type, own: list[Any], written: Any) -> Any:
    """Compiles an object after its __init__, and returns the compiled module."""
    # The compiler sees the module as if its class derived from Module.
    members: dict[str, Any] = {}
    for base in reversed(own):
        members |= vars(base)
    for name, member in members.items():
        if isinstance(member, script_method):
            members[name] = member.fn if name == "forward" else export(member.fn)
    for name in ("__dict__", "__weakref__", "__classcell__"):
        members.pop(name, None)
    declared = written.__dict__.pop("_declared", {})
    members["__annotations__"] = {**members.get("__annotations__", {}), **declared}
    plain: Any = object.__new__(type(cls.__name__, (Module,), members))
    plain.__dict__.update(written.__dict__)
    with deeply(frontend.CompileError, cls.__name__):
        scripted = materialise.script_module(frontend.compile_module(plain))
    scripted.__class__ = cls
    return scripted


ScriptMeta.compile_object = staticmethod(_compiled)
