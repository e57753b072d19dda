"""engine._check and its relatives, compared with PyTorch's where it is installed."""

from __future__ import annotations

import importlib

import pytest

import engine

CHECKS = {
    "_check": RuntimeError,
    "_check_value": ValueError,
    "_check_index": IndexError,
    "_check_type": TypeError,
    "_check_not_implemented": NotImplementedError,
}


@pytest.mark.parametrize(("name", "error"), CHECKS.items())
def test_a_condition_that_does_not_hold(name, error):
    check = getattr(engine, name)
    assert check(True) is None
    with pytest.raises(error, match=r"^a reason of 3$"):
        check(False, lambda: "a reason of 3")
    with pytest.raises(error, match="Expected cond to be True, but got False"):
        check(False)
    with pytest.raises(TypeError, match="cond must be a bool, but got <class 'int'>"):
        check(1)
    with pytest.raises(TypeError, match="_check_tensor_all"):
        check(engine.tensor(True))
    with pytest.raises(TypeError, match="message must be a callable"):
        check(False, "a reason")


def test_sizes_and_tensors():
    engine._check_is_size(0)
    engine._check_is_size(4, max=4)
    for size, limits in ((-1, {}), (5, {"max": 4})):
        with pytest.raises(RuntimeError, match="Expected cond"):
            engine._check_is_size(size, **limits)
    engine._check_tensor_all(engine.tensor([True, True]))
    with pytest.raises(RuntimeError, match=r"^no$"):
        engine._check_tensor_all(engine.tensor([True, False]), lambda: "no")
    with pytest.raises(TypeError, match="cond must be a tensor"):
        engine._check_tensor_all(True)
    with pytest.raises(TypeError, match=r"must have dtype engine\.bool, but got engine\.int64"):
        engine._check_tensor_all(engine.tensor([1]))


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("arguments", [(False,), (False, lambda: 3), (1,), (False, "text")])
def test_the_same_as_pytorch(name, arguments):
    torch = pytest.importorskip("torch")

    def outcome(package):
        try:
            return getattr(importlib.import_module(package), name)(*arguments)
        except Exception as error:
            return type(error), str(error)

    assert outcome("engine") == outcome(torch.__name__)
