"""The `gradient:` of an operator's yaml entry: the formulas of its node by argument."""

from __future__ import annotations

from engine.inspect.declarations import gradient_of
from engine.inspect.models.autograd.boxes import FormulaRow


def formula(op: str) -> tuple[FormulaRow, ...]:
    """Return the gradient formulas of the operator of this full name; () without any."""
    return tuple(FormulaRow(arguments, text) for arguments, text in gradient_of(op))
