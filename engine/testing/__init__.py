"""Comparison of tensors, and tensors to test with."""

from __future__ import annotations

from typing import Any

from engine.absent_names import getattr_of
from engine.testing.comparison import assert_close
from engine.testing.creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
__getattr__ = getattr_of("testing")


def assert_allclose(actual: Any, expected: Any, **options: Any) -> None:
    """Raise AssertionError unless both are close; the older name of `assert_close`."""
    options.setdefault("equal_nan", True)
    assert_close(
        actual, expected, check_device=True, check_dtype=False, check_stride=False, **options
    )
