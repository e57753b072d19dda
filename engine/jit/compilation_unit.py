"""Programs given as text: `jit.CompilationUnit` and `module.define`."""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
import textwrap
import typing
from collections.abc import Mapping
from types import FrameType
from typing import Any

import engine
from engine.jit.frontend import CompileError
from engine.jit.frontend.parsing import parse
from engine.jit.runtime.futures import Future
from engine.jit.scripting import script
from engine.tensor import Tensor

_numbers = itertools.count()


def functions_in(text: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Compiles the definitions in a source string to Python functions whose globals are these names.

    Raises: CompileError for statements other than function definitions, and for invalid Python.
    """
    text = textwrap.dedent(text)
    try:
        tree = parse(text)
    except (SyntaxError, ValueError) as error:  # ValueError: a null byte
        raise CompileError(f"jit: the text is not Python: {error}") from None
    other = next(
        (statement for statement in tree.body if not isinstance(statement, ast.FunctionDef)), None
    )
    if other is not None:
        raise CompileError(
            f"jit: line {other.lineno} of the text is not a function; it holds `def`s and nothing else"
        )
    name = f"<unit {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {**_annotations(), **names}
    exec(compile(tree, name, "exec"), space)  # definitions only: no statement of the source runs
    return {
        statement.name: space[statement.name]
        for statement in tree.body
        if isinstance(statement, ast.FunctionDef)
    }


def _annotations() -> dict[str, Any]:
    typing_names = ("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union")
    own = {"engine": engine, "torch": engine, "Tensor": Tensor, "Future": Future}
    return {word: getattr(typing, word) for word in typing_names} | own


class CompilationUnit:
    """The compiled functions of a source string, which may use the names in scope where it is created.

    >>> from engine import jit, ones
    >>> unit = jit.CompilationUnit('''
    ... def twice(x):
    ...     return x + x
    ... ''')
    >>> unit.twice(ones(2))
    tensor([2., 2.])
    """

    def __init__(self, lang: str | None = None) -> None:
        self._functions: dict[str, Any] = {}
        if lang is not None:
            self._define(lang, sys._getframe(1))

    def define(self, lang: str) -> None:
        """Adds the functions of another source string. Raises: RuntimeError for unsupported Python."""
        self._define(lang, sys._getframe(1))

    def _define(self, lang: str, frame: FrameType) -> None:
        for name, fn in functions_in(lang, frame.f_globals | frame.f_locals).items():
            self._functions[name] = script(fn)

    def get_functions(self) -> list[Any]:
        """Returns all functions of the unit."""
        return list(self._functions.values())

    def __getattr__(self, name: str) -> Any:
        function = self.__dict__.get("_functions", {}).get(name)
        if function is None:
            raise AttributeError(f"the unit has no function '{name}'")
        return function
