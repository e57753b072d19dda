"""The instruction set of the loop kernels."""

from __future__ import annotations

from engine._native import ffi, lib

_NAMES = {"v2": "DEFAULT", "v3": "AVX2", "v4": "AVX512"}


def get_cpu_capability() -> str:
    """Return the instruction set of the loop kernels in PyTorch's words: `"AVX512"`, `"AVX2"` or `"DEFAULT"`.

    Chosen when the library is loaded; the environment variable UNDERHOOD_ISA=v2|v3|v4 forces one.
    """
    return _NAMES[ffi.string(lib.uh_isa()).decode()]
