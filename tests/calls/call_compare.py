"""Two outcomes of one call, PyTorch's and the engine's, as the first difference between them, or None."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator
from typing import Any

from call_differences import MEMORY, NO_NUMBERS, ORDERS

TOLERANCE = {
    "float16": 8e-3,
    "bfloat16": 6e-2,
    "float32": 1e-4,
    "float64": 1e-6,
    "complex64": 1e-4,
    "complex128": 1e-6,
}


def difference(path: str, theirs: Any, ours: Any) -> str | None:
    """Return the first difference in words; the first word says its kind."""
    if "missing" in (theirs[0], ours[0]) or "unbuilt" in (theirs[0], ours[0]):
        return None
    if theirs[0] == ours[0] == "raised":
        same = theirs[1].lstrip("_") == ours[1]  # _LinAlgError is LinAlgError
        return None if same else f"class {ours[1]}, PyTorch's is {theirs[1]}"
    if ours[0] == "raised":
        return None if MEMORY.search(ours[2]) else f"raises {ours[1]}"
    if theirs[0] == "raised":
        return None if MEMORY.search(theirs[2]) else f"returns, PyTorch raises {theirs[1]}"
    numbers = not NO_NUMBERS.fullmatch(path)
    if result := _tree(theirs[1], ours[1], numbers):
        return result
    for position, (a, b) in enumerate(zip(theirs[2], ours[2], strict=True)):
        if result := _tree(a, b, numbers):
            return f"input {position} afterwards: {result}"
    result = _gradients(theirs[3], ours[3], numbers)
    of_order = ORDERS.fullmatch(path) and (result or "").startswith("gradient 0: values")
    return None if of_order and same_for_equals(theirs[2][0], theirs[3][0], ours[3][0]) else result


def same_for_equals(x: Any, theirs: Any, ours: Any) -> bool:
    """Return True if all elements of x that are equal have the same gradient, summed."""
    sums: dict[str, list[Any]] = {}
    for value, *gradients in zip(x[7], theirs[7], ours[7], strict=True):
        sums.setdefault(repr(value + 0), []).append(gradients)
    rtol = TOLERANCE[theirs[1]]
    return all(
        _close(sum(a for a, _ in pairs), sum(b for _, b in pairs), rtol, rtol)
        for pairs in sums.values()
    )


def _gradients(theirs: Any, ours: Any, numbers: bool) -> str | None:
    raised = [isinstance(item, tuple) and item[0] == "raised" for item in (theirs, ours)]
    if all(raised):
        return (
            None if theirs[1] == ours[1] else f"gradient class {ours[1]}, PyTorch's is {theirs[1]}"
        )
    if any(raised):
        return (
            f"gradient raises {ours[1]}"
            if raised[1]
            else f"gradient is there, PyTorch raises {theirs[1]}: {theirs[2]}"
        )
    if (theirs is None) != (ours is None):
        return "gradient is there, PyTorch has none" if theirs is None else "gradient is missing"
    for position, (a, b) in enumerate(zip(theirs or (), ours or (), strict=True)):
        if (a is None) != (b is None):
            return f"gradient {position} is {'missing' if b is None else 'there'}, PyTorch's is not"
        if a is not None and (result := _tree(a, b, numbers, strides=False)):
            return f"gradient {position}: {result}"
    return None


def no_farther(theirs: Any, ours: Any, wide: Any) -> bool:
    """Return true if our numbers are as near as PyTorch's to those of the same call in double precision."""
    leaves = [list(_numbers(outcome[1:])) for outcome in (theirs, ours, wide)]
    if len({tuple(map(len, leave)) for leave in leaves}) > 1:
        return False
    for a, b, w in zip(*leaves, strict=True):
        far = [0.0, 0.0]
        for n, m, right in zip(a, b, w, strict=True):
            if n == m or (n != n and m != m) or type(n) not in (float, complex):
                continue
            if not (cmath.isfinite(right) and cmath.isfinite(n) and cmath.isfinite(m)):
                if cmath.isfinite(m) == cmath.isfinite(right) and cmath.isfinite(
                    n
                ) != cmath.isfinite(m):
                    continue  # finite where it should be, unlike PyTorch's; or the other way round
                return False
            far = [max(far[0], abs(n - right)), max(far[1], abs(m - right))]
        if far[1] > far[0] * 1.5:
            return False
    return True


def _numbers(tree: Any) -> Iterator[list[Any]]:
    """Yield the numbers of every tensor of an outcome, in order."""
    if isinstance(tree, tuple) and tree and tree[0] == "tensor":
        yield tree[7] or []
    elif isinstance(tree, (tuple, list)):
        for item in tree:
            yield from _numbers(item)


def _tree(a: Any, b: Any, numbers: bool, strides: bool = True) -> str | None:
    if a[0].removesuffix("_out") != b[0].removesuffix("_out"):
        return f"structure {b[0]}, PyTorch's is {a[0]}"
    if a[0] == "tensor":
        return _tensor(a, b, numbers, strides)
    if a[0] == "value":
        if a[1] != b[1]:
            return f"structure {b[1]}, PyTorch's is {a[1]}"
        return (
            None
            if not numbers or _close(a[2], b[2], 1e-6, 0)
            else f"values: {b[2]!r}, PyTorch's is {a[2]!r}"
        )
    if a[0] == "other":
        return None
    if a[0].startswith("sparse"):
        return _tree(a[1:], b[1:], numbers, strides=False)
    if len(a) != len(b):
        return f"structure of {len(b) - 1} results, PyTorch's are {len(a) - 1}"
    for left, right in zip(a[1:], b[1:], strict=True):
        if result := _tree(left, right, numbers, strides):
            return result
    return None


def _tensor(a: Any, b: Any, numbers: bool, strides: bool) -> str | None:
    for word, position in (
        ("dtype", 1),
        ("shape", 2),
        ("device", 8),
        ("requires_grad", 4),
        ("identity", 5),
        ("sharing", 6),
    ):
        if a[position] != b[position]:
            return f"{word} {b[position]}, PyTorch's is {a[position]}"
    if strides and math.prod(a[2]):
        steps = [[step for size, step in zip(t[2], t[3], strict=True) if size != 1] for t in (a, b)]
        if steps[0] != steps[1]:
            return f"strides {b[3]}, PyTorch's are {a[3]}"
    if not numbers or a[7] is None or b[7] is None or a[7] == b[7]:
        return None
    rtol = TOLERANCE.get(a[1], 0)
    scale = max((abs(n) for n in a[7] if cmath.isfinite(n)), default=0) if rtol else 0
    for at, (n, m) in enumerate(zip(a[7], b[7], strict=True)):
        if not _close(n, m, rtol, rtol * min(scale, 1e3) / 100):
            return f"values: {m!r} at {at} of {len(a[7])}, PyTorch's is {n!r}"
    return None


def _close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    if type(a) is complex and type(b) is complex:
        if cmath.isfinite(a) and cmath.isfinite(b):
            return abs(a - b) <= atol + rtol * abs(a)
        return _close(a.real, b.real, rtol, atol) and _close(a.imag, b.imag, rtol, atol)
    if type(a) is float and type(b) is float:
        return (
            a == b
            or (a != a and b != b)
            or (math.isfinite(a) and abs(a - b) <= atol + rtol * abs(a))
        )
    return bool(a == b)
