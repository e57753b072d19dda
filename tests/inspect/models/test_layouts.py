"""5,000 random layouts up to rank 6: what the storage and strides models say equals brute force."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest

from engine.inspect.history import History
from engine.inspect.layout import Extent, Hit
from engine.inspect.models import storage, strides
from engine.inspect.models._numbers import BY_NAME, decode, short
from tests.inspect.models.layouts import Layout, random_layout
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder

STORAGES = 1700
EACH = 3  # tensors on every storage: 5,100 layouts


@pytest.fixture(scope="module")
def case() -> tuple[History, list[tuple[int, dict[int, Layout], np.ndarray]]]:
    """One history with all storages alive, and for each its number, tensors and bytes."""
    rng = np.random.default_rng(6)
    builder, storages = TraceBuilder(), []
    for _ in range(STORAGES):
        layouts = [random_layout(rng) for _ in range(EACH)]
        nbytes = max(layout.end for layout in layouts) + int(rng.integers(0, 4)) * 8
        number = builder.storage(nbytes)
        raw = rng.integers(0, 256, nbytes, dtype=np.uint8)
        tensors = {
            builder.tensor(
                layout.sizes, layout.strides, layout.offset, layout.dtype, number, wrap=False
            ): layout
            for layout in layouts
        }
        builder.emit("WRITE", number, 0, 0, nbytes, 0)
        builder.emit("VALUES", number, 0, nbytes, 0, blob=raw.tobytes())
        storages.append((number, tensors, raw))
    return builder.history(), storages


def test_storage_says_which_cells_belong_to_which_elements(case) -> None:
    history, storages = case
    for number, tensors, raw in storages:
        model = storage.project(history, history.end - 1, select(storage=number))
        itemsize = min(layout.itemsize for layout in tensors.values())
        assert (model.itemsize, model.nbytes) == (itemsize, len(raw))
        assert model.count == -(-len(raw) // itemsize)
        cells = model.row(0, model.count)
        for lane in model.lanes:
            layout = tensors[lane.tensor]
            over = defaultdict(list)
            for index, at in layout.walk():
                for byte in range(at, at + layout.itemsize, itemsize):
                    over[byte // itemsize].append((index, (byte - at) // itemsize))
            visible = {c.number: t for c in cells for t in c.touches if t.tensor == lane.tensor}
            assert visible.keys() == over.keys(), (layout, itemsize)
            for cell, touch in visible.items():
                assert (touch.index, touch.part) in over[cell], layout
                assert (touch.more, touch.counted) == (len(over[cell]) - 1, True), layout


def test_storage_says_holes_overlaps_and_unused_bytes(case) -> None:
    history, storages = case
    for number, tensors, raw in storages:
        model = storage.project(history, history.end - 1, select(storage=number))
        everything: set[int] = set()
        for lane in model.lanes:
            layout = tensors[lane.tensor]
            used = layout.bytes()
            everything |= used
            assert lane.touched == len(used), layout
            assert lane.holes == (max(used) + 1 - min(used) - len(used) if used else 0), layout
            elements = len(list(layout.walk()))
            assert lane.repeats is (elements * layout.itemsize > len(used)), layout
        assert model.unused == len(raw) - len(everything)


def test_two_tensors_alias_exactly_when_their_bytes_meet(case) -> None:
    history, storages = case
    met = 0
    for number, tensors, _ in storages:
        model = storage.project(history, history.end - 1, select(storage=number))
        lanes = {lane.tensor: lane for lane in model.lanes}
        for item, other in combinations(tensors, 2):
            meet = bool(tensors[item].bytes() & tensors[other].bytes())
            met += meet
            assert (other in lanes[item].aliases) is meet, (tensors[item], tensors[other])
            assert (item in lanes[other].aliases) is meet
            assert not lanes[item].undecided
    assert 0.2 < met / (STORAGES * EACH) < 0.98  # both answers were tested


def test_strides_maps_every_index_to_its_byte_and_every_cell_back(case) -> None:
    history, storages = case
    rng = np.random.default_rng(7)
    for _, tensors, raw in storages:
        for tensor, layout in tensors.items():
            positions = list(layout.walk())
            result, at = positions[rng.integers(len(positions))] if positions else (None, -1)
            selection = select(tensor=tensor, index=result)
            model = strides.project(history, history.end - 1, selection)
            _same_grid(model, layout, raw, result)
            over = defaultdict(list)
            for index, byte in positions:
                over[byte // layout.itemsize].append(index)
            for cell in model.cells(0, model.count):
                assert cell.used is (cell.number in over), layout
                assert cell.selected is (cell.byte == at)
                if cell.used:
                    assert cell.index in over[cell.number], layout
                    assert cell.more == len(over[cell.number]) - 1, layout
            if model.formula is None:
                assert not positions
                continue
            same = set(over[at // layout.itemsize]) - {result}
            assert (model.formula.byte, model.formula.shared) == (at, len(same)), layout
            assert set(model.formula.sharers) <= same
            assert len(model.formula.sharers) == min(len(same), strides.MAX_SHARERS)


def _same_grid(model, layout: Layout, raw: np.ndarray, selected) -> None:
    """Every cell of the slice: its index, byte and value."""
    dtype = BY_NAME[layout.dtype]
    expected = [
        (index, at) for index, at in layout.walk() if selected and index[:-2] == selected[:-2]
    ]
    grid = model.grid
    rows = range(grid.rows if expected else 0)
    cells = [cell for row in rows for cell in grid.row(row, 0, grid.columns)]
    assert [(cell.index, cell.byte) for cell in cells] == expected, layout
    for cell in cells:
        value = decode(dtype, raw[cell.byte : cell.byte + dtype.itemsize].tobytes())[0]
        assert cell.known
        assert cell.text == short(dtype, value)


def test_contiguous_and_flat_are_what_the_addresses_say(case) -> None:
    history, storages = case
    for _, tensors, _ in storages:
        for tensor, layout in tensors.items():
            model = strides.project(history, history.end - 1, select(tensor=tensor))
            at = [byte // layout.itemsize for _, byte in layout.walk()]
            steps = set(np.diff(at).tolist())
            assert model.layout.flat is (len(steps) <= 1), layout
            assert model.layout.contiguous is (steps <= {1}), layout


def test_sharers_of_a_dimension_that_is_too_large_to_list_are_its_first() -> None:
    """As a damaged recording may claim: every index of the dimension at once would be 30 GB."""
    extent = Extent(start=4, sizes=(2**32, 2, 2), strides=(0, 4, 12), itemsize=4)
    hits = [Hit(8, (0, 1, 0), 2**32)]
    expected = tuple((i, 1, 0) for i in range(strides.MAX_SHARERS + 1) if i != 3)
    assert strides._sharers(extent, hits, (3, 1, 0)) == expected
