"""generated/fused_table.cpp: every pointwise operator as a step of fused groups.

A step runs the operator's eager loop, so a row has that loop and the roles of the schema's arguments in it.
"""

from __future__ import annotations

import json

import formula
import postfix
from expression import Call, walk
from model import Operator
from pointwise import PARAMETERS, RESULT_BOOL, operands, params, parsed, rows

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/fused.py. Do not edit.\n"


def roles(op: Operator) -> str:
    """Return for each argument of the schema 'o' for an operand of the loop, 'p' for a parameter."""
    read = operands(op)
    letters = {a.name: "o" if a.name in read else "p" for a in op.arguments}
    unknown = [a.name for a in op.arguments if a.name not in read and a.type not in PARAMETERS]
    assert not unknown, f"{op.schema}: {unknown} are neither operands nor numbers"
    return "".join(letters[a.name] for a in op.arguments)


def refuses_zero(op: Operator) -> bool:
    """Return True if its integer loops report divisions by zero, which a step cannot."""
    return any(
        isinstance(node, Call) and node.helper.zero_division
        for tree in (parsed(op, "int"), parsed(op, "bool"))
        if tree
        for node in walk(tree)
    )


def postfix_of(op: Operator, floats: bool) -> str:
    """Return its expression for machine code (postfix.py), if it maps floats to floats and has the default loop."""
    assert op.pointwise
    tree = parsed(op, "float")
    special = op.pointwise.loop != "loop" or op.pointwise.promotion in RESULT_BOOL | {"where"}
    if special or not tree:
        return ""
    names = {name: f"o{i}" for i, name in enumerate(operands(op))}
    for i, p in enumerate(params(op)):
        names[f"has_{p.name}"] = f"h{i}"
        if p.type.startswith(("Scalar", "float")):
            names[p.name] = f"p{i}"
    return postfix.postfix(tree, names, floats)


def table_cpp(ops: list[Operator]) -> str:
    """Return step_operators() of csrc/jit/fused/step_operators.h."""
    steps = sorted(rows(ops), key=lambda op: op.full_name.encode())
    lines = [HEAD, '#include "jit/fused/step_operators.h"\n']
    lines += [f'#include "generated/pointwise/{f}.h"' for f in sorted({op.family for op in steps})]
    lines.append("\nnamespace uh::jit::fused {\n")
    lines.append("std::span<const StepOperator> step_operators() {")
    lines.append("  static constexpr StepOperator table[] = {")
    for op in steps:
        text = json.dumps(formula.of(op))
        zero = "true" if refuses_zero(op) else "false"
        simple = f'"{postfix_of(op, True)}", "{postfix_of(op, False)}"'
        row = f'"{op.full_name}", &k_{op.cpp_name}, "{roles(op)}", {text}, {simple}, {zero}'
        lines.append(f"    {{{row}}},")
    lines.append("  };\n  return table;\n}\n\n}  // namespace uh::jit::fused\n")
    return "\n".join(lines)
