"""Expressions of yaml as postfix words, for those operators that are a few machine instructions.

Fused groups make machine code of runs of such operators (csrc/jit/fused/block.cpp). The words:
`o0 o1 o2` operands, `p0 p1...` parameters, numbers, `+ - * / neg sqrt abs floor ceil trunc rint`,
`< <= > >= == != isnan && ||`, `?` (condition, value, value) and `low`, `high` (value, limit: what
m::clamp does). An expression with anything else, or whose products and sums the compiler could join
in several ways, has no words, and its operator runs as the loop that it is.
"""

from __future__ import annotations

import re

TOKEN = re.compile(r"\s*(\d+\.?\d*(?:e-?\d+)?f?|(?:m::)?\w+|<=|>=|==|!=|&&|\|\||[-+*/<>?:(),])")
LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/"))
UNARY = {"sqrt", "fabs", "abs", "isnan", "floor", "ceil", "trunc", "rint"}
BINARY = {"add": "+", "sub": "-", "mul": "*"}


class NotSimpleError(Exception):
    """The expression is more than a few instructions."""


class Reader:
    """Recursive descent over the C++ of one expression; what it reads it gives as a list of words."""

    def __init__(self, text: str, names: dict[str, str]) -> None:
        self.tokens = [t for t in TOKEN.split(text.replace("<T>", "")) if t and not t.isspace()]
        self.names = names

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, wanted: str = "") -> str:
        if not self.tokens or (wanted and self.tokens[0] != wanted):
            raise NotSimpleError(f"{wanted or 'more'} expected before {self.peek()!r}")
        return self.tokens.pop(0)

    def choice(self) -> list[str]:
        condition = self.chain(0)
        if self.peek() != "?":
            return condition
        self.take("?")
        first = self.choice()
        self.take(":")
        return [*condition, *first, *self.choice(), "?"]

    def chain(self, level: int) -> list[str]:
        if level == len(LEVELS):
            return self.unary()
        left = self.chain(level + 1)
        while self.peek() in LEVELS[level]:
            operator = self.take()
            right = self.chain(level + 1)
            if operator in "+-" and left[-1] == right[-1] == "*":
                raise NotSimpleError("which product is added without rounding?")
            left = [*left, *right, operator]
        return left

    def unary(self) -> list[str]:
        if self.peek() != "-":
            return self.primary()
        self.take("-")
        return [*self.unary(), "neg"]

    def primary(self) -> list[str]:
        token = self.take()
        if token == "(":
            inner = self.choice()
            self.take(")")
            return inner
        if token[0].isdigit():
            return [token.removesuffix("f")]
        if self.peek() != "(":
            if token not in self.names:
                raise NotSimpleError(f"{token} is no operand")
            return [self.names[token]]
        return self.call(token.removeprefix("m::"))

    def call(self, name: str) -> list[str]:
        if name == "clamp":
            return self.clamp()
        self.take("(")
        arguments = [self.choice()]
        while self.peek() == ",":
            self.take(",")
            arguments.append(self.choice())
        self.take(")")
        words = [word for argument in arguments for word in argument]
        if name == "T" and len(arguments) == 1:
            return words
        if name in UNARY and len(arguments) == 1:
            return [*words, "abs" if name == "fabs" else name]
        if name in BINARY and len(arguments) == 2:
            return [*words, BINARY[name]]
        raise NotSimpleError(f"m::{name} is no instruction")

    def clamp(self) -> list[str]:
        """m::clamp(value, has_low, low, has_high, high): a limit that is not given is no step."""
        self.take("(")
        words = self.choice()
        for limit in ("low", "high"):
            self.take(",")
            given = self.take()
            self.take(",")
            value = self.choice()
            if given == "true" or given == f"has_{self.tokens_name(value)}":
                words += [*value, limit]
            elif given != "false":
                raise NotSimpleError(f"{given} is not about {value}")
        self.take(")")
        return words

    def tokens_name(self, words: list[str]) -> str:
        return next((n for n, word in self.names.items() if [word] == words), "")


def postfix(text: str, names: dict[str, str]) -> str:
    """The words of an expression, or "" where it is not simple. `names` are those it may use."""
    try:
        reader = Reader(text, names)
        words = reader.choice()
        if reader.tokens:
            raise NotSimpleError(f"{reader.peek()!r} follows")
    except NotSimpleError:
        return ""
    return " ".join(words)
