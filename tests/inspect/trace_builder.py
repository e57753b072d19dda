"""Write a well-formed event stream by hand: what a recorder would have written for a small program.

b = TraceBuilder()
b.file("demo.py", "x = zeros(2, 3)\\ny = x.t()\\n")
b.frame("<module>"); b.line(1)
with b.op("zeros(int[] size) -> Tensor", [(2, 3)]) as call:
    x = b.tensor((2, 3), values=range(6))
    call.results(x)
b.bind("x", x); b.line(2)
history = b.history()
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from engine._generated import codes
from engine.inspect.columns import columns_of_packed
from engine.inspect.events import (
    ALLOCATORS,
    DEVICES,
    DTYPES,
    HAS_BLOB,
    HOLDERS,
    KEYS,
    NUMBER,
    RECORD,
    dtype_code,
)
from engine.inspect.history import History
from engine.inspect.new_trace import APPLICATION_ID, VERSION
from engine.inspect.trace import TraceReader
from engine.inspect.writer import packed


class T(int):
    """Marks an int argument of `op` as a tensor id."""


class Call:
    """A running call: `results` names what it returns, `fail` ends it with an error."""

    def __init__(self, builder: TraceBuilder, number: int, op: int):
        self.builder, self.number, self.op = builder, number, op
        self.returned: tuple[int, ...] = ()
        self.message: str | None = None

    def results(self, *tensors: int) -> None:
        self.returned = tensors

    def fail(self, message: str) -> None:
        self.message = message

    def __enter__(self) -> Call:
        return self

    def __exit__(self, *_: object) -> None:
        b = self.builder
        b.calls.pop()
        if self.message is not None:
            b.emit("ERROR", self.number, self.op, 1, blob=self.message.encode())
        else:
            first = (*self.returned, 0, 0, 0)[:3]
            b.emit("OP_EXIT", self.number, len(self.returned), *first)
        for tensor in self.returned:
            if b.state[tensor]["wrap"]:
                b.wrap(tensor)


class TraceBuilder:
    """Every method emits the events of one thing that happens; returns its id or event number."""

    def __init__(self) -> None:
        self.records: list[tuple[int, ...]] = []
        self.blobs = bytearray()
        self.strings: dict[str, int] = {}
        self.sources: dict[int, tuple[str, str]] = {}
        self.state: dict[int, dict[str, Any]] = {}
        self.storages: dict[int, dict[str, Any]] = {}
        self.counters: dict[int, int] = {}
        self.frames: list[tuple[int, int]] = []
        self.calls: list[int] = []
        self.thread = 1
        self.current_file = 0
        self._ids: dict[str, int] = {}
        self._address = 0x5000_0000

    # The stream

    @property
    def now(self) -> int:
        """The number of the newest event: the present moment."""
        return len(self.records) - 1

    def emit(self, kind: str, a=0, b=0, c=0, d=0, e=0, blob: bytes | None = None) -> int:
        """Any event; returns its number."""
        flags = 0
        if blob is not None:
            flags, e = HAS_BLOB, len(self.blobs)
            self.blobs += struct.pack("<q", len(blob)) + blob + bytes(-len(blob) % 8)
        number = len(self.records)
        self.records.append(
            (number, 1_000_000 + number * 1000, self.thread, NUMBER[kind], flags, a, b, c, d, e)
        )
        return number

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.emit("STRING", self.strings[text], blob=text.encode())
        return self.strings[text]

    def id(self, kind: str) -> int:
        self._ids[kind] = self._ids.get(kind, 0) + 1
        return self._ids[kind]

    # The program

    def file(self, path: str, text: str = "") -> int:
        """Set the source file of the following frames and lines."""
        number = self.string(path)
        if number not in self.sources:
            self.sources[number] = (path, text)
            self.emit("SOURCE", number, blob=text.encode())
        self.current_file = number
        return number

    def frame(self, function: str = "<module>", first_line: int = 1) -> int:
        if not self.current_file:
            self.file("demo.py")
        parent = self.frames[-1][0] if self.frames else 0
        number = self.id("frame")
        self.frames.append((number, self.current_file))
        self.emit(
            "FRAME_PUSH", number, self.string(function), self.current_file, parent, first_line
        )
        return number

    def pop_frame(self, raised: bool = False) -> int:
        number, _ = self.frames.pop()
        return self.emit("FRAME_POP", number, int(raised))

    def line(self, line: int) -> int:
        """The line is about to run, in the innermost frame (made when there is none)."""
        if not self.frames:
            self.frame()
        frame, file = self.frames[-1]
        return self.emit("LINE", frame, file, line)

    def bind(
        self,
        name: str,
        tensor: int = 0,
        kind: str = "NAME",
        text: str = "",
        frame: int = 0,
        holder: int = 0,
    ) -> int:
        """A name, slot (`xs[0]`), attribute (`self.w`) or cell now is this tensor or text.

        `holder` is the address of the list, instance or cell that has the reference."""
        if not self.frames:
            self.frame()
        location = frame or self.frames[-1][0]
        string = self.string(name)
        blob = None if tensor else text.encode()
        return self.emit(
            "NAME_BIND", location, string, HOLDERS.index(kind), tensor, holder, blob=blob
        )

    def unbind(self, name: str, tensor: int = 0, kind: str = "NAME", frame: int = 0) -> int:
        location = frame or self.frames[-1][0]
        return self.emit("NAME_UNBIND", location, self.string(name), HOLDERS.index(kind), tensor)

    def exception(self, type_: str, message: str, line: int = 1) -> int:
        return self.emit(
            "EXCEPTION", self.frames[-1][0], line, self.string(type_), blob=message.encode()
        )

    def output(self, text: str, stream: int = 1) -> int:
        return self.emit("OUTPUT", stream, blob=text.encode())

    def mark(self, text: str) -> int:
        return self.emit("MARK", blob=text.encode())

    # Operators

    def op(
        self, schema: str, args: Iterable[Any] = (), key: str = "CPU", hops: bool = True
    ) -> Call:
        """`with b.op("mm(Tensor self, Tensor mat2) -> Tensor", [T(1), T(2)]) as call: ...`"""
        op = self.string(schema)
        terms: list[int] = []
        arguments = list(args)
        for argument in arguments:
            terms += self._argument(argument)
        number = self.id("call")
        parent = self.calls[-1] if self.calls else 0
        blob = struct.pack(f"<{len(terms)}q", *terms)
        self.emit("OP_ENTER", number, op, parent, len(arguments), blob=blob)
        self.calls.append(number)
        if hops:
            self.hop(op, key, schema.partition("(")[0].partition(".")[0] + "_" + key.lower())
        return Call(self, number, op)

    def hop(self, op: int, key: str, kernel: str, keys: Sequence[str] | None = None) -> int:
        bits = sum(1 << KEYS.index(name) for name in keys or [key])
        return self.emit("HOP", self.calls[-1], op, KEYS.index(key), bits, self.string(kernel))

    def plan(
        self,
        sizes: Sequence[int],
        *operands: Sequence[int],
        loop: str = "contiguous",
        isa: str = "v3",
        vector: int = 32,
        threads: int = 1,
    ) -> int:
        """Record the loop of the running call; an operand is its itemsize and then its strides in bytes."""
        terms = [vector, len(sizes), len(operands), *sizes]
        terms += [word for operand in operands for word in operand]
        blob = struct.pack(f"<{len(terms)}q", *terms)
        loop_id, isa_id = self.string(loop), self.string(isa)
        return self.emit("PLAN", self.calls[-1], loop_id, isa_id, threads, blob=blob)

    def _argument(self, value: Any) -> list[int]:
        if value is None:
            return [0]
        if isinstance(value, T):
            return [1, int(value)]
        if isinstance(value, bool):
            return [4, int(value)]
        if isinstance(value, int):
            return [2, value]
        if isinstance(value, float):
            return [3, *struct.unpack("<q", struct.pack("<d", value))]
        if isinstance(value, str) and value in [dtype.name for dtype in DTYPES]:
            return [8, dtype_code(value)]
        if isinstance(value, str):
            return [6, self.string(value)]
        items = list(value)
        if items and all(isinstance(item, T) for item in items):
            return [7, len(items), *map(int, items)]
        if any(isinstance(item, float) for item in items):
            bits = struct.unpack(f"<{len(items)}q", struct.pack(f"<{len(items)}d", *items))
            return [10, len(items), *bits]
        return [5, len(items), *items]

    # Memory

    def storage(self, nbytes: int, allocator: str = "cpu", device: str = "cpu") -> int:
        """Return a new storage without a holder."""
        number = self.id("storage")
        address, self._address = self._address, self._address + max(64, -(-nbytes // 64) * 64)
        codes = (ALLOCATORS.index(allocator), DEVICES.index(device))
        if allocator != "foreign":
            self.emit("ALLOCATE", codes[0], address, nbytes, 0, 0)
        self.emit("STORAGE_NEW", number, address, nbytes, *codes)
        self.storages[number] = {
            "address": address,
            "nbytes": nbytes,
            "codes": codes,
            "count": 0,
            "counter": self.id("counter"),
        }
        return number

    def retain_storage(self, storage: int, kind: str, holder: int) -> int:
        self.storages[storage]["count"] += 1
        count = self.storages[storage]["count"]
        return self.emit("STORAGE_RETAIN", storage, HOLDERS.index(kind), holder, count)

    def release_storage(self, storage: int, kind: str, holder: int) -> int:
        """Release the holder's reference; the last one frees the storage."""
        fact = self.storages[storage]
        fact["count"] -= 1
        number = self.emit("STORAGE_RELEASE", storage, HOLDERS.index(kind), holder, fact["count"])
        if fact["count"] == 0:
            self.emit("STORAGE_FREE", storage, fact["address"], fact["nbytes"])
            if fact["codes"][0]:
                allocator = fact["codes"][0]
                self.emit("FREE", allocator, fact["address"], fact["nbytes"], 0, 0)
        return number

    # Tensors

    def tensor(
        self,
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        offset: int = 0,
        dtype: str = "float32",
        storage: int = 0,
        base: int = 0,
        values: Any = None,
        device: str = "cpu",
        allocator: str = "cpu",
        wrap: bool = True,
        name: str = "",
    ) -> int:
        """Return a new tensor on a new storage, or a view: `base=x`, or `storage=s`. Inside `op` it is
        wrapped when the call returns it, elsewhere at once. `values` are written and kept whole."""
        sizes = tuple(sizes)
        width = DTYPES[dtype_code(dtype)].itemsize
        if strides is None:
            strides = tuple(prod(sizes[axis + 1 :]) for axis in range(len(sizes)))
        if base and not storage:
            storage = self.state[base]["storage"]
        if not storage:
            reach = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + 1
            storage = self.storage(
                (offset + (reach if prod(sizes) else 0)) * width, allocator, device
            )
        number = self.id("tensor")
        self.retain_storage(storage, "TENSOR", number)
        self.state[number] = {
            "storage": storage,
            "dtype": dtype,
            "wrap": wrap,
            "uses": 0,
            "base": base,
        }
        self._describe("TENSOR_NEW", number, sizes, tuple(strides), offset, device)
        if base:
            self.emit("VIEW", number, base, 0, self.calls[-1] if self.calls else 0)
        if values is not None:
            self.write(number, values)
        if wrap and not self.calls:
            self.wrap(number)
        if name:
            self.bind(name, number)
        return number

    def meta(
        self, tensor: int, sizes: Sequence[int], strides: Sequence[int], offset: int = 0
    ) -> int:
        """Change the tensor's description in place."""
        return self._describe("TENSOR_META", tensor, tuple(sizes), tuple(strides), offset, "cpu")

    def _describe(self, kind, tensor, sizes, strides, offset, device) -> int:
        fact = self.state[tensor]
        fact.update(sizes=sizes, strides=strides, offset=offset)
        backend = "Meta" if device == "meta" else "CPU"
        keys = 1 << KEYS.index(backend) | 1 << KEYS.index("ADInplaceOrView")
        layout = (
            codes.LAYOUT_DTYPE.pack(dtype_code(fact["dtype"]))
            | codes.LAYOUT_DEVICE_TYPE.pack(DEVICES.index(device))
            | codes.LAYOUT_KEYS.pack(keys)
        )
        counter = self.storages[fact["storage"]]["counter"]
        terms = [counter, fact["base"], len(sizes), *sizes, *strides]
        blob = struct.pack(f"<{len(terms)}q", *terms)
        return self.emit(kind, tensor, fact["storage"], layout, offset, blob=blob)

    def wrap(self, tensor: int) -> int:
        self.state[tensor]["uses"] += 1
        self.state[tensor]["wrapped"] = True
        return self.emit("WRAP", tensor, self.state[tensor]["uses"])

    def retain(self, tensor: int, kind: str, holder: int) -> int:
        self.state[tensor]["uses"] += 1
        return self.emit(
            "TENSOR_RETAIN", tensor, HOLDERS.index(kind), holder, self.state[tensor]["uses"]
        )

    def release(self, tensor: int, kind: str, holder: int) -> int:
        self.state[tensor]["uses"] -= 1
        return self.emit(
            "TENSOR_RELEASE", tensor, HOLDERS.index(kind), holder, self.state[tensor]["uses"]
        )

    def free(self, tensor: int) -> int:
        """Free the Python object, and the tensor with it."""
        fact = self.state[tensor]
        if fact.pop("wrapped", False):
            fact["uses"] -= 1
            self.emit("UNWRAP", tensor, fact["uses"])
        number = self.emit("TENSOR_FREE", tensor, fact["storage"])
        self.release_storage(fact["storage"], "TENSOR", tensor)
        return number

    def object(self, tensor: int, refcount: int = 2, address: int = 0, header: bytes = b"") -> int:
        """Sample the Python object."""
        address = address or 0x7F00_0000_0000 + tensor * 0x40
        header = header or struct.pack("<qqqq", refcount, 0x55AA_0000, 0x1000 + tensor, 0)
        return self.emit("OBJECT", tensor, address, refcount, self.string("Tensor"), blob=header)

    # Values

    def write(
        self,
        tensor: int,
        values: Any = None,
        lo: int | None = None,
        hi: int | None = None,
        keep: bool = True,
    ) -> int:
        """Bytes [lo, hi) of the storage (else the tensor's span) change; `values` are kept."""
        fact = self.state[tensor]
        width = DTYPES[dtype_code(fact["dtype"])].itemsize
        if lo is None:
            lo = fact["offset"] * width
        raw = b"" if values is None else encode(values, fact["dtype"])
        if hi is None and values is not None:
            hi = lo + len(raw)
        if hi is None:
            reach = (
                sum((n - 1) * s for n, s in zip(fact["sizes"], fact["strides"], strict=True)) + 1
            )
            hi = lo + reach * width
        call = self.calls[-1] if self.calls else 0
        number = self.emit("WRITE", fact["storage"], tensor, lo, hi, call)
        if call:
            counter = self.storages[fact["storage"]]["counter"]
            self.counters[counter] = self.counters.get(counter, 0) + 1
            self.emit("VERSION_BUMP", counter, self.counters[counter], tensor, call)
        if keep and values is not None:
            self.emit("VALUES", fact["storage"], lo, hi, 0, blob=raw)
        return number

    def sample(self, tensor: int, values: Any, step: int) -> int:
        """A write of which every step-th element is kept."""
        fact = self.state[tensor]
        raw = encode(values, fact["dtype"])
        number = self.write(tensor, values, keep=False)
        width = DTYPES[dtype_code(fact["dtype"])].itemsize
        lo = fact["offset"] * width
        floats = np.asarray(list(values), float)
        header = struct.pack(
            "<qqqqdddq", dtype_code(fact["dtype"]), len(floats), 0, 0,
            floats.min(), floats.max(), floats.mean(), step,
        )  # fmt: skip
        saved = b"".join(raw[at : at + width] for at in range(0, len(raw), step * width))
        self.emit("VALUES", fact["storage"], lo, lo + len(raw), 1, blob=header + saved)
        return number

    # The result

    def array(self) -> np.ndarray:
        return np.array(self.records, RECORD) if self.records else np.empty(0, RECORD)

    def trace(self) -> TraceReader:
        strings = {number: text for text, number in self.strings.items()}
        return TraceReader.of(self.array(), bytes(self.blobs), strings, self.sources)

    def history(self) -> History:
        return History(self.trace())

    def save(self, path: Path, segment: int = 1 << 20, closed: bool = True) -> Path:
        """Write a trace file as the recorder would have written it, `segment` events at a time."""
        database = sqlite3.connect(path)
        create_tables(database)
        records, blobs = self.array(), bytes(self.blobs)
        for first in range(0, len(records), segment):
            add_segment(database, records[first : first + segment], blobs)
        rows = [(number, text) for text, number in self.strings.items()]
        database.executemany("INSERT INTO strings VALUES (?, ?)", rows)
        files = [(number, *source) for number, source in self.sources.items()]
        database.executemany("INSERT INTO sources VALUES (?, ?, ?)", files)
        if closed:
            database.execute("INSERT INTO meta VALUES ('closed', 'clean')")
        database.commit()
        database.close()
        return path


