"""`x.name`: of Tensors, named tuples, modules, Python modules and classes."""

from __future__ import annotations

import ast
import inspect
from enum import Enum
from typing import Any

from engine.jit.frontend import hints
from engine.jit.frontend.arguments import Arguments
from engine.jit.frontend.calls import call_compiled
from engine.jit.frontend.dispatch import compiles, expression
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.operators import PROPERTIES, takes_self
from engine.jit.frontend.sugared_values import (
    MethodValue,
    ModuleMethod,
    ModuleValue,
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
    Super,
    class_of_value,
)
from engine.jit.types.jit_type import Type
from engine.tensor import Tensor

_METHODS = {
    "List": "append clear copy count extend index insert pop remove reverse sort",
    "Dict": "clear copy get items keys pop popitem setdefault update values",
    "str": (
        "capitalize center count endswith expandtabs find format index isalnum isalpha isdecimal "
        "isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower "
        "lstrip partition replace rfind rindex rjust rpartition rsplit rstrip split splitlines "
        "startswith strip swapcase title upper zfill"
    ),
}
# Attributes that are Python objects or belong to autograd: no operator reads them.
_OUTSIDE = dict.fromkeys(
    (
        *("numpy", "tolist", "register_hook", "data_ptr", "grad_fn", "_version", "output_nr"),
        *("retain_grad", "retains_grad", "is_inference", "is_set_to"),
    ),
    "call it outside, on what is returned",
)
METHODS = {kind: frozenset(names.split()) for kind, names in _METHODS.items()}


@compiles(ast.Attribute)
def _attribute(c: Context, tree: ast.Attribute, hint: Type | None) -> SugaredValue:
    return attribute_of(c, tree, expression(c, tree.value))


def attribute_of(c: Context, tree: ast.Attribute, owner: SugaredValue) -> SugaredValue:
    """Compiles `owner.name` for an owner that is compiled already."""
    if isinstance(owner, PythonValue) and isinstance(owner.object, Enum) and not c.inside_engine:
        owner = c.as_value(tree.value, owner)
    if isinstance(owner, PythonValue):
        return PythonValue(known_attribute(c, tree, owner.object), True)
    if isinstance(owner, ModuleValue):
        return owner.concrete_type.attribute(c, tree, owner, tree.attr)
    if isinstance(owner, Super):
        return _of_parent(c, tree, owner)
    if isinstance(owner, SugaredTupleValue):
        owner = c.as_value(tree.value, owner)
    if not isinstance(owner, SimpleValue):
        raise c.fail(tree, f"object has no attribute {tree.attr}")
    return value_attribute(c, tree, owner, tree.attr)


def _of_parent(c: Context, tree: ast.Attribute, owner: Super) -> SugaredValue:
    """Compiles `super().name`: the method of the next class in the MRO that defines it."""
    classes = type(owner.owner.concrete_type.module).__mro__
    for kind in classes[classes.index(owner.of) + 1 :]:
        member = vars(kind).get(tree.attr)
        if inspect.isfunction(member):
            return ModuleMethod(tree.attr, owner.owner, kind)
        if isinstance(member, staticmethod):
            return PythonValue(member.__func__)
    raise c.fail(tree, f"'super' object has no method '{tree.attr}'")


def known_attribute(c: Context, tree: ast.Attribute, owner: Any) -> Any:
    """Reads an attribute of a Python object that exists only in the compiler."""
    try:
        return getattr(owner, tree.attr)
    except AttributeError:
        name = getattr(owner, "__name__", "object")
        hint = hints.close(tree.attr, dir(owner))
        raise c.fail(tree, f"{name} object has no attribute {tree.attr}", hint) from None


def value_attribute(c: Context, tree: ast.AST, owner: SimpleValue, name: str) -> SugaredValue:
    """Reads an attribute of a value of the graph."""
    kind = owner.type.kind
    if kind == "Tensor" and name in _OUTSIDE:
        not_supported(c.source, tree, f"Tensor.{name} isn't supported", _OUTSIDE[name])
    if kind == "Tensor":
        if name in PROPERTIES:
            return c.builder.call(tree, PROPERTIES[name], [owner])
        attribute = getattr(Tensor, name, None)
        if isinstance(attribute, property) and not name.startswith("_"):
            return call_compiled(c, tree, attribute.fget, Arguments(c, [owner], {}))
        if (hasattr(Tensor, name) or takes_self(name)) and not name.startswith("__"):
            return MethodValue(name, owner)
    elif kind == "Tuple" and name in owner.type.fields:
        index = owner.type.fields.index(name)
        position = c.builder.constant(tree, index)
        inner = owner.type.inner[index]
        return c.builder.prim(tree, "prim::TupleIndex", [owner, position], inner)
    elif kind == "class" and (script_class := class_of_value(owner)) is not None:
        return script_class.attribute(c, tree, owner, name)
    elif kind == "Enum" and name in ("name", "value"):
        attribute = c.builder.call(tree, f"prim::Enum{name.capitalize()}", [owner])
        if name == "value":
            c.builder.retype(attribute, owner.type.element)
        return attribute
    elif name in METHODS.get(kind, ()):
        return MethodValue(name, owner)
    elif kind == "Device" and name in ("type", "index"):
        return c.builder.call(tree, f"prim::{name}", [owner])
    hint = ""
    if kind == "Enum":
        hint = "Hint: a member has .name and .value"
    elif kind in ("Union", "Any"):
        hint = "Hint: check the type first: if isinstance(x, int): ..."
    elif kind == "Optional":
        hint = hints.of_optional(getattr(tree, "value", tree))
    elif kind == "Tensor" and name.startswith("__"):
        hint = "Hint: use the operator"
    elif kind == "Tensor":
        hint = hints.close(name, dir(Tensor))
    elif kind in METHODS:
        hint = hints.close(name, METHODS[kind])
    raise c.fail(tree, f"'{owner.type}' object has no attribute or method '{name}'.", hint)
