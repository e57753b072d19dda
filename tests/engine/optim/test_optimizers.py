"""Optimizers against their formulas in NumPy; the native steps against the readable ones; state and hooks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from optim_cases import CASES, FUSED, SHAPES, STEPS, gradients, leaf, set_gradients, start, train

import engine
from engine import optim


def params(dtype: str = "float64") -> list[Any]:
    return [leaf(engine, values) for values in start(dtype=dtype)]


def followed(formula: Any, steps: int = STEPS) -> list[list[np.ndarray]]:
    """Return the parameters after each step by `formula(p, g, state, t) -> p`."""
    current = start()
    states: list[dict[str, Any]] = [{} for _ in current]
    seen = []
    for step in range(steps):
        pairs = zip(current, gradients(step), states, strict=True)
        current = [formula(p, g, state, step + 1) for p, g, state in pairs]
        seen.append(current)
    return seen


def same(
    actual: list[list[np.ndarray]], expected: list[list[np.ndarray]], tolerance: float
) -> None:
    for step, (own, other) in enumerate(zip(actual, expected, strict=True)):
        for a, b in zip(own, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"step {step}")


def sgd(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.1 * p
    state["b"] = g if t == 1 else 0.9 * state["b"] + 0.7 * g
    return p - 0.1 * state["b"]


def nesterov(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.01 * p
    state["b"] = 0.9 * state.get("b", 0) + g
    return p - 0.1 * (g + 0.9 * state["b"])


def adam(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    state["v"] = 0.999 * state.get("v", 0) + 0.001 * g * g
    m, v = state["m"] / (1 - 0.9**t), state["v"] / (1 - 0.999**t)
    return p - 0.01 * m / (np.sqrt(v) + 1e-8)


def adamw(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    return adam(p * (1 - 0.01 * 0.01), g, state, t)


def amsgrad(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.1 * p
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    state["v"] = 0.999 * state.get("v", 0) + 0.001 * g * g
    state["largest"] = np.maximum(state.get("largest", 0), state["v"])
    spread = np.sqrt(state["largest"] / (1 - 0.999**t)) + 1e-8
    return p - 0.01 * state["m"] / (1 - 0.9**t) / spread


def rmsprop(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.1 * p
    state["v"] = 0.99 * state.get("v", 0) + 0.01 * g * g
    state["m"] = 0.99 * state.get("m", 0) + 0.01 * g
    return p - 0.01 * g / (np.sqrt(state["v"] - state["m"] ** 2) + 1e-8)


def adagrad(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.1 * p
    state["s"] = state.get("s", 0) + g * g
    return p - 0.1 / (1 + (t - 1) * 0.1) * g / (np.sqrt(state["s"]) + 1e-10)


def adadelta(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.1 * p
    state["v"] = 0.8 * state.get("v", 0) + 0.2 * g * g
    d = np.sqrt(state.get("u", 0) + 1e-6) / np.sqrt(state["v"] + 1e-6) * g
    state["u"] = 0.8 * state.get("u", 0) + 0.2 * d * d
    return p - 0.5 * d


def adamax(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.1 * p
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    state["u"] = np.maximum(0.999 * state.get("u", 0), np.abs(g) + 1e-8)
    return p - 0.002 / (1 - 0.9**t) * state["m"] / state["u"]


def nadam(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    mu, mu_next = (0.9 * (1 - 0.5 * 0.96 ** (k * 0.004)) for k in (t, t + 1))
    # The product is kept in float32, as every count is.
    state["mu"] = np.float32(state.get("mu", np.float32(1)) * mu)
    product = float(state["mu"])
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    state["v"] = 0.999 * state.get("v", 0) + 0.001 * g * g
    spread = np.sqrt(state["v"] / (1 - 0.999**t)) + 1e-8
    ahead = mu_next * state["m"] / (1 - product * mu_next) + (1 - mu) * g / (1 - product)
    return p - 0.01 * ahead / spread


def radam(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.1 * p
    state["m"] = 0.8 * state.get("m", 0) + 0.2 * g
    state["v"] = 0.9 * state.get("v", 0) + 0.1 * g * g
    m, limit = state["m"] / (1 - 0.8**t), 2 / (1 - 0.9) - 1
    rho = limit - 2 * t * 0.9**t / (1 - 0.9**t)
    if rho <= 5:
        return p - 0.001 * m
    r = np.sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho))
    return p - 0.001 * m * r * np.sqrt(1 - 0.9**t) / (np.sqrt(state["v"]) + 1e-8)


def rprop(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    agreement = g * state.get("g", 0)
    factor = np.where(agreement > 0, 1.2, np.where(agreement < 0, 0.5, 1))
    state["s"] = np.clip(state.get("s", 0.01) * factor, 1e-6, 50)
    state["g"] = np.where(agreement < 0, 0, g)
    return p - np.sign(state["g"]) * state["s"]


def asgd(p: np.ndarray, g: np.ndarray, state: dict[str, Any], t: int) -> np.ndarray:
    g = g + 0.1 * p
    eta = state.get("eta", np.float32(0.1))
    state["eta"] = np.float32(0.1 / (1 + 0.01 * 0.1 * t) ** 0.75)
    return p * (1 - 0.01 * float(eta)) - float(eta) * g


FORMULAS = {
    "sgd dampening": sgd,
    "sgd nesterov": nesterov,
    "adam": adam,
    "adamw": adamw,
    "adam amsgrad": amsgrad,
    "rmsprop centered": rmsprop,
    "adagrad decay": adagrad,
    "adadelta decay": adadelta,
    "adamax": adamax,
    "nadam": nadam,
    "radam decay": radam,
    "rprop": rprop,
    "asgd": asgd,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_step_follows_the_formula(name: str) -> None:
    kind, options = CASES[name]
    _, seen = train(engine, kind, options)
    same(seen, followed(FORMULAS[name]), 1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", FUSED)
def test_native_steps_are_the_readable_ones(name: str, dtype: str) -> None:
    kind, options = CASES[name]
    if dtype == "float16" and kind != "SGD":
        options = {**options, "eps": 1e-3}  # the usual ones are zero there
    tolerance = {"float64": 1e-13, "float32": 2e-6, "bfloat16": 0.05, "float16": 8e-3}[dtype]
    actual = []
    for fused in (None, False):
        inputs = [p.to(getattr(engine, dtype)).detach().requires_grad_() for p in params()]
        optimizer = getattr(optim, kind)(inputs, **options, fused=fused)
        for step in range(3 if "16" in dtype else STEPS):
            for p, grad in zip(inputs, gradients(step), strict=True):
                p.grad = engine.tensor(grad.tolist(), dtype=p.dtype)
            optimizer.step()
        actual.append([np.array(p.tolist()) for p in inputs])
    same([actual[0]], [actual[1]], tolerance)


@pytest.mark.parametrize("name", FUSED)
def test_native_steps_in_any_layout(name: str) -> None:
    """Parameters and gradients that are transposed, spread out, or large enough for several threads."""
    kind, options = CASES[name]
    draw = np.random.default_rng(0)
    values, grad = draw.standard_normal((2, 300, 200))
    actual = []
    for fused in (None, False):
        tensor = engine.tensor(values.tolist(), dtype=engine.float64)
        wide = engine.zeros(300, 400, dtype=engine.float64)
        wide[:, ::2] = tensor
        inputs = [tensor.t().contiguous().t(), wide[:, ::2], tensor.clone()]
        inputs = [p.detach().requires_grad_() for p in inputs]
        optimizer = getattr(optim, kind)(inputs, **options, fused=fused)
        for _ in range(3):
            for p, turned in zip(inputs, (False, True, True), strict=True):
                g = engine.tensor(grad.tolist(), dtype=engine.float64)
                p.grad = g.t().contiguous().t() if turned else g
            optimizer.step()
        actual.append([np.array(p.tolist()) for p in inputs])
        assert wide[:, 1::2].abs().max().item() == 0
        assert inputs[1]._version > 0
    same([actual[0]], [actual[1]], 1e-13)
    same([actual[0][:1]], [actual[0][1:2]], 1e-13)


def test_a_native_step_counts_one_write_of_each_tensor() -> None:
    inputs = params()
    optimizer = optim.Adam(inputs)
    set_gradients(engine, inputs, 0)
    before = [p._version for p in inputs]
    optimizer.step()
    assert [p._version for p in inputs] == [version + 1 for version in before]
    assert [p.grad._version for p in inputs] == [0] * len(inputs)


def test_scaled_gradients() -> None:
    """Under gradient scaling the native step divides the gradients, or does nothing if one is infinite."""
    inputs = params()
    optimizer = optim.Adam(inputs, lr=0.01, fused=True)
    expected = followed(adam, 1)[0]
    set_gradients(engine, inputs, 0)
    for p in inputs:
        p.grad = p.grad * 8
    optimizer.grad_scale = engine.tensor(8.0)
    optimizer.found_inf = engine.tensor(1.0)
    optimizer.step()
    same([[np.array(p.tolist()) for p in inputs]], [start()], 0)
    assert optimizer.state[inputs[0]]["step"].item() == 0
    optimizer.found_inf = engine.tensor(0.0)
    optimizer.step()
    same([[np.array(p.tolist()) for p in inputs]], [expected], 1e-12)
    same([[np.array(p.grad.tolist()) for p in inputs]], [gradients(0)], 1e-15)


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_state_goes_on(name: str) -> None:
    kind, options = CASES[name]
    full, seen = train(engine, kind, options, steps=6)
    half, _ = train(engine, kind, options, steps=3)
    for restore in (copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))):
        inputs = [p.detach().clone().requires_grad_() for p in half.param_groups[0]["params"]]
        fresh = getattr(optim, kind)(inputs, lr=123.0)
        fresh.load_state_dict(restore(half.state_dict()))
        assert fresh.param_groups[0]["lr"] == full.param_groups[0]["lr"]
        for step in range(3, 6):
            set_gradients(engine, inputs, step)
            fresh.step()
        # Counts but "step" take the parameter's dtype when they are loaded.
        far = 1e-6 if kind in ("NAdam", "ASGD") else 1e-14
        same([[np.array(p.tolist()) for p in inputs]], seen[-1:], far)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop", "Adagrad", "Rprop", "NAdam"])
def test_complex_parameters_are_two_real_ones(kind: str) -> None:
    options = {"momentum": 0.9} if kind == "SGD" else {}
    values = np.random.default_rng(0).standard_normal((5, 2))
    pair = [leaf(engine, values[:, 0]), leaf(engine, values[:, 1])]
    both = engine.complex(*(p.detach() for p in pair)).requires_grad_()
    optimizers = [getattr(optim, kind)(arguments, **options) for arguments in (pair, [both])]
    for step in range(5):
        grads = np.random.default_rng(step).standard_normal((5, 2))
        parts = [engine.tensor(grads[:, i].tolist(), dtype=engine.float64) for i in (0, 1)]
        pair[0].grad, pair[1].grad = parts
        both.grad = engine.complex(*parts)
        for optimizer in optimizers:
            optimizer.step()
    actual = np.array(both.tolist())
    np.testing.assert_allclose(actual.real, pair[0].tolist(), rtol=1e-12)
    np.testing.assert_allclose(actual.imag, pair[1].tolist(), rtol=1e-12)


def test_what_has_no_gradient_stays() -> None:
    inputs = params()
    optimizer = optim.Adam(inputs)
    set_gradients(engine, inputs, 0)
    inputs[1].grad = None
    optimizer.step()
    assert inputs[1].tolist() == start()[1].tolist()
    assert inputs[1] not in optimizer.state
    assert list(optimizer.state_dict()["state"]) == [0, 2, 3]


def test_groups_with_options_of_their_own() -> None:
    a, b = leaf(engine, np.ones(2)), leaf(engine, np.ones(2))
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    for p in (a, b):
        p.grad = engine.ones(2, dtype=engine.float64)
    optimizer.step()
    assert a.tolist() == [0.5, 0.5]
    assert b.tolist() == pytest.approx([0.9, 0.9])
    optimizer.add_param_group({"params": leaf(engine, np.ones(1)), "momentum": 0.5})
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1, 0.1]
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0.5]


def test_named_parameters() -> None:
    pairs = [("a", leaf(engine, np.ones(2))), ("b", leaf(engine, np.ones(2)))]
    optimizer = optim.SGD(pairs, lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [leaf(engine, np.ones(2))]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        optim.SGD([pairs[0], pairs[1][1]])


def test_zero_grad() -> None:
    inputs = params()
    optimizer = optim.SGD(inputs)
    set_gradients(engine, inputs, 0)
    retained = inputs[0].grad
    optimizer.zero_grad(set_to_none=False)
    assert inputs[0].grad is retained
    assert retained.abs().max().item() == 0
    optimizer.zero_grad()
    assert all(p.grad is None for p in inputs)


def test_a_closure_computes_the_loss_with_gradients() -> None:
    x = engine.tensor([3.0], requires_grad=True)
    optimizer = optim.SGD([x], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with engine.no_grad():
        assert optimizer.step(closure).item() == 9
    assert x.tolist() == pytest.approx([2.4])


def test_hooks_in_their_order() -> None:
    recorded: list[str] = []
    inputs = params()
    optimizer = optim.SGD(inputs)
    handles = [
        optim.register_optimizer_step_pre_hook(lambda o, a, k: recorded.append("every before")),
        optim.register_optimizer_step_post_hook(lambda o, a, k: recorded.append("every after")),
        optimizer.register_step_pre_hook(
            lambda o, a, k: recorded.append(f"before {a == (o,)} {k}")
        ),
        optimizer.register_step_post_hook(lambda o, a, k: recorded.append("after")),
    ]
    optimizer.step()
    assert recorded == ["every before", "before True {}", "after", "every after"]
    for handle in handles:
        handle.remove()
    recorded.clear()
    optimizer.step()
    assert recorded == []
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: recorded.append(state.pop("more")))
    optimizer.load_state_dict(optimizer.state_dict())
    assert recorded == [1]


def test_a_subclass_has_its_hooks_once() -> None:
    class Twice(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            super().step()
            return super().step(closure)

    recorded: list[int] = []
    x = leaf(engine, np.ones(1))
    x.grad = engine.ones(1, dtype=engine.float64)
    optimizer = Twice([x], lr=0.25)
    optimizer.register_step_post_hook(lambda o, a, k: recorded.append(1))
    optimizer.step()
    assert recorded == [1]
    assert x.tolist() == [0.5]


def test_repr_lists_options_by_name() -> None:
    assert repr(optim.SGD([leaf(engine, np.ones(1))], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n"
        "    fused: None\n    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n"
        "    weight_decay: 0\n)"
    )


def test_what_is_refused() -> None:
    x = leaf(engine, np.ones(2))
    with pytest.raises(
        TypeError, match=r"should be an iterable of Tensors or dicts, but got engine"
    ):
        optim.SGD(x)
    with pytest.raises(ValueError, match="optimizer got an empty parameter list"):
        optim.SGD([])
    with pytest.raises(TypeError, match="one of the params is int"):
        optim.SGD([1])
    with pytest.raises(TypeError, match="ordered collections"):
        optim.SGD([{"params": {x}}])
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        optim.SGD([x * 2])
    with pytest.raises(ValueError, match="appear in more than one parameter group"):
        optim.SGD([{"params": [x]}, {"params": [x]}])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([x, x])
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.Adam([x], lr=-1)
    with pytest.raises(ValueError, match=r"Invalid beta parameter at index 1: 1\.5"):
        optim.Adam([x], betas=(0.9, 1.5))
    with pytest.raises(ValueError, match="Nesterov momentum requires a momentum"):
        optim.SGD([x], nesterov=True)
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        optim.SGD([x], fused=True, foreach=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.Adam([x], fused=True, differentiable=True)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optim.SGD([x]).load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optim.SGD([x]).load_state_dict({"state": {}, "param_groups": [{"params": []}]})
    numbers = engine.ones(2, dtype=engine.complex64).requires_grad_()
    numbers.grad = engine.ones(2, dtype=engine.complex64)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating"):
        optim.SGD([numbers], fused=True).step()
    optimizer = optim.SGD([x], fused=True)
    optimizer.found_inf = engine.zeros(2)
    x.grad = engine.ones(2, dtype=engine.float64)
    with pytest.raises(RuntimeError, match="found_inf must have one element"):
        optimizer.step()
    with pytest.raises(RuntimeError, match="expected lists of the same length, got 1 params and 0"):
        engine._fused_adagrad_(
            [x], [], [], [], lr=1, lr_decay=0, weight_decay=0, eps=0, maximize=False
        )


def test_a_rate_in_a_tensor() -> None:
    rate = engine.tensor(0.1)
    _, seen = train(engine, "SGD", {"lr": rate, "momentum": 0.9}, "float32")
    _, plain = train(engine, "SGD", {"lr": 0.1, "momentum": 0.9}, "float32")
    same(seen, plain, 1e-5)
    _, seen = train(
        engine, "Adam", {"lr": rate, "betas": (engine.tensor(0.9), engine.tensor(0.99))}
    )
    _, plain = train(engine, "Adam", {"lr": 0.1, "betas": (0.9, 0.99)})
    same(seen, plain, 1e-4)
    assert len(SHAPES) == len(seen[0])
