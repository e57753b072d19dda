"""The modules of PyTorch whose layers lie in other files here: `from torch.nn.modules.sparse import Embedding`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__ = ["PATHS", "add_paths"]

# By the name of the class: its module in `torch.nn.modules`.
PATHS = {
    name: module
    for module, names in {
        "activation": "LogSoftmax MultiheadAttention Softmax Softmax2d Softmin",
        "adaptive": "AdaptiveLogSoftmaxWithLoss",
        "channelshuffle": "ChannelShuffle",
        "container": "Container ModuleDict ModuleList ParameterDict ParameterList Sequential",
        "flatten": "Flatten Unflatten",
        "fold": "Fold Unfold",
        "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d "
        "LazyInstanceNorm2d LazyInstanceNorm3d",
        "loss": "CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss "
        "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss SoftMarginLoss TripletMarginLoss "
        "TripletMarginWithDistanceLoss",
        "module": "Module",
        "pixelshuffle": "PixelShuffle PixelUnshuffle",
        "rnn": "GRUCell LSTMCell RNNCell RNNCellBase",
        "sparse": "Embedding EmbeddingBag",
    }.items()
    for name in names.split()
}


def add_paths(layers: ModuleType) -> None:
    """Let every name of PATHS be found in the module that PyTorch has it in, below the package `layers`."""

    def attribute_of(module: str, name: str) -> Any:
        if PATHS.get(name) != module:
            raise AttributeError(f"module '{layers.__name__}.{module}' has no attribute {name!r}")
        return getattr(layers, name)

    for module in set(PATHS.values()) - {"module", "rnn"}:  # these have theirs
        path = f"{layers.__name__}.{module}"
        if path not in sys.modules:
            alias = ModuleType(path, f"PyTorch's `{path.replace('engine', 'torch', 1)}`.")
            alias.__dict__["__all__"] = [name for name, home in PATHS.items() if home == module]
            sys.modules[path] = alias
            setattr(layers, module, alias)
        sys.modules[path].__dict__["__getattr__"] = lambda name, module=module: attribute_of(module, name)
