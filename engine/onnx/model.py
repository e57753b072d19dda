"""Construction of the ONNX model: the compiler's graph, its conversion, inputs, outputs and weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
from onnx import helper, numpy_helper

from engine.jit.ir.graph import Graph
from engine.jit.ir.graph import Value as IRValue
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.tracer.function import cloned
from engine.jit.tracer.module import trace_graph
from engine.jit.types.ivalues import ObjectBox
from engine.nn import Module
from engine.onnx import control_flow, lowered, node_kinds, symbolics  # noqa: F401  (they fill the tables)
from engine.onnx.arguments import Inputs, tensors_of
from engine.onnx.builder import Builder, type_proto
from engine.onnx.conversion import Conversion, ModuleObject
from engine.onnx.errors import OnnxExporterError
from engine.onnx.functions import FunctionCalls, recorded
from engine.onnx.program import ONNXProgram
from engine.onnx.values import Value
from engine.tensor import Tensor
from engine.version import __version__


def build(
    model: Any,
    inputs: Inputs,
    *,
    opset: int,
    export_params: bool,
    weights_as_inputs: bool,
    fold: bool,
    custom_opsets: dict[str, int],
) -> ONNXProgram:
    """Builds the ONNX model for a model of the engine."""
    calls = FunctionCalls()
    compiled = isinstance(model, (ScriptModule, ScriptFunction))
    with recorded(calls):
        graph, box, values = _graph_of(model, inputs)
        builder = Builder(opset, fold)
        static = not compiled and not inputs.is_dynamic
        conversion = Conversion(graph, builder, calls.functions, export_params, static)
        declared = _bind_inputs(conversion, graph, box, values, inputs)
        conversion.convert_block(graph.block())
        results = [conversion.get(value) for value in graph.outputs()]
    conversion.raise_problems()
    outputs = _outputs(builder, results, inputs)
    ir = str(graph)
    proto = _finished(builder, declared, outputs, weights_as_inputs, custom_opsets)
    if lowered.recording():
        title = str(getattr(model, "__name__", type(model).__name__)).strip("<>")
        lowered.record(graph, proto.graph, _names(conversion, graph), title, model)
    return ONNXProgram(proto, ir)


def _names(conversion: Conversion, graph: Graph) -> dict[str, IRValue]:
    """Returns the graph's Values that have a name in the model: inputs and weights."""
    nodes = [node for node in graph.nodes() if node.kind() in ("prim::GetAttr", "prim::Constant")]
    values = [*graph.inputs(), *(output for node in nodes for output in node.outputs())]
    named: dict[str, IRValue] = {}
    for value in values:
        counterpart = conversion.values.get(value.unique())
        if isinstance(counterpart, Value):
            named.setdefault(counterpart.name, value)
    return named


def _graph_of(model: Any, inputs: Inputs) -> tuple[Graph, ObjectBox | None, list[Any]]:
    """Returns the graph with its calls inlined, its `self` object, and its arguments."""
    if isinstance(model, ScriptModule):
        return model.inlined_graph, model._script_object, inputs.values
    if isinstance(model, ScriptFunction):
        return model.inlined_graph, None, inputs.values
    traced = [i for i, value in enumerate(inputs.values) if list(tensors_of(value, ""))]

    def call(*tensors: Any) -> Any:
        arguments = list(inputs.values)
        for i, tensor in zip(traced, tensors, strict=True):
            arguments[i] = tensor
        return model(*arguments)

    names = [inputs.names[i] for i in traced]
    values = [cloned(inputs.values[i]) for i in traced]
    module = model if isinstance(model, Module) else None
    graph, box = trace_graph(call, tuple(values), names, module)
    return graph, box, values


def _bind_inputs(
    conversion: Conversion, graph: Graph, box: ObjectBox | None, values: list[Any], inputs: Inputs
) -> list[Value]:
    declared = []
    leaves = iter(inputs.leaves)

    def counterpart(value: Any) -> Any:
        if isinstance(value, Tensor):
            leaf = next(leaves)
            shape = tuple(leaf.axes.get(i, size) for i, size in enumerate(value.shape))
            name = conversion.builder.unique(leaf.name)
            declared.append(Value(conversion.builder, name, value.dtype, shape))
            return declared[-1]
        if isinstance(value, (list, tuple)):
            return type(value)(map(counterpart, value))
        if isinstance(value, dict):
            return {key: counterpart(item) for key, item in value.items()}
        return value

    parameters = graph.inputs()
    if box is not None:
        conversion.values[parameters[0].unique()] = ModuleObject(box, "")
        parameters = parameters[1:]
    if len(parameters) > len(values):
        values = [*values, *_defaults(parameters[len(values) :])]
    for parameter, value in zip(parameters, values, strict=True):
        conversion.values[parameter.unique()] = counterpart(value)
    return declared


