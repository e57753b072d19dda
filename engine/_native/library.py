"""Loading of the native library, with the environment variables that OpenBLAS reads.

OpenBLAS reads its environment once, when the dynamic loader maps it. Two variables are therefore set while the
library loads and restored afterwards, so that the process and its children keep the user's environment:

* `OPENBLAS_CORETYPE`: a CPU with AVX-512 whose model number OpenBLAS does not know gets the AVX2
  kernels, at half the speed. The wheel's AVX-512 kernels are called SkylakeX.
** `OPENBLAS_NUM_THREADS`: OpenBLAS would start a thread per core at once. The engine requests the number of
  `set_num_threads` when a product is large enough.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# The instruction sets that OpenBLAS's SkylakeX kernels use; without one they crash on an illegal instruction.
_SKYLAKEX_FLAGS = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "fma"}

_NOT_BUILT = (
    "the native library of the engine is not built for this Python ({error}); build it with "
    "`python -m pip install -e .` in the project's folder (it needs a C++20 compiler, as in "
    "`apt install g++`)"
)


def cpu_flags(path: str = "/proc/cpuinfo") -> set[str]:
    """Return the instruction sets of the first CPU by Linux's names; empty if they are unknown."""
    try:
        with open(path, "rb", buffering=0) as file:
            text = file.read(8192).decode("ascii", "replace")
    except OSError:
        return set()
    for line in text.splitlines():
        if line.startswith("flags"):
            return set(line.partition(":")[2].split())
    return set()


def openblas_environment(environment: dict[str, str], flags: set[str]) -> dict[str, str]:
    """Return the variables to add to `environment` while OpenBLAS loads; the user's settings take precedence."""
    settings = {"OPENBLAS_NUM_THREADS": "1"}
    if flags >= _SKYLAKEX_FLAGS and "OPENBLAS_CORETYPE" not in environment:
        settings["OPENBLAS_CORETYPE"] = "SkylakeX"
    return settings


def _load() -> tuple[Any, Any]:
    before = dict(os.environ)
    settings = openblas_environment(before, cpu_flags())
    os.environ.update(settings)
    try:
        _ffi: Any = importlib.import_module("engine._native._ffi")
    except ImportError as error:
        raise ImportError(_NOT_BUILT.format(error=error)) from error
    finally:
        for name in settings:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]
    _ffi.lib.uh_initialise()
    return _ffi.ffi, _ffi.lib


if TYPE_CHECKING:
    ffi: Any
    lib: Any
else:
    ffi, lib = _load()
