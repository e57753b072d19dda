"""One event: the 64-byte record, the codes in its fields, and their names.

The kinds themselves (numbers, fields, sentences) come from csrc/events/event_list.inc; this
module only knows how a record is laid out and what the small codes in its fields stand for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine._generated.event_kinds import KINDS, Kind

PAYLOAD = ("a", "b", "c", "d", "e")
"""The five fields of a record whose names the kind declares; `record_field` finds the one of a name."""
BLOB_FIELD = "e"
"""The field that refers to an attached blob, if `flags` has HAS_BLOB."""
RECORD = np.dtype(
    [("n", "<u8"), ("t", "<u8"), ("thread", "<u4"), ("kind", "<u2"), ("flags", "<u2")]
    + [(field, "<i8") for field in PAYLOAD]
)
HAS_BLOB = 1 << 15
TRUNCATED = 1
FOREVER = 2**62
"""The `until` of a fact that is still true."""

NUMBER: dict[str, int] = {kind.name: number for number, kind in KINDS.items()}
"""Kind numbers by name: NUMBER["WRITE"]."""

DTYPES = (
    ("bool", 1, "?"),
    ("uint8", 1, "u1"),
    ("int8", 1, "i1"),
    ("int16", 2, "<i2"),
    ("int32", 4, "<i4"),
    ("int64", 8, "<i8"),
    ("float16", 2, "<f2"),
    ("bfloat16", 2, "<u2"),
    ("float32", 4, "<f4"),
    ("float64", 8, "<f8"),
    ("complex64", 8, "<c8"),
    ("complex128", 16, "<c16"),
)
"""(name, bytes, NumPy's name for the bits) by dtype code; NumPy has no bfloat16: uint16."""

DEVICES = ("cpu", "meta")
ALLOCATORS = ("foreign", "cpu", "cpu pool", "meta")
HOLDERS = (
    "",
    "NAME",
    "SLOT",
    "ATTRIBUTE",
    "CELL",
    "WRAPPER",
    "TENSOR",
    "NUMPY",
    "DLPACK",
    "CALL",
    "SAVED",
    "GRAD",
    "JIT",
    "BUFFER",
    "REGISTER",
    "OPERAND",
    "LIST",
    "TUPLE",
    "DICT",
    "OBJECT",
    "CONSTANT",
    "CODE",
    "GROUP",
    "TRACE",
)
KEYS = (
    "CPU",
    "CUDA",
    "SparseCPU",
    "Meta",
    "ADInplaceOrView",
    "Autograd",
    "Tracer",
    "Python",
)
"""Dispatch keys by bit number; of the keys in a set the highest bit runs."""

_DTYPE_CODES = {name: code for code, (name, _, _) in enumerate(DTYPES)}


def coded(names: tuple[str, ...], code: int) -> str:
    """The name of a small code; an unknown one (from a newer engine) shows as `?7`."""
    return names[code] if 0 <= code < len(names) else f"?{code}"


def dtype_name(code: int) -> str:
    return DTYPES[code][0] if 0 <= code < len(DTYPES) else f"?{code}"


def dtype_code(name: str) -> int:
    return _DTYPE_CODES[name]


def itemsize(dtype: str) -> int:
    """Bytes of one element of the dtype with this name."""
    return DTYPES[_DTYPE_CODES[dtype]][1] if dtype in _DTYPE_CODES else 1


def decode_values(raw: bytes, dtype: str) -> np.ndarray:
    """Elements from their bytes as an array NumPy can compute with (bfloat16 becomes float32)."""
    name, size, code = DTYPES[_DTYPE_CODES[dtype]]
    bits = np.frombuffer(raw[: len(raw) // size * size], dtype=code)
    if name == "bfloat16":
        return (bits.astype("<u4") << 16).view("<f4")
    return bits


def key_names(key_set: int) -> tuple[str, ...]:
    """The keys of a set, the one that runs first coming first."""
    return tuple(coded(KEYS, bit) for bit in reversed(range(63)) if key_set >> bit & 1)


def short_op(schema: str) -> str:
    """`add` from `add.Tensor(Tensor self, ...) -> Tensor`."""
    return schema.partition("(")[0].partition(".")[0].rpartition("::")[2]


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


def record_field(kind: Kind, name: str) -> str:
    """The field of RECORD in which events of this kind have `name`, a field of event_list.inc."""
    if name not in kind.fields:
        raise KeyError(f"{kind.name} has no field {name!r}; it has {', '.join(named_fields(kind))}")
    return PAYLOAD[kind.fields.index(name)]


def named_fields(kind: Kind) -> tuple[str, ...]:
    """The fields that events of this kind use, without the reference to a blob."""
    return tuple(name for name in kind.fields if name not in ("_", "blob"))


def fields_of(record: np.void) -> dict[str, int]:
    """The used fields of one record by name."""
    kind = kind_of(int(record["kind"]))
    return {name: int(record[record_field(kind, name)]) for name in named_fields(kind)}


def kind_of(number: int) -> Kind:
    """The kind with this number; one this version does not know keeps its fields, unnamed."""
    if number in KINDS:
        return KINDS[number]
    return Kind(f"KIND_{number}", number, PAYLOAD, "", "an event of a newer kind")
