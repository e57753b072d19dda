"""Linear algebra under PyTorch's names: `engine.linalg.det`, `solve`, `svd`, `norm`...

The functions are generated from csrc/ops/*.yaml: the operators named `linalg_...`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine._generated.ops import space as _space
from engine._native.errors import LinAlgError as LinAlgError

if TYPE_CHECKING:
    from engine._generated.functions_linalg import *  # noqa: F403
else:
    __getattr__, __dir__ = _space("linalg", globals())
