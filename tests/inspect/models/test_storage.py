"""The storage model: lanes, cells, the newest write, and memory shared between storages."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.inspect.models import to_json
from engine.inspect.models.storage import MAX_LANES, LastWrite, StorageModel, project
from engine.inspect.selection import Selection
from tests.inspect.models.small import history
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder


def model_of(builder: TraceBuilder, **selection) -> StorageModel:
    result = builder.history()
    return project(result, result.end - 1, select(**selection))


def test_lanes_say_how_each_tensor_lies_over_the_storage() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"]))
    assert (model.count, model.itemsize, model.dtype) == (6, 4, "float32")
    assert [lane.label for lane in model.lanes] == ["x", "y", "z"]
    assert [lane.pattern for lane in model.lanes] == ["contiguous", "transposed", "step 3"]
    assert [lane.holes for lane in model.lanes] == [0, 0, 8]
    assert model.unused == 0


def test_the_newest_write_is_only_where_its_tensor_has_elements() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["x"]))
    assert isinstance(model.last_write, LastWrite)
    write = model.last_write
    assert (write.by, write.label, write.line) == ("operator mul_", "z", 4)
    assert [cell.number for cell in model.cells if cell.written] == [1, 4]  # not 2 and 3 between
    assert [cell.text for cell in model.cells] == ["0.", "10.", "2.", "3.", "40.", "5."]


def test_stepping_back_shows_the_earlier_bytes_and_tensors() -> None:
    result, tensors = history()
    before = result.call(3).since - 1  # select has not run yet: z does not exist
    model = project(result, before, select(tensor=tensors["x"]))
    assert [lane.label for lane in model.lanes] == ["x", "y"]
    assert [cell.text for cell in model.cells] == ["0.", "1.", "2.", "3.", "4.", "5."]
    assert model.last_write is not None
    assert model.last_write.by == "operator arange"


def test_selecting_an_index_selects_its_byte() -> None:
    result, tensors = history()
    model = project(result, result.end - 1, select(tensor=tensors["y"], index=(1, 1)))
    assert model.byte == 16
    assert [cell.number for cell in model.cells if cell.selected] == [4]


def test_selecting_a_storage_shows_it_and_nothing_selected_shows_the_newest_name() -> None:
    builder = TraceBuilder()
    first = builder.tensor((2,), name="first")
    builder.tensor((3,), name="second")
    builder.tensor((4,))
    assert model_of(builder, storage=builder.state[first]["storage"]).nbytes == 8
    assert model_of(builder).nbytes == 12


def test_before_anything_exists_the_model_says_why_it_is_empty() -> None:
    result, _ = history()
    assert "No storage" in project(result, 0, Selection()).why


def test_cells_are_of_the_smallest_element_over_the_storage() -> None:
    builder = TraceBuilder()
    wide = builder.tensor((2,), dtype="float64", values=[1.0, 2.0])
    builder.tensor((3,), (1,), 1, "int32", storage=builder.state[wide]["storage"], name="narrow")
    model = model_of(builder, tensor=wide)
    assert (model.dtype, model.itemsize, model.count) == ("int32", 4, 4)
    parts = [[(t.tensor, t.index, t.part) for t in cell.touches] for cell in model.cells]
    narrow = wide + 1
    assert parts == [
        [(wide, (0,), 0)],
        [(wide, (0,), 1), (narrow, (0,), 0)],
        [(wide, (1,), 0), (narrow, (1,), 0)],
        [(wide, (1,), 1), (narrow, (2,), 0)],
    ]


def test_two_storages_over_one_numpy_array_alias() -> None:
    builder = TraceBuilder()
    full = builder.tensor((8,), dtype="int16", allocator="foreign", name="whole")
    part = builder.storage(6, "foreign")  # array[2:5], shared a second time
    address = builder.storages[builder.state[full]["storage"]]["address"] + 4
    rows = [i for i, record in enumerate(builder.records) if record[5] == part]
    record = list(builder.records[rows[-1]])
    record[6] = address
    builder.records[rows[-1]] = tuple(record)
    slice_ = builder.tensor((3,), dtype="int16", storage=part, name="part")
    model = model_of(builder, tensor=full)
    assert [(lane.label, lane.aliases) for lane in model.lanes] == [
        ("whole", (slice_,)),
        ("part", (full,)),
    ]
    touched = [c.number for c in model.cells if any(t.tensor == slice_ for t in c.touches)]
    assert touched == [2, 3, 4]
    seen_from_the_part = model_of(builder, tensor=slice_)
    assert [t.index for t in seen_from_the_part.cells[0].touches] == [(2,), (0,)]


def test_many_tensors_are_counted_not_dropped() -> None:
    builder = TraceBuilder()
    base = builder.tensor((100,))
    views = [builder.tensor((), (), i, base=base) for i in range(50)]
    model = model_of(builder, tensor=views[-1])
    assert len(model.lanes) == MAX_LANES
    assert model.more_tensors == 51 - MAX_LANES
    assert views[-1] in [lane.tensor for lane in model.lanes]
    assert model.unused is None  # not all tensors were looked at


def test_unknown_bytes_are_unknown_and_partial_cells_have_no_value() -> None:
    builder = TraceBuilder()
    number = builder.storage(10)
    tensor = builder.tensor((2,), storage=number, name="x")
    builder.write(tensor, [1.0], lo=0)
    model = model_of(builder, tensor=tensor)
    assert [(cell.text, cell.known) for cell in model.cells] == [
        ("1.", True),
        ("", False),
        ("", False),
    ]
    assert model.contents is not None
    assert model.contents.known == 4


def test_ten_million_cells_cost_what_the_visible_ones_cost() -> None:
    builder = TraceBuilder()
    big = builder.tensor((10_000_000,), name="big")
    builder.tensor((5_000_000,), (2,), 1, base=big, name="odd")
    builder.tensor((1000, 10_000), (1, 1000), base=big, name="turned")
    model = model_of(builder, tensor=big, byte=20_000_004, storage=builder.state[big]["storage"])
    (cell,) = model.row(5_000_001, 1)
    assert [touch.index for touch in cell.touches] == [(5_000_001,), (2_500_000,), (1, 5000)]
    assert len(model.cells) < 100
    assert len(json.dumps(to_json(model))) < 100_000
    assert [len(lane.aliases) for lane in model.lanes] == [2, 2, 2]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "bool", "int8", "int64", "float64"])
def test_every_dtype_is_read(dtype: str) -> None:
    builder = TraceBuilder()
    tensor = builder.tensor((3,), dtype=dtype, values=np.array([1, 0, 1]), name="x")
    expected = {"bool": ["True", "False", "True"]}.get(dtype)
    expected = expected or (["1.", "0.", "1."] if "float" in dtype else ["1", "0", "1"])
    assert [cell.text for cell in model_of(builder, tensor=tensor).cells] == expected


def test_a_hole_is_never_blamed_on_the_write_around_it() -> None:
    """`history.last_write` and the marks in the storage's cells are one answer."""
    result, tensors = history()
    moment = result.end - 1
    model = project(result, moment, select(tensor=tensors["x"]))
    newest = model.last_write
    assert newest is not None
    by_byte = [result.last_write(model.storage, cell.byte, moment) for cell in model.cells]
    assert [cell.written for cell in model.cells] == [
        write is not None and write.moment == newest.moment for write in by_byte
    ]
    inside = [
        write
        for cell, write in zip(model.cells, by_byte, strict=True)
        if newest.lo <= cell.byte < newest.hi and not cell.written
    ]
    assert inside
    assert all(write and write.moment < newest.moment for write in inside)
