"""Dependencies between cells: the input cells that feed an output cell, by one rule per operator.

    rule = rule_of("sum.dim_IntList")       # None: there is no rule
    recipe = rule(given, (1,))              # sum over x[1, 0], x[1, 1], ...

Rules are pure functions of sizes and arguments (core.py); they are tested against the engine itself:
change one input cell, see which output cells change.
"""

from __future__ import annotations

from engine.inspect.models._dependencies import arrange, indexed, matmul, optimizer, reduce, window
from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Described,
    Index,
    OpCall,
    Rule,
    Unknown,
    written,
)
from engine.inspect.models._dependencies.pointwise import is_pointwise, pointwise

__all__ = [
    "CellFormula",
    "CellInput",
    "Described",
    "Index",
    "OpCall",
    "Rule",
    "Unknown",
    "rule_of",
    "written",
]

RULES: dict[str, Rule] = {
    **reduce.RULES,
    **matmul.RULES,
    **window.RULES,
    **indexed.RULES,
    **arrange.RULES,
    **optimizer.RULES,
}
"""By the operator's name without overload, and without the `_` of its in-place form."""


def rule_of(name: str, view: bool = False) -> Rule | None:
    """Return the rule of an operator by its full name (`add_.Tensor`); `view`: the result shares
    memory."""
    op = base_name(name)
    if view:
        return arrange.same_memory
    if name.partition(".")[2] in ("other", "out") and op in ("max", "min"):
        return pointwise  # max(a, b) of two tensors
    for known in (op, op.removeprefix("special_")):
        if known in RULES:
            return RULES[known]
        if is_pointwise(known, name):
            return pointwise
    return None


def base_name(name: str) -> str:
    """Return `add` of `add_.Tensor`; names that begin with `_` keep that."""
    op = name.partition(".")[0]
    return op[:-1] if op.endswith("_") and not op.endswith("__") else op
