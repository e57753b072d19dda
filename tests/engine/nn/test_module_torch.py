"""Every layer against PyTorch's, with PyTorch's own samples and with those of the table here."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import pytest
from module_tools import assert_equal, doubles, module_database, named, ours, tensors

import engine
from engine import nn

torch = pytest.importorskip("torch")

# What the samples have and the engine does not: a loss in one piece with its linear layer, for memory.
ABSENT = {"LinearCrossEntropyLoss"}
NAMES = [
    info.name.removeprefix("nn.")
    for info in module_database()
    if info.name.removeprefix("nn.") not in ABSENT | set(nn.modules.LATER)
]


def samples(name: str, training: bool) -> list[Any]:
    info = next(info for info in module_database() if info.name == f"nn.{name}")
    result = info.module_inputs_func(
        info, device="cpu", dtype=torch.float64, requires_grad=False, training=training
    )
    return [(s.constructor_input, s.forward_input) for s in result]


def built(name: str, build: Any, call: Any, training: bool) -> tuple[Any, Any]:
    """Return the engine's module and PyTorch's, with the same state."""
    own = getattr(nn, name)(*ours(build.args), **ours(build.kwargs))
    other = getattr(torch.nn, name)(*build.args, **build.kwargs)
    own.train(training)
    other.train(training)
    if name.startswith("Lazy"):  # sizes come with the first input
        own(*ours(call.args))
        other(*call.args)
    own.load_state_dict(ours(dict(other.state_dict())))
    return own, other


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_samples_of_pytorch(name: str, training: bool) -> None:
    with doubles():
        for number, (build, call) in enumerate(samples(name, training)):
            subject = f"{name} {number}: {build.args} {build.kwargs}"
            own, other = built(name, build, call, training)
            assert repr(own) == repr(other).replace("torch.", "engine."), subject
            assert list(own.state_dict()) == list(other.state_dict()), subject
            inputs = ours(tuple(call.args))
            actual, expected = own(*inputs, **ours(call.kwargs)), other(*call.args, **call.kwargs)
            assert_equal(actual, expected, subject)
            assert_equal(dict(own.state_dict()), dict(other.state_dict()), f"{subject}: state")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_copies_of_samples(name: str) -> None:
    """Copies compute the same, and so does a module that was in another dtype and came back."""
    with doubles():
        for build, call in samples(name, False):
            if name.startswith("Fractional") and "_random_samples" not in build.kwargs:
                continue  # drawn with every call
            own, _ = built(name, build, call, False)
            run = functools.partial(
                lambda call, module: module(*ours(tuple(call.args)), **ours(call.kwargs)), call
            )
            actual = run(own)
            for item in (copy.deepcopy(own), pickle.loads(pickle.dumps(own)), copy.copy(own)):
                assert repr(item) == repr(own)
                assert_equal(run(item), actual, name)
            assert_equal(run(copy.deepcopy(own).float().double()), actual, name, 1e-4, 1e-5)


def with_gradients(value: Any) -> Any:
    """Leaves that require gradients, of everything floating."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().clone().requires_grad_()
    if isinstance(value, (list, tuple)):
        return type(value)(map(with_gradients, value))
    return value


def gradients(output: Any, module: Any, inputs: Any) -> list[Any]:
    """Gradients of all parameters and inputs, of a number that all outputs go into."""
    outputs = [y for y in tensors(output) if y is not None and y.requires_grad]
    if not outputs:
        return []
    sum((y * y).sum() + y.sum() for y in outputs).backward()
    leaves = [x for x in tensors(inputs) if hasattr(x, "grad") and x.requires_grad]
    return [x.grad for x in [*module.parameters(), *leaves]]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_samples(name: str, training: bool) -> None:
    with doubles():
        for number, (build, call) in enumerate(samples(name, training)):
            if build.kwargs.get("inplace"):
                continue  # a leaf that requires gradients is not written in place
            subject = f"{name} {number}: {build.args} {build.kwargs}"
            own, other = built(name, build, call, training)
            inputs = tuple(call.args)
            last = 1 if name == "SoftMarginLoss" else len(inputs)  # its target takes no gradient
            inputs = (*with_gradients(inputs[:last]), *inputs[last:])
            arguments = ours(inputs)
            actual, expected = own(*arguments, **ours(call.kwargs)), other(*inputs, **call.kwargs)
            left, right = gradients(actual, own, arguments), gradients(expected, other, inputs)
            assert_equal(left, right, subject, 1e-6, 1e-8)


