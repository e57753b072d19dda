"""Queries about the present state: ids, counts and versions of tensors, and statistics of allocators.

They change nothing: no function here takes a reference, creates a tensor or records an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine._generated.codes import ALLOCATORS, DEVICES
from engine._native import lib
from engine.inspect.events import key_names

if TYPE_CHECKING:
    from engine.tensor import Tensor


def tensor_id(x: Tensor) -> int:
    """Return the number of x's TensorImpl; never used twice."""
    return int(lib.uh_tensor_id(x._h))


def storage_id(x: Tensor) -> int:
    """Return the number of x's Storage; never used twice."""
    return int(lib.uh_storage_id(x._h))


def counter_id(x: Tensor) -> int:
    """Return the number of x's version counter, which x shares with its views."""
    return int(lib.uh_counter_id(x._h))


def use_count(x: Tensor) -> int:
    """Return the use count of x's TensorImpl; its holders are its Python object, views, and engine
    structures."""
    return int(lib.uh_use_count(x._h))


def storage_use_count(x: Tensor) -> int:
    """Return the use count of x's Storage; its holders are TensorImpls, and exports to NumPy and
    DLPack."""
    return int(lib.uh_storage_use_count(x._h))


def version(x: Tensor) -> int:
    """Return how often the memory of x has been written in place."""
    return int(lib.uh_version(x._h))


def key_set(x: Tensor) -> tuple[str, ...]:
    """Return the dispatch keys of x, highest priority first: the dispatcher tries them in this order."""
    return key_names(int(lib.uh_key_set(x._h)))


def allocator(x: Tensor) -> str:
    """Return where x's bytes come from: "cpu", "pool", "opencl", "opencl pinned", "meta", or
    "foreign" (external memory)."""
    return ALLOCATORS[lib.uh_storage_allocator(x._h)]


def shares_memory(a: Tensor, b: Tensor) -> bool:
    """Return whether some byte belongs to an element of `a` and to one of `b`, exactly.

    It iterates over the elements of the smaller tensor if the spans overlap, so it is too slow for
    inner loops.
    """
    if lib.uh_storage_id(a._h) != lib.uh_storage_id(b._h) or a.is_meta:
        return False
    if a.numel() > b.numel():
        a, b = b, a
    low, high = _span(a)
    other_low, other_high = _span(b)
    if high <= other_low or other_high <= low:
        return False
    return not _bytes_of(a).isdisjoint(_bytes_of(b))


def _span(x: Tensor) -> tuple[int, int]:
    """Return the byte range of the Storage from x's first element to the end of its last."""
    if x.numel() == 0:
        return 0, 0
    reach = sum((size - 1) * step for size, step in zip(x.shape, x.stride(), strict=True))
    first = x.storage_offset()
    return first * x.itemsize, (first + reach + 1) * x.itemsize


def _bytes_of(x: Tensor) -> set[int]:
    """Return every byte of the Storage that is part of an element of x."""
    offsets = {x.storage_offset()} if x.numel() else set()
    for size, step in zip(x.shape, x.stride(), strict=True):
        if step:
            offsets = {offset + i * step for offset in offsets for i in range(size)}
    width = x.itemsize
    return {offset * width + i for offset in offsets for i in range(width)}


@dataclass(frozen=True)
class AllocatorStats:
    """Statistics of one allocator since the process started."""

    live_bytes: int  # allocated and not yet freed
    peak_bytes: int  # the maximum of live_bytes
    allocations: int
    frees: int
    reused: int  # allocations served from cached blocks
    kept_bytes: int  # released by tensors, cached for reuse


def allocator_stats(name: str = "pool") -> AllocatorStats:
    """Return the counts of allocator "cpu" (posix_memalign) or "pool" (keeps blocks, gets them from cpu)."""
    if name not in ("cpu", "pool"):
        raise ValueError(f"allocator_stats: expected one of cpu, pool, got {name!r}")
    stats = lib.uh_allocator_stats_of(ALLOCATORS.index(name))
    return AllocatorStats(*(getattr(stats, field) for field in AllocatorStats.__dataclass_fields__))


def host_waits() -> int:
    """Return how often Python has waited for an OpenCL device since the process started."""
    return int(lib.uh_device_waits(DEVICES.index("opencl")))


def set_pool_enabled(enabled: bool) -> None:
    """Switch the caching pool on or off for storages created from now on."""
    lib.uh_pool_set_enabled(int(enabled))


def empty_pool() -> None:
    """Return every cached block of the pool to the cpu allocator."""
    lib.uh_pool_empty()
