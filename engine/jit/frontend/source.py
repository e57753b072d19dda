"""The source of a function: its text in the file, with tokens and AST at their positions."""

from __future__ import annotations

import ast
import inspect
import io
import json
import textwrap
import tokenize
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.jit.frontend.errors import CompileError
from engine.jit.frontend.parsing import parse


class SourceRange(NamedTuple):
    """A part of a file: lines count from 1, columns (of characters) from 0, ends are exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Source:
    """The text of one function, with its AST."""

    def __init__(self, file: str, first_line: int, text: str) -> None:
        self.file = file
        self.first_line = first_line
        self.text = text
        self.lines = text.splitlines() or [""]
        dedented = textwrap.dedent(text)
        self.margin = len(self.lines[0]) - len((dedented.splitlines() or [""])[0])
        self.tree = parse(dedented)
        self._dedented = dedented

    @cached_property
    def handle(self) -> int:
        """The native Source, which spans of nodes refer to."""
        handle = lib.uh_source_new(self.file.encode(), self.first_line, self.text.encode())
        if not handle:
            raise_last()
        self._owner = ffi.gc(
            ffi.new("uh_source *", handle), lambda cell: lib.uh_source_release(cell[0])
        )
        return int(handle)

    @property
    def function(self) -> ast.FunctionDef:
        """The definition. Raises: CompileError for any other source (`async def`)."""
        definition = self.tree.body[0]
        if not isinstance(definition, ast.FunctionDef):
            raise CompileError(f"jit.script: line {self.first_line} of {self.file} is not a `def`")
        return definition

    def span(self, tree: ast.AST) -> SourceRange:
        """Returns the position of an AST node in the file."""
        line: int = getattr(tree, "lineno", 1)
        end_line: int = getattr(tree, "end_lineno", None) or line
        column = self._column(line, getattr(tree, "col_offset", 0))
        end = self._column(end_line, getattr(tree, "end_col_offset", None) or 0)
        shift = self.first_line - 1
        return SourceRange(line + shift, column, end_line + shift, end)

    def _column(self, line: int, offset: int) -> int:
        """Converts a column of the AST, which counts bytes of the dedented text."""
        lines = self._dedented_lines
        text = lines[line - 1] if line - 1 < len(lines) else ""
        inside = text.encode()[:offset].decode("utf-8", "replace")
        return len(inside) + self.margin

    @cached_property
    def _dedented_lines(self) -> list[str]:
        return self._dedented.splitlines()

    def comment_of(self, line: int) -> str:
        """Returns the comment at the end of a line of the tree, without `#`; "" if there is none."""
        return self._comments.get(line, "")

    @cached_property
    def _comments(self) -> dict[int, str]:
        comments = {}
        for token in tokenize.generate_tokens(io.StringIO(self._dedented).readline):
            if token.type == tokenize.COMMENT:
                comments[token.start[0]] = token.string[1:].strip()
        return comments

    def tokens_json(self) -> str:
        """Returns [[kind, text, line, column, end_line, end_column], ...] for the AST event."""
        shift = self.first_line - 1
        tokens = [
            [
                tokenize.tok_name[token.exact_type],
                token.string,
                token.start[0] + shift,
                token.start[1] + self.margin,
                token.end[0] + shift,
                token.end[1] + self.margin,
            ]
            for token in tokenize.generate_tokens(io.StringIO(self._dedented).readline)
        ]
        return json.dumps(tokens)

    def tree_json(self) -> str:
        """Returns T = {"kind", "span": [line, column, end_line, end_column] or null, and each field: a T,
        a list of them, or a plain value}."""
        return json.dumps(self._as_json(self.function))

    def _as_json(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self._as_json(node) for node in tree]
        if not isinstance(tree, ast.AST):
            plain = isinstance(tree, (str, int, float, bool, type(None)))
            return tree if plain else repr(tree)
        fields: dict[str, Any] = {"kind": type(tree).__name__}
        fields["span"] = list(self.span(tree)) if hasattr(tree, "lineno") else None
        for name, field in ast.iter_fields(tree):
            if name != "ctx":
                fields[name] = self._as_json(field)
        return fields


def source_of(fn: Callable[..., Any]) -> Source:
    """Returns the source of a Python function. Raises: CompileError without a source, or for a
    lambda."""
    name = getattr(fn, "__name__", repr(fn))
    if name == "<lambda>":
        raise CompileError("jit.script: a lambda cannot be compiled; write it as a `def`")
    try:
        lines, first = inspect.getsourcelines(fn)
    except (OSError, TypeError) as error:
        raise CompileError(
            f"jit.script: the source of {name} cannot be read ({error}); the function has to be "
            "in a file"
        ) from None
    file = inspect.getsourcefile(fn) or "<unknown>"
    return Source(file, first, "".join(lines))
