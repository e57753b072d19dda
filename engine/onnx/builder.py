"""The builder of an ONNX graph: the `g` of symbolic functions.

Every node is typed when written, by ONNX's own shape inference. A node whose inputs are all constants is computed at
once by ONNX's reference implementation (`do_constant_folding`). Constants and weights are initialisers of the outermost
graph; blocks see them from inside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from engine import dtypes
from engine.dtypes import dtype, promote_types
from engine.onnx.errors import SymbolicValueError
from engine.onnx.values import Dim, Shape, Value
from engine.tensor import Tensor

Array = np.ndarray[Any, Any]

_DTYPES: dict[dtype, int] = {
    dtypes.float32: TensorProto.FLOAT,
    dtypes.float64: TensorProto.DOUBLE,
    dtypes.float16: TensorProto.FLOAT16,
    dtypes.bfloat16: TensorProto.BFLOAT16,
    dtypes.uint8: TensorProto.UINT8,
    dtypes.int8: TensorProto.INT8,
    dtypes.int16: TensorProto.INT16,
    dtypes.int32: TensorProto.INT32,
    dtypes.int64: TensorProto.INT64,
    dtypes.bool_: TensorProto.BOOL,
    dtypes.complex64: TensorProto.COMPLEX64,
    dtypes.complex128: TensorProto.COMPLEX128,
}
_ENGINE_DTYPES = {code: kind for kind, code in _DTYPES.items()}
_COMPARISONS = frozenset(("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"))
# Operators that are folded if all inputs are constants: those that rearrange weights and sizes.
_FOLDED = frozenset(
    [
        "Abs",
        "Add",
        "And",
        "Cast",
        "Ceil",
        "Concat",
        "Div",
        "Equal",
        "Exp",
        "Expand",
        "Floor",
        "Gather",
        "Greater",
        "GreaterOrEqual",
        "Identity",
        "Less",
        "LessOrEqual",
        "Log",
        "MatMul",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "Pow",
        "Range",
        "Reciprocal",
        "ReduceProd",
        "ReduceSum",
        "Reshape",
        "ScatterElements",
        "Shape",
        "Sign",
        "Slice",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Transpose",
        "Unsqueeze",
        "Where",
    ]
)
_SMALL = 64  # maximum elements of a constant whose value is passed to shape inference


def onnx_dtype(kind: dtype) -> int:
    """Returns the TensorProto.DataType of a dtype. Raises: SymbolicValueError for one that ONNX lacks."""
    if kind not in _DTYPES:
        raise SymbolicValueError(f"ONNX has no dtype {kind}")
    return _DTYPES[kind]


def array_of(tensor: Tensor) -> Array:
    """Returns the elements of a tensor as a NumPy array."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype == dtypes.bfloat16:
        return tensor.float().numpy().astype(helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16))
    return np.array(tensor.numpy())


class Origin(NamedTuple):
    """The IR node that ONNX nodes come from."""

    node_id: int
    kind: str
    text: str  # the node as the graph prints it, without types
    source: str  # "file:line:column", "" if there is none
    scope: str


