"""A few programs of the search (search.py): the same wherever they run, and no tool that cannot find anything."""

from __future__ import annotations

import functools
import math
import types

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import engine
from tests.programs import compiled
from tests.programs.aliases import with_one_name
from tests.programs.blocks import without_blocks
from tests.programs.copies import computes_the_same_with_copies, with_copies
from tests.programs.grammar import program, programs
from tests.programs.known import reason_for
from tests.programs.outcome import Difference, difference, near, run, statements
from tests.programs.rounding import follows_from_rounding, reads_other_bools
from tests.programs.search import beside_pytorch, known_reason, script

# What a program computes; the long run (search.py) looks at everything.
COMPUTED = ("values", "dtype", "requires_grad", "does not compile")
FEW = settings(
    max_examples=25,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_values_are_pytorchs(first: int) -> None:
    pytest.importorskip("torch")
    for number in range(first, first + 20):
        text = program(number)
        result = beside_pytorch(text)
        assert (
            result is None or result.fact not in COMPUTED or known_reason("pytorch", text, result)
        ), (number, result)


@seed(11)
@FEW
@given(programs())
def test_a_program_does_the_same_twice(text: str) -> None:
    result = difference(run(engine, text), run(engine, text))
    assert result is None, result


def test_a_seed_is_a_program() -> None:
    assert program(3) == program(3)
    assert program(3) != program(4)
    assert program(3) != program(3, compiled=True)


def test_a_program_is_a_script_that_runs_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["program.py", "engine"])
    text = "x = lib.ones(2)\nx.add_(1)\nx.view(3)\n"
    exec(compile(script(text), "program.py", "exec"), {})
    output = capsys.readouterr()
    assert output.out == "tensor([2., 2.]) 1 False\n[]\n"
    assert "view size" in output.err or "shape '[3]' is invalid" in output.err


def test_every_fact_is_compared() -> None:
    before = "x = lib.ones(2, 2)\n"
    for statement, other, fact in (
        ("x.add_(1)", "x.add_(2)", "values"),
        ("x.add_(1)", "x.add_(1).mul_(1)", "_version"),
        ("y = x.t()", "y = x[:]", "stride"),
        ("y = x[0]", "y = x[1]", "storage_offset"),
        ("y = x[:]", "y = x.clone()", "_base"),
        ("x.requires_grad_()", "x", "requires_grad"),
        ("y = x.detach()", "y = x.data", ""),
        ("y = x.double()", "y = x.float()", "dtype"),
        ("x.view(3)", "x.view(4)", "raises"),
        ("x.view(3)", "x[5]", "error class"),
        ("x.grad = x.clone()", "x.grad = None", "grad"),
        ("seen.append(1)", "seen.append(2)", "seen"),
    ):
        result = difference(run(engine, before + statement), run(engine, before + other))
        assert (result.fact if result else "") == fact, (statement, other)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x[1:] = x[:2]", "x[1:] = x[:2].clone()"),
        ("x += x.t()", "x += x.t().clone()"),
        ("x.put_(i, x[0], True)", "x.put_(i.clone(), x[0].clone(), True)"),
        ("lib.cat([x, y], 0, out=x)", "lib.cat([x.clone(), y.clone()], 0, out=x)"),
        ("for i in range(2):\n    x.add_(y)", "for i in range(2):\n    x.add_(y.clone())"),
        ("y = x.add(x)", "y = x.add(x)"),
    ],
)
def test_operands_of_what_writes_are_copied(statement: str, expected: str) -> None:
    assert with_copies(statement) == expected


def test_added_memory_is_known() -> None:
    steps = run(
        engine,
        "x = lib.ones(2)\nx.resize_(5)\ny = lib.ones(2)\ny.set_(y.untyped_storage(), 1, (3,), (1,))\n",
    )
    assert steps[1].tensors["x"]["values"] == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert steps[1].tensors["x"]["_version"] == 1
    assert steps[3].tensors["y"]["values"] == [1.0, 0.0, 0.0]


