"""generated/pointwise/<family>.h and <family>_<n>.cpp: a loop per expression and element type.

An expression (expression.py) is compiled as a C++ lambda over the compute type `T` of its operands;
the loops themselves (contiguous, broadcast scalar, tiled) are in csrc/backend/cpu/loops.h. 16-bit
floats run the loop of floats (csrc/backend/cpu/widened.h) unless the entry says `widened: false`, or
`bits16`, an expression of their bits. Before that, short expressions run in blocks that stay in registers
(csrc/backend/cpu/blocks.h), where their operands allow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import expression_cpp
import helpers
import lists
from expression import (
    Binary,
    Call,
    Compare,
    Convert,
    HasParameter,
    Helper,
    Node,
    Operand,
    Parameter,
    Scope,
    Select,
    Type,
    Unary,
    parse,
    walk,
)
from model import Argument, DeclarationError, Operator

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/pointwise.py. Do not edit.\n"
CSRC = Path(__file__).parents[1]
CHUNK = 9  # operators per translation unit: builds are parallel, and an edit recompiles little

# (C++ type, category) of every element type.
DTYPES = [
    (str(ctype), str(kind).removeprefix("u")) for _, ctype, _, _, kind, _, _ in lists.dtypes(CSRC)
]
# Default categories that an expression is compiled for. Complex is not one: an entry has complex loops
# only with the key `complex`.
CATEGORIES = {
    "arithmetic": {"int", "float"},
    "float": {"float"},
    "compare": {"bool", "int", "float"},
    "logical": {"bool", "int", "float"},
    "integral": {"bool", "int"},
    "where": {"bool", "int", "float"},
}
# Schema type of a parameter -> its type in expressions. A Scalar has the compute type.
PARAMETERS = {
    "Scalar": Type.ELEMENT,
    "Scalar?": Type.ELEMENT,
    "float": Type.REAL,
    "float?": Type.REAL,
    "int": Type.INT,
    "bool": Type.BOOL,
}
RESULT_BOOL = {"compare", "logical"}
MAX_SHORT = 12  # operations of an expression that 16-bit floats compute in registers
SMALL_FLOATS = {"Half", "BFloat16"}


def rows(ops: list[Operator]) -> list[Operator]:
    """Return one operator per table row: the functional form."""
    return [op for op in ops if op.pointwise and op.form == "functional"]


def operands(op: Operator) -> list[str]:
    return [a.name for a in op.arguments if a.type in ("Operand", "Tensor") and a.name != "out"]


def params(op: Operator) -> list[Argument]:
    return [a for a in op.arguments if a.type in PARAMETERS]


@cache
def all_helpers() -> dict[str, Helper]:
    return helpers.load()


_TREES: dict[tuple[str, str], Node | None] = {}


def parsed(op: Operator, category: str) -> Node | None:
    """Return the expression for one dtype category; None if the operator does not support it."""
    key = op.cpp_name, category
    if key not in _TREES:
        _TREES[key] = _parse(op, category)
    return _TREES[key]


def _parse(op: Operator, category: str) -> Node | None:
    entry = op.pointwise
    assert entry
    text = entry.variants.get(category)
    if text is None and category in CATEGORIES[entry.promotion]:
        text = entry.expr
    if not text:
        return None
    names: dict[str, Node] = {n: Operand(Type.ELEMENT, n) for n in operands(op)}
    if entry.promotion == "where":
        first = operands(op)[0]
        names[first] = Operand(Type.BOOL, first)
    for p in params(op):
        names[p.name] = Parameter(PARAMETERS[p.type], p.name)
        names[f"has_{p.name}"] = HasParameter(Type.BOOL, p.name)
    origin = f"{op.family}.yaml:{op.line}: {op.full_name}, expression of {category}"
    real = category == "complex" and entry.complex_result == "real"
    result = Type.REAL if real else Type.ELEMENT
    if entry.promotion in RESULT_BOOL:
        result = Type.BOOL
    return parse(text, Scope(origin, names, all_helpers(), category), result)


def _result_strides(rule: str) -> str:
    return f"ResultStrides::k{rule.title().replace('_', '')}"


def family_h(ops: list[Operator]) -> str:
    """Return the declarations of one family's pointwise operators, which their kernels pass to the loop runner."""
    lines = [
        HEAD,
        "#pragma once\n",
        '#include "backend/cpu/pointwise.h"\n#include "ops/pointwise_checks.h"\n',
        "namespace uh {\n",
    ]
    for op in rows(ops):
        assert op.pointwise
        kind = op.pointwise.promotion.capitalize()
        more = {
            "real_result": op.pointwise.complex_result == "real" and "true",
            "promoting": op.pointwise.promoting and "true",
            "all_numbers": op.pointwise.all_numbers and "true",
            "exact_out": op.pointwise.exact_out and "true",
            "exact_number": op.pointwise.exact_number and "true",
            "number_strides": op.pointwise.number_strides
            and f"{{{', '.join(_result_strides(rule) for rule in op.pointwise.number_strides)}}}",
            "complex_strides": op.pointwise.complex_strides != "loop"
            and _result_strides(op.pointwise.complex_strides),
            "check": op.pointwise.check and f"checks::{op.pointwise.check}",
            "rejects_bool": op.pointwise.rejects == "bool" and "true",
            "rejects_complex": op.pointwise.rejects == "complex" and "true",
        }
        fields = "".join(f", .{key} = {value}" for key, value in more.items() if value)
        lines.append(f"UH_PER_ISA(LoopRow, {op.cpp_name}_loops)")
        lines.append(
            f"inline constexpr PointwiseOp k_{op.cpp_name}{{"
            f'.name = "{op.name}", .loops = {op.cpp_name}_loops, .promotion = Promotion::k{kind}{fields}}};'
        )
    lines.append("\n}  // namespace uh\n")
    return "\n".join(lines)