class Builder:
    """Nodes, initialisers and Values of one model; `op` writes a node."""

    def __init__(self, opset: int, fold: bool) -> None:
        self.opset, self.fold = opset, fold
        self.blocks: list[list[NodeProto]] = [[]]
        self.initializers: dict[str, Value] = {}
        self.domains: dict[str, int] = {}
        self.origin: Origin | None = None
        self.result_dtype: dtype | None = None  # of the operator being written, if the IR has it
        self.result_ranks: list[int | None] = []
        self._names: set[str] = set()
        self._counters: dict[str, itertools.count[int]] = {}
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._unknown = itertools.count()

    # Names

    def unique(self, name: str) -> str:
        """Returns this name, with a number appended if it is in use."""
        if name in self._names:
            counter = self._counters.setdefault(name, itertools.count(1))
            stem = name
            while name in self._names:
                name = f"{stem}_{next(counter)}"
        self._names.add(name)
        return name

    def unknown_size(self) -> str:
        """Returns a new name for an unknown size."""
        return f"unknown_{next(self._unknown)}"

    # Constants

    def parameter(self, name: str, tensor: Tensor, exported: bool) -> Value:
        """Returns the initialiser of a weight; without its elements (`exported` False) it is an input."""
        shape = tuple(tensor.shape)
        value = Value(self, self.unique(name), tensor.dtype, shape)
        value.parameter = value.name
        value.array = array_of(tensor) if exported else None
        self.initializers[value.name] = value
        return value

    def constant(self, value: Any, kind: dtype | None = None) -> Value:
        """Creates a constant from a number, a list, an array or a Tensor, of this dtype if one is passed."""
        if isinstance(value, Tensor):
            array = array_of(value)
        elif isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
        else:
            array = _array_of_numbers(value)
        if kind is not None:
            array = array.astype(helper.tensor_dtype_to_np_dtype(onnx_dtype(kind)))
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self._folded(array, self.unique("constant"))
        return self._constants[key]

    def _folded(self, array: Array, name: str) -> Value:
        code = helper.np_dtype_to_tensor_dtype(array.dtype)
        if code not in _ENGINE_DTYPES:
            raise SymbolicValueError(f"a constant of NumPy's dtype {array.dtype}")
        value = Value(self, name, _ENGINE_DTYPES[code], tuple(array.shape), array)
        self.initializers[name] = value
        return value

    def value(self, operand: Any, like: dtype | None = None) -> Value:
        """Converts any operand to a Value; numbers become constants, of the dtype of `like` if it is passed."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, (list, tuple)) and any(isinstance(x, Value) for x in operand):
            return self.vector(operand)
        return self.constant(operand, like)

    def vector(self, items: Sequence[Any]) -> Value:
        """Returns a vector of ints, some of which are Values."""
        if not any(isinstance(item, Value) for item in items):
            return self.constant(np.array(items, dtype=np.int64))
        parts = [self.unsqueeze(self.cast(self.value(item), dtypes.int64), 0) for item in items]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis_i=0)

    # Nodes

    def op(self, name: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Writes a node; returns its output, or a tuple of outputs.

        name: of the default domain, or "domain::name". inputs: Values, None for an optional one, and numbers, lists and
        tensors, which become constants. attributes: with a suffix for their kind, as in PyTorch: `axis_i=1`.
        """
        domain, _, kind = name.rpartition("::")
        if kind == "Constant" and "value_t" in attributes:
            return self.constant(attributes["value_t"])
        operands = [None if x is None else self.value(x) for x in inputs]
        while operands and operands[-1] is None:
            operands.pop()
        node = self._node(domain, kind, operands, outputs, attributes)
        if domain in ("", "onnx") and self.fold and kind in _FOLDED:
            folded = self._fold(node, operands)
            if folded is not None:
                return folded[0] if outputs == 1 else tuple(folded)
        results = [Value(self, self.unique(output), None, None) for output in node.output]
        del node.output[:]
        node.output.extend(result.name for result in results)
        self._infer(node, operands, results)
        self._write(node)
        return results[0] if outputs == 1 else tuple(results)

    def _node(
        self, domain: str, kind: str, operands: list[Any], outputs: int, attributes: dict[str, Any]
    ) -> NodeProto:
        origin = self.origin
        module = origin.scope.rpartition("/")[2] if origin else ""
        path = module.removeprefix("__module").strip(".").replace(".", "/")
        title = self.unique(f"/{path}/{kind}" if path else f"/{kind}")
        names = [f"{title}_output_{i}" for i in range(outputs)]
        domain = "" if domain == "onnx" else domain
        if domain:
            self.domains.setdefault(domain, 1)
        node = helper.make_node(
            kind,
            [x.name if x is not None else "" for x in operands],
            names,
            name=title,
            domain=domain,
        )
        for key, value in attributes.items():
            node.attribute.append(_attribute(kind, key, value))
        if origin is not None:
            node.doc_string = f"{origin.text}  # {origin.source}" if origin.source else origin.text
            facts = {"ir_kind": origin.kind, "ir_node": origin.text, "source": origin.source}
            for key, text in (
                facts | {"scope": origin.scope, "ir_id": str(origin.node_id)}
            ).items():
                if text:
                    node.metadata_props.add(key=key, value=text)
        return node

    def _write(self, node: NodeProto) -> None:
        self.blocks[-1].append(node)

    def _fold(self, node: NodeProto, operands: list[Any]) -> list[Value] | None:
        if any(x is not None and x.array is None for x in operands):
            return None
        feeds = {x.name: x.array for x in operands if x is not None}
        declared = [_type_info(x) for x in {x.name: x for x in operands if x is not None}.values()]
        graph = helper.make_graph(
            [node], "fold", declared, [onnx.ValueInfoProto(name=n) for n in node.output]
        )
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        arrays = ReferenceEvaluator(model).run(None, feeds)
        weights = [x.parameter for x in operands if x is not None and x.parameter]
        if not weights:
            return [self.constant(np.asarray(array)) for array in arrays]
        values = []
        for array in arrays:
            stem = f"{weights[0]}.{node.op_type.lower()}"
            values.append(self._folded(np.asarray(array), self.unique(stem)))
            values[-1].parameter = values[-1].name
        return values

    def _infer(self, node: NodeProto, operands: list[Any], results: list[Value]) -> None:
        """Sets the types of the results by ONNX's inference, as far as possible."""
        known = [x for x in operands if x is not None]
        if node.domain or not onnx.defs.has(node.op_type, max_inclusive_version=self.opset):
            return
        schema = onnx.defs.get_schema(node.op_type, self.opset)
        if any(x.dtype is None for x in known):
            return
        small = {
            x.name: numpy_helper.from_array(np.asarray(x.array), x.name)
            for x in known
            if x.array is not None and x.array.size <= _SMALL
        }
        try:
            types = shape_inference.infer_node_outputs(
                schema,
                node,
                {x.name: type_proto(x) for x in known},
                small,
                opset_imports=[helper.make_opsetid("", self.opset)],
                ir_version=10,
            )
        except onnx.shape_inference.InferenceError as error:
            text = str(error).strip().split("\n")[0]
            raise SymbolicValueError(f"ONNX's {node.op_type} does not take these: {text}") from None
        for result in results:
            if result.name in types:
                self._take_type(result, types[result.name])

    def _take_type(self, value: Value, proto: Any) -> None:
        if proto.HasField("sequence_type"):
            value.is_sequence = True
            proto = proto.sequence_type.elem_type
        tensor = proto.tensor_type
        value.dtype = _ENGINE_DTYPES.get(tensor.elem_type)
        if value.is_sequence or not tensor.HasField("shape"):
            return
        value.shape = tuple(
            d.dim_value if d.HasField("dim_value") else d.dim_param or self.unknown_size()
            for d in tensor.shape.dim
        )

    # Blocks

    @contextmanager
    def block(self) -> Iterator[list[NodeProto]]:
        """Writes nodes to a new block inside the `with`."""
        nodes: list[NodeProto] = []
        self.blocks.append(nodes)
        try:
            yield nodes
        finally:
            self.blocks.pop()

    def control(
        self,
        kind: str,
        inputs: Sequence[Any],
        blocks: dict[str, onnx.GraphProto],
        outputs: list[Value],
    ) -> None:
        """Writes an If or Loop, whose outputs are typed already."""
        node = self._node("", kind, list(inputs), len(outputs), {})
        del node.output[:]
        node.output.extend(value.name for value in outputs)
        for name, graph in blocks.items():
            node.attribute.append(helper.make_attribute(name, graph))
        self._write(node)

    # Helpers for symbolic functions

    def require(self, opset: int, operator: str) -> None:
        """Raises SymbolicValueError when the opset is older than one with this operator."""
        if self.opset < opset:
            raise SymbolicValueError(
                f"ONNX has {operator} since opset {opset}, and opset_version is {self.opset}"
            )

    def cast(self, value: Any, kind: dtype | None) -> Value:
        """Casts the operand to this dtype, if necessary."""
        operand = self.value(value, kind)
        if kind is None or operand.dtype == kind:
            return operand
        if operand.array is not None and not operand.parameter:
            return self.constant(operand.array, kind)
        converted: Value = self.op("Cast", operand, to_i=onnx_dtype(kind))
        converted.is_number, converted.size = operand.is_number, operand.size
        return converted

    def arithmetic(self, operator: str, left: Any, right: Any) -> Value:
        """Returns an elementwise operator of two operands, promoted as the engine promotes them."""
        kind = self.promoted(left, right)
        result: Value = self.op(operator, self.cast(left, kind), self.cast(right, kind))
        if operator in _COMPARISONS:
            result.dtype = dtypes.bool_
        return result

    def promoted(self, *operands: Any) -> dtype:
        """Returns the dtype of a result, by tensors with dimensions, then those without, then numbers."""
        ranked: list[dtype | None] = [None, None, None]
        for operand in operands:
            kind, level = _level(operand)
            before = ranked[level]
            ranked[level] = kind if before is None else promote_types(before, kind)
        result = ranked[0]
        for other in ranked[1:]:
            if other is None:
                continue
            if result is None:
                result = other
            elif _category(other) > _category(result):
                default = other is dtypes.float64 and _category(other) == 2
                result = promote_types(result, dtypes.get_default_dtype() if default else other)
        if result is None:
            raise SymbolicValueError("a result without a dtype")
        return result

    def unsqueeze(self, value: Value, *axes: int) -> Value:
        """Inserts axes of size one."""
        result: Value = self.op("Unsqueeze", value, list(axes))
        return result

    def squeeze(self, value: Value, *axes: int) -> Value:
        """Removes these axes."""
        result: Value = self.op("Squeeze", value, list(axes))
        return result

    def transpose(self, value: Value, *order: int) -> Value:
        """Permutes the axes."""
        result: Value = self.op("Transpose", value, perm_i=list(order))
        return result

    def reduce(self, operator: str, value: Value, axes: Sequence[int] | None, keep: bool) -> Value:
        """Writes a Reduce operator, whose axes are an attribute in old opsets and an input in newer ones."""
        listed = None if axes is None else list(axes)
        options: dict[str, Any] = {"keepdims_i": int(keep)}
        if self.opset >= 18 or operator == "ReduceSum":
            result: Value = self.op(operator, value, listed, **options)
        else:
            if listed is not None:
                options["axes_i"] = listed
            result = self.op(operator, value, **options)
        return result

    def slice(self, value: Value, axis: int, start: Any, end: Any, step: Any = 1) -> Value:
        """Returns the slice of one axis."""
        bounds = [self.vector([bound]) for bound in (start, end)]
        result: Value = self.op("Slice", value, *bounds, [axis], [step])
        return result

    def split(self, value: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
        """Returns the parts of these sizes along an axis."""
        if len(sizes) == 1:
            return [value]
        return list(self.op("Split", value, list(sizes), outputs=len(sizes), axis_i=axis))

    def shape_of(self, value: Value) -> Value:
        """Returns the sizes as a vector."""
        result: Value = self.op("Shape", value)
        return result

    def size_of(self, value: Value, axis: int) -> Any:
        """Returns one size: an int if it is known, else a Value of a number."""
        rank = self.rank_of(value)
        axis = axis + rank if axis < 0 else axis
        assert value.shape is not None
        size = value.shape[axis]
        if isinstance(size, int):
            return size
        number = self.op("Gather", self.shape_of(value), self.constant(np.array(axis)), axis_i=0)
        number.is_number, number.size = True, size
        return number

    def sizes_of(self, value: Value) -> list[Any]:
        """Returns all sizes, known ones as ints."""
        return [self.size_of(value, axis) for axis in range(self.rank_of(value))]

    def known_size(self, value: Value, axis: int, purpose: str) -> int:
        """Returns a size that must be static. Raises: SymbolicValueError if its axis is dynamic."""
        size = self.size_of(value, axis)
        if not isinstance(size, int):
            raise SymbolicValueError(
                f"{purpose} needs size {axis} of {value}, whose axis is dynamic"
            )
        return size

    def rank_of(self, value: Value) -> int:
        """Returns the number of dimensions. Raises: SymbolicValueError if it is unknown."""
        if value.shape is None:
            raise SymbolicValueError(f"the number of dimensions of {value.name} is not known")
        return len(value.shape)

    def axis(self, value: Value, dim: int) -> int:
        """Converts a negative axis."""
        rank = self.rank_of(value)
        return dim + rank if dim < 0 else dim

    def reshape(self, value: Value, sizes: Sequence[Any]) -> Value:
        """Reshapes to these sizes: ints, numbers as Values, and at most one -1."""
        dims: list[Dim | None] = [
            (size.size if isinstance(size, Value) else size) for size in sizes
        ]
        dims = _without_minus_one(dims, value.shape)
        listed = [i for i, dim in enumerate(dims) if not isinstance(dim, int) or dim == -1]
        target: list[Any] = list(sizes)
        if len(listed) <= 1:
            target = [dim if isinstance(dim, int) else -1 for dim in dims]
        # 0 would copy a size in ONNX; allowzero reads it as the engine does
        options = {"allowzero_i": 1} if self.opset >= 14 and 0 in target else {}
        result: Value = self.op("Reshape", value, self.vector(target), **options)
        if result.array is None:
            inferred = result.shape or (None,) * len(dims)
            result.shape = tuple(
                dim
                if dim not in (None, -1)
                else (known if known is not None else self.unknown_size())
                for dim, known in zip(dims, inferred, strict=True)
            )
        return result


def _without_minus_one(dims: list[Dim | None], shape: Shape | None) -> list[Dim | None]:
    """Replaces -1 by its size if the names of the other sizes cancel."""
    if dims.count(-1) != 1 or shape is None:
        return dims
    source, target = list(shape), [dim for dim in dims if dim != -1]
    for dim in [dim for dim in target if isinstance(dim, str)]:
        if dim in source:
            source.remove(dim)
            target.remove(dim)
    if None in target or any(isinstance(dim, str) for dim in target):
        return dims
    names = [dim for dim in source if isinstance(dim, str)]
    total = int(np.prod([dim for dim in source if isinstance(dim, int)], dtype=np.int64))
    parts = int(np.prod([dim for dim in target if isinstance(dim, int)], dtype=np.int64))
    if names and (len(names) > 1 or total != parts):
        return dims
    if not names and (parts == 0 or total % parts):
        return dims
    size: Dim = names[0] if names else total // parts
    return [size if dim == -1 else dim for dim in dims]


def _array_of_numbers(value: Any) -> Array:
    if isinstance(value, bool):
        return np.array(value)
    if isinstance(value, float):
        return np.array(value, dtype=np.float32)
    if isinstance(value, int):
        return np.array(value, dtype=np.int64)
    if isinstance(value, (list, tuple)):
        if not value or all(isinstance(x, int) and not isinstance(x, bool) for x in value):
            return np.array(value, dtype=np.int64)
        if all(isinstance(x, bool) for x in value):
            return np.array(value)
        if all(isinstance(x, (int, float)) for x in value):
            return np.array(value, dtype=np.float32)
    raise SymbolicValueError(f"a {type(value).__name__} cannot be an operand: {value!r:.60}")


def _level(operand: Any) -> tuple[dtype, int]:
    """Returns the dtype of an operand, and its priority in promotion: 0 for a tensor with dimensions, 2 for a
    number."""
    if isinstance(operand, Value):
        if operand.dtype is None:
            raise SymbolicValueError(f"the dtype of {operand.name} is not known")
        if operand.is_number:
            return operand.dtype, 2
        return operand.dtype, 1 if operand.shape == () else 0
    if isinstance(operand, bool):
        return dtypes.bool_, 2
    return (dtypes.int64 if isinstance(operand, int) else dtypes.float64), 2


def _category(kind: dtype) -> int:
    if kind is dtypes.bool_:
        return 0
    if kind.is_complex:
        return 3
    return 2 if kind.is_floating_point else 1


_LETTERS: dict[str, Any] = {"i": int, "f": float, "s": str}


def _attribute(kind: str, key: str, value: Any) -> onnx.AttributeProto:
    name, _, letter = key.rpartition("_")
    if not name or letter not in ("i", "f", "s", "t"):
        raise ValueError(
            f"Invalid attribute specifier '{key}' names must be suffixed with type, e.g. 'dim_i' or 'dims_i'"
        )
    if letter == "t":
        array = array_of(value) if isinstance(value, Tensor) else np.asarray(value)
        return helper.make_attribute(name, numpy_helper.from_array(array))
    convert = _LETTERS[letter]
    try:
        if isinstance(value, (list, tuple)):
            kinds = {"i": onnx.AttributeProto.INTS, "f": onnx.AttributeProto.FLOATS}
            converted = [convert(item) for item in value]
            return helper.make_attribute(
                name, converted, attr_type=kinds.get(letter, onnx.AttributeProto.STRINGS)
            )
        return helper.make_attribute(name, convert(value))
    except (TypeError, ValueError):
        raise SymbolicValueError(
            f"the attribute {name} of {kind} is not constant: {value!r:.60}"
        ) from None


def type_proto(value: Value) -> onnx.TypeProto:
    """Returns the type of a Value as a TypeProto."""
    assert value.dtype is not None
    if value.is_sequence:
        return helper.make_sequence_type_proto(
            helper.make_tensor_type_proto(onnx_dtype(value.dtype), None)
        )
    return helper.make_tensor_type_proto(onnx_dtype(value.dtype), value.shape)


def _type_info(value: Value) -> onnx.ValueInfoProto:
    return helper.make_value_info(value.name, type_proto(value))
