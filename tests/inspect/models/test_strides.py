"""The strides model: the formula's numbers, the words for layouts, and where a view comes from."""

from __future__ import annotations

import json

import pytest

from engine.inspect.models import to_json
from engine.inspect.models._layout import describe
from engine.inspect.models.strides import Term, project
from tests.inspect.models.small import history
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder


def test_the_formula_has_the_real_numbers() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"], index=(2, 1)))
    position = model.formula
    assert position is not None
    assert position.terms == (Term(0, 2, 1), Term(1, 1, 3))
    assert (position.offset, position.element, position.byte) == (0, 5, 20)
    assert position.address == position.base + 20 == model.address + 20
    assert position.text == "5.0"


def test_a_selected_byte_becomes_the_index_that_is_there() -> None:
    result, tensors = history()
    storage = result.tensor(tensors["y"], result.end - 1).storage
    model = project(result, result.end - 1, select(tensors["y"], storage, byte=18))
    assert model.formula is not None
    assert model.formula.index == (1, 1)


def test_a_selected_hole_has_no_formula_but_is_lit_in_the_strip() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensors["z"], 1, byte=12))
    assert model.grid is not None
    assert (model.formula, model.grid.hole) == (None, 12)
    assert [cell.number for cell in model.strip if cell.selected] == [3]
    assert not any(cell.selected for row in model.grid.cells for cell in row)


def test_a_view_is_followed_back_to_the_tensor_with_memory_of_its_own() -> None:
    result, tensors = history()
    steps = project(result, result.end - 1, select(tensor=tensors["z"])).derivation
    assert [(step.label, step.op, step.line) for step in steps] == [
        ("z", "select", 3),
        ("x", "arange", 1),
    ]
    assert [step.source for step in steps] == [tensors["x"], 0]


def test_an_expanded_element_is_one_place_with_many_indices() -> None:
    builder = TraceBuilder()
    one = builder.tensor((3, 1), values=[1.0, 2.0, 3.0])
    wide = builder.tensor((3, 4), (1, 0), base=one)
    result = builder.history()
    model = project(result, result.end - 1, select(tensor=wide, index=(1, 2)))
    assert model.formula is not None
    assert model.formula.sharers == ((1, 0), (1, 1), (1, 3))
    assert model.formula.shared == 3
    assert model.grid is not None
    highlighted = [cell.index for row in model.grid.cells for cell in row if cell.selected]
    assert highlighted == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert [(cell.index, cell.more) for cell in model.strip] == [
        ((0, 0), 3),
        ((1, 0), 3),
        ((2, 0), 3),
    ]


def test_a_billion_copies_of_one_element_are_counted_not_walked() -> None:
    builder = TraceBuilder()
    one = builder.tensor((1,), values=[1.0])
    wide = builder.tensor((1 << 15, 1 << 15), (0, 0), base=one)
    result = builder.history()
    model = project(result, result.end - 1, select(tensor=wide))
    assert model.formula is not None
    assert model.formula.shared == (1 << 30) - 1
    assert model.formula.counted


def test_rank_six_shows_the_slice_of_the_selected_index() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((2, 3, 2, 3, 2, 3), values=range(216))
    result = builder.history()
    model = project(result, result.end - 1, select(tensor=tensor, index=(1, 2, 1, 0, 1, 2)))
    assert model.grid is not None
    assert (model.grid.lead, model.grid.lead_sizes) == ((1, 2, 1, 0), (2, 3, 2, 3))
    strings = [[cell.text for cell in row] for row in model.grid.cells]
    assert strings == [["198.", "199.", "200."], ["201.", "202.", "203."]]


@pytest.mark.parametrize(("sizes", "cells"), [((), 1), ((0,), 0), ((2, 0, 3), 0), ((1, 1), 1)])
def test_no_dimension_and_no_element(sizes: tuple[int, ...], cells: int) -> None:
    builder = TraceBuilder()
    tensor = builder.tensor(sizes, values=[7.0] * cells)
    result = builder.history()
    model = project(result, result.end - 1, select(tensor=tensor))
    assert (model.formula is None) is (cells == 0)
    assert sum(len(row) for row in model.grid.cells) == cells


@pytest.mark.parametrize(
    ("sizes", "strides", "base", "pattern"),
    [
        ((2, 3), (3, 1), (), "contiguous"),
        ((3, 2), (1, 3), (), "transposed"),
        ((4, 2, 3), (1, 12, 4), (), "permuted"),
        ((3, 4), (1, 0), (), "broadcast"),
        ((4,), (5,), (4, 1), "diagonal"),
        ((4,), (5,), (), "step 5"),
        ((5, 3), (1, 1), (), "sliding window"),
        ((2, 2), (4, 1), (), "sliced"),
        ((2, 3), (12, 2), (), "step 2"),
        ((2, 2), (1, 4), (), "permuted part"),
        ((3, 2), (2, 3), (), "interleaved"),
        ((1, 1), (7, 7), (), "one element"),
        ((), (), (), "one element"),
        ((3, 0), (1, 1), (), "empty"),
    ],
)
def test_every_pattern_has_its_word(sizes, strides, base, pattern) -> None:
    assert describe(sizes, strides, base).pattern == pattern


def test_reasons_name_the_dimension_and_the_numbers() -> None:
    turned = describe((3, 2), (1, 3))
    assert not turned.contiguous
    assert turned.why == "dim 1 should step by 1, but steps by 3"
    assert not turned.flat
    assert "dim 0 goes 1 on" in turned.why_flat
    rows = describe((3, 2), (4, 1))
    assert not rows.contiguous
    assert rows.why == "dim 0 should step by 2, but steps by 4"
    stepped = describe((3,), (2,))
    assert not stepped.contiguous
    assert stepped.flat
    assert "one stride of 2" in stepped.why_flat


def test_the_model_is_json() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"]))
    text = json.loads(json.dumps(to_json(model)))
    assert text["formula"]["terms"][1] == {"dim": 1, "index": 0, "stride": 3}
    assert text["grid"]["cells"][2][1]["text"] == "5."
