"""Resampling of bytes, in fixed point as PyTorch does it; expected values are PyTorch 2.13's."""

from __future__ import annotations

from typing import Any

import pytest

import engine
import engine.nn.functional as F

aten = engine.ops.aten
PIXELS = engine.tensor(
    [[[[0, 255, 7, 90], [13, 200, 31, 2], [255, 0, 255, 0]]]], dtype=engine.uint8
)
FILTERED = [
    (aten.upsample_bilinear2d, (2, 3), True, [[0, 131, 90], [255, 128, 0]]),
    (
        aten.upsample_bilinear2d, (4, 5), False,
        [[0, 179, 131, 32, 90], [8, 157, 122, 26, 35], [104, 119, 121, 81, 1], [255, 76, 128, 179, 0]],
    ),
    (
        aten.upsample_bicubic2d, (4, 5), False,
        [[0, 214, 148, 3, 102], [0, 196, 141, 0, 34], [93, 117, 132, 79, 0], [255, 34, 127, 227, 0]],
    ),
    (aten._upsample_bilinear2d_aa, (2, 3), False, [[73, 125, 45], [138, 124, 52]]),
    (aten._upsample_bicubic2d_aa, (2, 3), False, [[70, 132, 33], [139, 126, 48]]),
]  # fmt: skip


@pytest.mark.parametrize(("filtered", "size", "align_corners", "expected"), FILTERED)
def test_bytes_are_rounded_after_each_dimension(
    filtered: object, size: tuple[int, int], align_corners: bool, expected: list[list[int]]
) -> None:
    assert filtered(PIXELS, size, align_corners).tolist() == [[expected]]  # type: ignore[operator]


def test_rows_of_bytes_longer_than_a_tile() -> None:
    ramp = (engine.arange(1500) % 256).to(engine.uint8).reshape(1, 1, 1, 1500).expand(1, 1, 3, 1500)
    doubled = F.interpolate(ramp, size=(6, 3000), mode="bilinear")
    assert engine.equal(doubled[0, 0, 0], doubled[0, 0, 5])
    exact = F.interpolate(ramp.float(), size=(6, 3000), mode="bilinear")
    assert (
        float((doubled.float() - exact).abs().max()) <= 0.75
    )  # 0.5 for the rounding, 0.25 for ties


@pytest.mark.parametrize("dtype", [engine.uint8, engine.float32])
def test_kept_and_doubled_images_ignore_the_factor(dtype: engine.dtype) -> None:
    x = engine.arange(6, dtype=dtype).reshape(1, 1, 2, 3)
    saved = aten.upsample_nearest2d(x, (2, 6), 0.7, 5.0)
    assert saved.tolist() == [[[[0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5]]]]
    exact = aten._upsample_nearest_exact2d(x, (2, 3), 0.4, 1.0)
    assert exact.tolist() == [[[[3, 4, 5], [3, 4, 5]]]]


def test_kept_and_doubled_sequences_follow_the_factor() -> None:
    x = engine.arange(4.0).reshape(1, 1, 4)
    assert aten.upsample_nearest1d(x, (4,), 3.0).tolist() == [[[0, 0, 0, 1]]]
    assert aten.upsample_nearest1d(x, (8,), 0.7).tolist() == [[[0, 1, 2, 3, 3, 3, 3, 3]]]


@pytest.mark.parametrize(
    ("padding", "first", "last"), [("zeros", 1, -16), ("border", 0, 0), ("reflection", 0, 0)]
)
def test_on_a_cell_of_a_volume_the_gradient_is_that_of_the_cells_after_it(
    padding: str, first: int, last: int
) -> None:
    volume = engine.tensor([0.0, 1.0, 4.0, 9.0, 16.0]).view(1, 1, 1, 1, 5)
    grid = engine.zeros(1, 1, 1, 5, 3)
    grid[..., 0] = engine.tensor([-1.0, -0.5, 0.0, 0.5, 1.0])
    grid.requires_grad_()
    sampled = F.grid_sample(volume, grid, padding_mode=padding, align_corners=True)
    assert sampled.flatten().tolist() == [0, 1, 4, 9, 16]
    (gradient,) = engine.autograd.grad(sampled.sum(), grid)
    # From -1 to 1 there are four steps between the five cells.
    assert gradient[..., 0].flatten().tolist() == [2 * s for s in (first, 3, 5, 7, last)]
    assert gradient[..., 1:].count_nonzero() == 0


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_every_gradient_of_a_volume_sampled_at_and_between_its_cells(
    mode: str, padding: str, align_corners: bool
) -> None:
    """Positions on cells, on the border and outside, where a gradient jumps from one side's to the other's."""
    torch = pytest.importorskip("torch")
    coordinates = [-1.6, -1.0, -0.5, 0.0, 1 / 3, 0.5, 1.0, 1.25]
    grid = [[[[[x, y, z] for x in coordinates] for y in coordinates] for z in coordinates]]

    def gradients(lib: Any) -> list[list[float]]:
        volume = (lib.arange(120, dtype=lib.float64) * 7 % 11).view(1, 2, 3, 4, 5).requires_grad_()
        positions = lib.tensor(grid, dtype=lib.float64, requires_grad=True)
        result = lib.nn.functional.grid_sample(
            volume, positions, mode=mode, padding_mode=padding, align_corners=align_corners
        )
        weights = (lib.arange(result.numel()) % 7).double().view(result.shape)
        return [
            g.flatten().tolist() for g in lib.autograd.grad(result, (volume, positions), weights)
        ]

    for ours, theirs in zip(gradients(engine), gradients(torch), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)
