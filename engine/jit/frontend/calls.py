"""Calls: resolution of the callee, and matching of arguments with parameters."""

from __future__ import annotations

import ast
import inspect
from enum import Enum
from types import BuiltinMethodType
from typing import Any

from engine import dtypes
from engine.jit import decorators
from engine.jit.frontend import operators
from engine.jit.frontend.arguments import Arguments, match
from engine.jit.frontend.builder import can_be_constant
from engine.jit.frontend.classes import NO_CLASS_METHODS, script_class
from engine.jit.frontend.dispatch import compiles, expression, value
from engine.jit.frontend.environment import Context, type_word
from engine.jit.frontend.errors import (
    CallError,
    CompileError,
    NotSupportedError,
    located_message,
    not_supported,
)
from engine.jit.frontend.functions import CompiledFunction, called_from
from engine.jit.frontend.materialise import compiled_of
from engine.jit.frontend.refinement import as_bool
from engine.jit.frontend.rules import rule_of
from engine.jit.frontend.signatures import Parameter
from engine.jit.frontend.specialise import compile_called
from engine.jit.frontend.sugared_values import (
    MISSING,
    ConditionalCallee,
    MethodValue,
    ModuleMethod,
    ModuleValue,
    PythonValue,
    SimpleValue,
    SugaredValue,
    class_of_value,
    operated,
)
from engine.jit.runtime.function import ScriptFunction
from engine.jit.types.annotations import from_object, named_tuple
from engine.jit.types.jit_type import COMPLEX, FLOAT, INT, STR, TENSOR, Type, UnknownType
from engine.tensor import Tensor


