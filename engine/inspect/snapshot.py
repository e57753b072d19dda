"""The tensors that exist when a recording begins: they are recorded as if just created.

Only those with a Python object can be found, and their gradients. Everything is read before the recording
starts.
"""

from __future__ import annotations

import gc
import struct
import sys
from typing import Any, NamedTuple

from engine._generated import codes
from engine._generated.codes import ALLOCATORS, HOLDERS
from engine._generated.event_kinds import (
    GRAD_SET,
    REQUIRES_GRAD,
    STORAGE_NEW,
    STORAGE_RETAIN,
    TENSOR_NEW,
    TENSOR_RETAIN,
    VALUES,
    VERSION_BUMP,
    WRAP,
)
from engine._native import ffi, lib

MAX_VALUE_BYTES = 4096
"""Storages up to this size are recorded whole, as the recorder does with what a program writes."""
_TENSOR, _GRAD = HOLDERS.index("TENSOR"), HOLDERS.index("GRAD")
_SPARSE = HOLDERS.index("SPARSE")


class Pending(NamedTuple):
    """An event to be recorded once the recording has started."""

    kind: int
    fields: tuple[int, ...]
    blob: bytes | None = None


def describe_tensors() -> list[Pending]:
    """Return the events that describe every tensor of the program."""
    tensor_type = getattr(sys.modules.get("engine"), "Tensor", None)
    if tensor_type is None:
        return []
    events: list[Pending] = []
    storages: set[int] = set()
    tensors: set[int] = set()
    objects = [each for each in gc.get_objects() if issubclass(type(each), tensor_type)]
    for tensor in sorted(objects, key=lambda each: int(lib.uh_tensor_id(each._h))):
        events += _described(tensor._h, True, storages, tensors)
    return events


def emit(events: list[Pending]) -> None:
    """Record the events."""
    for kind, fields, blob in events:
        if blob is None:
            lib.uh_emit(kind, 0, *fields, *[0] * (5 - len(fields)))
        else:
            lib.uh_emit_blob(kind, 0, *fields, *[0] * (4 - len(fields)), blob, len(blob))


def _described(handle: Any, wrapped: bool, storages: set[int], tensors: set[int]) -> list[Pending]:
    """Return the events of one tensor, after those of its storage and of the tensor that it is a view of."""
    number = int(lib.uh_tensor_id(handle))
    if not number or number in tensors:
        return []
    tensors.add(number)
    events: list[Pending] = []
    base = _other(lib.uh_base(handle), events, storages, tensors)
    storage = int(lib.uh_storage_id(handle))
    if storage not in storages:
        storages.add(storage)
        events += _storage(handle, storage)
    events.append(
        Pending(STORAGE_RETAIN, (storage, _TENSOR, number, int(lib.uh_storage_use_count(handle))))
    )
    rank = int(lib.uh_ndim(handle))
    sizes, strides = ffi.new("int64_t[]", rank), ffi.new("int64_t[]", rank)
    lib.uh_sizes(handle, sizes, rank)
    lib.uh_strides(handle, strides, rank)
    counter = int(lib.uh_counter_id(handle))
    device = int(lib.uh_device(handle))
    layout = (
        codes.LAYOUT_DTYPE.pack(int(lib.uh_dtype(handle)))
        | codes.LAYOUT_DEVICE_TYPE.pack(codes.DEVICE_TYPE.unpack(device))
        | codes.LAYOUT_DEVICE_INDEX.pack(codes.DEVICE_INDEX.unpack(device))
        | codes.LAYOUT_WRAPPED_NUMBER.pack(int(lib.uh_is_wrapped_number(handle)))
        | codes.LAYOUT_COALESCED.pack(int(lib.uh_is_coalesced(handle)))
        | codes.LAYOUT_KEYS.pack(int(lib.uh_key_set(handle)))
    )
    description = (counter, base, rank, *sizes, *strides)
    blob = struct.pack(f"<{len(description)}q", *description)
    events.append(Pending(TENSOR_NEW, (number, storage, layout, int(lib.uh_offset(handle))), blob))
    if base:
        events.append(Pending(TENSOR_RETAIN, (base, _TENSOR, number, 1)))
    for role in range(len(codes.SPARSE_PARTS) if lib.uh_layout_kind(handle) else 0):
        if part := _other(lib.uh_sparse_part(handle, role), events, storages, tensors):
            events.append(Pending(TENSOR_RETAIN, (part, _SPARSE, number, 1, role)))
    if wrapped:
        events.append(Pending(WRAP, (number, int(lib.uh_use_count(handle)))))
    if version := int(lib.uh_version(handle)):
        events.append(Pending(VERSION_BUMP, (counter, version, number)))
    if lib.uh_is_leaf(handle) and lib.uh_requires_grad(handle):
        events.append(Pending(REQUIRES_GRAD, (number, 1)))
        if grad := _other(lib.uh_grad(handle), events, storages, tensors):
            events.append(Pending(TENSOR_RETAIN, (grad, _GRAD, number, 1)))
            events.append(Pending(GRAD_SET, (number, grad)))
    return events


def _other(handle: Any, events: list[Pending], storages: set[int], tensors: set[int]) -> int:
    """Add the events of a tensor given by a new reference, and return its number."""
    if not handle:
        return 0
    number = int(lib.uh_tensor_id(handle))
    events += _described(handle, False, storages, tensors)
    lib.uh_release(handle)
    return number


def _storage(handle: Any, storage: int) -> list[Pending]:
    """Return the events of a storage: its size and, where it is small, its bytes."""
    address, size = int(lib.uh_storage_data_ptr(handle)), int(lib.uh_storage_nbytes(handle))
    allocator = int(lib.uh_storage_allocator(handle))
    device = codes.DEVICE_TYPE.unpack(int(lib.uh_device(handle)))
    events = [Pending(STORAGE_NEW, (storage, _signed(address), size, allocator, device))]
    readable = address and ALLOCATORS[allocator] != "meta" and device == 0
    if readable and 0 < size <= MAX_VALUE_BYTES:
        content = bytes(ffi.buffer(ffi.cast("char *", address), size))
        events.append(Pending(VALUES, (storage, 0, size, 0), content))
    return events


def _signed(address: int) -> int:
    return address - (1 << 64) if address >> 63 else address
