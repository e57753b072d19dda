"""Conversion of table rows to facts: codes and string ids to strings, attached bytes to shapes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from operator import mul
from typing import Any, Generic, TypeVar

import numpy as np

from engine._generated.codes import (
    DEVICE_INDEX,
    DEVICE_TYPE,
    LAYOUT_DEVICE_INDEX,
    LAYOUT_DEVICE_TYPE,
    LAYOUT_DTYPE,
    LAYOUT_KEYS,
    LAYOUT_WRAPPED_NUMBER,
)
from engine.inspect.events import (
    ALLOCATORS,
    FOREVER,
    HOLDERS,
    KEYS,
    coded,
    device_name,
    dtype_name,
    fields_of,
    key_names,
    short_op,
)
from engine.inspect.history.arguments import decode_arguments
from engine.inspect.history.facts import (
    BlockFact,
    CallFact,
    CommandFact,
    ExceptionFact,
    FrameFact,
    HopFact,
    LineFact,
    NameFact,
    ObjectFact,
    OutputFact,
    PlanFact,
    PlanOperand,
    RegionFact,
    StorageFact,
    TensorFact,
    VersionFact,
    WaitFact,
)
from engine.inspect.history.fold import Tables
from engine.inspect.history.table import Ints, Table

F = TypeVar("F")
_MAX_RANK = 64
_USUAL_RANK = 6
_MAX_CACHED = 1 << 17
_MAX_CACHED_TEXT = 200  # characters of a text that is cached


class Rows:
    """One method per kind of fact, which returns the fact of a table's row.

    Facts that many moments share are created once: a screen reads all living objects at every step.
    """

    def __init__(self, tables: Tables):
        self.tables = tables
        self.trace = tables.trace
        self._strings: dict[int, str] = {}
        self.tensor = Facts(self._tensors)
        self.storage = Facts(self._storages)
        self.block = Facts(self._blocks)
        self.name = Facts(self._names)
        self.object = Facts(self._objects)

    def text(self, event: int) -> str:
        """Return the text attached to an event. Short ones are cached: reading warnings far apart in a trace
        would unpack their segments at every step."""
        known = self._strings.get(event)
        if known is None:
            known = self.trace.blob(event).decode("utf-8", "replace")
            if len(known) <= _MAX_CACHED_TEXT:
                if len(self._strings) >= _MAX_CACHED:
                    self._strings = {}  # one assignment, because another thread may read it
                self._strings[event] = known
        return known

    def _tensors(self, rows: Ints) -> list[TensorFact]:
        table = self.tables.tensors
        described, lengths = self.trace.blob_words_and_lengths(
            table.since[rows], 3 + 2 * _USUAL_RANK
        )
        facts = []
        parts = zip(_rows(table, rows), described.tolist(), lengths.tolist(), strict=True)
        for columns, integers, length in parts:
            if length > 3 + 2 * _USUAL_RANK:
                blob = self.trace.blob(columns["since"])[: 8 * (3 + 2 * _MAX_RANK)]
                integers = np.frombuffer(blob[: len(blob) & ~7], "<i8").tolist()
                length = len(integers)
            counter, base, rank = integers[:3]
            rank = min(max(rank, 0), max(length - 3, 0) // 2)
            layout = columns["layout"]
            fact = TensorFact(
                since=columns["since"],
                until=columns["until"],
                id=columns["id"],
                storage=columns["storage"],
                dtype=dtype_name(LAYOUT_DTYPE.unpack(layout)),
                device=_device_of(layout),
                wrapped_number=bool(LAYOUT_WRAPPED_NUMBER.unpack(layout)),
                offset=columns["offset"],
                sizes=tuple(integers[3 : 3 + rank]),
                strides=tuple(integers[3 + rank : 3 + 2 * rank]),
                counter=counter,
                base=base,
                keys=_key_names(LAYOUT_KEYS.unpack(layout)),
            )
            facts.append(fact if _is_possible(fact) else self._nothing(fact))
        return facts

    def _nothing(self, fact: TensorFact) -> TensorFact:
        """Replace an impossible description, which comes from damage, by one without elements."""
        self.trace.warning = self.trace.warning or (
            f"{self.trace.path}: damaged: tensor {fact.id} is {fact.dtype}, sizes {fact.sizes}, "
            f"strides {fact.strides}, offset {fact.offset}, which no tensor can be"
        )
        return replace(fact, dtype="uint8", sizes=(0,), strides=(1,), offset=0)

    def _storages(self, rows: Ints) -> list[StorageFact]:
        named = (
            _with_names(columns, allocator=ALLOCATORS) | {"device": device_name(columns["device"])}
            for columns in _rows(self.tables.storages, rows)
        )
        return [StorageFact(**columns) for columns in named]

    def _blocks(self, rows: Ints) -> list[BlockFact]:
        named = (
            _with_names(columns, allocator=ALLOCATORS) | {"reused": bool(columns["reused"])}
            for columns in _rows(self.tables.blocks, rows)
        )
        return [BlockFact(**columns) for columns in named]

    def version(self, row: int) -> VersionFact:
        return VersionFact(**_row(self.tables.versions, row))

    def _objects(self, rows: Ints) -> list[ObjectFact]:
        facts = []
        for columns in _rows(self.tables.objects, rows):
            columns["type"] = self.trace.string(columns["type"])
            facts.append(ObjectFact(**columns, header=self.trace.blob(columns["since"])))
        return facts

    def _names(self, rows: Ints) -> list[NameFact]:
        facts = []
        for columns in _rows(self.tables.names, rows):
            columns["name"] = self.trace.string(columns["name"])
            text = "" if columns["tensor"] else self.text(columns["since"])
            facts.append(NameFact(**_with_names(columns, kind=HOLDERS), text=text))
        return facts

    def frame(self, row: int) -> FrameFact:
        columns = _row(self.tables.frames, row)
        columns["function"] = self.trace.string(columns["function"])
        return FrameFact(**columns, path=self.trace.source(columns["file"])[0])

    def line(self, row: int) -> LineFact:
        columns = _row(self.tables.lines, row)
        return LineFact(**columns, path=self.trace.source(columns["file"])[0])

    def call(self, row: int, line: LineFact | None) -> CallFact:
        """Return a call. `line`: the line of the program that was running."""
        columns = _row(self.tables.calls, row)
        schema, _, origin = self.trace.string(columns["op"]).partition("\n")
        defined_at, _, library = origin.partition("\n")
        results: tuple[int, ...] = ()
        if columns["exit"] < FOREVER:
            left = fields_of(self.tables.events[columns["exit"]])
            results = (left["first"], left["second"], left["third"])[: max(0, left["n_results"])]
        arguments = self.trace.blob(columns["since"])
        return CallFact(
            since=columns["since"],
            until=columns["until"],
            id=columns["id"],
            schema=schema,
            parent=columns["parent"],
            args=decode_arguments(arguments, columns["n_args"], schema, self.trace.string),
            results=results,
            error=self.text(columns["error"]) if columns["error"] < FOREVER else "",
            frame=line.frame if line else 0,
            file=line.file if line else 0,
            line=line.line if line else 0,
            defined_at=defined_at,
            library=library,
        )

    def hop(self, row: int) -> HopFact:
        columns = _row(self.tables.hops, row)
        return HopFact(
            moment=columns["since"],
            call=columns["call"],
            op=short_op(self.trace.string(columns["op"])),
            key=coded(KEYS, columns["key"]),
            keys=key_names(columns["key_set"]),
            kernel=self.trace.string(columns["kernel"]),
        )

    def plan(self, row: int) -> PlanFact:
        """Return the plan of a kernel; of a truncated stream, with its complete operands."""
        columns = _row(self.tables.plans, row)
        blob = self.trace.blob(columns["since"])
        integers = np.frombuffer(blob[: len(blob) & ~7], "<i8").tolist()
        vector, rank, count = (*integers, 0, 0, 0)[:3]
        rank = min(max(rank, 0), max(len(integers) - 3, 0))
        rows = [integers[at : at + 1 + rank] for at in range(3 + rank, len(integers), 1 + rank)]
        complete = [row for row in rows[: max(count, 0)] if len(row) == 1 + rank]
        return PlanFact(
            moment=columns["since"],
            call=columns["call"],
            loop=self.trace.string(columns["loop"]),
            isa=self.trace.string(columns["isa"]),
            threads=columns["threads"],
            vector=vector,
            sizes=tuple(integers[3 : 3 + rank]),
            operands=tuple(PlanOperand(row[0], tuple(row[1:])) for row in complete),
        )

    def command(self, row: int) -> CommandFact:
        """Return a command; a truncated description leaves fields empty."""
        columns = _row(self.tables.commands, row)
        try:
            detail = json.loads(self.text(columns["since"]))
        except ValueError:
            detail = {}
        if not isinstance(detail, dict):
            detail = {}
        return CommandFact(
            **(columns | {"device": device_name(columns["device"])}),
            kind=str(detail.get("kind", "?")),
            name=str(detail.get("name", "?")),
            pinned=detail.get("pinned") is True,
            program=_count(detail.get("program")),
            items=_counts(detail.get("items")),
            group=_counts(detail.get("group")),
        )

    def region(self, row: int) -> RegionFact:
        table = self.tables.regions
        since = int(table.since[row])
        return RegionFact(since, int(table.until[row]), int(table.id[row]), self.text(since))

    def wait(self, row: int) -> WaitFact:
        columns = _row(self.tables.waits, row)
        names = {
            "device": device_name(columns["device"]),
            "reason": self.trace.string(columns["reason"]),
        }
        return WaitFact(**(columns | names))

    def exception(self, row: int) -> ExceptionFact:
        columns = _row(self.tables.exceptions, row)
        return ExceptionFact(
            moment=columns["since"],
            frame=columns["frame"],
            line=columns["line"],
            type=self.trace.string(columns["type"]),
            message=self.text(columns["since"]),
        )

    def output(self, row: int) -> OutputFact:
        columns = _row(self.tables.output, row)
        return OutputFact(columns["since"], columns["stream"], self.text(columns["since"]))


def _count(value: Any) -> int:
    return value if type(value) is int else 0


def _counts(value: Any) -> tuple[int, ...]:
    """Return the sizes of a kernel's dimensions, which the trace has as a number or as a list."""
    values = value if isinstance(value, list) else [value]
    return tuple(each for each in values if type(each) is int)


