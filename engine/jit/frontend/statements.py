"""Statements other than `if` and loops."""

from __future__ import annotations

import ast

from engine.jit.frontend import hints
from engine.jit.frontend.arguments import Arguments
from engine.jit.frontend.attributes import attribute_of
from engine.jit.frontend.calls import exception_of
from engine.jit.frontend.dispatch import compiles, expression, value
from engine.jit.frontend.environment import FALLS, THROWS, Context, Exit
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.exit_transforms import decided, exit_return
from engine.jit.frontend.expressions import METHODS, binary
from engine.jit.frontend.indexing import assign_item, delete_item, tensor_place
from engine.jit.frontend.refinement import condition
from engine.jit.frontend.sugared_values import (
    ModuleValue,
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
    class_of_value,
)
from engine.jit.types.jit_type import ANY, STR, TENSOR, Type, is_subtype, unify

_IN_PLACE = {
    ast.Add: "aten::add_",
    ast.Sub: "aten::sub_",
    ast.Mult: "aten::mul_",
    ast.Div: "aten::div_",
    ast.FloorDiv: "aten::floor_divide_",
    ast.Mod: "aten::remainder_",
    ast.Pow: "aten::pow_",
    ast.BitAnd: "aten::bitwise_and_",
    ast.BitOr: "aten::bitwise_or_",
    ast.BitXor: "aten::bitwise_xor_",
}


# Conversions of a one-element Tensor in a function that is declared to return a number.
_IMPLICIT = {
    "float": "aten::FloatImplicit",
    "int": "aten::IntImplicit",
    "complex": "aten::ComplexImplicit",
    "Scalar": "aten::ScalarImplicit",
}


@compiles(ast.Expr)
def _expression_statement(c: Context, tree: ast.Expr) -> Exit:
    if not (
        isinstance(tree.value, ast.Constant) and isinstance(tree.value.value, (str, type(...)))
    ):
        expression(c, tree.value)
    return FALLS


@compiles(ast.Pass)
def _pass(c: Context, tree: ast.Pass) -> Exit:
    return FALLS


# ---- assignments


@compiles(ast.Assign)
def _assign(c: Context, tree: ast.Assign) -> Exit:
    declared = c.comment_type(tree)
    hint = declared
    first = tree.targets[0]
    if hint is None and len(tree.targets) == 1 and _is_empty(tree.value):
        hint = target_type(c, first)
    sugared = expression(c, tree.value, hint)
    if len(tree.targets) > 1 or declared is not None:
        sugared = c.as_value(tree.value, sugared)
        if declared is not None:
            _check_declared(c, tree, declared, sugared)
    for target in tree.targets:
        assign_target(c, target, sugared, declared)
    return FALLS


def _is_empty(tree: ast.expr) -> bool:
    """Compiles `x: T = []` or `{}`, whose element type is the annotation's."""
    return not getattr(tree, "elts", True) or not getattr(tree, "keys", True)


@compiles(ast.AnnAssign)
def _annotated(c: Context, tree: ast.AnnAssign) -> Exit:
    if c.inside_engine and tree.value is not None:  # written for type checkers
        assign_target(c, tree.target, expression(c, tree.value))
        return FALLS
    declared = c.annotation(tree.annotation)
    if tree.value is None:
        not_supported(
            c.source, tree, "annotations without a value aren't supported", "assign a value here"
        )
    operand = value(c, tree.value, declared)
    _check_declared(c, tree, declared, operand)
    assign_target(c, tree.target, operand, declared)
    return FALLS


def _check_declared(c: Context, tree: ast.AST, declared: Type, operand: SimpleValue) -> None:
    if not is_subtype(operand.type, declared):
        c.fail(
            tree,
            f"Variable is annotated with type {declared} but is being assigned to a value of type "
            f"{operand.type}",
            hints.of_result(declared, operand.type).replace("-> ", ""),
        )


