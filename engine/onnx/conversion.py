"""Conversion of a graph of the compiler to ONNX nodes, one IR node after the other.

A Value of the IR has a counterpart: a Value of the builder if it is computed at run time, and a plain Python object if
it is constant (numbers, lists, modules), so that constant branches are resolved here. Nodes that cannot be written are
collected, with their source lines, and raised in one error at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine import ops
from engine._native.namespace import namespace
from engine.function_schema import FunctionSchema, parse_schema
from engine.jit.ir.graph import Block, Graph, Node
from engine.jit.ir.graph import Value as IRValue
from engine.jit.types.ivalues import ObjectBox
from engine.numpy_bridge import from_numpy
from engine.onnx import registry
from engine.onnx.aliases import Aliases
from engine.onnx.builder import Builder, Origin
from engine.onnx.errors import OnnxExporterError, SymbolicValueError, UnsupportedOperatorError
from engine.onnx.values import Value
from engine.tensor import Tensor


class Unavailable:
    """The counterpart of a Value that could not be written, and of all Values computed from it."""


UNAVAILABLE = Unavailable()


class Uninitialized:
    """The counterpart of prim::Uninitialized: never read, any value will do."""


UNINITIALIZED = Uninitialized()


class ModuleObject(NamedTuple):
    """A module whose attributes the graph reads."""

    box: ObjectBox
    path: str  # "" of the model, "encoder.linear" of a submodule


class Problem(NamedTuple):
    """One node that has no ONNX form."""

    kind: str
    source: str
    reason: str  # "" for an operator that is not in the table


# Other names of operands: of numbers, writes in place and aliases.
_OPERANDS = {
    "a": "self",
    "b": "other",
    "t": "data",
    "self": "input",
    "axis0": "dim0",
    "axis1": "dim1",
}
Handler = Callable[["Conversion", Node], Any]
_handlers: dict[str, Handler] = {}


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Registers a function that writes these kinds of nodes and returns the outputs' counterparts."""

    def register(function: Handler) -> Handler:
        _handlers.update(dict.fromkeys(kinds, function))
        return function

    return register


