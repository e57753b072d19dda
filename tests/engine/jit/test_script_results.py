"""A scripted function gives what the Python function gives, for every program of programs/."""

import copy
import importlib
from enum import Enum

import pytest

import engine
from engine import jit

_FILES = ("control_flow", "containers", "numbers_and_types", "documented", "language", "classes")
_CASES = [
    pytest.param(fn, args, id=f"{name}.{fn.__name__}-{i}")
    for name in _FILES
    for fn, all_args in importlib.import_module(f"tests.engine.jit.programs.{name}").CASES
    for i, args in enumerate(all_args)
]


def same(a, b):
    """Equal in value, type and structure; tensors in dtype, shape and elements."""
    if isinstance(a, engine.Tensor):
        assert isinstance(b, engine.Tensor)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert engine.equal(a, b)
        return
    if isinstance(a, (list, tuple)):
        assert isinstance(b, (list, tuple))
        assert getattr(a, "_fields", None) == getattr(b, "_fields", None)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
        return
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
        return
    assert type(a) is type(b)
    if type(a).__module__.endswith("programs.classes") and not isinstance(a, Enum):
        same(vars(a), vars(b))
        return
    assert a == b


@pytest.mark.parametrize(("fn", "args"), _CASES)
def test_scripted_equals_python(fn, args):
    first, second = copy.deepcopy(args), copy.deepcopy(args)
    same(fn(*first), jit.script(fn)(*second))
    for one, other in zip(first, second, strict=True):
        if isinstance(one, engine.Tensor):  # written in place; lists are copied, as in PyTorch
            same(one, other)