def suffix(ctype: str) -> str:
    """Return the part of a loop's name that names its element type."""
    return re.sub(r"\W", "_", ctype.removesuffix("_t").removeprefix("std::")).strip("_").lower()


def _bits(op: Operator, operand: str) -> str:
    """Return the expression over the bits of a 16-bit float, for operators with one operand."""
    assert op.pointwise
    names: dict[str, Node] = {operand: Operand(Type.ELEMENT, operand)}
    origin = f"{op.family}.yaml:{op.line}: {op.full_name}, bits16"
    node = parse(op.pointwise.bits16, Scope(origin, names, all_helpers(), "int"), Type.ELEMENT)
    return expression_cpp.cpp(node, "int")


def is_short(node: Node) -> bool:
    """Return True for a few operations, each of which is an instruction or two."""
    steps = list(_steps(node))
    return None not in steps and len(steps) <= MAX_SHORT


def _steps(node: Node) -> Iterator[Node | None]:
    """Yield the operations of an expression of floats, with those of helpers; None for one without an instruction."""
    for part in walk(node):
        if isinstance(part, Call):
            body = part.helper.float_body or part.helper.body
            if part.helper.native or part.helper.native_float:
                yield part
            elif body is None:
                yield None
            else:
                for _, bound in body.bindings:
                    yield from _steps(bound)
                yield from _steps(body.result)
        elif isinstance(part, (Unary, Binary, Compare, Select, Convert)):
            yield part


