"""Operators by name, as the dispatcher knows them: `engine.ops.aten.add.Tensor(x, y)`.

These calls are boxed: arguments go through a stack of tagged values, as the interpreter's do. They
accept what the schema says, by position or by name. For programs, `engine.add` is faster.
"""

from __future__ import annotations

from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.boxed import Schema, box, unbox

__all__ = ["aten", "kernels", "schema", "schemas"]

_schemas: dict[str, Schema] = {}


def schemas() -> dict[str, Schema]:
    """Every registered operator's schema by full name, such as "add.Tensor"."""
    count = lib.uh_op_count()
    if len(_schemas) != count:
        for position in range(count):
            found = Schema(ffi.string(lib.uh_op_schema(position)).decode())
            _schemas[found.full_name] = found
    return dict(_schemas)


def schema(name: str) -> Schema:
    """The schema of one operator. Raises: KeyError with the names that are close."""
    found = schemas()
    if name not in found:
        base = name.partition(".")[0]
        near = [one for one in found if one.partition(".")[0] == base]
        hint = f"; there are {', '.join(near)}" if near else ""
        raise KeyError(f"no operator is registered under the name {name!r}{hint}")
    return found[name]


def kernels(name: str) -> dict[str, str]:
    """Dispatch key -> kernel name of one operator, for the keys that have a kernel."""
    found = {}
    for key in range(lib.uh_key_count()):
        kernel = lib.uh_op_kernel(schema(name).full_name.encode(), key)
        if kernel == ffi.NULL:
            raise_last()
        text = ffi.string(kernel).decode()
        if text:
            found[ffi.string(lib.uh_key_name(key)).decode()] = text
    return found


class Overload:
    """One operator, callable."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.__name__ = schema.full_name
        self.__doc__ = schema.text

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Calls the operator through the boxed entry of the dispatcher."""
        values = self.schema.bind(args, options)
        boxed, alive = box(values, self.schema)
        results = ffi.new("uh_value[8]")
        name = self.schema.full_name.encode()
        count = lib.uh_call_boxed(name, boxed, len(values), results)
        del alive
        if count < 0:
            raise_last()
        found = [unbox(results[i]) for i in range(count)]
        written = self.schema.written
        if not found and written is not None:
            return values[written]
        return found[0] if len(found) == 1 else tuple(found)

    def __repr__(self) -> str:
        return f"<engine.ops.aten.{self.schema.full_name}>"


class Packet:
    """All operators of one name; a call takes the first whose schema the arguments fit."""

    def __init__(self, name: str, overloads: dict[str, Overload]) -> None:
        self.__name__ = name
        self._overloads = overloads

    def overloads(self) -> list[str]:
        """The overloads' names; "default" for the one without."""
        return list(self._overloads)

    def __getattr__(self, name: str) -> Overload:
        if name not in self._overloads:
            there = ", ".join(self._overloads)
            raise AttributeError(f"{self.__name__} has no overload {name!r}; there are {there}")
        return self._overloads[name]

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Calls the first overload that can take these arguments."""
        refusals = []
        for overload in self._overloads.values():
            try:
                overload.schema.check(overload.schema.bind(args, options))
            except TypeError as error:
                refusals.append(str(error))
                continue
            return overload(*args, **options)
        raise TypeError("\n".join(refusals))

    def __repr__(self) -> str:
        return f"<engine.ops.aten.{self.__name__}: {', '.join(self._overloads)}>"


class Namespace:
    """`engine.ops.aten`: the operators of the library."""

    def __dir__(self) -> list[str]:
        return sorted({one.name for one in schemas().values()})

    def __getattr__(self, name: str) -> Packet:
        found = {
            one.overload or "default": Overload(one)
            for one in schemas().values()
            if one.name == name
        }
        if not found:
            raise AttributeError(f"engine.ops.aten has no operator {name!r}")
        packet = Packet(name, found)
        setattr(self, name, packet)
        return packet


aten = Namespace()
