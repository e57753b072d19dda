"""Layers without PyTorch to compare with: initial values, known results, arguments that are refused."""

from __future__ import annotations

import doctest
import importlib
import math
from typing import Any

import pytest

import engine
from engine import nn

MODULES = sorted(
    {getattr(nn, name).__module__ for name in nn.modules.__all__}
    | {f"engine.nn.{name}" for name in ("conversion", "parameter", "state_dict", "traversal")}
)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={"engine": engine}).failed == 0


# ---- first values: PyTorch's formulas


def assert_even(tensor: Any, bound: float) -> None:
    """Drawn evenly from [-bound, bound)."""
    assert float(tensor.min()) >= -bound
    assert float(tensor.max()) < bound
    assert float(tensor.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.1)
    assert abs(float(tensor.detach().mean())) < 0.1 * bound


@pytest.mark.parametrize(
    ("layer", "fan_in"),
    [
        (lambda: nn.Linear(50, 400), 50),
        (lambda: nn.Conv1d(10, 400, 5), 50),
        (lambda: nn.Conv2d(12, 400, 3, groups=2), 54),
        (lambda: nn.Conv3d(4, 400, 2), 32),
        (lambda: nn.ConvTranspose1d(20, 400, 3), 1200),
        (lambda: nn.ConvTranspose2d(20, 400, 2, groups=4), 400),
    ],
)
def test_first_values_of_layers_with_weights(layer: Any, fan_in: int) -> None:
    engine.manual_seed(0)
    result = layer()
    assert_even(result.weight, 1 / math.sqrt(fan_in))
    assert_even(result.bias, 1 / math.sqrt(fan_in))
    engine.manual_seed(0)
    assert layer().weight.tolist() == result.weight.tolist(), "the generator decides"
    result.reset_parameters()
    assert layer().weight.tolist() != result.weight.tolist()


def test_other_first_values() -> None:
    engine.manual_seed(0)
    module = nn.Bilinear(25, 10, 400)
    assert_even(module.weight, 0.2)
    assert_even(module.bias, 0.2)
    table = nn.Embedding(500, 20, padding_idx=-1)
    assert table.padding_idx == 499
    assert table.weight[499].tolist() == [0.0] * 20
    assert float(table.weight.detach().std()) == pytest.approx(1, rel=0.05)
    norm = nn.BatchNorm1d(2)
    assert norm.weight.tolist() == norm.running_var.tolist() == [1.0, 1.0]
    assert norm.bias.tolist() == norm.running_mean.tolist() == [0.0, 0.0]
    assert norm.num_batches_tracked.item() == 0
    assert norm.num_batches_tracked.dtype is engine.int64
    for layer in (nn.LayerNorm((2, 1)), nn.GroupNorm(1, 2), nn.RMSNorm(2)):
        assert layer.weight.flatten().tolist() == [1.0, 1.0]
    assert nn.PReLU(2, 0.5).weight.tolist() == [0.5, 0.5]


def test_dtype_and_device() -> None:
    for item in (
        nn.Linear(2, 3, dtype=engine.float64),
        nn.Conv2d(2, 3, 1, dtype=engine.float64),
        nn.BatchNorm2d(2, dtype=engine.float64),
        nn.LayerNorm(2, dtype=engine.float64),
        nn.Embedding(2, 3, dtype=engine.float64),
        nn.PReLU(dtype=engine.float64),
    ):
        assert {tensor.dtype for tensor in item.parameters()} == {engine.float64}
    item = nn.BatchNorm2d(2, device="meta")
    assert all(tensor.is_meta for tensor in item.state_dict().values())


# ---- statistics