def encode(values: Any, dtype: str) -> bytes:
    """Return the bytes of these values."""
    array = np.asarray(list(values) if isinstance(values, range) else values)
    if dtype == "bfloat16":
        return (array.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return array.astype(DTYPES[dtype_code(dtype)].typestr or "<u2").tobytes()


def create_tables(database: sqlite3.Connection) -> None:
    database.executescript(
        f"""PRAGMA application_id = {APPLICATION_ID};
        PRAGMA user_version = {VERSION};
        CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);
        CREATE TABLE segments(first INTEGER PRIMARY KEY, count INTEGER, t_first INTEGER,
            t_last INTEGER, events BLOB, blobs BLOB);
        CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE sources(file INTEGER PRIMARY KEY, path TEXT, text TEXT);"""
    )


def unpacked(events: bytes, first: int, count: int, time: int) -> np.ndarray:
    """Return the records of a segment."""
    data = np.frombuffer(zlib.decompress(events), np.uint8)
    records = np.empty(count, RECORD)
    for name, column in columns_of_packed(data, first, count, time).items():
        records[name] = column
    return records


def add_segment(database: sqlite3.Connection, records: np.ndarray, blobs: bytes) -> None:
    """One segment; `e` of its records become positions in the segment's own blobs."""
    records = records.copy()
    with_blob = np.flatnonzero(records["flags"] & HAS_BLOB)
    if len(with_blob):
        low, last = int(records["e"][with_blob[0]]), int(records["e"][with_blob[-1]])
        size = int.from_bytes(blobs[last : last + 8], "little")
        blobs = blobs[low : last + 8 + size + -size % 8]
        records["e"][with_blob] -= low
    else:
        blobs = b""
    row = (
        int(records["n"][0]), len(records), int(records["t"][0]), int(records["t"][-1]),
        zlib.compress(packed(records), 1), zlib.compress(blobs, 1),
    )  # fmt: skip
    database.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", row)
    database.commit()
