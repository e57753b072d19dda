"""One event: the 64-byte record, the codes in its fields, and their names.

The kinds (numbers, fields, sentences) come from csrc/events/event_list.inc, and the names of the small
codes in their fields from csrc/events/codes.inc and its like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from engine._generated.codes import (
    ALLOCATORS,
    BINDINGS,
    DEVICE_INDEX,
    DEVICE_TYPE,
    DEVICES,
    DTYPES,
    HAS_BLOB,
    HOLDER_LABELS,
    HOLDERS,
    KEYS,
    KEYS_BY_PRIORITY,
    TRUNCATED,
)
from engine._generated.event_kinds import KINDS, Kind

__all__ = [
    "ALLOCATORS",
    "BINDINGS",
    "BLOB_FIELD",
    "DEVICES",
    "DTYPES",
    "FOREVER",
    "HAS_BLOB",
    "HOLDERS",
    "KEYS",
    "KEYS_BY_PRIORITY",
    "KINDS",
    "NUMBER",
    "PAYLOAD",
    "RECORD",
    "TRUNCATED",
    "Event",
    "Kind",
    "coded",
    "dtype_code",
    "dtype_name",
    "fields_of",
    "full_op",
    "holder_label",
    "itemsize",
    "key_names",
    "kind_of",
    "named_fields",
    "named_payload",
    "qualified_op",
    "record_field",
    "short_op",
]

PAYLOAD = ("a", "b", "c", "d", "e")
"""The five fields of a record whose names the kind declares; `record_field` finds the one of a name."""
BLOB_FIELD = "e"
"""The field that refers to an attached blob, if `flags` has HAS_BLOB."""
RECORD = np.dtype(
    [("n", "<u8"), ("t", "<u8"), ("thread", "<u4"), ("kind", "<u2"), ("flags", "<u2")]
    + [(field, "<i8") for field in PAYLOAD]
)
FOREVER = 2**62
"""The `until` of a fact that is still true."""

NUMBER: dict[str, int] = {kind.name: number for number, kind in KINDS.items()}
"""Kind numbers by name: NUMBER["WRITE"]."""

_HOLDER_LABELS = dict(zip(HOLDERS, HOLDER_LABELS, strict=True))

_DTYPE_CODES = {dtype.name: code for code, dtype in enumerate(DTYPES)}


def coded(names: tuple[str, ...], code: int) -> str:
    """Return the name of a small code; an unknown one (from a newer engine) is `?7`."""
    return names[code] if 0 <= code < len(names) else f"?{code}"


def holder_label(kind: str) -> str:
    """Return the label of a kind of holder: "closure variable" for CELL."""
    return _HOLDER_LABELS.get(kind, kind.lower())


def device_name(code: int) -> str:
    """Return the name of a device code, such as `opencl:0`."""
    kind = coded(DEVICES, DEVICE_TYPE.unpack(code))
    index = DEVICE_INDEX.unpack(code) - 1
    return kind if index < 0 else f"{kind}:{index}"


def dtype_name(code: int) -> str:
    return DTYPES[code].name if 0 <= code < len(DTYPES) else f"?{code}"


def dtype_code(name: str) -> int:
    return _DTYPE_CODES[name]


def itemsize(dtype: str) -> int:
    """Return bytes of one element of the dtype with this name."""
    return DTYPES[_DTYPE_CODES[dtype]].itemsize if dtype in _DTYPE_CODES else 1


def key_names(key_set: int) -> tuple[str, ...]:
    """Return the dispatch keys of a set, in the order in which their kernels run."""
    names = {coded(KEYS, bit) for bit in range(63) if key_set >> bit & 1}
    known = [key for key in reversed(KEYS_BY_PRIORITY) if key in names]
    return (*sorted(names.difference(known)), *known)


def full_op(schema: str) -> str:
    """Return the name with the overload: `add.Tensor` of `add.Tensor(Tensor self, ...) -> Tensor`."""
    return schema.partition("(")[0]


def short_op(schema: str) -> str:
    """Return the name alone: `add` of `add.Tensor(Tensor self, ...) -> Tensor`."""
    return full_op(schema).partition(".")[0].rpartition("::")[2]


def qualified_op(schema: str) -> str:
    """Return the name with the namespace, which only schemas of libraries have: `aten::add`."""
    name = full_op(schema).partition(".")[0]
    return name if "::" in name else f"aten::{name}"


@dataclass(frozen=True, slots=True)
class Event:
    """One record, decoded: its used fields by name, and a sentence that says what happened."""

    number: int
    time: int
    thread: int
    kind: str
    fields: tuple[tuple[str, int], ...]
    truncated: bool
    sentence: str

    def __getitem__(self, name: str) -> int:
        for key, value in self.fields:
            if key == name:
                return value
        known = ", ".join(key for key, _ in self.fields)
        raise KeyError(f"{self.kind} has no field {name!r}; it has {known}")


@cache
def _layout(kind: Kind) -> tuple[tuple[str, int], ...]:
    """Return the used fields with their positions in the payload."""
    return tuple((name, kind.fields.index(name)) for name in named_fields(kind))


def record_field(kind: Kind, name: str) -> str:
    """Return the field of RECORD in which events of this kind have `name`, a field of event_list.inc."""
    if name not in kind.fields:
        raise KeyError(f"{kind.name} has no field {name!r}; it has {', '.join(named_fields(kind))}")
    return PAYLOAD[kind.fields.index(name)]


def named_fields(kind: Kind) -> tuple[str, ...]:
    """Return the fields that events of this kind use, without the reference to a blob."""
    return tuple(name for name in kind.fields if name not in ("_", "blob"))


def fields_of(record: np.void) -> dict[str, int]:
    """Return the used fields of one record by name."""
    _, _, _, number, _, *payload = record.item()
    return dict(named_payload(kind_of(number), payload))


def named_payload(kind: Kind, payload: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """Return the used fields of an event by name."""
    return tuple([(name, payload[position]) for name, position in _layout(kind)])


def kind_of(number: int) -> Kind:
    """Return the kind with this number; an unknown one has unnamed fields."""
    if number in KINDS:
        return KINDS[number]
    return Kind(f"KIND_{number}", number, PAYLOAD, "", "an event of a newer kind")
