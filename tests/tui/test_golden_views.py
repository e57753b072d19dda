"""The pictures themselves, whole. Accept changes with `pytest tests/tui --update` after looking at them."""

from __future__ import annotations

from functools import lru_cache

import pytest

from engine.inspect.models import project
from engine.inspect.selection import Selection
from tests.inspect.models.story import Story, record
from tests.inspect.selections import select
from tui.render import SETS
from tui.views import DrawContext, view


@lru_cache(maxsize=1)
def story() -> Story:
    return record()


def drawn(
    name: str, moment: int, width: int, height: int, glyphs: str = "unicode", **selected
) -> str:
    selection = select(**selected)
    model = project(name, story().history, moment, selection)
    return view(name).draw(model, DrawContext(width, height, SETS[glyphs], selection)).text()


@pytest.mark.parametrize("name", ["memory", "object", "source", "timeline"])
@pytest.mark.parametrize("width", [80, 120])
def test_views_of_one_storage(name, width, golden):
    text = drawn(name, story().end, width, 24, tensor=story().y)
    golden(f"{name}_{width}", text)


@pytest.mark.parametrize("name", ["memory", "timeline"])
def test_in_ascii(name, golden):
    golden(f"{name}_ascii", drawn(name, story().end, 80, 24, "ascii", tensor=story().y))


def test_inside_a_call(golden):
    golden("timeline_inside", drawn("timeline", story().inside, 80, 24))
    golden("source_inside", drawn("source", story().lines[7], 80, 24))


def test_views_meet_at_their_storage_and_the_lit_path_is_heavy():
    """The wire of every tensor of a storage ends in the same column, at one arrow."""
    output = story()
    lines = drawn("memory", output.end, 80, 40, tensor=output.z).splitlines()
    first = next(line for line in lines if "1: 24 bytes" in line)
    meeting = first.index("▸ 1: 24 bytes") - 1
    assert [lines[lines.index(first) + below][meeting] for below in (0, 3, 6)] == ["┳", "┫", "┛"]
    assert sum(line.count("▸ 1: 24 bytes") for line in lines) == 1
    foreign = next(line for line in lines if "3: 16 bytes" in line)
    assert foreign[meeting] == "─", "a storage with one tensor has its wire to itself"


def test_the_selected_byte_is_marked_in_every_tensor_of_its_storage():
    output = story()
    text = drawn("memory", output.end, 80, 40, storage=1, byte=16)
    bars = [line[66:].strip() for line in text.splitlines() if "◆" in line]
    assert bars == ["████████◆◆██", "████████◆◆██", "░░██░░░░◆◆░░"]


def test_a_call_inside_a_call_is_drawn_inside_it():
    output = story()
    depth = {
        row.number: row.depth
        for row in project("timeline", output.history, output.inside, Selection()).rows
    }
    assert depth[output.inside] == 2
    assert depth[output.lines[4]] == 0


def test_source_counts_how_often_each_line_ran():
    output = story()
    model = project("source", output.history, output.lines[7], select(tensor=output.y))
    by_number = {line.number: line for line in model.lines}
    assert (by_number[7].hits, by_number[7].total, by_number[7].current) == (1, 1, True)
    assert (by_number[11].hits, by_number[11].total) == (0, 1)
    assert by_number[10].last
    assert {number for number, line in by_number.items() if line.touched} == {3, 4, 7}
    assert [frame.function for frame in model.stack] == ["<module>", "double"]
    assert [(name.name, name.highlighted) for name in model.names] == [("t", True)]


def test_the_counts_of_an_object_add_up():
    output = story()
    for tensor in (output.x, output.y, output.z, output.w):
        model = project("object", output.history, output.end, select(tensor=tensor))
        assert [count.kind for count in model.counts] == ["Python object", "TensorImpl", "Storage"]
        for count in model.counts:
            assert count.sum == count.count, f"{count.kind} of tensor {tensor}: {count}"
        assert model.counts[0].count == model.header[0].value == model.refcount


def test_an_immortal_object_is_called_so():
    from engine.inspect.models._wording import immortal

    assert immortal(0xFFFFFFFF, (3, 12))
    assert immortal(3 << 30, (3, 14))
    assert not immortal(0xFFFFFFFF, (3, 11))
    assert not immortal(5, (3, 13))
    assert not immortal(1 << 30, (3, 12))


def test_a_tensor_that_is_gone_is_not_shown_as_if_it_lived():
    output = story()
    text = drawn("object", output.end, 80, 24, tensor=output.arange)
    assert text.strip() == f"tensor {output.arange} does not exist at this moment"


def test_the_life_of_a_tensor_is_drawn_from_birth_to_death():
    output = story()
    life = project("timeline", output.history, output.end, select(tensor=output.arange)).life
    assert life.created_at < life.writes[0] < life.freed_at
    row = drawn("timeline", output.end, 80, 24, tensor=output.arange).splitlines()[3]
    assert row.strip().startswith("╞")
    assert row.index("╡") == 1 + life.freed_at * 78 // output.history.end
