"""Hooks around a module's part of backward: what they see, what they may replace, and their order."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from module_tools import both, named


def values(gradients: Any) -> Any:
    """Gradients as lists: None stays None."""
    return tuple(None if g is None else g.tolist() for g in gradients)


def scale(L: Any) -> Any:
    """Two inputs, two outputs: a * w and b."""

    class Scale(L.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.w = L.nn.Parameter(L.tensor([3.0]))

        def forward(self, a: Any, b: Any) -> Any:
            return a * self.w, b * 1.0

    return Scale()


@both
def test_what_they_see(library: str) -> None:
    L = named(library)
    module = scale(L)
    seen: list[Any] = []
    module.register_full_backward_pre_hook(
        lambda m, grad_output: seen.append(("pre", m is module, values(grad_output)))
    )
    module.register_full_backward_hook(
        lambda m, grad_input, grad_output: seen.append(
            ("post", m is module, values(grad_input), values(grad_output))
        )
    )
    a, b = L.tensor([1.0], requires_grad=True), L.tensor([2.0])
    first, second = module(a, b)
    assert type(first.grad_fn).__name__ == "BackwardHookFunctionBackward"
    (first * 5).sum().backward()
    assert seen == [
        ("pre", True, ([5.0], None)),
        ("post", True, ([15.0], [0.0]), ([5.0], None)),
    ]
    assert a.grad.tolist() == [15.0]
    assert module.w.grad.tolist() == [5.0]
    assert not second.requires_grad


@both
def test_replacing(library: str) -> None:
    L = named(library)
    module = L.nn.Linear(1, 1, bias=False)
    module.weight.data.fill_(2.0)
    pre = module.register_full_backward_pre_hook(lambda m, grads: (grads[0] * 10,))
    post = module.register_full_backward_hook(lambda m, grads, outputs: (outputs[0] + grads[0],))
    x = L.ones(1, 1, requires_grad=True)
    module(x).sum().backward()
    assert x.grad.tolist() == [[30.0]]  # 10 * 2, and the 10 that the second hook adds
    assert module.weight.grad.tolist() == [[10.0]]
    pre.remove()
    post.remove()
    x.grad = None
    module(x).sum().backward()
    assert x.grad.tolist() == [[2.0]]


@both
def test_wrong_numbers_of_gradients(library: str) -> None:
    L = named(library)
    x = L.ones(1, 1, requires_grad=True)
    module = L.nn.Linear(1, 1)
    module.register_full_backward_hook(lambda m, grads, outputs: (None, None))
    with pytest.raises(RuntimeError, match=r"invalid number of grad_input, got 2, but expected 1"):
        module(x).sum().backward()
    module = L.nn.Linear(1, 1)
    module.register_full_backward_pre_hook(lambda m, outputs: ())
    with pytest.raises(RuntimeError, match=r"invalid number of grad_output, got 0, but expected 1"):
        module(x).sum().backward()


@both
def test_order(library: str) -> None:
    L = named(library)
    net = L.nn.Sequential(L.nn.Linear(1, 1), L.nn.ReLU())
    log: list[str] = []
    for name, module in (("net", net), ("linear", net[0]), ("relu", net[1])):
        for number in (1, 2):
            module.register_full_backward_pre_hook(
                lambda *_, text=f"{name} pre {number}": log.append(text)
            )
            module.register_full_backward_hook(
                lambda *_, text=f"{name} post {number}": log.append(text)
            )
        module.register_full_backward_hook(
            lambda *_, text=f"{name} post 0": log.append(text), prepend=True
        )
    net(L.ones(1, 1, requires_grad=True)).sum().backward()
    assert log == [
        *("net pre 1", "net pre 2"),
        *("relu pre 1", "relu pre 2", "relu post 0", "relu post 1", "relu post 2"),
        *("linear pre 1", "linear pre 2", "linear post 0", "linear post 1", "linear post 2"),
        *("net post 0", "net post 1", "net post 2"),
    ]


@both
def test_inputs_without_gradient(library: str) -> None:
    L = named(library)
    module = L.nn.Linear(1, 1)
    seen: list[Any] = []
    module.register_full_backward_hook(
        lambda m, grad_input, grad_output: seen.append((grad_input, values(grad_output)))
    )
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        module(L.ones(1, 1)).sum().backward()
    assert seen == [((None,), ([[1.0]],))]
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_output[0],))
    with (
        pytest.warns(UserWarning, match="no inputs require gradients"),
        pytest.raises(RuntimeError, match="should always return None or None for all gradients"),
    ):
        module(L.ones(1, 1)).sum().backward()


@both
def test_without_recording(library: str) -> None:
    L = named(library)
    module = L.nn.Linear(1, 1)
    module.register_full_backward_hook(lambda *_: None)
    x = L.ones(1, 1, requires_grad=True)
    with L.no_grad():
        assert module(x).grad_fn is None
    module.requires_grad_(False)
    assert module(x.detach()).grad_fn is None


@both
def test_outputs_that_are_no_tensors(library: str) -> None:
    L = named(library)

    class Dict(L.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return {"x": x * 2}

    module = Dict()
    module.register_full_backward_hook(lambda *_: None)
    with pytest.warns(
        UserWarning, match="For backward hooks to be called, module output should be"
    ):
        module(L.ones(1, requires_grad=True))


@both
def test_double_backward(library: str) -> None:
    L = named(library)
    module = L.nn.Tanh()
    seen: list[Any] = []
    module.register_full_backward_hook(lambda m, i, o: seen.append(values(i)))
    x = L.tensor([0.0], requires_grad=True)
    (slope,) = L.autograd.grad(module(x).sum(), x, create_graph=True)
    assert seen == [([1.0],)]
    slope.sum().backward()
    assert x.grad.tolist() == [0.0]


@both
def test_of_all_modules(library: str) -> None:
    L = named(library)
    M = __import__(f"{library}.nn.modules.module", fromlist=["Module"])
    net = L.nn.Sequential(L.nn.Linear(1, 1), L.nn.Tanh())
    log: list[str] = []
    handles = [
        M.register_module_full_backward_pre_hook(
            lambda m, _: log.append(f"pre {type(m).__name__}")
        ),
        M.register_module_full_backward_hook(
            lambda m, _, __: log.append(f"post {type(m).__name__}")
        ),
    ]
    net[1].register_full_backward_hook(lambda *_: log.append("own"))
    try:
        net(L.ones(1, 1, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert log == [
        *("pre Sequential", "pre Tanh", "post Tanh", "own"),
        *("pre Linear", "post Linear", "post Sequential"),
    ]
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        M.register_module_backward_hook(lambda *_: None)


@both
def test_the_former_kind(library: str) -> None:
    L = named(library)
    module = L.nn.Tanh()
    seen: list[Any] = []
    module.register_backward_hook(
        lambda m, grad_input, grad_output: seen.append((m is module, values(grad_output)))
    )
    x = L.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module(x).backward(L.tensor([4.0]))
    assert seen == [(True, ([4.0],))]
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        module.register_full_backward_hook(lambda *_: None)
    other = L.nn.Tanh()
    other.register_full_backward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        other.register_backward_hook(lambda *_: None)


@both
def test_the_former_kind_warns_of_what_it_misses(library: str) -> None:
    L = named(library)

    class Two(L.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x.tanh().tanh()

    module = Two()
    module.register_backward_hook(lambda *_: None)
    with pytest.warns(FutureWarning, match="forward contains multiple autograd Nodes"):
        module((L.ones(1, requires_grad=True) * 1.0,)[0])
    pair = scale(L)
    pair.register_backward_hook(lambda *_: None)
    x = L.ones(1, requires_grad=True)
    with pytest.warns(FutureWarning, match="outputs are generated by different autograd Nodes"):
        pair(x * 1.0, x * 1.0)
