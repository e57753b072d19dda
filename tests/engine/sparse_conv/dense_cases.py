"""Random sparse convolutions and the dense ones that they equal.

`python -m tests.engine.sparse_conv.dense_cases 500` checks 500 of them.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import Any

import engine
from engine import sparse_conv
from engine.nn import functional as F

CONVOLUTION = {2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {2: F.conv_transpose2d, 3: F.conv_transpose3d}
POOL = {2: F.max_pool2d, 3: F.max_pool3d}


@dataclass(frozen=True)
class Case:
    """One convolution: its kind, its sites and its sizes."""

    kind: str  # submanifold, regular, inverse or pool
    batch_size: int
    spatial_shape: tuple[int, ...]
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    channels: tuple[int, int]
    density: float
    seed: int

    @property
    def dims(self) -> int:
        return len(self.spatial_shape)


def random_case(seed: int) -> Case:
    """Draw a case; equal seeds draw equal cases."""
    draw = random.Random(seed)
    dims = draw.choice((2, 3))
    kind = draw.choice(("submanifold", "regular", "inverse", "pool"))
    each = range(dims)
    kernel = tuple(draw.choice((1, 3) if kind == "submanifold" else (1, 2, 3)) for _ in each)
    dilation = tuple(draw.choice((1, 1, 2)) for _ in each)
    stride = tuple(1 if kind == "submanifold" else draw.choice((1, 2, 3)) for _ in each)
    padding = tuple(draw.randint(0, size // 2) for size in kernel)
    if kind == "submanifold":
        padding = tuple(size // 2 * step for size, step in zip(kernel, dilation, strict=True))
    if kind == "pool":  # with both, a dense window could consist of padding only
        padding = tuple(0 if step > 1 else pad for pad, step in zip(padding, dilation, strict=True))
    shape = tuple(
        draw.randint(max(1, step * (size - 1) + 1 - 2 * pad), 8)
        for size, step, pad in zip(kernel, dilation, padding, strict=True)
    )
    return Case(
        kind=kind,
        batch_size=draw.randint(1, 3),
        spatial_shape=shape,
        kernel_size=kernel,
        stride=stride,
        padding=padding,
        dilation=dilation,
        channels=(draw.choice((1, 2, 5)), draw.choice((1, 3, 4))),
        density=draw.choice((0.0, 0.05, 0.2, 0.5, 1.0)),
        seed=seed,
    )


def random_sites(case: Case) -> engine.Tensor:
    """Return active sites in random order."""
    active = engine.rand(case.batch_size, *case.spatial_shape) < case.density
    indices = active.nonzero()
    return indices[engine.randperm(indices.size(0))]


def columns(indices: engine.Tensor) -> tuple[engine.Tensor, ...]:
    return tuple(indices.long().unbind(1))


def at_sites(dense: engine.Tensor, indices: engine.Tensor) -> engine.Tensor:
    """Return the rows (sites, channels) of a tensor of shape (batch, channels, *sizes)."""
    return dense.movedim(1, -1)[columns(indices)]


def layer_of(case: Case) -> Any:
    """Return the layer of the case."""
    name = {"submanifold": "SubMConv", "pool": "SparseMaxPool"}.get(case.kind, "SparseConv")
    make = getattr(sparse_conv, f"{name}{case.dims}d")
    options: dict[str, Any] = {"dilation": case.dilation, "indice_key": "a"}
    if case.kind != "submanifold":
        options |= {"stride": case.stride, "padding": case.padding}
    if case.kind == "pool":
        return make(case.kernel_size, **options)
    return make(*case.channels, case.kernel_size, bias=False, dtype=engine.float64, **options)


def dense_weight(weight: engine.Tensor) -> engine.Tensor:
    """(*kernel_size, in, out) -> (out, in, *kernel_size)"""
    return weight.movedim(-1, 0).movedim(-1, 1)


def dense_result(case: Case, dense: engine.Tensor, weight: Any) -> engine.Tensor:
    """Return what the dense operator of the case returns."""
    sizes = {"stride": case.stride, "padding": case.padding, "dilation": case.dilation}
    if case.kind == "pool":
        return POOL[case.dims](dense, case.kernel_size, **sizes)
    return CONVOLUTION[case.dims](dense, dense_weight(weight), None, **sizes)


def close(actual: Any, expected: Any, name: str, case: Case) -> None:
    assert actual.shape == expected.shape, (name, actual.shape, expected.shape, case)
    assert engine.allclose(actual, expected, rtol=1e-10, atol=1e-12), (
        f"{name} differs from the dense operator's: {case}\n{actual}\n{expected}"
    )


def check(case: Case) -> None:
    """Compare result, sites, and the gradients of input and weight with the dense operator's."""
    engine.manual_seed(case.seed)
    indices = random_sites(case)
    features = engine.randn(
        indices.size(0), case.channels[0], dtype=engine.float64, requires_grad=True
    )
    input = sparse_conv.SparseConvTensor(features, indices, case.spatial_shape, case.batch_size)
    layer = layer_of(case)
    output = layer(input)
    if case.kind == "inverse":
        return check_inverse(case, output)
    background = -1e300 if case.kind == "pool" else 0.0
    dense = engine.full(
        (case.batch_size, *case.spatial_shape, case.channels[0]), background, dtype=engine.float64
    )
    dense = dense.index_put(columns(indices), features.detach()).movedim(-1, 1)
    dense.requires_grad_()
    weight = None if case.kind == "pool" else layer.weight.detach().requires_grad_()
    expected = dense_result(case, dense, weight)
    assert output.spatial_shape == expected.shape[2:], case
    check_sites(case, indices, output)
    close(output.features, at_sites(expected, output.indices), "the result", case)
    grad = engine.randn(*output.features.shape, dtype=engine.float64)
    output.features.backward(grad)
    at_sites(expected, output.indices).backward(grad)
    close(features.grad, at_sites(dense.grad, indices), "the gradient of the input", case)
    if weight is not None:
        close(layer.weight.grad, weight.grad, "the gradient of the weight", case)


