"""A recorded process's side of the ring in Python: what the engine does in C++, for tests."""

from __future__ import annotations

import os
import struct
import time

from engine._generated.codes import HAS_BLOB
from engine.inspect.ring import HEADER_BYTES, RECORDING, Ring

_RECORD = struct.Struct("<QQIHH5q")


class FakeSink:
    """Emits records into a ring; `emit` returns False when there is no room."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        ring["producer_pid"] = os.getpid()
        ring["state"] = RECORDING
        ring["record_window"] = ring["blob_window"] = 0  # all of both areas

    def emit(self, kind: int, *fields: int, blob: bytes | None = None, flags: int = 0) -> bool:
        ring = self.ring
        head = ring["head"]
        if head - ring["tail"] >= ring.capacity_records:
            return False
        values = [*fields, 0, 0, 0, 0, 0][:5]
        if blob is not None:
            position = self._put(blob)
            if position is None:
                return False
            values[4] = position
            flags |= HAS_BLOB
        at = HEADER_BYTES + head % ring.capacity_records * 64
        ring.memory[at : at + 64] = _RECORD.pack(head, time.monotonic_ns(), 1, kind, flags, *values)
        ring["head"] = head + 1
        return True

    def _put(self, blob: bytes) -> int | None:
        ring = self.ring
        capacity = ring.capacity_blob
        padded = blob + bytes(-len(blob) % 8)
        need = 8 + len(padded)
        start = ring["blob_head"]
        if start % capacity + need > capacity:
            start += capacity - start % capacity
        if start + need - ring["blob_tail"] > capacity:
            return None
        at = ring.blob_start + start % capacity
        ring.memory[at : at + need] = struct.pack("<Q", len(blob)) + padded
        ring["blob_head"] = start + need
        return start
