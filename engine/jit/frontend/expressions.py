"""Expressions: names, constants, arithmetic, containers, `a if c else b`, f-strings."""

from __future__ import annotations

import ast

from engine.jit.frontend import hints
from engine.jit.frontend.dispatch import compiles, expression, reject_node, value
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.refinement import as_bool, condition
from engine.jit.frontend.sugared_values import (
    MISSING,
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
    operated,
)
from engine.jit.types.jit_type import (
    STR,
    TENSOR,
    Type,
    dict_of,
    is_subtype,
    list_of,
    unify,
    wrong_key,
)

BINARY = {
    ast.Add: "aten::add",
    ast.Sub: "aten::sub",
    ast.Mult: "aten::mul",
    ast.Div: "aten::div",
    ast.FloorDiv: "aten::floordiv",
    ast.Mod: "aten::remainder",
    ast.Pow: "aten::pow",
    ast.MatMult: "aten::matmul",
    ast.BitAnd: "aten::__and__",
    ast.BitOr: "aten::__or__",
    ast.BitXor: "aten::__xor__",
    ast.LShift: "aten::__lshift__",
    ast.RShift: "aten::__rshift__",
}

# The methods that classes define for them.
METHODS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
_UNARY_METHODS: dict[type[ast.unaryop], str] = {ast.USub: "__neg__", ast.Invert: "__invert__"}


@compiles(ast.Constant)
def _constant(c: Context, tree: ast.Constant, hint: Type | None) -> SugaredValue:
    if tree.value is Ellipsis:
        return PythonValue(Ellipsis)
    if isinstance(tree.value, bytes):
        not_supported(c.source, tree, "bytes aren't supported", "use a str")
    return c.builder.constant(tree, tree.value)


@compiles(ast.Name)
def _name(c: Context, tree: ast.Name, hint: Type | None) -> SugaredValue:
    variable = c.frame.find(tree.id)
    if variable is not None:
        return variable.value
    lost = c.frame.why_lost(tree.id)
    if lost:
        raise c.fail(tree, lost, _defined_before(lost))
    outside = c.resolve(tree.id)
    if outside is MISSING:
        raise c.fail(tree, f"undefined value {tree.id}", hints.close(tree.id, c.names()))
    return PythonValue(outside, c.inside_engine)


def _defined_before(lost: str) -> str:
    if "Type mismatch" in lost:
        return "Hint: give it the same type in both branches, or use two names"
    if "branch" in lost:
        return "Hint: give it a value before the `if`"
    return "Hint: give it a value before the loop" if "loop" in lost else ""


@compiles(ast.NamedExpr)
def _named(c: Context, tree: ast.NamedExpr, hint: Type | None) -> SugaredValue:
    """Compiles `(name := value)`, which only the engine's own source may use."""
    if not c.inside_engine:
        reject_node(c, tree)
    sugared = expression(c, tree.value, hint)
    c.assign(tree, tree.target.id, sugared)
    return sugared


@compiles(ast.UnaryOp)
def _unary(c: Context, tree: ast.UnaryOp, hint: Type | None) -> SugaredValue:
    if isinstance(tree.op, ast.Not):
        return condition(c, tree).as_value(c)
    inner = tree.operand
    if isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float, complex)):
        if isinstance(tree.op, ast.USub):
            return c.builder.constant(tree, -inner.value)
        if isinstance(tree.op, ast.UAdd):
            return c.builder.constant(tree, inner.value)
    operand = value(c, inner)
    method = _UNARY_METHODS.get(type(tree.op))
    if method is not None and (done := operated(c, tree, operand, method)) is not None:
        return done
    if isinstance(tree.op, ast.UAdd):
        return operand
    name = "aten::neg" if isinstance(tree.op, ast.USub) else "aten::bitwise_not"
    return c.builder.call(tree, name, [operand])


@compiles(ast.BinOp)
def _binary(c: Context, tree: ast.BinOp, hint: Type | None) -> SugaredValue:
    left_hint = hint if hint is not None and hint.kind == "List" else None
    left, right = value(c, tree.left, left_hint), value(c, tree.right, left_hint)
    return binary(c, tree, tree.op, left, right)


