"""Dispatch by kind of AST node: the modules that compile expressions and statements register here."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

from engine.jit.frontend.environment import Context, Exit
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.sugared_values import SimpleValue, SugaredValue
from engine.jit.types.jit_type import Type

Made = TypeVar("Made", bound=Callable[..., Any])

_EXPRESSIONS: dict[type[ast.AST], Callable[[Context, Any, Type | None], SugaredValue]] = {}
_STATEMENTS: dict[type[ast.AST], Callable[[Context, Any], Exit]] = {}

# Unsupported syntax of Python: its name, and what to write instead.
_NOT_SUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lambda: ("Lambda aren't supported", "define a function with `def` and call it by name"),
    ast.Yield: ("Yield aren't supported", "append to a list and return it"),
    ast.YieldFrom: ("YieldFrom aren't supported", "append to a list and return it"),
    ast.Await: ("Await aren't supported", "call the function, without `await`"),
    ast.Set: ("Set aren't supported", "use a list, or a Dict whose values are True"),
    ast.SetComp: ("SetComp aren't supported", "use a list, or a Dict whose values are True"),
    ast.NamedExpr: (
        "NamedExpr aren't supported",
        "assign in a separate statement before this one",
    ),
    ast.Starred: ("Starred aren't supported here", "name every element: a, b, c"),
    ast.FunctionDef: (
        "function definitions aren't supported",
        "define the function outside and call it",
    ),
    ast.AsyncFunctionDef: (
        "async functions aren't supported",
        "define a function outside, without `async`",
    ),
    ast.ClassDef: (
        "class definitions aren't supported",
        "define the class outside, as a NamedTuple",
    ),
    ast.Try: (
        "try blocks aren't supported",
        "test the condition with `if` before, or catch outside",
    ),
    ast.Import: ("imports aren't supported", "import at the top of the file"),
    ast.ImportFrom: ("imports aren't supported", "import at the top of the file"),
    ast.Global: (
        "global variables aren't supported",
        "take the value as an argument, and return it",
    ),
    ast.Nonlocal: (
        "nonlocal variables aren't supported",
        "take the value as an argument, and return it",
    ),
    ast.AsyncWith: (
        "async with statements aren't supported",
        "put it around the call of this function",
    ),
    ast.AsyncFor: ("async for loops aren't supported", "write a plain `for`"),
    ast.Match: ("match statements aren't supported", "write if/elif/else"),
}
if hasattr(ast, "TryStar"):
    _NOT_SUPPORTED[ast.TryStar] = _NOT_SUPPORTED[ast.Try]


def compiles(*kinds: type[ast.AST]) -> Callable[[Made], Made]:
    """Registers the function that compiles these kinds of nodes of the AST."""

    def register(function: Made) -> Made:
        for kind in kinds:
            table: dict[Any, Any] = _STATEMENTS if issubclass(kind, ast.stmt) else _EXPRESSIONS
            table[kind] = function
        return function

    return register


def reject_node(c: Context, tree: ast.AST) -> None:
    """Raises NotSupportedError for a node that no function is registered for."""
    name = type(tree).__name__
    message, instead = _NOT_SUPPORTED.get(
        type(tree), (f"{name} aren't supported", "write it without")
    )
    not_supported(c.source, Keyword(tree), message, instead)


class Keyword(ast.AST):
    """The first word of a statement: the carets are under it when the whole statement is not supported."""

    def __init__(self, tree: ast.AST) -> None:
        super().__init__()
        self.lineno: int = getattr(tree, "lineno", 1)
        self.col_offset: int = getattr(tree, "col_offset", 0)
        self.end_lineno: int = self.lineno
        lengths = {
            ast.FunctionDef: 3,
            ast.ClassDef: 5,
            ast.Try: 3,
            ast.For: 3,
            ast.While: 5,
            ast.With: 4,
        }
        if isinstance(tree, ast.stmt) and type(tree) in lengths:
            self.end_col_offset = self.col_offset + lengths[type(tree)]
        else:
            same = getattr(tree, "end_lineno", None) == self.lineno
            end = getattr(tree, "end_col_offset", None)
            self.end_col_offset = end if same and end else self.col_offset + 1


def expression(c: Context, tree: ast.expr, hint: Type | None = None) -> SugaredValue:
    """Compiles an expression; `hint` is the expected type, for `[]`, `{}` and None."""
    compile_expression = _EXPRESSIONS.get(type(tree))
    if compile_expression is None:
        reject_node(c, tree)
        raise AssertionError
    return compile_expression(c, tree, hint)


def value(c: Context, tree: ast.expr, hint: Type | None = None) -> SimpleValue:
    """Compiles an expression to a value of the graph."""
    return c.as_value(tree, expression(c, tree, hint))


def statement(c: Context, tree: ast.stmt) -> Exit:
    """Compiles a statement and returns how it ends."""
    compile_statement = _STATEMENTS.get(type(tree))
    if compile_statement is None:
        reject_node(c, tree)
        raise AssertionError
    return compile_statement(c, tree)
