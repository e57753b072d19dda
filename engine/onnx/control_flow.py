"""If and Loop: blocks of the IR as graphs of ONNX.

Constant conditions are resolved here: only one branch is written. A Loop carries tensors, numbers and lists of
tensors that it appends to; any other loop with a constant trip count is unrolled.
"""

from __future__ import annotations

from typing import Any

import onnx
from onnx import helper

from engine import dtypes
from engine.function_schema import parse_schema
from engine.jit.ir.graph import Block, Node
from engine.jit.ir.graph import Value as IRValue
from engine.onnx.builder import Builder, onnx_dtype, type_proto
from engine.onnx.conversion import UNAVAILABLE, UNINITIALIZED, Conversion, handles
from engine.onnx.errors import SymbolicValueError
from engine.onnx.values import Dim, Shape, Value

_NUMBERS = {"int": dtypes.int64, "float": dtypes.float64, "bool": dtypes.bool_}
_MAX_STEPS = 1 << 62  # the trip count of a `while`
_MAX_UNROLLED = 10_000  # nodes


def number(value: Any) -> Any:
    """Converts a constant Value to a number; returns any other Value unchanged."""
    if isinstance(value, Value) and value.array is not None and value.array.ndim == 0:
        return value.array.item()
    return value


@handles("prim::If")
def convert_if(conversion: Conversion, node: Node) -> Any:
    """Converts an If; a branch that only raises is left out."""
    condition = number(conversion.get(node.input()))
    blocks = node.blocks()
    raising = [any(inner.kind() == "prim::RaiseException" for inner in b.nodes()) for b in blocks]
    if condition is not UNAVAILABLE and not isinstance(condition, Value):
        selected = blocks[0] if condition else blocks[1]
    elif raising[0] != raising[1]:
        selected = blocks[raising.index(False)]
    else:
        return _written_if(conversion, node, condition)
    conversion.convert_block(selected)
    for inner, output in zip(selected.outputs(), node.outputs(), strict=True):
        conversion.aliases.pass_on(inner, output)
    return _several([conversion.get(value) for value in selected.outputs()])


def _written_if(conversion: Conversion, node: Node, condition: Any) -> Any:
    builder = conversion.builder
    conversion.depth += 1
    branches, results = [], []
    for block in node.blocks():
        with builder.block() as nodes:
            conversion.convert_block(block)
            results.append([conversion.get(value) for value in block.outputs()])
        branches.append(nodes)
    conversion.depth -= 1
    if condition is UNAVAILABLE or any(x is UNAVAILABLE for row in results for x in row):
        return UNAVAILABLE
    outputs: list[Any] = []
    written: list[tuple[Value, list[Value]]] = []
    for position, (a, b) in enumerate(zip(*results, strict=True)):
        if _equal(a, b):
            outputs.append(a)
            continue
        pair = _as_values(conversion, node.outputs()[position], [a, b])
        output = _joined(conversion, pair)
        outputs.append(output)
        written.append((output, pair))
    graphs = {}
    for index, name in enumerate(("then_branch", "else_branch")):
        builder.blocks.append(branches[index])
        returned = [_own(conversion, pair[index], output.dtype) for output, pair in written]
        builder.blocks.pop()
        graphs[name] = _graph(builder.unique(name), branches[index], [], returned)
    if written or any(branches):
        builder.control("If", [builder.value(condition)], graphs, [output for output, _ in written])
    return _several(outputs)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Value) or isinstance(b, Value):
        return a is b
    return type(a) is type(b) and bool(a == b)


