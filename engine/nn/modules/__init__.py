"""The layers, one file for each family.

Recurrent layers, attention and transformers are imported on first use.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from engine._native.namespace import no_attribute
from engine.nn.containers import *  # noqa: F403
from engine.nn.containers import __all__ as _containers
from engine.nn.module import Module as Module
from engine.nn.modules import (
    activation,
    batchnorm,
    conv,
    distance,
    dropout,
    embedding,
    linear,
    loss,
    margin_loss,
    normalization,
    padding,
    pooling,
    shape,
    softmax,
    upsampling,
)
from engine.nn.modules.activation import *  # noqa: F403
from engine.nn.modules.batchnorm import *  # noqa: F403
from engine.nn.modules.batchnorm import _InstanceNorm as _InstanceNorm
from engine.nn.modules.conv import *  # noqa: F403
from engine.nn.modules.distance import *  # noqa: F403
from engine.nn.modules.dropout import *  # noqa: F403
from engine.nn.modules.embedding import *  # noqa: F403
from engine.nn.modules.linear import *  # noqa: F403
from engine.nn.modules.loss import *  # noqa: F403
from engine.nn.modules.margin_loss import *  # noqa: F403
from engine.nn.modules.normalization import *  # noqa: F403
from engine.nn.modules.padding import *  # noqa: F403
from engine.nn.modules.paths import add_paths
from engine.nn.modules.pooling import *  # noqa: F403
from engine.nn.modules.shape import *  # noqa: F403
from engine.nn.modules.softmax import *  # noqa: F403
from engine.nn.modules.upsampling import *  # noqa: F403
from engine.nn.parameter_containers import *  # noqa: F403
from engine.nn.parameter_containers import __all__ as _parameter_containers

_LATER = {
    "rnn": ("RNN", "LSTM", "GRU", "RNNBase", "RNNCell", "LSTMCell", "GRUCell", "RNNCellBase"),
    "attention": ("MultiheadAttention",),
    "transformer": (
        "Transformer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
    ),
}
LATER = {name: file for file, names in _LATER.items() for name in names}

__all__ = ["Module"]
__all__ += _containers
__all__ += _parameter_containers
__all__ += activation.__all__
__all__ += batchnorm.__all__
__all__ += conv.__all__
__all__ += distance.__all__
__all__ += dropout.__all__
__all__ += embedding.__all__
__all__ += linear.__all__
__all__ += loss.__all__
__all__ += margin_loss.__all__
__all__ += normalization.__all__
__all__ += padding.__all__
__all__ += pooling.__all__
__all__ += shape.__all__
__all__ += softmax.__all__
__all__ += upsampling.__all__


add_paths(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise no_attribute("nn.modules", name)
    value = getattr(importlib.import_module(f"engine.nn.modules.{LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LATER})
