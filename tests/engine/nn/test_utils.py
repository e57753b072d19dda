"""Clipped gradients, parameters as a vector, padded and packed sequences, fused layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn import utils
from engine.nn.utils import rnn

INF = float("inf")


def parameters(*gradients: Any) -> list[Any]:
    results = []
    for grad in gradients:
        p = engine.zeros(3, requires_grad=True) if grad is None else None
        if p is None:
            p = engine.zeros(*np.shape(grad), requires_grad=True)
            p.grad = engine.tensor(grad)
        results.append(p)
    return results


@pytest.mark.parametrize(
    ("order", "norm"), [(2, 13.0), (1, 19.0), (INF, 12.0), (3, (27 + 64 + 1728) ** (1 / 3))]
)
def test_gradients_are_scaled_by_their_common_norm(order: float, norm: float) -> None:
    ps = parameters([3.0, -4.0], None, [[12.0]])
    total = utils.clip_grad_norm_(ps, 6.5, order)
    assert total.item() == pytest.approx(norm, rel=1e-6)
    factor = 6.5 / (norm + 1e-6)
    assert ps[0].grad.tolist() == pytest.approx([3 * factor, -4 * factor], rel=1e-6)
    assert ps[2].grad.item() == pytest.approx(12 * factor, rel=1e-6)
    assert ps[1].grad is None


def test_small_gradients_stay() -> None:
    ps = parameters([0.3, 0.4])
    assert utils.clip_grad_norm_(ps[0], 1.0).item() == pytest.approx(0.5)
    assert ps[0].grad.tolist() == pytest.approx([0.3, 0.4])
    assert utils.get_total_norm([]).item() == 0
    utils.clip_grads_with_norm_(ps, 0.25, engine.tensor(0.5))
    assert ps[0].grad.tolist() == pytest.approx([0.15, 0.2], rel=1e-4)


def test_norms_that_are_not_finite() -> None:
    ps = parameters([INF, 1.0])
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)
    assert math.isinf(utils.clip_grad_norm_(ps, 1.0).item())
    with pytest.warns(UserWarning, match="empty generator"):
        utils.clip_grad_norm_((p for p in ()), 1.0)
    with pytest.warns(FutureWarning, match="now deprecated"):
        utils.clip_grad_norm(parameters([1.0]), 1.0)


def test_gradients_are_clipped_number_by_number() -> None:
    ps = parameters([3.0, -4.0], None, [[0.5]])
    utils.clip_grad_value_(ps, 1)
    assert [p.grad.tolist() for p in (ps[0], ps[2])] == [[1.0, -1.0], [[0.5]]]


def test_parameters_as_a_vector() -> None:
    linear = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(linear.parameters())
    assert vector.shape == (9,)
    utils.vector_to_parameters(engine.arange(9.0), linear.parameters())
    assert linear.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert linear.bias.tolist() == [6.0, 7.0, 8.0]
    assert linear.weight.requires_grad
    with pytest.raises(TypeError, match=r"expected engine.Tensor, but got: list"):
        utils.vector_to_parameters([1.0], linear.parameters())


def sequences() -> list[Any]:
    return [engine.arange(float(n * 2)).view(n, 2) + 100 * n for n in (2, 4, 1)]


def test_padding() -> None:
    padded = rnn.pad_sequence(sequences(), padding_value=-1)
    assert padded.shape == (4, 3, 2)
    assert padded[1:, 2].tolist() == [[-1.0, -1.0]] * 3
    left = rnn.pad_sequence(sequences(), batch_first=True, padding_side="left")
    assert left[0].tolist() == [[0.0, 0.0], [0.0, 0.0], [200.0, 201.0], [202.0, 203.0]]
    lengths = engine.tensor([2, 4, 1])
    for item, again in zip(sequences(), rnn.unpad_sequence(padded, lengths), strict=True):
        assert again.tolist() == item.tolist()
    with pytest.raises(RuntimeError, match="padding_side to be one of left or right"):
        rnn.pad_sequence(sequences(), padding_side="top")


def test_packing_and_back() -> None:
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]
    assert packed.data[:, 0].tolist() == [400.0, 200.0, 100.0, 402.0, 202.0, 404.0, 406.0]
    for item, again in zip(sequences(), rnn.unpack_sequence(packed), strict=True):
        assert again.tolist() == item.tolist()
    padded, lengths = rnn.pad_packed_sequence(packed, padding_value=7, total_length=5)
    assert lengths.tolist() == [2, 4, 1]
    assert padded.shape == (5, 3, 2)
    assert padded[4].tolist() == [[7.0, 7.0]] * 3
    assert packed.double().data.dtype is engine.float64
    assert packed.to(engine.float32) is packed


def test_gradients_through_packing() -> None:
    x = engine.ones(4, 3, 2, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, engine.tensor([4, 2, 1]))
    padded, _ = rnn.pad_packed_sequence(packed)
    (padded * 2).sum().backward()
    assert x.grad[:, :, 0].tolist() == [
        [2.0, 2.0, 2.0],
        [2.0, 2.0, 0.0],
        [2.0, 0.0, 0.0],
        [2.0, 0.0, 0.0],
    ]


def test_what_cannot_be_packed() -> None:
    x = engine.ones(4, 3, 2)
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        rnn.pack_padded_sequence(x, [1, 2, 3])
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(x, [4, 2, 0])
    with pytest.raises(RuntimeError, match=r"got 2 \(batch_size=3\)"):
        rnn.pack_padded_sequence(x, [4, 2])
    with pytest.raises(ValueError, match="total_length=2 and max sequence length being 4"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [4, 2, 1]), total_length=2)


@pytest.mark.parametrize("kind", ["conv", "transposed", "linear"])
def test_fused_normalization(kind: str) -> None:
    engine.manual_seed(0)
    if kind == "linear":
        layer, norm, x = nn.Linear(3, 4), nn.BatchNorm1d(4), engine.randn(5, 3)
    else:
        result = nn.Conv2d if kind == "conv" else nn.ConvTranspose2d
        layer, norm, x = result(3, 4, 3, bias=False), nn.BatchNorm2d(4), engine.randn(2, 3, 6, 6)
    with engine.no_grad():
        for p in norm.parameters():
            p.uniform_(0.5, 2)
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
    with pytest.raises(AssertionError, match="Fusion only for eval"):
        utils.fuse_conv_bn_eval(layer, norm)
    layer.eval(), norm.eval()
    if kind == "linear":
        fused = utils.fuse_linear_bn_eval(layer, norm)
    else:
        fused = utils.fuse_conv_bn_eval(layer, norm, transpose=kind == "transposed")
    np.testing.assert_allclose(
        np.array(fused(x).tolist()), np.array(norm(layer(x)).tolist()), rtol=1e-4, atol=1e-5
    )
    assert isinstance(fused.bias, nn.Parameter)
