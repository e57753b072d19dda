"""The parts of a graph as Python sees them: values, nodes and blocks, each named by its number.

PyTorch's names, of `torch._C.Node` and so on. One that was destroyed is an error that says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine._native import ffi, lib
from engine.jit.c_results import c_integer
from engine.jit.ir.node_attributes import LETTERS, letter_of, value_of
from engine.jit.types.ivalues import BoxedArgs, to_python
from engine.jit.types.type_introspection import Schema, Type, type_of
from engine.tensor import Tensor

if TYPE_CHECKING:
    from engine.jit.ir.graph import Graph


@dataclass(frozen=True)
class Use:
    """One place where a Value is an input."""

    user: Node
    offset: int


class _Part:
    """What is named by a number within a graph."""

    __slots__ = ("_graph", "_id")
    _table = ""

    def __init__(self, graph: Graph, number: int) -> None:
        self._graph, self._id = graph, number

    def _data(self) -> dict[str, Any]:
        self._graph._read()
        found: dict[str, Any] | None = getattr(self._graph, self._table).get(self._id)
        if found is None:
            what = type(self).__name__.lower()
            raise RuntimeError(f"graph: {what} {self._id} is not there (any more)")
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._id == self._id

    def __hash__(self) -> int:
        return hash(self._id)


class Value(_Part):
    """What a node makes, or a block begins with."""

    __slots__ = ()
    _table = "_values"

    def debugName(self) -> str:
        """What the text says behind %."""
        return str(self._data()["name"])

    def type(self) -> Type:
        """The text of its type: "Tensor", "Float(2, 3)", "int[]"; it answers PyTorch's questions."""
        return Type(self._data()["type"])

    def node(self) -> Node:
        """The node that makes it."""
        return Node(self._graph, self._data()["node"])

    def offset(self) -> int:
        """Which of the node's outputs it is."""
        return int(self._data()["offset"])

    def uses(self) -> list[Use]:
        """Where it is an input."""
        self._data()
        return [Use(Node(self._graph, n), i) for n, i in self._graph._uses.get(self._id, [])]

    def origins(self) -> list[int]:
        """The numbers of the Values that it was made from, in this graph or one before it."""
        return list(self._data()["origins"])

    def unique(self) -> int:
        """Its number: no other Value of the process has it."""
        return self._id

    def requires_grad(self) -> bool:
        """Whether it may require a gradient."""
        return self.type().requires_grad()

    requiresGrad = requires_grad

    def isCompleteTensor(self) -> bool:
        """Whether dtype, device, sizes and strides are known."""
        of = self.type()
        return None not in (of.dtype(), of.device(), of.sizes(), of.strides())

    def toIValue(self) -> Any:
        """The value of a constant; None for what is none (and for None)."""
        slot = ffi.new("uh_value *")
        found = c_integer(lib.uh_value_constant(self._graph._handle, self._id, slot))
        return to_python(slot) if found else None

    def setType(self, type: str) -> Value:
        """Gives it another type, by its text."""
        c_integer(lib.uh_value_set_type(self._graph._handle, self._id, type.encode()))
        return self

    def setTypeAs(self, other: Value) -> Value:
        """Gives it the type of another Value."""
        return self.setType(other.type())

    def inferTypeFrom(self, value: Any) -> Value:
        """Gives it the type of a Tensor, with all that is known of it."""
        if not isinstance(value, Tensor):
            raise TypeError(f"inferTypeFrom: expected a Tensor, got {type(value).__name__}")
        return self.setType(type_of(value))

    def setDebugName(self, name: str) -> Value:
        """Gives it a name, made unique within the graph."""
        c_integer(lib.uh_value_set_name(self._graph._handle, self._id, name.encode()))
        return self

    def copyMetadata(self, other: Value) -> Value:
        """Takes over type and name of another Value."""
        self.setType(other.type())
        name = other.debugName()
        return self if name.isdigit() else self.setDebugName(name.partition(".")[0])

    def replaceAllUsesWith(self, other: Value) -> None:
        """Every use becomes one of `other`."""
        c_integer(lib.uh_value_replace(self._graph._handle, self._id, value_id(other)))

    def replaceAllUsesAfterNodeWith(self, node: Node, other: Value) -> None:
        """Every use behind `node` becomes one of `other`."""
        mine, its = self._id, value_id(other)
        c_integer(lib.uh_value_replace_after(self._graph._handle, mine, node._id, its))

    def __repr__(self) -> str:
        return f"%{self.debugName()} : {self.type()}"


def value_id(one: Any) -> int:
    """The number of a Value.

    Raises: TypeError for anything else, such as a Node: what it makes are its outputs.
    """
    if isinstance(one, Value):
        return one._id
    instead = ", whose Value is its output()" if isinstance(one, Node) else ""
    raise TypeError(f"graph: a Value is asked for, not a {type(one).__name__}{instead}")


