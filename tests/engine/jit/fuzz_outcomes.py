"""Outcomes of calls, as data that can be compared: results, writes, memory, gradients, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# Each starts a new case for guards: dtypes, shapes, strides, gradients, one memory for both.
CASES = ("plain", "trained", "turned", "whole", "empty", "odd", "one", "overlapping", "plain")


def arguments(lib: Any, case: str) -> list[Any]:
    """x and y of a case (of either library), and the numbers that go with them."""
    rows = [[0.5, -1.25, 2.0, 0.75], [-0.5, 1.5, -2.0, 0.25], [1.0, -0.75, 0.125, 3.0]]
    odd = [
        [math.nan, -0.0, 0.0, math.inf],
        [-math.inf, 1.5, -0.0, 0.25],
        [1.0, math.nan, 0.125, 1e30],
    ]
    x = lib.tensor(odd if case == "odd" else rows)
    y = lib.tensor([[v * 0.5 - 0.25 for v in row] for row in rows])
    n, s, p, w = 2, 0.5, True, "k"
    if case == "trained":
        x, y = x.requires_grad_(), y.requires_grad_()
    elif case == "turned":
        x, y, n, p = x.t().contiguous().t().double(), y[0], 5, False
    elif case == "whole":
        x, y, n, s, w = (x * 4).to(lib.int64), lib.tensor(1.5), -3, -2.25, "ab"
    elif case == "empty":
        x, y, n, w = lib.zeros(0, 4), y[:1], 0, ""
    elif case == "odd":
        n, p = 3, False
    elif case == "one":
        y = x
    elif case == "overlapping":
        base = lib.arange(24.0).reshape(6, 4) - 11
        x, y, n, s = base[:3], base[1:4], 1, 4.0
    return [x, y, n, s, p, w]


@dataclass
class Outcome:
    """The observable results of one call."""

    error: Exception | None = None
    parts: list[Any] = field(default_factory=list)  # results and inputs, flattened
    memory: list[int] = field(default_factory=list)  # which of the tensors are one storage
    versions: list[int] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [part for key, item in value.items() for part in (key, *flat(item))]
    if isinstance(value, (list, tuple)):
        return [len(value), *(part for element in value for part in flat(element))]
    return [value]


def outcome(lib: Any, fn: Callable[..., Any], args: list[Any], twice: bool = False) -> Outcome:
    """Calls `fn`, and goes back through what it gives; `twice`: through the gradients as well."""
    leaves = [arg for arg in args[:2] if arg.requires_grad]
    mode = lib.is_grad_enabled()
    try:
        parts = [*flat(fn(*args)), *args]
    except Exception as error:
        return Outcome(error)
    finally:
        lib.set_grad_enabled(mode)
    tensors = [part for part in parts if isinstance(part, lib.Tensor)]
    positions = [tensor.untyped_storage().data_ptr() if tensor.numel() else 0 for tensor in tensors]
    result = Outcome(
        parts=[plain(lib, element) for element in parts],
        memory=[positions.index(item) for item in positions],
        versions=[tensor._version for tensor in tensors],
    )
    if leaves:
        result.gradients = gradients(lib, tensors, leaves, twice)
    return result


def gradients(lib: Any, tensors: list[Any], leaves: list[Any], twice: bool) -> list[Any]:
    """Differentiate a weighted sum of all results that require gradients; or return the error."""
    try:
        parts = [
            (tensor * (0.5 + i * 0.25)).sum().double()
            for i, tensor in enumerate(tensors)
            if tensor.requires_grad
        ]
        if not parts:
            return []
        total = lib.stack(parts).sum()
        first = lib.autograd.grad(total, leaves, create_graph=twice, allow_unused=True)
        visible = [plain(lib, entry) for entry in first]
        again = [item.square().sum() for item in first if item is not None and item.requires_grad]
        if again:
            second = lib.autograd.grad(lib.stack(again).sum(), leaves, allow_unused=True)
            visible += [plain(lib, element) for element in second]
    except RuntimeError as error:
        return [type(error).__name__]
    return visible


def plain(lib: Any, value: Any) -> Any:
    if not isinstance(value, lib.Tensor):
        return value
    # The stride of a dimension of one element has no meaning.
    strides = tuple(0 if n == 1 else by for n, by in zip(value.shape, value.stride(), strict=True))
    about = (
        str(value.dtype).split(".")[-1],
        tuple(value.shape),
        strides,
        value.requires_grad,
    )
    return (about, value.detach().reshape(-1).tolist())


def difference(actual_outcome: Outcome, expected: Outcome, tolerance: float = 0.0) -> str:
    """Return the first thing that is not the same; nothing where all is."""
    if actual_outcome.error is not None or expected.error is not None:
        return _of_errors(actual_outcome.error, expected.error)
    for item in ("parts", "memory", "gradients"):
        ours, other = getattr(actual_outcome, item), getattr(expected, item)
        if len(ours) != len(other):
            return f"{item}: {ours} is not {other}"
        for i, (a, b) in enumerate(zip(ours, other, strict=True)):
            if not _same(a, b, tolerance):
                return f"{item}[{i}]: {a} is not {b}"
    return ""


def _of_errors(actual: Exception | None, expected: Exception | None) -> str:
    """Compiled code raises only what Python raises; it need not raise what an unused result would have."""
    if expected is None:
        return f"{actual!r} was raised"
    meant = isinstance(expected, AssertionError) or "stopped at" in str(expected)
    if actual is None:
        return f"{expected!r} was not raised" if meant else ""
    if meant and _last_line(expected) not in _last_line(actual):
        return f"{actual!r} is not {expected!r}"
    return ""


def _last_line(error: Exception) -> str:
    """Return the message alone: compiled code writes a traceback before it."""
    return str(error).rstrip("\n").split("\n")[-1]


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[0] == b[0] and all(_near(x, y, tolerance) for x, y in zip(a[1], b[1], strict=True))
    return _near(a, b, tolerance)


def _near(x: Any, y: Any, tolerance: float) -> bool:
    if not isinstance(x, float) or not isinstance(y, (int, float)):
        return bool(x == y)
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    if not tolerance:
        return x == y and math.copysign(1, x) == math.copysign(1, y)
    return math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance)