def binary(
    c: Context, tree: ast.AST, op: ast.operator, left: SimpleValue, right: SimpleValue
) -> SimpleValue:
    """Compiles `left op right` by the types of both."""
    name = BINARY[type(op)]
    done = operated(c, tree, left, f"__{METHODS[type(op)]}__", [right])
    if done is not None:
        return c.as_value(tree, done)
    if isinstance(op, ast.Mod) and left.type == STR:
        return _percent(c, tree, left, right)
    if isinstance(op, ast.Add) and left.type.kind == right.type.kind == "Tuple":
        parts = [
            part
            for operand in (left, right)
            for part in c.builder.node(
                tree, "prim::TupleUnpack", [operand], operand.type.inner
            ).outputs
        ]
        return c.as_value(tree, SugaredTupleValue(parts))
    if isinstance(op, ast.FloorDiv) and TENSOR in (left.type, right.type):
        name = "aten::floor_divide"
    if right.type == TENSOR and left.type != TENSOR and left.type.kind != "List":
        return _number_and_tensor(c, tree, op, name, left, right)
    return c.builder.call(tree, name, [left, right])


def _percent(c: Context, tree: ast.AST, left: SimpleValue, right: SimpleValue) -> SimpleValue:
    """Compiles "%d of %d" % (a, b)."""
    args = [right]
    if right.type.kind == "Tuple":
        args = c.builder.node(tree, "prim::TupleUnpack", [right], right.type.inner).outputs
    return c.builder.call(tree, "aten::percentFormat", [left, *args])


def _number_and_tensor(
    c: Context, tree: ast.AST, op: ast.operator, name: str, number: SimpleValue, tensor: SimpleValue
) -> SimpleValue:
    """Compiles `2 - x` as PyTorch does: operators take the Tensor first."""
    builder = c.builder
    if isinstance(op, (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)):
        return builder.call(tree, name, [tensor, number])
    if isinstance(op, ast.Sub):
        return builder.call(tree, "aten::add", [builder.call(tree, "aten::neg", [tensor]), number])
    if isinstance(op, ast.Div):
        inverse = builder.call(tree, "aten::reciprocal", [tensor])
        return builder.call(tree, "aten::mul", [inverse, number])
    return builder.call(tree, name, [number, tensor])


@compiles(ast.IfExp)
def _if_expression(c: Context, tree: ast.IfExp, hint: Type | None) -> SugaredValue:
    test = condition(c, tree.test)
    if test.static is not None:
        c.refine(tree, test.true if test.static else test.false)
        return expression(c, tree.body if test.static else tree.orelse, hint)
    builder = c.builder
    node = builder.node(tree, "prim::If", [test.as_value(c)], [])
    branches: list[SimpleValue] = []
    blocks = [node.add_block(), node.add_block()]
    parts = ((tree.body, test.true), (tree.orelse, test.false))
    for block, (part, refinements) in zip(blocks, parts, strict=True):
        with c.frame_in(block):
            c.refine(part, refinements)
            branch = value(c, part, hint)
            builder.returns(block, [branch])
            branches.append(branch)
    type = unify(branches[0].type, branches[1].type)
    if hint is not None and all(is_subtype(branch.type, hint) for branch in branches):
        type = hint
    if type is None:
        raise c.fail(
            tree,
            f"if-expression's true branch has type {branches[0].type} but false branch has type "
            f"{branches[1].type}",
            "Hint: give both the same type, such as 0.0 for a float",
        )
    return node.add_output(type)


# ---- containers


@compiles(ast.Tuple)
def _tuple(c: Context, tree: ast.Tuple, hint: Type | None) -> SugaredValue:
    hints: list[Type | None] = [None] * len(tree.elts)
    if hint is not None and hint.kind == "Tuple" and len(hint.inner) == len(tree.elts):
        hints = list(hint.inner)
    return SugaredTupleValue(
        [expression(c, elt, inner) for elt, inner in zip(tree.elts, hints, strict=True)]
    )


@compiles(ast.List)
def _list(c: Context, tree: ast.List, hint: Type | None) -> SugaredValue:
    if hint is not None and hint.kind == "Optional":
        hint = hint.element
    element = hint.element if hint is not None and hint.kind == "List" else None
    if any(isinstance(elt, ast.Starred) for elt in tree.elts):
        return _spread_list(c, tree, element)
    values = [value(c, elt, element) for elt in tree.elts]
    return make_list(c, tree, values, element)


def _spread_list(c: Context, tree: ast.List, element: Type | None) -> SimpleValue:
    """Compiles `[a, *xs, b]` as a concatenation of lists."""
    spread_list: SimpleValue | None = None
    run: list[SimpleValue] = []

    def add(part: SimpleValue) -> SimpleValue:
        return (
            part if spread_list is None else c.builder.call(tree, "aten::add", [spread_list, part])
        )

    for elt in tree.elts:
        if not isinstance(elt, ast.Starred):
            run.append(value(c, elt, element))
            continue
        spread = value(c, elt.value)
        if spread.type.kind == "Tuple":
            run += c.builder.node(elt, "prim::TupleUnpack", [spread], spread.type.inner).outputs
            continue
        if spread.type.kind != "List":
            raise c.fail(elt, f"a value of type {spread.type} cannot be spread into a list")
        if run:
            spread_list = add(make_list(c, tree, run, element))
        run, spread_list = [], add(spread)
    if run or spread_list is None:
        spread_list = add(make_list(c, tree, run, element))
    return spread_list


