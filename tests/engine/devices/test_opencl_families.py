"""Kernels of the OpenCL device for convolutions, poolings, indices, random numbers...: results are those of the CPU.

The CPU is the reference; no call may fall back to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import engine
from benchmarks import device_training
from benchmarks.device_training import fallbacks
from engine._generated import codes
from engine._generated.declarations import OPERATORS
from engine._native import ffi, lib
from engine.nn import functional as F
from tests.engine.devices.opencl_tools import needs_opencl

pytestmark = needs_opencl

Call = Callable[..., Any]


def flat(result: Any) -> list[engine.Tensor]:
    return [result] if isinstance(result, engine.Tensor) else [t for r in result for t in flat(r)]


def normal(*sizes: int, seed: int = 0, dtype: Any = engine.float32) -> engine.Tensor:
    engine.manual_seed(seed + sum(sizes))
    return engine.randn(*sizes).to(dtype)


def integers(high: int, *sizes: int) -> engine.Tensor:
    engine.manual_seed(high)
    return engine.randint(high, sizes)


def backward(call: Call) -> Call:
    """Return the call followed by the gradients of its floating arguments."""

    def both(*args: engine.Tensor) -> list[engine.Tensor]:
        own = [a.detach().clone().requires_grad_(a.is_floating_point()) for a in args]
        result = flat(call(*own))[0]
        weights = engine.arange(result.numel(), dtype=result.dtype, device=result.device)
        (result * (weights.reshape(result.shape) % 7)).sum().backward()
        return [result.detach(), *(a.grad for a in own if a.grad is not None)]

    return both


IMAGE, KERNEL, BIAS = normal(2, 4, 9, 8), normal(6, 4, 3, 3), normal(6)
ROW, ROWS = normal(7), normal(5, 7)
INDEX, PLACES = integers(5, 3, 4), integers(7, 5, 7)
CLASSES = engine.tensor([1, 0, 6, 3, 3])

CALLS: dict[str, tuple[Call, tuple[engine.Tensor, ...]]] = {
    "conv2d": (backward(lambda x, w, b: F.conv2d(x, w, b, padding=1)), (IMAGE, KERNEL, BIAS)),
    "conv2d strided": (
        backward(lambda x, w: F.conv2d(x, w, stride=(2, 1), dilation=2, padding=2)),
        (IMAGE, KERNEL),
    ),
    "conv2d groups": (backward(lambda x, w: F.conv2d(x, w, groups=2)), (IMAGE, KERNEL[:, :2])),
    "conv1d": (backward(F.conv1d), (normal(2, 3, 10), normal(4, 3, 3))),
    "conv3d": (backward(F.conv3d), (normal(2, 2, 5, 4, 6), normal(3, 2, 2, 3, 2))),
    "conv_transpose2d": (
        backward(
            lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1)
        ),
        (IMAGE, normal(4, 6, 3, 3), BIAS),
    ),
    "conv_transpose2d groups": (
        backward(lambda x, w: F.conv_transpose2d(x, w, groups=2)),
        (IMAGE, normal(4, 3, 3, 2)),
    ),
    "conv2d float16": (
        lambda x, w: F.conv2d(x, w),
        (IMAGE.half(), KERNEL.half()),
    ),
    "max_pool2d": (backward(lambda x: F.max_pool2d(x, 3, 2, 1)), (IMAGE,)),
    "max_pool1d": (backward(lambda x: F.max_pool1d(x, 2)), (normal(2, 3, 9),)),
    "max_pool3d": (
        backward(lambda x: F.max_pool3d(x, 2, ceil_mode=True)),
        (normal(2, 2, 5, 4, 5),),
    ),
    "avg_pool2d": (backward(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)), (IMAGE,)),
    "avg_pool2d inside": (
        backward(lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
        (IMAGE,),
    ),
    "adaptive_avg_pool2d": (backward(lambda x: F.adaptive_avg_pool2d(x, (4, 3))), (IMAGE,)),
    "adaptive_max_pool2d": (backward(lambda x: F.adaptive_max_pool2d(x, (4, 3))), (IMAGE,)),
    "embedding": (
        backward(lambda w, i: F.embedding(i, w, padding_idx=2)),
        (normal(5, 6), INDEX),
    ),
    "gather": (backward(lambda x, i: x.gather(1, i)), (ROWS, PLACES)),
    "index_select": (backward(lambda x: x.index_select(1, CLASSES.to(x.device))), (ROWS,)),
    "take": (lambda x, i: x.take(i - 3), (ROWS, INDEX)),
    "index": (backward(lambda x, i: x[i]), (ROWS, INDEX)),
    "index of two": (backward(lambda x, i: x[:, i, None, i]), (normal(3, 5, 6, 5), INDEX)),
    "index negative": (lambda x, i: x[-1 - i], (ROWS, INDEX)),
    "index_put": (
        lambda x, i, v: x.clone().index_put_((i,), v),
        (ROWS, INDEX[0, :3], normal(3, 7)),
    ),
    "index_put accumulated": (
        lambda x, i, v: x.clone().index_put_((i,), v, accumulate=True),
        (ROWS, INDEX, normal(3, 4, 7)),
    ),
    "scatter": (lambda x, i, v: x.scatter(1, i, v), (ROWS, PLACES, normal(5, 7, seed=1))),
    "scatter value": (lambda x, i: x.scatter(1, i, 2.5), (ROWS, PLACES)),
    "scatter_add": (backward(lambda x, i, v: x.scatter_add(1, i, v)), (ROWS, PLACES, normal(5, 7))),
    "scatter_reduce": (
        lambda x, i, v: x.scatter_reduce(1, i, v, "amax"),
        (ROWS, PLACES, normal(5, 7, seed=1)),
    ),
    "index_add": (
        backward(lambda x, v: x.index_add(0, CLASSES[:2].to(x.device), v, alpha=2)),
        (ROWS, normal(2, 7)),
    ),
    "index_copy": (
        lambda x, v: x.index_copy(0, CLASSES[:2].to(x.device), v),
        (ROWS, normal(2, 7)),
    ),
    "masked_fill": (backward(lambda x: x.masked_fill(x > 0.3, -1.0)), (ROWS,)),
    "cat": (backward(lambda a, b: engine.cat([a, b[:, :2], a], 1)), (ROWS, ROWS)),
    "stack": (backward(lambda a, b: engine.stack([a, b], 1)), (ROWS, ROWS)),
    "flip": (backward(lambda x: x.flip(0, 1)), (ROWS,)),
    "roll": (lambda x: [x.roll(2), x.roll((1, -2), (0, 1))], (ROWS,)),
    "repeat": (backward(lambda x: x.repeat(2, 1, 3)), (ROWS,)),
    "cumsum": (backward(lambda x: x.cumsum(0)), (ROWS,)),
    "cumprod": (lambda x: x.cumprod(1), (ROWS,)),
    "cummax": (lambda x: [x.cummax(1), x.cummin(0)], (ROWS,)),
    "sort": (backward(lambda x: x.sort(1).values), (ROWS,)),
    "sort down": (lambda x: [x.sort(0, descending=True), x.argsort(1)], (ROWS,)),
    "sort equals": (lambda i: i.sort(stable=True), (integers(3, 4, 37),)),
    "topk": (backward(lambda x: x.topk(3, 1).values), (ROWS,)),
    "nll_loss": (
        backward(lambda x, t: F.nll_loss(x, t, ignore_index=3)),
        (ROWS, CLASSES),
    ),
    "nll_loss weights": (
        backward(lambda x, t: F.nll_loss(x, t, ROW.abs().to(x.device), reduction="none")),
        (ROWS, CLASSES),
    ),
    "cross_entropy": (backward(F.cross_entropy), (ROWS, CLASSES)),
    "mse_loss": (backward(F.mse_loss), (ROWS, normal(5, 7, seed=3))),
    "pad": (
        lambda x: [
            F.pad(x, (1, -2, 2, 0), value=3.0),
            F.pad(x, (2, 1, 1, 3), "reflect"),
            F.pad(x, (2, 1, 1, 3), "replicate"),
            F.pad(x, (2, 1, 1, 3), "circular"),
        ],
        (IMAGE,),
    ),
    "tril": (lambda x: [x.tril(1), x.triu(-1), x.clone().tril_()], (ROWS,)),
    "upsample": (
        backward(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
        (IMAGE,),
    ),
    "upsample nearest": (backward(lambda x: F.interpolate(x, size=(5, 13))), (IMAGE,)),
    "upsample cubic": (
        backward(lambda x: F.interpolate(x, size=(5, 13), mode="bicubic", align_corners=True)),
        (IMAGE,),
    ),
    "gelu": (backward(F.gelu), (ROWS,)),
    "glu": (backward(lambda x: F.glu(x, 1)), (normal(3, 8),)),
    "slices": (backward(lambda x: x[1:4, ::2] * x[0, 1]), (ROWS,)),
    "attention": (
        backward(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
        (normal(2, 3, 5, 4), normal(2, 3, 5, 4, seed=1), normal(2, 3, 5, 4, seed=2)),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_the_cpu(name: str) -> None:
    call, args = CALLS[name]
    expected = flat(call(*args))
    lib.uh_cpu_fallback_reset()
    results = flat(call(*(a.to("opencl") for a in args)))
    assert fallbacks() == {}
    assert len(results) == len(expected)
    half = any(a.dtype == engine.float16 for a in args)
    for ours, theirs in zip(results, expected, strict=True):
        assert ours.device.type == "opencl"
        assert ours.dtype == theirs.dtype
        assert ours.stride() == theirs.stride()
        engine.testing.assert_close(
            ours.cpu(), theirs, rtol=1e-2 if half else 1e-4, atol=1e-2 if half else 1e-5
        )


RANDOM: dict[str, Call] = {
    "rand": lambda device: engine.rand(100, device=device),
    "rand float64": lambda device: engine.rand(100, dtype=engine.float64, device=device),
    "randn": lambda device: engine.randn(7, 33, device=device),
    "randn float64": lambda device: engine.randn(77, dtype=engine.float64, device=device),
    "randn float16": lambda device: engine.randn(70, dtype=engine.float16, device=device),
    "randint": lambda device: engine.randint(-5, 1000, (90,), device=device),
    "random wide": lambda device: engine.empty(40, dtype=engine.int64, device=device).random_(
        0, 2**40
    ),
    "uniform_": lambda device: engine.empty(65, device=device).uniform_(-2, 5),
    "normal_ strided": lambda device: engine.zeros(8, 9, device=device).t().normal_(1, 3),
    "bernoulli_": lambda device: engine.empty(99, device=device).bernoulli_(0.3),
    "dropout": lambda device: F.dropout(engine.ones(9, 9, device=device), 0.4),
    "randperm": lambda device: engine.randperm(50, device=device),
    "two calls": lambda device: engine.rand(3, device=device) + engine.rand(3, device=device),
}


@pytest.mark.parametrize("name", RANDOM)
def test_equal_seeds_give_the_numbers_of_the_cpu(name: str) -> None:
    engine.manual_seed(1234)
    expected = RANDOM[name]("cpu")
    engine.manual_seed(1234)
    lib.uh_cpu_fallback_reset()
    numbers = RANDOM[name]("opencl")
    assert fallbacks() == {}
    assert engine.equal(numbers.cpu(), expected)


@pytest.mark.parametrize("name", ["exponential_", "geometric_", "cauchy_", "log_normal_"])
def test_other_distributions_are_close_to_the_numbers_of_the_cpu(name: str) -> None:
    lib.uh_cpu_fallback_reset()
    numbers = []
    for device in ("cpu", "opencl"):
        engine.manual_seed(99)
        x = engine.empty(40, device=device)
        numbers.append(getattr(x, name)(*([0.3] if name == "geometric_" else [])).cpu())
    assert fallbacks() == {}
    engine.testing.assert_close(*numbers, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, i: F.embedding(i, x), "embedding: index out of range in self: 9"),
        (lambda x, i: x.gather(0, i[:1, None]), "gather: index 9 is out of bounds for dimension 0"),
        (lambda x, i: x.index_select(0, i), "index_select: index 9 is out of bounds"),
        (lambda x, i: x[i], "index 9 is out of bounds for dimension 0 with size 5"),
        (lambda x, i: x.clone().index_add_(0, i, x[:2]), "index_add: index 9 is out of bounds"),
        (lambda x, i: F.nll_loss(x[:2], i), "nll_loss: Target 9 is out of bounds for 7 classes"),
    ],
)
def test_an_index_outside_is_an_error(call: Call, message: str) -> None:
    with pytest.raises((IndexError, RuntimeError), match=message):
        call(ROWS.to("opencl"), engine.tensor([9, 1]).to("opencl"))


@pytest.mark.parametrize("name", device_training.WORKLOADS)
def test_training_has_the_losses_of_the_cpu(name: str) -> None:
    expected, _ = device_training.train(name, "cpu", 20)
    lib.uh_cpu_fallback_reset()
    losses, _ = device_training.train(name, "opencl", 20)
    assert fallbacks() == {}
    assert expected[-1] < expected[0]
    assert losses == pytest.approx(expected, abs=1e-4)


def test_most_operators_have_kernels() -> None:
    """An operator runs on the device if its kernel there is not the fallback: its own, a view's or a composite's."""
    key = codes.KEYS_BY_PRIORITY.index("OpenCL")
    kernels = {
        name: ffi.string(lib.uh_op_kernel(name.encode(), key)).decode() for name in OPERATORS
    }
    own = [name for name, kernel in kernels.items() if kernel.startswith("opencl ")]
    computed = [name for name, kernel in kernels.items() if kernel not in ("", "cpu_fallback")]
    assert len(own) >= 300, len(own)
    assert len(computed) >= 900, len(computed)


@pytest.mark.parametrize("as_tensors", [False, True])
def test_ctc_loss_has_lengths_on_any_device(as_tensors: bool) -> None:
    scores = normal(5, 2, 3).log_softmax(2)
    targets, steps, lengths = engine.tensor([[1, 1], [2, 0]]), [5, 4], [2, 1]
    expected = F.ctc_loss(scores, targets, steps, lengths)
    if as_tensors:
        steps, lengths = (engine.tensor(each).to("opencl") for each in (steps, lengths))
    loss = F.ctc_loss(scores.to("opencl"), targets.to("opencl"), steps, lengths)
    assert loss.is_opencl
    assert loss.item() == pytest.approx(expected.item())


@pytest.mark.parametrize("dims", [(-1,), (0, -1), (1, 0)])
def test_flip_counts_dimensions_from_the_end(dims: tuple[int, ...]) -> None:
    x = engine.arange(6.0).reshape(2, 3)
    assert x.to("opencl").flip(dims).cpu().equal(x.flip(dims))
