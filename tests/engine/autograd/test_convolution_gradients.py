"""Gradients of convolutions are adjoints: `<gw, dw> = <g, conv(x, dw)>` and `<gx, dx> = <g, conv(dx, w)>`.

The cases cover every way of computing them: vectors of rows, of pixels or of channels, windows read in place or
copied, sums over taps or over inputs, groups, bands of an image, and numbers of channels that are not a multiple of a
vector.
"""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import Tensor

#          input sizes          weight sizes      stride padding dilation groups transposed
CASES = {
    "lenet": ((2, 16, 12, 12), (32, 16, 5, 5), 1, 0, 1, 1, False),
    "one_channel": ((3, 1, 9, 8), (16, 1, 3, 3), 1, 0, 1, 1, False),
    "few_rows": ((2, 5, 9, 8), (3, 5, 3, 3), 1, 1, 1, 1, False),
    "few_rows_narrow": ((2, 4, 6, 5), (2, 4, 5, 5), 1, 0, 1, 1, False),
    "no_full_vector": ((2, 19, 7, 7), (37, 19, 3, 3), 1, 1, 1, 1, False),
    "strided": ((2, 8, 11, 13), (24, 8, 3, 4), 2, 1, 1, 1, False),
    "strided_few": ((2, 3, 11, 13), (2, 3, 3, 4), 3, 2, 1, 1, False),
    "dilated": ((2, 16, 12, 11), (17, 16, 3, 3), 1, 2, 2, 1, False),
    "depthwise": ((2, 8, 9, 9), (8, 1, 3, 3), 1, 1, 1, 8, False),
    "depthwise_strided": ((3, 23, 9, 8), (23, 1, 3, 3), 2, 1, 1, 23, False),
    "depthwise_line": ((2, 16, 40), (16, 1, 9), 1, 4, 1, 16, False),
    "depthwise_volume": ((1, 16, 5, 6, 7), (16, 1, 3, 3, 3), 1, 1, 1, 16, False),
    "depthwise_many_taps": ((2, 32, 7, 7), (32, 1, 9, 9), 1, 4, 1, 32, False),
    "depthwise_bands": ((1, 16, 90, 80), (16, 1, 3, 3), 1, 2, 2, 16, False),
    "depthwise_images": ((40, 16, 3, 3), (16, 1, 3, 3), 1, 1, 1, 16, False),
    "depthwise_transposed": ((2, 16, 5, 6), (16, 1, 2, 2), 3, 0, 1, 16, True),
    "bands": ((1, 64, 70, 66), (32, 64, 3, 3), 2, 1, 1, 1, False),
    "bands_without_padding": ((1, 64, 70, 66), (32, 64, 3, 3), 2, 0, 1, 1, False),
    "three_vectors": ((2, 16, 7, 7), (48, 16, 3, 3), 1, 1, 1, 1, False),
    "rows_of_taps": ((2, 8, 6, 6, 6), (16, 8, 3, 3, 5), 1, 2, 1, 1, False),
    "groups": ((2, 32, 8, 8), (48, 16, 3, 3), 1, 0, 1, 2, False),
    "pointwise": ((2, 17, 6, 6), (33, 17, 1, 1), 1, 0, 1, 1, False),
    "line": ((3, 16, 40), (16, 16, 7), 2, 3, 1, 1, False),
    "volume": ((1, 16, 5, 6, 7), (16, 16, 3, 3, 3), 1, 1, 1, 1, False),
    "transposed": ((2, 16, 5, 6), (16, 18, 4, 4), 1, 0, 1, 1, True),
    "transposed_strided": ((2, 9, 5, 6), (9, 20, 3, 3), 2, 1, 1, 1, True),
    "transposed_groups": ((2, 8, 5, 6), (8, 16, 3, 3), 1, 0, 2, 4, True),
    "transposed_sparse": ((1, 4, 3, 3), (4, 16, 2, 2), 5, 0, 1, 1, True),
}


def random_tensor(seed: int, sizes: tuple[int, ...], dtype: engine.dtype) -> Tensor:
    values = np.random.default_rng(seed).standard_normal(sizes)
    return engine.tensor(values).to(dtype)


def inner(a: Tensor, b: Tensor) -> float:
    return float((a.double() * b.double()).sum())


@pytest.mark.parametrize("dtype", [engine.float32, engine.float64])
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_adjoints(case: str, dtype: engine.dtype) -> None:
    sizes, weights, stride, padding, dilation, groups, transposed = CASES[case]
    dims = len(sizes) - 2

    def conv(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
        return engine.convolution(x, w, b, [stride], [padding], [dilation], transposed, [0], groups)

    x, w = (
        random_tensor(0, sizes, dtype).requires_grad_(),
        random_tensor(1, weights, dtype).requires_grad_(),
    )
    b = random_tensor(
        2, (weights[1] * groups if transposed else weights[0],), dtype
    ).requires_grad_()
    out = conv(x, w, b)
    g = random_tensor(3, tuple(out.shape), dtype)
    gx, gw, gb = engine.autograd.grad(out, (x, w, b), g)
    assert (gx.shape, gw.shape, gb.shape) == (x.shape, w.shape, b.shape)
    dx, dw = random_tensor(4, sizes, dtype), random_tensor(5, weights, dtype)
    tolerance = 2e-4 if dtype is engine.float32 else 1e-11
    with engine.no_grad():
        near = {"rel": tolerance, "abs": tolerance * out.numel() ** 0.5 * 10}
        assert inner(gx, dx) == pytest.approx(inner(g, conv(dx, w, None)), **near)
        assert inner(gw, dw) == pytest.approx(inner(g, conv(x, dw, None)), **near)
        summed = g.sum([0, *range(2, dims + 2)])
        assert engine.allclose(gb, summed, rtol=tolerance, atol=tolerance * 100)


@pytest.mark.parametrize("channels", [2, 16])
def test_an_infinity_changes_only_the_gradient_it_enters(channels: int) -> None:
    """Only the first element of the kernel is multiplied with the corner."""
    x = engine.ones(1, 1, 6, 6)
    x[0, 0, 0, 0] = float("inf")
    w = engine.ones(channels, 1, 3, 3, requires_grad=True)
    engine.nn.functional.conv2d(x, w).sum().backward()
    assert w.grad is not None
    infinite = engine.isinf(w.grad)
    assert bool(infinite[:, 0, 0, 0].all())
    assert int(infinite.sum()) == channels
    assert not bool(engine.isnan(w.grad).any())


def test_half_precision_is_summed_in_float32() -> None:
    x = engine.ones(4, 16, 32, 32, dtype=engine.float16)
    w = engine.ones(16, 16, 1, 1, dtype=engine.float16, requires_grad=True)
    engine.nn.functional.conv2d(x, w).sum().backward()
    assert w.grad is not None
    assert w.grad.dtype is engine.float16
    assert w.grad.unique().tolist() == [4096.0]
