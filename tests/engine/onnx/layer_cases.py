"""Layers and operators that are exported, each with inputs of two sizes.

A case is a model, and two tuples of inputs; the axes in which these differ are the dynamic ones. `ABSENT` names
every layer of `engine.nn` without a case, with the reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import engine
from engine import nn


@dataclass(frozen=True)
class Case:
    """A model, how to call it at two sizes, and the layers of `engine.nn` that it covers."""

    name: str
    build: Callable[[], Any]
    inputs: Callable[[int], tuple[Any, ...]]  # 0: the example, 1: another size
    layers: tuple[str, ...] = ()
    scripted: bool = False


def _x(*shape: int) -> engine.Tensor:
    return engine.randn(*shape)


def _positive(*shape: int) -> engine.Tensor:
    return engine.rand(*shape) * 0.8 + 0.1


def _labels(classes: int, *shape: int) -> engine.Tensor:
    return engine.randint(0, classes, shape)


CASES: list[Case] = []


def case(name: str, build: Callable[[], Any], *shapes: tuple[int, ...], layers: str = "") -> None:
    """A case whose inputs are normal; the first axis grows by two in the second size."""

    def inputs(size: int) -> tuple[Any, ...]:
        return tuple(_x(shape[0] + 2 * size, *shape[1:]) for shape in shapes)

    CASES.append(Case(name, build, inputs, tuple((layers or name.partition(" ")[0]).split())))


def layer(name: str, *arguments: Any, shape: tuple[int, ...] = (2, 6), **options: Any) -> None:
    """A layer of `engine.nn` with these arguments."""
    title = f"{name} {CASE_NUMBERS.setdefault(name, 0)}" if CASE_NUMBERS.get(name) else name
    CASE_NUMBERS[name] = CASE_NUMBERS.get(name, 0) + 1
    case(title, lambda: getattr(nn, name)(*arguments, **options), shape, layers=name)


CASE_NUMBERS: dict[str, int] = {}

# Activations
for _name in [
    "CELU",
    "ELU",
    "GELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]:
    layer(_name)
layer("GELU", approximate="tanh")
case("ReLU in place first", lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(6, 4)), (2, 6))
case("ReLU in place", lambda: nn.Sequential(nn.Linear(6, 4), nn.ReLU(inplace=True)), (2, 6))
layer("ELU", alpha=0.5)
layer("Softplus", beta=2.0, threshold=1.0)
layer("Threshold", 0.1, 20.0)
layer("GLU")
layer("Softmax", dim=1)
layer("LogSoftmax", dim=-1)
layer("Softmin", dim=1)
layer("Softmax2d", shape=(2, 3, 4, 5))
layer("PReLU", num_parameters=3, shape=(2, 3, 4, 5))

# Linear and embeddings
layer("Linear", 6, 4)
layer("Linear", 6, 4, shape=(2, 3, 6))
layer("Linear", 6, 4, bias=False)
CASES.append(
    Case(
        "Bilinear",
        lambda: nn.Bilinear(3, 4, 5),
        lambda n: (_x(2 + n, 3), _x(2 + n, 4)),
        ("Bilinear",),
    )
)
CASES.append(
    Case(
        "Embedding",
        lambda: nn.Embedding(9, 4),
        lambda n: (_labels(9, 2 + n, 5 + n),),
        ("Embedding",),
    )
)
for _mode in ("sum", "mean", "max"):
    CASES.append(
        Case(
            f"EmbeddingBag {_mode}",
            lambda mode=_mode: nn.EmbeddingBag(9, 4, mode=mode),
            lambda n: (_labels(9, 2 + n, 5),),
            ("EmbeddingBag",),
        )
    )

# Convolutions
layer("Conv1d", 4, 6, 3, padding=1, stride=2, shape=(2, 4, 9))
layer("Conv2d", 4, 6, 3, padding=(1, 2), dilation=2, groups=2, shape=(2, 4, 9, 8))
layer("Conv2d", 4, 6, 3, padding="same", shape=(2, 4, 9, 8))
layer("Conv2d", 4, 6, 3, padding=1, padding_mode="circular", shape=(2, 4, 9, 8))
layer("Conv2d", 4, 6, (3, 2), padding="valid", bias=False, shape=(2, 4, 9, 8))
layer("Conv3d", 2, 3, 2, shape=(2, 2, 5, 4, 6))
layer("ConvTranspose1d", 4, 6, 3, stride=2, shape=(2, 4, 9))
layer("ConvTranspose2d", 4, 6, 3, stride=2, padding=1, output_padding=1, shape=(2, 4, 5, 6))
layer("ConvTranspose3d", 2, 4, 2, groups=2, shape=(2, 2, 3, 4, 3))
layer("Unfold", 2, stride=2, padding=1, shape=(2, 3, 6, 8))
layer("Fold", (6, 8), 2, stride=2, shape=(2, 12, 12))

# Normalisation
layer("BatchNorm1d", 6)
layer("SyncBatchNorm", 6)
layer("BatchNorm2d", 3, shape=(2, 3, 4, 5))
layer("BatchNorm2d", 3, affine=False, shape=(2, 3, 4, 5))
layer("BatchNorm3d", 3, shape=(2, 3, 4, 5, 2))
layer("GroupNorm", 2, 6, shape=(2, 6, 4, 5))
layer("GroupNorm", 3, 6, affine=False, shape=(2, 6, 4))
layer("InstanceNorm1d", 4, affine=True, shape=(2, 4, 9))
layer("InstanceNorm2d", 4, shape=(2, 4, 6, 5))
layer("InstanceNorm3d", 2, shape=(2, 2, 4, 3, 5))
layer("LayerNorm", 6)
layer("LayerNorm", (3, 6), elementwise_affine=False, shape=(2, 3, 6))
layer("RMSNorm", 6)
layer("LocalResponseNorm", 3, shape=(2, 6, 4, 5))
layer("CrossMapLRN2d", 3, shape=(2, 6, 4, 5))

# Pooling
for _rank, _shape in ((1, (2, 3, 12)), (2, (2, 3, 8, 12)), (3, (2, 3, 4, 8, 6))):
    layer(f"AvgPool{_rank}d", 2, stride=2, padding=1, shape=_shape)
    layer(f"MaxPool{_rank}d", 3, stride=2, padding=1, shape=_shape)
    layer(f"AdaptiveAvgPool{_rank}d", 1, shape=_shape)
    layer(f"AdaptiveMaxPool{_rank}d", 1, shape=_shape)
    layer(f"LPPool{_rank}d", 2, 2, shape=_shape)
    layer(f"ReplicationPad{_rank}d", 1, shape=_shape)
    layer(f"ReflectionPad{_rank}d", 1, shape=_shape)
    layer(f"ConstantPad{_rank}d", 1, 0.5, shape=_shape)
    layer(f"ZeroPad{_rank}d", 2, shape=_shape)
    layer(f"CircularPad{_rank}d", 1, shape=_shape)
layer(
    "AvgPool2d",
    3,
    stride=2,
    ceil_mode=True,
    count_include_pad=False,
    padding=1,
    shape=(2, 3, 8, 12),
)
layer("MaxPool2d", 3, dilation=2, shape=(2, 3, 8, 12))
layer("AdaptiveAvgPool2d", (4, 6), shape=(2, 3, 8, 12))
layer("AdaptiveAvgPool1d", 4, shape=(2, 3, 12))
layer("MaxPool2d", 2, return_indices=True, shape=(2, 3, 8, 12))

# Shapes
layer("Flatten", shape=(2, 3, 4))
layer("Unflatten", 1, (2, 3))
layer("PixelShuffle", 2, shape=(2, 8, 3, 4))
layer("PixelUnshuffle", 2, shape=(2, 3, 4, 6))
layer("ChannelShuffle", 2, shape=(2, 6, 4, 5))
layer("Upsample", scale_factor=2, shape=(2, 3, 4, 5))
layer("Upsample", size=(7, 9), mode="bilinear", shape=(2, 3, 4, 5))
layer("Upsample", scale_factor=2.0, mode="bicubic", align_corners=True, shape=(2, 3, 4, 5))
layer("UpsamplingNearest2d", scale_factor=2, shape=(2, 3, 4, 5))
layer("UpsamplingBilinear2d", scale_factor=2, shape=(2, 3, 4, 5))
for _name in ["AlphaDropout", "Dropout", "FeatureAlphaDropout"]:
    layer(_name)
layer("Dropout1d", shape=(2, 3, 4))
layer("Dropout2d", shape=(2, 3, 4, 5))
layer("Dropout3d", shape=(2, 3, 4, 5, 2))

# Distances and losses
case("CosineSimilarity", lambda: nn.CosineSimilarity(dim=1), (2, 6), (2, 6))
case("PairwiseDistance", lambda: nn.PairwiseDistance(), (2, 6), (2, 6))
case("MSELoss", lambda: nn.MSELoss(), (2, 6), (2, 6))
case("L1Loss", lambda: nn.L1Loss(), (2, 6), (2, 6))
case("SmoothL1Loss", lambda: nn.SmoothL1Loss(beta=0.5), (2, 6), (2, 6))
case("HuberLoss", lambda: nn.HuberLoss(reduction="sum"), (2, 6), (2, 6))
case("PoissonNLLLoss", lambda: nn.PoissonNLLLoss(), (2, 6), (2, 6))
case("TripletMarginLoss", lambda: nn.TripletMarginLoss(), (2, 6), (2, 6), (2, 6))
case(
    "TripletMarginWithDistanceLoss",
    lambda: nn.TripletMarginWithDistanceLoss(),
    (2, 6),
    (2, 6),
    (2, 6),
)


def loss(name: str, inputs: Callable[[int], tuple[Any, ...]], **options: Any) -> None:
    """A loss with inputs of their kinds."""
    CASES.append(Case(name, lambda: getattr(nn, name)(**options), inputs, (name,)))


def _signs(*shape: int) -> engine.Tensor:
    return engine.randint(0, 2, shape).float() * 2 - 1


loss("CrossEntropyLoss", lambda n: (_x(3 + n, 5), _labels(5, 3 + n)))
loss("NLLLoss", lambda n: (_x(3 + n, 5).log_softmax(1), _labels(5, 3 + n)))


def _deprecated_loss() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.NLLLoss2d()


CASES.append(
    Case(
        "NLLLoss2d",
        _deprecated_loss,
        lambda n: (_x(3 + n, 5, 2, 2).log_softmax(1), _labels(5, 3 + n, 2, 2)),
        ("NLLLoss2d",),
    )
)
loss("BCELoss", lambda n: (_positive(3 + n, 5), _positive(3 + n, 5)))
loss("BCEWithLogitsLoss", lambda n: (_x(3 + n, 5), _positive(3 + n, 5)))
loss("GaussianNLLLoss", lambda n: (_x(3 + n, 5), _x(3 + n, 5), _positive(3 + n, 5)))
loss("KLDivLoss", lambda n: (_x(3 + n, 5), _positive(3 + n, 5)), reduction="batchmean")
loss("CosineEmbeddingLoss", lambda n: (_x(3 + n, 5), _x(3 + n, 5), _signs(3 + n)))
loss("HingeEmbeddingLoss", lambda n: (_x(3 + n, 5), _signs(3 + n, 5)))
loss("MarginRankingLoss", lambda n: (_x(3 + n), _x(3 + n), _signs(3 + n)), margin=0.3)
loss("SoftMarginLoss", lambda n: (_x(3 + n, 5), _signs(3 + n, 5)))
loss("MultiLabelSoftMarginLoss", lambda n: (_x(3 + n, 5), _positive(3 + n, 5).round()))
loss("MultiMarginLoss", lambda n: (_x(3 + n, 5), _labels(5, 3 + n)))

# Recurrent layers, attention, transformers
for _name in ("RNN", "GRU", "LSTM"):
    layer(_name, 4, 5, shape=(3, 2, 4))
    CASES.append(
        Case(
            f"{_name} deep",
            lambda name=_name: getattr(nn, name)(4, 5, 2, batch_first=True, bidirectional=True),
            lambda n: (_x(2 + n, 3 + 2 * n, 4),),
            (_name,),
        )
    )
layer("RNN", 4, 5, nonlinearity="relu", bias=False, shape=(3, 2, 4))
case("RNNCell", lambda: nn.RNNCell(4, 5), (2, 4), (2, 5))
case("GRUCell", lambda: nn.GRUCell(4, 5), (2, 4), (2, 5))
layer("LSTMCell", 4, 5, shape=(2, 4))
case("MultiheadAttention", lambda: nn.MultiheadAttention(8, 2), (3, 2, 8), (3, 2, 8), (3, 2, 8))
layer("TransformerEncoderLayer", 8, 2, 16, shape=(3, 2, 8))
case("TransformerDecoderLayer", lambda: nn.TransformerDecoderLayer(8, 2, 16), (3, 2, 8), (3, 2, 8))
case(
    "TransformerEncoder",
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
    (3, 2, 8),
)
case(
    "TransformerDecoder",
    lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2),
    (3, 2, 8),
    (3, 2, 8),
)
case("Transformer", lambda: nn.Transformer(8, 2, 1, 1, 16), (3, 2, 8), (3, 2, 8))

# Containers
case("Sequential", lambda: nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2)), (2, 6))


class _Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])
        self.named = nn.ModuleDict({"gate": nn.Sigmoid(), "cell": nn.Tanh()})
        self.scales = nn.ParameterList([nn.Parameter(engine.rand(6)), nn.Parameter(engine.rand(6))])
        self.shifts = nn.ParameterDict({"a": nn.Parameter(engine.rand(6))})

    def forward(self, x: engine.Tensor) -> engine.Tensor:
        for linear, scale in zip(self.layers, self.scales, strict=True):
            x = self.named["gate"](linear(x)) * self.named["cell"](x) * scale
        return x + self.shifts["a"]


case("containers", _Lists, (2, 6), layers="ModuleList ModuleDict ParameterList ParameterDict")

ABSENT: dict[str, str] = {
    "AdaptiveLogSoftmaxWithLoss": "the rows that each cluster gets depend on the labels, and so do the trace's sizes",
    "CTCLoss": "ONNX has no such operator; it is for training",
    "FractionalMaxPool2d": "draws where its windows begin, so two runs have nothing to compare",
    "FractionalMaxPool3d": "draws where its windows begin, so two runs have nothing to compare",
    "LinearCrossEntropyLoss": "a loss over chunks, for training",
    "MultiLabelMarginLoss": "the labels of a row end at the first -1, for which ONNX has no operator",
    "MaxUnpool1d": "MaxUnpool of ONNX takes indices over the whole tensor, the engine's are for one plane",
    "MaxUnpool2d": "MaxUnpool of ONNX takes indices over the whole tensor, the engine's are for one plane",
    "MaxUnpool3d": "MaxUnpool of ONNX takes indices over the whole tensor, the engine's are for one plane",
}
# Names other than layers, or whose layer is another one after its first call.
NOT_LAYERS = frozenset(
    [
        "Any",
        "Buffer",
        "Container",
        "LinearCrossEntropyOptions",
        "Module",
        "Parameter",
        "RNNBase",
        "RNNCellBase",
        "UninitializedBuffer",
        "UninitializedParameter",
    ]
)
