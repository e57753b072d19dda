"""Wording that several models share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.inspect.history import History


def shape_text(sizes: Sequence[int], times: str = "×") -> str:
    """Return `2×3`; a tensor without dimensions is `()`."""
    return times.join(map(str, sizes)) if sizes else "()"


def bytes_text(count: int) -> str:
    """Return `24 bytes`, `1.5 KiB`: exact below 10,000 bytes."""
    if count < 10_000:
        return f"{count} byte" if count == 1 else f"{count} bytes"
    size = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1024 or unit == "TiB":
            break
    return f"{size:.4g} {unit}"


def pluralise(count: int, singular: str, more: str = "") -> str:
    """Return `1 tensor`, `2 tensors`."""
    return f"{count:,} {singular if count == 1 else more or singular + 's'}"


def writer(history: History, write: Any) -> str:
    """Describe a write's author: an operator, a fused kernel, the creation of the tensor, or another owner of
    the memory."""
    call = history.call(write.call) if write.call else None
    if call is not None:
        return f"operator {call.op}"
    if write.foreign:
        return "something outside the engine"
    launched = history.jit.fused.launch_of(write.tensor, write.moment)
    return (
        "the creation of the tensor" if launched is None else f"the fused kernel {launched[0].name}"
    )


def immortal(refcount: int, python: tuple[int, ...] = (3, 12)) -> bool:
    """Return whether CPython never changes this reference count.

    From 3.12 on, 64-bit CPython marks immortal objects in the lower 32 bits of ob_refcnt: sign bit
    set (3.12, 3.13), or at least 2**30 (3.14). Before 3.12 every object was counted.
    """
    if python < (3, 12):
        return False
    low = refcount & 0xFFFFFFFF
    return low >= 1 << 31 or (python >= (3, 14) and low >= 1 << 30)


def python_of(history: History) -> tuple[int, ...]:
    """Return the version of the Python that was recorded, as in its trace: (3, 11)."""
    parts = str(history.trace.meta.get("python", "")).split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit()) or (3, 11)


def method_name(name: str) -> str:
    """Shorten a method of a compiled class to the class's own name: `__torch__.package.Net.forward`
    is `Net.forward`; other names stay."""
    return ".".join(name.split(".")[-2:]) if name.startswith("__torch__.") else name
