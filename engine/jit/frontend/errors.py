"""Errors of the front end: the reason, the source with carets, a hint."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from engine.jit.frontend.source import Source

_CONTEXT = 3  # lines of the program shown above the failing one


class CompileError(RuntimeError):
    """The program is invalid TorchScript: mismatched types, unknown names."""


class NotSupportedError(CompileError):
    """The program is Python that `jit.script` does not compile."""


class CallError(CompileError):
    """No overload of the operator accepts these arguments."""


def source_excerpt(source: Source, tree: ast.AST) -> str:
    """Returns the file, the line and the lines before it, with carets under the expression."""
    span = source.span(tree)
    lines = source.lines
    at = span.line - source.first_line
    out = [f'  File "{source.file}", line {span.line}']
    context = lines[max(0, at - _CONTEXT) : at + 1]
    indent = min((len(line) - len(line.lstrip()) for line in context if line.strip()), default=0)
    margin = "    "
    out += [margin + line[indent:] for line in context]
    last = len(lines[at]) if at < len(lines) else span.column + 1
    end = span.end_column if span.end_line == span.line else last
    carets = "~" * max(1, end - span.column)
    out.append(margin + " " * (span.column - indent) + carets + " <--- HERE")
    return "\n".join(out)


def fail(
    source: Source,
    tree: ast.AST,
    message: str,
    hint: str = "",
    kind: type[CompileError] = CompileError,
) -> NoReturn:
    """Raises `kind` with the message, the source with carets, and the hint."""
    raise kind(located_message(source, tree, message, hint))


def located_message(source: Source, tree: ast.AST, message: str, hint: str = "") -> str:
    """Formats an error: the message, the source with carets, and the hint on its own line."""
    last = f"\n{hint}" if hint else ""
    return f"\n{message}:\n{source_excerpt(source, tree)}{last}"


def not_supported(source: Source, tree: ast.AST, message: str, hint: str) -> NoReturn:
    """Raises NotSupportedError for Python that cannot be compiled."""
    fail(source, tree, message, f"Hint: {hint}", NotSupportedError)
