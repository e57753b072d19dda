"""Convolutions of random small shapes, most of them dominated by padding, against a reference in NumPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import engine
from tests.ops.image_reference import conv, conv_transpose


def arrays_and_options(draw: random.Random) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
    """Draw an input, a weight and a bias, and the arguments that follow them."""
    dims = draw.choice((1, 2, 2, 3))
    numbers = np.random.default_rng(draw.getrandbits(32))
    groups, transposed = draw.choice((1, 1, 2, 17)), draw.random() < 0.5
    inputs, outputs = groups * draw.choice((1, 3)), groups * draw.choice((1, 3, 9, 40))
    if groups == 17:
        inputs = outputs = groups  # depthwise

    def each(low: int, high: int) -> list[int]:
        return [draw.randint(low, high) for _ in range(dims)]

    weight = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
    options = {
        "stride": each(1, 3),
        "padding": each(0, 4),
        "dilation": each(1, 3),
        "transposed": transposed,
        "groups": groups,
    }
    options["output_padding"] = [
        draw.randint(0, max(s, d) - 1) if transposed else 0
        for s, d in zip(options["stride"], options["dilation"], strict=True)
    ]
    shapes = (draw.choice((1, 2, 9)), inputs, *each(1, 4)), (*weight, *each(1, 4)), (outputs,)
    return tuple(numbers.standard_normal(shape) for shape in shapes), options


def reference(x: Any, w: Any, b: Any, options: dict[str, Any]) -> Any:
    o = options
    if o["transposed"]:
        return conv_transpose(
            x, w, b, o["stride"], o["padding"], o["output_padding"], o["groups"], o["dilation"]
        )
    return conv(x, w, b, o["stride"], o["padding"], o["dilation"], o["groups"])


def fits(x: Any, w: Any, options: dict[str, Any]) -> bool:
    o = options
    reach = [d * (k - 1) + 1 for d, k in zip(o["dilation"], w.shape[2:], strict=True)]
    axes = zip(x.shape[2:], reach, o["stride"], o["padding"], o["output_padding"], strict=True)
    if o["transposed"]:
        return all((n - 1) * s + r + more > 2 * p for n, r, s, p, more in axes)
    return all(n + 2 * p >= r for n, r, _, p, _ in axes)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_shapes(seed: int, dtype: str) -> None:
    draw, checked = random.Random(seed), 0
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    while checked < 25:
        arrays, options = arrays_and_options(draw)
        arrays = tuple(a.astype(dtype) for a in arrays)
        if not fits(*arrays[:2], options):
            continue
        checked += 1
        x, w, b = (engine.tensor(a, requires_grad=True) for a in arrays)
        result = engine.convolution(x, w, b, **options)
        expected = reference(*arrays, options)
        np.testing.assert_allclose(
            result.detach().numpy(), expected, tolerance, tolerance, err_msg=str(options)
        )
        # A convolution is linear in each of its arguments, so its gradients give its value in any direction.
        weights = np.random.default_rng(seed).standard_normal(expected.shape)
        (result * engine.tensor(weights.astype(dtype))).sum().backward()
        for at, leaf in enumerate((x, w)):
            direction = np.random.default_rng(at).standard_normal(leaf.shape)
            others = [direction if i == at else a for i, a in enumerate(arrays[:2])]
            value = (reference(*others, None, options) * weights).sum()
            along = (leaf.grad.numpy() * direction).sum()
            scale = abs(leaf.grad.numpy() * direction).sum() + 1
            assert abs(value - along) < tolerance * scale, (options, at)


def test_outputs_that_meet_no_input_are_the_bias() -> None:
    """With `output_padding` and a kernel of one tap, the last outputs have no input."""
    x, w = engine.ones(1, 1, 2), engine.ones(1, 2, 1)
    result = engine.conv_transpose1d(x, w, engine.tensor([1.0, 2.0]), output_padding=1, dilation=2)
    assert result.tolist() == [[[2.0, 2.0, 1.0], [3.0, 3.0, 2.0]]]
