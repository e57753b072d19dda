"""Every layer of `engine.nn` with inputs: (name, how it is made, its inputs).

A layer that is chosen by another argument than its neighbours stands here once for each way.
"""

import engine
from engine import nn


def rand(*shape):
    """The same numbers each time, without ties."""
    return engine.sin(engine.arange(float(engine.Size(shape).numel())) * 1.7 + 0.3).view(shape)


ROWS, STEPS, LABELS = rand(3, 4), rand(5, 3, 4), engine.tensor([0, 1, 2])
SERIES, IMAGE, VOLUME = rand(2, 4, 6), rand(2, 4, 6, 6), rand(2, 4, 4, 6, 6)
SIGNS = engine.tensor([1.0, -1.0, 1.0])
HIDE = engine.tensor([[False, False, True], [False, True, True], [False, False, False]])
CAUSAL = nn.Transformer.generate_square_subsequent_mask(5)
_POINTWISE = (
    "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish "
    "ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink"
)


def _unpooled(dims):
    pool = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True)
    return pool({1: SERIES, 2: IMAGE, 3: VOLUME}[dims])


def _of_dims(dims, x):
    """The layers that are there for one, two and three dimensions."""
    d = f"{dims}d"

    def layer(name, *args, **options):
        kind = getattr(nn, name + d)
        text = ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in options.items())])
        return f"{name}{d}({text})", (lambda: kind(*args, **options)), (x,)

    narrow = tuple(range(2, 2 + dims))
    yield layer("Conv", 4, 2, 3)
    yield layer("Conv", 4, 2, 3, padding=1, stride=2, bias=False)
    yield layer("Conv", 4, 4, 3, padding="same", groups=2, dilation=2)
    yield layer("ConvTranspose", 4, 2, 3, stride=2, output_padding=1)
    for mode in ("reflect", "replicate", "circular", "zeros"):
        yield layer("Conv", 4, 2, 3, padding=1, padding_mode=mode)
    yield layer("MaxPool", 2)
    yield layer("MaxPool", 3, stride=1, padding=1, return_indices=True)
    yield layer("AvgPool", 2)
    yield layer("AvgPool", 3, stride=1, padding=1, count_include_pad=False)
    yield layer("LPPool", 2, 2)
    yield layer("AdaptiveAvgPool", narrow if dims > 1 else 2)
    yield layer("AdaptiveMaxPool", 2)
    yield layer("AdaptiveMaxPool", 2, return_indices=True)
    yield layer("BatchNorm", 4)
    yield layer("BatchNorm", 4, momentum=None, affine=False)
    yield layer("BatchNorm", 4, track_running_stats=False)
    yield layer("InstanceNorm", 4)
    yield layer("InstanceNorm", 4, affine=True, track_running_stats=True)
    yield layer("ConstantPad", 1, 0.5)
    yield layer("ZeroPad", 1)
    yield layer("ReflectionPad", 1)
    yield layer("ReplicationPad", 1)
    yield layer("CircularPad", 1)
    if dims > 1:
        torn = _seeds_drawn(nn, "FractionalMaxPool" + d, dims)
        yield f"FractionalMaxPool{d}", torn, (x,)
    pooled, places = _unpooled(dims)
    yield f"MaxUnpool{d}", (lambda: getattr(nn, "MaxUnpool" + d)(2)), (pooled, places)


def _seeds_drawn(space, name, dims):
    """A fractional pool whose samples are given, so that it does not draw."""
    kind = getattr(space, name)
    return lambda: kind(2, output_size=3, _random_samples=engine.full((2, 4, dims), 0.4))