def target_type(c: Context, target: ast.expr) -> Type | None:
    """Returns the expected type of an assignment's right side, if the target has a type already."""
    if isinstance(target, ast.Name):
        outer = c.frame.find(target.id)
        return outer.type if outer is not None else None
    if isinstance(target, ast.Subscript):
        owner = target_type(c, target.value)
        if owner is not None and owner.kind in ("List", "Dict"):
            return owner.inner[-1]
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        variable = c.frame.find(target.value.id)
        if variable is not None and isinstance(variable.value, ModuleValue):
            return variable.value.concrete_type.attribute_type(target.attr)
        if variable is not None and isinstance(variable.value, SimpleValue):
            owner_class = class_of_value(variable.value)
            return owner_class.attributes.get(target.attr) if owner_class is not None else None
    return None


def assign_target(
    c: Context, target: ast.expr, sugared: SugaredValue, declared: Type | None = None
) -> None:
    """Compiles an assignment to `target`."""
    if isinstance(target, ast.Name):
        c.assign(target, target.id, sugared, declared)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(c, target, sugared)
    elif isinstance(target, ast.Subscript):
        assign_item(c, target, c.as_value(target, sugared))
    elif isinstance(target, ast.Attribute):
        _set_attribute(c, target, c.as_value(target, sugared), declared)
    else:
        not_supported(
            c.source, target, "Starred aren't supported", "name every element: a, b, c = x"
        )


def _unpack(c: Context, target: ast.Tuple | ast.List, sugared: SugaredValue) -> None:
    stars = [i for i, elt in enumerate(target.elts) if isinstance(elt, ast.Starred)]
    if stars:
        _unpack_starred(c, target, sugared, stars[0])
        return
    for elt, part in zip(target.elts, unpacked(c, target, sugared, len(target.elts)), strict=True):
        assign_target(c, elt, part)


def _unpack_starred(
    c: Context, target: ast.Tuple | ast.List, sugared: SugaredValue, star: int
) -> None:
    """Compiles `a, *b, c = t` for a tuple, whose length is static."""
    starred = target.elts[star]
    assert isinstance(starred, ast.Starred)
    known = sugared.items if isinstance(sugared, SugaredTupleValue) else None
    if known is None:
        operand = c.as_value(target, sugared)
        if operand.type.kind != "Tuple":
            not_supported(
                c.source,
                starred,
                f"Starred aren't supported for a value of type {operand.type}, whose length is not known",
                "take a slice: a, rest = x[0], x[1:]",
            )
        known = c.builder.node(target, "prim::TupleUnpack", [operand], operand.type.inner).outputs
    after_star = len(target.elts) - star - 1
    if len(known) < star + after_star:
        _check_count(c, target, len(known), star + after_star)
    end = len(known) - after_star
    for one_target, part in zip(target.elts[:star], known[:star], strict=True):
        assign_target(c, one_target, part)
    assign_target(c, starred.value, SugaredTupleValue(list(known[star:end])))
    for one_target, part in zip(target.elts[star + 1 :], known[end:], strict=True):
        assign_target(c, one_target, part)


def unpacked(c: Context, tree: ast.AST, sugared: SugaredValue, count: int) -> list[SugaredValue]:
    """Returns the `count` elements of a tuple or list."""
    if isinstance(sugared, ModuleValue):
        sugared = sugared.concrete_type.items_of(c, tree, sugared)
    if isinstance(sugared, PythonValue) and isinstance(sugared.object, (tuple, list)):
        sugared = SugaredTupleValue(
            [PythonValue(element, sugared.constant) for element in sugared.object]
        )
    if isinstance(sugared, SugaredTupleValue):
        _check_count(c, tree, len(sugared.items), count)
        return list(sugared.items)
    operand = c.as_value(tree, sugared)
    if operand.type.kind == "List":
        types = [operand.type.element] * count
        return [*c.builder.node(tree, "prim::ListUnpack", [operand], types).outputs]
    if operand.type == TENSOR:
        listed = c.builder.call(tree, "aten::unbind", [operand, c.builder.constant(tree, 0)])
        types = [TENSOR] * count
        return [*c.builder.node(tree, "prim::ListUnpack", [listed], types).outputs]
    if operand.type.kind != "Tuple":
        c.fail(tree, f"{operand.type} cannot be used as a tuple")
    _check_count(c, tree, len(operand.type.inner), count)
    return [*c.builder.node(tree, "prim::TupleUnpack", [operand], operand.type.inner).outputs]


