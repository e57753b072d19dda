"""Programs given as text: `jit.CompilationUnit` and `module.define`."""

from __future__ import annotations

import ast
import itertools
import linecache
import textwrap
from typing import Any

_numbers = itertools.count()


def functions_in(text: str) -> dict[str, Any]:
    """The functions that a text defines, as Python's. Raises: RuntimeError where there is anything
    but functions in it, and SyntaxError for what is no Python."""
    text = textwrap.dedent(text)
    tree = ast.parse(text)
    other = next((one for one in tree.body if not isinstance(one, ast.FunctionDef)), None)
    if other is not None:
        raise RuntimeError(
            f"jit: line {other.lineno} of the text is no function; it holds `def`s and nothing else"
        )
    name = f"<unit {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    import engine

    space: dict[str, Any] = {"torch": engine, "engine": engine, **_annotations()}
    exec(compile(tree, name, "exec"), space)  # definitions only: nothing of the text runs
    return {one.name: space[one.name] for one in tree.body if isinstance(one, ast.FunctionDef)}


def _annotations() -> dict[str, Any]:
    import typing

    from engine.jit.futures import Future
    from engine.tensor import Tensor

    words = ("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union")
    return {word: getattr(typing, word) for word in words} | {"Tensor": Tensor, "Future": Future}


class CompilationUnit:
    """Compiled functions of a text.

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
            self.define(lang)

    def define(self, lang: str) -> None:
        """Adds the functions of another text. Raises: RuntimeError for what is not in the subset."""
        from engine.jit import script

        for name, fn in functions_in(lang).items():
            self._functions[name] = script(fn)

    def get_functions(self) -> list[Any]:
        """All of its functions."""
        return list(self._functions.values())

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            raise AttributeError(f"the unit has no function '{name}'")
        return found
