"""The values view as text: numbers, heights, signs, and what is not known."""

from __future__ import annotations

import math

import numpy as np

from engine.inspect.models.values import project
from engine.inspect.selection import Selection
from tests.inspect.models.small import history
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder
from tests.tui import view_cases
from tui.views import DrawContext
from tui.views.values import ValuesView

EXPECTED = """\
 y  float32 3×2  6 numbers, all known
 min 0  max 40  mean 10  std 13.772    nan 0  inf 0
 ▁▂▃▄▅▆▇█ 0 to 40   2 changed ◆ since the previous line
 y[1, 1] = 40.0   was 4.0

 i0 \\ i1      0       1
      0     0. ▁    3. ▁
      1   ◆10. ▂ [◆40. █]
      2     2. ▁    5. ▁
"""


def text_of(builder: TraceBuilder, selection: Selection, width: int = 80) -> str:
    result = builder.history()
    return (
        ValuesView().draw(project(result, result.end - 1, selection), DrawContext(width, 24)).text()
    )


def test_what_a_person_sees() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"], index=(1, 1)))
    assert ValuesView().draw(model, DrawContext(80, 24)).text() == EXPECTED.rstrip()


def test_nan_infinity_and_outliers_have_their_signs() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((4,), values=[1.0, math.nan, math.inf, -math.inf])
    row = text_of(builder, select(tensor=tensor)).splitlines()[-1]
    assert row.split()[-6:] == ["nan", "✖", "inf", "▴", "-inf", "▾"]
    skewed = builder.tensor((101,), values=[float(i % 2) for i in range(100)] + [1000.0])
    text = text_of(builder, select(tensor=skewed, index=(100,)))
    assert "1 beyond ▴▾" in text
    assert "1000. ▴]" in text


def test_unknown_numbers_are_question_marks_never_zeros() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((2, 2), name="x")
    text = text_of(builder, select(tensor=tensor))
    assert "0 of 4 numbers known" in text
    assert "x[0, 0] = not in the trace" in text
    assert text.splitlines()[-1].split() == ["1", "?", "?"]


def test_sampled_numbers_are_called_sampled() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((1000,), name="x")
    builder.sample(tensor, np.arange(1000.0), 16)
    text = text_of(builder, select(tensor=tensor))
    assert "63 of 1,000 numbers known" in text
    assert "sampled: 1 in 16 recorded of 1,000 written" in text
    assert "max 999" in text
    assert "columns 0 to" in text


def test_a_selected_row_far_down_is_drawn_at_the_top() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((1_000_000, 2), name="x")
    result = builder.history()
    model = project(result, result.end - 1, select(tensor=tensor, index=(777_777, 1)))
    picture = ValuesView().draw(model, DrawContext(80, 24))
    top = ["".join(span.text for span in picture.line(y)) for y in range(20)]
    assert any(line.strip().startswith("777777") and "[ ?" in line for line in top)
    assert picture.height > 1_000_000


def test_fits_at_every_size() -> None:
    view_cases.check_fits_and_is_styled("values")


def test_ascii() -> None:
    view_cases.check_ascii_is_ascii("values")


def test_help_explains_every_sign() -> None:
    view_cases.check_every_sign_is_explained("values")
