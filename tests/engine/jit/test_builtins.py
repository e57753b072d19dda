"""Builtins give what Python gives: each is called through a graph of one node, and compared."""

from __future__ import annotations

import copy
import math
import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from engine.jit.ir.graph import Graph
from engine.jit.runtime.function import NativeFunction

Reference = Callable[..., Any]
INTS = [0, 1, -1, 2, -3, 7, -7, 10, 63, 2**40, -(2**40)]
FLOATS = [0.0, -0.0, 1.5, -2.5, 3.0, 1e20, -1e-7, 0.1, 2.675, 1e16, 123456789.123]
LISTS = [[], [1], [3, 1, 2], [1, 1, 2, 1]]
DICTS: list[dict[str, int]] = [{}, {"a": 1, "b": 2}]
TEXTS = ["", "a", "abc", "  x y  ", "a,b,,c", "Hello World", "ABC dEf", "a\tb\nc\r\nd", "éa€"]
TEXTS += ["123", "aXbXc", "xxxxx", " \t ", "--1-2", "+42", "q\"'"]
WORDS = ["", "a", "X", "b", "l", "  ", ",", "é"]
# Errors whose class the core has no kind for: the message names it.
NAMED = (ZeroDivisionError, KeyError, OverflowError)


def function(name: str, types: Sequence[str]) -> NativeFunction:
    graph = Graph(name="f")
    outputs = graph.call(name, *[graph.addInput(f"a{i}", t) for i, t in enumerate(types)]).outputs()
    if len(outputs) == 1:
        graph.registerOutput(outputs[0])
    else:
        tuple_ = graph.create("prim::TupleConstruct", outputs)
        tuple_.output().setType("(" + ", ".join(o.type() for o in outputs) + ")")
        graph.registerOutput(tuple_.output())
    graph.lint()
    return NativeFunction.of("f", graph._handle)


def outcome(call: Reference, args: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return "gives", repr(call(*copy.deepcopy(args)))
    except NAMED as error:
        return "fails", f"{type(error).__name__}: {error}"
    except Exception as error:  # whatever Python raises is expected
        return "fails", str(error)


def compare(name: str, types: str, reference: Reference, cases: Sequence[tuple[Any, ...]]) -> None:
    compiled = function(name, types.split("; "))
    for args in cases:
        mode, expected = outcome(reference, args)
        got = outcome(lambda *a: compiled.call(list(a)), args)
        assert got[0] == mode, f"{name}{args} {got}, Python {mode} {expected}"
        same = got[1] == expected if mode == "gives" else expected in got[1]
        assert same, f"{name}{args} {got}, Python {mode} {expected}"


def pairs(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [(a, b) for a in first for b in second]


def each(values: Sequence[Any]) -> list[tuple[Any]]:
    return [(v,) for v in values]


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def method(name: str) -> Reference:
    return lambda self, *args: getattr(self, name)(*args)


ARITHMETIC = [
    ("aten::add", lambda a, b: wrapped(a + b)),
    ("aten::sub", lambda a, b: wrapped(a - b)),
    ("aten::mul", lambda a, b: wrapped(a * b)),
    ("aten::floordiv", operator.floordiv),
    ("aten::remainder", operator.mod),
    ("aten::div", operator.truediv),
    ("aten::divmod", divmod),
    ("aten::__and__", operator.and_),
    ("aten::__or__", operator.or_),
    ("aten::__xor__", operator.xor),
    ("aten::gcd", math.gcd),
]


@pytest.mark.parametrize(("name", "reference"), ARITHMETIC, ids=[n for n, _ in ARITHMETIC])
def test_arithmetic_of_ints(name: str, reference: Reference) -> None:
    compare(name, "int; int", reference, pairs(INTS, INTS))


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("add", operator.add),
        ("mul", operator.mul),
        ("floordiv", operator.floordiv),
        ("remainder", operator.mod),
        ("div", operator.truediv),
        ("divmod", divmod),
    ],
)
def test_arithmetic_of_floats(name: str, reference: Reference) -> None:
    compare(f"aten::{name}", "float; float", reference, pairs(FLOATS, FLOATS))
    compare(f"aten::{name}", "int; float", reference, pairs(INTS, FLOATS))


