"""`engine.nn.functional`: PyTorch's functions of networks, without state.

Operators whose yaml entry says `python: [nn.functional]` are here as generated. The files of this
folder hold the functions that do something in Python first (a `reduction="mean"` becomes a code, a
single number becomes a pair).
"""

from __future__ import annotations

from engine._generated import ops as _raw
from engine.nn.functional.dropout import alpha_dropout as alpha_dropout
from engine.nn.functional.dropout import dropout as dropout
from engine.nn.functional.dropout import dropout1d as dropout1d
from engine.nn.functional.dropout import dropout2d as dropout2d
from engine.nn.functional.dropout import dropout3d as dropout3d
from engine.nn.functional.dropout import feature_alpha_dropout as feature_alpha_dropout
from engine.nn.functional.embedding import embedding as embedding
from engine.nn.functional.embedding import embedding_bag as embedding_bag

globals().update(_raw.SPACES.get("nn.functional", {}))