def _defaults(parameters: list[Any]) -> list[Any]:
    names = ", ".join(value.debugName().partition(".")[0] for value in parameters)
    raise OnnxExporterError(
        f"onnx.export: the example has no value for {names}; pass the defaults that are to be constants, too"
    )


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif value is not None:
        yield value


def _outputs(builder: Builder, results: list[Any], inputs: Inputs) -> list[tuple[Value, str]]:
    """Names the outputs; a separate node writes each."""
    builder.origin, builder.fold = None, False
    leaves = [leaf for result in results for leaf in _leaves(result)]
    names = inputs.output_names
    if len(names) > len(leaves):
        raise ValueError(
            f"onnx.export: number of output names provided ({len(names)}) exceeded number of outputs ({len(leaves)})"
        )
    default = ["output"] if len(leaves) == 1 else [f"output_{i}" for i in range(len(leaves))]
    outputs = []
    for leaf, name in zip(leaves, [*names, *default[len(names) :]], strict=True):
        if not isinstance(leaf, (Value, bool, int, float)):
            raise OnnxExporterError(
                f"onnx.export: the model returns a {type(leaf).__name__}, and outputs are tensors"
            )
        value = builder.value(leaf)
        if name in builder._names:
            raise ValueError(
                f"onnx.export: the output name '{name}' is in use; pass output_names or other input_names"
            )
        copied = builder.op("Identity", value)
        copied.is_sequence = value.is_sequence
        copied.dtype, copied.shape = value.dtype, value.shape
        outputs.append((copied, builder.unique(name)))
    return outputs


def _named_outputs(nodes: list[onnx.NodeProto], outputs: list[tuple[Value, str]]) -> None:
    """Renames a node's output to the model's output name if an Identity would do nothing else."""
    last = {name: node for node in nodes for name in node.output}
    uses: dict[str, int] = {}
    for node in _all_nodes(nodes):
        for name in node.input:
            uses[name] = uses.get(name, 0) + 1
    for value, name in outputs:
        identity = last[value.name]
        source = identity.input[0]
        writer = last.get(source)
        if writer is not None and uses[source] == 1 and not value.is_sequence:
            writer.output[list(writer.output).index(source)] = name
            nodes.remove(identity)
        else:
            identity.output[0] = name
        value.name = name


def _all_nodes(nodes: Any) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _all_nodes(attribute.g.node)


def _used_names(node: onnx.NodeProto) -> set[str]:
    """Returns the names that a node reads, also in its blocks."""
    names = set(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            inner = attribute.g
            names |= {value.name for value in inner.output}
            for below in inner.node:
                names |= _used_names(below)
    return names


def _without_dead(nodes: Any, needed: set[str]) -> None:
    """Removes the nodes that no output needs, also in blocks."""
    for node in reversed(list(nodes)):
        if not needed.intersection(node.output):
            nodes.remove(node)
            continue
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _without_dead(attribute.g.node, {value.name for value in attribute.g.output})
        needed |= _used_names(node)


def _finished(
    builder: Builder,
    declared: list[Value],
    outputs: list[tuple[Value, str]],
    weights_as_inputs: bool,
    custom_opsets: dict[str, int],
) -> onnx.ModelProto:
    nodes = builder.blocks[0]
    _named_outputs(nodes, outputs)
    needed = {name for _, name in outputs}
    _without_dead(nodes, needed)
    weights = [value for name, value in builder.initializers.items() if name in needed]
    stored = [
        numpy_helper.from_array(value.array, value.name)
        for value in weights
        if value.array is not None
    ]
    absent = [value for value in weights if value.array is None]
    extra = [v for v in weights if v.parameter] if weights_as_inputs else absent
    graph = helper.make_graph(
        nodes,
        "main_graph",
        [helper.make_value_info(v.name, type_proto(v)) for v in (*declared, *extra)],
        [_output_info(value, declared) for value, _ in outputs],
        initializer=stored,
    )
    opsets = [helper.make_opsetid("", builder.opset)]
    opsets += [
        helper.make_opsetid(domain, custom_opsets.get(domain, version))
        for domain, version in builder.domains.items()
    ]
    model = helper.make_model(
        graph,
        opset_imports=opsets,
        ir_version=max(helper.find_min_ir_version_for(opsets[:1], True), 10),
        producer_name="underhood",
        producer_version=__version__,
    )
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise OnnxExporterError(f"onnx.export: the model is not valid: {error}") from None
    return model


def _output_info(value: Value, declared: list[Value]) -> onnx.ValueInfoProto:
    """Returns the type of an output; sizes that no input names stay unknown."""
    known = {dim for x in declared for dim in x.shape or () if isinstance(dim, str)}
    if value.shape is not None and not value.is_sequence:
        proto = helper.make_tensor_type_proto(
            type_proto(value).tensor_type.elem_type,
            [dim if isinstance(dim, int) or dim in known else None for dim in value.shape],
        )
        return helper.make_value_info(value.name, proto)
    return helper.make_value_info(value.name, type_proto(value))
