"""Reductions that one fold computes: generated/folds.h, generated/fold_table.cpp, generated/opencl_folds.cpp and
generated/pointwise/folds.cpp.

The yaml key `fold`: `{by: sum}` folds the elements, `of` the values of an expression; `divided` makes a sum a mean.
The eager kernel and the last step of fused groups (csrc/jit/fused/reduce.cpp) run the same fold.
"""

from __future__ import annotations

import expression_cpp
import expression_opencl
from expression import Node, Operand, Scope, Type, parse
from model import Operator
from pointwise import LOOP_HEADERS, all_helpers

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/folds.py. Do not edit.\n"


def _folded(ops: list[Operator]) -> list[Operator]:
    return sorted((op for op in ops if op.fold), key=lambda op: op.full_name.encode())


def _parsed(op: Operator, text: str, category: str) -> Node:
    origin = f"{op.family}.yaml:{op.line}: {op.full_name}, fold of {category}"
    names: dict[str, Node] = {"self": Operand(Type.ELEMENT, "self")}
    return parse(text, Scope(origin, names, all_helpers(), category), Type.ELEMENT)


def _expression(op: Operator, text: str, category: str) -> str:
    return expression_cpp.cpp(_parsed(op, text, category), category)


def folds_h(ops: list[Operator]) -> str:
    """Return a FoldOperator for each entry with the key."""
    lines = [
        HEAD,
        "#pragma once\n",
        '#include "backend/cpu/reduce/reducer.h"\n',
        "namespace uh {\n",
    ]
    for op in _folded(ops):
        assert op.fold
        fields = [f'.name = "{op.full_name}"', f".by = FoldOp::k{op.fold.by.capitalize()}"]
        if op.fold.of:
            lines.append(f"UH_PER_ISA(FoldRow, {op.cpp_name}_folds)")
            fields.append(f".mapped = {op.cpp_name}_folds")
        if op.fold.divided:
            fields.append(".divided = true")
        lines.append(f"inline constexpr FoldOperator fold_{op.cpp_name}{{{', '.join(fields)}}};")
    lines.append("\n}  // namespace uh\n")
    return "\n".join(lines)


def table_cpp(ops: list[Operator]) -> str:
    """Return fold_operators() of csrc/backend/cpu/reduce/reducer.h, sorted by name."""
    names = ", ".join(f"fold_{op.cpp_name}" for op in _folded(ops))
    return (
        f'{HEAD}\n#include "generated/folds.h"\n\nnamespace uh {{\n\n'
        "std::span<const FoldOperator> fold_operators() {\n"
        f"  static constexpr FoldOperator table[] = {{{names}}};\n  return table;\n}}\n\n"
        "}  // namespace uh\n"
    )


def opencl_cpp(ops: list[Operator]) -> str:
    """folded_element() of csrc/backend/opencl/rows.h."""
    lines = [
        HEAD,
        '#include "backend/opencl/rows.h"',
        '#include "generated/folds.h"\n',
        "namespace uh::opencl {\n",
        "std::string_view folded_element(const FoldOperator& fold, bool doubles) {",
    ]
    for op in _folded(ops):
        if not op.fold or not op.fold.of:
            continue
        functions = {}
        for category in ("float", "double"):
            printer = expression_opencl.Printer(category)
            value = printer.element(_parsed(op, op.fold.of, "float"))
            name = "folded_" + op.full_name.replace(".", "_")
            function = f"T {name}(T self) {{\n  return {value};\n}}\n"
            text = "".join([*printer.used.values(), function])
            functions[category] = expression_opencl.literal(text)
        lines.append(f"  if (fold.mapped == {op.cpp_name}_folds)")
        lines.append(f"    return doubles ? {functions['double']} : {functions['float']};")
    lines.append('  return "";\n}\n\n}  // namespace uh::opencl\n')
    return "\n".join(lines)


def loops_cpp(ops: list[Operator]) -> str:
    """Return the folds of expressions, for each dtype that sums are computed in."""
    lines = [
        f'{HEAD}#ifdef __OPTIMIZE__\n#pragma GCC optimize("O3")\n#endif\n\n#include "backend/cpu/fold.h"',
        "".join(f'#include "backend/cpu/{name}.h"\n' for name in LOOP_HEADERS),
        "namespace uh::UH_ISA {\nnamespace {\n",
    ]
    mapped = [op for op in _folded(ops) if op.fold and op.fold.of]
    for op in mapped:
        assert op.fold
        for category, text in (("float", op.fold.of), ("int", op.fold.int_of or op.fold.of)):
            lines.append(
                f"template <class T>\nstruct {op.cpp_name}_of_{category} {{\n"
                "  using Element = T;\n  using Lane = T;\n"
                f"  static Lane apply(T self) {{ return {_expression(op, text, category)}; }}\n}};"
            )
    lines.append("\n}  // namespace\n")
    for op in mapped:
        assert op.fold
        fold = f"make_fold<{op.fold.by.capitalize()}, {op.cpp_name}_of"
        rows = "".join(
            f"    all.at(DType::k{dtype}) = {fold}_{category}<{ctype}>, {accumulator}>();\n"
            for dtype, category, ctype, accumulator in (
                ("Float32", "float", "float", "double"),
                ("Float64", "float", "double", "double"),
                ("Int64", "int", "int64_t", "int64_t"),
            )
        )
        lines.append(
            f"const FoldRow& {op.cpp_name}_folds() {{\n  static const FoldRow row = [] {{\n"
            f"    FoldRow all{{}};\n{rows}    return all;\n  }}();\n  return row;\n}}\n"
        )
    lines.append("}  // namespace uh::UH_ISA\n")
    return "\n".join(lines)


def kernel(op: Operator) -> str:
    """Return the CPU kernel: the fold over the dimensions that the call names."""
    types = {a.name: a.type for a in op.arguments}
    dim = {"": "std::nullopt", "int?": "as_dims(dim)"}.get(types.get("dim", ""), "dim")
    used = {"self", "dim"}
    parameters = ", ".join(a.cpp + (f" {a.name}" if a.name in used else "") for a in op.arguments)
    return (
        f"void {op.cpp_name}_fold({parameters}, const Tensor& result) "
        f"{{ run_fold(fold_{op.cpp_name}, self, {dim}, result); }}"
    )