def library_of(number: float) -> types.SimpleNamespace:
    """The engine, with a function `one` that gives this number."""
    return types.SimpleNamespace(
        **{name: getattr(engine, name) for name in ("Tensor", "int32", "uint8", "empty", "tensor")},
        one=functools.partial(engine.tensor, [number]),
    )


@pytest.mark.parametrize(
    ("number", "other_number", "expected"),
    [(0.25, 0.2500001, True), (0.0, -0.0, True), (math.nan, math.nan, True), (0.25, 1.0, False)],
)
def test_bits_differ_where_numbers_do(number: float, other_number: float, expected: bool) -> None:
    statement = "y = lib.one().view(lib.int32).clone()"
    result = Difference("values", statement, "")
    ours, other = library_of(number), library_of(other_number)
    assert follows_from_rounding(ours, other, statement, result) is expected


def test_integers_on_the_storage_of_numbers_are_these_numbers() -> None:
    text = (
        "x = lib.full((2,), -0.0)\ny = lib.zeros(1, dtype=lib.int32)\ny.set_(x.untyped_storage())\n"
    )
    other = text.replace("-0.0", "0.0")
    assert difference(run(engine, text), run(engine, other)) is None
    changed = difference(run(engine, text + "x.add_(1)\n"), run(engine, text + "x.add_(2)\n"))
    assert changed is not None
    assert changed.fact == "values"


@pytest.mark.parametrize(("byte", "expected"), [(1, False), (128, True)])
def test_bytes_of_other_tensors_are_no_bools(byte: int, expected: bool) -> None:
    text = f"x = lib.tensor([{byte}], dtype=lib.uint8).view(lib.bool)\ny = x + x\n"
    assert reads_other_bools(engine, text, Difference("values", "y = x + x", "")) is expected


@pytest.mark.parametrize(("factor", "expected"), [(1, True), (2, False)])
def test_the_same_bits_give_the_same(factor: int, expected: bool) -> None:
    ours, other = library_of(-1e-9), library_of(0.0)
    ours.floor, other.floor = engine.floor, lambda x: engine.floor(x) * factor
    text = "x = lib.one()\ny = lib.floor(x)\n"
    result = Difference("values", "y = lib.floor(x)", "")
    assert follows_from_rounding(ours, other, text, result) is expected


def test_a_difference_that_copies_do_not_explain_remains() -> None:
    result = Difference("values", "x.add_(x)", "")
    assert computes_the_same_with_copies(engine, engine, "x = lib.ones(2)\nx.add_(x)\n", result)
    halved = types.SimpleNamespace(Tensor=engine.Tensor, ones=lambda n: engine.full((n,), 0.5))
    assert not computes_the_same_with_copies(engine, halved, "x = lib.ones(2)\nx.add_(x)\n", result)


def test_blocks_are_unrolled_up_to_their_error() -> None:
    text = (
        "x = lib.ones(2)\nfor row in x:\n    row.add_(1)\n    if x[1] > 1:\n        row.view(7)\n"
        "with lib.no_grad():\n    for i in range(2):\n        x.add_(i)\n"
    )
    assert without_blocks(engine, text).split("\n")[:9] == [
        "x = lib.ones(2)",
        "items1 = list(x)",
        "row = items1[0]",
        "row.add_(1)",
        "condition2 = bool(x[1] > 1)",
        "row = items1[1]",
        "row.add_(1)",
        "condition3 = bool(x[1] > 1)",
        "row.view(7)",
    ]
    assert "with lib.no_grad():\n    x.add_(i)" in without_blocks(engine, text)
    alone, blocks = (
        run(engine, text)[-1].tensors["x"] for text in (without_blocks(engine, text), text)
    )
    assert alone["values"] == blocks["values"]
    assert alone["_version"] == blocks["_version"]


def test_one_tensor_has_one_name() -> None:
    text = "x = lib.ones(2)\ny = x\nlib.sum(x, 0, out=y)\n"
    result = Difference("shape", "lib.sum(x, 0, out=y)", "")
    assert with_one_name(engine, text, result).statement == "lib.sum(x, 0, out=x)"
    text = "x = lib.ones(2)\nlib.sum(x, 0, out=lib.broadcast_tensors(x, x)[0])\n"
    result = Difference("shape", "lib.sum(x, 0, out=lib.broadcast_tensors(x, x)[0])", "")
    assert with_one_name(engine, text, result).statement == "lib.sum(x, 0, out=x)"


