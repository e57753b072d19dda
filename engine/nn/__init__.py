"""Neural networks: modules with parameters, and their stateless functions in `engine.nn.functional`.

A network is a `Module` that has submodules as attributes and computes in `forward`; layers are in
`modules/`, one file for each family. Reading order: module.py, then traversal.py, state_dict.py, hooks.py.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from engine.nn import functional as functional
from engine.nn import modules as modules
from engine.nn.functional.linear_cross_entropy import (
    LinearCrossEntropyOptions as LinearCrossEntropyOptions,
)
from engine.nn.modules import *  # noqa: F403
from engine.nn.modules import LATER as _LATER
from engine.nn.parameter import Buffer as Buffer
from engine.nn.parameter import Parameter as Parameter
from engine.nn.parameter import UninitializedBuffer as UninitializedBuffer
from engine.nn.parameter import UninitializedParameter as UninitializedParameter

_FOLDERS = ("attention", "common_types", "grad", "init", "parallel", "utils")

if TYPE_CHECKING:
    from engine.nn import attention, common_types, grad, init, parallel, utils  # noqa: F401
    from engine.nn.modules.attention import MultiheadAttention as MultiheadAttention
    from engine.nn.modules.rnn import *  # noqa: F403
    from engine.nn.modules.transformer import *  # noqa: F403
    from engine.nn.parallel import DataParallel as DataParallel
else:

    def __getattr__(name: str) -> Any:
        if name in _FOLDERS:
            return importlib.import_module(f"engine.nn.{name}")
        if name == "DataParallel":
            return importlib.import_module("engine.nn.parallel").DataParallel
        if name not in _LATER:
            from engine.absent_names import absent

            raise absent("nn", name)
        value = globals()[name] = getattr(modules, name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_FOLDERS} - {"annotations", "importlib"})
