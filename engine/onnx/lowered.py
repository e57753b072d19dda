"""The export as a pass of the compiler, so that a recording shows it node by node.

Each node of the model becomes one `onnx::` node, added to the graph that it was written from in one rewrite that names
the IR node. The last rewrites return the new Values and remove the old nodes. So the JIT view can step from one graph
to the other, and each Value has its source line as its origin. It runs only during a recording.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto, helper, numpy_helper

from engine._native import lib
from engine.jit.c_results import c_integer
from engine.jit.ir.graph import Block, Graph, Node, Value
from engine.jit.runtime.function import NativeFunction
from engine.numpy_bridge import from_numpy

_MAX_NODES = 1_000  # each is a rewrite of the recorded graph


def recording() -> bool:
    """Returns whether the program is being recorded."""
    return bool(lib.uh_recording())


def record(
    graph: Graph, model: GraphProto, names: Mapping[str, Value], title: str, target: Any
) -> None:
    """Records the conversion of `graph` to the model; `names` are the Values with a name in the model.

    Graphs of more than 1,000 nodes are recorded as they were, without the step to ONNX.
    """
    function = NativeFunction.of(f"{title}_onnx", graph._handle)
    code = getattr(inspect.unwrap(target), "__code__", None) or getattr(
        type(target).__dict__.get("forward"), "__code__", None
    )
    function.record_source("trace", code.co_filename if code else "", {"name": f"{title}_onnx"})
    if len(model.node) > _MAX_NODES:
        return
    c_integer(lib.uh_pass_begin(graph._handle, b"onnx"))
    try:
        _Lowering(graph, model, names).run()
    except BaseException as error:
        lib.uh_pass_end(graph._handle, f"{type(error).__name__}: {error}".encode())
        raise
    c_integer(lib.uh_pass_end(graph._handle, b""))


class _Lowering:
    """The conversion of one graph: the Values of the model's names."""

    def __init__(self, graph: Graph, model: GraphProto, names: Mapping[str, Value]) -> None:
        self.graph, self.model = graph, model
        self.values = dict(names)
        self.weights = {tensor.name: tensor for tensor in model.initializer}
        self.sources = {node._id: node for node in graph.all_nodes()}

    def run(self) -> None:
        """Adds the new nodes, returns their Values, and removes the old nodes."""
        graph = self.graph
        old = graph.nodes()
        for node in self.model.node:
            self._rewrite(node)
        outputs = [self._value(output.name) for output in self.model.output]
        with graph.rewrite("the outputs are those of the model"):
            for output in outputs:
                graph.registerOutput(output)
            for _ in range(len(graph.outputs()) - len(outputs)):
                graph.eraseOutput(0)
        with graph.rewrite("nothing uses the nodes before", *old):
            for node in reversed(old):
                if not node.hasUses():
                    node.destroy()

    def _rewrite(self, node: NodeProto) -> None:
        facts = {entry.key: entry.value for entry in node.metadata_props}
        source = self.sources.get(int(facts.get("ir_id", "-1")))
        kind = facts.get("ir_kind", "output")
        matched = [source] if source is not None else []
        for name in _outer_names(node):
            self._value(name)
        inputs = [self.values[name] for name in node.input if name]
        with self.graph.rewrite(
            f"{kind} -> {node.op_type}", *matched, reason=facts.get("source", "")
        ):
            self.graph.setInsertPoint(self.graph.block())
            self._create(node, inputs)

    def _create(self, node: NodeProto, inputs: list[Value]) -> Node:
        created = self.graph.create(f"onnx::{node.op_type}", inputs, len(node.output))
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                self._block(created.addBlock(), attribute.g)
            else:
                created.setAttribute(attribute.name, _plain(attribute))
        self.values.update(zip(node.output, created.outputs(), strict=True))
        return created

    def _block(self, block: Block, body: GraphProto) -> None:
        for parameter in body.input:
            self.values[parameter.name] = block.addInputToBlock()
        for node in body.node:
            inputs = [self._value(name) for name in node.input if name]
            self.graph.setInsertPoint(block)
            self._create(node, inputs)
        for output in body.output:
            block.registerOutput(self.values[output.name])

    def _value(self, name: str) -> Value:
        """Returns the Value of a name; a constant or folded weight becomes a constant, any other name an input of the
        graph."""
        if name not in self.values:
            if name in self.weights:
                tensor = from_numpy(numpy_helper.to_array(self.weights[name]).copy())
                with self.graph.rewrite(f"the constant {name}"):
                    self.graph.setInsertPoint(self.graph.block())
                    self.values[name] = self.graph.insertConstant(tensor)
            else:
                with self.graph.rewrite(f"the input {name}"):
                    self.values[name] = self.graph.addInput()
        return self.values[name]


def _outer_names(node: NodeProto) -> list[str]:
    """Returns the outer names that a node and its blocks use."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            body = attribute.g
            inner = {value.name for value in body.input} | {n for x in body.node for n in x.output}
            used = [name for below in body.node for name in _outer_names(below)]
            used += [value.name for value in body.output]
            names += [name for name in used if name not in inner]
    return names


def _plain(attribute: AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if attribute.type == AttributeProto.TENSOR:
        return from_numpy(numpy_helper.to_array(value).copy())
    if isinstance(value, (int, float)):
        return value
    return [item.decode() if isinstance(item, bytes) else item for item in value]
