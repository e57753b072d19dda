"""Pointwise expressions: what the parser accepts and rejects, and that each printer says the same."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import engine

CODEGEN = Path(__file__).resolve().parents[2] / "csrc" / "codegen"
MODULES = ("expression", "expression_cpp", "formula", "fused", "helpers", "model", "pointwise")


@pytest.fixture(scope="module")
def codegen() -> Iterator[dict[str, ModuleType]]:
    """The generator's modules, which import each other by their plain names."""
    before = set(sys.modules)
    sys.path.insert(0, str(CODEGEN))
    try:
        yield {name: __import__(name) for name in MODULES}
    finally:
        sys.path.remove(str(CODEGEN))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(CODEGEN)):
                del sys.modules[name]


def parsed(codegen: dict[str, ModuleType], text: str, category: str = "float") -> Any:
    tree, helpers = codegen["expression"], codegen["helpers"].load()
    element = tree.Type.ELEMENT
    names = {name: tree.Operand(element, name) for name in ("self", "other")}
    names["limit"] = tree.Parameter(element, "limit")
    names["has_limit"] = tree.HasParameter(tree.Type.BOOL, "limit")
    names["beta"] = tree.Parameter(tree.Type.REAL, "beta")
    scope = tree.Scope("some.yaml:7: op", names, helpers, category)
    return tree.parse(text, scope, element)


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("self + ", 8, "ends too early"),
        ("self $ other", 6, "not part of the language"),
        ("self + third", 8, "unknown name 'third'"),
        ("self * nothing(other)", 8, "unknown helper 'nothing'"),
        ("sqrt(self, other)", 1, "takes 1 arguments, got 2"),
        ("(self + other", 14, "expected ')'"),
        ("self other", 6, "unexpected 'other'"),
        ("self ? 1 : 2", 6, "expected a value of type bool, got T"),
        ("self > 0", 1, "expected a value of type T, got bool"),
        ("self + (self > 0)", 6, "types T and bool do not mix"),
        ("self.re", 6, "only complex elements have parts"),
        ("static_cast<T>(self)", 1, "unknown name 'static_cast'"),
    ],
)
def test_an_error_names_the_entry_and_the_column(codegen, text, column, problem) -> None:
    with pytest.raises(codegen["model"].DeclarationError) as caught:
        parsed(codegen, text)
    message = str(caught.value)
    assert message.startswith(f"some.yaml:7: op, column {column}: "), message
    assert problem in message


@pytest.mark.parametrize(
    ("text", "category", "cpp"),
    [
        ("self + 2 * other", "float", "self + T(2) * other"),
        ("self + 2 * other", "int", "m::add(self, m::mul(T(2), other))"),
        ("-self", "int", "m::sub(T(0), self)"),
        ("self - (other - 1)", "float", "self - (other - T(1))"),
        ("(self + other) * self", "float", "(self + other) * self"),
        ("3 * 0.5 * self", "float", "T(3 * 0.5) * self"),
        ("0.5 * beta * self", "float", "real_t<T>(0.5) * beta * self"),
        ("self & other", "int", "static_cast<T>(self & other)"),
        ("self || other && self", "bool", "(self | (other & self))"),
        (
            "has_limit && self > limit ? limit : self",
            "float",
            "(has_limit & (self > limit)) ? limit : self",
        ),
        ("T(self > 0)", "float", "static_cast<T>(self > T(0))"),
        ("zeta(self, other)", "float", "static_cast<T>(special::zeta(self, other))"),
        ("floor_div(self, other)", "int", "m::floor_div(self, other, q)"),
        ("conj(self) * self.re", "complex", "conj(self) * self.re"),
    ],
)
def test_cpp(codegen, text, category, cpp) -> None:
    tree = parsed(codegen, text, category)
    assert codegen["expression_cpp"].cpp(tree, category) == cpp


