"""Linear algebra under PyTorch's names: `engine.linalg.det`, `solve`, `svd`, `norm`...

The functions are generated from csrc/ops/*.yaml: the operators named `linalg_...`.
"""

from __future__ import annotations

from engine._generated import ops as _raw

globals().update(_raw.SPACES.get("linalg", {}))


def __dir__() -> list[str]:
    return sorted(_raw.SPACES.get("linalg", {}))
