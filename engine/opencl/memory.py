"""The memory of a device: what tensors use, what the allocator holds back for the next ones, how much there may be."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.opencl.devices import code_of, get_device_name

_fractions: dict[int, float] = {}  # by the device's code


def statistics(device: Any) -> Any:
    """Return the C structure of a device's counters, `uh_device_memory`."""
    memory = ffi.new("uh_device_memory *")
    if lib.uh_device_memory_stats(code_of(device), memory):
        raise_last()
    return memory


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that tensors use."""
    return int(statistics(device).allocated)


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that tensors have used since the start, or since `reset_peak_memory_stats`."""
    return int(statistics(device).peak)


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that tensors use and those held back for the next ones."""
    memory = statistics(device)
    return int(memory.allocated + memory.cached)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes that this process could still take from a device, and all that it has.

    OpenCL does not say what other processes use.
    """
    memory = statistics(device)
    return int(memory.total - memory.allocated - memory.cached), int(memory.total)


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """Return the allocator's counters under PyTorch's names."""
    memory = statistics(device)
    return OrderedDict(
        {
            "allocated_bytes.all.current": int(memory.allocated),
            "allocated_bytes.all.peak": int(memory.peak),
            "allocation.all.allocated": int(memory.allocations),
            "allocation.all.current": int(memory.allocations - memory.frees),
            "allocation.all.freed": int(memory.frees),
            "inactive_split_bytes.all.current": int(memory.cached),
            "num_reused": int(memory.reused),
            "reserved_bytes.all.current": int(memory.allocated + memory.cached),
        }
    )


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return the same counters as dictionaries: `stats["allocated_bytes"]["all"]["peak"]`."""
    nested: dict[str, Any] = {}
    for name, count in memory_stats(device).items():
        *path, last = name.split(".")
        level = nested
        for each in path:
            level = level.setdefault(each, {})
        level[last] = count
    return nested


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return the counters as text, a line each."""
    memory = statistics(device)
    lines = [
        f"{get_device_name(device)}: {memory.total} bytes",
        f"used by tensors   {memory.allocated} bytes, at most {memory.peak}",
        f"held back         {memory.cached} bytes",
    ]
    if not abbreviated:
        lines.append(
            f"allocations       {memory.allocations}, of which {memory.reused} reused a block; "
            f"{memory.frees} freed"
        )
    return "\n".join(lines)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Start `max_memory_allocated` again from the bytes that tensors use now."""
    if lib.uh_device_reset_peak(code_of(device)):
        raise_last()


def empty_cache(device: Any = None) -> None:
    """Give the memory that no tensor uses back to the driver."""
    if lib.uh_device_empty_cache(code_of(device)):
        raise_last()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let this process use so much of a device's memory at most; then `OutOfMemoryError` is raised.

    Raises: TypeError unless it is a float, ValueError outside of 0 to 1.
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    code = code_of(device)
    if lib.uh_device_set_memory_limit(code, int(fraction * statistics(device).total)):
        raise_last()
    _fractions[code] = fraction


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the share of a device's memory that this process may use: 1.0 unless it was set."""
    return _fractions.get(code_of(device), 1.0)
