"""Views and writes in place: ONNX has neither, so a write becomes a new value of the tensor and of all its views.

A view has its root and the operators that derive it. A write to a view becomes a write to positions of the root: the
same view of a tensor of element numbers identifies them. So any view that can be read can be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.function_schema import FunctionSchema, operator_schema
from engine.jit.ir.graph import Node
from engine.jit.ir.graph import Value as IRValue
from engine.onnx.errors import SymbolicValueError
from engine.onnx.values import Value

if TYPE_CHECKING:
    from engine.onnx.conversion import Conversion


class View(NamedTuple):
    """A Value of the IR that shares the memory of another."""

    root: int
    read: Callable[[Any], Any]


class Aliases:
    """The views of a graph, by the numbers of their Values."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._views: dict[int, View] = {}
        self._may_share: dict[int, IRValue] = {}
        self._noted: dict[int, IRValue] = {}  # outputs that share memory, or may
        self._order = {node._id: i for i, node in enumerate(conversion.graph.all_nodes())}

    def note(self, node: Node, schema: FunctionSchema, reread: Callable[[Any], Any]) -> None:
        """Records a node's output if it is a view."""
        if not node.inputs() or not node.outputs():
            return
        source = node.input(0)
        may_alias = "maybe_aliasing_or_mutating" in _tags(node, schema)
        if may_alias or schema.arguments[0].alias_set:
            self._noted |= {value.unique(): value for value in (source, *node.outputs())}
        if may_alias:
            self._may_share[node.output(0).unique()] = source
        elif len(node.outputs()) == 1 and schema.arguments[0].alias_set and schema.returns:
            if schema.returns[0].type.kind != "Tensor":
                self._may_share[node.output().unique()] = source
                return
            parent = self._views.get(source.unique())
            root = parent.root if parent else source.unique()
            read = (lambda base: reread(parent.read(base))) if parent else reread
            self._views[node.output().unique()] = View(root, read)

    def pass_on(self, source: IRValue, output: IRValue) -> None:
        """Records that `output` is `source` or a part of it."""
        if source.unique() in self._views:
            self._views[output.unique()] = self._views[source.unique()]
        if source.unique() in self._may_share:
            self._may_share[output.unique()] = self._may_share[source.unique()]

    def same(self, source: IRValue, other: IRValue) -> None:
        """Records that `other` is the tensor `source`: a write to one is a write to both."""
        if isinstance(self._conversion.get(source), Value):
            number = source.unique()
            self._views[other.unique()] = self._views.get(number, View(number, lambda base: base))
            self._noted |= {number: source, other.unique(): other}

    def write(self, node: Node, target: IRValue, result: Any) -> Any:
        """Converts a write of `result` to `target`; returns the tensor's new value.

        A write to an input does not change the caller's array. Raises: SymbolicValueError for a write to a weight, or
        one that a block cannot return.
        """
        conversion, builder = self._conversion, self._conversion.builder
        old = conversion.get(target)
        if not isinstance(old, Value) or not isinstance(result, Value):
            return result
        self._check(node, target)
        new = builder.cast(result, old.dtype)
        if new.shape != old.shape:
            new = builder.op("Expand", new, builder.shape_of(old))
        view = self._views.get(target.unique())
        root = view.root if view else target.unique()
        base = new if view is None else self._written(conversion.values[root], view, new)
        conversion.values[root] = base
        for number, other in list(self._views.items()):
            if other.root == root and number in conversion.values:
                conversion.values[number] = other.read(base)
        conversion.values[target.unique()] = new
        for output in node.outputs():
            self._noted[output.unique()] = output
            self._views[output.unique()] = View(root, view.read if view else lambda base: base)
        return new

    def _written(self, base: Value, view: View, new: Value) -> Value:
        builder = self._conversion.builder
        before, builder.result_dtype = builder.result_dtype, None
        shape = builder.shape_of(base)
        count = builder.reduce("ReduceProd", shape, None, keep=False)
        zero, step = builder.constant(np.array(0)), builder.constant(np.array(1))
        positions = builder.op("Reshape", builder.op("Range", zero, count, step), shape)
        positions.shape = base.shape
        flat = [builder.op("Reshape", x, [-1]) for x in (base, view.read(positions), new)]
        written = builder.op("Reshape", builder.op("ScatterElements", *flat, axis_i=0), shape)
        written.shape = base.shape
        builder.result_dtype = before
        return written

    def _check(self, node: Node, target: IRValue) -> None:
        conversion = self._conversion
        number = target.unique()
        root = self._views[number].root if number in self._views else number
        source = self._may_share.get(number) or self._may_share.get(root)
        while source is not None:
            if self.is_weight(source.unique()) or self._read_later(source, target, node):
                raise SymbolicValueError(
                    f"writes in place to what may share memory with %{source.debugName()}, which the model reads later "
                    "or keeps; clone() it before"
                )
            source = self._may_share.get(source.unique())
        if self.is_weight(root):
            raise SymbolicValueError(
                f"the model changes its weight or buffer %{target.debugName()} in place, which a model of ONNX cannot; "
                "clone() it before"
            )
        if conversion.depth_of.get(root, 0) < conversion.depth:
            raise SymbolicValueError(
                f"writes in place to %{target.debugName()}, which is older than the branch or loop around the write; "
                "write `x = x + 1` for `x += 1`"
            )

    def is_weight(self, number: int) -> bool:
        """Returns whether a Value of the IR is a weight or a buffer."""
        value = self._conversion.values.get(number)
        return isinstance(value, Value) and bool(value.parameter)

    def _read_later(self, source: IRValue, target: IRValue, node: Node) -> bool:
        """Returns whether the model reads `source` or a Value that shares its memory after this write to `target`."""
        position = self._order[node._id]
        return any(
            self._order.get(use.user._id, position + 1) > position
            for value in self._sharing(source)
            if value.unique() != target.unique()
            for use in value.uses()
        )

    def _sharing(self, source: IRValue) -> Iterator[IRValue]:
        """Returns all Values that may share the memory of `source`, including itself."""
        root = self._root_of(source.unique())
        for value in (source, *self._noted.values()):
            if self._root_of(value.unique()) == root:
                yield value

    def _root_of(self, number: int) -> int:
        """Returns the Value whose memory this one may share, through views and possible views."""
        while True:
            view, perhaps = self._views.get(number), self._may_share.get(number)
            if view is not None and view.root != number:
                number = view.root
            elif perhaps is not None:
                number = perhaps.unique()
            else:
                return number


def _tags(node: Node, schema: FunctionSchema) -> frozenset[str]:
    """Returns the tags of a node's operator."""
    overload = f".{schema.overload_name}" if schema.overload_name else ""
    return operator_schema(node.kind() + overload)[1]