def _all_layers():
    for name in _POINTWISE.split():
        yield name, getattr(nn, name), (ROWS,)
    yield "GELU(tanh)", (lambda: nn.GELU("tanh")), (ROWS,)
    yield "ReLU(inplace)", (lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))), (ROWS,)
    yield "GLU", nn.GLU, (ROWS,)
    yield "Threshold", (lambda: nn.Threshold(0.1, 0.2)), (ROWS,)
    yield "PReLU", nn.PReLU, (ROWS,)
    yield "PReLU(4)", (lambda: nn.PReLU(4)), (ROWS,)
    yield "RReLU", (lambda: nn.RReLU().eval()), (ROWS,)
    for name in ("Softmax", "LogSoftmax", "Softmin"):
        yield name, (lambda name=name: getattr(nn, name)(1)), (ROWS,)
    yield "Softmax2d", nn.Softmax2d, (IMAGE,)
    yield "Linear", (lambda: nn.Linear(4, 3)), (ROWS,)
    yield "Linear(bias=False)", (lambda: nn.Linear(4, 3, bias=False)), (STEPS,)
    yield "Bilinear", (lambda: nn.Bilinear(4, 4, 2)), (ROWS, ROWS)
    for dims, x in ((1, SERIES), (2, IMAGE), (3, VOLUME)):
        yield from _of_dims(dims, x)
        yield f"Dropout{dims}d", (lambda dims=dims: getattr(nn, f"Dropout{dims}d")().eval()), (x,)
    for name in ("Dropout", "AlphaDropout", "FeatureAlphaDropout"):
        yield name, (lambda name=name: getattr(nn, name)().eval()), (IMAGE,)
    yield "LayerNorm", (lambda: nn.LayerNorm(4)), (ROWS,)
    yield "LayerNorm(two)", (lambda: nn.LayerNorm([3, 4], elementwise_affine=False)), (STEPS,)
    yield "GroupNorm", (lambda: nn.GroupNorm(2, 4)), (IMAGE,)
    yield "RMSNorm", (lambda: nn.RMSNorm(4)), (ROWS,)
    yield "LocalResponseNorm", (lambda: nn.LocalResponseNorm(3)), (IMAGE,)
    yield "CrossMapLRN2d", (lambda: nn.CrossMapLRN2d(3)), (IMAGE,)
    yield "SyncBatchNorm", (lambda: nn.SyncBatchNorm(IMAGE.shape[1])), (IMAGE,)
    yield "Embedding", (lambda: nn.Embedding(5, 3)), (LABELS,)
    yield "Embedding(padding)", (lambda: nn.Embedding(5, 3, padding_idx=1, max_norm=1.0)), (LABELS,)
    for mode in ("sum", "mean", "max"):
        pairs = engine.tensor([[0, 1], [2, 4], [3, 3]])
        yield (
            f"EmbeddingBag({mode})",
            (lambda mode=mode: nn.EmbeddingBag(5, 3, mode=mode)),
            (pairs,),
        )
    yield (
        "EmbeddingBag(offsets)",
        (lambda: nn.EmbeddingBag(5, 3, include_last_offset=True)),
        (LABELS, engine.tensor([0, 2, 3])),
    )
    yield "Flatten", nn.Flatten, (IMAGE,)
    yield "Unflatten", (lambda: nn.Unflatten(1, (2, 2))), (ROWS,)
    yield "Fold", (lambda: nn.Fold((4, 4), 2)), (rand(2, 8, 9),)
    yield "Unfold", (lambda: nn.Unfold(2, padding=1)), (IMAGE,)
    yield "PixelShuffle", (lambda: nn.PixelShuffle(2)), (IMAGE,)
    yield "PixelUnshuffle", (lambda: nn.PixelUnshuffle(2)), (IMAGE,)
    yield "ChannelShuffle", (lambda: nn.ChannelShuffle(2)), (IMAGE,)
    yield "CosineSimilarity", nn.CosineSimilarity, (ROWS, ROWS + 1)
    yield "PairwiseDistance", nn.PairwiseDistance, (ROWS, ROWS + 1)
    yield "Upsample(size)", (lambda: nn.Upsample(size=9)), (IMAGE,)
    yield "Upsample(sizes)", (lambda: nn.Upsample(size=(3, 7))), (IMAGE,)
    yield "Upsample(scale)", (lambda: nn.Upsample(scale_factor=2)), (SERIES,)
    yield "Upsample(scales)", (lambda: nn.Upsample(scale_factor=(2.0, 1.5))), (IMAGE,)
    for mode, x in (("linear", SERIES), ("bilinear", IMAGE), ("bicubic", IMAGE), ("area", IMAGE)):
        yield f"Upsample({mode})", (lambda m=mode: nn.Upsample(scale_factor=1.5, mode=m)), (x,)
    yield (
        "Upsample(trilinear)",
        (lambda: nn.Upsample(size=(5, 5, 3), mode="trilinear", align_corners=True)),
        (VOLUME,),
    )
    yield "Upsample(nearest-exact)", (lambda: nn.Upsample(size=9, mode="nearest-exact")), (IMAGE,)
    yield (
        "Upsample(recompute)",
        (lambda: nn.Upsample(scale_factor=1.3, mode="bilinear", recompute_scale_factor=True)),
        (IMAGE,),
    )
    yield "UpsamplingNearest2d", (lambda: nn.UpsamplingNearest2d(scale_factor=2)), (IMAGE,)
    yield "UpsamplingBilinear2d", (lambda: nn.UpsamplingBilinear2d(size=(4, 9))), (IMAGE,)


