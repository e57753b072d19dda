"""generated/saved_table.cpp: the arguments and results of an operator that its gradient formulas use.

A call's Node saves them, and the backward pass fails if one was written since. The compiler of graphs must
preserve that error (csrc/jit/group/saved_for_backward.h).
"""

from __future__ import annotations

from autograd import saved_values
from model import Operator

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/saved.py. Do not edit.\n"
TENSORS = {"tensor", "tensors", "operand", "result"}


def row(op: Operator) -> str:
    """Return the row of an operator: its name, a bit per saved argument, and true if a result is saved."""
    saved = {s.name: s.kind.partition(":")[0] for s in saved_values(op)}
    tensors = {name for name, kind in saved.items() if kind in TENSORS}
    bits = sum(1 << i for i, a in enumerate(op.arguments) if a.name in tensors)
    result = str("result" in saved.values()).lower()
    return f'    {{"{op.full_name}", 0x{bits:x}, {result}}},'


def table_cpp(ops: list[Operator]) -> str:
    """Return saved_table() of csrc/jit/group/saved_for_backward.h, sorted by name."""
    differentiable = sorted((op for op in ops if op.gradient), key=lambda op: op.full_name.encode())
    lines = [HEAD, '#include "jit/group/saved_for_backward.h"\n', "namespace uh::jit {\n"]
    lines.append("std::span<const SavedByOperator> saved_table() {")
    lines.append("  static constexpr SavedByOperator table[] = {")
    lines += [row(op) for op in differentiable]
    lines.append("  };\n  return table;\n}\n\n}  // namespace uh::jit\n")
    return "\n".join(lines)