def test_powers_are_floats_as_in_pytorch() -> None:
    compare("aten::pow", "int; int", lambda a, b: float(a**b), [(2, 10), (2, -1), (0, -1)])
    compare("aten::pow", "float; float", operator.pow, [(2.0, 3.0), (2.0, 0.5), (0.0, -1.0)])


def test_shifts() -> None:
    cases = pairs(INTS, [0, 1, 5, -1])
    compare("aten::__lshift__", "int; int", lambda a, b: wrapped(a << b), cases)
    compare("aten::__rshift__", "int; int", operator.rshift, [*cases, (-5, 63), (5, 70), (-5, 70)])


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons(name: str) -> None:
    reference = getattr(operator, name)
    compare(f"aten::{name}", "int; int", reference, pairs(INTS, INTS))
    compare(f"aten::{name}", "float; int", reference, pairs(FLOATS, INTS))
    compare(f"aten::{name}", "str; str", reference, pairs(TEXTS, TEXTS))
    compare(f"aten::{name}", "bool; bool", reference, pairs([True, False], [True, False]))


@pytest.mark.parametrize(
    "name",
    [
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "log10",
        "log2",
        "log1p",
        "expm1",
        "erf",
        "erfc",
        "fabs",
        "degrees",
        "radians",
    ],
)
def test_functions_of_math(name: str) -> None:
    compiled = function(f"aten::{name}", ["float"])
    for x in (0.25, 0.5, 0.75):
        assert compiled.call([x]) == pytest.approx(getattr(math, name)(x), rel=1e-15)


def test_rounding() -> None:
    small = [x for x in FLOATS if abs(x) < 1e18]
    compare("aten::floor", "float", math.floor, each([*small, math.inf, math.nan]))
    compare("aten::ceil", "float", math.ceil, each(small))
    compare("aten::round", "float; int", round, pairs(FLOATS, [0, 1, 2, 3, -1, -3]))
    compare("aten::Int", "float", int, each([*small, math.inf, math.nan]))


def test_ranges() -> None:
    compiled = function("aten::__range_length", ["int", "int", "int"])
    for lo, hi, step in [(a, b, c) for a in INTS for b in INTS for c in (1, 2, -1, -3, 2**40)]:
        assert compiled.call([lo, hi, step]) == len(range(lo, hi, step))
    with pytest.raises(Exception, match=r"range\(\) arg 3 must not be zero"):
        compiled.call([0, 1, 0])


def test_texts_of_values() -> None:
    special = [
        1e15,
        1e17,
        1e-5,
        0.0001,
        math.inf,
        -math.inf,
        math.nan,
        5e-324,
        1.7976931348623157e308,
    ]
    compare("aten::str", "float", str, each(FLOATS + special))
    compare("aten::str", "float[]", str, [([1.0, 2.5],), ([],)])
    compare("aten::str", "str[]", str, [(["a", "b'c", 'd\n"', "é"],)])
    compare("aten::str", "Dict(str, int)", str, each(DICTS))
    compare("aten::str", "(int, str)", str, [((1, "a"),)])
    compare("aten::str", "int?", str, [(None,), (3,)])
    compare("aten::str", "bool", str, [(True,), (False,)])


def test_numbers_of_texts() -> None:
    strings = ["12", " -3 ", "1_000", "q", "", "+5", "1.5", "0x1", "1__0", "_1", "+-5"]
    compare("aten::Int", "str", int, each(strings))
    floats = [
        "1.5",
        "q",
        "1e3",
        " inf ",
        "nan",
        "1_0.5",
        "-Infinity",
        ".5",
        "5.",
        "1e999",
        "",
        "+-1",
    ]
    compare("aten::Float", "str", float, each(floats))
    compare("aten::ord", "str", ord, each(["a", "é", "€", "😀", "ab", ""]))
    compare("aten::chr", "int", chr, each([97, 233, 8364, 128512]))
    for name, reference in (("hex", hex), ("oct", oct), ("bin", bin)):
        compare(f"aten::{name}", "int", reference, each(INTS))


