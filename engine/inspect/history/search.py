"""Search for events: `op:mm`, `name:x`, `line:12`, `shape:2x3`, `kind:WRITE`, and words of the sentence.

All filters must hold, and the event's sentence must contain the remaining text. A
number matches as an integer: `storage 17` does not find storage 170. Sentences are slow to build,
so entire columns first select the events that could match, and only those are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from engine._generated.codes import JIT_HOLDERS, LAYOUT_DTYPE
from engine._generated.event_kinds import KINDS
from engine.inspect.events import (
    DTYPES,
    HOLDERS,
    NUMBER,
    dtype_code,
    full_op,
    named_fields,
    record_field,
    short_op,
)
from engine.inspect.history.autograd.descriptions import NODES
from engine.inspect.history.paths import parameter_path
from engine.inspect.history.sentences import ADDED, CODES, STRINGS, TENSORS, TEXTS

if TYPE_CHECKING:
    from engine._generated.event_kinds import Kind
    from engine.inspect.history import History

Mask = np.ndarray
Check = Callable[[int, int], None]
_JIT_HOLDERS = [HOLDERS.index(name) for name in JIT_HOLDERS]
EVERY = 16  # events between two calls of a check
_PART_OF_HEX = re.compile("[0-9a-fx]+")
_ANY_ARGUMENT = re.compile(r"\d+|0x[0-9a-f]+|true|false|none|inf|nan|e|float\d+|int\d+|cpu|meta")


class Search:
    """One search text over one history: `find` gives the next or previous match."""

    def __init__(self, history: History, text: str):
        self.history = history
        self.events = history.tables.events
        self.kinds = np.asarray(self.events["kind"])
        self.possible = np.ones(len(self.events), bool)
        free_text, filters = [], []
        for part in text.split():
            key, colon, value = part.partition(":")
            mask = self._filter(key.lower(), value) if colon and value else None
            if mask is None:
                free_text.append(part)
            else:
                filters.append(key.lower())
                self.possible &= mask
        if filters == ["op"] and not free_text:
            self.possible &= self.kinds == NUMBER["OP_ENTER"]
        self.text = " ".join(free_text).lower()
        self.pattern = re.compile(_whole_numbers(self.text))
        if free_text:
            self._keep_speakers()
        self.candidates = np.flatnonzero(self.possible) if text.strip() else np.empty(0, np.int64)

    def find(self, m: int, step: int, check: Check | None = None) -> int | None:
        """Return the nearest match after m (step > 0) or before it. `check` is called regularly with the numbers of
        searched and of all events; an exception from it ends the search."""
        if step > 0:
            ahead = self.candidates[np.searchsorted(self.candidates, m, "right") :]
        else:
            ahead = self.candidates[: np.searchsorted(self.candidates, m, "left")][::-1]
        for number, moment in enumerate(ahead):
            if check is not None and number % EVERY == 0:
                check(number, len(ahead))
            if not self.text or self.pattern.search(self._sentence(int(moment))):
                return int(moment)
        return None

    def _sentence(self, moment: int) -> str:
        return self.history.event(moment).sentence.lower()

    # Filters: a mask over all events, or None when the value cannot be read as one

    def _filter(self, key: str, value: str) -> Mask | None:
        special: dict[str, Callable[[str], Mask | None]] = {
            "kind": self._of_kind,
            "op": self._of_op,
            "line": self._on_line,
            "shape": self._of_shape,
            "dtype": self._of_dtype,
            "tensor": self._of_tensor,
        }
        if key in special:
            return special[key](value)
        known = any(key in kind.fields for kind in KINDS.values())
        return self._with_field(key, value) if known and key != "_" else None

    def _of_kind(self, value: str) -> Mask | None:
        numbers = [number for name, number in NUMBER.items() if value.upper() in name]
        return np.isin(self.kinds, numbers) if numbers else None

    def _of_op(self, value: str) -> Mask:
        """Return all events of the calls of this operator (`add`, or one overload: `add.Tensor`)."""
        predicate = value.lower()
        ids = [
            number
            for number, text in self.history.trace.strings.items()
            if predicate in (short_op(text).lower(), full_op(text).lower())
        ]
        calls = self.history.tables.calls
        return self._with_values("call", calls.id[np.isin(calls.op, ids)])

    def _on_line(self, value: str) -> Mask | None:
        file, colon, line = value.rpartition(":")
        if not line.isdecimal():
            return None
        mask = self._with_values("line", [int(line)])
        return mask & self._with_field("file", file) if colon else mask

    def _of_shape(self, value: str) -> Mask | None:
        sizes = [part for part in re.split(r"[x,()\[\]]", value.lower()) if part]
        if not all(size.isdecimal() for size in sizes):
            return None
        shape = [int(size) for size in sizes]
        since = self.history.tables.tensors.since
        description = self.history.trace.blob_words(since, 3 + len(shape))
        same = (description[:, 2] == len(shape)) & (description[:, 3:] == shape).all(axis=1)
        return self._at(since[same])

    def _of_dtype(self, value: str) -> Mask | None:
        try:
            code = dtype_code(value.lower())
        except KeyError:
            return None
        tensors = self.history.tables.tensors
        return self._at(tensors.since[LAYOUT_DTYPE.unpack(tensors.layout) == code])

    def _of_tensor(self, value: str) -> Mask | None:
        number = value.removeprefix("#")
        if number.isdecimal():
            ids = np.array([int(number)])
        else:
            ids = self._named(lambda text: value in (text, parameter_path(text)))
        if not len(ids):
            return None
        mask = np.zeros(len(self.events), bool)
        for field in TENSORS:
            mask |= self._with_values(field, ids)
        return mask

    def _with_field(self, key: str, value: str) -> Mask:
        """Return any field of the event list by its name; a text field by its text."""
        if key == "file":
            return self._with_values(
                key, self._strings(lambda text: value in (text, PurePath(text).name))
            )
        if key in STRINGS:
            return self._with_values(
                key, self._strings(lambda text: value in (text, parameter_path(text)))
            )
        if key in CODES:
            name = value.lower()
            return self._with_codes(key, lambda text: name in (text, text.split(":")[0]))
        number = _number(value)
        return self._with_values(key, [] if number is None else [number])

    def _strings(self, predicate: Callable[[str], bool]) -> list[int]:
        return [number for number, text in self.history.trace.strings.items() if predicate(text)]

    def _named(self, predicate: Callable[[str], bool]) -> np.ndarray:
        """Return the tensors that ever had a name like this."""
        names = self.history.tables.names
        return np.unique(names.tensor[np.isin(names.name, self._strings(predicate))])

    def _at(self, moments: np.ndarray) -> Mask:
        mask = np.zeros(len(self.events), bool)
        mask[moments] = True
        return mask

    def _with_values(self, field: str, values: np.ndarray | list[int]) -> Mask:
        """Return the events whose field is one of these values."""
        mask = np.zeros(len(self.events), bool)
        for kind in KINDS.values():
            if field in kind.fields and len(values):
                numbers = self.history.tables.numbers(kind.name)
                mask[numbers] = self._is_in(kind, field, numbers, values)
        return mask

    def _with_codes(self, field: str, predicate: Callable[[str], bool]) -> Mask:
        """Return the events whose field holds a code whose name is like this: of `opencl`, also `opencl:1`."""
        codes = {
            code
            for kind in KINDS.values()
            if field in kind.fields
            for code in self._codes(kind, field, self.history.tables.numbers(kind.name), predicate)
        }
        return self._with_values(field, sorted(codes))

    def _codes(
        self, kind: Kind, field: str, numbers: np.ndarray, predicate: Callable[[str], bool]
    ) -> list[int]:
        """Return the codes of a field, of those that these events have, whose names are like this."""
        codes = np.unique(self._column(kind, field, numbers)).tolist()
        return [code for code in codes if predicate(CODES[field](code).lower())]

    def _column(self, kind: Kind, field: str, numbers: np.ndarray) -> np.ndarray:
        column: np.ndarray = self.events[record_field(kind, field)][numbers]
        return column

    def _is_in(
        self, kind: Kind, field: str, numbers: np.ndarray, values: np.ndarray | list[int]
    ) -> Mask:
        column = self._column(kind, field, numbers)
        return column == values[0] if len(values) == 1 else np.isin(column, values)

    # Words: the events whose sentences could contain them

    def _keep_speakers(self) -> None:
        """Drop every event whose sentence cannot contain the words, by its kind and fields."""
        fragments = sorted(set(re.findall(r"\w+", self.text)), key=len, reverse=True)
        for kind in KINDS.values():
            numbers = self.history.tables.numbers(kind.name)
            for fragment in fragments:
                if not len(numbers):
                    break
                could = self._could_say(kind, numbers, fragment)
                self.possible[numbers[~could]] = False
                numbers = numbers[could]

    def _could_say(self, kind: Kind, numbers: np.ndarray, fragment: str) -> Mask:
        own_words = re.sub(r"\{.*?\}", " ", kind.sentence).lower() + ADDED.get(kind.name, "")
        if fragment in own_words or kind.name in TEXTS:
            return np.ones(len(numbers), bool)
        if kind.name == "OP_ENTER" and self._could_be_argument(fragment):
            return np.ones(len(numbers), bool)
        number = _number(fragment)
        if number is None and "#x}" in kind.sentence and _PART_OF_HEX.fullmatch(fragment):
            return np.ones(len(numbers), bool)
        could = np.zeros(len(numbers), bool)
        strings = self._strings(lambda text: fragment in text.lower())
        for field in named_fields(kind):
            if number is not None:
                could |= self._is_in(kind, field, numbers, [number])
            values: np.ndarray | list[int] = []
            if field in STRINGS:
                values = strings
            elif field in TENSORS:
                values = self._named(lambda text: fragment in text.lower())
            elif field == "holder":  # the kind is in the event: a tensor or a node
                tensors = self._named(lambda text: fragment in text.lower())
                nodes = self.history.autograd.named(strings, tensors)
                values = np.concatenate([tensors, nodes])
            elif field == "position":  # the sentence has special words for the JIT's holders
                could |= np.isin(self._column(kind, "holder_kind", numbers), _JIT_HOLDERS)
            elif field in CODES:
                values = self._codes(kind, field, numbers, lambda text: fragment in text)
            elif field in NODES:
                tensors = self._named(lambda text: fragment in text.lower())
                values = self.history.autograd.named(strings, tensors)
            elif field == "call":
                calls = self.history.tables.calls
                values = calls.id[np.isin(calls.op, strings)]
            elif field == "frame" and "line" in kind.fields:
                frames = self.history.tables.frames
                values = frames.id[np.isin(frames.file, strings)]
            if len(values):
                could |= self._is_in(kind, field, numbers, values)
        if kind.name == "NAME_BIND":
            could |= self._column(kind, "tensor", numbers) == 0  # the value's text may contain it
        elif kind.name == "LINE":
            could |= self._code_has(kind, numbers, fragment)
        elif kind.name in ("TENSOR_NEW", "TENSOR_META"):
            could |= self._description_has(kind, numbers, fragment, number)
        return could

    def _code_has(self, kind: Kind, numbers: np.ndarray, fragment: str) -> Mask:
        """Return the lines of the program whose text has the fragment."""
        files, lines = (self._column(kind, field, numbers) for field in ("file", "line"))
        could = np.zeros(len(numbers), bool)
        for file in np.unique(files).tolist():
            text = self.history.source(file)[1].lower().splitlines()
            matches = [index for index, line in enumerate(text, start=1) if fragment in line]
            could |= (files == file) & np.isin(lines, matches)
        return could

    def _description_has(
        self, kind: Kind, numbers: np.ndarray, fragment: str, number: int | None
    ) -> Mask:
        """Return the tensors whose dtype, sizes or strides contain it (the first eight dimensions)."""
        codes = [code for code, dtype in enumerate(DTYPES) if fragment in dtype.name]
        could = np.isin(LAYOUT_DTYPE.unpack(self._column(kind, "layout", numbers)), codes)
        if number is not None:
            description = self.history.trace.blob_words(numbers, 3 + 16)[:, 3:]
            could |= (description == number).any(axis=1)
        return could

    def _could_be_argument(self, fragment: str) -> bool:
        if _ANY_ARGUMENT.fullmatch(fragment):
            return True
        names = np.unique(self.history.tables.names.name)
        return any(fragment in self.history.string(int(name)).lower() for name in names)


def _number(text: str) -> int | None:
    try:
        value = int(text, 0) if text.lower().startswith("0x") else int(text)
    except ValueError:
        return None
    return value if abs(value) < 1 << 62 else None


def _whole_numbers(text: str) -> str:
    """Return a pattern for the text in which a number does not match inside a longer number."""
    start = r"(?<!\d)" if text[:1].isdigit() else ""
    end = r"(?!\d)" if text[-1:].isdigit() else ""
    return start + re.escape(text) + end
