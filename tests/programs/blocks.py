"""Programs without blocks: each statement of a loop, a branch or a `with` on its own.

The first difference is then found at the statement that makes it, not at the end of its block.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tests.programs.grammar import Session


def without_blocks(lib: Any, text: str) -> str:
    """The statements that `lib` runs, one after the other. An error ends the blocks around its statement."""
    unrolled = _Unrolled(lib)
    for node in ast.parse(text).body:
        unrolled.run(node, [])
    return "\n".join(unrolled.statements) + "\n"


class _Unrolled:
    def __init__(self, lib: Any) -> None:
        self.session = Session(lib)
        self.statements: list[str] = []
        self.loops = 0

    def run(self, node: ast.stmt, heads: list[str]) -> bool:
        """Runs a statement within these heads of `with`; False after an error."""
        if isinstance(node, ast.With):
            head = f"with {', '.join(map(ast.unparse, node.items))}:"
            return self.run_all(node.body, [*heads, head])
        if isinstance(node, ast.If):
            name = self.fresh("condition")
            if not self.add(f"{name} = bool({ast.unparse(node.test)})", heads):
                return False
            return not self.session.names[name] or self.run_all(node.body, heads)
        if isinstance(node, ast.For):
            return self.run_loop(node, heads)
        return self.add(ast.unparse(node), heads)

    def run_loop(self, node: ast.For, heads: list[str]) -> bool:
        name = self.fresh("items")
        if not self.add(f"{name} = list({ast.unparse(node.iter)})", heads):
            return False
        target = ast.unparse(node.target)
        return all(
            self.add(f"{target} = {name}[{number}]", heads) and self.run_all(node.body, heads)
            for number in range(len(self.session.names[name]))
        )

    def run_all(self, nodes: Sequence[ast.stmt], heads: list[str]) -> bool:
        return all(self.run(node, heads) for node in nodes)

    def add(self, statement: str, heads: list[str]) -> bool:
        for head in reversed(heads):
            statement = head + "\n" + "\n".join("    " + line for line in statement.split("\n"))
        self.statements.append(statement)
        return self.session.run(statement) is None

    def fresh(self, word: str) -> str:
        self.loops += 1
        return f"{word}{self.loops}"
