"""Maxima of windows and where they are, for rows shorter and longer than a vector: ties, NaN, -inf, every step."""

from __future__ import annotations

import numpy as np
import pytest

import engine


def window_by_window(
    x: np.ndarray, kernel: int, step: int, dilation: int
) -> tuple[np.ndarray, np.ndarray]:
    """The last NaN of each window, else the first of its largest elements; and its place in the plane."""
    height, width = x.shape
    reach = (kernel - 1) * dilation + 1
    rows, columns = (height - reach) // step + 1, (width - reach) // step + 1
    best, index = np.empty((rows, columns), x.dtype), np.empty((rows, columns), np.int64)
    for r in range(rows):
        for c in range(columns):
            positions = [
                (r * step + i * dilation) * width + c * step + j * dilation
                for i in range(kernel)
                for j in range(kernel)
            ]
            values = x.reshape(-1)[positions]
            missing = np.flatnonzero(np.isnan(values))
            at = missing[-1] if len(missing) else int(np.argmax(values))
            best[r, c], index[r, c] = values[at], positions[at]
    return best, index


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("kernel", "step", "dilation"), [(2, 2, 1), (3, 1, 1), (3, 2, 2), (2, 3, 1), (1, 2, 1)]
)
def test_maxima_and_places(kernel: int, step: int, dilation: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    for width in (5, 16, 17, 31, 32, 33, 34, 35, 66):
        x = rng.integers(-3, 3, (7, width)).astype(dtype)
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.3] = -np.inf
        pool = engine.nn.functional.max_pool2d
        values, positions = pool(
            engine.tensor(x[None]), kernel, step, dilation=dilation, return_indices=True
        )
        want, location = window_by_window(x, kernel, step, dilation)
        np.testing.assert_array_equal(values.numpy()[0], want)
        np.testing.assert_array_equal(positions.numpy()[0], location)


WINDOWS_OF_PADDING = [
    (1, (1, 1, 3), (2, 1, 1, 4), [3]),
    (2, (1, 1, 1, 4), (2, 1, 1, 2), [5, 4, 5, 6]),
    (3, (1, 1, 1, 1, 1), (2, 1, 1, 2), [3]),
]


@pytest.mark.parametrize(("dims", "sizes", "window", "indices"), WINDOWS_OF_PADDING)
def test_a_window_of_padding_only_has_no_gradient(
    dims: int, sizes: tuple[int, ...], window: tuple[int, int, int, int], indices: list[int]
) -> None:
    x = engine.ones(sizes, requires_grad=True)
    pool = getattr(engine.nn.functional, f"max_pool{dims}d")
    y, at = pool(x, *window, return_indices=True)
    assert at.flatten().tolist() == indices  # outside of the input
    assert y.isneginf().all()
    y.sum().backward()
    assert not x.grad.any()


def test_the_maximum_of_padding_only_is_the_lowest_value_of_the_dtype() -> None:
    for dtype, lowest in ((engine.int32, -(2**31)), (engine.int8, -128), (engine.uint8, 0)):
        x = engine.ones(1, 1, 1, 1, dtype=dtype)
        for indices in (False, True):
            y = engine.nn.functional.max_pool2d(x, 2, 1, 1, 2, return_indices=indices)
            assert (y[0] if indices else y).item() == lowest
