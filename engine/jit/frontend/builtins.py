"""Compilation of Python's builtin functions and the special forms of `engine.jit`."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable
from enum import EnumMeta
from typing import Any

from engine.autograd import grad_mode
from engine.dtypes import Size, can_cast, device, promote_types
from engine.functional.composite import gradient
from engine.functional.predicates import result_type
from engine.jit import decorators
from engine.jit.frontend.arguments import Arguments
from engine.jit.frontend.attributes import METHODS
from engine.jit.frontend.calls import call_operator, cast, reject_key
from engine.jit.frontend.dispatch import expression, value
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.expressions import make_list
from engine.jit.frontend.refinement import CondValue, is_instance
from engine.jit.frontend.rules import RULES, condition_rule, rule
from engine.jit.frontend.sugared_values import (
    MISSING,
    IterableTree,
    ModuleValue,
    PythonValue,
    RangeValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
    Super,
    operated,
)
from engine.jit.runtime.native_classes import CLASSES
from engine.jit.types.annotations import from_object
from engine.jit.types.jit_type import ANY, NONE, STR, TENSOR, Type, UnknownType, dict_of, is_subtype
from engine.random import manual_seed
from engine.tensor import Tensor


def _count(c: Context, tree: ast.Call, low: int, high: int, name: str) -> None:
    if not low <= len(tree.args) <= high:
        expected = f"{low}" if low == high else f"{low} to {high}"
        c.fail(tree, f"{name} takes {expected} arguments, got {len(tree.args)}")


@rule(len)
def _len(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 1, 1, "len")
    sugared = expression(c, tree.args[0])
    if isinstance(sugared, ModuleValue):
        sugared = sugared.concrete_type.items_of(c, tree, sugared)
    if isinstance(sugared, SugaredTupleValue):
        return c.builder.constant(tree, len(sugared.items))
    if isinstance(sugared, PythonValue) and isinstance(sugared.object, (tuple, list, EnumMeta)):
        return c.builder.constant(tree, len(sugared.object))
    operand = c.as_value(tree.args[0], sugared)
    if operand.type.kind == "Tuple":
        return c.builder.constant(tree, len(operand.type.inner))
    done = operated(c, tree, operand, "__len__")
    return c.builder.call(tree, "aten::len", [operand]) if done is None else done


@rule(range)
def _range(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 1, 3, "range")
    parts = [value(c, arg) for arg in tree.args]
    for operand, part in zip(parts, tree.args, strict=True):
        if operand.type.kind != "int":
            message = f"range() takes ints, not a value of type {operand.type}"
            c.fail(
                part, message, c.builder.argument_hints.of_call([operand]) or "Hint: write int(...)"
            )
    if len(parts) == 1:
        return RangeValue(None, parts[0], None)
    return RangeValue(parts[0], parts[1], parts[2] if len(parts) > 2 else None)


@rule(enumerate)
def _enumerate(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 1, 2, "enumerate")
    over = expression(c, tree.args[0])
    begins = tree.args[1:] + [keyword.value for keyword in tree.keywords if keyword.arg == "start"]
    return IterableTree((RangeValue(value(c, begins[0]) if begins else None, None, None), over))


@rule(zip)
def _zip(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    strict = any(
        not isinstance(keyword.value, ast.Constant) or keyword.value.value
        for keyword in tree.keywords
    )
    if strict and not c.inside_engine:
        not_supported(
            c.source, tree, "zip(strict=True) isn't supported", "assert len(a) == len(b) before"
        )
    if not tree.args:
        c.fail(tree, "zip takes one or more iterables")
    return IterableTree(tuple(expression(c, arg) for arg in tree.args))


@rule(print)
def _print(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    if tree.keywords:
        c.fail(tree, "print takes no keywords in compiled code", "Hint: print one string")
    c.builder.node(tree, "prim::Print", [value(c, arg) for arg in tree.args], [])
    return PythonValue(None, True)


@rule(min, max)
def _extreme(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    word = tree.func.id if isinstance(tree.func, ast.Name) else "min"
    name = f"prim::{word}"
    reject_key(c, tree, word)
    if any(isinstance(arg, ast.Starred) for arg in tree.args):
        not_supported(
            c.source, tree, f"{word}(*xs) isn't supported", f"{word}(xs), of the list itself"
        )
    args = [value(c, arg) for arg in tree.args]
    if len(args) == 1:
        return c.builder.call(tree, name, args)
    extreme = args[0]
    for arg in args[1:]:
        extreme = c.builder.call(tree, name, [extreme, arg])
    return extreme


@rule(abs)
def _abs(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 1, 1, "abs")
    operand = value(c, tree.args[0])
    return c.builder.call(tree, "aten::abs" if operand.type == TENSOR else "prim::abs", [operand])


@rule(reversed)
def _reversed(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 1, 1, "reversed")
    sugared = expression(c, tree.args[0])
    if isinstance(sugared, ModuleValue):
        sugared = sugared.concrete_type.items_of(c, tree, sugared)
    if isinstance(sugared, SugaredTupleValue):
        return SugaredTupleValue(list(sugared.items)[::-1])
    if isinstance(sugared, (RangeValue, IterableTree)):
        not_supported(
            c.source, tree, "reversed() of range and zip isn't supported", "range(n - 1, -1, -1)"
        )
    operand = c.as_value(tree.args[0], sugared)
    if operand.type.kind == "Tuple":
        parts = c.builder.node(tree, "prim::TupleUnpack", [operand], operand.type.inner).outputs
        return SugaredTupleValue(parts[::-1])
    if operand.type.kind not in ("List", "str"):
        raise c.fail(tree, f"'{operand.type}' object is not reversible")
    none, step = c.builder.constant(tree, None), c.builder.constant(tree, -1)
    return c.builder.call(tree, "aten::slice", [operand, none, none, step])


_PLAIN = (all, any, bin, chr, divmod, hash, hex, oct, ord, pow, round, sorted, sum)


def _plain(name: str) -> Callable[[Context, ast.Call, Type | None], SugaredValue]:
    def compile_call(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
        reject_key(c, tree, name)
        return call_operator(c, tree, f"aten::{name}", Arguments.of(c, tree))

    return compile_call


for _function in _PLAIN:
    RULES[_function] = _plain(_function.__name__)
for _name in ("fabs", "floor", "ceil"):
    RULES[getattr(math, _name)] = _plain(_name)


@rule(int, float, bool, str, complex)
def _cast(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    func = expression(c, tree.func)
    assert isinstance(func, PythonValue)
    return cast(c, tree, func.object)


# ---- containers


@rule(list, Size)
def _list(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 0, 1, "list")
    if not tree.args:
        element = hint.element if hint is not None and hint.kind == "List" else TENSOR
        return make_list(c, tree, [], element)
    sugared = expression(c, tree.args[0])
    if isinstance(sugared, SimpleValue) and sugared.type.kind in ("List", "str"):
        return c.builder.call(tree, "aten::list", [sugared])
    if isinstance(sugared, SugaredTupleValue):
        return make_list(c, tree, [c.as_value(tree, item) for item in sugared.items])
    name = ast.copy_location(ast.Name("_element", ast.Store()), tree)
    read = ast.copy_location(ast.Name("_element", ast.Load()), tree)
    comprehension = ast.ListComp(read, [ast.comprehension(name, tree.args[0], [], 0)])
    return expression(c, ast.copy_location(comprehension, tree), hint)


@rule(tuple)
def _tuple(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    if not tree.args:
        return SugaredTupleValue([])
    sugared = expression(c, tree.args[0])
    if isinstance(sugared, SugaredTupleValue) or (
        isinstance(sugared, SimpleValue) and sugared.type.kind == "Tuple"
    ):
        return sugared
    if c.inside_engine:  # of sizes, for a message
        return sugared
    raise c.fail(
        tree,
        "tuple() of a value whose length is not known",
        "Hint: keep the list, or name the elements: (x[0], x[1])",
    )


@rule(dict)
def _dict(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    if tree.args:
        return c.builder.call(tree, "aten::dict", [value(c, tree.args[0])])
    if any(keyword.arg is None for keyword in tree.keywords):
        not_supported(
            c.source, tree, "dict(**options) isn't supported", "copy it: d.copy(), then d.update(e)"
        )
    if tree.keywords:
        pairs = [
            (c.builder.constant(tree, keyword.arg), value(c, keyword.value))
            for keyword in tree.keywords
        ]
        item = pairs[0][1].type
        for _, item_value in pairs:
            if item_value.type != item:
                c.fail(
                    tree, f"the values of a Dict have one type, not {item} and {item_value.type}"
                )
        inputs = [item for pair in pairs for item in pair]
        return c.builder.prim(tree, "prim::DictConstruct", inputs, dict_of(STR, item))
    known = hint is not None and hint.kind == "Dict"
    type = hint if known and hint is not None else dict_of(STR, TENSOR)
    return c.builder.prim(tree, "prim::DictConstruct", [], type)


@rule(device)
def _device(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    arguments = []
    for arg in tree.args:
        argument = value(c, arg)
        if argument.constant is MISSING:
            c.fail(arg, "a device is named by a constant", 'Hint: write device("cpu")')
        arguments.append(argument.constant)
    return PythonValue(device(*arguments), True)


# ---- special forms of engine.jit


@rule(decorators.annotate)
def _annotate(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 2, 2, "annotate")
    expected = c.annotation(tree.args[0])
    operand = value(c, tree.args[1], expected)
    if not is_subtype(operand.type, expected):
        c.fail(tree, f"expected an expression of type {expected} but found {operand.type}")
    if operand.type != expected:
        return c.builder.prim(tree, "prim::unchecked_cast", [operand], expected)
    return operand


@condition_rule(decorators.is_scripting)
def _is_scripting(c: Context, tree: ast.Call) -> CondValue:
    return CondValue(tree, None, True)


@condition_rule(isinstance, decorators.is_instance)
def _isinstance(c: Context, tree: ast.Call) -> CondValue:
    _count(c, tree, 2, 2, "isinstance")
    sugared = expression(c, tree.args[0])
    expected = [_class(c, class_tree) for class_tree in _classes(tree.args[1])]
    if isinstance(sugared, ModuleValue):
        names = [item for item in expected if isinstance(item, type)]
        return CondValue(tree, None, isinstance(sugared.concrete_type.module, tuple(names)))
    operand = c.as_value(tree.args[0], sugared)
    types = [item for item in expected if isinstance(item, Type)]
    bare = [type for type in types if type.kind in ("List", "Tuple", "Dict") and not type.inner]
    if operand.type == ANY and bare:
        word = bare[0].kind.lower()
        c.fail(
            tree,
            f"a value of type Any cannot be asked whether it is a {word} without what it holds",
            "Hint: write jit.isinstance(x, List[int]), with the types",
        )
    return is_instance(c, tree, operand, types)


def _classes(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return [*_classes(tree.left), *_classes(tree.right)]
    return list(tree.elts) if isinstance(tree, ast.Tuple) else [tree]


def _class(c: Context, tree: ast.expr) -> Type | type:
    """Returns one class of an isinstance: a type of the language, or any other class."""
    sugared = expression(c, tree) if isinstance(tree, (ast.Name, ast.Attribute)) else None
    if isinstance(sugared, PythonValue):
        if sugared.object in (list, tuple, dict):
            return Type({list: "List", tuple: "Tuple", dict: "Dict"}[sugared.object])
        try:
            return from_object(sugared.object)
        except UnknownType:
            if isinstance(sugared.object, type):
                return sugared.object
    if isinstance(tree, ast.Constant) and tree.value is None:
        return NONE
    return c.annotation(tree)


@condition_rule(hasattr)
def _hasattr(c: Context, tree: ast.Call) -> CondValue:
    _count(c, tree, 2, 2, "hasattr")
    name = value(c, tree.args[1]).constant
    if not isinstance(name, str):
        c.fail(tree.args[1], "hasattr's second argument must be a string literal")
    owner = expression(c, tree.args[0])
    if isinstance(owner, ModuleValue):
        return CondValue(tree, None, hasattr(owner.concrete_type.module, str(name)))
    if isinstance(owner, PythonValue):
        return CondValue(tree, None, hasattr(owner.object, str(name)))
    type = c.as_value(tree.args[0], owner).type
    exists = name in type.fields or name in METHODS.get(type.kind, ())
    script_class: Any = CLASSES.get(type.name) if type.kind == "class" else None
    if script_class is not None:
        exists = name in script_class.attributes or hasattr(script_class.python, str(name))
    return CondValue(tree, None, exists or (type == TENSOR and hasattr(Tensor, str(name))))


@rule(getattr)
def _getattr(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 2, 3, "getattr")
    name = value(c, tree.args[1]).constant
    if not isinstance(name, str):
        raise c.fail(tree.args[1], "getattr's second argument must be a string literal")
    if len(tree.args) == 3 and not _hasattr(c, _two(tree)).static:
        return expression(c, tree.args[2], hint)
    attribute = ast.Attribute(tree.args[0], name, ast.Load())
    return expression(c, ast.copy_location(attribute, tree), hint)


def _two(tree: ast.Call) -> ast.Call:
    return ast.copy_location(ast.Call(tree.func, tree.args[:2], []), tree)


_NOT_SUPPORTED = {
    open: "read the file outside, and pass what is in it",
    input: "pass the string as an argument",
    eval: "write the expression",
    exec: "write the statements",
    map: "write a list: [f(x) for x in xs]",
    filter: "write a list: [x for x in xs if f(x)]",
    iter: "a `for` loop",
    next: "x[0]",
    set: "a Dict whose values are True",
    frozenset: "a Dict whose values are True",
    setattr: "self.name = value",
    globals: "pass values as arguments",
    locals: "name the values",
    vars: "name the values",
    repr: "str(x)",
    format: '"{}".format(x)',
    slice: "x[a:b]",
    callable: "call it",
    object: "use a NamedTuple",
    bytes: "use a str",
}


@rule(super)
def _super(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    """Compiles `super()` in a module's method; the class is the one that defines the method."""
    if tree.args:
        of, owner = (expression(c, arg) for arg in tree.args[:2])
        kind = of.object if isinstance(of, PythonValue) else None
    else:
        kind, names = c.resolve("__class__"), c.frame
        first = c.source.function.args.args[:1]
        variable = names.find(first[0].arg) if first else None
        owner = variable.value if variable is not None else PythonValue(None)
    if not isinstance(owner, ModuleValue) or not isinstance(kind, type):
        raise c.fail(tree, "super() works only in module methods")
    return Super(owner, kind)


