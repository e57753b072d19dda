"""Special functions under PyTorch's names: `engine.special.erfinv`, `xlogy`, `gammaln`...

The functions are generated from csrc/ops/*.yaml: the operators named `special_...`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine._generated.ops import space as _space

if TYPE_CHECKING:
    from engine._generated.functions_special import *  # noqa: F403
else:
    __getattr__, __dir__ = _space("special", globals())
