"""checkpoint beyond the scenarios that are compared with PyTorch: memory, contexts, errors."""

import contextlib
import weakref

import pytest

import engine
from engine.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)


def leaf(*values):
    return engine.tensor(values, dtype=engine.float64, requires_grad=True)


def test_intermediate_tensors_are_let_go_of():
    seen = []

    def run(x):
        h = x.exp()
        seen.append(weakref.ref(h))
        return h.sin()

    x = leaf(0.5)
    y = checkpoint(run, x, use_reentrant=False)
    assert seen[0]() is None
    y.sum().backward()
    assert len(seen) == 2
    assert seen[1]() is None


def test_use_reentrant_should_be_passed():
    x = leaf(0.5)
    with pytest.warns(UserWarning, match="use_reentrant"):
        y = checkpoint(engine.exp, x)
    assert y.grad_fn.name() == "CheckpointFunctionBackward"
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint_sequential([engine.exp, engine.sin], 2, x)


def test_no_input_requires_grad():
    with pytest.warns(UserWarning, match="None of the inputs"):
        y = checkpoint(engine.exp, engine.ones(2), use_reentrant=True)
    assert not y.requires_grad


def test_under_no_grad():
    with engine.no_grad():
        assert not checkpoint(engine.exp, leaf(0.5), use_reentrant=False).requires_grad


def test_contexts_of_both_runs():
    log = []

    @contextlib.contextmanager
    def noted(label):
        log.append(f"enter {label}")
        yield
        log.append(f"leave {label}")

    x = leaf(0.5)
    y = checkpoint(
        engine.exp, x, use_reentrant=False, context_fn=lambda: (noted("first"), noted("again"))
    )
    y.sum().backward()
    assert log[:3] == ["enter first", "leave first", "enter again"]


def test_early_stop_can_be_switched_off():
    calls = []

    def run(x):
        y = x.sin()
        calls.append(1)
        return y

    for enable, count in ((True, 1), (False, 2)):
        calls.clear()
        with set_checkpoint_early_stop(enable):
            y = checkpoint(run, leaf(0.5), use_reentrant=False)
        y.sum().backward()
        assert len(calls) == count


def test_other_tensors_the_second_time():
    calls = []

    def fewer(x):
        calls.append(1)
        return x.sin().cos() if len(calls) == 1 else x.sin()

    with pytest.raises(CheckpointError, match=r"forward \(2\) and the recomputation \(1\)"):
        checkpoint(fewer, leaf(0.5), use_reentrant=False).sum().backward()

    def smaller(x):
        calls.append(1)
        return x.sin().cos() if len(calls) == 1 else x[:1].sin().cos()

    calls.clear()
    with pytest.raises(CheckpointError, match=r"\(2,\).*\(1,\)"):
        checkpoint(smaller, leaf(0.5, 0.7), use_reentrant=False).sum().backward()


def test_an_exception_in_the_second_run():
    calls = []

    def run(x):
        calls.append(1)
        if len(calls) > 1:
            raise ZeroDivisionError("the second time")
        return x.sin()

    for reentrant in (True, False):
        calls.clear()
        y = checkpoint(run, leaf(0.5), use_reentrant=reentrant)
        with pytest.raises(ZeroDivisionError, match="the second time"):
            y.sum().backward()


@pytest.mark.parametrize(
    ("options", "kind", "pattern"),
    [
        ({"use_reentrant": True, "scale": 1}, ValueError, "scale"),
        ({"use_reentrant": True, "debug": True}, ValueError, "debug"),
        ({"use_reentrant": True, "context_fn": print}, ValueError, "context_fn"),
        ({"use_reentrant": False, "determinism_check": "maybe"}, ValueError, "maybe"),
        ({"use_reentrant": False, "debug": True}, NotImplementedError, "debug"),
    ],
)
def test_arguments_that_do_not_go_together(options, kind, pattern):
    with pytest.raises(kind, match=pattern):
        checkpoint(engine.exp, leaf(0.5), **options)


def test_too_many_segments():
    with pytest.raises(ValueError, match=r"functions \(2\), got 3"):
        checkpoint_sequential([engine.exp, engine.sin], 3, leaf(0.5), use_reentrant=False)


def test_threads_share_a_checkpoint():
    import threading

    x = leaf(0.5, 0.25)
    y = checkpoint(lambda x: x.exp().sin() * x, x, use_reentrant=False)
    (expected,) = engine.autograd.grad(y.sum(), x, retain_graph=True)
    actual = []

    def work():
        for _ in range(5):
            actual.append(engine.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert actual == [expected.tolist()] * 20
