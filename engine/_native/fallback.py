"""The warning for an operator that a device has no kernel for: it runs on the CPU, with copies of its arguments."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from engine._native.library import ffi, lib
from engine._native.namespace import namespace


@ffi.def_extern()
def uh_py_fell_back(name: Any) -> None:
    """Warn about the first call of an operator, at the line of the program that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "engine":
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"{ffi.string(name).decode()} has no kernel on this device for these arguments: it runs on the CPU, and its "
        "arguments and results are copied. Move the tensors with x.cpu() once if several such calls follow each "
        f"other. This is said once for each operator; {namespace()}.opencl.fallback_counts() counts the calls.",
        UserWarning,
        stacklevel=level,
    )


lib.uh_cpu_fallback_announce(lib.uh_py_fell_back)
