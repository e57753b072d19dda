"""Typed trees of pointwise expressions, and the parser that builds them.

The key `expr:` of csrc/ops/*.yaml and csrc/codegen/helpers.yaml has an expression:

    self > 0 ? self : self * negative_slope

Operators and their precedence are C's; a call names a helper. Every node has a type. A number adopts
the type of the other operand; the only other conversion is `T(condition)`, which is 1 or 0.
Printers: expression_cpp.py (loops), postfix.py (fused groups), formula.py (the explorer).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from model import DeclarationError


class Type(Enum):
    ELEMENT = "T"  # the loop's compute type
    REAL = "R"  # the type of a complex element's parts; else T
    BOOL = "bool"
    INT = "int"  # of 64 bits
    FLOAT = "float"
    DOUBLE = "double"
    NUMBER = "number"  # a literal whose type is not determined yet


class ExpressionError(DeclarationError):
    """An expression that is malformed or does not type-check."""


@dataclass(frozen=True)
class Node:
    type: Type


@dataclass(frozen=True)
class Literal(Node):
    text: str  # "0.5", "1e-12", "true"


@dataclass(frozen=True)
class Operand(Node):
    """An element of a tensor; in a helper, one of its parameters."""

    name: str


@dataclass(frozen=True)
class Parameter(Node):
    """A number parameter of the operator's schema."""

    name: str


@dataclass(frozen=True)
class HasParameter(Node):
    """A condition: true if the call passes an optional number."""

    name: str


@dataclass(frozen=True)
class Local(Node):
    """A name that the body of a helper binds."""

    name: str


@dataclass(frozen=True)
class Unary(Node):
    op: str  # - ! ~
    a: Node


@dataclass(frozen=True)
class Binary(Node):
    op: str  # + - * /, & | ^, && ||
    a: Node
    b: Node


@dataclass(frozen=True)
class Compare(Node):
    op: str  # == != < <= > >=
    a: Node
    b: Node


@dataclass(frozen=True)
class Select(Node):
    condition: Node
    yes: Node
    no: Node


@dataclass(frozen=True)
class Call(Node):
    helper: Helper
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Convert(Node):
    a: Node


@dataclass(frozen=True)
class Part(Node):
    """The real or imaginary part of a complex number."""

    a: Node
    name: str  # re, im


@dataclass(frozen=True)
class Body:
    """The body of a helper: names for intermediate values, then the result."""

    bindings: tuple[tuple[str, Node], ...]
    result: Node


@dataclass(frozen=True)
class Helper:
    """A function that expressions call; helpers.py reads its declaration."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    result: Type
    cpp: str = ""  # the C++ function of the loops; "": generated from `body`
    body: Body | None = None
    float_body: Body | None = None  # where elements are floats
    native: str | bool = (
        ""  # the operation of fused groups, see postfix.py; False: none, nor its body
    )
    native_float: str = ""  # the same, of floats only
    formula: str = ""  # in mathematical notation, with {parameter}
    zero_division: bool = False  # may report a division of integers by zero


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use, and where it is declared."""

    origin: str  # "activation.yaml:5: relu, expr"
    names: Mapping[str, Node]
    helpers: Mapping[str, Helper]
    category: str = ""  # of dtypes: bool, int, float, complex
    element: Type = Type.ELEMENT  # what `T` is: FLOAT in the body of floats


TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<symbol>\|\||&&|[=!<>]=|[-+*/<>?:(),!~&|^.=])"
)
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
PRECEDENCE = {"?": 1, "||": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7}
PRECEDENCE |= dict.fromkeys(("<", "<=", ">", ">="), 8)
PRECEDENCE |= {"+": 10, "-": 10, "*": 11, "/": 11}
UNARY = 12  # binds tighter than all of these
ATOM = 13
REALS = {Type.ELEMENT, Type.REAL, Type.FLOAT, Type.DOUBLE, Type.NUMBER}


