"""Helpers of the tests of modules: the engine and PyTorch under one name, values in and out."""

from __future__ import annotations

import sys
import types
import unittest
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest

import engine

# A test that takes `L` holds for both: what it asserts is PyTorch's behaviour.
both = pytest.mark.parametrize("library", ["engine", "torch"])


def named(library: str) -> Any:
    """Return the engine, or PyTorch where it is installed."""
    return engine if library == "engine" else pytest.importorskip("torch")


def without_library(text: str) -> str:
    """Return an error's text with the library's name taken out."""
    return text.replace("torch.", "engine.").replace("(torch ", "(engine ")


def ours(value: Any) -> Any:
    """Return a value of PyTorch's as the engine has it."""
    import torch

    if isinstance(value, torch.nn.Parameter):
        return engine.nn.Parameter(ours(value.detach()))
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        result = engine.tensor(plain.numpy().copy()) if plain.dim() else engine.tensor(plain.item())
        result = result.to(getattr(engine, str(plain.dtype).removeprefix("torch.")))
        return result.requires_grad_() if value.requires_grad else result
    if isinstance(value, torch.dtype):
        return getattr(engine, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(ours, value))
    if isinstance(value, dict):
        return {key: ours(item) for key, item in value.items()}
    return value


def tensors(value: Any) -> Iterator[Any]:
    """Yield all that is in nested tuples and lists."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
    else:
        yield value


def assert_equal(
    mine: Any, theirs: Any, label: str, rtol: float = 1e-7, atol: float = 1e-9
) -> None:
    """The same shapes and values, in as many tensors."""
    left, right = list(tensors(mine)), list(tensors(theirs))
    assert len(left) == len(right), f"{label}: {len(left)} tensors, PyTorch has {len(right)}"
    for a, b in zip(left, right, strict=True):
        if b is None:
            assert a is None, f"{label}: not None"
            continue
        assert tuple(a.shape) == tuple(b.shape), f"{label}: {a.shape}, PyTorch has {b.shape}"
        np.testing.assert_allclose(
            a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=atol, err_msg=label
        )


@contextmanager
def doubles() -> Iterator[None]:
    """float64 wherever no dtype is given, on both sides."""
    torch = pytest.importorskip("torch")
    torch.set_default_dtype(torch.float64)
    engine.set_default_dtype(engine.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)
        engine.set_default_dtype(engine.float32)


@cache
def module_database() -> list[Any]:
    """PyTorch's own samples of modules."""
    try:
        import expecttest  # noqa: F401
    except ImportError:  # PyTorch's test tools import it for a base class that nothing here uses
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return list(module_db)
