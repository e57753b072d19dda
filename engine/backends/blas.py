"""The library that computes matrix products."""

from __future__ import annotations

from engine._native import ffi, lib


def core_name() -> str:
    """Return the name of the kernels that OpenBLAS runs on this CPU, such as `"SkylakeX"` or `"Haswell"`."""
    return ffi.string(lib.uh_blas_core()).decode()