@dataclass
class Parser:
    """A Pratt parser: one method per kind of operand, one loop for all binary operators."""

    scope: Scope
    text: str
    tokens: list[tuple[str, str, int]] = field(default_factory=list)  # kind, text, column
    position: int = 0

    def __post_init__(self) -> None:
        column = 0
        while column < len(self.text):
            if self.text[column].isspace():
                column += 1
                continue
            match = TOKEN.match(self.text, column)
            if not match:
                raise self.error(f"{self.text[column]!r} is not part of the language", column)
            self.tokens.append((match.lastgroup or "", match[0], column))
            column = match.end()
        self.tokens.append(("end", "", len(self.text)))

    # ---- tokens

    def error(self, problem: str, column: int | None = None) -> ExpressionError:
        column = self.column if column is None else column
        return ExpressionError(
            f"{self.scope.origin}, column {column + 1}: {problem}\n  {self.text}\n  {' ' * column}^"
        )

    @property
    def column(self) -> int:
        return self.tokens[self.position][2]

    def peek(self) -> str:
        return self.tokens[self.position][1]

    def next(self) -> tuple[str, str]:
        kind, text, _ = self.tokens[self.position]
        if kind == "end":
            raise self.error("the expression ends too early")
        self.position += 1
        return kind, text

    def expect(self, symbol: str) -> None:
        if self.peek() != symbol:
            raise self.error(f"expected {symbol!r}, got {self.peek() or 'the end'!r}")
        self.position += 1

    def finish(self, node: Node, expected: Type) -> Node:
        if self.tokens[self.position][0] != "end":
            raise self.error(f"unexpected {self.peek()!r}")
        return self.coerce(node, expected, 0)

    # ---- types

    def coerce(self, node: Node, expected: Type, column: int) -> Node:
        """Convert the node to a type: numbers adopt it, doubles are rounded to the element type."""
        actual = node.type
        if expected in (actual, Type.NUMBER):
            return node
        if actual is Type.NUMBER and (expected in REALS or expected is Type.INT):
            return adapted(node, expected)
        reals = {actual, expected} == {Type.ELEMENT, Type.REAL}
        if reals and (expected is Type.ELEMENT or self.scope.category != "complex"):
            return node
        if {actual, expected} == {Type.ELEMENT, Type.BOOL} and self.scope.category == "bool":
            return node
        if expected is Type.DOUBLE and (actual in REALS or actual is Type.INT):
            return Convert(expected, node)
        if actual is Type.DOUBLE and expected in (Type.ELEMENT, Type.REAL):
            return Convert(expected, node)
        raise self.error(f"expected a value of type {expected.value}, got {actual.value}", column)

    def common(self, a: Node, b: Node, column: int) -> Type:
        """Return the common type of two values."""
        types = {a.type, b.type} - {Type.NUMBER}
        if not types:
            return Type.NUMBER
        if types == {Type.ELEMENT, Type.REAL}:
            return Type.ELEMENT
        if types == {Type.ELEMENT, Type.BOOL} and self.scope.category == "bool":
            return Type.ELEMENT
        if len(types) > 1:
            raise self.error(f"types {a.type.value} and {b.type.value} do not mix", column)
        return types.pop()

    # ---- expressions

    def expression(self, min_level: int = 1) -> Node:
        node = self.unary()
        while (level := PRECEDENCE.get(self.peek(), 0)) >= min_level:
            column = self.column
            op = self.next()[1]
            if op == "?":
                node = self.select(node, column)
            else:
                node = self.binary(op, node, self.expression(level + 1), column)
        return node

    def select(self, condition: Node, column: int) -> Node:
        condition = self.coerce(condition, Type.BOOL, column)
        yes = self.expression()
        self.expect(":")
        no = self.expression()
        meet = self.common(yes, no, column)
        return Select(
            meet, condition, self.coerce(yes, meet, column), self.coerce(no, meet, column)
        )

    def binary(self, op: str, a: Node, b: Node, column: int) -> Node:
        if op in ("&&", "||"):
            sides = [self.coerce(side, Type.BOOL, column) for side in (a, b)]
            return Binary(Type.BOOL, op, *sides)
        meet = self.common(a, b, column)
        a, b = self.coerce(a, meet, column), self.coerce(b, meet, column)
        if op in COMPARISONS:
            return Compare(Type.BOOL, op, a, b)
        allowed = {Type.ELEMENT} if op in "&|^" else REALS
        if meet not in allowed or (op in "+-*/" and self.scope.category == "bool"):
            raise self.error(f"{op!r} does not take values of type {meet.value}", column)
        if op == "/" and self.scope.category == "int" and meet is Type.ELEMENT:
            raise self.error("integers have no '/': call floor_div or trunc_div", column)
        return Binary(meet, op, a, b)

    def unary(self) -> Node:
        column = self.column
        op = self.peek()
        if op not in ("-", "!", "~"):
            return self.postfix()
        self.next()
        node = self.unary()
        if op == "!":
            return Unary(Type.BOOL, op, self.coerce(node, Type.BOOL, column))
        if node.type not in (REALS if op == "-" else {Type.ELEMENT}):
            raise self.error(f"{op!r} does not take a value of type {node.type.value}", column)
        return Unary(node.type, op, node)

    def postfix(self) -> Node:
        node = self.primary()
        while self.peek() == ".":
            self.next()
            column = self.column
            name = self.next()[1]
            complex_element = self.scope.category == "complex" and node.type is Type.ELEMENT
            if name not in ("re", "im") or not complex_element:
                raise self.error("only complex elements have parts: .re and .im", column)
            node = Part(Type.REAL, node, name)
        return node

    def primary(self) -> Node:
        column = self.column
        kind, text = self.next()
        if text == "(":
            node = self.expression()
            self.expect(")")
            return node
        if kind == "number":
            return Literal(Type.NUMBER, text)
        if kind != "name":
            raise self.error(f"unexpected {text!r}", column)
        if self.peek() == "(":
            return self.call(text, column)
        if text in ("true", "false"):
            return Literal(Type.BOOL, text)
        if text not in self.scope.names:
            choices = ", ".join(sorted(self.scope.names))
            raise self.error(f"unknown name {text!r}; choose from {choices}", column)
        return self.scope.names[text]

    def call(self, name: str, column: int) -> Node:
        self.expect("(")
        arguments = [self.expression()]
        while self.peek() == ",":
            self.next()
            arguments.append(self.expression())
        self.expect(")")
        if name == "T" and len(arguments) == 1:
            return Convert(self.scope.element, self.coerce(arguments[0], Type.BOOL, column))
        helper = self.scope.helpers.get(name)
        if not helper:
            raise self.error(f"unknown helper {name!r}: declare it in helpers.yaml", column)
        if len(arguments) != len(helper.parameters):
            raise self.error(
                f"{name} takes {len(helper.parameters)} arguments, got {len(arguments)}", column
            )
        element = self.element_of(helper, arguments, column)
        types = [element if t is Type.ELEMENT else t for _, t in helper.parameters]
        typed = (self.coerce(a, t, column) for a, t in zip(arguments, types, strict=True))
        result = element if helper.result is Type.ELEMENT else helper.result
        return Call(result, helper, tuple(typed))

    def element_of(self, helper: Helper, arguments: list[Node], column: int) -> Type:
        """Find the helper's `T` in a call: the common type of its arguments of type T."""
        pairs = zip(arguments, helper.parameters, strict=True)
        node: Node = Literal(Type.NUMBER, "")
        for argument, (_, expected) in pairs:
            if expected is Type.ELEMENT:
                node = Literal(self.common(node, argument, column), "")
        return self.scope.element if node.type is Type.NUMBER else node.type


