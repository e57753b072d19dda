"""The obviously right way to know a moment: replay every event up to it into plain dictionaries.

History must give the same answers from its tables. Also makes random programs to compare them on.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from trace_builder import T, TraceBuilder

from engine.inspect.events import DTYPES, NUMBER
from engine.inspect.trace import TraceReader

NAMES = {number: name for name, number in NUMBER.items()}


class Replay:
    """The state after some events of a trace; `step()` takes in one more."""

    def __init__(self, trace: TraceReader):
        self.trace = trace
        self.moment = -1
        self.tensors: dict[int, tuple] = {}
        self.dtypes: dict[int, int] = {}
        self.storages: dict[int, tuple] = {}
        self.blocks: Counter = Counter()
        self.holds: Counter = Counter()
        self.storage_counts: dict[int, int] = {}
        self.uses: Counter = Counter()
        self.wrapped: set[int] = set()
        self.use_counts: dict[int, int] = {}
        self.names: dict[tuple, int] = {}
        self.stack: list[int] = []
        self.lines: dict[int, int] = {}
        self.calls: list[int] = []
        self.versions: dict[int, int] = {}
        self.memory: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.writers: dict[int, dict[int, int]] = {}

    def step(self) -> None:
        self.moment += 1
        record = self.trace.events[self.moment]
        fields = [int(record[field]) for field in "abcde"]
        method = getattr(self, NAMES[int(record["kind"])].lower(), None)
        if method:
            method(*fields)

    def blob_integers(self) -> list[int]:
        return np.frombuffer(self.trace.blob(self.moment), "<i8").tolist()

    def allocate(self, allocator, address, size, *_):
        self.blocks[allocator, address, size] += 1

    def free(self, allocator, address, size, *_):
        self.blocks[allocator, address, size] -= 1

    def storage_new(self, storage, address, nbytes, *_):
        self.storages[storage] = (address, nbytes)
        self.memory[storage] = (np.zeros(nbytes, np.uint8), np.zeros(nbytes, bool))
        self.writers[storage] = {}

    def storage_free(self, storage, *_):
        del self.storages[storage]

    def storage_retain(self, storage, kind, holder, count, _):
        self.holds[storage, kind, holder] += 1
        self.storage_counts[storage] = count

    def storage_release(self, storage, kind, holder, count, _):
        self.holds[storage, kind, holder] -= 1
        self.storage_counts[storage] = count

    def tensor_retain(self, tensor, kind, holder, count, _):
        self.uses[tensor, kind, holder] += 1
        self.use_counts[tensor] = count

    def tensor_release(self, tensor, kind, holder, count, _):
        self.uses[tensor, kind, holder] -= 1
        self.use_counts[tensor] = count

    def tensor_new(self, tensor, storage, layout, offset, _):
        counter, base, rank, *remainder = self.blob_integers()
        sizes, strides = tuple(remainder[:rank]), tuple(remainder[rank:])
        self.tensors[tensor] = (storage, offset, sizes, strides, counter, base)
        self.dtypes[tensor] = layout & 0xFF

    tensor_meta = tensor_new

    def tensor_free(self, tensor, *_):
        del self.tensors[tensor]

    def wrap(self, tensor, count, *_):
        self.wrapped.add(tensor)
        self.use_counts[tensor] = count

    def unwrap(self, tensor, count, *_):
        self.wrapped.discard(tensor)
        self.use_counts[tensor] = count

    def name_bind(self, frame, name, kind, tensor, _):
        self.names[frame, name, kind] = tensor

    def name_unbind(self, frame, name, kind, *_):
        self.names.pop((frame, name, kind), None)

    def frame_push(self, frame, *_):
        self.stack.append(frame)

    def frame_pop(self, frame, *_):
        self.stack.remove(frame)
        self.lines.pop(frame, None)
        self.names = {key: value for key, value in self.names.items() if key[0] != frame}

    def line(self, frame, file, line, *_):
        self.lines[frame] = line

    def op_enter(self, call, *_):
        self.calls.append(call)

    def op_exit(self, call, *_):
        self.calls.remove(call)

    error = op_exit

    def version_bump(self, counter, version, *_):
        self.versions[counter] = version

    def write(self, storage, tensor, lo, hi, call):
        self.memory[storage][1][lo:hi] = False
        written = set(range(lo, hi))
        if tensor in self.tensors:
            written &= self.touched(tensor)
        self.writers[storage].update(dict.fromkeys(written, self.moment))

    def touched(self, tensor: int) -> set[int]:
        """Return every byte of every element, one by one."""
        _, offset, sizes, strides, _, _ = self.tensors[tensor]
        width = DTYPES[self.dtypes[tensor]].itemsize
        return {
            (offset + sum(i * s for i, s in zip(index, strides, strict=True))) * width + byte
            for index in product(*map(range, sizes))
            for byte in range(width)
        }

    def values(self, storage, lo, hi, mode, _):
        data, known = self.memory[storage]
        blob = np.frombuffer(self.trace.blob(self.moment), np.uint8)
        if mode == 0:
            data[lo:hi], known[lo:hi] = blob, True
        elif mode == 1:
            step = int(blob[56:64].view("<i8")[0])
            for index, at in enumerate(range(lo, hi, 4 * step)):
                data[at : at + 4] = blob[64 + 4 * index : 68 + 4 * index]
                known[at : at + 4] = True


def random_program(seed: int, steps: int = 60) -> TraceBuilder:
    """Tensors, views, names, frames and writes, come and go at random."""
    r = random.Random(seed)
    b = TraceBuilder()
    b.file("demo.py", "pass\n" * 99)
    b.frame()
    alive: list[int] = []
    acts: list[Any] = ["new", "view", "write", "free", "bind", "unbind", "line", "push", "pop",
                       "sample", "lost", "meta", "use", "fail", "nested"]  # fmt: skip
    for _ in range(steps):
        act = r.choice(acts)
        x = r.choice(alive) if alive else 0
        if act == "new":
            with b.op("rand(int[] size) -> Tensor", [(2, 3)]) as call:
                result = b.tensor((2, 3), values=[r.random() for _ in range(6)])
                call.results(result)
            alive.append(result)
        elif act == "line":
            b.line(r.randrange(1, 99))
        elif act == "push":
            b.frame(f"f{r.randrange(3)}")
        elif act == "pop" and len(b.frames) > 1:
            b.pop_frame()
        elif not x:
            continue
        elif act == "view":
            with b.op("t(Tensor(a) self) -> Tensor(a)", [T(x)]) as call:
                call.results(view := b.tensor((3, 2), (1, 3), base=x))
            alive.append(view)
        elif act in ("write", "lost"):
            with b.op("fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)", [T(x), 1.5]):
                lo = 4 * r.randrange(3)
                b.write(x, [r.random()] * r.randrange(1, 4), lo, keep=act == "write")
        elif act == "sample":
            b.sample(x, [r.random() for _ in range(6)], r.randrange(1, 4))
        elif act == "meta":
            b.meta(x, (3,), (r.randrange(3),))
        elif act == "use":
            b.retain(x, "SAVED", 7)
            if r.random() < 0.7:
                b.release(x, "SAVED", 7)
        elif act == "fail":
            with b.op("mm(Tensor self, Tensor mat2) -> Tensor", [T(x), T(x)]) as call:
                call.fail("mm: inner sizes differ: (2, 3) @ (2, 3); 3 != 2")
        elif act == "nested":
            outer, inner = "add(Tensor self) -> Tensor", "zero_(Tensor(a!) self) -> Tensor(a!)"
            with b.op(outer, [T(x)]), b.op(inner, [T(x)], hops=False):
                b.write(x, [0.0] * 6)
        elif act == "bind":
            b.bind(r.choice("xyzw"), x, r.choice(["NAME", "NAME", "SLOT", "CELL"]))
        elif act == "unbind":
            b.unbind(r.choice("xyzw"))
        elif act == "free":
            alive.remove(x)
            b.free(x)
    return b