def _losses():
    other, chances = ROWS * 0.5 + 1, ROWS.sigmoid()
    for reduction in ("mean", "sum", "none"):
        for name, inputs in {
            "L1Loss": (ROWS, other),
            "MSELoss": (ROWS, other),
            "HuberLoss": (ROWS, other),
            "SmoothL1Loss": (ROWS, other),
            "BCELoss": (chances, chances.detach().flip(0)),
            "BCEWithLogitsLoss": (ROWS, chances.detach()),
            "CrossEntropyLoss": (ROWS, LABELS),
            "NLLLoss": (ROWS.log_softmax(1), LABELS),
            "NLLLoss2d": (IMAGE.log_softmax(1), engine.ones(2, 6, 6, dtype=engine.int64)),
            "KLDivLoss": (ROWS.log_softmax(1), chances.detach()),
            "PoissonNLLLoss": (ROWS, chances.detach()),
            "GaussianNLLLoss": (ROWS, other, chances + 0.1),
            "CosineEmbeddingLoss": (ROWS, other, SIGNS),
            "HingeEmbeddingLoss": (ROWS, SIGNS[:, None].expand(3, 4)),
            "MarginRankingLoss": (ROWS[:, 0], ROWS[:, 1], SIGNS),
            "MultiLabelMarginLoss": (ROWS, engine.tensor([[1, -1, 0, 2]] * 3)),
            "MultiLabelSoftMarginLoss": (ROWS, (ROWS > 0).float()),
            "MultiMarginLoss": (ROWS, LABELS),
            "SoftMarginLoss": (ROWS, SIGNS[:, None].expand(3, 4)),
            "TripletMarginLoss": (ROWS, other, ROWS.flip(0)),
            "TripletMarginWithDistanceLoss": (ROWS, other, ROWS.flip(0)),
        }.items():
            kind = getattr(nn, name)
            yield f"{name}({reduction})", (lambda k=kind, r=reduction: k(reduction=r)), inputs
    weight = engine.tensor([0.5, 1.0, 2.0, 1.5])
    yield (
        "CrossEntropyLoss(weight)",
        (lambda: nn.CrossEntropyLoss(weight=weight, label_smoothing=0.1, ignore_index=1)),
        (ROWS, LABELS),
    )
    yield "CrossEntropyLoss(chances)", nn.CrossEntropyLoss, (ROWS, chances.detach())
    yield (
        "CTCLoss",
        (lambda: nn.CTCLoss(zero_infinity=True)),
        (
            rand(6, 2, 4).log_softmax(2),
            engine.tensor([[1, 2], [3, 1]]),
            engine.tensor([6, 5]),
            engine.tensor([2, 2]),
        ),
    )
    yield (
        "AdaptiveLogSoftmaxWithLoss",
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2, 4], div_value=2.0)),
        (rand(4, 8), engine.tensor([0, 3, 5, 1])),
    )


def _recurrent():
    yield "RNNCell", (lambda: nn.RNNCell(4, 3)), (ROWS,)
    yield "RNNCell(relu)", (lambda: nn.RNNCell(4, 3, nonlinearity="relu")), (ROWS, rand(3, 3))
    yield "GRUCell", (lambda: nn.GRUCell(4, 3)), (ROWS[0], rand(3))
    yield "LSTMCell", (lambda: nn.LSTMCell(4, 3)), (ROWS, (rand(3, 3), rand(3, 3) * 2))
    yield "RNN", (lambda: nn.RNN(4, 3, num_layers=2, bidirectional=True)), (STEPS,)
    yield "RNN(relu)", (lambda: nn.RNN(4, 3, nonlinearity="relu", bias=False)), (STEPS,)
    yield "GRU", (lambda: nn.GRU(4, 3, batch_first=True)), (STEPS, rand(1, 5, 3))
    yield "LSTM", (lambda: nn.LSTM(4, 3)), (STEPS,)
    state = (rand(1, 2), rand(1, 3))
    yield "LSTM(proj_size)", (lambda: nn.LSTM(4, 3, proj_size=2)), (STEPS[:, 0], state)