def test_lists() -> None:
    compare("aten::len", "int[]", len, each(LISTS))
    compare("aten::__getitem__", "int[]; int", operator.getitem, pairs(LISTS, range(-5, 5)))
    compare("aten::pop", "int[]; int", method("pop"), pairs(LISTS, [-1, 0, 1, -9, 9]))
    for name, reference in (("prim::max", max), ("prim::min", min), ("aten::sum", sum)):
        compare(name, "int[]", reference, each(LISTS))
    compare("aten::sorted", "int[]", sorted, each(LISTS))
    compare("aten::count", "int[]; int", method("count"), pairs(LISTS, [1, 9]))
    compare("aten::index", "int[]; int", method("index"), pairs(LISTS, [1, 9]))
    compare("aten::__contains__", "int[]; int", operator.contains, pairs(LISTS, [1, 9]))
    compare("aten::add", "int[]; int[]", operator.add, pairs(LISTS, LISTS))
    compare("aten::mul", "int[]; int", operator.mul, pairs(LISTS, [3, 0, -1]))
    compare("aten::eq", "int[]; int[]", operator.eq, pairs(LISTS, LISTS))


def slices() -> list[tuple[Any, ...]]:
    ends = (None, -9, -2, 0, 2, 9)
    return [(a, b, c) for a in ends for b in ends for c in (1, 2, -1, -2, 0)]


def test_slices() -> None:
    types = "; int?; int?; int"

    def cut(items: Any, start: int | None, stop: int | None, step: int) -> Any:
        return items[start:stop:step]

    compare("aten::slice", "int[]" + types, cut, [([1, 2, 3, 4, 5], *s) for s in slices()])
    compare("aten::slice", "str" + types, cut, [("abcdé", *s) for s in slices()])


def test_dictionaries() -> None:
    keys = pairs(DICTS, ["a", "q"])
    for name in ("keys", "values", "items"):
        compare(
            f"aten::{name}", "Dict(str, int)", lambda d, n=name: list(getattr(d, n)()), each(DICTS)
        )
    compare("aten::__getitem__", "Dict(str, int); str", operator.getitem, keys)
    compare("aten::__contains__", "Dict(str, int); str", operator.contains, keys)
    compare("aten::get", "Dict(str, int); str", method("get"), keys)
    compare("aten::pop", "Dict(str, int); str", method("pop"), keys)
    compare("aten::popitem", "Dict(str, int)", method("popitem"), each(DICTS))
    compare(
        "aten::setdefault",
        "Dict(str, int); str; int",
        method("setdefault"),
        [(*k, 5) for k in keys],
    )
    compare(
        "aten::__getitem__", "Dict(int, int); int", operator.getitem, [({1: 2}, 1), ({1: 2}, 3)]
    )


CASES = "upper lower capitalize title swapcase isalpha isalnum islower isupper istitle isidentifier"
PLAIN = "strip lstrip rstrip split splitlines expandtabs isdigit isspace isascii"


@pytest.mark.parametrize("name", [*CASES.split(), *PLAIN.split()])
def test_methods_of_texts(name: str) -> None:
    strings = [t for t in TEXTS if name in PLAIN.split() or t.isascii()]
    compare(f"aten::{name}", "str", method(name), each(strings))


@pytest.mark.parametrize(
    "name", ["find", "rfind", "index", "rindex", "count", "startswith", "endswith"]
)
def test_searches_in_texts(name: str) -> None:
    compare(f"aten::{name}", "str; str", method(name), pairs(TEXTS, WORDS))
    positions = [
        (t, w, i, j) for t in TEXTS for w in WORDS for i in (-2, 0, 1, 9) for j in (0, 1, 2, 9)
    ]
    compare(f"aten::{name}", "str; str; int; int", method(name), positions)