def check_sites(case: Case, indices: engine.Tensor, output: Any) -> None:
    """The active sites of the output: those of the input, or all that an input site reaches."""
    if case.kind == "submanifold":
        assert output.indices is indices
        return
    active = engine.zeros(case.batch_size, *case.spatial_shape).index_put(
        columns(indices), engine.ones(indices.size(0))
    )
    reached = CONVOLUTION[case.dims](
        active.unsqueeze(1),
        engine.ones(1, 1, *case.kernel_size),
        None,
        stride=case.stride,
        padding=case.padding,
        dilation=case.dilation,
    )
    assert output.indices.equal((reached[:, 0] > 0).nonzero()), case


def check_inverse(case: Case, middle: Any) -> None:
    """An inverse convolution is the transposed dense one, at the sites of the first layer's input."""
    make = getattr(sparse_conv, f"SparseInverseConv{case.dims}d")
    layer = make(
        case.channels[1], 2, case.kernel_size, indice_key="a", bias=False, dtype=engine.float64
    )
    middle = middle.replace_feature(middle.features.detach().requires_grad_())
    output = layer(middle)
    assert output.spatial_shape == case.spatial_shape
    dense = middle.dense().detach().requires_grad_()
    weight = layer.weight.detach().requires_grad_()
    output_padding = [
        size - ((small - 1) * stride - 2 * pad + step * (kernel - 1) + 1)
        for size, small, stride, pad, step, kernel in zip(
            case.spatial_shape,
            middle.spatial_shape,
            case.stride,
            case.padding,
            case.dilation,
            case.kernel_size,
            strict=True,
        )
    ]
    expected = TRANSPOSED[case.dims](
        dense,
        dense_weight(weight).transpose(0, 1),
        None,
        stride=case.stride,
        padding=case.padding,
        output_padding=output_padding,
        dilation=case.dilation,
    )
    close(output.features, at_sites(expected, output.indices), "the result", case)
    grad = engine.randn(*output.features.shape, dtype=engine.float64)
    output.features.backward(grad)
    at_sites(expected, output.indices).backward(grad)
    close(
        middle.features.grad,
        at_sites(dense.grad, middle.indices),
        "the gradient of the input",
        case,
    )
    close(layer.weight.grad, weight.grad, "the gradient of the weight", case)


def main() -> None:
    count = int(sys.argv[1])
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    print(f"{count} cases from seed {first}")
    for seed in range(first, first + count):
        check(random_case(seed))
    print("all equal the dense operators")


if __name__ == "__main__":
    main()
