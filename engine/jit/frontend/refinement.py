"""Conditions: those that are static, and the type refinements that they imply."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from engine.jit.frontend.dispatch import compiles, expression, value
from engine.jit.frontend.environment import Context, Refinements
from engine.jit.frontend.rules import ConditionRule, rule_of
from engine.jit.frontend.sugared_values import (
    MISSING,
    ModuleValue,
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
    operated,
)
from engine.jit.types.jit_type import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    SCALAR,
    TENSOR,
    Type,
    is_subtype,
    list_of,
    members,
    union,
)

_COMPARISONS = {
    ast.Lt: "aten::lt",
    ast.LtE: "aten::le",
    ast.Gt: "aten::gt",
    ast.GtE: "aten::ge",
    ast.Eq: "aten::eq",
    ast.NotEq: "aten::ne",
}
_MIRRORED = {
    "aten::lt": "aten::gt",
    "aten::le": "aten::ge",
    "aten::gt": "aten::lt",
    "aten::ge": "aten::le",
}
_NUMBERS = (INT, FLOAT, COMPLEX, SCALAR)


@dataclass
class CondValue:
    """`static` is its value if that is known; `true` and `false` are the type refinements that each
    outcome implies."""

    tree: ast.AST
    value: SimpleValue | None = None
    static: bool | None = None
    true: Refinements = field(default_factory=dict)
    false: Refinements = field(default_factory=dict)

    def as_value(self, c: Context) -> SimpleValue:
        """Converts to a bool of the graph."""
        if self.value is None:
            self.value = c.builder.constant(self.tree, bool(self.static))
        return self.value


def as_bool(c: Context, tree: ast.AST, operand: SimpleValue) -> SimpleValue:
    """Converts a bool, a number or a one-element Tensor to a bool."""
    if operand.type == BOOL:
        return operand
    done = operated(c, tree, operand, "__bool__")
    if done is not None:
        return c.as_value(tree, done)
    if operand.type.kind in ("Tensor", "int", "float", "complex", "Scalar"):
        return c.builder.call(tree, "aten::Bool", [operand])
    way = "`is not None`" if operand.type.kind in ("Optional", "NoneType") else "`len(...) > 0`"
    raise c.fail(
        tree,
        f"Could not cast value of type {operand.type} to bool",
        f"Hint: compare explicitly, e.g. {way}",
    )


def condition(c: Context, tree: ast.expr) -> CondValue:
    """Compiles an expression as a condition."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return _negated(c, tree)
    if isinstance(tree, ast.BoolOp):
        return _short_circuit(c, tree, tree.values)
    if isinstance(tree, ast.Compare):
        return _comparison(c, tree)
    if isinstance(tree, ast.Call):
        special = _called(c, tree)
        if special is not None:
            return special
    operand = value(c, tree)
    if operand.type == NONE and c.inside_engine:
        return CondValue(tree, None, False)
    if operand.is_constant and isinstance(operand.constant, (bool, int, float)):
        bool_value = operand if operand.type == BOOL else None
        return CondValue(tree, bool_value, bool(operand.constant))
    return CondValue(tree, as_bool(c, tree, operand))


def _called(c: Context, tree: ast.Call) -> CondValue | None:
    """Compiles a call with a ConditionRule; returns None for any other call."""
    rule = rule_of(_named_object(c, tree.func))
    return rule.condition(c, tree) if isinstance(rule, ConditionRule) else None


def _named_object(c: Context, tree: ast.expr) -> Any:
    """Returns the Python object that a dotted name refers to; MISSING for values of the graph."""
    if isinstance(tree, ast.Attribute):
        owner = _named_object(c, tree.value)
        return getattr(owner, tree.attr, MISSING) if isinstance(owner, ModuleType) else MISSING
    if not isinstance(tree, ast.Name):
        return MISSING
    variable = c.frame.find(tree.id)
    if variable is None:
        return c.resolve(tree.id)
    return variable.value.object if isinstance(variable.value, PythonValue) else MISSING


def _negated(c: Context, tree: ast.UnaryOp) -> CondValue:
    inner = condition(c, tree.operand)
    if inner.static is not None:
        return CondValue(tree, None, not inner.static, inner.false, inner.true)
    assert inner.value is not None
    negated = c.builder.call(tree, "aten::__not__", [inner.value])
    return CondValue(tree, negated, None, inner.false, inner.true)