def adapted(node: Node, expected: Type) -> Node:
    """Convert a tree of literals to a type."""
    if isinstance(node, Select):
        yes, no = adapted(node.yes, expected), adapted(node.no, expected)
        return Select(expected, node.condition, yes, no)
    return replace(node, type=expected)  # operands stay numbers: the value is rounded once


def parse(text: str, scope: Scope, expected: Type) -> Node:
    """Parse one expression, and convert it to type `expected`."""
    parser = Parser(scope, text)
    return parser.finish(parser.expression(), expected)


def parse_body(text: str, scope: Scope, expected: Type) -> Body:
    """Parse lines `name = expression`, and the result on the last line."""
    names = dict(scope.names)
    *lines, result = (line for line in text.splitlines() if line.strip())
    bindings = []
    for line in lines:
        parser = Parser(replace(scope, names=names), line)
        kind, name = parser.next()
        if kind != "name" or name in scope.names:
            raise parser.error("a line binds a new name: name = expression", 0)
        parser.expect("=")
        node = parser.expression()
        value = parser.finish(node, scope.element if node.type is Type.NUMBER else node.type)
        bindings.append((name, value))
        names[name] = Local(value.type, name)
    return Body(tuple(bindings), parse(result, replace(scope, names=names), expected))


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Unary(a=a) | Convert(a=a) | Part(a=a):
            return (a,)
        case Binary(a=a, b=b) | Compare(a=a, b=b):
            return (a, b)
        case Select(condition=condition, yes=yes, no=no):
            return (condition, yes, no)
        case Call(arguments=arguments):
            return arguments
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Iterate over the node and its descendants, without the bodies of helpers."""
    yield node
    for child in children(node):
        yield from walk(child)


class TextPrinter:
    """A printer of expressions in a language with operators: brackets follow from their precedence."""

    def print(self, node: Node) -> tuple[str, int]:
        """Return the text and its precedence."""
        raise NotImplementedError

    def text(self, node: Node) -> str:
        return self.print(node)[0]

    def inside(self, node: Node, min_level: int) -> str:
        """Return the text of an operand; in brackets if its precedence is below `min_level`."""
        text, level = self.print(node)
        return text if level >= min_level else f"({text})"


def number(node: Node) -> float | None:
    """Return the value of a tree of literals, as a double; None if it contains anything else."""
    match node:
        case Literal(text=text) if text[:1].isdigit() or text[:1] == ".":
            return float(text)
        case Unary(op="-", a=a):
            value = number(a)
            return None if value is None else -value
        case Binary(op=op, a=a, b=b) if op in ("+", "-", "*", "/"):
            x, y = number(a), number(b)
            if x is None or y is None:
                return None
            return {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else None}[op]
    return None