def _attention():
    heads = nn.MultiheadAttention
    memory = rand(6, 3, 4) * 0.7
    yield "MultiheadAttention", (lambda: heads(4, 2)), (STEPS, STEPS, STEPS)
    yield "MultiheadAttention(others)", (lambda: heads(4, 2)), (STEPS, memory, memory + 1)
    yield (
        "MultiheadAttention(kdim)",
        (lambda: heads(4, 2, kdim=3, vdim=5, bias=False)),
        (STEPS, rand(6, 3, 3), rand(6, 3, 5)),
    )
    yield (
        "MultiheadAttention(batch_first)",
        (lambda: heads(4, 2, batch_first=True, add_bias_kv=True, add_zero_attn=True)),
        (STEPS, STEPS, STEPS, HIDE[engine.tensor([0, 1, 2, 0, 1])]),
    )
    yield (
        "MultiheadAttention(masks)",
        (lambda: heads(4, 2)),
        (STEPS, STEPS, STEPS, None, True, CAUSAL, False),
    )
    yield "MultiheadAttention(fast)", (lambda: heads(4, 2)), (STEPS, STEPS, STEPS, None, False)
    yield (
        "MultiheadAttention(causal)",
        (lambda: heads(4, 2)),
        (STEPS, STEPS, STEPS, None, False, CAUSAL, True, True),
    )
    yield "MultiheadAttention(one)", (lambda: heads(4, 2)), (STEPS[:, 0], STEPS[:, 0], STEPS[:, 0])
    small = {"dim_feedforward": 6, "dropout": 0.0}

    def encoder(**options):
        return nn.TransformerEncoderLayer(4, 2, **small, **options)

    def decoder(**options):
        return nn.TransformerDecoderLayer(4, 2, **small, **options)

    yield "TransformerEncoderLayer", encoder, (STEPS,)
    yield (
        "TransformerEncoderLayer(norm_first)",
        (lambda: encoder(norm_first=True, activation="gelu", batch_first=True)),
        (STEPS,),
    )
    yield "TransformerEncoderLayer(mask)", encoder, (STEPS, CAUSAL)
    yield "TransformerDecoderLayer", decoder, (STEPS, memory)
    yield (
        "TransformerDecoderLayer(norm_first)",
        (lambda: decoder(norm_first=True)),
        (STEPS, memory, CAUSAL),
    )
    yield "TransformerEncoder", (lambda: nn.TransformerEncoder(encoder(), 2)), (STEPS,)
    yield (
        "TransformerEncoder(norm)",
        (lambda: nn.TransformerEncoder(encoder(), 2, nn.LayerNorm(4))),
        (STEPS, CAUSAL),
    )
    yield "TransformerDecoder", (lambda: nn.TransformerDecoder(decoder(), 2)), (STEPS, memory)
    yield (
        "Transformer",
        (lambda: nn.Transformer(4, 2, 1, 1, **small)),
        (memory, STEPS, None, CAUSAL),
    )


class OverDict(nn.Module):
    """Iteration over containers of parameters and modules."""

    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterDict({"a": nn.Parameter(ROWS * 2), "b": nn.Parameter(ROWS + 1)})
        self.more = nn.ParameterList([nn.Parameter(ROWS), nn.Parameter(ROWS - 2)])
        self.parts = nn.ModuleDict({"one": nn.Linear(4, 4), "two": nn.Tanh()})
        self.rest = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])

    def forward(self, x):
        for part in self.parts.values():
            x = part(x)
        for one in self.rest:
            x = one(x)
        return x * self.weights["a"] + self.weights["b"] * self.more[0] - self.more[1]


def _containers():
    yield "Sequential", (lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU())), (ROWS,)
    yield "containers", OverDict, (ROWS,)


LAYERS = {
    name: (make, inputs)
    for table in (_all_layers(), _losses(), _recurrent(), _attention(), _containers())
    for name, make, inputs in table
}
