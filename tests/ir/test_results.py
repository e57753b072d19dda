"""Every case of every *.ir file is run before and after its pass: same results, writes, memory, errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

import engine
from tests.ir.cases import Case, all_cases

Graph = engine.jit.Graph
CASES = [case for case in all_cases() if case.after]
# They change the order of summation, or take inputs that a graph alone does not have.
INEXACT = {"fuse", "batch_mm", "decompose_ops"}
DTYPES = {
    "Bool": engine.bool,
    "Char": engine.int8,
    "Int": engine.int32,
    "Long": engine.int64,
    "Half": engine.float16,
    "Float": engine.float32,
    "Double": engine.float64,
    "ComplexFloat": engine.complex64,
}
# What is not like any other number comes first.
NUMBERS = [-0.0, 0.0, math.inf, -math.inf, math.nan, 1.5, -2.25, 3.0, 0.125, -7.0, 2.0, 1.0]


def tensor(dtype: str, facts: str) -> engine.Tensor:
    """Return a tensor with the sizes and strides of a type; 4 x 4 if it has none."""
    strides = re.search(r"strides=\[([^\]]*)\]", facts)
    sizes = [part.strip() for part in facts.split("strides=")[0].split(",")]
    shape = [4 if size == "*" else int(size) for size in sizes if re.fullmatch(r"\*|\d+", size)]
    if not facts or "..." in sizes or (not shape and "device" in facts):
        shape = [4, 4]
    expected = DTYPES[dtype]
    count = 64
    numbers = [NUMBERS[i % len(NUMBERS)] for i in range(count)]
    if expected in (engine.bool, engine.int8, engine.int32, engine.int64):
        numbers = [float(i % 5 - 2) for i in range(count)]
    full = engine.tensor(numbers).to(expected)
    if strides:
        return engine.as_strided(full, shape, [int(n) for n in strides[1].split(",")])
    return engine.as_strided(full, shape, [math.prod(shape[i + 1 :]) for i in range(len(shape))])


def value(kind: str, flag: bool) -> Any:
    """Return a value of a type as graphs write it; LookupError if there is no such value."""
    if kind.endswith("?"):
        return value(kind[:-1], flag) if flag else None
    if kind.endswith("[]"):
        return [4, 4] if kind == "int[]" else [value(kind[:-2], flag), value(kind[:-2], not flag)]
    if kind.startswith("("):
        return tuple(value(part, flag) for part in kind[1:-1].split(", "))
    plain = {"int": 3, "float": 2.5, "bool": flag, "str": "ab", "Scalar": 2}
    if kind in plain:
        return plain[kind]
    name, _, facts = kind.rstrip(")").partition("(")
    return tensor("Float" if name == "Tensor" else name, facts)


def inputs(text: str, flag: bool) -> list[Any]:
    head = text[len("graph(") : text.index("):\n")]
    kinds = re.findall(r"%[\w.]+ : ((?:[^,(]|\((?:[^()]|\([^()]*\))*\))+)", head)
    return [value(kind.strip(), flag) for kind in kinds]


def parts(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in parts(item)]
    return [value]


def comparable(value: Any) -> Any:
    """Return a value so that equal ones compare equal: -0.0 is not 0.0, nan is nan."""
    if isinstance(value, engine.Tensor):
        return (str(value.dtype), tuple(value.shape), str(value.reshape(-1).tolist()))
    return (type(value).__name__, str(value))


def ran(text: str, flag: bool) -> tuple[Any, ...]:
    """Run a graph; return its results, its inputs after the run, and which of all these share memory."""
    arguments = inputs(text, flag)
    engine.manual_seed(0)
    try:
        actual = Graph.parse(text).run(*arguments)
    except (RuntimeError, IndexError, ValueError, TypeError, ArithmeticError) as error:
        return (type(error).__name__,)
    everything = [*parts(arguments), *parts(actual)]
    storages = [
        item.untyped_storage().data_ptr() if isinstance(item, engine.Tensor) else None
        for item in everything
    ]
    memory = [storages.index(storage) if storage is not None else None for storage in storages]
    return ([comparable(element) for element in everything], memory)


@pytest.fixture(autouse=True)
def gradients_as_before() -> Iterator[None]:
    """A graph may switch the recording of gradients, and a piece of a program need not switch it back."""
    with engine.set_grad_enabled(engine.is_grad_enabled()):
        yield


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("flag", [True, False])
def test_a_pass_changes_no_result(case: Case, flag: bool) -> None:
    assert case.after
    if case.pass_name in INEXACT:
        pytest.skip("sums in another order: tests/engine/jit compares to a tolerance")
    if "<Tensor>" in case.after or "CallFunction" in case.before or "CallMethod" in case.before:
        pytest.skip("the text alone does not say all of the program")
    before = ran(case.before, flag)
    assert ran(case.after, flag) == before, case