class Facts(Generic[F]):
    """The facts of a table's rows, created for many rows at once, and cached."""

    def __init__(self, make: Callable[[Ints], list[F]]) -> None:
        self._make = make
        self._cache: dict[int, F] = {}

    def __call__(self, row: int) -> F:
        fact = self._cache.get(row)
        return self.each(np.array([row]))[0] if fact is None else fact

    def each(self, rows: Ints) -> tuple[F, ...]:
        """Return the facts of several rows in ascending order."""
        numbers = rows.tolist()
        cache = self._cache  # another thread may replace it
        missing = [row for row in numbers if row not in cache]
        if missing:
            facts = zip(missing, self._make(np.array(missing)), strict=True)
            if len(cache) + len(missing) > _MAX_CACHED:
                cache = {row: cache[row] for row in numbers if row in cache}
            cache.update(facts)
            self._cache = cache
        return tuple([cache[row] for row in numbers])


def _device_of(layout: int) -> str:
    device_type, index = LAYOUT_DEVICE_TYPE.unpack(layout), LAYOUT_DEVICE_INDEX.unpack(layout)
    return device_name(DEVICE_TYPE.pack(device_type) | DEVICE_INDEX.pack(index))


@lru_cache(maxsize=1024)
def _key_names(key_set: int) -> tuple[str, ...]:
    return key_names(key_set)


def _is_possible(fact: TensorFact) -> bool:
    """Return whether a tensor can have this description: a known dtype, bytes that can be addressed."""
    if fact.dtype.startswith("?") or min((fact.offset, *fact.sizes, *fact.strides)) < 0:
        return False
    reach = fact.offset + sum(map(mul, fact.sizes, fact.strides)) + 1
    return reach < 1 << 58 or fact.span[1] < 1 << 62


def each(fact: Any, rows: Iterable[Any]) -> tuple[Any, ...]:
    """Return the facts of several rows."""
    return tuple(fact(int(row)) for row in rows)


def _rows(table: Table, rows: Ints) -> Iterator[dict[str, Any]]:
    """Yield the columns of some rows by name, as plain ints."""
    names = ("since", "until", *table.columns)
    columns = (table.since, table.until, *table.columns.values())
    values = (column[rows].tolist() for column in columns)
    return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))


def _row(table: Table, row: int) -> dict[str, Any]:
    """Return the columns of one row by name, as plain ints."""
    return next(_rows(table, np.array([row])))


def _with_names(columns: dict[str, Any], **names: tuple[str, ...]) -> dict[str, Any]:
    """Replace small codes in the row by their names."""
    return columns | {field: coded(names[field], columns[field]) for field in names}
