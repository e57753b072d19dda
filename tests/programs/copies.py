"""Differences that come from PyTorch's operators reading memory that they have written, or moved.

PyTorch does not find every overlap of operands and written memory; the result follows from its loops' order then.
Here it is as if the operands had been copied first. So a difference counts as that if PyTorch, given copies of the
operands in this one statement, has the engine's values.
"""

from __future__ import annotations

import ast
from typing import Any

from tests.programs.outcome import Difference, near, run, statements, tolerance_of

TENSORS = (ast.Name, ast.Call, ast.Subscript, ast.Attribute)


class _WithCopies(ast.NodeTransformer):
    """Copies what is read by operators that write, in place or into `out=`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        into_out = any(keyword.arg == "out" for keyword in node.keywords)
        if into_out or (isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_")):
            node.args = [_copied(argument) for argument in node.args]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        if isinstance(node.targets[0], ast.Subscript):
            node.value = _copied(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        self.generic_visit(node)
        node.value = _copied(node.value)
        return node


def _copied(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.List):
        return ast.List([_copied(element) for element in node.elts], node.ctx)
    if not isinstance(node, TENSORS):
        return node
    return ast.Call(ast.Attribute(node, "clone", ast.Load()), [], [])


def with_copies(statement: str) -> str:
    """The statement with copies of its operands."""
    return ast.unparse(ast.fix_missing_locations(_WithCopies().visit(ast.parse(statement))))


def computes_the_same_with_copies(
    ours: Any, theirs: Any, text: str, difference: Difference
) -> bool:
    """Return True if `theirs` has the values of `ours` when operands are copied in the statement that differs."""
    parts = statements(text)
    positions = [at for at, part in enumerate(parts) if part == difference.statement]
    for at in positions:
        copies = [*parts[:at], with_copies(parts[at])]
        if copies[at] == parts[at]:
            continue
        step = run(ours, "\n".join(parts[: at + 1]))[-1]
        other = run(theirs, "\n".join(copies))[-1]
        tolerance = tolerance_of(step.tensors)
        if (
            step.tensors.keys() == other.tensors.keys()
            and all(
                near(facts["values"], other.tensors[name]["values"], tolerance)
                for name, facts in step.tensors.items()
            )
            and near(step.seen, other.seen, tolerance)
        ):
            return True
    return False
