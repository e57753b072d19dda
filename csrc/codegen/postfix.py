"""Expressions as postfix words, for those operators that are straight-line arithmetic.

Fused groups make machine code of runs of such operators (csrc/jit/fused/block.cpp). The words:
`o0 o1 o2` operands, `p0 p1...` parameters, `h0 h1...` whether the call passes them, numbers, `=3` puts
the top of the stack into local 3 and `$3` gives it back, `+ - * / neg`, `< <= > >= == != && || !`, `?`
(condition, value, value), and the operations that helpers declare: `sqrt abs floor ceil trunc rint
isnan`, and on the bits of floats `<<`, `at_most` (the smaller as integers) and `copysign`. Helpers
that are declared as expressions are put in place; an expression with anything else has no words, and
its operator runs as the loop that it is.
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

Words = list[str]


class NotSimpleError(Exception):
    """The expression is more than straight-line arithmetic."""


class Printer:
    def __init__(self, floats: bool) -> None:
        self.floats = floats
        self.locals = 0

    def words(self, node: Node, names: dict[str, Words]) -> Words:
        """The words that leave the value of a node on the stack."""
        if isinstance(node, Binary) and (value := number(node)) is not None:
            return [repr(value)]  # of a product of doubles, rounded once
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
                return [*self.words(a, names), "1", "0", "?"]
            case Unary(op="-", a=a):
                return [*self.words(a, names), "neg"]
            case Unary(op="!", a=HasParameter() as a):
                return [*self.words(a, names), "!"]
            case Binary(op=op, a=a, b=b) | Compare(op=op, a=a, b=b) if op not in ("&", "|", "^"):
                return [*self.words(a, names), *self.words(b, names), op]
            case Select(condition=condition, yes=yes, no=no):
                parts = (self.words(part, names) for part in (condition, yes, no))
                return [*(word for part in parts for word in part), "?"]
            case Call():
                return self.call(node, names)
        raise NotSimpleError(f"no words for {node}")

    def call(self, node: Call, names: dict[str, Words]) -> Words:
        helper = node.helper
        arguments = [self.words(argument, names) for argument in node.arguments]
        native = helper.native or (self.floats and helper.native_float)
        if native:
            return [*(word for words in arguments for word in words), native]
        body = (self.floats and helper.float_body) or helper.body
        if not body:
            raise NotSimpleError(f"{helper.name} has no words")
        inner: dict[str, Words] = {}
        words: Words = []
        for (name, _), argument in zip(helper.parameters, arguments, strict=True):
            words += self.bind(inner, name, argument)
        return words + self.body(body, inner)

    def body(self, body: Body, names: dict[str, Words]) -> Words:
        words: Words = []
        for name, value in body.bindings:
            words += self.bind(names, name, self.words(value, names))
        return words + self.words(body.result, names)

    def bind(self, names: dict[str, Words], name: str, words: Words) -> Words:
        """Gives a name to a value: a local, unless it is a word already."""
        if len(words) == 1:
            names[name] = words
            return []
        names[name] = [f"${self.locals}"]
        self.locals += 1
        return [*words, f"={self.locals - 1}"]


def postfix(node: Node, names: dict[str, str], floats: bool) -> str:
    """The words of an expression over float, or over double; "" where it is not simple."""
    try:
        words = Printer(floats).words(node, {name: [word] for name, word in names.items()})
    except NotSimpleError:
        return ""
    return " ".join(words)
