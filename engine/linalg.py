"""Linear algebra under PyTorch's names: `engine.linalg.det`, `solve`, `svd`, `norm`...

The functions are generated from csrc/ops/*.yaml: the operators named `linalg_...`.
"""

from __future__ import annotations

from engine._generated import ops as _raw
from engine._native.errors import LinAlgError as LinAlgError

globals().update(_raw.SPACES.get("linalg", {}))


def __dir__() -> list[str]:
    return sorted({"LinAlgError", *_raw.SPACES.get("linalg", {})})