def _loop(op: Operator, ctype: str, category: str) -> str:
    node = parsed(op, category)
    assert op.pointwise
    assert node
    promotion = op.pointwise.promotion
    out = "bool" if promotion in RESULT_BOOL else ctype
    if category == "complex" and op.pointwise.complex_result == "real":
        out = f"{ctype}::Real"
    names = operands(op)
    inputs = [f"compute_t<{ctype}> {n}" for n in names]
    types = [ctype] * len(names)
    if promotion == "where":
        inputs[0] = f"bool {names[0]}"
        types[0] = "bool"
    used = {n.name for n in walk(node) if isinstance(n, Operand)}
    unused = [f"(void){n};" for n in names if n not in used]
    setup = [
        f"  const auto {p.name} = q.get<{expression_cpp.CPP_TYPES[PARAMETERS[p.type]]}>({i});\n"
        f"  const bool has_{p.name} = q.has({i});\n  (void){p.name}; (void)has_{p.name};\n"
        for i, p in enumerate(params(op))
    ]
    head = (
        f"void {op.cpp_name}_{suffix(ctype)}"
        "(char* const* data, const int64_t* strides, int64_t n, const Params& q) {\n"
    )
    if ctype in SMALL_FLOATS and op.pointwise.bits16:
        return (
            f"{head}  (void)q;\n  using T = uint16_t;\n"
            f"  loop<T, T>(data, strides, n, [](T {names[0]}) {{ return {_bits(op, names[0])}; }});\n}}\n"
        )
    expression = expression_cpp.cpp(node, category)
    if ctype in SMALL_FLOATS and op.pointwise.widened:
        if "<E>" in expression:
            raise DeclarationError(
                f"{op.family}.yaml:{op.line}: {op.full_name}: the expression depends on the stored "
                "type: say `widened: false`"
            )
        body = ""
        if op.pointwise.rounded:
            head = head.replace("Params& q", "Params& exact")
            body = f"  const Params q = exact.rounded<{ctype}>();\n"
        if out == ctype and promotion != "where" and is_short(node):
            body += (
                f"  using T [[maybe_unused]] = float;\n{''.join(setup)}"
                f"  if (in_blocks<{ctype}>(data, strides, n, q, "
                f"[=]({', '.join(f'float {n}' for n in names)}) __attribute__((always_inline)) {{ "
                f"{' '.join(unused)} return {expression}; }})) return;\n"
            )
        return (
            f"{head}{body}  widened<{ctype}, {out}, {len(names)}>"
            f"({op.cpp_name}_float, data, strides, n, q);\n}}\n"
        )
    return (
        f"{head}"
        f"  using T [[maybe_unused]] = compute_t<{ctype}>;\n"
        f"  using E [[maybe_unused]] = {ctype};\n  (void)q;\n{''.join(setup)}"
        f"  {op.pointwise.loop}<{out}, {', '.join(types)}>(data, strides, n, "
        f"[=, &q]({', '.join(inputs)}) __attribute__((always_inline)) {{ "
        f"{' '.join(unused)} return {expression}; }});\n}}\n"
    )


def chunks(ops: list[Operator]) -> list[list[Operator]]:
    """Split the pointwise operators of one family into translation units."""
    table = rows(ops)
    return [table[i : i + CHUNK] for i in range(0, len(table), CHUNK)]


# What expressions may use.
LOOP_HEADERS = ("blocks", "functions", "loops", "pointwise", "special", "special_loops", "widened")


def chunk_cpp(table: list[Operator]) -> str:
    """Return the loops of some operators, and for each operator the row that lists them by dtype."""
    lines = [
        HEAD,
        "".join(f'#include "backend/cpu/{name}.h"\n' for name in LOOP_HEADERS),
        "namespace uh::UH_ISA {",
    ]
    for op in table:
        entries = []
        lines.append("\nnamespace {\n")
        loops = []
        for ctype, category in DTYPES:
            if not parsed(op, category):
                entries.append("nullptr")
                continue
            loops.append((ctype in SMALL_FLOATS, _loop(op, ctype, category)))
            entries.append(f"{op.cpp_name}_{suffix(ctype)}")
        # Loops of 16-bit floats call the loop of floats.
        lines += [text for _, text in sorted(loops, key=lambda entry: entry[0])]
        lines.append("}  // namespace\n")
        lines.append(
            f"const LoopRow& {op.cpp_name}_loops() {{\n"
            f"  static constexpr LoopRow row = {{{', '.join(entries)}}};\n  return row;\n}}"
        )
    lines.append("\n}  // namespace uh::UH_ISA\n")
    return "\n".join(lines)