def test_running_statistics() -> None:
    norm = nn.BatchNorm1d(1, momentum=0.5)
    norm(engine.tensor([[1.0], [3.0]]))
    assert norm.running_mean.tolist() == [1.0]
    assert norm.running_var.tolist() == [1.5]  # the batch's, with Bessel's correction, is 2
    assert norm.num_batches_tracked.item() == 1
    norm.eval()
    out = norm(engine.tensor([[1.0]]))
    assert out.tolist() == [[0.0]]
    assert norm.num_batches_tracked.item() == 1
    norm.reset_running_stats()
    assert norm.running_mean.tolist() == [0.0]
    means = nn.BatchNorm1d(1, momentum=None)
    for value in (1.0, 2.0, 6.0):
        means(engine.tensor([[value], [value]]))
    assert means.running_mean.tolist() == [3.0]


def test_batches_of_one_value() -> None:
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        nn.BatchNorm1d(2)(engine.ones(1, 2))
    with pytest.raises(ValueError, match="eps must be positive during training"):
        nn.BatchNorm1d(2, eps=0.0)(engine.ones(3, 2))
    with pytest.raises(ValueError, match="eps must be non-negative"):
        nn.BatchNorm2d(2, eps=-1.0).eval()(engine.ones(1, 2, 1, 1))
    assert tuple(nn.BatchNorm1d(2).eval()(engine.ones(1, 2)).shape) == (1, 2)


# ---- at random


def test_dropout() -> None:
    engine.manual_seed(0)
    layer = nn.Dropout(0.25)
    actual = layer(engine.ones(10000))
    assert set(actual.tolist()) == {0.0, float(engine.tensor(1 / 0.75))}
    assert float(actual.mean()) == pytest.approx(1, abs=0.03)
    x = engine.ones(3)
    assert layer.eval()(x) is x or layer(x).tolist() == [1.0] * 3
    written = engine.ones(1000)
    assert nn.Dropout(0.5, inplace=True)(written) is written
    assert 0.0 in written.tolist()


@pytest.mark.parametrize(
    ("dims", "layer"), [(1, nn.Dropout1d), (2, nn.Dropout2d), (3, nn.Dropout3d)]
)
def test_dropout_of_channels(dims: int, layer: Any) -> None:
    engine.manual_seed(0)
    actual = layer(0.5)(engine.ones(50, 20, *[2] * dims)).flatten(2)
    assert actual.min(2).values.tolist() == actual.max(2).values.tolist(), "channels are whole"
    assert set(actual.flatten().tolist()) == {0.0, 2.0}


def test_rrelu() -> None:
    engine.manual_seed(0)
    slopes = -nn.RReLU(0.25, 0.5)(-engine.ones(1000))
    assert float(slopes.min()) >= 0.25
    assert float(slopes.max()) < 0.5
    assert float(slopes.std()) > 0.05


# ---- refusals


