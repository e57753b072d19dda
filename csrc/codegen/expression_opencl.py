"""Expressions as OpenCL C: generated/opencl_pointwise.cpp, from the same trees as the CPU's loops.

A program has an expression and the helpers that it calls: helpers.yaml's expressions are printed, other functions
are in csrc/backend/opencl/functions.cl, by category of elements. An expression that calls any other helper runs on
the CPU for that category.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from expression import (
    ATOM,
    PRECEDENCE,
    UNARY,
    Binary,
    Body,
    Call,
    Compare,
    Convert,
    HasParameter,
    Helper,
    Literal,
    Local,
    Node,
    Operand,
    Parameter,
    Part,
    Select,
    TextPrinter,
    Type,
    Unary,
    number,
    walk,
)
from model import Operator
from pointwise import PARAMETERS, RESULT_BOOL, all_helpers, operands, params, parsed, rows

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/expression_opencl.py. Do not edit.\n"
FUNCTIONS = Path(__file__).parents[1] / "backend" / "opencl" / "functions.cl"
CATEGORIES = ("bool", "int", "float", "double", "complex")
TYPES = {
    Type.ELEMENT: "T",
    Type.REAL: "R",
    Type.BOOL: "bool",
    Type.INT: "long",
    Type.FLOAT: "float",
    Type.DOUBLE: "double",
}
WRAPPING = {"+", "-", "*"}


class NotPrintable(Exception):
    """The expression calls a function that OpenCL C lacks."""


@dataclass(frozen=True)
class Function:
    """A block of functions.cl."""

    name: str
    text: str
    calls: tuple[str, ...] = ()


@cache
def functions() -> dict[tuple[str, str], Function]:
    """Return the blocks of functions.cl by name and category."""
    blocks: dict[tuple[str, str], Function] = {}
    name, categories, lines = "", [], []

    def end() -> None:
        code = [line for line in lines if line and not line.startswith("//")]
        calls = tuple(word for word in categories if word not in CATEGORIES)
        for category in categories:
            if category in CATEGORIES:
                blocks[name, category] = Function(name, "\n".join(code) + "\n", calls)

    for line in FUNCTIONS.read_text().splitlines():
        if line.startswith("//: "):
            end()
            name, *categories = line[4:].split()
            lines = []
        else:
            lines.append(line)
    end()
    return blocks


@dataclass
class Printer(TextPrinter):
    """Prints for one category; collects the called functions, callees first."""

    category: str
    used: dict[str, str] = field(default_factory=dict)  # name -> text, in the order of definition
    doubles: bool = False
    zero_division: bool = False

    def print(self, node: Node) -> tuple[str, int]:
        if node.type is Type.DOUBLE:
            self.doubles = True
        if isinstance(node, Literal | Unary | Binary) and number(node) is not None:
            return self.literal(node), ATOM
        match node:
            case Literal(text=text):
                return text, ATOM
            case HasParameter(name=name):
                return f"has_{name}", ATOM
            case Operand(name=name) | Parameter(name=name) | Local(name=name):
                return name, ATOM
            case Part(a=a, name=name):
                return f"{self.inside(a, ATOM)}.{'x' if name == 're' else 'y'}", ATOM
            case Convert(type=Type.ELEMENT, a=a) if self.category == "complex":
                return f"(T)({self.inside(a, ATOM)} ? 1 : 0, 0)", ATOM
            case Convert(type=target, a=a):
                return f"({TYPES[target]})({self.text(a)})", ATOM
            case Call():
                return self.call(node), ATOM
            case Unary(type=Type.ELEMENT, op="-", a=a) if self.category == "int":
                return f"(T)(0 - (UT){self.inside(a, ATOM)})", ATOM
            case Unary(type=Type.ELEMENT, op="~", a=a):
                return f"(T)(~{self.inside(a, UNARY)})", ATOM
            case Unary(op=op, a=a):
                return f"{op}{self.inside(a, UNARY)}", UNARY
            case Binary(op=op, a=a, b=b) if op in ("&&", "||"):
                # Both sides are computed: a branch would keep loops from being vectorised.
                return f"({self.inside(a, ATOM)} {op[0]} {self.inside(b, ATOM)})", ATOM
            case Binary(op=op, a=a, b=b) if op in ("&", "|", "^"):
                return f"(T)({self.inside(a, ATOM)} {op} {self.inside(b, ATOM)})", ATOM
            case Binary(type=Type.ELEMENT, op=op, a=a, b=b) if self.category == "int":
                return f"(T)((UT){self.inside(a, ATOM)} {op} (UT){self.inside(b, ATOM)})", ATOM
            case Binary(type=Type.ELEMENT, op=op, a=a, b=b) if self.category == "complex":
                return self.complex_binary(op, a, b), ATOM
            case Compare(op=op, a=a, b=b) if self.category == "complex" and Type.ELEMENT in (
                a.type,
                b.type,
            ):
                text = f"{'any' if op == '!=' else 'all'}(({self.element(a)}) {op} ({self.element(b)}))"
                return f"({text} != 0)", ATOM
            case Binary(op=op, a=a, b=b) | Compare(op=op, a=a, b=b):
                level = PRECEDENCE[op]
                left_level = UNARY if op in ("==", "!=") else level
                right = max(left_level, level + 1)
                return f"{self.inside(a, left_level)} {op} {self.inside(b, right)}", level
            case Select(condition=condition, yes=yes, no=no):
                first = self.inside(condition, PRECEDENCE["?"] + 1)
                sides = [
                    self.element(side) if node.type is Type.ELEMENT else self.text(side)
                    for side in (yes, no)
                ]
                return f"{first} ? {sides[0]} : {sides[1]}", PRECEDENCE["?"]
        raise TypeError(f"no OpenCL C for {node}")

    def element(self, node: Node) -> str:
        """Convert a value to an element: a real number becomes complex if elements are."""
        text = self.text(node)
        if self.category == "complex" and node.type is not Type.ELEMENT:
            return f"(T)({text}, 0)"
        return text

    def complex_binary(self, op: str, a: Node, b: Node) -> str:
        if op in ("+", "-"):
            return f"(({self.element(a)}) {op} ({self.element(b)}))"
        real = [node.type is not Type.ELEMENT for node in (a, b)]
        if (op == "*" and any(real)) or (op == "/" and real[1]):
            return f"({self.inside(a, ATOM)} {op} {self.inside(b, ATOM)})"
        name = "complex_mul" if op == "*" else "complex_div"
        return f"{name}({self.element(a)}, {self.element(b)})"

    def literal(self, node: Node) -> str:
        value = number(node)
        assert value is not None
        if node.type in (Type.INT, Type.NUMBER):
            return f"{value:.0f}"
        if node.type is Type.ELEMENT and self.category in ("bool", "int"):
            return f"(T)({value:.0f})"
        double = node.type is Type.DOUBLE or self.category == "double"
        if self.category == "complex":  # a part, in the type of the parts
            text = f"(R){_float(value) if _is_float(value) else repr(value)}"
            return f"(T)({text}, 0)" if node.type is Type.ELEMENT else f"({text})"
        text = repr(value) if double else _float(value)
        return text if value >= 0 else f"({text})"

    def call(self, node: Call) -> str:
        helper = node.helper
        parameters = [t for _, t in helper.parameters]
        arguments = [
            self.element(a) if t is Type.ELEMENT and node.type is Type.ELEMENT else self.text(a)
            for a, t in zip(node.arguments, parameters, strict=True)
        ]
        if self.category == "complex" and any(
            t is Type.ELEMENT and a.type is not Type.ELEMENT
            for a, t in zip(node.arguments, parameters, strict=True)
        ):
            raise NotPrintable(f"{helper.name} of the parts of complex numbers")
        if Type.DOUBLE in parameters or helper.result is Type.DOUBLE:
            self.doubles = True
        self.need(helper)
        if helper.zero_division:
            self.zero_division = True
            arguments.append("zero_division")
        return f"m_{helper.name}({', '.join(arguments)})"

    def need(self, helper: Helper) -> None:
        """Define a helper, after the functions that it calls."""
        if helper.name in self.used:
            return
        category = "double" if _is_of_doubles(helper) else self.category
        body = helper.float_body if category == "float" and helper.float_body else helper.body
        block = functions().get((helper.name, category))
        if block:
            for name in block.calls:
                self.need(all_helpers()[name])
            self.used[helper.name] = block.text
        elif body:
            if category == "int" and _has_arithmetic(body):
                raise NotPrintable(f"{helper.name} does not wrap around")
            self.used[helper.name] = self.function(helper, body)
        else:
            raise NotPrintable(f"{helper.name} of {category}")

    def function(self, helper: Helper, body: Body) -> str:
        parameters = ", ".join(f"{TYPES[t]} {name}" for name, t in helper.parameters)
        lines = [f"{TYPES[helper.result]} m_{helper.name}({parameters}) {{"]
        seen: set[str] = set()
        for name, value in body.bindings:
            declared = "" if name in seen else f"{TYPES[value.type]} "
            seen.add(name)
            lines.append(f"  {declared}{name} = {self.text(value)};")
        return "\n".join([*lines, f"  return {self.text(body.result)};", "}\n"])


def _is_of_doubles(helper: Helper) -> bool:
    return {t for _, t in helper.parameters} == {Type.DOUBLE}


def _has_arithmetic(body: Body) -> bool:
    roots = [body.result, *(value for _, value in body.bindings)]
    return any(
        isinstance(n, Unary | Binary) and n.op in WRAPPING and n.type is Type.ELEMENT
        for root in roots
        for n in walk(root)
    )


def _is_float(value: float) -> bool:
    return struct.unpack("f", struct.pack("f", value))[0] == value


def _float(value: float) -> str:
    """Return a literal of OpenCL C: the float nearest to a double."""
    rounded = struct.unpack("f", struct.pack("f", value))[0]
    text = f"{rounded:.9g}"
    return f"{text if set('.e') & set(text) else text + '.0'}f"


@dataclass(frozen=True)
class Program:
    """The program of one expression for one category, without the loop."""

    helpers: tuple[str, ...]
    apply: str
    doubles: bool
    zero_division: bool


def program(op: Operator, category: str) -> Program | None:
    """Return the program of an operator's kernel; None if it has no kernel for the category."""
    entry = op.pointwise
    assert entry
    tree = parsed(op, "float" if category == "double" else category)
    if tree is None:
        return None
    printer = Printer(category)
    result = "T"
    if entry.promotion in RESULT_BOOL:
        result = "bool"
    elif category == "complex" and entry.complex_result == "real":
        result = "R"
    try:
        text = printer.element(tree) if result == "T" else printer.text(tree)
    except NotPrintable:
        return None
    parameters = [f"T {name}" for name in operands(op)]
    if entry.promotion == "where":
        parameters[0] = f"bool {operands(op)[0]}"
    for p in params(op):
        parameters += [f"{TYPES[PARAMETERS[p.type]]} {p.name}", f"bool has_{p.name}"]
    if printer.zero_division:
        parameters.append("global int *zero_division")
    apply = f"{result} apply({', '.join(parameters)}) {{\n  return {text};\n}}\n"
    doubles = printer.doubles and category != "double"
    return Program(tuple(printer.used.values()), apply, doubles, printer.zero_division)


