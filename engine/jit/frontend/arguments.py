"""What a call passes, and how it is matched with parameters."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from engine.jit.frontend.builder import can_be_constant
from engine.jit.frontend.dispatch import expression, value
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.expressions import make_list
from engine.jit.frontend.signatures import Parameter
from engine.jit.frontend.sugared_values import (
    ModuleValue,
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
)
from engine.jit.types.jit_type import FLOAT, INT, TENSOR, Type, is_subtype, list_of, tuple_of

Argument = ast.expr | SimpleValue | PythonValue | SugaredTupleValue | ModuleValue


class Arguments:
    """What a call passes, compiled when it is known what is wanted."""

    def __init__(self, c: Context, args: Sequence[Argument], options: dict[str, Argument]) -> None:
        self.c = c
        self.args = list(args)
        self.options = options

    @classmethod
    def of(cls, c: Context, tree: ast.Call, first: Sequence[SimpleValue] = ()) -> Arguments:
        """The arguments of a call, `*t` spread; `first` stand before them."""
        args: list[Argument] = list(first)
        for one in tree.args:
            if isinstance(one, ast.Starred):
                args += _spread(c, one)
            else:
                args.append(one)
        options: dict[str, Argument] = {}
        for keyword in tree.keywords:
            if keyword.arg is None:
                not_supported(
                    c.source, keyword.value, "**kwargs in calls aren't supported", "name each"
                )
            options[str(keyword.arg)] = keyword.value
        return cls(c, args, options)

    def value(self, tree: ast.AST, one: Argument, hint: Type | None = None) -> SimpleValue:
        """One argument as a value of the graph."""
        if isinstance(one, ast.expr):
            return value(self.c, one, hint)
        return self.c.as_value(tree, one)

    def values(self, tree: ast.AST) -> tuple[list[SimpleValue], dict[str, SimpleValue]]:
        """All of them, in the order of the program."""
        args = [self._list_or_value(tree, one) for one in self.args]
        options = {name: self._list_or_value(tree, one) for name, one in self.options.items()}
        return args, options

    def _list_or_value(self, tree: ast.AST, one: Argument) -> SimpleValue:
        """Tuples of one type are lists for operators: x.view((2, 3))."""
        found = expression(self.c, one) if isinstance(one, ast.expr) else one
        if isinstance(found, SugaredTupleValue) or (
            isinstance(found, PythonValue) and isinstance(found.object, (tuple, list))
        ):
            items = (
                found.items
                if isinstance(found, SugaredTupleValue)
                else [PythonValue(x, True) for x in found.object]
            )
            values = [self.c.as_value(tree, item) for item in items]
            same = {x.type for x in values}
            if len(same) == 1:
                return make_list(self.c, tree, values)
            types = tuple_of(*[x.type for x in values])
            return self.c.builder.prim(tree, "prim::TupleConstruct", values, types)
        return self.c.as_value(one if isinstance(one, ast.expr) else tree, found)


def _spread(c: Context, one: ast.Starred) -> list[Argument]:
    found = expression(c, one.value)
    if isinstance(found, SugaredTupleValue):
        return list(found.items)  # type: ignore[arg-type]
    made = c.as_value(one.value, found)
    if made.type.kind == "List" and c.inside_engine:  # x.expand(*sizes): as the list that it is
        return [made]
    if made.type.kind != "Tuple":
        not_supported(
            c.source,
            one,
            f"*args in calls aren't supported for a value of type {made.type}",
            "pass the elements one by one, or a tuple, whose length is known",
        )
    return [*c.builder.node(one, "prim::TupleUnpack", [made], made.type.inner).outputs]


def match(
    c: Context,
    tree: ast.AST,
    name: str,
    parameters: Sequence[Parameter],
    arguments: Arguments,
    lenient: bool = False,
) -> list[SimpleValue]:
    """The values for all parameters in order; CompileError as PyTorch words it."""
    text = f"{name}({', '.join(map(str, parameters))})"
    positional = [one for one in parameters if not one.keyword_only]
    if len(arguments.args) > len(positional):
        c.fail(
            tree,
            f"{text}:\nExpected at most {len(positional)} argument(s) but found "
            f"{len(arguments.args)} positional argument(s)",
        )
    options = dict(arguments.options)
    given: list[SimpleValue] = []
    for i, one in enumerate(parameters):
        if i < len(arguments.args) and not one.keyword_only:
            made = arguments.value(tree, arguments.args[i], one.of)
        elif one.name in options:
            made = arguments.value(tree, options.pop(one.name), one.of)
        elif one.has_default:
            made = constant_of(c, tree, one.default, one.of)
        else:
            raise c.fail(tree, f"{text}:\nArgument {one.name} not provided")
        if lenient and one.of == FLOAT and made.type == INT:
            made = c.builder.call(tree, "aten::Float", [made])
        made = c.fitted(tree, made, one.of)
        if not is_subtype(made.type, one.of):
            c.fail(
                tree,
                f"{text}:\nExpected a value of type '{one.of}' for argument '{one.name}' but "
                f"instead found type '{made.type}'",
                _instead(c, one.of, made),
            )
        given.append(made)
    if options:
        c.fail(tree, f"{text}:\nUnknown keyword argument '{next(iter(options))}'")
    return given


def _instead(c: Context, wanted: Type, made: SimpleValue) -> str:
    hint = c.builder.argument_hints.of_call([made])
    if hint or wanted not in (INT, FLOAT):
        return hint
    return f"Hint: write {wanted}(...)" if made.type.kind in ("Tensor", "int", "float") else ""


def constant_of(c: Context, tree: ast.AST, given: Any, hint: Type | None = None) -> SimpleValue:
    """A Python constant (numbers, texts, tuples and lists of them) as a value of the graph."""
    if can_be_constant(given):
        return c.builder.constant(tree, given)
    if isinstance(given, (tuple, list)):
        hinted = hint is not None and hint.kind == "List"
        values = [constant_of(c, tree, one) for one in given]
        if hinted or isinstance(given, list):
            element = hint.element if hint is not None and hinted else None
            type = list_of(element or (values[0].type if values else TENSOR))
            return c.builder.prim(tree, "prim::ListConstruct", values, type)
        type = tuple_of(*[one.type for one in values])
        return c.builder.prim(tree, "prim::TupleConstruct", values, type)
    if isinstance(given, dict) and hint is not None:
        pairs = [constant_of(c, tree, x) for pair in given.items() for x in pair]
        return c.builder.prim(tree, "prim::DictConstruct", pairs, hint)
    raise c.fail(tree, f"a {type_name(given)} cannot be a constant of compiled code")


def type_name(given: object) -> str:
    """The name of a Python object's class."""
    return type(given).__name__