@compiles(ast.Call)
def _call(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    callee = _callee(c, tree.func)
    return call(c, tree, callee, hint)


def _callee(c: Context, tree: ast.expr) -> SugaredValue:
    if isinstance(tree, ast.IfExp):
        return ConditionalCallee(tree.test, tree.body, tree.orelse)
    return expression(c, tree)


def call(
    c: Context, tree: ast.Call, callee: SugaredValue, hint: Type | None = None
) -> SugaredValue:
    """Compiles a call."""
    match callee:
        case ConditionalCallee():
            return _call_either(c, tree, callee)
        case MethodValue():
            return call_method(c, tree, callee)
        case ModuleValue():
            return callee.concrete_type.call(c, tree, callee, "forward", Arguments.of(c, tree))
        case ModuleMethod():
            owner, arguments = callee.owner, Arguments.of(c, tree)
            if callee.of is not None:
                return owner.concrete_type.call_parent(
                    c, tree, owner, callee.name, callee.of, arguments
                )
            return owner.concrete_type.call(c, tree, owner, callee.name, arguments)
        case PythonValue():
            return _call_known(c, tree, callee.object, hint)
        case SimpleValue() if (script_class := class_of_value(callee)) is not None:
            return script_class.call(c, tree, callee, "__call__", Arguments.of(c, tree))
    raise c.fail(tree.func, f"{type_word(callee)} cannot be called")


def _call_either(c: Context, tree: ast.Call, callee: ConditionalCallee) -> SugaredValue:
    """Compiles `(f if test else g)(x)` as `f(x) if test else g(x)`."""
    first = ast.copy_location(ast.Call(callee.body, tree.args, tree.keywords), tree)
    second = ast.copy_location(ast.Call(callee.orelse, tree.args, tree.keywords), tree)
    return expression(c, ast.copy_location(ast.IfExp(callee.test, first, second), tree))


def _call_known(c: Context, tree: ast.Call, callee: Any, hint: Type | None) -> SugaredValue:
    rule = rule_of(callee)
    if rule is not None:
        return rule(c, tree, hint)
    if isinstance(callee, ScriptFunction):
        return call_compiled(c, tree, compiled_of(callee), Arguments.of(c, tree))
    if isinstance(callee, type):
        return _construct(c, tree, callee)
    if isinstance(callee, BuiltinMethodType) and isinstance(callee.__self__, str):
        return _call_text_method(c, tree, callee)
    if not callable(callee):
        raise c.fail(tree.func, f"python value of type '{type(callee).__name__}' cannot be called")
    name = getattr(callee, "__module__", "")
    if name == "math":
        return call_operator(c, tree, f"aten::{callee.__name__}", Arguments.of(c, tree))
    return call_python(c, tree, callee, Arguments.of(c, tree))


def _call_text_method(c: Context, tree: ast.Call, method: BuiltinMethodType) -> SugaredValue:
    """Compiles a method of a constant string; in the engine's source with constant arguments the result is
    constant too."""
    args = [expression(c, arg) for arg in tree.args]
    constants = [arg.constant if isinstance(arg, SimpleValue) else MISSING for arg in args]
    if (
        c.inside_engine
        and not tree.keywords
        and all(isinstance(constant, (str, int)) for constant in constants)
    ):
        return PythonValue(method(*constants), True)
    owner = c.builder.constant(tree.func, method.__self__)
    values = [c.as_value(x, arg) for x, arg in zip(tree.args, args, strict=True)]
    return c.builder.call(tree, f"aten::{method.__name__}", [owner, *values])


def call_operator(c: Context, tree: ast.AST, name: str, arguments: Arguments) -> SimpleValue:
    """Compiles a call of an operator or builtin by name."""
    args, options = arguments.values(tree)
    return c.builder.call(tree, name, args, options)


def call_python(c: Context, tree: ast.Call, fn: Any, arguments: Arguments) -> SugaredValue:
    """Compiles a call of a Python function: an operator of the engine, or a function compiled from its
    source."""
    mark = decorators.modifier_of(fn)
    if mark in ("ignore", "unused"):
        return call_ignored(c, tree, fn, mark, arguments)
    if inspect.ismethod(fn) and isinstance(fn.__self__, type) and not operators.in_engine(fn):
        raise c.fail(tree, *NO_CLASS_METHODS)
    operator = operators.operator_of(fn)
    if operator is None:
        return call_compiled(c, tree, fn, arguments)
    args, options = arguments.values(tree)
    try:
        return c.builder.call(tree, operator, args, options)
    except CallError:
        if fn.__module__.startswith("engine._generated"):
            raise
        try:
            return call_compiled(c, tree, fn, Arguments(c, args, dict(options)))
        except CompileError:
            pass  # raises the error that no overload matches
        raise


# x.float() is x.to(float32).
_TENSOR_CASTS = {
    "bfloat16": dtypes.bfloat16,
    "bool": dtypes.bool_,
    "byte": dtypes.uint8,
    "cdouble": dtypes.complex128,
    "cfloat": dtypes.complex64,
    "char": dtypes.int8,
    "double": dtypes.float64,
    "float": dtypes.float32,
    "half": dtypes.float16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "short": dtypes.int16,
}


def call_method(c: Context, tree: ast.Call, callee: MethodValue) -> SugaredValue:
    """Compiles a method call on a value as the operator or builtin of that name."""
    owner, name = callee.owner, callee.name
    if name == "sort" and owner.type.kind == "List":
        reject_key(c, tree, name)
    if (owner_class := class_of_value(owner)) is not None:
        return owner_class.call(c, tree, owner, name, Arguments.of(c, tree))
    if owner.type.kind == "str" and name == "format":
        arguments = Arguments.of(c, tree, [owner])
        return call_operator(c, tree, "aten::format", arguments)
    if owner.type == TENSOR and name in _TENSOR_CASTS and not tree.args and not tree.keywords:
        dtype = c.builder.constant(tree, _TENSOR_CASTS[name])
        return c.builder.call(tree, "aten::to", [owner, dtype])
    arguments = Arguments.of(c, tree, [owner])
    if owner.type.kind in ("List", "Dict"):
        _hint_arguments(arguments, owner.type)
    args, options = arguments.values(tree)
    if owner.type.kind in ("List", "Dict") and len(args) > 1:
        args[-1] = c.fitted(tree, args[-1], owner.type.inner[-1])
    operator = operators.SAME.get(name, name) if owner.type == TENSOR else name
    of_dtype = len(args) == 2 and isinstance(args[1].constant, dtypes.dtype)
    if owner.type == TENSOR and name == "view" and of_dtype:  # an int in the graph, but not a size
        args, options = args[:1], {"dtype": args[1]}
    try:
        return c.builder.call(tree, f"aten::{operator}", args, options)
    except CallError:
        fallback = getattr(Tensor, name, None) if owner.type == TENSOR else None
        if fallback is not None and hasattr(fallback, "__code__"):
            try:
                return call_compiled(c, tree, fallback, Arguments(c, args, dict(options)))
            except CompileError:
                pass  # raises the error that no overload matches
        raise


def reject_key(c: Context, tree: ast.Call, name: str) -> None:
    """Rejects `sorted(xs, key=f)`, `min(xs, key=f)` and so on."""
    for keyword in tree.keywords:
        if keyword.arg == "key":
            not_supported(
                c.source,
                keyword.value,
                f"{name}(key=...) isn't supported",
                "order a list of tuples, (what decides, the element), or give the class of the "
                "elements an __lt__",
            )


def _hint_arguments(arguments: Arguments, owner: Type) -> None:
    """Compiles list and dict displays, as in `xs.append([])`, with the container's element type as the expected
    one."""
    for i, argument in enumerate(arguments.args):
        if isinstance(argument, (ast.List, ast.Dict)) and owner.inner:
            arguments.args[i] = value(arguments.c, argument, owner.inner[-1])


def call_ignored(
    c: Context, tree: ast.AST, fn: Any, mark: str, arguments: Arguments
) -> SimpleValue:
    """Compiles a call of an `@ignore`d function; one marked `unused` raises."""
    parameters, returns = c.signature(fn)
    inputs = match(c, tree, fn.__name__, parameters, arguments)
    if mark == "unused":
        message = c.builder.constant(
            tree, f"{fn.__name__} is marked @jit.unused: compiled code does not call it"
        )
        nothing = c.builder.constant(tree, None)
        c.builder.node(tree, "prim::RaiseException", [message, nothing], [])
        return c.builder.uninitialized(tree, returns)
    c.ignored[fn.__qualname__] = fn
    node = c.builder.node(tree, "prim::PythonOp", inputs, [returns])
    node.set("name", fn.__qualname__)
    return node.outputs[0]


def call_compiled(
    c: Context, tree: ast.AST, fn: CompiledFunction | Any, arguments: Arguments
) -> SugaredValue:
    """Emits prim::CallFunction."""
    if isinstance(fn, CompiledFunction):
        compiled, inputs = fn, match(c, tree, fn.display_name, fn.parameters, arguments)
    else:
        constant = _at_compile_time(c, fn, arguments)
        if constant is not None:
            return constant
        compiled, inputs = compile_called(c, tree, fn, arguments)
    c.calls[compiled.name] = compiled
    function = c.builder.function(tree, compiled.name)
    return c.builder.prim(tree, "prim::CallFunction", [function, *inputs], compiled.type)


def _at_compile_time(c: Context, fn: Any, arguments: Arguments) -> SugaredValue | None:
    """Evaluates a call of an engine function whose arguments are all constants (`reduction="mean"`)."""
    if not (c.inside_engine and operators.in_engine(fn)):
        return None
    passed = [*arguments.args, *arguments.options.values()]
    sugared = [expression(c, x) if isinstance(x, ast.expr) else x for x in passed]
    count = len(arguments.args)
    arguments.args = [*sugared[:count]]
    arguments.options = {**dict(zip(arguments.options, sugared[count:], strict=True))}
    constants = []
    for operand in sugared:
        known = (
            operand.constant
            if isinstance(operand, SimpleValue)
            else getattr(operand, "object", ...)
        )
        if not can_be_constant(known):
            return None
        constants.append(known)
    if not constants:
        return None
    try:
        answer = fn(
            *constants[:count], **dict(zip(arguments.options, constants[count:], strict=True))
        )
    except Exception:  # raised when the program runs the call
        return None
    plain = isinstance(answer, (tuple, list)) and all(map(can_be_constant, answer))
    return PythonValue(answer, True) if plain or can_be_constant(answer) else None


# ---- classes


def _construct(c: Context, tree: ast.Call, python_class: type) -> SugaredValue:
    if issubclass(python_class, tuple) and hasattr(python_class, "_fields"):
        type = named_tuple(python_class)
        defaults = getattr(python_class, "_field_defaults", {})
        parameters = [
            Parameter(name, field_type, defaults.get(name), name in defaults)
            for name, field_type in zip(python_class._fields, type.inner, strict=True)
        ]
        inputs = match(c, tree, python_class.__name__, parameters, Arguments.of(c, tree))
        return c.builder.prim(tree, "prim::TupleConstruct", inputs, type)
    if python_class in (int, float, bool, str, complex):
        return cast(c, tree, python_class)
    if python_class.__module__ == "collections":
        instead = "use a Dict or List: d: Dict[str, int] = {}"
        not_supported(
            c.source,
            tree,
            f"objects of the class {python_class.__name__} aren't supported",
            instead,
        )
    if issubclass(python_class, Enum):
        not_supported(
            c.source,
            tree,
            f"{python_class.__name__}(...), a member by its value, isn't supported",
            f"name the member ({python_class.__name__}.{next(iter(python_class.__members__), 'X')}), or iterate "
            f"over them: for member in {python_class.__name__}",
        )
    try:
        compiled_class = script_class(python_class)
    except UnknownType as error:
        reason, _, instead = str(error).partition(": ")[2].partition(" Hint: ")
        message = f"objects of the class {python_class.__name__} aren't supported: {reason}"
        instead = instead or "use a NamedTuple, or a Module made outside and held as an attribute"
        raise NotSupportedError(
            located_message(c.source, tree, message, f"Hint: {instead}")
        ) from None
    except CompileError as error:
        raise called_from(c, tree, python_class.__name__, error) from None
    return compiled_class.create(c, tree, Arguments.of(c, tree))


_CASTS = {
    int: ("aten::Int", INT),
    float: ("aten::Float", FLOAT),
    complex: ("aten::Complex", COMPLEX),
}


def cast(c: Context, tree: ast.Call, to: type) -> SimpleValue:
    """Compiles `int(x)`, `float(x)`, `bool(x)`, `str(x)`."""
    if not tree.args:
        return c.builder.constant(tree, to())
    if len(tree.args) > 1 and to is not complex:
        c.fail(tree, f"{to.__name__}() takes one argument")
    operand = value(c, tree.args[0])
    result = operated(c, tree, operand, f"__{to.__name__}__")
    if result is not None:
        return c.as_value(tree, result)
    if to is bool:
        return as_bool(c, tree, operand)
    if to is str:
        return operand if operand.type == STR else c.builder.call(tree, "aten::str", [operand])
    name, type = _CASTS[to]
    remainder = [value(c, arg) for arg in tree.args[1:]]
    return operand if operand.type == type else c.builder.call(tree, name, [operand, *remainder])


def exception_of(c: Context, tree: ast.expr) -> tuple[SimpleValue, str]:
    """Returns the message and the class name of a raised exception."""
    class_tree = tree.func if isinstance(tree, ast.Call) else tree
    sugared = expression(c, class_tree)
    python_class = sugared.object if isinstance(sugared, PythonValue) else None
    if not (isinstance(python_class, type) and issubclass(python_class, BaseException)):
        c.fail(tree, "exceptions must derive from BaseException")
        raise AssertionError
    name = f"{python_class.__module__}.{python_class.__qualname__}"
    args = tree.args if isinstance(tree, ast.Call) else []
    if not args:
        return c.builder.constant(tree, ""), name
    if len(args) > 1:
        not_supported(
            c.source, tree, "exceptions of several arguments aren't supported", "one text"
        )
    message = value(c, args[0])
    if message.type != STR:
        message = c.builder.call(args[0], "aten::str", [message])
    return message, name


def annotated(c: Context, tree: ast.expr, annotation: Any) -> Type:
    """Returns the type that an expression of the program names."""
    try:
        return from_object(annotation)
    except TypeError as error:
        raise c.fail(tree, str(error)) from None
