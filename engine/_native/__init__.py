"""The native library: the only place of the package that touches cffi."""

from engine._native.library import ffi, lib

__all__ = ["ffi", "lib"]
