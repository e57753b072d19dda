"""Construction of a graph: nodes are appended to a block, each with its source range."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from operator import index
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import last_error, raise_last
from engine.boxed import BOOL as BOOL_TAG
from engine.boxed import COMPLEX as COMPLEX_TAG
from engine.boxed import DEVICE as DEVICE_TAG
from engine.boxed import DTYPE as DTYPE_TAG
from engine.boxed import FLOAT as FLOAT_TAG
from engine.boxed import INT as INT_TAG
from engine.boxed import NONE as NONE_TAG
from engine.boxed import STRING as STRING_TAG
from engine.dtypes import device as device_class
from engine.dtypes import dtype as dtype_class
from engine.dtypes import layout, memory_format
from engine.jit.frontend import hints
from engine.jit.frontend.errors import CallError, fail
from engine.jit.frontend.source import Source
from engine.jit.frontend.sugared_values import MISSING, SimpleValue
from engine.jit.types.ivalues import BoxedArgs
from engine.jit.types.jit_type import FUNCTION, NONE, Type
from engine.jit.types.type_parser import from_text
from engine.marshal import complex_number

NOTHING = 0  # the id of a Value that is not in the graph


def constant_value(value: Any) -> tuple[Any, Any]:
    """Converts a Python constant to a `uh_value *`, and returns the objects that must outlive it.
    Raises: TypeError."""
    slot = ffi.new("uh_value *")
    alive = None
    if value is None:
        slot.tag = NONE_TAG
    elif isinstance(value, (Enum, list)):  # members of an Enum
        alive = BoxedArgs([value])
        return alive.array, alive
    elif isinstance(value, bool):
        slot.tag, slot.i = BOOL_TAG, value
    elif isinstance(value, int):
        slot.tag, slot.i = INT_TAG, value
    elif isinstance(value, float):
        slot.tag, slot.d = FLOAT_TAG, value
    elif isinstance(value, complex):
        _, slot.i, slot.d = complex_number(value)
        slot.tag = COMPLEX_TAG
    elif isinstance(value, str):
        raw = value.encode()
        alive = ffi.new("char[]", raw)
        slot.tag, slot.i, slot.p = STRING_TAG, len(raw), alive
    elif isinstance(value, dtype_class):
        slot.tag, slot.i = DTYPE_TAG, value.code
    elif isinstance(value, device_class):
        slot.tag, slot.i = DEVICE_TAG, value.code
    elif isinstance(value, memory_format):  # ints in graphs, as in PyTorch's
        slot.tag, slot.i = INT_TAG, index(value)
    elif isinstance(value, layout):
        slot.tag, slot.i = INT_TAG, 0
    else:
        raise TypeError(f"a {type(value).__name__} cannot be a graph constant")
    return slot, alive


def can_be_constant(value: object) -> bool:
    """Returns whether the graph can hold this Python object as a prim::Constant."""
    kinds = (dtype_class, device_class, memory_format, layout)
    plain = (bool, int, float, complex, str, Enum)
    return value is None or isinstance(value, (*kinds, *plain))


class Builder:
    """One graph, built from its first node to its last."""

    def __init__(self, name: str, source: Source) -> None:
        self.handle = lib.uh_graph_new(name.encode())
        if not self.handle:
            raise_last()
        self.source = source
        self.outermost = self.block = self._number(lib.uh_graph_block(self.handle))
        self._counts: dict[str, int] = {}
        self._values: dict[int, SimpleValue] = {}
        self.argument_hints = hints.ArgumentHints()
        self.tree: ast.AST = source.tree  # the source range of new nodes

    # ---- where

    @contextmanager
    def inside(self, block: int) -> Iterator[None]:
        """Appends new nodes to this block inside the `with`."""
        before, self.block = self.block, block
        self._done(lib.uh_graph_insert_at_end(self.handle, block))
        try:
            yield
        finally:
            self.block = before
            self._done(lib.uh_graph_insert_at_end(self.handle, before))

    def at(self, tree: ast.AST) -> None:
        """Gives new nodes this source range inside the `with`."""
        self.tree = tree
        span = self.source.span(tree)
        self._done(lib.uh_graph_set_span(self.handle, self.source.handle, *span))

    # ---- nodes

    def input(self, name: str, type: Type) -> SimpleValue:
        """Adds a parameter of the graph."""
        value_id = lib.uh_graph_add_input(
            self.handle, self._fresh(name).encode(), type.text.encode()
        )
        value = self._value(self._number(value_id), type)
        value.named = True
        return value

    def constant(self, tree: ast.AST, value: Any) -> SimpleValue:
        """Emits prim::Constant."""
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            fail(
                self.source,
                tree,
                "Integral constant out of range (must fit in a signed 64 bit integer)",
            )
        self.at(tree)
        slot, alive = constant_value(value)
        constant = self._number(lib.uh_graph_constant(self.handle, slot))
        del alive
        return self._value(constant, self._type(constant), value)

    def call(
        self,
        tree: ast.AST,
        name: str,
        args: Sequence[SimpleValue] = (),
        options: dict[str, SimpleValue] | None = None,
    ) -> SimpleValue:
        """Adds a call of the operator or builtin of this name whose overload matches these
        arguments."""
        self.at(tree)
        options = options or {}
        names = [ffi.new("char[]", option.encode()) for option in options]
        output = lib.uh_graph_call_result(
            self.handle,
            name.encode(),
            [arg.id for arg in args],
            len(args),
            ffi.new("char *[]", names),
            [option.id for option in options.values()],
            len(options),
        )
        if output < 0:
            message = str(last_error())
            typed = " not provided" not in message and "nknown keyword" not in message
            hint = self.argument_hints.of_call([*args, *options.values()]) if typed else ""
            fail(self.source, tree, message, hint, CallError)
        if output == 0:  # no result: the program sees None
            return SimpleValue(NOTHING, NONE, self.block, None)
        return self._value(output, self._type(output))

    def node(
        self, tree: ast.AST, kind: str, inputs: Sequence[SimpleValue], types: Sequence[Type]
    ) -> Node:
        """Adds a node of any other kind."""
        self.at(tree)
        ids = [operand.id for operand in inputs]
        node_id = self._number(lib.uh_graph_node(self.handle, kind.encode(), ids, len(ids), 0))
        node = Node(self, node_id)
        node.outputs = [node.add_output(type) for type in types]
        return node

    def prim(
        self, tree: ast.AST, kind: str, inputs: Sequence[SimpleValue], type: Type
    ) -> SimpleValue:
        """Adds a node with one result."""
        return self.node(tree, kind, inputs, [type]).outputs[0]

    def uninitialized(self, tree: ast.AST, type: Type) -> SimpleValue:
        """Creates a placeholder that is never read."""
        return self.prim(tree, "prim::Uninitialized", (), type)

    def function(self, tree: ast.AST, name: str) -> SimpleValue:
        """Adds a function as a constant, for prim::CallFunction."""
        node = self.node(tree, "prim::Constant", (), [FUNCTION]).set("name", name)
        return node.outputs[0]

    # ---- values and blocks

    def returns(self, block: int, values: Sequence[SimpleValue]) -> None:
        """Sets the outputs of a block."""
        for value in values:
            self._done(lib.uh_block_add_return(self.handle, block, value.id))

    def param(self, block: int, name: str, type: Type, origin: SimpleValue) -> SimpleValue:
        """Adds a block parameter, whose type and name are those of the value that it starts from."""
        named = self._fresh(name) if name else ""
        value_id = lib.uh_block_add_param(self.handle, block, named.encode(), type.text.encode())
        value = self._values[value_id] = SimpleValue(self._number(value_id), type, block)
        self._done(lib.uh_value_add_origin(self.handle, value.id, origin.id))
        value.named = bool(name)
        return value

    def name(self, value: SimpleValue, name: str, numbered: bool = True) -> None:
        """Names a value that has no name yet, as PyTorch does: x.1, x.2, ..."""
        if value.named or value.block != self.block or not name.isidentifier():
            return
        value.named = True
        fresh = self._fresh(name) if numbered else name
        self._done(lib.uh_value_set_name(self.handle, value.id, fresh.encode()))

    def retype(self, value: SimpleValue, type: Type) -> None:
        """Changes the type of a value, for example of a list whose element type is known by now."""
        value.type = type
        self.argument_hints.empty.discard(value.id)
        self._done(lib.uh_value_set_type(self.handle, value.id, type.text.encode()))

    def _fresh(self, name: str) -> str:
        if name == "self" or name.startswith("_"):
            return name
        self._counts[name] = count = self._counts.get(name, 0) + 1
        return f"{name}.{count}"

    def _value(self, number: int, type: Type, constant: Any = MISSING) -> SimpleValue:
        """Returns the Value of an id, which an in-place operator may have returned before."""
        if number not in self._values:
            self._values[number] = SimpleValue(number, type, self.block, constant)
        return self._values[number]

    def _type(self, number: int) -> Type:
        text = lib.uh_value_type(self.handle, number)
        if text == ffi.NULL:
            raise_last()
        return from_text(ffi.string(text).decode())

    def types(self) -> set[Type]:
        """Returns the types of all values."""
        return {value.type for value in self._values.values()}

    def text(self, with_source: bool = False) -> str:
        """Returns the graph as text."""
        text = lib.uh_graph_text(self.handle, with_source)
        if text == ffi.NULL:
            raise_last()
        return str(ffi.string(text).decode())

    @staticmethod
    def _number(value_id: int) -> int:
        if value_id < 0:
            raise_last()
        return value_id

    @staticmethod
    def _done(result: int) -> None:
        if result < 0:
            raise_last()


class Node:
    """A node of the graph under construction."""

    def __init__(self, builder: Builder, number: int) -> None:
        self.builder = builder
        self.id = number
        self.outputs: list[SimpleValue] = []

    def add_output(self, type: Type, name: str = "") -> SimpleValue:
        """Adds a result."""
        builder = self.builder
        value_id = lib.uh_node_add_output(builder.handle, self.id, type.text.encode())
        value = builder._value(builder._number(value_id), type)
        if name:
            builder.name(value, name)
        return value

    def add_block(self) -> int:
        """Adds a block."""
        return self.builder._number(lib.uh_node_add_block(self.builder.handle, self.id))

    def set(self, name: str, value: Any) -> Node:
        """Sets an attribute."""
        slot, alive = constant_value(value)
        builder = self.builder
        done = lib.uh_node_set_attribute(builder.handle, self.id, name.encode(), slot)
        builder._done(done)
        del alive
        return self

    def set_types(self, name: str, types: Sequence[Type]) -> Node:
        """Sets an attribute that is a list of types."""
        names = [ffi.new("char[]", type.text.encode()) for type in types]
        builder = self.builder
        done = lib.uh_node_set_types(
            builder.handle, self.id, name.encode(), ffi.new("char *[]", names), len(names)
        )
        builder._done(done)
        return self
