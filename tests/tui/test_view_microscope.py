"""The microscope as text."""

from __future__ import annotations

import pytest

from engine.inspect.models.microscope import project
from engine.inspect.selection import CellSelection
from tests.inspect.models.calls import added, convolved, multiplied
from tests.inspect.selections import select
from tests.inspect.trace_builder import T, TraceBuilder
from tui.render import ASCII, UNICODE, Picture
from tui.views import DrawContext
from tui.views.microscope import MicroscopeView


def picture(
    b: TraceBuilder, width: int = 80, glyphs=UNICODE, height: int = 24, **selected
) -> Picture:
    history, selection = b.history(), select(**selected)
    return MicroscopeView().draw(
        project(history, history.end - 1, selection), DrawContext(width, height, glyphs, selection)
    )


@pytest.mark.parametrize("width", [80, 120])
def test_a_sum_of_two_tensors(width, golden):
    b, at = added()
    golden(f"microscope_add_{width}", picture(b, width, tensor=at["z"], index=(1, 2)).text())


def test_a_product_of_matrices(golden):
    b, at = multiplied()
    golden("microscope_mm", picture(b, 80, tensor=at["y"], index=(1, 2)).text())


def test_a_convolution(golden):
    b, at = convolved()
    golden(
        "microscope_conv", picture(b, 120, height=40, tensor=at["out"], index=(0, 1, 0, 2)).text()
    )


def test_an_input_cell_lights_where_it_goes(golden):
    b, at = multiplied()
    golden("microscope_forward", picture(b, 80, tensor=at["w"], index=(2, 1)).text())


def test_in_ascii(golden):
    b, at = multiplied()
    golden("microscope_ascii", picture(b, 80, ASCII, tensor=at["w"], index=(2, 1)).text())


def test_the_formula_and_the_result_fit_on_24_lines():
    b, at = convolved()
    drawn = picture(b, 80, tensor=at["out"], index=(0, 2, 4, 5))
    lines = drawn.text().splitlines()[:20]
    assert any("out[0,2,4,5]" in line for line in lines)
    assert any("[" in line and "89." in line for line in lines)


def test_every_cell_leads_to_its_byte():
    b, at = multiplied()
    drawn = picture(b, 80, tensor=at["y"], index=(0, 0))
    targets = {
        t
        for y in range(drawn.height)
        for _, _, t in drawn.targets(y)
        if isinstance(t.item, CellSelection)
    }
    assert {(t.item.index, t.item.byte) for t in targets if t.item.tensor == at["w"]} == {
        ((row, column), 4 * (row + 3 * column)) for row in range(3) for column in range(4)
    }


def test_a_tall_column_is_shown_from_its_first_cell_on():
    b = TraceBuilder()
    x = b.tensor((500, 500), values=range(250_000), name="x")
    with b.op("sum.dim_IntList(Tensor self, int[1]? dim) -> Tensor", [T(x), (0,)]) as call:
        out = b.tensor((500,), values=range(500))
        call.results(out)
    text = picture(b, 80, tensor=out, index=(400,)).text()
    assert "500×500 in all" in text
    assert "x[0,400] + x[1,400]" in text


def test_long_names_keep_every_line_its_width():
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2, 2), values=[1e30, 2, 3, 4], name="n" * 200)
    schema = f"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1, str {'b' * 90}) -> Tensor"
    with b.op(schema, [T(x), T(x), 1, "s" * 300]) as call:
        call.results(b.tensor((2, 2), values=[1, 2, 3, 4]))
    for width in (60, 80, 120):
        for glyphs in (UNICODE, ASCII):
            drawn = picture(b, width, glyphs)
            for y in range(drawn.height):
                assert sum(span.width for span in drawn.line(y)) <= width, drawn.line(y)
