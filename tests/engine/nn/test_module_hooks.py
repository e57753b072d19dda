"""Hooks around forward: order, what they may replace, what happens after an exception."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from module_tools import both, named


class Log(list[str]):
    """The names of the hooks that ran, in order."""

    def note(self, name: str) -> Any:
        return lambda *args, **options: self.append(name)


def double(L: Any) -> Any:
    class Double(L.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, *, more: Any = 0) -> Any:
            if x is None:
                raise ValueError("nothing to double")
            return x * 2 + more

    return Double()


@both
def test_order(library: str) -> None:
    L = named(library)
    module, log = double(L), Log()
    module.register_forward_hook(log.note("after 1"))
    module.register_forward_pre_hook(log.note("before 1"))
    module.register_forward_hook(log.note("after 2"))
    module.register_forward_pre_hook(log.note("before 2"))
    module.register_forward_hook(log.note("after 0"), prepend=True)
    module.register_forward_pre_hook(log.note("before 0"), prepend=True)
    module(1)
    assert log == [f"{when} {n}" for when in ("before", "after") for n in (0, 1, 2)]


@both
def test_arguments_and_replacements(library: str) -> None:
    L = named(library)
    module = double(L)
    seen: list[Any] = []

    def before(m: Any, args: Any) -> Any:
        seen.append((m is module, args))
        return args[0] + 1

    def after(m: Any, args: Any, output: Any) -> Any:
        seen.append((m is module, args, output))
        return output + 100

    first, second = module.register_forward_pre_hook(before), module.register_forward_hook(after)
    assert module(1, more=5) == 109
    assert seen == [(True, (1,)), (True, (2,), 9)]
    first.remove()
    first.remove()
    second.remove()
    assert module(1) == 2
    assert len(seen) == 2


@both
def test_keywords(library: str) -> None:
    L = named(library)
    module = double(L)
    seen: list[Any] = []

    def before(m: Any, args: Any, kwargs: Any) -> Any:
        seen.append((args, dict(kwargs)))
        return args, {"more": 7}

    def after(m: Any, args: Any, kwargs: Any, output: Any) -> None:
        seen.append((args, kwargs, output))

    module.register_forward_pre_hook(before, with_kwargs=True)
    module.register_forward_hook(after, with_kwargs=True)
    assert module(1, more=5) == 9
    assert seen == [((1,), {"more": 5}), ((1,), {"more": 7}, 9)]
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        module(1)


@both
def test_handles(library: str) -> None:
    L = named(library)
    module, log = double(L), Log()
    with module.register_forward_hook(log.note("inside"), with_kwargs=True, always_call=True):
        module(1)
    module(1)
    assert log == ["inside"]
    assert not module._forward_hooks
    assert not module._forward_hooks_with_kwargs
    assert not module._forward_hooks_always_called
    handle = module.register_forward_hook(log.note("x"))
    assert handle.id in module._forward_hooks


@both
def test_always_called(library: str) -> None:
    L = named(library)
    module, log = double(L), Log()
    module.register_forward_hook(log.note("never"))
    module.register_forward_hook(log.note("always"), always_call=True)
    with pytest.raises(ValueError, match="nothing to double"):
        module(None)
    assert log == ["always"]
    log.clear()
    module(1)
    assert log == ["never", "always"]


@both
def test_an_exception_in_a_hook(library: str) -> None:
    L = named(library)
    module, log = double(L), Log()

    def broken(*args: Any) -> None:
        raise KeyError("broken")

    module.register_forward_hook(log.note("first"), always_call=True)
    module.register_forward_hook(broken)
    module.register_forward_hook(log.note("last"), always_call=True)
    with pytest.raises(KeyError):
        module(1)
    assert log == ["first", "last"], "each once"
    module.register_forward_pre_hook(broken, prepend=True)
    module.register_forward_hook(broken, always_call=True)
    with (
        pytest.warns(UserWarning, match="module forward hook with ``always_call=True`` raised"),
        pytest.raises(KeyError),
    ):
        module(1)


@pytest.fixture
def handles() -> Iterator[list[Any]]:
    """Hooks of all modules, taken away after the test."""
    results: list[Any] = []
    yield results
    for handle in results:
        handle.remove()


@both
def test_of_all_modules(library: str, handles: list[Any]) -> None:
    L = named(library)
    M = __import__(f"{library}.nn.modules.module", fromlist=["Module"])
    module, log = L.nn.Sequential(double(L)), Log()
    module[0].register_forward_pre_hook(log.note("own before"))
    module[0].register_forward_hook(log.note("own after"))
    handles.append(
        M.register_module_forward_pre_hook(lambda m, args: log.append(f"before {type(m).__name__}"))
    )
    handles.append(
        M.register_module_forward_hook(
            lambda m, args, output: log.append(f"after {type(m).__name__}")
        )
    )
    module(1)
    assert log == [
        "before Sequential",
        "before Double",
        "own before",
        "after Double",
        "own after",
        "after Sequential",
    ]
    for handle in handles:
        handle.remove()
    log.clear()
    module(1)
    assert log == ["own before", "own after"]


@both
def test_of_all_modules_with_keywords(library: str, handles: list[Any]) -> None:
    L = named(library)
    M = __import__(f"{library}.nn.modules.module", fromlist=["Module"])
    seen: list[Any] = []
    handles.append(
        M.register_module_forward_hook(
            lambda m, args, kwargs, output: seen.append((args, kwargs, output)),
            with_kwargs=True,
            always_call=True,
        )
    )
    assert double(L)(1, more=2) == 4
    assert seen == [((1,), {"more": 2}, 4)]


@both
def test_registrations(library: str, handles: list[Any]) -> None:
    L = named(library)
    M = __import__(f"{library}.nn.modules.module", fromlist=["Module"])
    log: list[str] = []
    for kind in ("parameter", "buffer", "module"):
        register = getattr(M, f"register_module_{kind}_registration_hook")
        handles.append(register(lambda m, name, value, kind=kind: log.append(f"{kind} {name}")))
    module = L.nn.BatchNorm1d(2)
    assert log == [
        "parameter weight",
        "parameter bias",
        "buffer running_mean",
        "buffer running_var",
        "buffer num_batches_tracked",
    ]
    log.clear()
    outer = L.nn.Module()
    outer.inner = module
    outer.add_module("other", module)
    outer.inner = None
    assert log == ["module inner", "module other", "module inner"]
    new = L.nn.Parameter(L.ones(1))
    handles.append(M.register_module_parameter_registration_hook(lambda m, name, value: new))
    outer.weight = L.nn.Parameter(L.zeros(1))
    assert outer.weight is new


def called(module: Any, args: Any, output: Any) -> None:
    """A hook that can be pickled."""
    module.calls = getattr(module, "calls", 0) + 1


@both
def test_copies_keep_hooks(library: str) -> None:
    L = named(library)
    module = L.nn.ReLU()
    handle = module.register_forward_hook(called)
    for item in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        item(L.ones(1))
        assert item.calls == 1
        handle.remove()
        item(L.ones(1))
        assert item.calls == 2, "the copy has its own dict of hooks"
        handle = module.register_forward_hook(called)
    assert not hasattr(module, "calls")