def test_integers_do_not_call_helpers_that_overflow(codegen) -> None:
    tree = parsed(codegen, "lerp(self, other, other)", "int")
    with pytest.raises(codegen["model"].DeclarationError, match="lerp does not wrap around"):
        codegen["expression_cpp"].cpp(tree, "int")


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("self > 0 || isnan(self) ? self : 0", "max({self}, 0)"),
        ("clamp_high(clamp_low(self, 0), 6) / 6", "min(max({self}, 0), 6) / 6"),
        ("self > 0 ? self : self * limit", "{self} if {self} > 0 else {self} * {limit}"),
        ("abs(self - other)", "|{self} - {other}|"),
        ("pow(self + 1, other) * 2", "(({self} + 1) ** {other}) * 2"),
    ],
)
def test_formula(codegen, text, formula) -> None:
    assert codegen["formula"].formula(parsed(codegen, text), braces=True) == formula


def run_postfix(code: str, operands: list[float], parameters: list[float]) -> float:
    """Run the machine that postfix.py describes, over doubles."""
    stack: list[Any] = []
    bound: dict[str, Any] = {}
    unary = {
        "neg": lambda x: -x,
        "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
        "abs": abs,
        "isnan": math.isnan,
        "!": lambda x: not x,
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "rint": np.rint,
    }
    binary = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": np.divide,
        "&&": lambda x, y: x and y,
        "||": lambda x, y: x or y,
        "==": lambda x, y: x == y,
        "!=": lambda x, y: x != y,
        "<": lambda x, y: x < y,
        "<=": lambda x, y: x <= y,
        ">": lambda x, y: x > y,
        ">=": lambda x, y: x >= y,
    }
    for word in code.split():
        if word in unary:
            stack.append(unary[word](stack.pop()))
        elif word in binary:
            y, x = stack.pop(), stack.pop()
            stack.append(binary[word](x, y))
        elif word == "?":
            no, yes, condition = stack.pop(), stack.pop(), stack.pop()
            stack.append(yes if condition else no)
        elif word[0] == "=":
            bound[word[1:]] = stack.pop()
        elif word[0] in "$oph":
            index = int(word[1:])
            source = {"$": lambda i: bound[str(i)], "o": operands.__getitem__}
            source |= {"p": parameters.__getitem__, "h": lambda i: True}
            stack.append(source[word[0]](index))
        else:
            stack.append(float(word))
    (result,) = stack
    return float(result)


def test_postfix_computes_what_the_loops_compute(codegen) -> None:
    """Every operator with postfix code of doubles, over ordinary and odd values."""
    ops = codegen["model"].load(CODEGEN.parent / "ops")
    pointwise, fused = codegen["pointwise"], codegen["fused"]
    random = np.random.default_rng(5)
    odd = [0.0, -0.0, 1.0, -1.0, 0.5, 6.0, -3.0, math.inf, -math.inf, math.nan]
    checked = 0
    for op in pointwise.rows(ops):
        code = fused.postfix_of(op, floats=False)
        if not code:
            continue
        values = [
            np.concatenate([random.permutation(odd), random.normal(size=30) * 3])
            for _ in pointwise.operands(op)
        ]
        numbers = [0.7, 1.5, 0.25][: len(pointwise.params(op))]
        tensors, parameters = map(iter, ([engine.from_numpy(v) for v in values], numbers))
        arguments = [
            (a, next(tensors if a.type in ("Tensor", "Operand") else parameters))
            for a in op.arguments
        ]
        function = getattr(getattr(engine.ops.aten, op.name), op.overload or "default")
        result = function(
            *(value for a, value in arguments if not a.keyword_only),
            **{a.name: value for a, value in arguments if a.keyword_only},
        ).numpy()
        with np.errstate(all="ignore"):
            expected = [run_postfix(code, list(row), numbers) for row in zip(*values, strict=True)]
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12, err_msg=op.schema)
        checked += 1
    assert checked > 50
