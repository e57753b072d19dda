"""generated/pointwise_table.h and pointwise_<n>.cpp: a loop per expression and element type.

An expression is compiled as a C++ lambda over the compute type `T` of its operands; the loops
themselves (contiguous, broadcast scalar, strided) are in csrc/ops/kernel/loops.h.
"""

from __future__ import annotations

import re

from model import Operator

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/pointwise.py. Do not edit.\n"
CHUNKS = 6  # translation units per instruction set, so that a build can use every core

DTYPES = [  # order of UH_DTYPES: enumerator, C++ type, category
    ("kBool", "bool", "bool"),
    ("kUInt8", "uint8_t", "int"),
    ("kInt8", "int8_t", "int"),
    ("kInt16", "int16_t", "int"),
    ("kInt32", "int32_t", "int"),
    ("kInt64", "int64_t", "int"),
    ("kFloat16", "Half", "float"),
    ("kBFloat16", "BFloat16", "float"),
    ("kFloat32", "float", "float"),
    ("kFloat64", "double", "float"),
]
# Which categories an expression is compiled for unless the entry says otherwise.
CATEGORIES = {
    "arithmetic": {"int", "float"},
    "float": {"float"},
    "compare": {"bool", "int", "float"},
    "logical": {"bool", "int", "float"},
    "integral": {"bool", "int"},
    "where": {"bool", "int", "float"},
}
RESULT_BOOL = {"compare", "logical"}


def rows(ops: list[Operator]) -> list[Operator]:
    """One operator per table row: the functional form."""
    return [op for op in ops if op.pointwise and op.form == "functional"]


def operands(op: Operator) -> list[str]:
    return [a.name for a in op.arguments if a.type in ("Operand", "Tensor") and a.name != "out"]


def params(op: Operator) -> list[str]:
    return [a.name for a in op.arguments if a.type in ("Scalar", "Scalar?")]


def expression(op: Operator, category: str) -> str:
    """The expression for one dtype category, or "" when the operator does not exist there."""
    assert op.pointwise
    if category in op.pointwise.variants:
        return op.pointwise.variants[category]
    return op.pointwise.expr if category in CATEGORIES[op.pointwise.promotion] else ""


def table_h(ops: list[Operator]) -> str:
    """The row of every pointwise operator, and the declarations of the per-ISA loop tables."""
    table = rows(ops)
    lines = [HEAD, "#pragma once\n", '#include "ops/kernel/pointwise.h"\n', "namespace uh {\n"]
    lines.append("inline constexpr PointwiseOp kPointwise[] = {")
    for op in table:
        assert op.pointwise
        kind = op.pointwise.promotion.capitalize()
        lines.append(
            f'    {{"{op.name}", {op.pointwise.index}, Promotion::k{kind}, {len(operands(op))}}},'
        )
    lines.append("};\n\n}  // namespace uh\n")
    return "\n".join(lines)


def _uses(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _loop(op: Operator, enum: str, ctype: str, category: str) -> str:
    assert op.pointwise
    text = expression(op, category)
    promotion = op.pointwise.promotion
    out = "bool" if promotion in RESULT_BOOL else ctype
    names = operands(op)
    inputs = [f"compute_t<{ctype}> {n}" for n in names]
    types = [ctype] * len(names)
    if promotion == "where":
        inputs[0] = f"bool {names[0]}"
        types[0] = "bool"
    unused = [f"(void){n};" for n in names if not _uses(text, n)]
    setup = [
        f"  const auto {p} = q.get<T>({i});\n  const bool has_{p} = q.has({i});\n  (void){p}; (void)has_{p};\n"
        for i, p in enumerate(params(op))
    ]
    name = f"{op.name}_{ctype.removesuffix('_t').lower()}"
    return (
        f"void {name}(char* const* data, const int64_t* strides, int64_t n, const Params& q) {{\n"
        f"  using T [[maybe_unused]] = compute_t<{ctype}>;\n  (void)q;\n{''.join(setup)}"
        f"  loop<{out}, {', '.join(types)}>(data, strides, n, [=, &q]({', '.join(inputs)}) {{ "
        f"{' '.join(unused)} return {text}; }});\n}}\n"
    )


def chunk_cpp(ops: list[Operator], chunk: int) -> str:
    """The loops of every CHUNKS-th operator, and the function that enters them into a table."""
    lines = [
        HEAD,
        '#include "ops/kernel/loops.h"\n#include "ops/kernel/math.h"\n#include "ops/kernel/pointwise.h"\n',
        "namespace uh::UH_ISA {\nnamespace {\n",
    ]
    entries = []
    for op in rows(ops)[chunk::CHUNKS]:
        assert op.pointwise
        for i, (enum, ctype, category) in enumerate(DTYPES):
            if not expression(op, category):
                continue
            lines.append(_loop(op, enum, ctype, category))
            name = f"{op.name}_{ctype.removesuffix('_t').lower()}"
            entries.append(f"  table[{op.pointwise.index}][{i}] = {name};")
    lines.append("}  // namespace\n")
    lines.append(f"void enter_pointwise_{chunk}(LoopTable& table) {{")
    lines += entries
    lines.append("}\n\n}  // namespace uh::UH_ISA\n")
    return "\n".join(lines)


def tables_cpp(ops: list[Operator]) -> str:
    """Fills the table of one instruction set from its chunks."""
    calls = "".join(f"    enter_pointwise_{c}(*t);\n" for c in range(CHUNKS))
    declared = "".join(f"void enter_pointwise_{c}(LoopTable& table);\n" for c in range(CHUNKS))
    return (
        f'{HEAD}\n#include "ops/kernel/pointwise.h"\n\nnamespace uh::UH_ISA {{\n\n{declared}\n'
        "const LoopTable& pointwise_loops() {\n  static const LoopTable* const table = [] {\n"
        f"    auto* t = new LoopTable({len(rows(ops))});\n{calls}    return t;\n  }}();\n  return *table;\n}}\n\n"
        "}  // namespace uh::UH_ISA\n"
    )
