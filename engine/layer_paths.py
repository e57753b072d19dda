"""PyTorch's modules for layers that are in other files here; pickles look them up there."""

from __future__ import annotations

__all__ = ["PATHS"]

# Class name to its module in `torch.nn.modules`.
PATHS = {
    name: module
    for module, names in {
        "activation": "LogSoftmax MultiheadAttention Softmax Softmax2d Softmin",
        "adaptive": "AdaptiveLogSoftmaxWithLoss",
        "channelshuffle": "ChannelShuffle",
        "container": "Container ModuleDict ModuleList ParameterDict ParameterList Sequential",
        "flatten": "Flatten Unflatten",
        "fold": "Fold Unfold",
        "instancenorm": "_InstanceNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d "
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
