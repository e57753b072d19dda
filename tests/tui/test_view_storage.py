"""The storage view as text: what a person sees, at every size, without colour and in ASCII."""

from __future__ import annotations

import time

from engine.inspect.models.storage import project
from engine.inspect.selection import CellSelection, Selection
from tests.inspect.models.small import history
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder
from tests.tui import view_cases
from tui.render import ASCII, Picture
from tui.views import DrawContext
from tui.views.storage import StorageView

EXPECTED = """\
 storage 1  24 bytes at 0x50000000  cpu  version 2  6 cells of float32
 last written by operator mul_, line 4, event 49: bytes 4 to 20 through z
 cell 4   byte 16   0x50000010   40.0   x[1,1]   y[1,1]   z[1]

 tensor               strides  offset  layout      unused  meets
 x       float32 2×3  3,1           0  contiguous       0  y z
▌y       float32 3×2  1,3           0  transposed       0  x z
 z       float32 2    3             1  step 3           8  x y

                ╭────0─┬────1─┬────2─┬────3─┳━━━━4━┳────5─╮
     0x50000000 │   0. │  10.✎│   2. │   3. ┃  40.✎┃   5. │
                ╰──────┴──────┴──────┴──────┻━━━━━━┻──────╯
              x   ▸0,0    0,1    0,2    1,0    1,1    1,2
▌             y   ▸0,0    1,0    2,0    0,1    1,1    2,1
              z            ▸0      ·      ·      1
"""


def drawn(builder: TraceBuilder, selection: Selection, width: int = 80) -> Picture:
    result = builder.history()
    return StorageView().draw(project(result, result.end - 1, selection), DrawContext(width, 24))


def test_what_a_person_sees() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"], index=(1, 1)))
    assert StorageView().draw(model, DrawContext(80, 24)).text().rstrip() == EXPECTED.rstrip()


def test_the_selected_cell_and_tensor_show_without_colour() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"], index=(1, 1)))
    text = StorageView().draw(model, DrawContext(80, 24, ASCII)).text()
    assert "#  40.w#" in text
    assert "]             y" in text


def test_every_cell_of_a_lane_leads_to_its_byte_and_index() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"]))
    picture = StorageView().draw(model, DrawContext(80, 24))
    targets = {
        t
        for y in range(picture.height)
        for _, _, t in picture.targets(y)
        if isinstance(t.item, CellSelection)
    }
    actual = {(t.item.tensor, t.item.index): t.item.byte for t in targets}
    assert all(t.item.storage == 1 for t in targets)
    assert actual[tensors["x"], (1, 0)] == 12
    assert actual[tensors["y"], (2, 1)] == 20
    assert actual[tensors["z"], (1,)] == 16


def test_overlaps_and_elements_over_several_cells() -> None:
    builder = TraceBuilder()
    wide = builder.tensor((2,), dtype="float64", values=[1.0, 2.0], name="wide")
    builder.tensor((2, 2), (1, 1), 1, base=wide, name="both")
    lines = drawn(builder, select(tensor=wide)).text().splitlines()
    assert lines[-2].split() == ["▌", "wide", "▸0", "───────", "1", "───────"]
    assert lines[-1].split() == ["both", "▸0,0", "0,1+1", "1,1"]


def test_ten_million_cells_draw_at_once_and_the_selected_one_comes_first() -> None:
    builder = TraceBuilder()
    big = builder.tensor((10_000_000,), name="big")
    started = time.perf_counter()
    picture = drawn(builder, select(tensor=big, index=(5_000_000,)))
    top = ["".join(span.text for span in picture.line(y)) for y in range(24)]
    far = "".join(span.text for span in picture.line(picture.height - 2))
    assert time.perf_counter() - started < 0.5
    assert any("the selected cell" in line for line in top)
    assert any("━5000000━" in line for line in top)
    assert far.split()[-1] == "9999999"


def test_crowds_are_counted() -> None:
    builder = TraceBuilder()
    base = builder.tensor((50,), name="base")
    for i in range(49):
        builder.tensor((2,), (1,), i, base=base)
    assert "42 more tensors over it" in drawn(builder, select(tensor=base)).text()


def test_fits_at_every_size() -> None:
    view_cases.check_fits_and_is_styled("storage")


def test_ascii() -> None:
    view_cases.check_ascii_is_ascii("storage")


def test_help_explains_every_sign() -> None:
    view_cases.check_every_sign_is_explained("storage")
