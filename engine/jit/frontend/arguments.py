"""The arguments of a call, and their matching with parameters."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeAlias

from engine.jit.frontend.builder import can_be_constant
from engine.jit.frontend.dispatch import expression, value
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.expressions import make_list
from engine.jit.frontend.signatures import Parameter
from engine.jit.frontend.sugared_values import (
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
)
from engine.jit.types.jit_type import FLOAT, INT, TENSOR, Type, is_subtype, list_of, tuple_of

Argument: TypeAlias = ast.expr | SugaredValue


class Arguments:
    """The arguments of a call, compiled when the expected type is known."""

    def __init__(self, c: Context, args: Sequence[Argument], options: dict[str, Argument]) -> None:
        self.c = c
        self.args = list(args)
        self.options = options

    @classmethod
    def of(cls, c: Context, tree: ast.Call, first: Sequence[SimpleValue] = ()) -> Arguments:
        """Collects the arguments of a call, with `*t` unpacked, after those in `first`."""
        args: list[Argument] = list(first)
        for arg in tree.args:
            if isinstance(arg, ast.Starred):
                args += _spread(c, arg)
            else:
                args.append(arg)
        options: dict[str, Argument] = {}
        for keyword in tree.keywords:
            if keyword.arg is None:
                not_supported(
                    c.source, keyword.value, "**kwargs in calls aren't supported", "name each"
                )
            options[str(keyword.arg)] = keyword.value
        return cls(c, args, options)

    def value(self, tree: ast.AST, argument: Argument, hint: Type | None = None) -> SimpleValue:
        """Compiles one argument to a value of the graph."""
        if isinstance(argument, ast.expr):
            return value(self.c, argument, hint)
        return self.c.as_value(tree, argument)

    def values(self, tree: ast.AST) -> tuple[list[SimpleValue], dict[str, SimpleValue]]:
        """Compiles all arguments, in the order of the program."""
        args = [self._list_or_value(tree, arg) for arg in self.args]
        options = {
            name: self._list_or_value(tree, argument) for name, argument in self.options.items()
        }
        return args, options

    def _list_or_value(self, tree: ast.AST, argument: Argument) -> SimpleValue:
        """Turns a tuple of one type into a list, as operators take it: x.view((2, 3))."""
        sugared = expression(self.c, argument) if isinstance(argument, ast.expr) else argument
        if isinstance(sugared, SugaredTupleValue) or (
            isinstance(sugared, PythonValue) and isinstance(sugared.object, (tuple, list))
        ):
            items = (
                sugared.items
                if isinstance(sugared, SugaredTupleValue)
                else [PythonValue(x, True) for x in sugared.object]
            )
            values = [self.c.as_value(tree, item) for item in items]
            same = {x.type for x in values}
            if len(same) == 1:
                return make_list(self.c, tree, values)
            types = tuple_of(*[x.type for x in values])
            return self.c.builder.prim(tree, "prim::TupleConstruct", values, types)
        return self.c.as_value(argument if isinstance(argument, ast.expr) else tree, sugared)


def _spread(c: Context, starred: ast.Starred) -> list[Argument]:
    sugared = expression(c, starred.value)
    if isinstance(sugared, SugaredTupleValue):
        return list(sugared.items)
    spread = c.as_value(starred.value, sugared)
    if spread.type.kind == "List" and c.inside_engine:  # x.expand(*sizes): as the list that it is
        return [spread]
    if spread.type.kind != "Tuple":
        not_supported(
            c.source,
            starred,
            f"*args in calls aren't supported for a value of type {spread.type}",
            "pass the elements one by one, or a tuple, whose length is known",
        )
    return [*c.builder.node(starred, "prim::TupleUnpack", [spread], spread.type.inner).outputs]


def match(
    c: Context,
    tree: ast.AST,
    name: str,
    parameters: Sequence[Parameter],
    arguments: Arguments,
    lenient: bool = False,
) -> list[SimpleValue]:
    """Returns the values for all parameters in order. Raises: CompileError with PyTorch's message."""
    text = f"{name}({', '.join(map(str, parameters))})"
    positional = [parameter for parameter in parameters if not parameter.keyword_only]
    if len(arguments.args) > len(positional):
        c.fail(
            tree,
            f"{text}:\nExpected at most {len(positional)} argument(s) but found "
            f"{len(arguments.args)} positional argument(s)",
        )
    options = dict(arguments.options)
    inputs: list[SimpleValue] = []
    for i, parameter in enumerate(parameters):
        if i < len(arguments.args) and not parameter.keyword_only:
            actual = arguments.value(tree, arguments.args[i], parameter.of)
        elif parameter.name in options:
            actual = arguments.value(tree, options.pop(parameter.name), parameter.of)
        elif parameter.has_default:
            actual = constant_of(c, tree, parameter.default, parameter.of)
        else:
            raise c.fail(tree, f"{text}:\nArgument {parameter.name} not provided")
        if lenient and parameter.of == FLOAT and actual.type == INT:
            actual = c.builder.call(tree, "aten::Float", [actual])
        actual = c.fitted(tree, actual, parameter.of)
        if not is_subtype(actual.type, parameter.of):
            c.fail(
                tree,
                f"{text}:\nExpected a value of type '{parameter.of}' for argument '{parameter.name}' but "
                f"instead found type '{actual.type}'",
                _instead(c, parameter.of, actual),
            )
        inputs.append(actual)
    if options:
        c.fail(tree, f"{text}:\nUnknown keyword argument '{next(iter(options))}'")
    return inputs


def _instead(c: Context, expected: Type, actual: SimpleValue) -> str:
    hint = c.builder.argument_hints.of_call([actual])
    if hint or expected not in (INT, FLOAT):
        return hint
    return f"Hint: write {expected}(...)" if actual.type.kind in ("Tensor", "int", "float") else ""


def constant_of(c: Context, tree: ast.AST, constant: Any, hint: Type | None = None) -> SimpleValue:
    """Converts a Python constant (numbers, strings, tuples and lists of them) to a value of the graph."""
    if can_be_constant(constant):
        return c.builder.constant(tree, constant)
    if isinstance(constant, (tuple, list)):
        hinted = hint is not None and hint.kind == "List"
        values = [constant_of(c, tree, element) for element in constant]
        if hinted or isinstance(constant, list):
            element = hint.element if hint is not None and hinted else None
            type = list_of(element or (values[0].type if values else TENSOR))
            return c.builder.prim(tree, "prim::ListConstruct", values, type)
        type = tuple_of(*[value.type for value in values])
        return c.builder.prim(tree, "prim::TupleConstruct", values, type)
    if isinstance(constant, dict) and hint is not None:
        pairs = [constant_of(c, tree, x) for pair in constant.items() for x in pair]
        return c.builder.prim(tree, "prim::DictConstruct", pairs, hint)
    raise c.fail(tree, f"a {type_name(constant)} cannot be a constant of compiled code")


def type_name(object_: object) -> str:
    """Returns the name of a Python object's class."""
    return type(object_).__name__