def _check_count(c: Context, tree: ast.AST, actual: int, expected: int) -> None:
    if actual < expected:
        c.fail(tree, f"need {expected} values to unpack but found only {actual}")
    if actual > expected:
        c.fail(tree, f"too many values to unpack: need {expected} but found {actual}")


def _set_attribute(
    c: Context, target: ast.Attribute, source: SimpleValue, declared: Type | None = None
) -> None:
    _set_attribute_of(c, target, expression(c, target.value), source, declared)


def _set_attribute_of(
    c: Context,
    target: ast.Attribute,
    owner: SugaredValue,
    source: SimpleValue,
    declared: Type | None = None,
) -> None:
    if not isinstance(owner, ModuleValue):
        owner_value = c.as_value(target.value, owner)
        owner_class = class_of_value(owner_value)
        if owner_class is not None:
            owner_class.set_attribute(c, target, owner_value, source, declared)
            return
        c.fail(
            target, f"Tried to set an attribute: {target.attr} on a non-class: {owner_value.type}"
        )
        return
    owner.concrete_type.set_attribute(c, target, owner, source)


@compiles(ast.AugAssign)
def _augmented(c: Context, tree: ast.AugAssign) -> Exit:
    target = tree.target
    if isinstance(target, ast.Subscript):
        _augmented_item(c, tree, target)
        return FALLS
    if isinstance(target, ast.Attribute):
        _augmented_attribute(c, tree, target)
        return FALLS
    before = value(c, _loaded(target))
    operand = value(c, tree.value, before.type if before.type.kind == "List" else None)
    assign_target(c, target, _changed(c, tree, before, operand))
    return FALLS


def _loaded(target: ast.expr) -> ast.expr:
    """Returns an assignment's target as an expression that reads it."""
    name = target.id if isinstance(target, ast.Name) else ""
    return ast.copy_location(ast.Name(name, ast.Load()), target)


def _augmented_attribute(c: Context, tree: ast.AugAssign, target: ast.Attribute) -> None:
    """Compiles `f().x += 1`: the owner is evaluated once."""
    owner = expression(c, target.value)
    before = c.as_value(target, attribute_of(c, target, owner))
    operand = value(c, tree.value, before.type if before.type.kind == "List" else None)
    after = _changed(c, tree, before, operand)
    if before.type != TENSOR:
        _set_attribute_of(c, target, owner, after)


def _changed(
    c: Context, tree: ast.AugAssign, before: SimpleValue, operand: SimpleValue
) -> SimpleValue:
    """Compiles `target op= value`: in place for Tensors and lists."""
    name = _IN_PLACE.get(type(tree.op))
    owner_class, method = class_of_value(before), f"__i{METHODS[type(tree.op)]}__"
    if owner_class is not None and owner_class.has(method):
        return c.as_value(
            tree, owner_class.call(c, tree, before, method, Arguments(c, [operand], {}))
        )
    if before.type == TENSOR and name is not None:
        return c.builder.call(tree, name, [before, operand])
    if before.type.kind == "List" and isinstance(tree.op, (ast.Add, ast.Mult)) and name is not None:
        return c.builder.call(tree, name, [before, operand])
    return binary(c, tree, tree.op, before, operand)


def _augmented_item(c: Context, tree: ast.AugAssign, target: ast.Subscript) -> None:
    owner = value(c, target.value)
    builder = c.builder
    if owner.type == TENSOR:
        indexed_view = tensor_place(c, target, owner)
        before = indexed_view.read(c, target)
        operand = value(c, tree.value)
        after = _changed(c, tree, before, operand)
        if indexed_view.indices is not None:
            indexed_view.write(c, tree, after)
        return
    if owner.type.kind not in ("List", "Dict") or isinstance(target.slice, ast.Slice):
        c.fail(
            tree, f"augmented assignment to a part of a value of type {owner.type} is not supported"
        )
    key = value(c, target.slice)
    before = builder.call(tree, "aten::__getitem__", [owner, key])
    after = _changed(c, tree, before, value(c, tree.value))
    builder.call(tree, "aten::_set_item", [owner, key, after])