class Node(_Part):
    """One operation. `node.i("name")`, `.f`, `.s`, `.t`... are its attributes by kind."""

    __slots__ = ()
    _table = "_nodes"

    def kind(self) -> str:
        """Such as "aten::add" or "prim::If"."""
        return str(self._data()["kind"])

    def schema(self) -> Schema:
        """The operator's schema; "" for what is none."""
        return Schema(self._data().get("schema", ""))

    def scopeName(self) -> str:
        """The module that it comes from: "__module.linear"; "" outside of traces."""
        return str(self._data().get("scope") or "")

    def inputs(self) -> list[Value]:
        """The inputs, in order."""
        return [Value(self._graph, i) for i in self._data()["inputs"]]

    def outputs(self) -> list[Value]:
        """The outputs, in order."""
        return [Value(self._graph, value["id"]) for value in self._data()["outputs"]]

    def input(self, i: int = 0) -> Value:
        """One input."""
        return self.inputs()[i]

    def output(self, i: int = 0) -> Value:
        """One output."""
        return self.outputs()[i]

    def namedInput(self, name: str) -> Value:
        """The input of an argument of the schema. Raises: RuntimeError for an unknown name."""
        names = [one.name for one in self.schema().arguments]
        if name not in names:
            raise RuntimeError(f"{self.kind()} has no argument {name!r}; it has {', '.join(names)}")
        return self.input(names.index(name))

    def inputsSize(self) -> int:
        """How many inputs it has."""
        return len(self._data()["inputs"])

    def outputsSize(self) -> int:
        """How many outputs it has."""
        return len(self._data()["outputs"])

    def hasMultipleOutputs(self) -> bool:
        """Whether it has more than one output."""
        return self.outputsSize() > 1

    def hasUses(self) -> bool:
        """Whether anything uses an output."""
        return any(one.uses() for one in self.outputs())

    def blocks(self) -> list[Block]:
        """The blocks of an If or Loop."""
        return [Block(self._graph, block["id"]) for block in self._data()["blocks"]]

    def owningBlock(self) -> Block:
        """The block that it stands in."""
        return Block(self._graph, self._data()["block"])

    def attributes(self) -> dict[str, str]:
        """The attributes as the graph's text writes them."""
        return dict(self._data()["attributes"])

    def attributeNames(self) -> list[str]:
        """The names of its attributes."""
        return [*self._data()["attributes"], *self._data().get("graphs", {})]

    def hasAttributes(self) -> bool:
        """Whether it has any."""
        return bool(self.attributeNames())

    def attribute(self, name: str) -> Any:
        """The value of an attribute: a number, text, Tensor, list.

        Raises: RuntimeError when there is none of that name.
        """
        text = self.attributes().get(name)
        if text is None:
            raise RuntimeError(f"attribute '{name}' is not defined for {self.kind()}")
        constant = self.kind() == "prim::Constant" and name == "value"
        return self.output().toIValue() if constant else value_of(text)

    def kindOf(self, name: str) -> str:
        """The letter of an attribute's kind: "i" of int, "s" of str, "ts" of Tensors, "g" of graphs."""
        if name in self._data().get("graphs", {}):
            return "g"
        value = self.attribute(name)
        several = isinstance(value, (list, tuple))
        first = value[0] if several and value else value
        return letter_of(first) + ("s" if several else "")

    def hasAttribute(self, name: str) -> bool:
        """Whether it has an attribute of that name."""
        return name in self.attributeNames()

    def sourceRange(self) -> str:
        """ "file:line:column" of the source that it comes from; "" when there is none."""
        span = self._data()["span"]
        return f"{span[0]}:{span[1]}:{span[2]}" if span else ""

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind in its blocks, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind in its blocks."""
        return [one for block in self.blocks() for one in block.findAllNodes(kind, recurse)]

    def isBefore(self, other: Node) -> bool:
        """Whether it stands before another node of the graph, also of another block."""
        order = [one._id for one in self._graph.all_nodes()]
        return order.index(self._id) < order.index(other._id)

    def isAfter(self, other: Node) -> bool:
        """Whether it stands behind another node."""
        return other.isBefore(self)

    def moveBefore(self, other: Node) -> None:
        """Moves it before another node."""
        c_integer(lib.uh_node_move(self._graph._handle, self._id, other._id))

    insertBefore = moveBefore  # a node of `create` stands in the graph already

    def moveAfter(self, other: Node) -> None:
        """Moves it behind another node."""
        block = other.owningBlock()
        order = [*block.nodes(), block.returnNode()]
        self.moveBefore(order[order.index(other) + 1])

    insertAfter = moveAfter

    def replaceInput(self, i: int, value: Value) -> None:
        """Another Value as an input."""
        c_integer(lib.uh_node_set_input(self._graph._handle, self._id, i, value_id(value)))

    def replaceInputWith(self, value: Value, other: Value) -> None:
        """Another Value wherever this one is an input."""
        for i, one in enumerate(self.inputs()):
            if one == value:
                self.replaceInput(i, other)

    def replaceAllUsesWith(self, other: Node) -> None:
        """Every use of an output becomes one of the other node's."""
        for mine, its in zip(self.outputs(), other.outputs(), strict=True):
            mine.replaceAllUsesWith(its)

    def removeAllInputs(self) -> None:
        """Without inputs."""
        for i in reversed(range(self.inputsSize())):
            self.removeInput(i)

    def eraseOutput(self, i: int) -> None:
        """One output less. Raises: RuntimeError while it is used."""
        c_integer(lib.uh_node_drop_output(self._graph._handle, self._id, i))

    def addInput(self, value: Value) -> Value:
        """One more input, as the last."""
        at = len(self._data()["inputs"])
        taken = value_id(value)
        c_integer(lib.uh_node_insert_input(self._graph._handle, self._id, at, taken))
        return value

    def removeInput(self, i: int) -> None:
        """One input less."""
        c_integer(lib.uh_node_drop_input(self._graph._handle, self._id, i))

    def addOutput(self, type: str = "Tensor") -> Value:
        """One more output."""
        made = lib.uh_node_add_output(self._graph._handle, self._id, type.encode())
        return Value(self._graph, c_integer(made))

    def addBlock(self) -> Block:
        """One more block."""
        return Block(self._graph, c_integer(lib.uh_node_add_block(self._graph._handle, self._id)))

    def setAttribute(self, name: str, value: Any) -> Node:
        """Sets an attribute to a number, text, list, tensor... or a Graph."""
        from engine.jit.ir.graph import Graph

        if isinstance(value, Graph):
            done = lib.uh_node_set_graph(
                self._graph._handle, self._id, name.encode(), value._handle
            )
        else:
            native = BoxedArgs([value])
            done = lib.uh_node_set_attribute(
                self._graph._handle, self._id, name.encode(), native.array
            )
        c_integer(done)
        return self

    def removeAttribute(self, name: str) -> Node:
        """Drops an attribute, if it is there."""
        c_integer(lib.uh_node_drop_attribute(self._graph._handle, self._id, name.encode()))
        return self

    def copyAttributes(self, other: Node) -> Node:
        """Takes over the attributes of another node."""
        for name in other.attributes():
            self.setAttribute(name, other.attribute(name))
        return self

    def destroy(self) -> None:
        """Takes it out of the graph. Raises: RuntimeError while an output is used."""
        c_integer(lib.uh_node_destroy(self._graph._handle, self._id))

    def __repr__(self) -> str:
        outputs = ", ".join(map(repr, self.outputs()))
        inputs = ", ".join(f"%{value.debugName()}" for value in self.inputs())
        attributes = ", ".join(f"{k}={v}" for k, v in self.attributes().items())
        return f"{outputs} = {self.kind()}{f'[{attributes}]' if attributes else ''}({inputs})"


