"""generated/overload_table.cpp: PyTorch's overloads that one operator combines here, and aliases.

The engine has `sum(self, dim=None, keepdim=False, *, dtype=None)`, PyTorch `sum` and `sum.dim_IntList`.
Graphs call PyTorch's overloads (csrc/jit/schema_matching/overload.h).
"""

from __future__ import annotations

import schema_tables
from model import Operator

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/overloads.py. Do not edit.\n"


def overload_constants(op: Operator) -> list[str]:
    """Return the schemas of the overloads of an operator."""
    lines: list[str] = []
    for i, text in enumerate(op.overloads):
        name, overload, arguments, results = schema_tables.parse_schema(text)
        parts = (arguments, results)
        lines += schema_tables.constants(f"{op.cpp_name}_{i}", text, (name, overload), *parts)
    return lines


def rows(op: Operator) -> list[str]:
    """Return rows of an operator, one per overload: the operator, the schema, and values of arguments that it lacks."""
    defaults = ", ".join(f'{{"{name}", {value}}}' for name, value in op.overload_defaults)
    return [
        f'    {{"{op.full_name}", {op.cpp_name}_{i}_schema, {{{defaults}}}}},'
        for i in range(len(op.overloads))
    ]


def alias_rows(ops: list[Operator]) -> list[str]:
    """Return rows of aliases: `{"aten::absolute", "aten::abs"}`."""
    pairs = {
        (alias if "::" in alias else f"aten::{alias}", f"aten::{op.name}")
        for op in ops
        for alias in (*op.aliases, *op.script_aliases)
    }
    return [f'      {{"{alias}", "{name}"}},' for alias, name in sorted(pairs)]


def table_cpp(ops: list[Operator]) -> str:
    """Return overload_table() of csrc/jit/schema_matching/overload.h; the rows of an operator are adjacent."""
    lines = [HEAD, '#include "generated/schema_types.h"']
    lines += ['#include "jit/schema_matching/overload.h"\n', "namespace uh::jit {", "namespace {\n"]
    lines += [line for op in ops for line in overload_constants(op)]
    lines.append("\n}  // namespace\n")
    lines.append("const std::vector<OverloadRow>& overload_table() {")
    lines.append("  static const auto* table = new std::vector<OverloadRow>{")
    lines += [row for op in ops for row in rows(op)]
    lines.append("  };\n  return *table;\n}\n")
    lines.append("const OperatorAliases& operator_aliases() {")
    lines.append("  static const auto* table = new OperatorAliases{")
    lines += alias_rows(ops)
    lines.append("  };\n  return *table;\n}\n\n}  // namespace uh::jit\n")
    return "\n".join(lines)
