"""The loop plans that kernels record, in real recordings; and that recording them changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import engine
from engine.inspect import History, TraceReader, record
from engine.inspect.history.facts import PlanFact


@pytest.fixture
def plans_of(tmp_path: Path) -> Callable[[Callable[[], object]], list[tuple[str, PlanFact]]]:
    """Run something while recording; the plans of it, each with the operator that ran."""

    def run(program: Callable[[], object]) -> list[tuple[str, PlanFact]]:
        path = tmp_path / "plans.uht"
        path.unlink(missing_ok=True)
        with record(path):
            program()
        history = History(TraceReader.open(path))
        calls = [history.call(int(number)) for number in history.tables.calls.id]
        return [(call.op, plan) for call in calls for plan in history.plans(call.id)]

    return run


def test_a_contiguous_operator_of_any_rank_is_one_long_row(plans_of) -> None:
    x = engine.ones(2, 3, 4)
    ((op, plan),) = plans_of(lambda: x * x)
    assert (op, plan.loop, plan.sizes) == ("mul", "contiguous", (24,))
    assert [operand.strides for operand in plan.operands] == [(4,)] * 3
    assert plan.isa in ("v2", "v3", "v4")
    assert plan.vector == {"v2": 16, "v3": 32, "v4": 64}[plan.isa]


def test_a_number_is_an_operand_that_stands_still(plans_of) -> None:
    x = engine.ones(6, dtype=engine.float64)
    ((_, plan),) = plans_of(lambda: x + 2)
    assert (plan.loop, plan.sizes) == ("scalar-broadcast", (6,))
    assert [(operand.itemsize, operand.strides) for operand in plan.operands] == [
        (8, (8,)), (8, (8,)), (0, (0,)),
    ]  # fmt: skip


def test_broadcasting_is_a_stride_of_zero(plans_of) -> None:
    x, y = engine.ones(2, 3), engine.ones(3)
    ((_, plan),) = plans_of(lambda: x + y)
    assert plan.sizes == (2, 3)
    assert [operand.strides for operand in plan.operands] == [(12, 4), (12, 4), (0, 4)]


def test_transposed_operands_are_merged_when_they_agree(plans_of) -> None:
    x = engine.ones(3, 4)
    ((_, plan),) = plans_of(lambda: x.t() * x.t())
    assert plan.sizes == (12,), (
        "two tensors of the same layout are read in the order of their memory"
    )


def test_layouts_that_disagree_keep_their_dimensions(plans_of) -> None:
    x, y = engine.ones(40, 30), engine.ones(30, 40).t()
    ((_, plan),) = plans_of(lambda: x + y)
    assert plan.loop == "transposed in tiles"
    assert plan.sizes == (40, 30)
    assert [operand.strides for operand in plan.operands] == [(120, 4), (120, 4), (4, 160)]


def test_a_reduction_records_kept_and_reduced_dimensions(plans_of) -> None:
    x = engine.ones(6, 5, 4)
    ((op, plan),) = plans_of(lambda: x.sum(1))
    assert op == "sum"
    out, self = plan.operands
    assert sorted(plan.sizes) == [4, 5, 6]
    assert out.strides[-1] == 0, "the result stands still along what is summed"
    assert 0 not in self.strides


def test_a_product_records_rows_columns_and_the_sum(plans_of) -> None:
    x, y = engine.ones(40, 50), engine.ones(60, 50).t()
    ((_, plan),) = plans_of(lambda: x @ y)
    assert (plan.loop, plan.sizes) == ("blocked matrix product", (40, 60, 50))
    out, a, b = (operand.strides for operand in plan.operands)
    assert (out, a, b) == ((240, 4, 0), (200, 0, 4), (0, 200, 4))


@pytest.mark.parametrize("elements", [100, 1 << 20])
def test_large_loops_are_shared_between_threads(plans_of, elements: int) -> None:
    before = engine.get_num_threads()
    engine.set_num_threads(2)
    try:
        x = engine.ones(elements)
        ((_, plan),) = plans_of(lambda: x.exp())
    finally:
        engine.set_num_threads(before)
    assert plan.threads == (2 if elements > 1 << 16 else 1)


def test_a_strided_loop_claims_no_vectors(plans_of) -> None:
    x = engine.ones(40)[::3]
    ((_, plan),) = plans_of(lambda: x * x)
    assert (plan.loop, plan.vector) == ("strided", 0)


def test_nothing_is_recorded_of_an_empty_tensor(plans_of) -> None:
    x = engine.ones(0, 3)
    assert plans_of(lambda: x.t() + x.t()) == []


def test_recording_changes_nothing(plans_of) -> None:
    x, y = engine.randn(30, 40), engine.randn(40, 30).t()
    before = [(x + y).tolist(), x.sum(0).tolist(), (x @ y.t()).tolist()]
    during: list[object] = []
    plans_of(lambda: during.extend([(x + y).tolist(), x.sum(0).tolist(), (x @ y.t()).tolist()]))
    assert during == before
