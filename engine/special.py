"""Special functions under PyTorch's names: `engine.special.erfinv`, `xlogy`, `gammaln`...

The functions are generated from csrc/ops/*.yaml: the operators named `special_...`.
"""

from __future__ import annotations

from engine._generated import ops as _raw

globals().update(_raw.SPACES.get("special", {}))


def __dir__() -> list[str]:
    return sorted(_raw.SPACES.get("special", {}))
