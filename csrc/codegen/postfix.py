"""Expressions as postfix code, for operators that are straight-line arithmetic.

Fused groups compile sequences of such operators to machine code (csrc/jit/fused/block.cpp). The code:
`o0 o1 o2` operands, `p0 p1...` parameters, `h0 h1...` true if the call passes them, numbers, `=3` pops
into local 3 and `$3` pushes it, `+ - * / neg`, `< <= > >= == != && || !`, `?` (condition, value,
value), and the operations that helpers declare: `sqrt abs floor ceil trunc rint isnan`, and on the bits
of floats `<<`, `at_most` (the smaller as integers) and `copysign`. Helpers that are declared as
expressions are inlined; an expression with anything else has no code, and its operator runs as a loop.
"""

from __future__ import annotations

from expression import (
    Binary,
    Body,
    Call,
    Compare,
    Convert,
    HasParameter,
    Literal,
    Local,
    Node,
    Operand,
    Parameter,
    Select,
    Type,
    Unary,
    number,
)

Code = list[str]


class NotSimpleError(Exception):
    """The expression is more than straight-line arithmetic."""


class Printer:
    def __init__(self, floats: bool) -> None:
        self.floats = floats
        self.locals = 0

    def print(self, node: Node, names: dict[str, Code]) -> Code:
        """Return the code that pushes the value of a node."""
        if isinstance(node, Binary) and (value := number(node)) is not None:
            return [repr(value)]  # computed in double, rounded once
        match node:
            case Literal(text=text) if text not in ("true", "false"):
                return [text]
            case HasParameter(name=name):
                return names[f"has_{name}"]
            case Operand(name=name) | Parameter(name=name) | Local(name=name):
                if name not in names:
                    raise NotSimpleError(f"{name} is not a number of the element's type")
                return names[name]
            case Convert(type=Type.ELEMENT | Type.FLOAT, a=a) if a.type is Type.BOOL:
                return [*self.print(a, names), "1", "0", "?"]
            case Unary(op="-", a=a):
                return [*self.print(a, names), "neg"]
            case Unary(op="!", a=HasParameter() as a):
                return [*self.print(a, names), "!"]
            case Binary(op=op, a=a, b=b) | Compare(op=op, a=a, b=b) if op not in ("&", "|", "^"):
                return [*self.print(a, names), *self.print(b, names), op]
            case Select(condition=condition, yes=yes, no=no):
                parts = (self.print(part, names) for part in (condition, yes, no))
                return [*(word for part in parts for word in part), "?"]
            case Call():
                return self.call(node, names)
        raise NotSimpleError(f"no code for {node}")

    def call(self, node: Call, names: dict[str, Code]) -> Code:
        helper = node.helper
        arguments = [self.print(argument, names) for argument in node.arguments]
        if helper.native is False:
            raise NotSimpleError(f"{helper.name} is not for native code")
        native = helper.native or (self.floats and helper.native_float)
        if native:
            return [*(word for code in arguments for word in code), native]
        body = (self.floats and helper.float_body) or helper.body
        if not body:
            raise NotSimpleError(f"{helper.name} has no postfix code")
        inner: dict[str, Code] = {}
        code: Code = []
        for (name, _), argument in zip(helper.parameters, arguments, strict=True):
            code += self.bind(inner, name, argument)
        return code + self.body(body, inner)

    def body(self, body: Body, names: dict[str, Code]) -> Code:
        code: Code = []
        for name, value in body.bindings:
            code += self.bind(names, name, self.print(value, names))
        return code + self.print(body.result, names)

    def bind(self, names: dict[str, Code], name: str, code: Code) -> Code:
        """Name a value: a local, unless its code is a single word."""
        if len(code) == 1:
            names[name] = code
            return []
        names[name] = [f"${self.locals}"]
        self.locals += 1
        return [*code, f"={self.locals - 1}"]


def postfix(node: Node, names: dict[str, str], floats: bool) -> str:
    """Return the code of an expression over float, or over double; "" if it is not straight-line arithmetic."""
    try:
        code = Printer(floats).print(node, {name: [word] for name, word in names.items()})
    except NotSimpleError:
        return ""
    return " ".join(code)
