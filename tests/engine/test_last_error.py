"""The error of a failing call survives whatever runs before it is read: finalizers, hooks, other failing calls."""

from __future__ import annotations

import gc

import pytest

import engine
from engine._native import lib
from engine._native.errors import last_error, pass_on, raise_last


def fail_and_handle() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        engine.ones(2, 3) @ engine.ones(2, 3)


def test_calls_that_fail_in_between_leave_the_error_below_theirs() -> None:
    lib.uh_raise(b"first")
    for _ in range(100):
        fail_and_handle()
    pass_on(KeyError("second"))
    fail_and_handle()
    with pytest.raises(KeyError, match="second"):
        raise_last()
    with pytest.raises(SystemError, match="lost: first"):
        raise_last()


def test_errors_that_nobody_reads_are_not_collected_for_ever() -> None:
    for number in range(1000):
        lib.uh_raise(b"%d" % number)
    assert "lost: 999" in str(last_error())
    for _ in range(20):
        lib.uh_forget_last_error()
    assert str(last_error()) == ""
    assert isinstance(last_error(), SystemError)


class Cycle:
    """Garbage that only the collector finds, whose finalizer makes a call that fails."""

    finalized = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        Cycle.finalized += 1
        try:
            engine.ones(2).view(3)
        except RuntimeError:
            return
        raise AssertionError("view(3) of two elements did not raise")


def test_a_finalizer_between_a_failing_call_and_its_error() -> None:
    x = engine.ones(2, requires_grad=True)
    thresholds = gc.get_threshold()
    Cycle.finalized = 0
    try:
        gc.set_threshold(1, 1, 1)
        for _ in range(50):
            Cycle()
            with pytest.raises(IndexError, match="out of bounds"):
                engine.index_select(x, 0, engine.tensor([7]))
            y = x * x
            y.sum().backward()
            Cycle()
            with pytest.raises(RuntimeError, match="a second time"):
                y.sum().backward()
    finally:
        gc.set_threshold(*thresholds)
    assert Cycle.finalized


def test_a_callback_that_raises_while_garbage_is_collected() -> None:
    class Doubled(engine.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            return x * 2

        @staticmethod
        def backward(ctx, gradient):  # type: ignore[no-untyped-def]
            Cycle()
            gc.collect()
            raise KeyError("of the user")

    x = engine.ones(2, requires_grad=True)
    for _ in range(5):
        Cycle()
        with pytest.raises(KeyError, match="of the user"):
            Doubled.apply(x).sum().backward()