class Conversion:
    """The state of one graph's conversion."""

    def __init__(
        self,
        graph: Graph,
        builder: Builder,
        functions: Mapping[str, Any],
        export_params: bool,
        static: bool,
    ) -> None:
        self.graph, self.builder, self.functions = graph, builder, functions
        self.export_params = export_params
        self.static = static  # the sizes in the IR's types are valid for every input
        self.values: dict[int, Any] = {}
        self.problems: list[Problem] = []
        self.parameters: dict[int, Value] = {}  # by the handle of the tensor
        self.aliases = Aliases(self)
        self.depth = 0
        self.depth_of: dict[int, int] = {}

    # Values

    def get(self, value: IRValue) -> Any:
        """Returns the counterpart of a Value of the IR."""
        return self.values[value.unique()]

    def bind(self, value: IRValue, counterpart: Any) -> None:
        """Sets the counterpart of a Value of the IR."""
        if isinstance(counterpart, Value):
            counterpart = self._typed(value, counterpart)
        self.values[value.unique()] = counterpart
        self.depth_of[value.unique()] = self.depth

    def _typed(self, value: IRValue, counterpart: Value) -> Value:
        """Returns the counterpart with dtype and sizes of the IR's type."""
        of = value.type()
        kind = of.dtype()
        if kind is not None and counterpart.dtype != kind and not counterpart.is_sequence:
            if counterpart.dtype is None:
                counterpart.dtype = kind
            else:
                counterpart = self.builder.cast(counterpart, kind)
        sizes = of.sizes() if self.static else None
        if sizes is not None and None not in sizes and counterpart.array is None:
            counterpart.shape = tuple(sizes)
        elif counterpart.shape is None and of.dim() is not None:
            counterpart.shape = tuple(self.builder.unknown_size() for _ in range(of.dim() or 0))
        return counterpart

    def parameter(self, tensor: Tensor, name: str) -> Value:
        """Returns the initialiser of a weight; a tied weight has its first name."""
        if tensor._h not in self.parameters:
            value = self.builder.parameter(name, tensor, self.export_params)
            self.parameters[tensor._h] = value
        return self.parameters[tensor._h]

    # Nodes

    def convert_block(self, block: Block) -> None:
        """Writes the nodes of a block."""
        for node in block.nodes():
            self.convert(node)

    def convert(self, node: Node) -> None:
        """Writes one node, or records a Problem."""
        builder = self.builder
        before = builder.origin, builder.result_dtype
        builder.origin = _origin(node)
        outputs = node.outputs()
        builder.result_dtype = outputs[0].type().dtype() if outputs else None
        try:
            handler = _handlers.get(node.kind())
            results = handler(self, node) if handler is not None else self._operator(node)
        except SymbolicValueError as error:
            self.problem(node, str(error))
            results = UNAVAILABLE
        if results is UNAVAILABLE or len(outputs) == 1:
            results = [results] * len(outputs)
        for output, result in zip(outputs, results or (), strict=bool(outputs)):
            self.bind(output, result)
        builder.origin, builder.result_dtype = before

    def problem(self, node: Node, reason: str) -> None:
        """Records that a node cannot be written."""
        problem = Problem(_title(node), node.sourceRange(), reason)
        if problem not in self.problems:
            self.problems.append(problem)

    def _operator(self, node: Node) -> Any:
        kind = node.kind()
        arguments = [self.get(value) for value in node.inputs()]
        schema = parse_schema(str(node.schema())) if node.schema() else None
        writes = schema is not None and schema.written is not None
        out_of_place = kind[:-1] if writes and kind.endswith("_") else kind
        overload = schema.overload_name if schema else ""
        entry = registry.find(kind, overload, self.builder.opset)
        if entry is None:
            entry = registry.find(out_of_place, overload, self.builder.opset)
        if kind in self.functions:
            return self._python_function(kind, arguments)
        if entry is None and schema is not None and _is_computable(kind, arguments):
            return self._computed(kind, schema, arguments)
        if entry is None or schema is None:
            self.problem(node, "")
            return UNAVAILABLE
        if any(map(_unavailable, arguments)):
            return UNAVAILABLE
        result = self._call(entry, schema, arguments)
        if writes:
            target = node.inputs()[schema.written or 0]
            return self.aliases.write(node, target, result)
        self.aliases.note(
            node, schema, lambda new: self._call(entry, schema, [new, *arguments[1:]])
        )
        return result

    def _call(self, entry: registry.Entry, schema: FunctionSchema, arguments: list[Any]) -> Any:
        if not entry.by_name:
            return entry.function(self.builder, *arguments)
        parameters = entry.parameters
        names = [
            argument.name
            if argument.name in parameters
            else _OPERANDS.get(argument.name, argument.name)
            for argument in schema.arguments
        ]
        unknown = [name for name in names if name not in parameters]
        if unknown and not entry.takes_options:
            raise SymbolicValueError(f"has no form with the argument {unknown[0]!r}")
        return entry.function(self.builder, **dict(zip(names, arguments, strict=True)))

    def _computed(self, kind: str, schema: FunctionSchema, arguments: list[Any]) -> Any:
        """Runs a library's operator on constants; the result is a constant of the model."""
        namespace, _, name = kind.partition("::")
        packet = getattr(getattr(ops, namespace), name)
        overload = getattr(packet, schema.overload_name or "default")
        values = [_tensor_of(argument) for argument in arguments]
        named = {a.name: v for a, v in zip(schema.arguments, values, strict=True) if a.keyword_only}
        plain = [v for a, v in zip(schema.arguments, values, strict=True) if not a.keyword_only]
        return self._as_constant(overload(*plain, **named))

    def _as_constant(self, result: Any) -> Any:
        if isinstance(result, (list, tuple)):
            return type(result)(map(self._as_constant, result))
        return self.builder.constant(result) if isinstance(result, Tensor) else result

    def _python_function(self, kind: str, arguments: list[Any]) -> Any:
        """Converts a call of an autograd Function that has a `symbolic`."""
        if any(map(_unavailable, arguments)):
            return UNAVAILABLE
        function, template = self.functions[kind]
        tensors = iter(arguments)
        operands = [next(tensors) if argument is TENSOR else argument for argument in template]
        return function.symbolic(self.builder, *operands)

    # The end

    def raise_problems(self) -> None:
        """Raises one error with all problems, unless there is none."""
        if not self.problems:
            return
        unknown = [problem for problem in self.problems if not problem.reason]
        lines = [
            f"  {p.kind}{f': {p.reason}' if p.reason else ''}{f'  ({p.source})' if p.source else ''}"
            for p in self.problems
        ]
        count = len(self.problems)
        title = f"onnx.export: {count} operation{'s' * (count > 1)} of the model cannot be written in ONNX"
        hint = ""
        if unknown:
            hint = (
                f"\nFor an operator without a form: {namespace()}.onnx.register_custom_op_symbolic, or a static method "
                "`symbolic` of an autograd Function"
            )
        error: type[OnnxExporterError] = UnsupportedOperatorError if unknown else SymbolicValueError
        raise error("\n".join([f"{title}:", *lines]) + hint)


TENSOR = object()  # in the arguments of a Function: the next tensor


def _unavailable(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_unavailable, value))
    return value is UNAVAILABLE


def _is_computable(kind: str, arguments: list[Any]) -> bool:
    """Returns True for an operator of a library whose arguments are all constants; weights are not."""
    constant = all(
        not isinstance(x, Value) or (x.array is not None and not x.parameter) for x in arguments
    )
    return (
        constant
        and not kind.startswith(("aten::", "prim::"))
        and not any(map(_unavailable, arguments))
    )


def _tensor_of(value: Any) -> Any:
    if not isinstance(value, Value):
        return value
    assert value.array is not None  # only constants are computed
    return from_numpy(value.array.copy())


def _title(node: Node) -> str:
    kind = node.kind()
    if node.schema() and parse_schema(str(node.schema())).overload_name:
        return f"{kind}.{parse_schema(str(node.schema())).overload_name}"
    return kind


def _origin(node: Node) -> Origin:
    outputs = ", ".join(f"%{value.debugName()}" for value in node.outputs())
    inputs = ", ".join(f"%{value.debugName()}" for value in node.inputs())
    text = f"{outputs} = {node.kind()}({inputs})" if outputs else f"{node.kind()}({inputs})"
    return Origin(node._id, node.kind(), text, node.sourceRange(), node.scopeName())
