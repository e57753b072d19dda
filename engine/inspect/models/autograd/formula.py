"""The `gradient:` of an operator's yaml entry: what its node computes, argument by argument."""

from __future__ import annotations

from engine.inspect.models._declaration import gradient_of
from engine.inspect.models.autograd.boxes import FormulaRow


def formula(op: str) -> tuple[FormulaRow, ...]:
    """The gradient formulas of the operator of this full name; none where it declares none."""
    return tuple(FormulaRow(arguments, text) for arguments, text in gradient_of(op))
