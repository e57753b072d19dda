"""The facts that History returns: one frozen dataclass per kind of fact.

`since` and `until` are moments: the fact holds from event `since` up to, not including, event
`until` (FOREVER while it still holds at the end of the trace).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from engine.inspect.events import itemsize, short_op
from engine.inspect.history.paths import parameter_path
from engine.inspect.layout import Extent


@dataclass(frozen=True, slots=True)
class Fact:
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class BlockFact(Fact):
    """Memory that an allocator returned."""

    allocator: str
    address: int
    bytes: int
    reused: bool


@dataclass(frozen=True, slots=True)
class RegionFact(Fact):
    """A named part of the program: a profile, a `record_function` block, a distribution's sample."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class CommandFact(Fact):
    """A kernel or copy on a device, from its enqueueing until the host learnt of its end.

    The times are nanoseconds on the recorder's clock; all 0 if the trace does not hold them.
    """

    id: int
    call: int
    device: str
    # kernel, host to device, device to host, device to device; new buffer: its first byte was written
    kind: str
    name: str
    bytes: int
    pinned: bool  # the host's memory of a copy
    program: int
    items: tuple[int, ...]  # of a kernel, by dimension
    group: tuple[int, ...]
    queued: int
    submitted: int
    started: int
    ended: int


@dataclass(frozen=True, slots=True)
class WaitFact(Fact):
    """A wait of the host for a device."""

    call: int
    device: str
    reason: str


@dataclass(frozen=True, slots=True)
class StorageFact(Fact):
    id: int
    address: int
    nbytes: int
    allocator: str
    device: str


@dataclass(frozen=True, slots=True)
class TensorFact(Fact):
    """A TensorImpl's description: how indices become elements of its storage."""

    id: int
    storage: int
    dtype: str
    device: str
    wrapped_number: bool
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    counter: int
    base: int
    keys: tuple[str, ...] = ()
    """Its dispatch keys, the one that runs first coming first."""

    @property
    def is_sparse(self) -> bool:
        """True for a sparse tensor: its bytes are those of its parts."""
        return "SparseCPU" in self.keys or "SparseCsrCPU" in self.keys

    @property
    def itemsize(self) -> int:
        return itemsize(self.dtype)

    @property
    def numel(self) -> int:
        return prod(self.sizes)

    @property
    def extent(self) -> Extent:
        """Its elements as bytes of its storage."""
        return Extent.of(self.offset, self.sizes, self.strides, self.itemsize)

    @property
    def span(self) -> tuple[int, int]:
        """The bytes of its storage between its first and past its last element."""
        return self.extent.span


@dataclass(frozen=True, slots=True)
class ObjectFact(Fact):
    """A sample of the Python object: its header's bytes at `since`."""

    tensor: int
    address: int
    refcount: int
    type: str
    header: bytes


@dataclass(frozen=True, slots=True)
class NameFact(Fact):
    """A name, slot, attribute or closure cell; `text` shows a value that is not a tensor.

    `holder` is the address of the list, dictionary, instance or cell that owns the reference, 0 for the
    frame or module itself: two paths into one list are one reference.
    """

    frame: int
    name: str
    kind: str
    tensor: int
    text: str
    holder: int = 0

    @property
    def label(self) -> str:
        """The name as a user writes it: `net.0.weight`."""
        return parameter_path(self.name)


@dataclass(frozen=True, slots=True)
class FrameFact(Fact):
    id: int
    function: str
    file: int
    path: str
    parent: int
    first_line: int


@dataclass(frozen=True, slots=True)
class LineFact(Fact):
    """A line of the user's program, from just before it runs until the next one in its frame."""

    frame: int
    file: int
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call. `kind` is tensor, tensors, int, ints, float, floats, bool, string,
    dtype, device or none; a tensor's value is its id."""

    name: str
    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class CallFact(Fact):
    """An operator call: [OP_ENTER, OP_EXIT)."""

    id: int
    schema: str
    parent: int
    args: tuple[Argument, ...]
    results: tuple[int, ...]
    error: str
    frame: int
    file: int
    line: int
    defined_at: str = ""  # of an operator of a library: "FILE:12"
    library: str = ""  # the shared object that defined it; "": Python

    @property
    def op(self) -> str:
        """`add` of `add.Tensor(...)`."""
        return short_op(self.schema)


@dataclass(frozen=True, slots=True)
class HopFact:
    """The dispatcher's choice of a kernel."""

    moment: int
    call: int
    op: str
    key: str
    keys: tuple[str, ...]
    kernel: str


@dataclass(frozen=True, slots=True)
class PlanOperand:
    """One operand of a loop. `itemsize` 0: one number, the same for every element."""

    itemsize: int
    strides: tuple[int, ...]  # in bytes


@dataclass(frozen=True, slots=True)
class PlanFact:
    """The loop that a kernel was about to run: its dimensions as merged and reordered, outermost first.

    The written operand comes first. `vector` is the width of a vector register in bytes, 0 for a scalar
    loop.
    """

    moment: int
    call: int
    loop: str
    isa: str
    threads: int
    vector: int
    sizes: tuple[int, ...]
    operands: tuple[PlanOperand, ...]


@dataclass(frozen=True, slots=True)
class WriteFact:
    """A write to bytes [lo, hi) of a storage: by an operator call, by the creation of a tensor from
    numbers (call 0), or by code outside the engine that shares the memory (tensor 0)."""

    moment: int
    storage: int
    tensor: int
    lo: int
    hi: int
    call: int
    extent: Extent
    """The bytes that were written: the elements of the tensor, or all of [lo, hi) if no more is known."""

    def reaches(self, extent: Extent) -> bool:
        """Return whether one of these bytes was written; gaps of a strided tensor are not."""
        lo, hi = extent.span
        lo, hi = max(lo, self.lo), min(hi, self.hi)
        if extent.numel == 1:
            return any(self.extent.elements(lo, hi))
        return lo < hi and self.extent.meets(extent) is not False

    @property
    def foreign(self) -> bool:
        """Return whether code outside the engine wrote, such as NumPy; the recorder noticed it later."""
        return self.tensor == 0


@dataclass(frozen=True, slots=True)
class VersionFact(Fact):
    counter: int
    version: int
    tensor: int
    call: int


@dataclass(frozen=True, slots=True)
class ExceptionFact:
    moment: int
    frame: int
    line: int
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class OutputFact:
    moment: int
    stream: int
    text: str


@dataclass(frozen=True, slots=True)
class Holder:
    """A holder: its kind, its name, and its share of the count."""

    kind: str
    name: str
    count: int
    id: int = 0
    since: int = -1


@dataclass(frozen=True, slots=True)
class Owners:
    """A count and the holders that add up to it, as recorded at the moment `seen`."""

    count: int
    holders: tuple[Holder, ...]
    seen: int


@dataclass(frozen=True, slots=True)
class TensorOwners:
    """The holders of a tensor: the references to its Python object, and the uses of its TensorImpl."""

    tensor: int
    object: Owners | None
    impl: Owners
