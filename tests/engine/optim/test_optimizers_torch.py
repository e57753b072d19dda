"""Optimizers against PyTorch: parameters after every step, state, repr, and states exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from optim_cases import CASES, leaf, set_gradients, train

import engine

torch = pytest.importorskip("torch")
TOLERANCE = {"float64": 1e-12, "float32": 1e-6}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", CASES)
def test_steps_state_and_repr(name: str, dtype: str) -> None:
    kind, options = CASES[name]
    own, seen = train(engine, kind, options, dtype)
    result, expected = train(torch, kind, options, dtype)
    far = TOLERANCE[dtype]
    for step, (index, item) in enumerate(zip(seen, expected, strict=True)):
        for a, b in zip(index, item, strict=True):
            np.testing.assert_allclose(a, b, rtol=far, atol=far, err_msg=f"step {step}")
    assert repr(own) == repr(result)
    ours, other = own.state_dict(), result.state_dict()
    assert ours["param_groups"] == other["param_groups"]
    assert list(ours["state"]) == list(other["state"])
    for a, b in zip(ours["state"].values(), other["state"].values(), strict=True):
        assert list(a) == list(b)
        for key in a:
            assert str(a[key].dtype) == str(b[key].dtype).replace("torch", "engine")
            np.testing.assert_allclose(a[key].tolist(), b[key].tolist(), rtol=far, atol=far)


@pytest.mark.parametrize("name", ["sgd nesterov", "adam amsgrad", "rmsprop momentum", "nadam"])
def test_a_state_of_pytorch_goes_on_here(name: str) -> None:
    kind, options = CASES[name]
    other, _ = train(torch, kind, options, steps=4)
    params = [leaf(engine, p.detach().numpy()) for p in other.param_groups[0]["params"]]
    own = getattr(engine.optim, kind)(params)
    saved = other.state_dict()
    saved["state"] = {
        key: {
            k: engine.tensor(v.tolist(), dtype=getattr(engine, str(v.dtype)[6:]))
            for k, v in item.items()
        }
        for key, item in saved["state"].items()
    }
    own.load_state_dict(saved)
    for library, optimizer in ((engine, own), (torch, other)):
        for step in range(4, 8):
            set_gradients(library, optimizer.param_groups[0]["params"], step)
            optimizer.step()
    far = 1e-7 if kind == "NAdam" else 1e-12  # "mu_product" takes the dtype when it is loaded
    for a, b in zip(params, other.param_groups[0]["params"], strict=True):
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=far, atol=far)


LBFGS: dict[str, dict[str, Any]] = {
    "plain": {"lr": 0.001},
    "searching": {"line_search_fn": "strong_wolfe"},
    "short memory": {"line_search_fn": "strong_wolfe", "history_size": 2, "lr": 0.5, "max_iter": 7},
}


@pytest.mark.parametrize("name", LBFGS)
def test_lbfgs(name: str) -> None:
    """Rosenbrock's valley: the same losses, evaluations and end."""
    actual = []
    for library in (engine, torch):
        x = leaf(library, np.array([-1.2, 0.3]))
        y = leaf(library, np.array([1.0, 2.0]))
        optimizer = library.optim.LBFGS([x, y], **LBFGS[name])

        def closure(optimizer: Any = optimizer, x: Any = x, y: Any = y) -> Any:
            optimizer.zero_grad()
            loss = ((1 - x) ** 2 + 100 * (y - x * x) ** 2).sum()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(6)]
        state = optimizer.state[x]
        actual.append((losses, x.tolist() + y.tolist(), state["func_evals"], state["n_iter"]))
        assert "state" in optimizer.state_dict()
    own, other = actual
    assert own[2:] == other[2:]
    np.testing.assert_allclose(own[0], other[0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(own[1], other[1], rtol=1e-6)


def test_a_step_that_is_differentiated() -> None:
    """differentiable=True: the gradient of a parameter after the step by the gradient before it."""
    for kind, options in (
        ("SGD", {"weight_decay": 0.1}),
        ("Adam", {}),
        ("RMSprop", {}),
        ("Adagrad", {}),
    ):
        actual = []
        for library in (engine, torch):
            p = leaf(library, np.array([1.0, 2.0]))
            grad = leaf(library, np.array([0.5, -1.5]))
            moved = p.clone()
            optimizer = getattr(library.optim, kind)(
                [moved], lr=0.1, differentiable=True, **options
            )
            moved.grad = grad
            optimizer.step()
            (moved * moved).sum().backward()
            actual.append(p.grad.tolist() + grad.grad.tolist())
        # The count of steps is float32, and so is what is computed from it.
        np.testing.assert_allclose(actual[0], actual[1], rtol=1e-6, atol=1e-7, err_msg=kind)
