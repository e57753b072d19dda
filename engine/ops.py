"""Operators by name, as in the dispatcher's registry: `engine.ops.aten.add.Tensor(x, y)`.

`load_library` loads a shared object that registers its own operators; they are called as
`engine.ops.<namespace>.<operator>(...)`. These calls are boxed: arguments are passed on a stack of
tagged values, as the interpreter passes them. They accept what the schema accepts, by position or by
name.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, NoReturn

from engine._native import ffi, lib
from engine._native.errors import last_error, raise_last
from engine._native.namespace import namespace, no_attribute
from engine._native.operator_base import _NamespaceBase, _OperatorBase
from engine.arguments import accepts
from engine.boxed import box_values, check, unbox
from engine.function_schema import (
    REQUIRED,
    Argument,
    FunctionSchema,
    SchemaType,
    operator_names,
    operator_schema,
)
from engine.tensor import Tensor

__all__ = ["aten", "kernels", "load_library", "loaded_libraries", "schema", "schemas"]


loaded_libraries: set[str] = set()
"""The paths of the libraries that `load_library` has loaded."""


def load_library(path: str | os.PathLike[str]) -> None:
    """Load a shared object that registers operators (UH_LIBRARY of underhood/underhood_library.hpp).

    Loading it again does nothing. Its operators stay until the process ends.

    Raises: FileNotFoundError when there is no such file; OSError when it cannot be loaded; RuntimeError when it
    registers no operators, or its registration fails because a schema is malformed or an operator exists already. A
    library that fails registers nothing.
    """
    full = os.path.realpath(path)
    if not os.path.exists(full):
        raise FileNotFoundError(f"load_library: {os.fspath(path)}: cannot open shared object file")
    if lib.uh_library_load(os.fsencode(full)) != 0:
        error = last_error()
        if "undefined symbol: uh_" in str(error):
            error = RuntimeError(
                f"{error}. Hint: it was built for another version of the engine; build it again"
            )
        if "load_library: cannot load" in str(error):
            error = OSError(str(error))
        raise error
    loaded_libraries.add(full)


def _by_namespace() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the full names of each name's operators, by namespace; updated after a registration."""
    return _at_generation(lib.uh_operator_generation())


@lru_cache(maxsize=1)
def _at_generation(generation: int) -> dict[str, dict[str, tuple[str, ...]]]:
    by_namespace: dict[str, dict[str, tuple[str, ...]]] = {}
    for qualified in operator_names():
        namespace, _, full_name = qualified.partition("::")
        names = by_namespace.setdefault(namespace, {})
        name = full_name.partition(".")[0]
        names[name] = (*names.get(name, ()), full_name)
    return by_namespace


def names(namespace: str = "aten") -> dict[str, tuple[str, ...]]:
    """Return the full names of the operators of every name: "add" has "add.Tensor" and "add.out"."""
    return dict(_by_namespace().get(namespace, {}))


def schemas(namespace: str = "aten") -> dict[str, FunctionSchema]:
    """Return every operator's schema in a namespace, by full name such as "add.Tensor"."""
    return {
        full_name: operator_schema(f"{namespace}::{full_name}")[0]
        for group in names(namespace).values()
        for full_name in group
    }


def schema(name: str) -> FunctionSchema:
    """Return the schema of one operator, such as "add.Tensor" or "mine::twice".

    Raises: KeyError, which lists the operator's overloads.
    """
    namespace, _, full_name = name.rpartition("::")
    near = names(namespace or "aten").get(full_name.partition(".")[0], ())
    if full_name not in near:
        hint = f"; there are {', '.join(near)}" if near else ""
        raise KeyError(f"no operator is registered under the name {name!r}{hint}")
    return operator_schema(name)[0]


def kernels(name: str) -> dict[str, str]:
    """Map the dispatch keys for which an operator has a kernel to the kernels' names."""
    schema(name)
    registered = {}
    for key in range(lib.uh_key_count()):
        kernel = lib.uh_op_kernel(name.encode(), key)
        if kernel == ffi.NULL:
            raise_last()
        text = ffi.string(kernel).decode()
        if text:
            registered[ffi.string(lib.uh_key_name(key)).decode()] = text
    return registered


# The type letters of operator_call.c, which converts no other types.
_LETTERS = {"Tensor": "t", "int": "i", "float": "f", "bool": "b", "Scalar": "n", "str": "s"}
_LIST_LETTERS = {"int": "l", "Tensor": "m"}


def _letter(type_: SchemaType) -> str:
    """Return the letter of an argument's type, in upper case if optional; "x" if only None is converted."""
    if type_.kind == "Optional":
        return _letter(type_.inner[0]).upper()
    if type_.kind == "List":
        return _LIST_LETTERS.get(type_.inner[0].kind, "x")
    return _LETTERS.get(type_.kind, "x")


_NUMBERS = frozenset(("int", "float", "Scalar"))


def _as_number(argument: Argument, value: Any, index: int = -1) -> Any:
    """Convert a 0-d tensor to a number where the schema has a number; a trace records the conversion."""
    type_ = argument.type.without_optional
    if type_.base not in _NUMBERS:
        return value
    if isinstance(value, (list, tuple)):
        return [_as_number(argument, element, i) for i, element in enumerate(value)]
    if isinstance(value, Tensor) and accepts(SchemaType(type_.base), value):
        if lib.uh_jit_trace_argument(argument.name.encode(), index, value._h) != 0:
            raise_last()
        return value.item()
    return value


