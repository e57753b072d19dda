"""Statements in which every tensor has one name, so that `lib.mean(x, 0, out=y)` shows that y is x."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from tests.programs.grammar import Session
from tests.programs.outcome import Difference, statements


class _WithOneName(ast.NodeTransformer):
    def __init__(self, session: Session) -> None:
        self.session = session
        self.names: dict[int, str] = {}
        for name, x in session.tensors().items():
            self.names.setdefault(id(x), name)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        name = self.names.get(id(self.session.names.get(node.id)), node.id)
        return ast.Name(name, node.ctx)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        # The result of what may return its operand.
        if node.arg == "out" and isinstance(node.value, (ast.Call, ast.Subscript)):
            name = self.names.get(id(self.session.value(ast.unparse(node.value))))
            if name:
                node.value = ast.Name(name, ast.Load())
        return self.generic_visit(node)  # type: ignore[return-value]


def with_one_name(lib: Any, text: str, difference: Difference) -> Difference:
    """The difference, its statement in terms of the first name of each tensor."""
    session = Session(lib)
    parts = statements(text)
    for part in parts[: parts.index(difference.statement)]:
        session.run(part)
    tree = _WithOneName(session).visit(ast.parse(difference.statement))
    return dataclasses.replace(difference, statement=ast.unparse(tree))
