"""Line search for a step that satisfies the strong Wolfe conditions, by cubic interpolation.

With f the loss and s the slope along the direction, a step t is good if f(t) <= f(0) + c1 t s(0)
(sufficient decrease) and |s(t)| <= c2 |s(0)| (curvature).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.tensor import Tensor

C1, C2 = 1e-4, 0.9


@dataclass(frozen=True)
class Point:
    """An evaluated step: its length, the loss, the gradient and the slope there."""

    t: Any
    loss: float
    grad: Tensor
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Tensor]],
    direction: Tensor,
    t: Any,
    start: Point,
    tolerance_change: float = 1e-9,
    max_tries: int = 25,
) -> tuple[Point, int]:
    """Return the step, and the number of calls of `evaluate(t) -> (loss, gradient)`."""

    def attempt(length: Any) -> Point:
        loss, grad = evaluate(length)
        return Point(length, loss, grad, grad.dot(direction))

    calls = 1
    low, high, tries, done = _bracket(attempt, t, start, max_tries)
    calls += tries
    stuck = False
    size = direction.abs().max()
    while not done and tries < max_tries:
        if abs(high.t - low.t) * size < tolerance_change:
            break
        t, stuck = _inside(low, high, stuck)
        new = attempt(t)
        calls += 1
        tries += 1
        if new.loss > start.loss + C1 * t * start.slope or new.loss >= low.loss:
            low, high = (low, new) if low.loss <= new.loss else (new, low)
            continue
        done = bool(abs(new.slope) <= -C2 * start.slope)
        if not done and new.slope * (high.t - low.t) >= 0:
            high = low
        low = new
    return low, calls


def _bracket(
    attempt: Callable[[Any], Point], t: Any, start: Point, max_tries: int
) -> tuple[Point, Point, int, bool]:
    """Return two steps with a good one between them, the better first; or a good step twice, and True."""
    before, new = start, attempt(t)
    bracket: tuple[Point, Point] | None = None
    tries = 0
    while tries < max_tries:
        too_high = new.loss > start.loss + C1 * new.t * start.slope
        if too_high or (tries > 1 and new.loss >= before.loss):
            bracket = before, new
            break
        if abs(new.slope) <= -C2 * start.slope:
            return new, new, tries, True
        if new.slope >= 0:
            bracket = before, new
            break
        nearest, furthest = new.t + 0.01 * (new.t - before.t), new.t * 10
        t = interpolate(before, new, (nearest, furthest))
        before, new = new, attempt(t)
        tries += 1
    a, b = (start, new) if tries == max_tries or bracket is None else bracket
    return (a, b, tries, False) if a.loss <= b.loss else (b, a, tries, False)


def _inside(low: Point, high: Point, stuck: bool) -> tuple[Any, bool]:
    """Return the next step to try between two, and True if it is close to an end for the first time."""
    t = interpolate(low, high) if low.t <= high.t else interpolate(high, low)
    first, last = min(low.t, high.t), max(low.t, high.t)
    margin = 0.1 * (last - first)
    if min(last - t, t - first) >= margin:
        return t, False
    if not (stuck or t >= last or t <= first):
        return t, True
    return (last - margin if abs(t - last) < abs(t - first) else first + margin), False


def interpolate(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Return the minimum of the cubic through both losses and slopes, within the bounds."""
    min_t, max_t = bounds or (min(a.t, b.t), max(a.t, b.t))
    tilt = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = tilt**2 - a.slope * b.slope
    if not square >= 0:
        return (min_t + max_t) / 2.0
    root = square**0.5
    if not a.t <= b.t:
        a, b = b, a
    t = b.t - (b.t - a.t) * ((b.slope + root - tilt) / (b.slope - a.slope + 2 * root))
    return min(max(t, min_t), max_t)