# ---- layers without samples there, and arguments that the samples leave out

CASES: dict[str, tuple[int, ...] | None] = {
    "Identity(3, a=1)": (2, 3),
    "Bilinear(3, 4, 5, bias=False)": None,
    "LazyLinear(3)": (2, 4),
    "Conv2d(4, 4, 3, padding='same', bias=False, groups=2)": (1, 4, 5, 6),
    "Conv1d(2, 2, 3, padding=1, dilation=2, padding_mode='circular')": (1, 2, 8),
    "Conv2d(2, 4, (3, 2), padding=(1, 1), padding_mode='reflect')": (2, 2, 6, 6),
    "Conv3d(2, 2, 2, stride=2, padding='valid', padding_mode='replicate')": (1, 2, 4, 4, 4),
    "ConvTranspose2d(2, 4, 3, output_padding=1, stride=2, groups=2)": (1, 2, 4, 4),
    "ConvTranspose1d(2, 3, 2, dilation=2, bias=False)": (2, 4),
    "LazyConv2d(4, 3, bias=False)": (1, 3, 5, 5),
    "LazyConvTranspose1d(4, 3, stride=2)": (1, 3, 5),
    "AvgPool2d(3, ceil_mode=True, divisor_override=2)": (1, 1, 7, 7),
    "AvgPool3d((1, 2, 3), divisor_override=3)": (1, 1, 4, 4, 6),
    "MaxPool2d((2, 3), return_indices=True)": (1, 2, 6, 6),
    "MaxPool1d(3, dilation=2, padding=1)": (1, 2, 9),
    "LPPool1d(2, 3)": (1, 2, 9),
    "LPPool2d(3., (2, 1), stride=1)": (1, 2, 4, 4),
    "AdaptiveAvgPool2d((None, 3))": (1, 2, 5, 7),
    "AdaptiveMaxPool1d(3, return_indices=True)": (1, 2, 7),
    "AdaptiveMaxPool3d((2, None, 1))": (1, 2, 3, 4, 5),
    "BatchNorm1d(3, bias=False)": (4, 3),
    "BatchNorm2d(3, momentum=None)": (2, 3, 2, 2),
    "BatchNorm2d(3, affine=False, track_running_stats=False)": (2, 3, 2, 2),
    "BatchNorm3d(2, momentum=0.5)": (2, 2, 2, 2, 2),
    "LazyBatchNorm1d()": (4, 3),
    "LazyBatchNorm3d(affine=False)": (2, 3, 2, 2, 2),
    "InstanceNorm1d(3)": (2, 3, 4),
    "InstanceNorm2d(3, affine=True, track_running_stats=True)": (2, 3, 4, 4),
    "InstanceNorm1d(3, affine=True, bias=False)": (3, 4),
    "LazyInstanceNorm2d()": (2, 3, 4, 4),
    "LayerNorm(3)": (2, 3),
    "LayerNorm((3, 4), bias=False, eps=1e-3)": (2, 3, 4),
    "LayerNorm(4, elementwise_affine=False)": (2, 3, 4),
    "GroupNorm(2, 4, bias=False)": (2, 4, 3),
    "GroupNorm(2, 4, affine=False)": (2, 4, 3),
    "RMSNorm((2, 3), eps=1e-3)": (2, 2, 3),
    "RMSNorm(3, elementwise_affine=False)": (2, 3),
    "LocalResponseNorm(2)": (1, 4, 3),
    "Threshold(0.1, 2)": (5,),
    "Threshold(0.1, 2, True)": (5,),
    "ReLU(True)": (5,),
    "RReLU(0.1, 0.2).eval()": (5,),
    "RReLU(0.1, 0.2, True).eval()": (5,),
    "Hardtanh(0, 1, True)": (5,),
    "ReLU6(True)": (5,),
    "Hardsigmoid()": (5,),
    "Hardsigmoid(True)": (5,),
    "Hardswish(True)": (5,),
    "SiLU(True)": (5,),
    "Mish(True)": (5,),
    "ELU(2., True)": (5,),
    "CELU(0.5, True)": (5,),
    "SELU(True)": (5,),
    "LeakyReLU(0.2, True)": (5,),
    "GLU(1)": (2, 4),
    "GELU('tanh')": (5,),
    "Softplus(2., 1.)": (5,),
    "PReLU(3, init=0.5)": (2, 3, 4),
    "Softmax(1)": (2, 3),
    "Softmax2d()": (2, 3, 2, 2),
    "LogSoftmax(-1)": (2, 3),
    "Softmin(0)": (2, 3),
    "Dropout(0.2, True).eval()": (4,),
    "Dropout1d().eval()": (2, 3, 4),
    "Dropout2d(0.).train()": (2, 3, 4, 4),
    "Dropout3d(1.).train()": (2, 3, 4, 4, 2),
    "AlphaDropout(inplace=True).eval()": (4,),
    "FeatureAlphaDropout().eval()": (2, 3, 4),
    "Flatten()": (2, 3, 4),
    "Flatten(0, 1)": (2, 3, 4),
    "Unflatten(1, (2, 3))": (2, 6),
    "Fold(4, 2, stride=2)": (1, 8, 4),
    "Unfold((2, 3), padding=1)": (1, 2, 4, 5),
    "Upsample(scale_factor=2)": (1, 2, 3),
    "Upsample((4, 5), mode='bilinear')": (1, 2, 3, 3),
    "Upsample(scale_factor=(1.5, 2.), mode='bicubic', align_corners=True)": (1, 1, 4, 4),
    "UpsamplingBilinear2d(scale_factor=2)": (1, 2, 3, 3),
    "UpsamplingNearest2d((5, 4))": (1, 2, 3, 3),
    "PixelShuffle(2)": (1, 8, 2, 3),
    "PixelUnshuffle(2)": (1, 2, 4, 6),
    "ChannelShuffle(2)": (1, 6, 2, 2),
    "ZeroPad1d(1)": (2, 3),
    "ZeroPad2d((1, 2, 0, 1))": (1, 2, 3, 3),
    "ConstantPad1d(2, 3.5)": (1, 2, 3),
    "ConstantPad3d(1, 3)": (1, 2, 3, 3, 3),
    "CircularPad2d((1, 0, 2, 1))": (1, 2, 3, 3),
    "ReflectionPad2d(1)": (2, 3, 3),
    "CosineSimilarity()": None,
    "PairwiseDistance(1, keepdim=True)": None,
    "CTCLoss(1)": None,
    "NLLLoss2d()": None,
    "TripletMarginLoss(swap=True)": None,
    "TripletMarginWithDistanceLoss()": None,
    "EmbeddingBag(3, 4)": None,
    "EmbeddingBag(3, 4, 1., 3, True, 'sum', True, padding_idx=-1)": None,
    "Embedding(3, 4, 1, 1., 3., True, True)": None,
    "AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.)": None,
    "MaxUnpool1d(2)": None,
    "MaxUnpool3d(2, padding=(0, 1, 0))": None,
    "FractionalMaxPool2d(2, output_ratio=(0.5, 0.6))": None,
    "Sequential()": (3,),
    "Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1, bias=False))": (4, 3),
    "ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 2)])": None,
    "ModuleDict({'a': nn.Sequential(nn.ReLU()), 'b': nn.Tanh()})": None,
}


