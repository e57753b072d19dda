"""Expressions of yaml as postfix words, for those operators that are straight-line arithmetic.

Fused groups make machine code of runs of such operators (csrc/jit/fused/block.cpp). The words:
`o0 o1 o2` operands, `p0 p1...` parameters, numbers, `=3` puts the top of the stack into local 3 and
`$3` gives it back, `+ - * / neg sqrt abs floor ceil trunc rint`, `< <= > >= == != isnan && ||`,
`?` (condition, value, value), `low`, `high` (value, limit: what m::clamp does), and on the bits of
floats `<<`, `at_most` (the smaller as integers) and `copysign`. Functions of the headers that are made
of these are read from there and put in place; an expression with anything else has no words, and its
operator runs as the loop that it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HEADERS = ("vector_math.h", "math.h", "functions.h")
TOKEN = re.compile(
    r"\s*(\d+\.?\d*(?:e[-+]?\d+)?f?|(?:m::)?\w+|<<|<=|>=|==|!=|&&|\|\||[-+*/<>?:(),;={}])"
)
LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<",), ("+", "-"), ("*", "/"))
PRIMITIVES = {  # name -> number of arguments and word
    "sqrt": (1, "sqrt"),
    "fabs": (1, "abs"),
    "abs": (1, "abs"),
    "isnan": (1, "isnan"),
    "floor": (1, "floor"),
    "ceil": (1, "ceil"),
    "trunc": (1, "trunc"),
    "rint": (1, "rint"),
    "add": (2, "+"),
    "sub": (2, "-"),
    "mul": (2, "*"),
    "at_most": (2, "at_most"),
    "__builtin_fabsf": (1, "abs"),
    "__builtin_copysignf": (2, "copysign"),
}
ON_BITS = {"<<", "at_most", "copysign"}  # of float, not of double
DECLARED = ("constexpr", "const", "float", "T", "auto")


class NotSimpleError(Exception):
    """The expression is more than straight-line arithmetic."""


@dataclass(frozen=True)
class Function:
    parameters: tuple[str, ...]
    body: str


@dataclass
class Functions:
    """Inline functions of the headers: of templates over T, and of float alone."""

    general: dict[str, Function] = field(default_factory=dict)
    floats: dict[str, Function] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Functions:
        found = cls()
        head = re.compile(r"inline (float|T) (\w+)\(((?:(?:float|T) \w+(?:, )?)+)\) \{")
        for name in HEADERS:
            text = re.sub(r"//.*", "", (folder / name).read_text())
            text = re.sub(r"std::bit_cast<\w+>", "", text).replace("<T>", "")
            for match in head.finditer(text):
                end = text.index("}", match.end())
                parameters = tuple(p.split()[-1] for p in match[3].split(", "))
                table = found.floats if match[1] == "float" else found.general
                table.setdefault(match[2], Function(parameters, text[match.end() : end]))
        return found


class Reader:
    """Recursive descent over C++ expressions; each method gives the words that leave one value."""

    def __init__(self, functions: dict[str, Function]) -> None:
        self.functions = functions
        self.locals = 0
        self.tokens: list[str] = []
        self.names: dict[str, list[str]] = {}

    def inside(
        self, text: str, names: dict[str, list[str]], parse: Callable[[], list[str]]
    ) -> list[str]:
        """Parses another text, all of it, with names of its own."""
        outer = self.tokens, self.names
        self.tokens = [t for t in TOKEN.split(text) if t and not t.isspace()]
        self.names = names
        words = parse()
        if self.tokens:
            raise NotSimpleError(f"{self.peek()!r} follows")
        self.tokens, self.names = outer
        return words

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, wanted: str = "") -> str:
        if not self.tokens or (wanted and self.tokens[0] != wanted):
            raise NotSimpleError(f"{wanted or 'more'} expected before {self.peek()!r}")
        return self.tokens.pop(0)

    # ---- functions

    def body(self) -> list[str]:
        """Declarations and assignments, then `return`."""
        words: list[str] = []
        while self.peek() != "return":
            while self.peek() in DECLARED:
                self.take()
            words += self.assignment()
            while self.peek() == ",":
                self.take(",")
                words += self.assignment()
            self.take(";")
        self.take("return")
        words += self.choice()
        self.take(";")
        return words

    def assignment(self) -> list[str]:
        name = self.take()
        self.take("=")
        return self.bind(self.names, name, self.choice())

    def bind(self, names: dict[str, list[str]], name: str, words: list[str]) -> list[str]:
        """Gives a name to a value: a local, unless it is a word already."""
        if len(words) == 1:
            names[name] = words
            return []
        names[name] = [f"${self.locals}"]
        self.locals += 1
        return [*words, f"={self.locals - 1}"]

    # ---- expressions

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
        words = self.chain(level + 1)
        while self.peek() in LEVELS[level]:
            operator = self.take()
            words = [*words, *self.chain(level + 1), operator]
        return words

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
            return self.names[token]
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
        if name == "T" and len(arguments) == 1:
            return self.constant(arguments[0])
        count, word = PRIMITIVES.get(name, (0, ""))
        if count == len(arguments):
            return [*(w for argument in arguments for w in argument), word]
        function = self.functions.get(name)
        if not function or len(function.parameters) != len(arguments):
            raise NotSimpleError(f"m::{name} is no straight line")
        names: dict[str, list[str]] = {}
        words: list[str] = []
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            words += self.bind(names, parameter, argument)
        return [*words, *self.inside(function.body, names, self.body)]

    def constant(self, words: list[str]) -> list[str]:
        """T(3 * 0.044715): what is in the brackets is a product of doubles, rounded once."""
        if len(words) == 3 and words[2] == "*" and words[0][0].isdigit() and words[1][0].isdigit():
            return [repr(float(words[0]) * float(words[1]))]
        return words

    def clamp(self) -> list[str]:
        """m::clamp(value, has_low, low, has_high, high): a limit that is not given is no step."""
        self.take("(")
        words = self.choice()
        for limit in ("low", "high"):
            self.take(",")
            given = self.take()
            self.take(",")
            name = self.peek()
            value = self.choice()
            if given in ("true", f"has_{name}"):
                words += [*value, limit]
            elif given != "false":
                raise NotSimpleError(f"{given} is not about {value}")
        self.take(")")
        return words


def postfix(text: str, names: dict[str, str], functions: Functions, floats: bool) -> str:
    """The words of an expression over float, or over double; "" where it is not simple."""
    known = functions.general | (functions.floats if floats else {})
    try:
        reader = Reader(known)
        start = {name: [word] for name, word in names.items()}
        words = reader.inside(text.replace("<T>", ""), start, reader.choice)
    except NotSimpleError:
        return ""
    return "" if not floats and ON_BITS & set(words) else " ".join(words)