def _short_circuit(c: Context, tree: ast.BoolOp, parts: list[ast.expr]) -> CondValue:
    """Compiles `a and b and c` as `(a and b) and c`, with short-circuit evaluation."""
    is_and = isinstance(tree.op, ast.And)
    if len(parts) == 1:
        return condition(c, parts[0])
    left = _short_circuit(c, tree, parts[:-1])
    if left.static is not None and left.static is not is_and:
        return left  # decided: Python does not evaluate the right side either
    if left.static is not None:
        return condition(c, parts[-1])

    def right() -> CondValue:
        return condition(c, parts[-1])

    return both(c, tree, left, right, is_and)


def both(
    c: Context,
    tree: ast.AST,
    left: CondValue,
    compile_right: Callable[[], CondValue],
    is_and: bool,
) -> CondValue:
    """Compiles `left and right` (or `or`) with the right side in its own block."""
    builder = c.builder
    node = builder.node(tree, "prim::If", [left.as_value(c)], [])
    first, second = node.add_block(), node.add_block()
    with c.frame_in(first if is_and else second) as frame:
        c.refine(tree, left.true if is_and else left.false)
        right = compile_right()
        builder.returns(frame.block, [right.as_value(c)])
    with builder.inside(second if is_and else first):
        builder.returns(builder.block, [builder.constant(tree, not is_and)])
    output = node.add_output(BOOL)
    if right.static is not None and right.static is not is_and:  # whatever the left side is
        return CondValue(tree, None, right.static)
    if is_and:
        true = {**left.true, **right.true}
        false = _common(left.false, right.false)
        return CondValue(tree, output, None, true, false)
    true = _common(left.true, right.true)
    return CondValue(tree, output, None, true, {**left.false, **right.false})


def _common(a: Refinements, b: Refinements) -> Refinements:
    return {name: type for name, type in a.items() if b.get(name) == type}


def _comparison(c: Context, tree: ast.Compare) -> CondValue:
    """Compiles `a < b`, and chains: `a < b < c` compiles b once."""
    first = expression(c, tree.left)
    return _chain(c, tree, tree.left, first, 0)


def _chain(
    c: Context, tree: ast.Compare, left_tree: ast.expr, left: SugaredValue, i: int
) -> CondValue:
    op, right_tree = tree.ops[i], tree.comparators[i]
    last = i + 1 == len(tree.ops)
    location = tree if last and i == 0 else _between(left_tree, right_tree)
    if isinstance(op, (ast.Is, ast.IsNot)):
        right = expression(c, right_tree)
        result = _identity(
            c, location, left_tree, left, right_tree, right, isinstance(op, ast.IsNot)
        )
    else:
        right = expression(c, right_tree)
        answer = _known_answer(c, op, left, right)
        if answer is None:
            a, b = _comparable(c, op, left_tree, left, right_tree, right)
            left, right = a, b
            result = CondValue(tree, as_bool(c, location, _compare(c, location, op, a, b)))
        else:
            result = CondValue(tree, None, answer)
    if last:
        return result
    if result.static is not None and not result.static:
        return result
    return both(c, tree, result, lambda: _chain(c, tree, right_tree, right, i + 1), True)


def _known_answer(
    c: Context, op: ast.cmpop, left: SugaredValue, right: SugaredValue
) -> bool | None:
    """Evaluates a comparison of constants: it selects the branches of the engine's functions."""
    a, b = _known(left), _known(right)
    named = isinstance(right, ModuleValue) and right.concrete_type.is_dict  # of a ModuleDict
    if named and isinstance(right, ModuleValue) and isinstance(op, (ast.In, ast.NotIn)):
        return (
            None if a is MISSING else (a in right.concrete_type.entries) is isinstance(op, ast.In)
        )
    if not c.inside_engine or a is MISSING or b is MISSING:
        return None
    if isinstance(op, (ast.Eq, ast.NotEq)):
        return bool(a == b) is isinstance(op, ast.Eq)
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(b, (tuple, list, dict, frozenset)):
        return (a in b) is isinstance(op, ast.In)
    return None


