"""Specialisation of the engine's Python functions for the argument types of a call.

Their annotations are wide (`Any`, `int | Sequence[int]`), but a compiled call has exact types: each
combination of types is compiled separately, and a constant string, bool or None removes the branches
that it rules out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from engine.jit.frontend import operators
from engine.jit.frontend.arguments import Arguments, constant_of, match
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import CompileError
from engine.jit.frontend.functions import (
    CompiledFunction,
    called_from,
    compile_function,
    compile_special,
)
from engine.jit.frontend.signatures import Parameter, Surroundings, signature
from engine.jit.frontend.source import source_of
from engine.jit.frontend.sugared_values import SimpleValue, SugaredTupleValue
from engine.jit.types.jit_type import FLOAT, INT, TENSOR, Type, list_of


def compile_called(
    c: Context, tree: ast.AST, fn: Any, arguments: Arguments
) -> tuple[CompiledFunction, list[SimpleValue]]:
    """Returns the specialised function of a call, and the arguments for all its parameters."""
    name = getattr(fn, "__name__", str(fn))
    if not operators.in_engine(fn):
        try:
            compiled = compile_function(fn)
        except CompileError as error:
            raise called_from(c, tree, name, error) from None
        return compiled, match(c, tree, name, compiled.parameters, arguments)
    declared, _ = signature(fn, source_of(fn), Surroundings(fn))
    inputs = bind_open(c, tree, name, declared, arguments)
    constants = known_constants(declared, inputs)
    try:
        compiled = compile_special(fn, [value.type for value in inputs], constants)
    except CompileError as error:
        raise called_from(c, tree, name, error) from None
    return compiled, inputs


def known_constants(
    parameters: Sequence[Parameter], inputs: Sequence[SimpleValue]
) -> dict[str, Any]:
    """Returns the parameters whose arguments are constants that choose between branches."""
    return {
        parameter.name: value.constant
        for parameter, value in zip(parameters, inputs, strict=True)
        if value.is_constant and isinstance(value.constant, (str, bool, type(None)))
    }


def bind_open(
    c: Context, tree: ast.AST, name: str, declared: tuple[Parameter, ...], arguments: Arguments
) -> list[SimpleValue]:
    """Binds the arguments in order; they determine the types of the parameters."""
    options = dict(arguments.options)
    args = list(arguments.args)
    inputs = []
    for parameter in declared:
        hint = None if parameter.open else parameter.of
        if parameter.variadic:
            remainder = [arguments.value(tree, arg) for arg in args]
            value, args = c.as_value(tree, SugaredTupleValue(remainder)), []
        elif args and not parameter.keyword_only:
            value = arguments.value(tree, args.pop(0), hint)
        elif parameter.name in options:
            value = arguments.value(tree, options.pop(parameter.name), hint)
        elif parameter.has_default:
            value = constant_of(c, tree, parameter.default, hint)
        else:
            raise c.fail(tree, f"{name}: Argument {parameter.name} not provided")
        inputs.append(value if parameter.variadic else _fitted(c, tree, value, parameter))
    if args:
        c.fail(
            tree,
            f"{name}: Expected at most {len(arguments.args) - len(args)} argument(s) but found "
            f"{len(arguments.args)} positional argument(s)",
        )
    if options:
        c.fail(tree, f"{name}: Unknown keyword argument '{next(iter(options))}'")
    return inputs


def _fitted(c: Context, tree: ast.AST, value: SimpleValue, parameter: Parameter) -> SimpleValue:
    """Converts an int to an expected float, and a tuple of ints to the list that operators take."""
    expected: Type = parameter.of
    if expected == FLOAT and value.type == INT and not parameter.open:
        if isinstance(value.constant, int):
            return c.builder.constant(tree, float(value.constant))
        return c.builder.call(tree, "aten::Float", [value])
    if value.type.kind == "Tuple" and set(value.type.inner) in ({INT}, {FLOAT}):
        parts = c.builder.node(tree, "prim::TupleUnpack", [value], value.type.inner).outputs
        return c.builder.prim(tree, "prim::ListConstruct", parts, list_of(parts[0].type))
    wrong = not parameter.open and TENSOR in (expected, value.type) and expected != value.type
    if wrong and expected.kind not in ("Optional", "Any", "Scalar", "Union"):
        c.fail(
            tree,
            f"Expected a value of type '{expected}' for argument '{parameter.name}' but instead found "
            f"type '{value.type}'",
        )
    return value
