"""Expressions as C++: the bodies of loops, and generated/helpers.h."""

from __future__ import annotations

from dataclasses import dataclass

from expression import (
    ATOM,
    PRECEDENCE,
    UNARY,
    Binary,
    Body,
    Call,
    Compare,
    Convert,
    ExpressionError,
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

HEAD = (
    "// Generated from csrc/codegen/helpers.yaml by csrc/codegen/expression_cpp.py. Do not edit.\n"
)
WRAPPING = {"+": "m::add", "-": "m::sub", "*": "m::mul"}
CPP_TYPES = {
    Type.ELEMENT: "T",
    Type.REAL: "real_t<T>",
    Type.BOOL: "bool",
    Type.INT: "int64_t",
    Type.FLOAT: "float",
    Type.DOUBLE: "double",
}


@dataclass(frozen=True)
class Printer(TextPrinter):
    """Prints expressions. `wrapping`: elements are integers, whose arithmetic wraps around."""

    wrapping: bool = False

    def print(self, node: Node) -> tuple[str, int]:
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
                return f"{self.inside(a, ATOM)}.{name}", ATOM
            case Convert(type=Type.DOUBLE, a=a):
                return self.print(a)
            case Convert(type=target, a=a):
                return f"static_cast<{CPP_TYPES[target]}>({self.text(a)})", ATOM
            case Call():
                return self.call(node), ATOM
            case Unary(type=Type.ELEMENT, op="-", a=a) if self.wrapping:
                return f"m::sub(T(0), {self.text(a)})", ATOM
            case Unary(type=Type.ELEMENT, op="~", a=a):
                return f"static_cast<T>(~{self.inside(a, UNARY)})", ATOM
            case Unary(op=op, a=a):
                return f"{op}{self.inside(a, UNARY)}", UNARY
            case Binary(type=Type.ELEMENT, op=op, a=a, b=b) if self.wrapping and op in WRAPPING:
                return f"{WRAPPING[op]}({self.text(a)}, {self.text(b)})", ATOM
            case Binary(op=op, a=a, b=b) if op in ("&", "|", "^"):
                return f"static_cast<T>({self.inside(a, ATOM)} {op} {self.inside(b, ATOM)})", ATOM
            case Binary(op="&&" | "||", a=a, b=b) if not _may_divide_by_zero(b):
                # Both sides are computed: a branch would keep the loop from being vectorised.
                return f"({self.inside(a, ATOM)} {op[0]} {self.inside(b, ATOM)})", ATOM
            case Binary(op=op, a=a, b=b) | Compare(op=op, a=a, b=b):
                return self.binary(op, a, b), PRECEDENCE[op]
            case Select(condition=condition, yes=yes, no=no):
                first = self.inside(condition, PRECEDENCE["?"] + 1)
                return f"{first} ? {self.text(yes)} : {self.text(no)}", PRECEDENCE["?"]
        raise TypeError(f"no C++ for {node}")

    def binary(self, op: str, a: Node, b: Node) -> str:
        level = PRECEDENCE[op]
        # Compilers warn without brackets around && in ||, and around a comparison in a comparison.
        min_level = {"||": UNARY - 1, "==": UNARY, "!=": UNARY}.get(op, level)
        if op == "||":
            sides = [
                self.inside(side, ATOM)
                if isinstance(side, Binary) and side.op == "&&"
                else self.inside(side, level)
                for side in (a, b)
            ]
            return f" {op} ".join(sides)
        return f"{self.inside(a, min_level)} {op} {self.inside(b, max(min_level, level + 1))}"

    def literal(self, node: Node) -> str:
        """Return a number, computed in double and then rounded to its type."""
        text = _double(node)
        match node.type:
            case Type.FLOAT if isinstance(node, Literal):
                return f"{text if set('.e') & set(text) else text + '.0'}f"
            case Type.INT | Type.DOUBLE | Type.NUMBER:
                return text
        return f"{CPP_TYPES[node.type]}({text})"

    def call(self, node: Call) -> str:
        helper = node.helper
        if self.wrapping and not helper.cpp and _has_arithmetic(helper):
            raise ExpressionError(f"{helper.name} does not wrap around: not for integers")
        name = helper.cpp or f"m::{helper.name}"
        arguments = [self.text(argument) for argument in node.arguments]
        if helper.zero_division:
            arguments.append("q")
        return f"{name}({', '.join(arguments)})"


def _double(node: Node, min_level: int = 0) -> str:
    """Return a tree of literals as in the source."""
    match node:
        case Literal(text=text):
            return text
        case Unary(a=a):
            return f"-{_double(a, UNARY)}"
        case Binary(op=op, a=a, b=b):
            level = PRECEDENCE[op]
            text = f"{_double(a, level)} {op} {_double(b, level + 1)}"
            return text if level >= min_level else f"({text})"
    raise TypeError(f"{node} is not a number")


def _may_divide_by_zero(node: Node) -> bool:
    return any(isinstance(n, Call) and n.helper.zero_division for n in walk(node))


def _has_arithmetic(helper: Helper) -> bool:
    assert helper.body
    nodes = [helper.body.result, *(value for _, value in helper.body.bindings)]
    return any(
        (isinstance(n, Unary | Binary) and n.op in WRAPPING and n.type is Type.ELEMENT)
        or (isinstance(n, Call) and not n.helper.cpp and _has_arithmetic(n.helper))
        for root in nodes
        for n in walk(root)
    )


def cpp(node: Node, category: str) -> str:
    """Return the C++ of an expression, for a loop over one category of dtypes."""
    return Printer(category == "int").text(node)


def function(helper: Helper, body: Body, element: str) -> str:
    """Return one helper as a function; of any element type, or of floats."""
    types = CPP_TYPES | {Type.ELEMENT: element}
    parameters = ", ".join(f"{types[t]} {name}" for name, t in helper.parameters)
    generic = element == "T" and Type.ELEMENT in (t for _, t in helper.parameters)
    lines = ["template <class T>"] if generic else []
    lines.append(f"inline {types[helper.result]} {helper.name}({parameters}) {{")
    names = [name for name, _ in body.bindings]
    seen: set[str] = set()
    printer = Printer()
    for name, value in body.bindings:
        constant = "" if names.count(name) > 1 else "const "
        declared = "" if name in seen else f"{constant}{types[value.type]} "
        seen.add(name)
        lines.append(f"  {declared}{name} = {printer.text(value)};")
    return "\n".join([*lines, f"  return {printer.text(body.result)};", "}"])


def helpers_h(helpers: dict[str, Helper]) -> str:
    """Return the helpers that are declared as expressions; math.h includes it after the functions that they call."""
    lines = [HEAD, "#pragma once\n", "namespace uh::UH_ISA::m {\n"]
    for helper in helpers.values():
        if helper.body:
            lines.append(function(helper, helper.body, "T"))
        if helper.float_body:
            lines.append(function(helper, helper.float_body, "float"))
    lines.append("\n}  // namespace uh::UH_ISA::m\n")
    return "\n".join(lines)