def _known(sugared: SugaredValue) -> Any:
    """Returns the constant that an expression is; MISSING for any other."""
    if isinstance(sugared, SimpleValue):
        return sugared.constant
    if isinstance(sugared, SugaredTupleValue):
        parts = tuple(_known(item) for item in sugared.items)
        return MISSING if any(part is MISSING for part in parts) else parts
    return getattr(sugared, "object", MISSING)


def _comparable(
    c: Context,
    op: ast.cmpop,
    left_tree: ast.expr,
    left: SugaredValue,
    right_tree: ast.expr,
    right: SugaredValue,
) -> tuple[SimpleValue, SimpleValue]:
    """Converts both sides to values, and a tuple of one type to a list if the other side is or
    needs one."""
    a = c.as_value(left_tree, left)
    if isinstance(op, (ast.In, ast.NotIn)):
        return a, _as_list(c, right_tree, right)
    b = c.as_value(right_tree, right)
    if c.inside_engine and a.type.kind == "List" and b.type.kind == "Tuple":
        return a, _as_list(c, right_tree, right)
    return a, b


def _as_list(c: Context, tree: ast.expr, sugared: SugaredValue) -> SimpleValue:
    """Compiles `x in (1, 2)` as `x in [1, 2]`; returns None for a tuple of several types."""
    if isinstance(sugared, PythonValue) and isinstance(sugared.object, tuple) and sugared.constant:
        sugared = SugaredTupleValue([PythonValue(element, True) for element in sugared.object])
    if isinstance(sugared, SimpleValue) and sugared.type.kind == "Tuple":
        inner = sugared.type.inner
        sugared = SugaredTupleValue(
            c.builder.node(tree, "prim::TupleUnpack", [sugared], inner).outputs
        )
    if not isinstance(sugared, SugaredTupleValue):
        return c.as_value(tree, sugared)
    values = [c.as_value(tree, item) for item in sugared.items]
    if not values or len({value.type for value in values}) > 1:
        return c.as_value(tree, SugaredTupleValue(values))
    return c.builder.prim(tree, "prim::ListConstruct", values, list_of(values[0].type))


def _between(left: ast.expr, right: ast.expr) -> ast.AST:
    """Returns the source range from the start of one expression to the end of another."""
    span = ast.copy_location(ast.Pass(), left)
    span.end_lineno, span.end_col_offset = right.end_lineno, right.end_col_offset
    return span


def _compare(
    c: Context, tree: ast.AST, op: ast.cmpop, left: SimpleValue, right: SimpleValue
) -> SimpleValue:
    if isinstance(op, (ast.In, ast.NotIn)):
        done = operated(c, tree, right, "__contains__", [left])
        contained = (
            c.builder.call(tree, "aten::__contains__", [right, left])
            if done is None
            else as_bool(c, tree, c.as_value(tree, done))
        )
        if isinstance(op, ast.NotIn):
            return c.builder.call(tree, "aten::__not__", [contained])
        return contained
    name = _COMPARISONS[type(op)]
    done = operated(c, tree, left, f"__{name.removeprefix('aten::')}__", [right])
    if done is not None:
        return c.as_value(tree, done)
    if right.type == TENSOR and left.type in _NUMBERS:  # `2 < x` is `x > 2`: a Tensor, not a bool
        return c.builder.call(tree, _MIRRORED.get(name, name), [right, left])
    return c.builder.call(tree, name, [left, right])


def _may_be_none(type: Type) -> bool:
    return type.kind in ("Optional", "NoneType", "Any") or NONE in members(type)


