"""Utilities for training scripts: `data` (data sets, DataLoader), `checkpoint`, `tensorboard`, `cpp_extension`.

They are imported on first use. `cmake_prefix_path` is the folder in which CMake's find_package(Underhood) finds the
library for C and C++ programs; pkg-config's folder is `../pkgconfig` relative to it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from engine._native.namespace import no_attribute

_LAZY = (
    "_pytree",
    "benchmark",
    "checkpoint",
    "cpp_extension",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "model_zoo",
    "tensorboard",
)

if TYPE_CHECKING:
    from engine.utils import (  # noqa: F401
        _pytree,
        benchmark,
        checkpoint,
        cpp_extension,
        data,
        deterministic,
        dlpack,
        hooks,
        model_zoo,
        tensorboard,
    )

    cmake_prefix_path: str


def __getattr__(name: str) -> Any:
    if name == "cmake_prefix_path":
        return _cmake_prefix_path()
    if name not in _LAZY:
        raise no_attribute("utils", name)
    return importlib.import_module(f"engine.utils.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "cmake_prefix_path"})


def _cmake_prefix_path() -> str:
    """Return the folder next to the compiled library, which in an editable install is not next to this file."""
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("engine._native._ffi")
    assert spec is not None  # the engine is imported
    assert spec.origin is not None
    return str(Path(spec.origin).parents[1] / "share" / "cmake")