def layer_of(text: str, library: Any) -> Any:
    return eval(
        text, {"nn": library.nn}, {name: getattr(library.nn, name) for name in named_in(text)}
    )


def named_in(text: str) -> list[str]:
    return [text.partition("(")[0]]


@pytest.mark.parametrize("text", CASES)
@pytest.mark.filterwarnings("ignore")
def test_layer(text: str) -> None:
    shape = CASES[text]
    with doubles():
        own, other = layer_of(text, engine), layer_of(text, torch)
        if text.startswith("Lazy"):
            x = torch.randn(shape)
            own(ours(x))
            other(x)
        assert repr(own) == repr(other)
        assert own.training == other.training
        assert vars(own).keys() - vars(other).keys() <= {"_hooks"}, (
            "other attributes than PyTorch's"
        )
        state = other.state_dict()
        assert list(own.state_dict()) == list(state)
        for name, tensor in own.state_dict().items():
            assert tuple(tensor.shape) == tuple(state[name].shape)
        own.load_state_dict(ours(dict(state)))
        if shape is None:
            return
        x = torch.randn(shape)
        first, second = x.clone(), ours(x)
        assert_equal(own(second), other(first), text)
        assert_equal(second, first, f"{text}: the input afterwards")
        own.eval()
        other.eval()
        assert_equal(own(ours(x)), other(x), f"{text}.eval()")


