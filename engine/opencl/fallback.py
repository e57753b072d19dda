"""Operators without a kernel on a device: they run on the CPU, with copies of their arguments, and are counted."""

from __future__ import annotations

import json

from engine._native import ffi, lib


def fallback_counts() -> dict[str, int]:
    """Return how often each operator ran on the CPU for a device: `{"aten::median": 2}`."""
    counts: dict[str, int] = json.loads(ffi.string(lib.uh_cpu_fallback_counts()))
    return counts


def reset_fallback_counts() -> None:
    """Count from 0 again; the next call of each operator is a warning again."""
    lib.uh_cpu_fallback_reset()