def _identity(
    c: Context,
    tree: ast.AST,
    left_tree: ast.expr,
    left: SugaredValue,
    right_tree: ast.expr,
    right: SugaredValue,
    negated: bool,
) -> CondValue:
    """Compiles `x is None` and `x is not None`, static when the type implies the answer."""
    left_none, right_none = _is_none(left), _is_none(right)
    answer = _known_answer(c, ast.Eq(), left, right) if isinstance(left, PythonValue) else None
    if answer is not None and not left_none and not right_none:
        return CondValue(tree, None, answer is not negated)
    if not left_none and not right_none:
        a, b = c.as_value(left_tree, left), c.as_value(right_tree, right)
        return CondValue(tree, c.builder.call(tree, f"aten::__is{'not' * negated}__", [a, b]))
    if left_none and right_none:
        return CondValue(tree, None, not negated)
    operand, asked_tree = (right, right_tree) if left_none else (left, left_tree)
    if not isinstance(operand, SimpleValue) or not _may_be_none(operand.type):
        return CondValue(tree, None, negated)
    other, other_tree = (left, left_tree) if left_none else (right, right_tree)
    none = c.as_value(
        other_tree, other if isinstance(other, SimpleValue) else PythonValue(None, True)
    )
    word = "aten::__isnot__" if negated else "aten::__is__"
    pair = [none, operand] if left_none else [operand, none]
    result = CondValue(tree, c.builder.call(tree, word, pair))
    if isinstance(asked_tree, ast.Name) and operand.type.kind in ("Optional", "Union"):
        not_none = union(member for member in members(operand.type) if member != NONE)
        refinements = {asked_tree.id: not_none}  # the other branch may still assign it
        result.true, result.false = (refinements, {}) if negated else ({}, refinements)
    return result


def _is_none(sugared: SugaredValue) -> bool:
    if isinstance(sugared, SimpleValue):
        return sugared.type == NONE
    return getattr(sugared, "object", sugared) is None


def is_instance(c: Context, tree: ast.Call, operand: SimpleValue, types: list[Type]) -> CondValue:
    """Compiles `isinstance(x, T)`: static, except for a Union, an Optional or Any."""
    inside: list[Type] = []
    outside: list[Type] = []
    types = members(union(_with_elements(operand.type, type) for type in types))
    if operand.type == ANY:
        inside, outside = types, [ANY]
        known = ANY in types
    else:
        for member in members(operand.type):
            narrow = _narrowed(member, types)
            (outside if narrow is None else inside).append(member if narrow is None else narrow)
        known = not outside
    result = CondValue(tree, None, True if known else None if inside else False)
    if isinstance(tree.args[0], ast.Name):
        name = tree.args[0].id
        result.true = {name: union(inside)} if inside else {}
        result.false = {name: union(outside)} if outside else {}
    if result.static is None:
        node = c.builder.node(tree, "prim::isinstance", [operand], [BOOL])
        result.value = node.set_types("types", types).outputs[0]
    return result


def _with_elements(type: Type, bare: Type) -> Type:
    """Completes a bare `list`, `tuple` or `dict` with the element types of the value's type."""
    if bare.kind not in ("List", "Tuple", "Dict") or bare.inner:
        return bare
    same = [member for member in members(type) if member.kind == bare.kind]
    return union(same) if same else bare


def _narrowed(type: Type, types: list[Type]) -> Type | None:
    """Returns the part of a type that is one of `types`; None when there is none."""
    for candidate in types:
        if type == SCALAR and candidate != SCALAR:
            continue
        if is_subtype(type, candidate) or is_subtype(candidate, type):
            return type if is_subtype(type, candidate) else candidate
    return None


@compiles(ast.BoolOp, ast.Compare)
def _as_value(c: Context, tree: ast.expr, hint: Type | None) -> SugaredValue:
    if isinstance(tree, ast.BoolOp) and c.inside_engine and len(tree.values) == 2:
        first = expression(c, tree.values[0])
        constant = (
            first.constant if isinstance(first, SimpleValue) else getattr(first, "object", ...)
        )
        if constant is None or isinstance(constant, (bool, int, float, str)):  # Python's `a or b`
            decided = bool(constant) is isinstance(tree.op, ast.Or)
            return first if decided else expression(c, tree.values[1], hint)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        op = tree.ops[0]
        if not isinstance(op, (ast.Is, ast.IsNot)):  # of Tensors: a Tensor
            left, right = expression(c, tree.left), expression(c, tree.comparators[0])
            answer = _known_answer(c, op, left, right)
            if answer is not None:
                return c.builder.constant(tree, answer)
            pair = _comparable(c, op, tree.left, left, tree.comparators[0], right)
            return _compare(c, tree, op, *pair)
    return _chained_value(c, tree)


def _chained_value(c: Context, tree: ast.expr) -> SimpleValue:
    return condition(c, tree).as_value(c)