def make_list(
    c: Context, tree: ast.AST, values: list[SimpleValue], element: Type | None = None
) -> SimpleValue:
    """Adds a prim::ListConstruct, whose elements have one type."""
    element_type = element or (values[0].type if values else TENSOR)
    empty = element is None and not values
    for element_value in values:
        both = unify(element_type, element_value.type) if element is None else element_type
        if both is None or not is_subtype(element_value.type, both):
            raise c.fail(
                tree,
                "Lists must contain only a single type; expected elements of type "
                f"{element_type} but found {element_value.type} instead",
                "Hint: use a tuple, or make all of one type",
            )
        element_type = both
    constructed = c.builder.prim(tree, "prim::ListConstruct", values, list_of(element_type))
    if empty:
        c.builder.argument_hints.empty.add(constructed.id)
    return constructed


@compiles(ast.Dict)
def _dict(c: Context, tree: ast.Dict, hint: Type | None) -> SugaredValue:
    if hint is not None and hint.kind == "Optional":
        hint = hint.element
    pair = hint.inner if hint is not None and hint.kind == "Dict" else (None, None)
    inputs: list[SimpleValue] = []
    key, item = pair
    for key_tree, value_tree in zip(tree.keys, tree.values, strict=True):
        if key_tree is None:
            not_supported(
                c.source, value_tree, "Dict unpacking aren't supported", "use .update(...)"
            )
        key_value, other = value(c, key_tree, pair[0]), value(c, value_tree, pair[1])
        key = key or key_value.type
        both = other.type if item is None else unify(item, other.type)
        if both is None or key_value.type != key:
            raise c.fail(
                tree,
                "Dict keys and values must each contain only a single type; found "
                f"{key_value.type} and {other.type} next to {key} and {item}",
                "Hint: give all the same type, or use a NamedTuple",
            )
        item = both if pair[1] is None else pair[1]
        inputs += [key_value, other]
    check_key(c, tree, key or STR)
    type = dict_of(key or STR, item or TENSOR)
    constructed = c.builder.prim(tree, "prim::DictConstruct", inputs, type)
    if not inputs and hint is None:
        c.builder.argument_hints.empty.add(constructed.id)
    return constructed


def check_key(c: Context, tree: ast.AST, key: Type) -> None:
    """Rejects keys of a type that dictionaries cannot have."""
    reason, _, instead = wrong_key(key).partition(". Hint: ")
    if reason:
        c.fail(tree, reason, f"Hint: {instead}")


# ---- strings


@compiles(ast.JoinedStr)
def _f_string(c: Context, tree: ast.JoinedStr, hint: Type | None) -> SugaredValue:
    text, args = "", []
    for part in tree.values:
        if isinstance(part, ast.Constant):
            piece = str(part.value)
            braces = "{" in piece or "}" in piece  # literal braces, not a field
            if braces:
                args.append(c.builder.constant(part, piece))
            text += "{}" if braces else piece
            continue
        assert isinstance(part, ast.FormattedValue)
        plain = (-1, ord("s"), ord("r")) if c.inside_engine else (-1, ord("s"))
        spec = _format_spec(part.format_spec)
        if part.conversion not in plain or spec is None:
            not_supported(
                c.source,
                part.value,
                "f-strings with a conversion or a computed format aren't supported",
                "write {x} alone, or a format such as {x:.2f}",
            )
        args.append(value(c, part.value))
        text += f"{{:{spec}}}" if spec else "{}"
    form = c.builder.constant(tree, text)
    return c.builder.call(tree, "aten::format", [form, *args]) if args else form


def _format_spec(tree: ast.expr | None) -> str | None:
    """Returns the format after the colon; None for a computed one."""
    if tree is None:
        return ""
    assert isinstance(tree, ast.JoinedStr)
    parts = [x.value for x in tree.values if isinstance(x, ast.Constant)]
    return "".join(map(str, parts)) if len(parts) == len(tree.values) else None


def truth(c: Context, tree: ast.expr) -> SimpleValue:
    """Compiles `bool(x)`."""
    return as_bool(c, tree, value(c, tree))