def has_kernel(op: Operator) -> bool:
    """Return True if the operator has a kernel for any category."""
    return any(program(op, category) for category in CATEGORIES)


def literal(text: str) -> str:
    """A C++ string that contains OpenCL C."""
    return f'R"CL({text})CL"'


def pointwise_cpp(ops: list[Operator]) -> str:
    """Return pointwise_programs() of csrc/backend/opencl/pointwise.h."""
    table = rows(ops)
    families = sorted({op.family for op in table})
    helpers: dict[str, str] = {}
    entries: list[str] = []
    arrays: list[str] = []
    for op in table:
        assert op.pointwise
        cells = []
        for category in CATEGORIES:
            printed = program(op, category)
            if printed is None:
                cells.append("{}")
                continue
            names = [helpers.setdefault(text, f"helper_{len(helpers)}") for text in printed.helpers]
            array = f"{op.cpp_name}_{category}_helpers"
            if names:
                arrays.append(f"constexpr const char* {array}[] = {{{', '.join(names)}, nullptr}};")
            flags = f"{str(printed.doubles).lower()}, {str(printed.zero_division).lower()}"
            cells.append(f"{{{array if names else 'nullptr'}, {literal(printed.apply)}, {flags}}}")
        kinds = "".join(TYPES[PARAMETERS[p.type]][0] for p in params(op))
        widened = str(op.pointwise.widened).lower()
        entries.append(
            f'    {{&k_{op.cpp_name}, "{kinds}", {widened}, {{{{{", ".join(cells)}}}}}}},'
        )
    lines = [
        HEAD,
        '#include "backend/opencl/pointwise.h"',
        *(f'#include "generated/pointwise/{family}.h"' for family in families),
        "\nnamespace uh::opencl {\nnamespace {\n",
        *(f"constexpr const char {name}[] = {literal(text)};" for text, name in helpers.items()),
        "",
        *arrays,
        "\n}  // namespace\n",
        "std::span<const PointwiseProgram> pointwise_programs() {",
        "  static const PointwiseProgram table[] = {",
        *entries,
        "  };\n  return table;\n}\n\n}  // namespace uh::opencl\n",
    ]
    return "\n".join(lines)


def sources_h(folder: Path) -> str:
    """Return the files csrc/backend/opencl/*.cl as strings, by name."""
    lines = [
        HEAD,
        "#pragma once\n",
        "#include <string_view>\n",
        "namespace uh::opencl::sources {\n",
    ]
    lines += [f"extern const std::string_view {name};" for name in _sources(folder)]
    lines.append("\n}  // namespace uh::opencl::sources\n")
    return "\n".join(lines)


def sources_cpp(folder: Path) -> str:
    lines = [HEAD, '#include "generated/opencl/sources.h"\n', "namespace uh::opencl::sources {\n"]
    for name, text in _sources(folder).items():
        lines.append(f"const std::string_view {name} = {literal(text)};")
    lines.append("\n}  // namespace uh::opencl::sources\n")
    return "\n".join(lines)


def _sources(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.glob("*.cl") if path.name != FUNCTIONS.name)
    return {path.stem: path.read_text() for path in files}