def test_out_that_is_an_operand_through_another_operator_has_its_name() -> None:
    text = "x = lib.ones(2, 2)\nlib.mean(x, 0, out=lib.atleast_2d(x))\n"
    result = Difference("shape", "lib.mean(x, 0, out=lib.atleast_2d(x))", "")
    assert with_one_name(engine, text, result).statement == "lib.mean(x, 0, out=x)"


@pytest.mark.parametrize(
    ("text", "other", "note"),
    [
        ("y.add_(1)", "y.add_(1).add_(0)", "(no longer .grad)"),
        ("z = x[:0]", "z = x.as_strided((0, 2), (1, 1))", "(no elements)"),
        ("z = x[:1]", "z = x.as_strided((1, 2), (7, 1))", "(where the size is 1)"),
        ("z = lib.ones(0)", "z = lib.ones(0).requires_grad_()", "(no elements)"),
        ("x.view(3)", "x", "(float16 and float32 share memory)"),
    ],
)
def test_a_difference_says_what_a_reason_may_ask(text: str, other: str, note: str) -> None:
    before = "x = lib.ones(2, 2)\ny = lib.ones(2, 2)\nx.grad = y\nh = lib.ones(2).half()\n"
    before += "h.set_(x.untyped_storage())\n"
    result = difference(*(run(engine, f"{before}{part}\nx.grad = None") for part in (text, other)))
    assert result is not None
    assert result.detail.endswith(note)


def test_statements_are_what_python_reads() -> None:
    text = "x = lib.ones(2)\nwith lib.no_grad():\n    x.add_(1)\n    x.mul_(2)\nx.neg_()\n"
    assert [item.split("\n")[0] for item in statements(text)] == [
        "x = lib.ones(2)",
        "with lib.no_grad():",
        "x.neg_()",
    ]


def test_a_wrong_compiler_is_noticed() -> None:
    text = "x0 = lib.ones(2)\nv1 = x0 + 1\n"
    assert compiled.scripted(text) is None
    names, results, source = compiled.source_of(text)
    assert (names, results) == (["x0"], ["v1"])
    right = compiled.function_of(engine, source)
    wrong = compiled.function_of(engine, source.replace("+ 1", "+ 2"))
    inputs = compiled.inputs_of(engine, text, names)
    expected, other = (compiled.outcome(engine, f, inputs) for f in (right, wrong))
    result = compiled.compare("call 1", other, expected, source)
    assert result is not None
    assert result.fact == "values"


def test_hypothesis_and_a_seed_draw_from_one_grammar() -> None:
    strings = {program(number) for number in range(40)}
    assert len(strings) == 40
    assert any("no_grad" in text for text in strings)


@pytest.mark.parametrize("check", [compiled.scripted, compiled.traced])
def test_compiled_programs_compute_what_python_computes(check: compiled.Check) -> None:
    for number in range(30):
        result = check(program(number, compiled=True))
        assert result is None or result.fact not in ("values", "dtype"), (number, result)


def test_huge_complex_numbers_are_compared() -> None:
    """The magnitude of these is beyond float64, where abs() raises OverflowError."""
    huge = complex(1.7e308, 1.7e308)
    assert near(huge, huge * (1 + 1e-9), 1e-6)
    assert not near(huge, huge / 2, 1e-6)
    assert not near(huge, -huge, 1e-6)
    assert not near(huge, 0j, 1e-6)
    assert not near(complex(5e-324, 0), 0j, 1e-6)  # nothing computes a subnormal by mistake


@pytest.mark.parametrize("write", ["fill_", "eq_", "gt_", "masked_fill_"])
def test_integers_that_pytorch_gives_a_history_are_known(write: str) -> None:
    torch = pytest.importorskip("torch")
    leaf = torch.ones((), requires_grad=True)
    written = torch.zeros(2, dtype=torch.int32)
    mask = (torch.ones(2, dtype=torch.bool),) if write == "masked_fill_" else ()
    getattr(written, write)(*mask, leaf)
    assert written.requires_grad  # while this holds, the reason does
    seen = Difference("requires_grad", f"x.{write}(y)", "x: False, not True (int32)")
    assert reason_for(seen) is not None


