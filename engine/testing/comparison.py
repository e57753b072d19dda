"""assert_close: values, shapes, dtypes, devices and strides of two structures of tensors, compared."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import engine
from engine.tensor import Tensor

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


class _Options:
    def __init__(self, rtol: float | None, atol: float | None, **switches: Any) -> None:
        if (rtol is None) != (atol is None):
            raise ValueError(
                f"Both 'rtol' and 'atol' must be either specified or unspecified, but got no "
                f"{'rtol' if rtol is None else 'atol'} and {'atol' if rtol is None else 'rtol'}"
                f"={atol if rtol is None else rtol} instead."
            )
        self.rtol, self.atol = rtol, atol
        self.message: str | Callable[[str], str] | None = switches.pop("message")
        self.allow_subclasses: bool = switches.pop("allow_subclasses")
        self.equal_nan: bool = switches.pop("equal_nan")
        self.check_device: bool = switches.pop("check_device")
        self.check_dtype: bool = switches.pop("check_dtype")
        self.check_stride: bool = switches.pop("check_stride")

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """Return rtol and atol: those requested, or the largest of the dtypes'."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(str(kind).rpartition(".")[2], (0.0, 0.0)) for kind in dtypes]
        return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)

    def fail(self, message: str, path: str, kind: type[Exception] = AssertionError) -> None:
        if path:
            message = f"{message}\n\nThe failure occurred for item {path}"
        if callable(self.message):
            message = self.message(message)
        elif self.message is not None:
            message = self.message
        raise kind(message)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Tensors, numbers, and sequences and mappings of them are compared; both tolerances depend on the dtype, and
    have to be passed together. `check_...` says what else has to agree.
    Raises: AssertionError, ValueError for one tolerance without the other, TypeError for other objects.

    >>> assert_close(engine.tensor([1.0, 2.0]), engine.tensor([1.0, 2.0 + 1e-7]))
    >>> assert_close(1.0, 1.1)
    Traceback (most recent call last):
    AssertionError: Scalars are not close!
    <BLANKLINE>
    Expected 1.1 but got 1.0.
    Absolute difference: 0.10000000000000009 (up to 1e-07 allowed)
    Relative difference: 0.09090909090909098 (up to 1e-07 allowed)
    """
    options = _Options(
        rtol,
        atol,
        message=msg,
        allow_subclasses=allow_subclasses,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_stride=check_stride,
    )
    _compare(actual, expected, options, "")


def _compare(actual: Any, expected: Any, options: _Options, path: str) -> None:
    sequences = isinstance(actual, Sequence) and isinstance(expected, Sequence)
    if sequences and not isinstance(actual, str) and not isinstance(expected, str):
        if len(actual) != len(expected):
            options.fail(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path
            )
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, b, options, f"{path}[{i}]")
        return
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            options.fail(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(set(expected) - set(actual))}\n"
                f"Additional keys in the actual mapping: {sorted(set(actual) - set(expected))}",
                path,
            )
        for key in expected:
            _compare(actual[key], expected[key], options, f"{path}[{key!r}]")
        return
    if actual is None and expected is None:
        return
    numbers = tuple(_PYTHON_TYPES)
    if isinstance(actual, numbers) and isinstance(expected, numbers):
        _compare_numbers(actual, expected, options, path)
        return
    if not options.allow_subclasses and type(actual) is not type(expected):
        options.fail(
            "Except for containers and tensors, equality comparison of "
            f"{type(actual)} and {type(expected)} is not allowed",
            path,
            TypeError,
        )
    tensors = [_as_tensor(value) for value in (actual, expected)]
    if tensors[0] is None or tensors[1] is None:
        options.fail(
            "No comparison pair was able to handle inputs of type "
            f"{type(actual)} and {type(expected)}.",
            path,
            TypeError,
        )
        return
    _compare_tensors(tensors[0], tensors[1], options, path)


def _as_tensor(value: Any) -> Tensor | None:
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "__array__"):
        tensor: Tensor = engine.as_tensor(value)
        return tensor
    return None


def _compare_numbers(actual: Any, expected: Any, options: _Options, path: str) -> None:
    kinds = (_PYTHON_TYPES[type(actual)], _PYTHON_TYPES[type(expected)])
    if options.check_dtype and type(actual) is not type(expected):
        options.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    rtol, atol = options.tolerances(*kinds)
    difference = abs(actual - expected)
    if not difference <= atol + rtol * abs(expected):
        relative = difference / abs(expected) if expected else float("inf")
        exact = "equal" if rtol == atol == 0 else "close"
        options.fail(
            f"Scalars are not {exact}!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
            f"Relative difference: {relative}{_allowed(rtol, exact)}",
            path,
        )


def _allowed(tolerance: float, exact: str) -> str:
    return f" (up to {tolerance} allowed)" if exact == "close" else ""


def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options, path: str) -> None:
    attributes: list[tuple[bool, str, Any, Any]] = [
        (True, "shape", tuple(actual.shape), tuple(expected.shape)),
        (options.check_device, "device", actual.device, expected.device),
        (options.check_dtype, "dtype", actual.dtype, expected.dtype),
        (options.check_stride, "stride", tuple(actual.stride()), tuple(expected.stride())),
    ]
    for is_checked, name, own, other in attributes:
        if is_checked and own != other:
            options.fail(f"The values for attribute '{name}' do not match: {own} != {other}.", path)
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    with engine.no_grad():
        kind = engine.promote_types(actual.dtype, expected.dtype)
        a, b = actual.to(kind), expected.to(kind)
        is_close = engine.isclose(a, b, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
        if bool(is_close.all()):
            return
        options.fail(_mismatch(a, b, is_close, rtol, atol), path)


def _mismatch(actual: Tensor, expected: Tensor, is_close: Tensor, rtol: float, atol: float) -> str:
    """Return how many elements differ, and the largest differences with their positions."""
    exact = "equal" if rtol == atol == 0 else "close"
    a, b = actual.reshape(-1), expected.reshape(-1)
    if a.dtype in (engine.bool_, engine.uint8) or not (a.is_floating_point() or a.is_complex()):
        a, b = a.to(engine.int64), b.to(engine.int64)
    bad = ~is_close.reshape(-1)
    count, total = int(bad.sum()), bad.numel()
    difference = (a - b).abs().masked_fill(~bad, 0)
    relative = (difference / b.abs()).masked_fill(~bad, 0)
    if actual.dim() == 0:
        return (
            f"Scalars are not {exact}!\n\nExpected {expected.item()} but got {actual.item()}.\n"
            f"Absolute difference: {difference[0].item()}{_allowed(atol, exact)}\n"
            f"Relative difference: {relative[0].item()}{_allowed(rtol, exact)}"
        )
    lines = [
        f"Tensor-likes are not {exact}!",
        "",
        f"Mismatched elements: {count} / {total} ({100 * count / total:.1f}%)",
    ]
    for title, values, tolerance in (
        ("absolute", difference, atol),
        ("relative", relative, rtol),
    ):
        position = int(values.argmax())
        index = tuple(int(i) for i in engine.unravel_index(engine.tensor(position), actual.shape))
        lines.append(
            f"Greatest {title} difference: {values[position].item()} at index {index}"
            f"{_allowed(tolerance, exact)}"
        )
    return "\n".join(lines)
