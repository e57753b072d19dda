"""The operators of `csrc/extensions/sparse_conv`, loaded at first use."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from engine import ops
from engine.ops import Namespace


@lru_cache(maxsize=1)
def operators() -> Namespace:
    """Return `engine.ops.sparse_conv`, and load its library before the first call.

    Raises: RuntimeError when the package was installed without the library.
    """
    spec = find_spec("engine._native._ffi")  # in an editable install it is not next to this file
    assert spec is not None  # the engine is imported
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "lib"
    path = next(folder.glob("libsparse_conv.*"), None)
    if path is None:
        raise RuntimeError(
            f"sparse_conv: there is no libsparse_conv in {folder}; reinstall underhood"
        )
    ops.load_library(path)
    namespace: Namespace = ops.sparse_conv
    return namespace
