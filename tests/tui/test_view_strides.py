"""The strides view as text: table, strip, formula, words."""

from __future__ import annotations

from engine.inspect.models.strides import project
from engine.inspect.selection import CellSelection, Selection
from tests.inspect.models.small import history
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder
from tests.tui import view_cases
from tui.views import DrawContext
from tui.views.strides import StridesView

EXPECTED = """\
 y  float32 3×2  strides 1,3  offset 0  on storage 1 at 0x50000000
 transposed: all elements side by side, in another order than their indices

 address =       base + (offset + i0*s0 + i1*s1) * itemsize
         = 0x50000000 + (     0 +   1*1 +   1*3) *        4
           offset 0 + 1*1 + 1*3 = 4  ▸  byte 16  ▸  0x50000010  ▸  40.0

 i0 \\ i1      0      1
      0      0.     3.
      1     10.  [ 40.]
      2      2.     5.

                ╭────0─┬────1─┬────2─┬────3─┳━━━━4━┳────5─╮
     0x50000000 │   0. │  10. │   2. │   3. ┃  40. ┃   5. │
                ╰──────┴──────┴──────┴──────┻━━━━━━┻──────╯
                   0,0    1,0    2,0    0,1    1,1    2,1

 dim  size  stride  bytes   one step goes
   0     3       1      4   to the next element in memory
   1     2       3     12   3 elements on

 contiguous  no: dim 1 should step by 1, but steps by 3
 view(-1)    no: after 2 steps of 3 along dim 1 one more would be 6 on, but dim
             0 goes 1 on: no single stride fits, so reshape would copy
 created by  y = t (line 2) ▸ x = arange (line 1)
"""


def text_of(builder: TraceBuilder, selection: Selection, width: int = 80, height: int = 24) -> str:
    result = builder.history()
    return (
        StridesView()
        .draw(project(result, result.end - 1, selection), DrawContext(width, height))
        .text()
    )


def test_what_a_person_sees() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"], index=(1, 1)))
    assert StridesView().draw(model, DrawContext(80, 24)).text() == EXPECTED.rstrip()


def test_every_cell_of_the_table_leads_to_its_byte() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["z"]))
    picture = StridesView().draw(model, DrawContext(80, 24))
    targets = [t for y in range(picture.height) for _, _, t in picture.targets(y)]
    cells = [t.item for t in targets if isinstance(t.item, CellSelection)]
    assert {(cell.index, cell.byte) for cell in cells if cell.index is not None} == {
        ((0,), 4),
        ((1,), 16),
    }


def test_expand_lights_every_cell_that_is_the_same_memory() -> None:
    builder = TraceBuilder()
    row = builder.tensor((1, 3), values=[1.0, 2.0, 3.0])
    wide = builder.tensor((2, 3), (0, 1), base=row)
    text = text_of(builder, select(tensor=wide, index=(1, 1)))
    assert text.count("[ 2.]") == 2
    assert "same memory 1 more: [0,1]" in text
    assert "0,0+1" in text


def test_a_selected_hole_is_said_to_be_one() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensors["z"], 1, byte=12))
    text = StridesView().draw(model, DrawContext(80, 24)).text()
    assert "cell 3: no index of z leads to byte 12" in text
    assert "━━━━3━" in text


def test_the_slice_can_be_stepped_in_every_leading_dimension() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((2, 3, 4, 5), values=range(120))
    result = builder.history()
    model = project(result, result.end - 1, select(tensor=tensor, index=(1, 0, 3, 4)))
    picture = StridesView().draw(model, DrawContext(80, 24))
    line = next(y for y in range(picture.height) if any("slice" in s.text for s in picture.line(y)))
    steps = [target.item.index for _, _, target in picture.targets(line)]
    assert steps == [(0, 0, 3, 4), (1, 0, 3, 4), (1, 0, 3, 4), (1, 1, 3, 4)]


def test_the_formula_of_rank_six_is_broken_over_lines_and_complete() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((2, 3, 2, 3, 2, 3), values=range(216))
    text = text_of(builder, select(tensor=tensor, index=(1, 2, 1, 2, 1, 2)))
    assert all(f"i{d}*s{d}" in text for d in range(6))
    assert "0 + 1*108 + 2*36 + 1*18 + 2*6 + 1*3 + 2*1 = 215" in text


def test_large_tables_say_which_part_is_shown() -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((1000, 1000), name="x")
    text = text_of(builder, select(tensor=tensor, index=(500, 500)))
    assert "of 1,000, columns" in text
    assert "of 1,000,000" in text


def test_no_dimension_and_no_element() -> None:
    builder = TraceBuilder()
    scalar = builder.tensor((), values=[2.5])
    empty = builder.tensor((0, 2))
    assert "no dimensions: one element" in text_of(builder, select(tensor=scalar))
    assert "no element: a size is 0" in text_of(builder, select(tensor=empty))


def test_fits_at_every_size() -> None:
    view_cases.check_fits_and_is_styled("strides")


def test_ascii() -> None:
    view_cases.check_ascii_is_ascii("strides")


def test_help_explains_every_sign() -> None:
    view_cases.check_every_sign_is_explained("strides")
