"""The nodes of the IR that are not operators: constants, containers, attributes."""

from __future__ import annotations

from typing import Any

from engine.dtypes import device
from engine.jit.ir.graph import Node
from engine.jit.types.ivalues import ObjectBox
from engine.onnx.conversion import (
    UNAVAILABLE,
    UNINITIALIZED,
    Conversion,
    ModuleObject,
    handles,
)
from engine.onnx.errors import SymbolicValueError
from engine.onnx.values import Value
from engine.tensor import Tensor


@handles("prim::Constant")
def constant(conversion: Conversion, node: Node) -> Any:
    """Returns a constant of the graph; a tensor becomes an initialiser."""
    value = node.output().toIValue() if node.hasAttributes() else None
    name = node.output().debugName()
    if not isinstance(value, Tensor):
        return value
    if value.numel() > 1 and name.startswith("self."):  # of a frozen module
        return conversion.parameter(value, name.removeprefix("self."))
    number = conversion.builder.constant(value)
    return number


@handles("prim::ListConstruct")
def list_construct(conversion: Conversion, node: Node) -> Any:
    """Returns a list."""
    return [conversion.get(value) for value in node.inputs()]


@handles("prim::TupleConstruct")
def tuple_construct(conversion: Conversion, node: Node) -> Any:
    """Returns a tuple."""
    return tuple(conversion.get(value) for value in node.inputs())


@handles("prim::DictConstruct")
def dict_construct(conversion: Conversion, node: Node) -> Any:
    """Returns a dictionary, whose keys are constants."""
    items = [conversion.get(value) for value in node.inputs()]
    return dict(zip(items[::2], items[1::2], strict=True))


@handles("prim::ListUnpack", "prim::TupleUnpack")
def unpack(conversion: Conversion, node: Node) -> Any:
    """Returns the elements of a list or tuple."""
    items = conversion.get(node.input())
    outputs = node.outputs()
    if items is UNAVAILABLE:
        return UNAVAILABLE
    if not isinstance(items, (list, tuple)) or len(items) != len(outputs):
        raise SymbolicValueError("the length of the list is not constant")
    for output in outputs:
        conversion.aliases.pass_on(node.input(), output)
    return items[0] if len(outputs) == 1 else items


@handles("prim::TupleIndex")
def tuple_index(conversion: Conversion, node: Node) -> Any:
    """Returns an element of a tuple."""
    items, index = (conversion.get(value) for value in node.inputs())
    return UNAVAILABLE if items is UNAVAILABLE else items[index]


@handles("prim::GetAttr")
def get_attribute(conversion: Conversion, node: Node) -> Any:
    """Returns an attribute of a module: a submodule, a weight under its name, or a constant."""
    module = conversion.get(node.input())
    name = str(node.attribute("name"))
    if not isinstance(module, ModuleObject):
        raise SymbolicValueError(f"reads the attribute '{name}' of an object that is not a module")
    value = module.box.get(name)
    path = f"{module.path}.{name}" if module.path else name
    if isinstance(value, Tensor):
        return conversion.parameter(value, path)
    if isinstance(value, list) and value and isinstance(value[0], Tensor):
        return [conversion.parameter(item, f"{path}.{i}") for i, item in enumerate(value)]
    box = value if isinstance(value, ObjectBox) else getattr(value, "_script_object", None)
    return ModuleObject(box, path) if isinstance(box, ObjectBox) else value


@handles("prim::SetAttr")
def set_attribute(conversion: Conversion, node: Node) -> Any:
    """Rejects it: an ONNX model has no state."""
    raise SymbolicValueError(
        f"sets the attribute '{node.attribute('name')}', and a model of ONNX has no state between calls"
    )


@handles("prim::Uninitialized")
def uninitialized(conversion: Conversion, node: Node) -> Any:
    """Returns the placeholder for a variable on a path that never reads it."""
    return UNINITIALIZED


@handles("prim::RaiseException")
def raise_exception(conversion: Conversion, node: Node) -> Any:
    """Rejects it if it is always reached; `If` leaves out a branch that raises."""
    raise SymbolicValueError("the model always raises this exception")


@handles("prim::Print")
def print_values(conversion: Conversion, node: Node) -> Any:
    """Leaves it out: an ONNX model cannot print."""
    return ()


@handles(
    "prim::unchecked_cast",
    "aten::_unwrap_optional",
    "prim::unchecked_unwrap_optional",
    "prim::data",
)
def same(conversion: Conversion, node: Node) -> Any:
    """Returns the operand with another type."""
    conversion.aliases.pass_on(node.input(0), node.output())
    return conversion.get(node.input(0))


@handles("prim::device")
def device_of(conversion: Conversion, node: Node) -> Any:
    """Returns the device of a tensor, which ONNX does not have."""
    return device("cpu")


@handles("prim::dtype")
def dtype_of(conversion: Conversion, node: Node) -> Any:
    """Returns the dtype of a tensor."""
    value = conversion.get(node.input())
    return value.dtype if isinstance(value, Value) else UNAVAILABLE


@handles("aten::append")
def append(conversion: Conversion, node: Node) -> Any:
    """Appends to a list: one of the graph, or a sequence of ONNX."""
    items, item = (conversion.get(value) for value in node.inputs())
    if isinstance(items, list):
        items.append(item)
        return items
    if isinstance(items, Value) and items.is_sequence:
        value = conversion.builder.value(item)
        longer = conversion.builder.op("SequenceInsert", items, value)
        longer.dtype, longer.shape = value.dtype, value.shape
        conversion.values[node.input(0).unique()] = longer
        return longer
    return UNAVAILABLE
