"""`engine.nn.functional`: PyTorch's functions of networks, without state.

Operators whose yaml entry says `python: [nn.functional]` are here as generated. The files of this
folder hold the functions that do something in Python first (a `reduction="mean"` becomes a code, a
single number becomes a pair).
"""

from __future__ import annotations

from engine._generated import ops as _raw

globals().update(_raw.SPACES.get("nn.functional", {}))