def test_texts_are_cut_and_joined() -> None:
    cuts = [(t, w, k) for t in TEXTS for w in WORDS for k in (-1, 0, 1, 2)]
    compare("aten::split", "str; str; int", method("split"), cuts)
    compare("aten::rsplit", "str; str; int", method("rsplit"), cuts)
    compare(
        "aten::split", "str; NoneType; int", method("split"), [(t, None, k) for t, _, k in cuts]
    )
    compare("aten::partition", "str; str", method("partition"), pairs(TEXTS, WORDS))
    compare("aten::rpartition", "str; str", method("rpartition"), pairs(TEXTS, WORDS))
    compare("aten::splitlines", "str; bool", method("splitlines"), pairs(TEXTS, [True, False]))
    compare("aten::join", "str; str[]", method("join"), [(",", ["a", "b"]), ("", [])])
    replaced = [(t, w, "ZZ", k) for t, w, k in cuts]
    compare("aten::replace", "str; str; str; int", method("replace"), replaced)


def test_texts_are_padded() -> None:
    pads = [(t, k, f) for t in TEXTS for k in (0, 4, 5, 8, 9) for f in (" ", "*", "é", "xy")]
    for name in ("center", "ljust", "rjust"):
        compare(f"aten::{name}", "str; int; str", method(name), pads)
    compare("aten::zfill", "str; int", method("zfill"), pairs(TEXTS, [0, 4, 9]))


FLOAT_SPECS = ["", "5", "<5", ">7", "^8", "*^9", "05", "+", "+.3f", ".2f", "10.3f", "e", ".3e", "g"]
FLOAT_SPECS += [".3g", "%", ".1%", ",", ",.2f", "+09.2f", "010", "x<10.1f", "d", ".f"]
INT_SPECS = [
    "",
    "5",
    "<5",
    "05",
    "+",
    "x",
    "#x",
    "X",
    "b",
    "#b",
    "o",
    "d",
    ",",
    "_",
    "08b",
    "#010x",
]
INT_SPECS += ["+d", " d", ".2f", "e", "%", "^7", "s"]
TEXT_SPECS = ["", "5", ">5", "^6", ".2", "*<8.1", "s", "d"]


def test_formats() -> None:
    def format_(pattern: str, value: Any) -> str:
        return pattern.format(value)

    def of(specs: list[str], values: Sequence[Any]) -> list[tuple[str, Any]]:
        return [(f"{{:{s}}}", v) for s in specs for v in values]

    compare("aten::format", "str; float", format_, of(FLOAT_SPECS, [*FLOATS, math.inf, math.nan]))
    compare("aten::format", "str; int", format_, of(INT_SPECS, [0, 5, -42, 123456789]))
    compare("aten::format", "str; str", format_, of(TEXT_SPECS, ["ab", "é", ""]))
    patterns = ["{", "}", "{{}}", "{} {}", "{0}{0}", "{x}"]
    compare("aten::format", "str; str", format_, pairs(patterns, ["a"]))
    percent = ["%d", "%5d", "%-5d|", "%05d", "%x", "%s", "%%%d", "%.2f", "%d %d", "x"]
    compare("aten::percentFormat", "str; int", operator.mod, pairs(percent, [5, -7]))


def test_sequences_of_writes_are_those_of_python() -> None:
    """Random appends, insertions, removals: the list that the program holds is Python's list."""
    names: dict[str, tuple[str, Reference]] = {
        "append": ("int[]; int", list.append),
        "insert": ("int[]; int; int", list.insert),
        "remove": ("int[]; int", list.remove),
        "reverse": ("int[]", list.reverse),
        "sort": ("int[]", list.sort),
        "clear": ("int[]", list.clear),
    }
    draw = random.Random(0)
    for name, (types, write) in names.items():
        graph = Graph(name=name)
        inputs = [graph.addInput(f"a{i}", t) for i, t in enumerate(types.split("; "))]
        graph.call(f"aten::{name}", *inputs)
        graph.registerOutput(inputs[0])
        compiled = NativeFunction.of(name, graph._handle)
        for _ in range(50):
            items = [draw.randrange(5) for _ in range(draw.randrange(6))]
            remainder = [draw.randrange(-4, 5) for _ in inputs[1:]]
            expected = list(items)
            try:
                write(expected, *remainder)
            except ValueError:  # nothing to remove
                with pytest.raises(Exception, match=r"list.remove\(x\): x not in list"):
                    compiled.call([items, *remainder])
                continue
            assert compiled.call([items, *remainder]) == expected