@compiles(ast.Delete)
def _delete(c: Context, tree: ast.Delete) -> Exit:
    for target in tree.targets:
        if isinstance(target, ast.Subscript):
            delete_item(c, target)
        elif isinstance(target, ast.Name):
            if c.frame.find(target.id) is None:
                c.fail(target, f"undefined value {target.id}")
            c.frame.names.pop(target.id, None)
            c.frame.lost[target.id] = f"undefined value {target.id}"
        else:
            not_supported(
                c.source, target, "del of attributes aren't supported", "assign another value"
            )
    return FALLS


# ---- leaving


@compiles(ast.Return)
def _return(c: Context, tree: ast.Return) -> Exit:
    hint = c.returns if c.declared else None
    returned = c.builder.constant(tree, None) if tree.value is None else value(c, tree.value, hint)
    if hint is not None:
        returned = c.fitted(tree, returned, hint)
        if returned.type == TENSOR and hint.kind in _IMPLICIT:
            returned = c.builder.call(tree, _IMPLICIT[hint.kind], [returned])
        if hint == ANY and returned.type != ANY:  # so that all results have one type
            returned = c.builder.prim(tree, "prim::unchecked_cast", [returned], ANY)
    check_return(c, tree, returned)
    c.close(tree)
    return Exit("exits", exit_return(c, tree, c.target, returned))


def check_return(c: Context, tree: ast.AST, returned: SimpleValue) -> None:
    """Checks that a returned value has the declared type, or that of the previous `return`."""
    if c.returns is None:
        c.returns = returned.type
        return
    if c.declared:
        if not is_subtype(returned.type, c.returns):
            c.fail(
                tree,
                f"Return value was annotated as having type {c.returns} but is actually of type "
                f"{returned.type}",
                hints.of_result(c.returns, returned.type),
            )
        return
    both = unify(c.returns, returned.type)
    if both is None:
        c.fail(
            tree,
            f"Previous return statement returned a value of type {c.returns} but this return "
            f"statement returns a value of type {returned.type}",
            "Hint: return the same type on all paths",
        )
    c.returns = both


@compiles(ast.Raise)
def _raise(c: Context, tree: ast.Raise) -> Exit:
    if tree.exc is None:
        not_supported(
            c.source,
            tree,
            "raise without an exception aren't supported",
            'raise RuntimeError("...")',
        )
    message, name = exception_of(c, tree.exc)
    kind = c.builder.constant(tree.exc, name)
    c.builder.node(tree, "prim::RaiseException", [message, kind], [])
    return THROWS


@compiles(ast.Assert)
def _assert(c: Context, tree: ast.Assert) -> Exit:
    test = condition(c, tree.test)
    if test.static:
        c.refine(tree, test.true)
        return FALLS

    def wrong() -> Exit:
        message = _assert_message(c, tree)
        nothing = c.builder.constant(tree, None)
        c.builder.node(tree, "prim::RaiseException", [message, nothing], [])
        return THROWS

    if test.static is False:
        return wrong()
    return decided(c, tree, test, lambda: FALLS, wrong)


def _assert_message(c: Context, tree: ast.Assert) -> SimpleValue:
    word = "AssertionError: "
    if tree.msg is None:
        return c.builder.constant(tree, word)
    if isinstance(tree.msg, ast.Constant) and isinstance(tree.msg.value, str):
        return c.builder.constant(tree.msg, f"{word}{tree.msg.value}")
    message = value(c, tree.msg)
    if message.type != STR:
        message = c.builder.call(tree.msg, "aten::str", [message])
    return c.builder.call(tree, "aten::add", [c.builder.constant(tree, word), message])