@pytest.mark.parametrize(
    ("error", "text", "make"),
    [
        (
            ValueError,
            "in_channels must be divisible by groups",
            lambda: nn.Conv2d(3, 4, 1, groups=2),
        ),
        (ValueError, "out_channels must be divisible", lambda: nn.Conv2d(4, 3, 1, groups=2)),
        (ValueError, "groups must be a positive integer", lambda: nn.Conv2d(4, 4, 1, groups=0)),
        (ValueError, "Invalid padding string 'all'", lambda: nn.Conv1d(1, 1, 1, padding="all")),
        (ValueError, "not supported for strided", lambda: nn.Conv1d(1, 1, 1, 2, padding="same")),
        (ValueError, "padding_mode must be one of", lambda: nn.Conv1d(1, 1, 1, padding_mode="x")),
        (
            ValueError,
            'Only "zeros" padding mode is supported for ConvTranspose1d',
            lambda: nn.ConvTranspose1d(1, 1, 1, padding_mode="reflect"),
        ),
        (ValueError, "in1_features must be > 0, but got 0", lambda: nn.Bilinear(0, 1, 1)),
        (ValueError, r"num_channels \(3\) must be divisible", lambda: nn.GroupNorm(2, 3)),
        (ValueError, "dropout probability has to be between 0 and 1", lambda: nn.Dropout(1.5)),
        (AssertionError, "Padding_idx must be within", lambda: nn.Embedding(2, 3, padding_idx=2)),
        (
            AssertionError,
            "padding_idx must be within",
            lambda: nn.EmbeddingBag(2, 3, padding_idx=-3),
        ),
        (AssertionError, "must be greater than min_val", lambda: nn.Hardtanh(1, 1)),
        (TypeError, "must be a tuple of ints, but found type int", lambda: nn.Unflatten(0, 4)),
        (TypeError, "found element of type str at pos 1", lambda: nn.Unflatten(0, (1, "2"))),
        (ValueError, "requires specifying either", lambda: nn.FractionalMaxPool2d(2)),
        (ValueError, "only one of output_size", lambda: nn.FractionalMaxPool2d(2, 1, 0.5)),
        (ValueError, "output_ratio must be between", lambda: nn.FractionalMaxPool3d(2, None, 2.0)),
        (ValueError, "only p == 1 and p == 2", lambda: nn.MultiMarginLoss(3)),
        (ValueError, "expected margin to be greater than 0", lambda: nn.TripletMarginLoss(0)),
        (TypeError, "delta must be a float or int", lambda: nn.HuberLoss(delta="x")),  # type: ignore[arg-type]
        (
            ValueError,
            "cutoffs should be a sequence",
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 9, []),
        ),
        (ValueError, "unique, positive", lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 9, [5, 3])),
    ],
)
def test_arguments_that_are_refused(error: type[Exception], text: str, make: Any) -> None:
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    ("error", "text", "layer", "shape"),
    [
        (ValueError, r"expected 2D or 3D input \(got 4D input\)", nn.BatchNorm1d(2), (1, 2, 1, 1)),
        (ValueError, r"expected 4D input \(got 3D input\)", nn.BatchNorm2d(2), (1, 2, 1)),
        (ValueError, r"expected 3D or 4D input \(got 2D input\)", nn.InstanceNorm2d(2), (1, 2)),
        (
            ValueError,
            r"expected input's size at dim=1 to match num_features \(2\), but got: 3",
            nn.InstanceNorm1d(2, affine=True),
            (1, 3, 4),
        ),
        (ValueError, "expected input to be 3D or 4D, got 2D", nn.Softmax2d(), (1, 2)),
    ],
)
def test_inputs_that_are_refused(
    error: type[Exception], text: str, layer: Any, shape: tuple[int, ...]
) -> None:
    with pytest.raises(error, match=text):
        layer(engine.ones(shape))


def test_sizes_of_transposed_convolutions() -> None:
    layer = nn.ConvTranspose1d(1, 1, 3, stride=2)
    assert tuple(layer(engine.ones(1, 1, 4)).shape) == (1, 1, 9)
    assert tuple(layer(engine.ones(1, 1, 4), output_size=[10]).shape) == (1, 1, 10)
    with pytest.raises(ValueError, match=r"valid sizes range from \[9\] to \[10\]"):
        layer(engine.ones(1, 1, 4), output_size=[11])
    with pytest.raises(ValueError, match="output_size must have 1 or 3 elements"):
        layer(engine.ones(1, 1, 4), output_size=[1, 2])


# ---- what a layer reads


def test_weights_may_be_plain_tensors() -> None:
    """Weight normalisation deletes the Parameter and gives its name to a tensor."""
    layer = nn.Linear(2, 1)
    del layer.weight
    layer.weight = engine.tensor([[1.0, 2.0]])
    layer.bias.data.zero_()
    assert layer(engine.ones(2)).tolist() == [3.0]


def test_weights_may_be_properties() -> None:
    """Parametrisations give the object a class that computes the weight."""

    class Doubled(nn.Linear):
        weight = property(lambda self: self.original * 2)

    layer = nn.Linear(2, 1, bias=False)
    layer.original = layer._parameters.pop("weight")
    layer.original.data.fill_(1.0)
    layer.__class__ = Doubled
    assert layer(engine.ones(2)).tolist() == [4.0]


def test_modules_of_a_name_that_is_no_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'engine.nn' has no attribute 'Liner'"):
        nn.Liner  # noqa: B018
