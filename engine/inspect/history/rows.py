"""Rows of the tables as facts: codes and string ids become words, attached bytes become shapes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from engine.inspect.events import (
    ALLOCATORS,
    DEVICES,
    DTYPES,
    FOREVER,
    HOLDERS,
    KEYS,
    coded,
    dtype_name,
    key_names,
    short_op,
)
from engine.inspect.history.arguments import decode_arguments
from engine.inspect.history.facts import (
    BlockFact,
    CallFact,
    ExceptionFact,
    FrameFact,
    HopFact,
    LineFact,
    NameFact,
    ObjectFact,
    OutputFact,
    PlanFact,
    PlanOperand,
    StorageFact,
    TensorFact,
    VersionFact,
)
from engine.inspect.history.table import Table
from engine.inspect.history.tables import Tables

_MOST_RANK = 64
_KEPT = 1 << 17
_SHORT = 200  # characters of a text that is kept


class Rows:
    """One method per sort of fact: the fact in that row of its table.

    Facts that many moments share are made once: a screen asks for all that is alive at every step.
    """

    def __init__(self, tables: Tables):
        self.tables = tables
        self.trace = tables.trace
        self._texts: dict[int, str] = {}
        self.tensor = lru_cache(maxsize=_KEPT)(self._tensor)
        self.storage = lru_cache(maxsize=_KEPT)(self._storage)
        self.block = lru_cache(maxsize=_KEPT)(self._block)
        self.name = lru_cache(maxsize=_KEPT)(self._name)

    def text(self, event: int) -> str:
        """The text attached to an event. Short ones are kept: warnings that lie far apart in a trace
        would have their segments unpacked at every step."""
        known = self._texts.get(event)
        if known is None:
            known = self.trace.blob(event).decode("utf-8", "replace")
            if len(known) <= _SHORT:
                if len(self._texts) >= _KEPT:
                    self._texts = {}  # at once: another thread may ask meanwhile
                self._texts[event] = known
        return known

    def _tensor(self, row: int) -> TensorFact:
        got = _row(self.tables.tensors, row)
        blob = self.trace.blob(got["since"])[: 8 * (3 + 2 * _MOST_RANK)]
        words = np.frombuffer(blob[: len(blob) & ~7], "<i8").tolist()
        counter, base, rank = (*words, 0, 0, 0)[:3]
        rank = min(max(rank, 0), max(len(words) - 3, 0) // 2)
        fact = TensorFact(
            since=got["since"],
            until=got["until"],
            id=got["id"],
            storage=got["storage"],
            dtype=dtype_name(got["layout"] & 0xFF),
            device=coded(DEVICES, got["layout"] >> 8 & 0xFF),
            wrapped_number=bool(got["layout"] >> 16 & 1),
            offset=got["offset"],
            sizes=tuple(words[3 : 3 + rank]),
            strides=tuple(words[3 + rank : 3 + 2 * rank]),
            counter=counter,
            base=base,
            keys=key_names(got["layout"] >> 32),
        )
        return fact if _can_be(fact) else self._nothing(fact)

    def _nothing(self, fact: TensorFact) -> TensorFact:
        """A description that no tensor can have comes from damage: it is shown without elements."""
        self.trace.warning = self.trace.warning or (
            f"{self.trace.path}: damaged: tensor {fact.id} is {fact.dtype}, sizes {fact.sizes}, "
            f"strides {fact.strides}, offset {fact.offset}, which no tensor can be"
        )
        return replace(fact, dtype=DTYPES[1][0], sizes=(0,), strides=(1,), offset=0)

    def _storage(self, row: int) -> StorageFact:
        got = _row(self.tables.storages, row)
        return StorageFact(**_spelled(got, allocator=ALLOCATORS, device=DEVICES))

    def _block(self, row: int) -> BlockFact:
        got = _row(self.tables.blocks, row)
        got["reused"] = bool(got["reused"])
        return BlockFact(**_spelled(got, allocator=ALLOCATORS, device=DEVICES))

    def version(self, row: int) -> VersionFact:
        return VersionFact(**_row(self.tables.versions, row))

    def object(self, row: int) -> ObjectFact:
        got = _row(self.tables.objects, row)
        got["type"] = self.trace.string(got["type"])
        return ObjectFact(**got, header=self.trace.blob(got["since"]))

    def _name(self, row: int) -> NameFact:
        got = _row(self.tables.names, row)
        got["name"] = self.trace.string(got["name"])
        text = "" if got["tensor"] else self.text(got["since"])
        return NameFact(**_spelled(got, kind=HOLDERS), text=text)

    def frame(self, row: int) -> FrameFact:
        got = _row(self.tables.frames, row)
        got["function"] = self.trace.string(got["function"])
        return FrameFact(**got, path=self.trace.source(got["file"])[0])

    def line(self, row: int) -> LineFact:
        got = _row(self.tables.lines, row)
        return LineFact(**got, path=self.trace.source(got["file"])[0])

    def call(self, row: int, line: LineFact | None) -> CallFact:
        """`line` is the line of the program that the call ran under."""
        got = _row(self.tables.calls, row)
        schema = self.trace.string(got["op"])
        results: tuple[int, ...] = ()
        if got["exit"] < FOREVER:
            left = self.tables.events[got["exit"]]
            results = tuple(int(left[field]) for field in "cde")[: max(0, int(left["b"]))]
        arguments = self.trace.blob(got["since"])
        return CallFact(
            since=got["since"],
            until=got["until"],
            id=got["id"],
            schema=schema,
            parent=got["parent"],
            args=decode_arguments(arguments, got["n_args"], schema, self.trace.string),
            results=results,
            error=self.text(got["error"]) if got["error"] < FOREVER else "",
            frame=line.frame if line else 0,
            file=line.file if line else 0,
            line=line.line if line else 0,
        )

    def hop(self, row: int) -> HopFact:
        got = _row(self.tables.hops, row)
        return HopFact(
            moment=got["since"],
            call=got["call"],
            op=short_op(self.trace.string(got["op"])),
            key=coded(KEYS, got["key"]),
            keys=key_names(got["key_set"]),
            kernel=self.trace.string(got["kernel"]),
        )

    def plan(self, row: int) -> PlanFact:
        """A stream that was cut off gives the operands that are whole."""
        got = _row(self.tables.plans, row)
        blob = self.trace.blob(got["since"])
        words = np.frombuffer(blob[: len(blob) & ~7], "<i8").tolist()
        vector, rank, count = (*words, 0, 0, 0)[:3]
        rank = min(max(rank, 0), max(len(words) - 3, 0))
        rows = [words[at : at + 1 + rank] for at in range(3 + rank, len(words), 1 + rank)]
        whole = [row for row in rows[: max(count, 0)] if len(row) == 1 + rank]
        return PlanFact(
            moment=got["since"],
            call=got["call"],
            loop=self.trace.string(got["loop"]),
            isa=self.trace.string(got["isa"]),
            threads=got["threads"],
            vector=vector,
            sizes=tuple(words[3 : 3 + rank]),
            operands=tuple(PlanOperand(row[0], tuple(row[1:])) for row in whole),
        )

    def exception(self, row: int) -> ExceptionFact:
        got = _row(self.tables.exceptions, row)
        return ExceptionFact(
            moment=got["since"],
            frame=got["frame"],
            line=got["line"],
            type=self.trace.string(got["type"]),
            message=self.text(got["since"]),
        )

    def output(self, row: int) -> OutputFact:
        got = _row(self.tables.output, row)
        return OutputFact(got["since"], got["stream"], self.text(got["since"]))


def _can_be(fact: TensorFact) -> bool:
    """Whether a tensor can have this description: a known dtype, bytes that can be addressed."""
    known = not fact.dtype.startswith("?")
    counted = min((fact.offset, *fact.sizes, *fact.strides)) >= 0
    return known and counted and fact.span[1] < 1 << 62


def each(fact: Any, rows: Iterable[Any]) -> tuple[Any, ...]:
    """The facts of several rows."""
    return tuple(fact(int(row)) for row in rows)


def _row(table: Table, row: int) -> dict[str, Any]:
    """The columns of one row by name, as plain ints."""
    got: dict[str, Any] = {"since": int(table.since[row]), "until": int(table.until[row])}
    got.update((name, int(column[row])) for name, column in table.columns.items())
    return got


def _spelled(got: dict[str, Any], **names: tuple[str, ...]) -> dict[str, Any]:
    """The row with small codes written out."""
    return got | {field: coded(names[field], got[field]) for field in names}
