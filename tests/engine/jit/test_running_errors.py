"""A program that fails, fails in compiled code as it does eagerly: same class, same words, and the line.

Each is run eagerly, scripted (general code), and again until it is specialised and its groups are fused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import engine
from engine import Tensor, jit

RUNS = 5  # two are profiled, the third is specialised


@dataclass(frozen=True)
class Case:
    """A program, its arguments, the message, and the text of the line that is to blame."""

    program: Callable[..., Any]
    arguments: tuple[Any, ...]
    message: str
    line: str  # of the operator that fails; empty: the backward pass fails, after the program
    kind: type[Exception] = field(default=RuntimeError)


def of(*sizes: int, grad: bool = False) -> Callable[[], Tensor]:
    return lambda: (
        (engine.arange(engine.Size(sizes).numel()) / 7.0).reshape(sizes).requires_grad_(grad)
    )


def sizes_in_a_chain(x: Tensor, y: Tensor) -> Tensor:
    a = x * 2.0
    b = a + y
    return b.relu()


def sizes_of_two_chains(x: Tensor, y: Tensor) -> Tensor:
    a = x.tanh() * 2.0
    b = y.sigmoid() - 1.0
    c = a * b
    return c + 1.0


def sizes_behind_a_product(x: Tensor, y: Tensor) -> Tensor:
    a = engine.mm(x, y) * 2.0
    b = a + x
    return b.relu()


def sizes_of_where(x: Tensor, y: Tensor) -> Tensor:
    a = x * 2.0
    b = engine.where(x > 0.0, a, y)
    return b + 1.0


def sizes_of_lerp(x: Tensor, y: Tensor) -> Tensor:
    a = x * 1.5
    b = engine.lerp(a, y, 0.5)
    return b + x


def sizes_of_a_sum(x: Tensor) -> Tensor:
    a = x.exp()
    b = a / a.sum(1)
    return b.log()


def product_of_wrong_sizes(x: Tensor, y: Tensor) -> Tensor:
    a = x.relu() * 2.0
    b = engine.mm(a, y)
    return b.tanh()


def joined_sizes(x: Tensor, y: Tensor) -> Tensor:
    a = x * 2.0
    b = engine.cat([a, y + 1.0])
    return b.tanh()


def dimension_of_a_sum(x: Tensor) -> Tensor:
    a = x * 2.0 + 1.0
    return a.sum(3)


def dimension_of_amax(x: Tensor) -> Tensor:
    a = x * 2.0 + 1.0
    return a.amax(-5)


def dimension_of_softmax(x: Tensor) -> Tensor:
    a = x * 2.0 + 1.0
    b = engine.softmax(a, 2)
    return b * x


def dimension_of_a_view(x: Tensor) -> Tensor:
    a = x * 2.0
    b = a.view(5, 5)
    return b + 1.0


def index_out_of_range(x: Tensor) -> Tensor:
    a = x * 2.0
    b = a[7]
    return b + 1.0


def leaf_is_written(x: Tensor) -> Tensor:
    a = x * 2.0
    x.add_(1.0)
    return a.tanh()


def leaf_is_written_by_a_tensor(x: Tensor, y: Tensor) -> Tensor:
    a = y * 3.0 + x
    x.mul_(y)
    return a


def view_of_a_leaf_is_written(x: Tensor) -> Tensor:
    a = x[0]
    a.relu_()
    return x * 2.0


def written_is_too_small(x: Tensor, y: Tensor) -> Tensor:
    a = x * 2.0
    a.add_(y)
    return a.tanh()


def written_is_of_other_sizes(x: Tensor, y: Tensor) -> Tensor:
    a = x * 2.0
    a.mul_(y)
    return a.tanh()


def written_is_expanded(x: Tensor) -> Tensor:
    a = (x[:, :1] * 2.0).expand(3, 4)
    a.add_(1.0)
    return a * x


def written_is_whole(x: Tensor) -> Tensor:
    a = engine.zeros(3, 4, dtype=engine.int64)
    a.add_(x * 2.0 + 0.5)
    return a


def written_is_bool(x: Tensor) -> Tensor:
    a = x > 0.5
    a.mul_(x * 2.0)
    return a


def bools_are_subtracted(x: Tensor) -> Tensor:
    a = x > 0.5
    b = a - a
    return b * 2


def division_of_whole_tensors(x: Tensor) -> Tensor:
    a = (x * 0.0).to(engine.int64)
    b = (a + 7) // a
    return b + 1


def division_of_whole_numbers(x: Tensor, n: int) -> Tensor:
    a = x * 2.0
    k = 6 // n
    return a * float(k) + 1.0


def division_in_a_loop(x: Tensor, n: int) -> Tensor:
    k = 0
    for i in range(4):
        k += 12 % (n - i)
    return x * float(k) + 1.0


def truth_of_many(x: Tensor) -> Tensor:
    a = x * 2.0 + 1.0
    b = a.sigmoid()
    if bool(b):
        return a
    return b


def saved_result_is_written(x: Tensor) -> Tensor:
    a = (x * 1.0).exp()
    b = a.tanh()
    a.add_(1.0)
    return a + b


def saved_input_is_written(x: Tensor, y: Tensor) -> Tensor:
    a = y * 1.0
    b = x * a
    a.add_(1.0)
    return b + 1.0


def saved_result_is_written_after_use(x: Tensor) -> Tensor:
    a = x.sigmoid()
    b = a * 2.0
    a.mul_(3.0)
    return b


def saved_argument_is_written(x: Tensor, y: Tensor) -> Tensor:
    a = (x * y).tanh() * y
    y.mul_(2.0)
    return a


def saved_in_a_loop_is_written(x: Tensor) -> Tensor:
    a = x * 2.0
    b = x
    for _ in range(2):
        b = b * a
        a.add_(1.0)
    return b


def saved_by_a_product_is_written(x: Tensor) -> Tensor:
    a = x * 2.0
    b = engine.mm(a, x)
    a.relu_()
    return a + b


A, LEAF = of(3, 4), of(3, 4, grad=True)
SIZES = "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 1"
WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace operation"
)
LEAVES = "a leaf Variable that requires grad"
RANGE = "dimension out of range (expected to be in range of [-2, 1], but got"
CASES = [
    Case(sizes_in_a_chain, (A, of(5)), SIZES, "a + y"),
    Case(sizes_in_a_chain, (LEAF, of(5)), SIZES, "a + y"),
    Case(sizes_of_two_chains, (A, of(5)), SIZES, "a * b"),
    Case(sizes_behind_a_product, (A, of(4, 5)), "must match the size of tensor b", "a + x"),
    Case(
        sizes_of_where,
        (A, of(3, 3)),
        "must match the size of tensor",
        "engine.where(x > 0.0, a, y)",
    ),
    Case(sizes_of_lerp, (A, of(2, 4)), "must match the size of tensor", "engine.lerp(a, y, 0.5)"),
    Case(sizes_of_a_sum, (A,), "must match the size of tensor", "a / a.sum(1)"),
    Case(
        product_of_wrong_sizes,
        (A, of(5, 5)),
        "mat1 and mat2 shapes cannot be multiplied",
        "engine.mm(a, y)",
    ),
    Case(joined_sizes, (A, of(3, 5)), "Sizes of tensors must match", "engine.cat([a, y + 1.0])"),
    Case(dimension_of_a_sum, (A,), RANGE, "a.sum(3)", IndexError),
    Case(dimension_of_amax, (A,), RANGE, "a.amax(-5)", IndexError),
    Case(dimension_of_softmax, (A,), RANGE, "engine.softmax(a, 2)", IndexError),
    Case(
        dimension_of_a_view, (A,), "shape '[5, 5]' is invalid for input of size 12", "a.view(5, 5)"
    ),
    Case(index_out_of_range, (A,), "out of", "a[7]", IndexError),
    Case(leaf_is_written, (LEAF,), LEAVES, "x.add_(1.0)"),
    Case(leaf_is_written_by_a_tensor, (LEAF, A), LEAVES, "x.mul_(y)"),
    Case(view_of_a_leaf_is_written, (LEAF,), LEAVES, "a.relu_()"),
    Case(written_is_too_small, (A, of(2, 3, 4)), "doesn't match the broadcast shape", "a.add_(y)"),
    Case(written_is_of_other_sizes, (A, of(5)), SIZES, "a.mul_(y)"),
    Case(written_is_expanded, (A,), "unsupported operation", "a.add_(1.0)"),
    Case(written_is_whole, (A,), "can't be cast", "a.add_(x * 2.0 + 0.5)"),
    Case(written_is_bool, (A,), "can't be cast", "a.mul_(x * 2.0)"),
    Case(bools_are_subtracted, (A,), "subtraction, the `-` operator, with a bool", "a - a"),
    Case(division_of_whole_tensors, (A,), "ZeroDivisionError", "(a + 7) // a"),
    Case(division_of_whole_numbers, (A, 0), "division", "6 // n"),
    Case(division_in_a_loop, (A, 2), "modulo by zero", "12 % (n - i)"),
    Case(truth_of_many, (A,), "with more than one value (12) is ambiguous", "bool(b)"),
    Case(truth_of_many, (of(0, 4),), "with no values is ambiguous", "bool(b)"),
    Case(saved_result_is_written, (LEAF,), WRITTEN, ""),
    Case(saved_input_is_written, (LEAF, A), WRITTEN, ""),
    Case(saved_result_is_written_after_use, (LEAF,), WRITTEN, ""),
    Case(saved_argument_is_written, (LEAF, A), WRITTEN, ""),
    Case(saved_in_a_loop_is_written, (LEAF,), WRITTEN, ""),
    Case(saved_by_a_product_is_written, (of(3, 3, grad=True),), WRITTEN, ""),
]


def failure(case: Case, function: Callable[..., Any]) -> Exception:
    """Return the error of a call with new arguments, or of the backward pass after it."""
    arguments = [a() if callable(a) else a for a in case.arguments]

    def run() -> None:
        result = function(*arguments)
        if not case.line:
            result.sum().backward()

    with pytest.raises(Exception) as raised:  # noqa: PT011 - the caller checks it
        run()
    return raised.value


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{i}-{case.program.__name__}" for i, case in enumerate(CASES)]
)
def test_compiled_code_fails_as_eager_code_does(case: Case) -> None:
    eager = failure(case, case.program)
    assert case.message in str(eager)
    scripted = jit.script(case.program)
    for run in range(RUNS):
        actual = failure(case, scripted)
        location = f"run {run}: {actual}"
        # Python's own errors of numbers have no class of PyTorch's: the text has their name.
        own = isinstance(eager, ZeroDivisionError)
        assert type(actual) is (RuntimeError if own else case.kind), location
        assert own or type(eager) is case.kind
        assert str(eager) in str(actual), location
        if case.line:
            lines = str(actual).splitlines()
            mark = next(i for i, text in enumerate(lines) if text.endswith("<--- HERE"))
            blamed = lines[mark - 1][lines[mark].index("~") : lines[mark].rindex("~") + 1]
            assert blamed == case.line, location