@rule(type)
def _type(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    _count(c, tree, 1, 1, "type")
    sugared = expression(c, tree.args[0])
    if isinstance(sugared, ModuleValue):
        return PythonValue(sugared.concrete_type.module.__class__, True)
    not_supported(c.source, tree, "Python's type() isn't supported", "isinstance(x, T)")


@rule(grad_mode.is_grad_enabled)
def _grad_enabled(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    return c.builder.call(tree, "aten::is_grad_enabled")


@rule(grad_mode.is_inference_mode_enabled)
def _inference_enabled(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    return c.builder.call(tree, "aten::is_inference_mode_enabled")


@rule(warnings.warn)
def _warn(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    message = value(c, tree.args[0])
    level = c.builder.constant(tree, 2)
    c.builder.call(tree, "aten::warn", [message, level])
    return PythonValue(None, True)


def _not_supported(
    name: str, instead: str
) -> Callable[[Context, ast.Call, Type | None], SugaredValue]:
    def compile_call(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
        not_supported(c.source, tree, f"{name}() isn't supported", instead)

    return compile_call


for _object, _instead in _NOT_SUPPORTED.items():
    RULES[_object] = _not_supported(f"Python's {getattr(_object, '__name__', '')}", _instead)
# Functions without an operator.
for _object in (can_cast, promote_types, result_type, gradient):
    RULES[_object] = _not_supported(
        f"engine.{_object.__name__}", "call it outside, and pass what it gives as an argument"
    )
RULES[manual_seed] = _not_supported("engine.manual_seed", "call it outside, before this function")
