"""Loads the native library, with OpenBLAS told beforehand which CPU it is on.

OpenBLAS reads its environment once, when the dynamic loader maps it. Two settings are therefore
put there for the moment of loading and taken away again, so that the user's process and its
children see their own environment:

* `OPENBLAS_CORETYPE`: a CPU with AVX-512 whose model number OpenBLAS does not know gets the AVX2
  kernels, at half the speed. The wheel's AVX-512 kernels are called SkylakeX.
* `OPENBLAS_NUM_THREADS`: OpenBLAS would start a thread per core at once. The engine asks for as
  many as `set_num_threads` says, when a product is large enough.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# What OpenBLAS's SkylakeX kernels use. Missing one, they would end in an illegal instruction.
_SKYLAKEX_FLAGS = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "fma"}

_NOT_BUILT = (
    "the native library of the engine is not built for this Python ({error}); build it with "
    "`python -m pip install -e .` in the project's folder (it needs a C++20 compiler, as in "
    "`apt install g++`)"
)


def cpu_flags(path: str = "/proc/cpuinfo") -> set[str]:
    """The instruction sets of the first CPU by Linux's names; empty where that is not told."""
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
    """What to add to `environment` while OpenBLAS loads; the user's own settings stand."""
    wanted = {"OPENBLAS_NUM_THREADS": "1"}
    if flags >= _SKYLAKEX_FLAGS and "OPENBLAS_CORETYPE" not in environment:
        wanted["OPENBLAS_CORETYPE"] = "SkylakeX"
    return wanted


def _load() -> tuple[Any, Any]:
    before = dict(os.environ)
    wanted = openblas_environment(before, cpu_flags())
    os.environ.update(wanted)
    try:
        _ffi: Any = importlib.import_module("engine._native._ffi")
    except ImportError as error:
        raise ImportError(_NOT_BUILT.format(error=error)) from error
    finally:
        for name in wanted:
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
