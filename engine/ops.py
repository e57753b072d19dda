"""Operators by name, as the dispatcher knows them: `engine.ops.aten.add.Tensor(x, y)`.

`load_library` loads a shared object that registers its own operators; they are called as
`engine.ops.<namespace>.<operator>(...)`. These calls are boxed: arguments are passed on a stack of
tagged values, as the interpreter passes them. They accept what the schema accepts, by position or by
name. In programs, `engine.add` is faster.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.boxed import box, check, unbox
from engine.function_schema import FunctionSchema, operator_names, operator_schema

__all__ = ["aten", "kernels", "load_library", "loaded_libraries", "schema", "schemas"]


loaded_libraries: set[str] = set()
"""The paths of the libraries that `load_library` has loaded."""


def load_library(path: str | os.PathLike[str]) -> None:
    """Load a shared object that registers operators (UH_LIBRARY of underhood/underhood_library.hpp).

    Loading it again does nothing. Its operators stay until the process ends.

    Raises: FileNotFoundError when there is no such file; RuntimeError when it cannot be loaded,
    registers no operators, or its registration fails: a malformed schema, or an operator that is
    registered already. A library that fails registers nothing.
    """
    full = os.path.realpath(path)
    if not os.path.exists(full):
        raise FileNotFoundError(f"load_library: {os.fspath(path)}: cannot open shared object file")
    if lib.uh_library_load(os.fsencode(full)) != 0:
        raise_last()
    loaded_libraries.add(full)


def _by_namespace() -> dict[str, dict[str, tuple[str, ...]]]:
    """The full names of the operators of every name, by namespace; read again after a registration."""
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


class Overload:
    """One operator, callable. `tags` are facts that its schema does not say, by PyTorch's names."""

    def __init__(self, full_name: str, namespace: str = "aten") -> None:
        self.schema, self.tags = operator_schema(f"{namespace}::{full_name}")
        self.namespace = namespace
        self.__name__ = full_name
        self.__doc__ = self.schema.text

    @property
    def qualified_name(self) -> str:
        """Namespace, name and overload: "aten::add.Tensor"."""
        return f"{self.namespace}::{self.schema.full_name}"

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the operator through the dispatcher's boxed entry."""
        values = self.schema.bind(args, options)
        boxed, alive = box(values, self.schema)
        results = ffi.new("uh_value[8]")
        count = lib.uh_call_boxed(self.qualified_name.encode(), boxed, len(values), results)
        del alive
        if count < 0:
            raise_last()
        returned = [unbox(results[i]) for i in range(count)]
        if not returned:
            written = self.schema.written
            return None if written is None or self.namespace != "aten" else values[written]
        return returned[0] if len(returned) == 1 else tuple(returned)

    def __repr__(self) -> str:
        return f"<engine.ops.{self.namespace}.{self.schema.full_name}>"


class Packet:
    """All operators of one name; a call takes the first whose schema the arguments fit."""

    def __init__(self, name: str, overloads: dict[str, Overload], namespace: str = "aten") -> None:
        self.__name__ = name
        self.__doc__ = "\n".join(overload.schema.text for overload in overloads.values())
        self.namespace = namespace
        self._overloads = overloads

    @property
    def qualified_name(self) -> str:
        """Namespace and name: "aten::add"."""
        return f"{self.namespace}::{self.__name__}"

    def overloads(self) -> list[str]:
        """The overloads' names; "default" for the one without."""
        return list(self._overloads)

    def __getattr__(self, name: str) -> Overload:
        if name not in self._overloads:
            available = ", ".join(self._overloads)
            raise AttributeError(f"{self.__name__} has no overload {name!r}; there are {available}")
        return self._overloads[name]

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Calls the first overload that can take these arguments."""
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
        return f"<engine.ops.{self.namespace}.{self.__name__}: {', '.join(self._overloads)}>"


class Namespace:
    """`engine.ops.aten`: the operators of the engine, or `engine.ops.mine`: those of a library."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._packets: dict[str, Packet] = {}
        self._packets_generation = -1

    def __dir__(self) -> list[str]:
        return sorted(_by_namespace().get(self.__name__, {}))

    def __getattr__(self, name: str) -> Packet:
        if name.startswith("__"):
            raise AttributeError(name)
        generation = lib.uh_operator_generation()
        known = _at_generation(generation).get(self.__name__, {})
        if self._packets_generation != generation:
            self._packets, self._packets_generation = {}, generation
        if name not in self._packets:
            if name not in known:
                hint = "" if known else "; load its library first with engine.ops.load_library"
                raise AttributeError(f"engine.ops.{self.__name__} has no operator {name!r}{hint}")
            overloads = {
                full_name.partition(".")[2] or "default": Overload(full_name, self.__name__)
                for full_name in known[name]
            }
            self._packets[name] = Packet(name, overloads, self.__name__)
        return self._packets[name]

    def __repr__(self) -> str:
        return f"<engine.ops.{self.__name__}>"


aten = Namespace("aten")
_namespaces = {"aten": aten}


def __getattr__(name: str) -> Namespace:
    if name.startswith("_"):
        raise AttributeError(f"module 'engine.ops' has no attribute {name!r}")
    return _namespaces.setdefault(name, Namespace(name))
