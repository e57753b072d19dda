"""The memory map's model: who leads to what, which bytes, what is lit, what has gone."""

from __future__ import annotations

import json
import random

import pytest

from engine.inspect.layout import Extent
from engine.inspect.models import VIEWS, project, to_json
from engine.inspect.models.memory import LIMIT, bar
from engine.inspect.selection import Selection
from tests.inspect.models.story import Story, record
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder


@pytest.fixture(scope="module")
def story() -> Story:
    return record()


def box(model, tensor):
    actual = [t for storage in model.storages for t in storage.tensors if t.id == tensor]
    assert len(actual) == 1, f"tensor {tensor} is in {len(actual)} storages of the map"
    return actual[0]


def at(story, moment, **selection):
    return project("memory", story.history, moment, select(**selection))


def test_views_of_one_storage_are_in_one_box_and_others_are_not(story):
    model = at(story, story.end)
    first, *others = model.storages
    assert [tensor.id for tensor in first.tensors] == [story.x, story.y, story.z]
    assert all(tensor.id not in (story.x, story.y, story.z) for s in others for tensor in s.tensors)


def test_every_name_leads_to_its_tensor(story):
    model = at(story, story.end)
    assert [name.text for name in box(model, story.z).names] == ["z", "zs[0]"]
    assert [name.kind for name in box(model, story.z).names] == ["NAME", "SLOT"]
    assert box(model, story.y).names[0].in_current_frame


def test_a_name_of_the_caller_is_told_from_one_of_the_running_function(story):
    names = box(at(story, story.lines[8]), story.y).names
    assert {(name.text, name.function, name.in_current_frame) for name in names} == {
        ("y", "<module>", False),
        ("t", "double", True),
    }


def test_the_description_is_the_tensors_own(story):
    z = box(at(story, story.end), story.z)
    assert (z.sizes, z.strides, z.offset) == ((2,), (3,), 1)
    assert (z.lo, z.hi) == (4, 20)
    assert z.bar == (0, 2, 0, 0, 2, 0)


def test_views_share_the_version_that_a_write_through_one_of_them_raised(story):
    before, after = at(story, story.lines[7]), at(story, story.lines[8])
    for tensor in (story.x, story.y):
        assert box(after, tensor).version == box(before, tensor).version + 1


def test_the_object_is_as_it_was_last_looked_at(story):
    known = box(at(story, story.end), story.z).object
    assert known is not None
    assert (known.refcount, known.immortal) == (3, False)


def test_a_temporary_says_who_keeps_it(story):
    model = at(story, story.lines[8])
    assert not box(model, story.scalar).names
    assert not box(model, story.scalar).wrapped


def test_storage_counts_its_holders(story):
    storages = {s.id: s for s in at(story, story.end).storages}
    assert storages[1].use_count == 3
    foreign = next(s for s in storages.values() if s.allocator == "foreign")
    assert foreign.use_count == 2


def test_what_the_line_before_freed_is_listed_as_gone(story):
    assert [
        freed.id for freed in at(story, story.lines[4]).freed
    ] == []  # made and freed by one line
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2,), name="x")
    b.line(2)
    b.unbind("x", x)
    b.free(x)
    b.line(3)
    model = project("memory", b.history(), b.now, Selection())
    assert [(item.id, item.label, item.text) for item in model.freed] == [(x, "x", "float32 2")]


@pytest.mark.parametrize("kind", ["tensor", "storage"])
def test_selection_lights_the_path_and_nothing_else(story, kind):
    selection = {"tensor": story.z} if kind == "tensor" else {"storage": 1}
    model = at(story, story.end, **selection)
    highlighted = {tensor.id for s in model.storages for tensor in s.tensors if tensor.highlighted}
    assert highlighted == ({story.z} if kind == "tensor" else {story.x, story.y, story.z})
    assert [s.id for s in model.storages if s.highlighted] == [1]


def test_bars_equal_brute_force_on_random_layouts():
    chance = random.Random(7)
    for _ in range(300):
        rank = chance.randint(0, 4)
        sizes = tuple(chance.randint(1, 4) for _ in range(rank))
        strides = tuple(chance.randint(0, 6) for _ in range(rank))
        itemsize, offset = chance.choice((1, 2, 4)), chance.randint(0, 5)
        extent = Extent.of(offset, sizes, strides, itemsize)
        nbytes = extent.span[1] + itemsize * chance.randint(0, 4)
        bucket = itemsize * chance.randint(1, 3)
        touched = {
            start + b
            for hit in extent.elements(0, nbytes)
            for start in [hit.start]
            for b in range(itemsize)
        }
        for cell, state in enumerate(bar(extent, nbytes, bucket)):
            inside = range(cell * bucket, min(nbytes, (cell + 1) * bucket))
            hit = sum(byte in touched for byte in inside)
            want = 0 if not hit else 2 if hit == len(inside) else 1
            assert state == want, (sizes, strides, offset, itemsize, bucket, cell)


def test_too_many_tensors_are_counted_not_hidden_silently():
    b = TraceBuilder()
    for _ in range(LIMIT + 5):
        b.tensor((1,))
    model = project("memory", b.history(), b.now, select(tensor=3))
    assert (model.tensors, model.hidden) == (LIMIT + 5, 5)
    assert model.storage_count == LIMIT + 5
    assert 3 in [tensor.id for storage in model.storages for tensor in storage.tensors]


@pytest.mark.parametrize("name", ["memory", "object", "source", "timeline"])
def test_every_moment_has_a_model_that_json_takes(story, name):
    assert name in VIEWS
    for moment in range(story.history.end):
        for selection in (Selection(), select(tensor=story.y, storage=1, name="y", call=3)):
            json.dumps(to_json(project(name, story.history, moment, selection)), allow_nan=False)


@pytest.mark.parametrize("name", ["memory", "object", "source", "timeline"])
def test_an_empty_trace_has_a_model(name):
    history = TraceBuilder().history()
    json.dumps(to_json(project(name, history, history.end - 1, Selection())), allow_nan=False)