@pytest.mark.filterwarnings("ignore:.*NLLLoss2d")
def test_two_inputs() -> None:
    with doubles():
        for text, inputs in {
            "Bilinear(3, 4, 5, bias=False)": (torch.randn(2, 3), torch.randn(2, 4)),
            "CosineSimilarity(0)": (torch.randn(2, 3), torch.randn(2, 3)),
            "PairwiseDistance(1, keepdim=True)": (torch.randn(2, 3), torch.randn(2, 3)),
            "TripletMarginLoss(swap=True)": tuple(torch.randn(3, 2, 3)),
            "TripletMarginWithDistanceLoss(swap=True, reduction='sum')": tuple(
                torch.randn(3, 2, 3)
            ),
            "EmbeddingBag(5, 4)": (torch.tensor([0, 2, 4, 4]), torch.tensor([0, 3])),
            "EmbeddingBag(5, 4, mode='max', padding_idx=0)": (torch.tensor([[0, 2], [4, 4]]),),
            "Embedding(5, 4, 1)": (torch.tensor([[1, 2], [0, 4]]),),
            "NLLLoss2d()": (torch.randn(2, 3, 2, 2), torch.randint(3, (2, 2, 2))),
            "CTCLoss()": (
                torch.randn(6, 2, 4).log_softmax(2),
                torch.randint(1, 4, (2, 3)),
                (6, 5),
                (3, 2),
            ),
        }.items():
            own, other = layer_of(text, engine), layer_of(text, torch)
            own.load_state_dict(ours(dict(other.state_dict())))
            assert_equal(own(*ours(inputs)), other(*inputs), text)


def test_adaptive_softmax() -> None:
    with doubles():
        text = "AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2., head_bias=True)"
        own, other = layer_of(text, engine), layer_of(text, torch)
        own.load_state_dict(ours(dict(other.state_dict())))
        x, y = torch.randn(7, 8), torch.tensor([0, 4, 5, 9, 10, 19, 3])
        assert_equal(tuple(own(ours(x), ours(y))), tuple(other(x, y)), text)
        assert_equal(tuple(own(ours(x[0]), ours(y[0]))), tuple(other(x[0], y[0])), "unbatched")
        assert_equal(own.log_prob(ours(x)), other.log_prob(x), "log_prob")
        assert_equal(own.predict(ours(x)), other.predict(x), "predict")
        with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\]"):
            own(ours(x), ours(y) + 1)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_undoes_pooling(dims: int) -> None:
    with doubles():
        x = torch.randn(2, 3, *[4] * dims)
        target = [
            getattr(library.nn, f"MaxPool{dims}d")(2, return_indices=True)
            for library in (engine, torch)
        ]
        back = [getattr(library.nn, f"MaxUnpool{dims}d")(2) for library in (engine, torch)]
        assert_equal(back[0](*target[0](ours(x))), back[1](*target[1](x)), f"MaxUnpool{dims}d")
        size = [2, 3, *[5] * dims]
        actual = back[0](*target[0](ours(x)), output_size=size)
        assert_equal(actual, back[1](*target[1](x), output_size=size), "output_size")


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_pooling(dims: int) -> None:
    with doubles():
        x, drawn = torch.randn(2, 3, *range(7, 7 + dims)), torch.rand(2, 3, dims)
        options: dict[str, Any] = {"output_size": tuple(range(3, 3 + dims)), "return_indices": True}
        name = f"FractionalMaxPool{dims}d"
        own = getattr(nn, name)(2, _random_samples=ours(drawn), **options)
        other = getattr(torch.nn, name)(2, _random_samples=drawn, **options)
        assert_equal(own(ours(x)), other(x), name)
        own = getattr(nn, name)(2, output_ratio=0.5)
        assert tuple(own(ours(x)).shape) == (2, 3, *[size // 2 for size in x.shape[2:]])


def test_every_class_is_there() -> None:
    """All of torch.nn is here, except for layers of several machines and those no longer documented."""
    other = {
        name
        for name in torch.nn.modules.__all__
        if not name.startswith("Linear") or name == "Linear"
    }
    missing = (
        other - set(nn.modules.__all__) - set(nn.modules.LATER) - {"SyncBatchNorm", "CrossMapLRN2d"}
    )
    assert not missing
    assert named("engine").nn is nn