class Overload(_OperatorBase):
    """One operator, callable. `tags` are PyTorch's: properties that are not in the schema."""

    def __init__(self, full_name: str, namespace: str = "aten") -> None:
        self.schema, self.tags = operator_schema(f"{namespace}::{full_name}")
        self._schema = self.schema  # PyTorch's name of it
        self.namespace = namespace
        self.__name__ = full_name
        self.__doc__ = self.schema.text
        self._prepare_native(self)

    def _prepare_native(self, target: _OperatorBase) -> None:
        """Make `target` call this operator natively if its results' types have letters."""
        if any(_letter(r.type) in "xXnN" for r in self.schema.returns):
            return
        arguments = self.schema.arguments
        target._prepare(
            self.qualified_name.encode(),
            "".join(_letter(a.type) for a in arguments).encode(),
            tuple(a.name for a in arguments),
            tuple(... if a.default is REQUIRED else a.default for a in arguments),
            sum(not a.keyword_only for a in arguments),
            self._returned,
        )

    @property
    def _returned(self) -> int:
        """Return the index of the argument that a call without results returns, or -1. The engine's operators return
        the argument that they wrote."""
        written = self.schema.written
        return written if written is not None and self.namespace == "aten" else -1

    @property
    def qualified_name(self) -> str:
        """Namespace, name and overload: "aten::add.Tensor"."""
        return f"{self.namespace}::{self.schema.full_name}"

    def _raise_last(self) -> NoReturn:
        raise_last()

    def _call_generic(self, *args: Any, **options: Any) -> Any:
        """Call the operator with values of any type. Raises: TypeError for values that do not match the schema."""
        values = self.schema.bind(args, options)
        check(self.schema, values)
        numbers = map(_as_number, self.schema.arguments, values)
        boxed, alive = box_values([a.type for a in self.schema.arguments], list(numbers))
        results = ffi.new("uh_value[8]")
        count = lib.uh_call_boxed(self.qualified_name.encode(), boxed, len(values), results)
        del alive
        if count < 0:
            lib.uh_jit_trace_forget_arguments()
            raise_last()
        returned = [unbox(results[i]) for i in range(count)]
        if not returned:
            return None if self._returned < 0 else values[self._returned]
        return returned[0] if len(returned) == 1 else tuple(returned)

    def __repr__(self) -> str:
        return f"<{namespace()}.ops.{self.namespace}.{self.schema.full_name}>"


class Packet(_OperatorBase):
    """All operators of one name; a call runs the first whose schema matches the arguments."""

    def __init__(self, name: str, overloads: dict[str, Overload], namespace: str = "aten") -> None:
        self.__name__ = name
        self.__doc__ = "\n".join(overload.schema.text for overload in overloads.values())
        self.namespace = namespace
        self._overloads = overloads
        if len(overloads) == 1:
            (only,) = overloads.values()
            only._prepare_native(self)

    def _raise_last(self) -> NoReturn:
        raise_last()

    @property
    def qualified_name(self) -> str:
        """Namespace and name: "aten::add"."""
        return f"{self.namespace}::{self.__name__}"

    def overloads(self) -> list[str]:
        """Return the overloads' names; "default" for the unnamed one."""
        return list(self._overloads)

    def __getattr__(self, name: str) -> Overload:
        if name not in self._overloads and not self._find_united(name):
            available = ", ".join(self._overloads)
            raise AttributeError(f"{self.__name__} has no overload {name!r}; there are {available}")
        return self._overloads[name]

    def _find_united(self, name: str) -> bool:
        """Find one of PyTorch's overloads that are one operator here: `squeeze.dim`."""
        if self.namespace != "aten" or name.startswith("__"):
            return False
        try:
            self._overloads[name] = Overload(f"{self.__name__}.{name}")
        except RuntimeError:
            return False
        return True

    def _call_generic(self, *args: Any, **options: Any) -> Any:
        """Call the first overload that accepts these arguments."""
        mismatches = []
        for overload in self._overloads.values():
            try:
                check(overload.schema, overload.schema.bind(args, options))
            except TypeError as error:
                mismatches.append(str(error))
                continue
            return overload(*args, **options)
        raise TypeError("\n".join(mismatches))

    def __repr__(self) -> str:
        return f"<{namespace()}.ops.{self.namespace}.{self.__name__}: {', '.join(self._overloads)}>"


class Namespace(_NamespaceBase):
    """`engine.ops.aten`: the operators of the engine, or `engine.ops.mine`: those of a library.

    Packets are cached as attributes; after operators are registered or removed, `_forget` clears them.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __dir__(self) -> list[str]:
        return sorted(_by_namespace().get(self.__name__, {}))

    def _forget(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, Packet):
                delattr(self, name)

    def __getattr__(self, name: str) -> Packet:
        if name.startswith("__"):
            raise AttributeError(name)
        known = _by_namespace().get(self.__name__, {})
        if name not in known:
            hint = "" if known else f"; load its library first with {namespace()}.ops.load_library"
            raise AttributeError(
                f"{namespace()}.ops.{self.__name__} has no operator {name!r}{hint}"
            )
        overloads = {
            full_name.partition(".")[2] or "default": Overload(full_name, self.__name__)
            for full_name in known[name]
        }
        packet = Packet(name, overloads, self.__name__)
        setattr(self, name, packet)
        return packet

    def __repr__(self) -> str:
        return f"<{namespace()}.ops.{self.__name__}>"


aten = Namespace("aten")


def __getattr__(name: str) -> Namespace:
    if name.startswith("_"):
        raise no_attribute("ops", name)
    namespace = globals()[name] = Namespace(name)
    return namespace