class Block(_Part):
    """A sequence of nodes: a graph's, or one of an If or Loop."""

    __slots__ = ()
    _table = "_blocks"

    def inputs(self) -> list[Value]:
        """Its parameters."""
        return [Value(self._graph, value["id"]) for value in self._data()["params"]]

    def outputs(self) -> list[Value]:
        """What it returns."""
        return [Value(self._graph, i) for i in self._data()["returns"]]

    def nodes(self) -> list[Node]:
        """Its nodes, in order, without those of blocks inside."""
        return [Node(self._graph, node["id"]) for node in self._data()["nodes"]]

    def all_nodes(self) -> Iterator[Node]:
        """Its nodes in order, also inside of blocks."""
        waiting = [iter(self.nodes())]
        while waiting:
            node = next(waiting[-1], None)
            if node is None:
                waiting.pop()
                continue
            yield node
            waiting += [iter(block.nodes()) for block in reversed(node.blocks())]

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, or None."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """All nodes of a kind; with `recurse` also those of blocks inside."""
        return [
            one for one in (self.all_nodes() if recurse else self.nodes()) if one.kind() == kind
        ]

    def returnNode(self) -> Node:
        """The node whose inputs it returns."""
        return Node(self._graph, self._data()["return"])

    def paramNode(self) -> Node:
        """The node whose outputs are its parameters."""
        return Node(self._graph, self._data()["param"])

    def owningNode(self) -> Node | None:
        """The If or Loop around it; None for a graph's own."""
        owner = self._data()["owner"]
        return None if owner is None else Node(self._graph, owner)

    def addInputToBlock(self, name: str = "", type: str = "Tensor") -> Value:
        """One more parameter."""
        made = lib.uh_block_add_param(self._graph._handle, self._id, name.encode(), type.encode())
        return Value(self._graph, c_integer(made))

    def registerOutput(self, value: Value) -> None:
        """One more Value that it returns."""
        c_integer(lib.uh_block_add_return(self._graph._handle, self._id, value_id(value)))


def _reader(letter: str, kind: Any) -> Any:
    def read(self: Node, name: str) -> Any:
        value = self.attribute(name)
        if not isinstance(value, kind):
            raise RuntimeError(
                f"attribute '{name}' of {self.kind()} is of the kind '{self.kindOf(name)}', "
                f"not '{letter}'"
            )
        return value

    read.__doc__ = f"The attribute of that name, which is of the kind '{letter}'."
    return read


for _name, _kind in LETTERS.items():  # node.i("value") reads, node.i_("value", 3) writes
    setattr(Node, _name, _reader(_name, _kind))
    setattr(Node, f"{_name}_", Node.setAttribute)