@pytest.mark.parametrize(
    "text",
    [
        # The sign of a NaN, seen as a float64.
        "x0 = lib.arange(1).to(lib.float64)\n"
        "x1 = lib.full((2, 3), 2).to(lib.complex64)\n"
        "x1.set_(x0.untyped_storage())\n"
        "x1.reciprocal_()\n",
        "x1 = lib.tensor([], dtype=lib.float32).view((2, 0))\nlib.mean(x1, 0, out=x1)\n",
        "x0 = lib.ones(4, dtype=lib.float32).requires_grad_()\n"
        "v1 = lib.complex(x0, x0)\n"
        "v1.abs().sum().backward()\n"
        "v1.abs().sum().backward()\n",
        "x0 = lib.zeros(4, dtype=lib.float64).requires_grad_()\n"
        "v1 = x0.kron(x0)\n"
        "x0.data.add_(1)\n"
        "with lib.no_grad():\n    x0[0] = 2\n"
        "v1.sum().backward()\n",
        "x0 = lib.ones((2, 2), dtype=lib.uint8)\n"
        "lib.sum(x0[..., None], 2, out=x0.as_strided((2, 2), (1, 1)))\n",
        "x0 = lib.ones((2, 2)).requires_grad_()\n"
        "v1 = x0.double()\n"
        "v2 = lib.view_as_complex(v1)\n"
        "v1.swapaxes_(0, 1)\n",
        "x0 = lib.tensor([2.0, 1.75]).requires_grad_()\n"
        "v1 = x0.chunk(2)[0].masked_select(lib.ones(1) > 0)\n"
        "with lib.no_grad():\n    x0 **= 2\n"
        "v1.backward()\n",
        "x0 = lib.zeros(()).requires_grad_()\nx0.backward()\nv1 = x0.grad\nv2 = v1.expand((1, 2))\n",
        "x0 = lib.ones(4)\n"
        "x1 = lib.ones(()).requires_grad_()\n"
        "v1 = x0[...]\n"
        "for row in v1:\n    lib.ones(2, out=v1)\n    x0.add_(x1)\n",
        "x0 = lib.tensor(0.5).requires_grad_()\nv1 = lib.arange(2).select_scatter(x0, 0, 0)\n",
        "x0 = lib.ones((2, 0)).requires_grad_()\nx0[:, None].sum(-2).sum().backward()\n",
        "x0 = lib.ones((1, 3)).requires_grad_()\n"
        "x0.sum().backward()\n"
        "v1 = x0.grad\n"
        "lib.cumsum(v1, 1, out=v1.diagonal(1))\n",
        "x0 = lib.tensor(1.75).requires_grad_()\n"
        "x0.register_hook(lambda g: seen.append(g.tolist()))\n"
        "v1 = lib.autograd.grad(x0.sgn(), x0)\n",
        "x0 = lib.tensor([], dtype=lib.complex64).view((2, 0)).requires_grad_()\n"
        "v1 = x0.mT\n"
        "x0.data = x0.unflatten(1, (1, -1)).real\n"
        "v1.abs().sum().backward()\n",
        "x0 = lib.full((2, 2), 1)\nlib.cumsum(x0, 0, out=x0.as_strided((2, 2), (1, 1)))\n",
        "x0 = lib.tensor([], dtype=lib.bool).view((2, 0)) @ lib.ones((1, 0, 1)).requires_grad_()\n",
        "x0 = lib.arange(1.0).requires_grad_()\nv1 = x0.view_as(x0)\nv1.backward(x0)\n",
        "x0 = lib.ones(1).requires_grad_()\nlib.ones((2, 1), dtype=lib.int64).split(2, -2)[-1].eq_(x0)\n",
        "x0 = lib.tensor([0.25, 0.25, 0.0, 1.5, 1.75, 0.75, 1.0, 1.75, 1.0], dtype=lib.float64)\n"
        "v1 = x0.view((3, 3)).view(lib.int64).cov()\n",
        "x0 = lib.ones(6, dtype=lib.complex128)\nx0.view(lib.int16).sign_()\nx0.sgn_()\n",
        "x0 = lib.full((2, 3, 2), 1.0)\n"
        "v1 = lib.view_as_complex(x0)\n"
        "x0.resize_(0)\n"
        "x0.requires_grad_()\n",
        "x0 = lib.arange(3).to(lib.complex64)\nv1 = x0.view(lib.int32)\nx0.resize_(-1)\n",
        "x0 = lib.full((4,), 1)\n"
        "v1 = x0.as_strided((0, 2), (2, 1))\n"
        "x0.data = lib.ones(4)\n"
        "x0.requires_grad_()\n"
        "v2 = v1.tril()\n",
        "x0 = lib.ones(()).requires_grad_()\n"
        "x1 = lib.ones(0, dtype=lib.complex128)\n"
        "v1 = lib.view_as_real(x1)\n"
        "x1.data = v1\n"
        "x1[()] = x0\n",
        "x0 = lib.zeros(9, dtype=lib.complex64)\n"
        "v1 = lib.zeros(0, dtype=lib.float64)\n"
        "v1.set_(x0.untyped_storage(), 2, (2,), (1,))\n"
        "x0.neg_()\n",
        "x0 = lib.ones((2, 3))\nx0.neg_()\nlib.matmul(x0[..., 1], x0, out=x0)\n",
        "x0 = lib.ones(0).requires_grad_()\n"
        "v1 = x0[..., None]\n"
        "v1.backward(x0[:, None])\n"
        "v1.sum().backward()\n",
        "x0 = lib.arange(3.0).requires_grad_()\n"
        "v1 = lib.complex(x0, x0)\n"
        "with lib.no_grad():\n    x0[True] = 0.5\n"
        "v2 = lib.autograd.grad(v1, x0, v1)\n",
        "x0 = lib.full((2, 3, 2), 3.0).requires_grad_()\n"
        "v1 = lib.view_as_complex(x0)\n"
        "v2 = x0.detach()\n"
        "lib.gt(lib.ones((2, 1)), 2, out=x0)\n"
        "v2.cumprod_(-3)\n",
        "x0 = lib.ones(0).requires_grad_()\nx0.cummax(0)[0].sum().backward(create_graph=True)\n",
        "x0 = lib.ones((2, 2))\n"
        "v1 = x0.tensor_split(2)[0]\n"
        "x0.data = lib.zeros(2, dtype=lib.complex128)\n"
        "x0.resize_(1)\n"
        "x0.requires_grad_()\n",
        "x0 = lib.arange(0).view((2, 0))\nv1 = x0[1]\nlib.matmul(x0.unsqueeze(-2), v1, out=v1)\n",
        "x0 = lib.zeros(()).requires_grad_()\n"
        "v1 = lib.ones((2, 0), dtype=lib.uint8).split(2, 1)[-1]\n"
        "v1[0] = x0\n",
        "x0 = lib.full((0,), 1)\nv1 = lib.ones_like(x0)\nx0.grad = v1\nv1.resize_(-1)\n",
    ],
    ids=[
        "bits",
        "mean",
        "complex",
        "kron",
        "sum",
        "swapaxes",
        "chunk",
        "view of grad",
        "ones",
        "scatter",
        "empty",
        "grad",
        "sgn",
        "data",
        "cumsum",
        "matmul",
        "backward",
        "eq_",
        "cov",
        "subnormal",
        "requires_grad_",
        "resize_",
        "data of another dtype",
        "data of a complex",
        "zeros",
        "out of a product",
        "gradient without elements",
        "parts that were written",
        "out of a complex",
        "extremes of nothing",
        "data of another view",
        "out that is a vector",
        "history of integers",
        "negative size of grad",
    ],
)
def test_differences_that_have_a_reason(text: str) -> None:
    pytest.importorskip("torch")
    result = beside_pytorch(text)
    assert result is None or known_reason("pytorch", text, result) is not None
