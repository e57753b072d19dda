"""Functions of tensors that need Python code before or between operators, by subject.

Importing a module here adds its functions to the tables of overloads.py. PyTorch's names of `torch.functional` are
those of `engine`.
"""

from __future__ import annotations

import importlib
from typing import Any

from engine._native.namespace import no_attribute
from engine.functional import complex as complex
from engine.functional import composite as composite
from engine.functional import matmul as matmul
from engine.functional import norm as norm
from engine.functional import predicates as predicates
from engine.functional import unique as unique
from engine.functional import variadic as variadic

_NAMES = [
    "align_tensors",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "lu",
    "meshgrid",
    "norm",
    "split",
    "stft",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "Tensor",
]


def __getattr__(name: str) -> Any:
    if name == "F":
        return importlib.import_module("engine.nn.functional")
    if name in _NAMES:
        return getattr(importlib.import_module("engine"), name)
    raise no_attribute("functional", name)
