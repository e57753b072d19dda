"""One storage of the memory map, drawn: its tensors one below the other, the storage next to the first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.inspect.models._wording import bytes_text, pluralise, shape_text
from engine.inspect.models.memory import MemoryMap, NameBox, StorageBox, TensorBox
from engine.inspect.selection import (
    NameSelection,
    ObjectSelection,
    StorageSelection,
    TensorSelection,
)
from tui.render import Glyphs, Landmarks, Picture, Span, Target, cut_middle
from tui.render.boxes import Grid
from tui.render.theme import tensor_style
from tui.views._cells import cell_target

BOXED_FROM = 116
NARROWEST = 70  # below this width the picture scrolls
_NAMES = 6  # names drawn for one tensor; how many more there are is said
_ADDRESS = 14  # cells of `0x7f0000000080`


@dataclass(frozen=True, slots=True)
class Columns:
    """The positions and widths of the five columns."""

    boxed: bool
    names: tuple[int, int]
    object: tuple[int, int]
    tensor: tuple[int, int]
    storage: tuple[int, int]
    bytes: tuple[int, int]

    @classmethod
    def within(cls, width: int, longest_name: int = 0) -> Columns:
        """Return the columns for this width; below NARROWEST they stay as they are and the picture scrolls.

        Names get what they need before addresses are written out and bars get longer."""
        boxed = width >= BOXED_FROM
        if boxed:
            room = {"names": 9, "object": 18, "tensor": 30, "storage": 23, "bytes": 16}
            gaps = (5, 3, 5, 4)
            growth: tuple[tuple[str, int], ...] = (
                ("names", 21),
                ("bytes", 8),
                ("names", 30),
                ("bytes", 16),
                ("tensor", 12),
            )
        else:
            room = {"names": 9, "object": 8, "tensor": 18, "storage": 12, "bytes": 10}
            gaps = (3, 3, 3, 3)
            growth = (("names", 21), ("object", 6), ("bytes", 12), ("tensor", 12))
        spare = max(0, width - 1 - sum(room.values()) - sum(gaps))
        needed = max(0, longest_name - room["names"])
        for name, limit in growth:
            more = min(limit, spare, needed) if name == "names" else min(limit, spare)
            needed -= more * (name == "names")
            room[name] += more
            spare -= more
        columns, x = [], 1
        for (_, cells), gap in zip(room.items(), (*gaps, 0), strict=True):
            columns.append((x, cells))
            x += cells + gap
        return cls(boxed, *columns)

    @property
    def width(self) -> int:
        return sum(self.bytes)


@dataclass(frozen=True, slots=True)
class BarScale:
    """The scale of all bars of a map: `merged` units of `scale` bytes are `wide` cells."""

    scale: int
    merged: int
    wide: int

    @classmethod
    def of(cls, model: MemoryMap, columns: Columns) -> BarScale:
        """Return the scale at which the longest bar fills the column."""
        _, room = columns.bytes
        units = [storage.nbytes for storage in model.storages if storage.address]
        longest = max(1, -(-max(units, default=1) // model.scale))
        merged = -(-longest // room)
        if any(storage.bucket != model.scale for storage in model.storages):
            merged = 1 << (merged - 1).bit_length()  # an element takes a power of two of units
        return cls(model.scale, merged, 1 if merged > 1 else min(room // longest, 4))

    @property
    def cell(self) -> int:
        """The bytes of a cell; 0: a cell is less than one unit."""
        return self.scale * self.merged // self.wide if self.wide == 1 else 0

    def entries(self, bucket: int) -> tuple[int, int]:
        """Return (entries of a bar that are drawn together, cells that they take)."""
        if bucket >= self.scale * self.merged:
            return 1, bucket // (self.scale * self.merged) * self.wide
        return self.scale * self.merged // bucket, self.wide


class Group:
    """As many blocks of lines as the storage has tensors; drawn when the first line is looked at."""

    def __init__(
        self,
        storage: StorageBox,
        columns: Columns,
        bars: BarScale,
        glyphs: Glyphs,
        names: Mapping[str, str],
    ) -> None:
        self.storage = storage
        self.visible_names = names  # each name as the column has room for it
        self.columns = columns
        self.bars = bars
        self.glyphs = glyphs
        min_lines = 4 if columns.boxed else 3
        self.starts = [0]
        for tensor in storage.tensors or (None,):
            lines = min(len(tensor.names), _NAMES + 1) + columns.boxed if tensor else 0
            self.starts.append(self.starts[-1] + max(min_lines, lines))

    def picture(self) -> Picture:
        # one line more, blank: storages stand apart, the tensors of one do not
        height = self.starts[-1] + 1
        grid: list[Grid] = []

        def make(y: int) -> list[Span]:
            if not grid:
                grid.append(self._drawn(height))
            return grid[0].line(y)

        return Picture(self.columns.width, height, make, self._landmarks)

    def _landmarks(self) -> Landmarks:
        """Return the line of the first highlighted tensor, else of the storage."""
        if not self.storage.highlighted:
            return Landmarks()
        tensors = enumerate(self.storage.tensors)
        first = next((ordinal for ordinal, tensor in tensors if tensor.highlighted), 0)
        return Landmarks(highlighted=self.starts[first] + self.columns.boxed)

    def _drawn(self, height: int) -> Grid:
        grid = Grid(self.columns.width, height, self.glyphs)
        first = self.columns.boxed  # the line of a block that wires run along
        self._storage(grid, first)
        # highlighted wires are drawn last, so that their heavy lines are on top where lines meet
        for ordinal, tensor in sorted(
            enumerate(self.storage.tensors), key=lambda pair: pair[1].highlighted
        ):
            y = self.starts[ordinal] + first
            self._names(grid, tensor, y)
            self._object(grid, tensor, y)
            right = self._tensor(grid, tensor, y, ordinal)
            self._to_storage(grid, tensor, right, y, first)
            self._bytes(grid, tensor, y, ordinal)
            if tensor.highlighted:
                for line in range(self.starts[ordinal], self.starts[ordinal + 1]):
                    grid.put(0, line, self.glyphs.highlighted, "path")
        return grid

    def _names(self, grid: Grid, tensor: TensorBox, y: int) -> None:
        x, room = self.columns.names
        end = self.columns.object[0] - (1 if self.columns.boxed else 2)  # where the arrow head is
        bus = x + room + self.columns.boxed
        style = _wire(tensor)
        if not tensor.names:
            after = grid.put(x, y, f"{self.glyphs.temporary} no name", "dim", None, room)
            column = self.columns.object if tensor.wrapped else self.columns.tensor
            for line, holder in enumerate(tensor.held_by[:2], 1):
                grid.put(x + 2, y + line, holder, "dim", None, column[0] - x - 4)
            if tensor.wrapped:
                grid.across(after + 1, end, y, style, tensor.highlighted)
        for line, name in enumerate(tensor.names[:_NAMES]):
            after = self._name(grid, x, y + line, name, tensor, room)
            grid.across(after + 1, bus, y + line, style, tensor.highlighted)
        if len(tensor.names) > _NAMES:
            more = f"{len(tensor.names) - _NAMES} more"
            grid.put(
                x,
                y + _NAMES,
                more,
                "dim",
                Target(TensorSelection(tensor.id, self.storage.id)),
                room,
            )
        if tensor.names:
            grid.down(bus, y, y + min(len(tensor.names), _NAMES) - 1, style, tensor.highlighted)
            grid.across(bus, end, y, style, tensor.highlighted)
        if tensor.wrapped:
            grid.put(end, y, self.glyphs.arrow, style)

    def _name(self, grid: Grid, x: int, y: int, name: NameBox, tensor: TensorBox, room: int) -> int:
        target = Target(NameSelection(tensor.id, self.storage.id, name.text))
        style = "name highlighted" if tensor.highlighted else "name"
        after = grid.put(x, y, self.visible_names[name.text], style, target, room)
        if name.function and not name.in_current_frame and x + room - after > 4:
            after = grid.put(
                after, y, f" in {name.function.strip('<>')}", "dim", target, x + room - after
            )
        return after

    def _object(self, grid: Grid, tensor: TensorBox, y: int) -> None:
        target = Target(ObjectSelection(tensor.id, self.storage.id))
        if not tensor.wrapped:
            x, _ = self.columns.object
            grid.put(x + 2 * self.columns.boxed, y, "no object", "dim", target)
            return
        known = tensor.object
        if known is None:
            lines = [("Tensor", "type"), ("not looked at", "unknown")]
        else:
            narrow = self.columns.object[1] < _ADDRESS
            references = (
                f"{known.refcount} refs" if narrow else pluralise(known.refcount, "reference")
            )
            count = "immortal" if known.immortal else references
            lines = [
                (self._address(known.address, self.columns.object), "address"),
                (count, "number"),
            ]
        right = self._cell(grid, self.columns.object, y, lines, target, tensor.highlighted)
        end = self.columns.tensor[0] - (1 if self.columns.boxed else 2)
        grid.across(right, end, y, _wire(tensor), tensor.highlighted)
        grid.put(end, y, self.glyphs.arrow, _wire(tensor))

    def _tensor(self, grid: Grid, tensor: TensorBox, y: int, ordinal: int) -> int:
        target = Target(TensorSelection(tensor.id, self.storage.id))
        shape = shape_text(tensor.sizes, self.glyphs.times)
        strides = ",".join(map(str, tensor.strides)) or "()"
        style = tensor_style(ordinal)
        if self.columns.boxed:
            lines = [
                (f"{tensor.dtype}  {shape}", style),
                (f"strides {strides}  offset {tensor.offset}", "number"),
            ]
            right = self._cell(grid, self.columns.tensor, y, lines, target, tensor.highlighted)
            grid.put(self.columns.tensor[0] + 2, y - 1, f" {tensor.id} ", style, target)
            version = f" version {tensor.version} "
            x = sum(self.columns.tensor) - 2 - len(version)
            grid.spans(x, y - 1, _fact_spans(version, "number", target))
            return right
        lines = [
            (f"{tensor.id}: {tensor.dtype} {shape}", style),
            (f"strides {strides}", "number"),
            (f"offset {tensor.offset} vers. {tensor.version}", "number"),
        ]
        return self._cell(grid, self.columns.tensor, y, lines, target, tensor.highlighted)

    def _storage(self, grid: Grid, y: int) -> None:
        storage = self.storage
        target = Target(StorageSelection(storage.id))
        holders = pluralise(storage.use_count, "holder")
        owner = storage.allocator
        if self.columns.boxed:
            dot = self.glyphs.dot
            lines = [
                (bytes_text(storage.nbytes), "number"),
                (f"{owner} {dot} {holders}", "number"),
            ]
        else:
            lines = [
                (self._size(), "number"),
                (owner, "type"),
                (holders, "number"),
            ]
        right = self._cell(grid, self.columns.storage, y, lines, target, storage.highlighted)
        if self.columns.boxed:
            grid.put(self.columns.storage[0] + 2, y - 1, f" {storage.id} ", "number", target)
        if storage.address:
            style = "path" if storage.highlighted else "wire"
            grid.across(right, self.columns.bytes[0] - 2, y, style, storage.highlighted)
            grid.put(self.columns.bytes[0] - 2, y, self.glyphs.arrow, style)

    def _bytes(self, grid: Grid, tensor: TensorBox, y: int, ordinal: int) -> None:
        x, room = self.columns.bytes
        storage = self.storage
        target = cell_target(tensor.id, storage.id, tensor.lo)
        if not storage.address:
            grid.put(x, y, "no memory", "dim", target, room)
            return
        address = self._address(storage.address + tensor.lo, self.columns.bytes)
        grid.put(x, y, address, "address", target, room)
        step, wide = self.bars.entries(storage.bucket)
        at = x
        for low in range(0, len(tensor.bar), step):
            share = tensor.bar[low : low + step]
            glyph, style = _bar_glyph(share, self.glyphs, tensor_style(ordinal))
            start = low * storage.bucket
            if start <= storage.byte < start + step * storage.bucket:
                glyph, style = self.glyphs.mark, "highlighted"
            byte = cell_target(tensor.id, storage.id, start)
            at = grid.put(at, y + 1, glyph * min(wide, x + room - at), style, byte)
        if not self.columns.boxed:
            text = f"+{tensor.lo} to +{tensor.hi}"
            if len(text) > room:
                text = f"+{tensor.lo}..{tensor.hi}"
            grid.put(x, y + 2, text, "dim", target, room)

    def _size(self) -> str:
        text = f"{self.storage.id}: {bytes_text(self.storage.nbytes)}"
        fits = len(text) <= self.columns.storage[1]
        return text if fits else text.replace(" bytes", " B")

    def _address(self, address: int, column: tuple[int, int]) -> str:
        """Return the address; of one without room, its end: addresses differ there."""
        return cut_middle(f"{address:#x}", column[1], self.glyphs.ellipsis)

    def _to_storage(self, grid: Grid, tensor: TensorBox, left: int, y: int, top: int) -> None:
        """Draw a wire from the tensor to the one that all tensors of this storage share, and up along it."""
        boxed = self.columns.boxed
        end = self.columns.storage[0] - (1 if boxed else 2)
        bus = sum(self.columns.tensor) + 2 * boxed
        left = min(left, bus)
        style = _wire(tensor)
        grid.across(left, bus, y, style, tensor.highlighted)
        grid.down(bus, top, y, style, tensor.highlighted)
        grid.across(bus, end, top, style, tensor.highlighted)
        grid.put(end, top, self.glyphs.arrow, "path" if self.storage.highlighted else "wire")

    def _cell(
        self,
        grid: Grid,
        column: tuple[int, int],
        y: int,
        lines: list[tuple[str, str]],
        target: Target,
        highlighted: bool,
    ) -> int:
        """Draw lines of text in a column, framed if there is room. Returns the column after them."""
        x, room = column
        boxed = self.columns.boxed
        if boxed:
            grid.box(
                x, y - 1, room, len(lines) + 2, "path" if highlighted else "frame", highlighted
            )
        widest = x
        for number, (text, style) in enumerate(lines):
            style = f"{style} highlighted" if highlighted and not number else style
            left, space = x + 2 * boxed, room - 4 * boxed
            after = grid.spans(left, y + number, _fact_spans(text, style, target), space)
            widest = after if not number else widest
        return x + room if boxed else widest + 1


def _fact_spans(text: str, style: str, target: Target) -> list[Span]:
    """Return one span; in a line of plain facts the numbers stand out from the words between them."""
    if style != "number":
        return [Span(text, style, target)]
    parts = re.findall(r"[\d(][\d,.×x()]*|[^\d(]+", text)
    return [Span(part, style if part[0] in "0123456789(" else "dim", target) for part in parts]


def _wire(tensor: TensorBox) -> str:
    return "path" if tensor.highlighted else "wire"


def _bar_glyph(share: tuple[int, ...], glyphs: Glyphs, style: str) -> tuple[str, str]:
    """Return the glyph and style of bytes that are used, unused, or used in part."""
    if all(used == 2 for used in share):
        return glyphs.full, style
    return (glyphs.part, style) if any(share) else (glyphs.empty, "track")