def _several(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _as_values(conversion: Conversion, of: IRValue, items: list[Any]) -> list[Value]:
    """Converts the branches' results to Values; numbers become 0-d tensors."""
    kind = _NUMBERS.get(str(of.type()))
    known = [item for item in items if item is not UNINITIALIZED]
    if not all(isinstance(item, (Value, bool, int, float)) for item in known):
        raise SymbolicValueError(
            f"branches return different {of.type()}s, and only tensors and numbers can depend on a condition"
        )
    values = []
    for item in items:
        if item is UNINITIALIZED:
            example = known[0] if known else 0
            item = (
                0
                if not isinstance(example, Value)
                else conversion.builder.constant(0, example.dtype)
            )
        value = conversion.builder.value(item, kind)
        value.is_number = value.is_number or kind is not None
        values.append(value)
    return values


def _joined(conversion: Conversion, pair: list[Value]) -> Value:
    """Returns the output that joins these results of the branches."""
    a, b = pair
    builder = conversion.builder
    kind = a.dtype if a.dtype == b.dtype else builder.promoted(a, b)
    output = Value(
        builder, builder.unique("if_output"), kind, _merged(conversion, a.shape, b.shape)
    )
    output.is_number = a.is_number and b.is_number
    output.is_sequence = a.is_sequence
    return output


def _merged(conversion: Conversion, a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None or len(a) != len(b):
        return None
    unknown = conversion.builder.unknown_size
    return tuple(x if x == y else unknown() for x, y in zip(a, b, strict=True))


def _widened(builder: Builder, a: Shape | None, b: Shape | None, open_: set[str]) -> Shape | None:
    """Widens the shape `a` of a loop-carried Value so that it includes `b`, the shape that the body returns."""
    if a is None or b is None or len(a) != len(b):
        return None
    sizes: list[Dim] = []
    for before, after in zip(a, b, strict=True):
        if before != after and before not in open_:
            before = builder.unknown_size()
            open_.add(before)
        sizes.append(before)
    return tuple(sizes)


def _own(conversion: Conversion, value: Value, kind: Any) -> Value:
    """Returns a Value that a node of the current block writes, which a block must return."""
    builder = conversion.builder
    if value.dtype != kind:
        value = builder.cast(value, kind)
    if any(value.name in node.output for node in builder.blocks[-1]):
        copies = value
    else:
        fold, builder.fold = builder.fold, False
        copies = builder.op("Identity", value)
        builder.fold = fold
    return copies


def _graph(
    name: str, nodes: list[Any], inputs: list[Value], outputs: list[Value]
) -> onnx.GraphProto:
    return helper.make_graph(nodes, name, [_info(x) for x in inputs], [_info(x) for x in outputs])


def _info(value: Value) -> onnx.ValueInfoProto:
    if value.is_sequence or value.shape is None:
        return onnx.ValueInfoProto(name=value.name)  # inferred from the loop's operands
    proto = type_proto(value)
    if proto.HasField("tensor_type") and proto.tensor_type.HasField("shape"):
        for dim in proto.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                dim.Clear()  # its name holds in another scope
    return helper.make_value_info(value.name, proto)


# Loops


@handles("prim::Loop")
def convert_loop(conversion: Conversion, node: Node) -> Any:
    """Converts a Loop; unrolls one that cannot be written if its trip count is constant."""
    trips, condition, *initial = [number(conversion.get(value)) for value in node.inputs()]
    if any(x is UNAVAILABLE for x in (trips, condition, *initial)):
        return _unavailable_loop(conversion, node)
    if condition is False or trips == 0:
        return _several(initial)
    builder, before = conversion.builder, len(conversion.problems)
    names, domains = set(builder._names), dict(builder.domains)
    values, depths = dict(conversion.values), dict(conversion.depth_of)
    position = len(builder.blocks[-1])
    reason = ""
    try:
        result = _written_loop(conversion, node, trips, condition, initial)
        if len(conversion.problems) == before:
            return result
        reason = conversion.problems[before].reason
    except SymbolicValueError as error:
        reason = str(error)
    constant = isinstance(trips, int) and condition is True and _condition_stays(conversion, node)
    size = trips * sum(1 for _ in node.blocks()[0].all_nodes()) if constant else 0
    if not constant or size > _MAX_UNROLLED:
        if len(conversion.problems) > before:
            return UNAVAILABLE
        raise SymbolicValueError(reason)
    del conversion.problems[before:], builder.blocks[-1][position:]
    builder._names, builder.domains = names | set(builder.initializers), domains
    conversion.values, conversion.depth_of = values, depths
    return _unrolled(conversion, node, trips, initial)


def _unavailable_loop(conversion: Conversion, node: Node) -> Any:
    block = node.blocks()[0]
    for value in block.inputs():
        conversion.bind(value, UNAVAILABLE)
    with conversion.builder.block():
        conversion.convert_block(block)
    return UNAVAILABLE


def _condition_stays(conversion: Conversion, node: Node) -> bool:
    returned = node.blocks()[0].outputs()[0]
    return number(conversion.values.get(returned.unique())) is True


def _unrolled(conversion: Conversion, node: Node, trips: int, initial: list[Any]) -> Any:
    block, carried = node.blocks()[0], initial
    sources = node.inputs()[2:]
    for step in range(trips):
        for parameter, value in zip(block.inputs(), [step, *carried], strict=True):
            conversion.bind(parameter, value)
        for source, parameter in zip(sources, block.inputs()[1:], strict=True):
            conversion.aliases.same(source, parameter)
        conversion.convert_block(block)
        sources = block.outputs()[1:]
        carried = [conversion.get(value) for value in sources]
    for source, output in zip(sources, node.outputs(), strict=True):
        conversion.aliases.same(source, output)
    return _several(carried)


def _appended_lists(node: Node) -> list[IRValue]:
    """Returns the outer lists that a loop appends to."""
    inside = {
        value.unique()
        for inner in node.findAllNodes("prim::ListConstruct")
        for value in inner.outputs()
    }
    lists: dict[int, IRValue] = {}
    for call in node.findAllNodes("aten::append"):
        target = call.input(0)
        if target.unique() not in inside:
            lists[target.unique()] = target
    return list(lists.values())


def _written_loop(
    conversion: Conversion, node: Node, trips: Any, condition: Any, initial: list[Any]
) -> Any:
    builder, block = conversion.builder, node.blocks()[0]
    lists = _appended_lists(node)
    outer_lists = [conversion.get(value) for value in lists]
    kinds = [_NUMBERS.get(str(output.type())) for output in node.outputs()]
    start: list[Value] = []
    for item, kind in zip(initial, kinds, strict=True):
        if item is UNINITIALIZED:
            item = 0
        if not isinstance(item, (Value, bool, int, float)):
            raise SymbolicValueError("a Loop of ONNX carries tensors and numbers only")
        start.append(builder.value(item, kind))
    _check_writes(conversion, node)
    sequences = [_sequence(conversion, items, None) for items in outer_lists]
    shapes: list[Shape | None] = [value.shape for value in start]
    open_: set[str] = set()  # sizes that change from one iteration to the next
    for _ in range(4):
        mark = len(conversion.problems)
        attempt = _body(conversion, block, start, shapes, kinds, lists, sequences)
        nodes, parameters, proceed, results, longer = attempt
        if len(conversion.problems) > mark or any(x is UNAVAILABLE for x in (proceed, *results)):
            return UNAVAILABLE
        wider = [_widened(builder, a, b.shape, open_) for a, b in zip(shapes, results, strict=True)]
        kinds_match = all(
            a.dtype in (b.dtype, None) for a, b in zip(sequences, longer, strict=True)
        )
        if wider == shapes and kinds_match:
            break
        shapes = wider
        sequences = [
            _sequence(conversion, items, b.dtype)
            for items, b in zip(outer_lists, longer, strict=True)
        ]
    else:
        raise SymbolicValueError("the sizes of the carried tensors do not settle")
    for a, b in zip(start, results, strict=True):
        if a.dtype != b.dtype:
            raise SymbolicValueError(f"the loop carries a {a.dtype}, which becomes a {b.dtype}")
    builder.blocks.append(nodes)
    returned = [_own(conversion, x, x.dtype) for x in (proceed, *results, *longer)]
    builder.blocks.pop()
    body = _graph(builder.unique("body"), nodes, parameters, returned)
    outputs = []
    elements = [_element_shape(conversion, *pair) for pair in zip(outer_lists, longer, strict=True)]
    for value, shape in zip((*results, *longer), (*shapes, *elements), strict=True):
        output = Value(builder, builder.unique("loop_output"), value.dtype, shape)
        output.is_sequence, output.is_number = value.is_sequence, value.is_number
        outputs.append(output)
    count = builder.value(_MAX_STEPS if trips == (1 << 63) - 1 else trips)
    operands = [count, builder.value(condition), *start, *sequences]
    builder.control("Loop", operands, {"body": body}, outputs)
    for value, output in zip(lists, outputs[len(results) :], strict=True):
        conversion.values[value.unique()] = output
    return _several(list(outputs[: len(results)]))


def _element_shape(conversion: Conversion, items: Any, grown: Value) -> Shape | None:
    """Returns the common shape of a list's tensors, from before the loop and appended by it."""
    sizes = [grown.shape, *((item.shape for item in items) if isinstance(items, list) else ())]
    shape = sizes[0]
    for other in sizes[1:]:
        shape = _merged(conversion, shape, other)
    if shape is None:
        return None
    return tuple(s if isinstance(s, int) else conversion.builder.unknown_size() for s in shape)


def _check_writes(conversion: Conversion, node: Node) -> None:
    """Checks writes to block parameters: such a write changes the carried tensor itself."""
    parameters = [value.unique() for value in node.blocks()[0].inputs()]
    for inner in node.blocks()[0].all_nodes():
        schema = parse_schema(str(inner.schema())) if inner.schema() else None
        if schema is None or schema.written is None:
            continue
        written = inner.input(schema.written).unique()
        if written in parameters:
            source = node.inputs()[parameters.index(written) + 1]
            if len(source.uses()) > 1 or conversion.aliases.is_weight(source.unique()):
                raise SymbolicValueError(
                    f"the loop writes in place to %{source.debugName()}, which the model also reads elsewhere or "
                    "keeps; write `x = x + 1` for `x += 1`"
                )


def _sequence(conversion: Conversion, items: Any, kind: Any) -> Value:
    builder = conversion.builder
    if isinstance(items, Value):
        return items
    if not isinstance(items, list) or not all(isinstance(item, Value) for item in items):
        raise SymbolicValueError("a loop appends to a list of something else than tensors")
    if items:
        sequence: Value = builder.op("SequenceConstruct", *items)
        sequence.shape = items[0].shape if len(items) == 1 else None
    else:
        sequence = builder.op("SequenceEmpty", dtype_i=onnx_dtype(kind or dtypes.float32))
        sequence.dtype = kind or dtypes.float32
    sequence.is_sequence = True
    return sequence


def _body(
    conversion: Conversion,
    block: Block,
    start: list[Value],
    shapes: list[Shape | None],
    kinds: list[Any],
    lists: list[IRValue],
    sequences: list[Value],
) -> tuple[list[Any], list[Value], Any, list[Any], list[Any]]:
    """Writes the body for carried Values of these shapes; returns nodes, parameters, condition, results, lists."""
    builder = conversion.builder
    step = Value(builder, builder.unique("step"), dtypes.int64, ())
    step.is_number = True
    proceed = Value(builder, builder.unique("proceed"), dtypes.bool_, ())
    carried = []
    for value, shape, kind in zip(start, shapes, kinds, strict=True):
        parameter = Value(builder, builder.unique("carried"), value.dtype, shape)
        parameter.is_number = kind is not None
        carried.append(parameter)
    grown = []
    for sequence in sequences:
        parameter = Value(builder, builder.unique("list"), sequence.dtype, None)
        parameter.is_sequence = True
        grown.append(parameter)
    before = {value.unique(): conversion.values[value.unique()] for value in lists}
    conversion.depth += 1
    try:
        with builder.block() as nodes:
            for parameter_value, value in zip(block.inputs(), [step, *carried], strict=True):
                conversion.values[parameter_value.unique()] = value
                conversion.depth_of[parameter_value.unique()] = conversion.depth
            for item, value in zip(lists, grown, strict=True):
                conversion.values[item.unique()] = value
            conversion.convert_block(block)
            returned = [conversion.get(value) for value in block.outputs()]
            longer = [conversion.get(value) for value in lists]
            results = [
                x if x is UNAVAILABLE else _number_value(conversion, x, kind)
                for x, kind in zip(returned, [dtypes.bool_, *kinds], strict=True)
            ]
    finally:
        conversion.depth -= 1
        conversion.values.update(before)
    return nodes, [step, proceed, *carried, *grown], results[0], results[1:], longer


def _number_value(conversion: Conversion, value: Any, kind: Any) -> Value:
    if not isinstance(value, (Value, bool, int, float)):
        raise SymbolicValueError("a Loop of ONNX carries tensors and numbers only")
    result = conversion.builder.value(value, kind)
    if kind is not None and result.dtype != kind:
        result = conversion.builder.cast(result, kind)
    return result
