"""The microscope's model: one cell of a call with real numbers, from a recorded stream."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

from engine.inspect.models import to_json
from engine.inspect.models.microscope import LISTED, TABLES, MicroscopeModel, project
from tests.inspect.selections import select
from tests.inspect.trace_builder import T, TraceBuilder

ADD = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
ADD_ = "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> ()"
SUM = "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor"
MM = "mm(Tensor self, Tensor mat2) -> Tensor"


@contextmanager
def little_memory() -> Iterator[None]:
    """Inside, memory is summarised, not listed: a list of all cells would take much more."""
    tracemalloc.start()
    try:
        yield
        _, maximum = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert maximum < 4 << 20


def looked(b: TraceBuilder, **selected: object) -> MicroscopeModel:
    return project(b.history(), b.now, select(**selected))


def added() -> tuple[TraceBuilder, int, int, int]:
    """z = x + 10 * y, with y broadcast."""
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2, 3), values=range(6), name="x")
    y = b.tensor((3,), values=[1, 2, 3], name="y")
    b.line(2)
    with b.op(ADD, [T(x), T(y), 10]) as call:
        z = b.tensor((2, 3), values=[10, 21, 32, 13, 24, 35])
        call.results(z)
    b.line(3)
    b.bind("z", z)
    return b, x, y, z


def test_the_arithmetic_in_names_and_in_numbers() -> None:
    b, _, _, z = added()
    model = looked(b, tensor=z, index=(1, 2))
    assert model.symbolic == "z[1,2] = x[1,2] + 10 * y[2]"
    assert model.numeric == "35. = 5. + 10 * 3."
    assert [(f.argument, f.label, f.index, f.byte) for f in model.feeds] == [
        ("self", "x", (1, 2), 20), ("other", "y", (2,), 8),
    ]  # fmt: skip
    storage = b.history().storage(2, b.now)
    assert model.feeds[1].address == storage.address + 8


def test_without_a_selection_it_is_the_first_cell() -> None:
    b, *_ = added()
    assert looked(b).index == (0, 0)


def test_the_tables_light_what_takes_part() -> None:
    b, _, _, z = added()
    model = looked(b, tensor=z, index=(0, 1))
    assert model.out is not None
    assert model.out.fed == {(0, 1)}
    assert [(t.argument, set(t.fed)) for t in model.inputs] == [
        ("self", {(0, 1)}), ("other", {(1,)}),
    ]  # fmt: skip


def test_an_input_cell_says_where_it_goes() -> None:
    b, _, y, _ = added()
    model = looked(b, tensor=y, index=(1,))
    assert model.picked is not None
    assert (model.picked.label, model.picked.index) == ("y", (1,))
    assert (model.goes, model.goes_counted) == (2, True)
    assert model.out is not None
    assert model.out.fed == {(0, 1), (1, 1)}
    assert model.index == (0, 1)


def test_in_place_the_input_is_what_it_was_before() -> None:
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2,), values=[1, 2], name="x")
    with b.op(ADD_, [T(x), 5, 1]) as call:
        b.write(x, [6, 7])
        call.results()
    b.line(2)
    model = looked(b, tensor=x, index=(1,))
    assert model.numeric == "7. = 2. + 5"
    assert model.outs == (x,)


def test_the_out_argument_is_the_result_and_not_an_input() -> None:
    b = TraceBuilder()
    x = b.tensor((2,), values=[1, 2], name="x")
    out = b.tensor((2,), values=[0, 0], name="out")
    schema = "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> ()"
    with b.op(schema, [T(x), T(x), 1, T(out)]) as call:
        b.write(out, [2, 4])
        call.results()
    model = looked(b)
    assert model.outs == (out,)
    assert [table.argument for table in model.inputs] == ["self", "other"]
    assert model.numeric == "2. = 1. + 1."


def test_a_long_sum_leaves_terms_out_but_counts_them() -> None:
    b = TraceBuilder()
    x = b.tensor((3, 1000), values=range(3000), name="x")
    with b.op(SUM, [T(x), (1,), False]) as call:
        s = b.tensor((3,), values=[499500, 1499500, 2499500])
        call.results(s)
    model = looked(b, tensor=s, index=(1,))
    assert model.total == 1000
    assert len(model.feeds) == LISTED
    assert "... 995 more ..." in model.symbolic
    assert model.symbolic.endswith("+ x[1,999]")
    assert len(model.inputs[0].fed) == 1000


def test_a_sum_over_very_many_cells_is_described_at_once() -> None:
    b = TraceBuilder()
    x = b.tensor((4000, 4000), name="x")
    with b.op("sum(Tensor self) -> Tensor", [T(x)]) as call:
        call.results(b.tensor((), values=[0]))
    with little_memory():
        model = looked(b)
    assert model.total == 16_000_000


def test_a_product_pairs_row_and_column() -> None:
    b = TraceBuilder()
    x = b.tensor((2, 3), values=range(6), name="x")
    w = b.tensor((3, 2), values=range(6), name="w")
    with b.op(MM, [T(x), T(w)]) as call:
        y = b.tensor((2, 2), values=[10, 13, 28, 40])
        call.results(y)
    b.bind("y", y)
    model = looked(b, tensor=y, index=(1, 0))
    assert model.symbolic == "y[1,0] = x[1,0] * w[0,0] + x[1,1] * w[1,0] + x[1,2] * w[2,0]"
    assert model.numeric == "28. = 3. * 0. + 4. * 2. + 5. * 4."


def test_an_index_that_is_data_is_read() -> None:
    b = TraceBuilder()
    x = b.tensor((2, 3), values=range(6), name="x")
    i = b.tensor((2, 1), values=[2, 0], dtype="int64", name="i")
    with b.op("gather(Tensor self, int dim, Tensor index) -> Tensor", [T(x), 1, T(i)]) as call:
        call.results(b.tensor((2, 1), values=[2, 3]))
    model = looked(b)
    assert [(f.argument, f.index) for f in model.feeds] == [("self", (0, 2)), ("index", (0, 0))]
    assert model.numeric == "2. = 2."


def test_an_index_that_was_not_kept_is_not_guessed() -> None:
    b = TraceBuilder()
    x = b.tensor((2, 3), values=range(6), name="x")
    i = b.tensor((2, 1), dtype="int64", name="i")
    with b.op("gather(Tensor self, int dim, Tensor index) -> Tensor", [T(x), 1, T(i)]) as call:
        call.results(b.tensor((2, 1), values=[2, 3]))
    model = looked(b)
    assert not model.known
    assert "not kept" in model.note


def test_values_that_were_not_kept_are_question_marks() -> None:
    b = TraceBuilder()
    x = b.tensor((2,), name="x")
    with b.op(ADD, [T(x), 1, 1]) as call:
        call.results(b.tensor((2,)))
    assert looked(b).numeric == "? = ? + 1"


def test_a_view_is_the_same_bytes() -> None:
    b = TraceBuilder()
    x = b.tensor((2, 3), values=range(6), name="x")
    with b.op("t(Tensor(a) self) -> Tensor(a)", [T(x)]) as call:
        y = b.tensor((3, 2), (1, 3), base=x)
        call.results(y)
    model = looked(b, tensor=y, index=(2, 1))
    assert model.feeds[0].index == (1, 2)
    assert "same bytes" in model.note


def test_the_second_result_can_be_looked_at() -> None:
    b = TraceBuilder()
    x = b.tensor((2, 2), values=[4, 3, 2, 9], name="x")
    schema = "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
    with b.op(schema, [T(x), 1, False]) as call:
        values = b.tensor((2,), values=[4, 9])
        indices = b.tensor((2,), values=[0, 1], dtype="int64")
        call.results(values, indices)
    assert looked(b).out.tensor == values
    model = looked(b, tensor=indices, index=(1,))
    assert model.out.tensor == indices
    assert model.numeric == "1 = max(2., 9.)"


def test_an_operator_without_a_rule_says_so_and_shows_its_arguments() -> None:
    b = TraceBuilder()
    x = b.tensor((2,), values=[1, 2], name="x")
    with b.op("mystery(Tensor self, int n) -> Tensor", [T(x), 3]) as call:
        call.results(b.tensor((2,)))
    model = looked(b)
    assert not model.known
    assert "No rule" in model.note
    assert [table.label for table in model.inputs] == ["x"]
    assert model.arguments == (("n", "3"),)


def test_a_tensor_made_from_nothing() -> None:
    b = TraceBuilder()
    with b.op("zeros(int[] size) -> Tensor", [(2, 2)]) as call:
        call.results(b.tensor((2, 2), values=[0] * 4))
    model = looked(b)
    assert model.known
    assert model.feeds == ()
    assert "No tensor goes in" in model.note


def test_a_result_without_cells() -> None:
    b = TraceBuilder()
    x = b.tensor((0, 3), name="x")
    with b.op(ADD, [T(x), 1, 1]) as call:
        call.results(b.tensor((0, 3)))
    model = looked(b)
    assert "no cell" in model.why


def test_a_call_that_failed() -> None:
    b = TraceBuilder()
    x = b.tensor((2,))
    with b.op(ADD, [T(x), T(x), 1]) as call:
        call.fail("add: sizes differ")
    assert "sizes differ" in looked(b).why


def test_a_pooling_window_at_the_edge_has_fewer_cells() -> None:
    b = TraceBuilder()
    x = b.tensor((1, 1, 3, 3), values=range(9), name="x")
    schema = (
        "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
        "int[2] dilation=1, bool ceil_mode=False) -> Tensor"
    )
    with b.op(schema, [T(x), (2, 2), (2, 2), (1, 1), (1, 1), False]) as call:
        out = b.tensor((1, 1, 2, 2), values=[0, 2, 6, 8])
        call.results(out)
    assert looked(b, tensor=out, index=(0, 0, 0, 0)).total == 1
    assert looked(b, tensor=out, index=(0, 0, 1, 1)).total == 4


def test_it_can_be_said_as_json() -> None:
    b, _, _, z = added()
    output = to_json(looked(b, tensor=z, index=(1, 2)))
    assert output["symbolic"] == "z[1,2] = x[1,2] + 10 * y[2]"
    assert output["feeds"][0]["byte"] == 20


def test_where_a_cell_of_a_large_tensor_goes_is_found_at_once() -> None:
    b = TraceBuilder()
    x = b.tensor((1000, 1000), name="x")
    with b.op(SUM, [T(x), (0,), False]) as call:
        call.results(b.tensor((1000,)))
    history = b.history()
    with little_memory():
        model = project(history, b.now, select(tensor=x, index=(4, 700)))
    assert model.index == (700,)
    assert not model.goes_counted


def test_a_cell_of_a_large_product_goes_into_its_row() -> None:
    b = TraceBuilder()
    x = b.tensor((100, 100), name="x")
    w = b.tensor((100, 100), name="w")
    with b.op(MM, [T(x), T(w)]) as call:
        call.results(b.tensor((100, 100)))
    model = looked(b, tensor=w, index=(30, 70))
    assert model.out is not None
    assert model.goes > 1
    assert all(column == 70 for _, column in model.out.fed)


def test_a_byte_of_the_result_is_a_cell_too() -> None:
    b, _, _, z = added()
    storage = b.state[z]["storage"]
    assert looked(b, storage=storage, byte=20).index == (1, 2)
    assert looked(b, tensor=z, storage=storage, byte=9).index == (0, 2)


def test_a_tensor_of_a_list_is_called_by_its_name() -> None:
    b = TraceBuilder()
    x = b.tensor((2,), values=[1, 2], name="x")
    y = b.tensor((2,), values=[3, 4], name="y")
    with b.op("cat(Tensor[] tensors, int dim=0) -> Tensor", [[T(x), T(y)], 0]) as call:
        z = b.tensor((4,), values=[1, 2, 3, 4])
        call.results(z)
    b.bind("z", z)
    model = looked(b, tensor=z, index=(3,))
    assert (model.symbolic, model.numeric) == ("z[3] = y[1]", "4. = 4.")


def test_of_hundreds_of_inputs_those_that_feed_the_cell_are_tables() -> None:
    b = TraceBuilder()
    b.line(1)
    tensors = [b.tensor((2,), values=[number, 1], name=f"t{number}") for number in range(40)]
    with b.op(
        "cat(Tensor[] tensors, int dim=0) -> Tensor", [[T(each) for each in tensors], 0]
    ) as call:
        out = b.tensor((80,), values=[0] * 80)
        call.results(out)
    model = looked(b, tensor=out, index=(61,))
    assert "tensors[30]" in [table.argument for table in model.inputs]
    assert len(model.inputs) == TABLES
    assert model.hidden == 40 - TABLES
