"""The dispatch model: what is recorded of a call, as the view shows it."""

from __future__ import annotations

import pytest

from engine.inspect.models import to_json
from engine.inspect.models.dispatch import project
from engine.inspect.selection import Selection
from tests.inspect.models.calls import ADD, KEYS, added
from tests.inspect.selections import select
from tests.inspect.trace_builder import T, TraceBuilder

LINEAR = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"
MATMUL = "matmul(Tensor self, Tensor other) -> Tensor"


def test_the_union_and_the_keys_of_each_argument() -> None:
    b, _ = added()
    model = project(b.history(), b.now, Selection())
    assert model.name == "add.Tensor"
    assert [a.name for a in model.arguments] == ["self", "other", "alpha"]
    assert [a.keys for a in model.arguments] == [KEYS, KEYS, ()]
    assert model.union == ("Autograd", *KEYS)
    assert "Meta" in model.absent
    assert not set(model.absent) & set(model.union)


def test_a_key_without_a_kernel_falls_through() -> None:
    b, _ = added()
    first, second = project(b.history(), b.now, Selection()).hops
    assert (first.key, first.kernel, first.fell) == ("ADInplaceOrView", "add_ad", ("Autograd",))
    assert (second.key, second.kernel, second.fell) == ("CPU", "add_pointwise", ())


def test_the_times_of_the_hops_fill_the_call() -> None:
    b, _ = added()
    model = project(b.history(), b.now, Selection())
    assert model.hops[0].start_ns + sum(hop.duration_ns for hop in model.hops) == model.duration_ns
    assert model.hops[1].start_ns == model.hops[0].start_ns + model.hops[0].duration_ns


def test_what_comes_later_is_not_done() -> None:
    b, at = added()
    model = project(b.history(), at["first hop"], Selection())
    assert model.running
    assert [hop.done for hop in model.hops] == [True, False]
    assert [plan.done for plan in model.plans] == [False]


def test_the_plan_names_its_operands() -> None:
    b, _ = added()
    (plan,) = project(b.history(), b.now, Selection()).plans
    assert (plan.loop, plan.isa, plan.vector, plan.lanes) == ("contiguous", "v3", 32, 8)
    assert plan.sizes == (2, 3)
    assert [(o.name, o.strides) for o in plan.operands] == [
        ("out", (12, 4)), ("self", (12, 4)), ("other", (0, 4)),
    ]  # fmt: skip


def test_a_plan_that_was_cut_off_keeps_the_operands_that_are_whole() -> None:
    b = TraceBuilder()
    x = b.tensor((4,))
    with b.op(ADD, [T(x), T(x), 1]) as call:
        terms = b"".join(w.to_bytes(8, "little") for w in (32, 1, 3, 4, 4, 4, 4))
        b.emit("PLAN", b.calls[-1], b.string("contiguous"), b.string("v3"), 1, blob=terms)
        call.results(x)
    (plan,) = project(b.history(), b.now, Selection()).plans
    assert [o.strides for o in plan.operands] == [(4,)]


def test_the_result_is_fresh_or_shares_memory() -> None:
    b, at = added()
    (result,) = project(b.history(), b.now, Selection()).results
    assert (result.label, result.sizes, result.strides) == ("z", (2, 3), (3, 1))
    b.line(3)
    with b.op("t(Tensor(a) self) -> Tensor(a)", [T(at["x"])]) as call:
        call.results(b.tensor((3, 2), (1, 3), base=at["x"]))
    model = project(b.history(), b.now, Selection())
    assert (model.name, model.fresh) == ("t", (False,))


def test_before_it_has_a_name_a_result_is_a_number() -> None:
    b, at = added()
    (result,) = project(b.history(), at["end"], Selection()).results
    assert result.label == f"#{at['z']}"


def test_calls_within_calls_are_a_tree() -> None:
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2, 2), name="x")
    with b.op(LINEAR, [T(x), T(x), None]) as call:
        with b.op("t(Tensor(a) self) -> Tensor(a)", [T(x)]) as inner:
            t = b.tensor((2, 2), (1, 2), base=x)
            inner.results(t)
        with b.op(MATMUL, [T(x), T(t)]) as inner:
            inside = b.now
            out = b.tensor((2, 2))
            inner.results(out)
        call.results(out)
    history = b.history()
    model = project(history, b.now, Selection())
    assert model.name == "linear"
    assert [(row.depth, row.text.partition("(")[0]) for row in model.tree] == [
        (0, "linear"), (1, "t"), (1, "matmul"),
    ]  # fmt: skip
    within = project(history, inside, Selection())
    assert within.name == "matmul", "while a call runs, the view shows the innermost one"
    assert [row.current for row in within.tree] == [False, False, True]
    selected = project(history, inside, select(call=within.tree[1].call))
    assert selected.name == "t", "a selected call is shown wherever one is"


def test_the_calls_of_a_line_are_listed() -> None:
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2,), name="x")
    for _ in range(3):
        with b.op(ADD, [T(x), T(x), 1]) as call:
            call.results(b.tensor((2,)))
    b.line(2)
    model = project(b.history(), b.now, Selection())
    assert [row.current for row in model.neighbours] == [False, False, True]


def test_more_results_than_the_trace_names_are_counted() -> None:
    b = TraceBuilder()
    x = b.tensor((5, 2))
    with b.op("unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]", [T(x), 0]) as call:
        call.results(*(b.tensor((2,), (1,), 2 * i, base=x) for i in range(5)))
    model = project(b.history(), b.now, Selection())
    assert (len(model.results), model.more_results) == (3, 2)


def test_a_call_that_failed_says_why() -> None:
    b = TraceBuilder()
    x = b.tensor((2,))
    with b.op(ADD, [T(x), T(x), 1]) as call:
        call.fail("add: no")
    model = project(b.history(), b.now, Selection())
    assert (model.error, model.results) == ("add: no", ())


def test_arguments_of_every_sort() -> None:
    b = TraceBuilder()
    x = b.tensor((2,), name="x")
    schema = "cat(Tensor[] tensors, int dim=0, *, ScalarType? dtype=None) -> Tensor"
    with b.op(schema, [[T(x), T(x)], 0, "float32"]) as call:
        call.results(b.tensor((4,)))
    tensors, dim, dtype = project(b.history(), b.now, Selection()).arguments
    assert [row.label for row in tensors.tensors] == ["x", "x"]
    assert tensors.keys == KEYS
    assert (dim.text, dtype.text) == ("0", "float32")


def test_keys_that_an_older_trace_does_not_hold_are_not_made_up() -> None:
    b = TraceBuilder()
    x = b.tensor((2,))
    b.records = [(*r[:7], r[7] & 0xFFFFFFFF, *r[8:]) for r in b.records]  # c: the layout
    with b.op(ADD, [T(x), 1, 1]) as call:
        call.results(x)
    argument = project(b.history(), b.now, Selection()).arguments[0]
    assert (argument.keys, argument.recorded) == ((), False)


@pytest.mark.parametrize("moment", [-1, 0])
def test_nothing_was_called_yet(moment: int) -> None:
    b = TraceBuilder()
    b.line(1)
    model = project(b.history(), moment, Selection())
    assert model.call == 0
    assert "No operator" in model.why


def test_it_can_be_said_as_json() -> None:
    b, _ = added()
    output = to_json(project(b.history(), b.now, Selection()))
    assert output["hops"][0]["kernel"] == "add_ad"
    assert output["origin"]["path"].startswith("csrc/ops/")
