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
    mine, seen = train(engine, kind, options, dtype)
    theirs, expected = train(torch, kind, options, dtype)
    far = TOLERANCE[dtype]
    for step, (found, wanted) in enumerate(zip(seen, expected, strict=True)):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=far, atol=far, err_msg=f"step {step}")
    assert repr(mine) == repr(theirs)
    ours, other = mine.state_dict(), theirs.state_dict()
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
    theirs, _ = train(torch, kind, options, steps=4)
    params = [leaf(engine, p.detach().numpy()) for p in theirs.param_groups[0]["params"]]
    mine = getattr(engine.optim, kind)(params)
    saved = theirs.state_dict()
    saved["state"] = {
        key: {
            k: engine.tensor(v.tolist(), dtype=getattr(engine, str(v.dtype)[6:]))
            for k, v in one.items()
        }
        for key, one in saved["state"].items()
    }
    mine.load_state_dict(saved)
    for library, optimizer in ((engine, mine), (torch, theirs)):
        for step in range(4, 8):
            set_gradients(library, optimizer.param_groups[0]["params"], step)
            optimizer.step()
    far = 1e-7 if kind == "NAdam" else 1e-12  # "mu_product" takes the dtype when it is loaded
    for a, b in zip(params, theirs.param_groups[0]["params"], strict=True):
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=far, atol=far)


LBFGS: dict[str, dict[str, Any]] = {
    "plain": {"lr": 0.001},
    "searching": {"line_search_fn": "strong_wolfe"},
    "short memory": {"line_search_fn": "strong_wolfe", "history_size": 2, "lr": 0.5, "max_iter": 7},
}


@pytest.mark.parametrize("name", LBFGS)
def test_lbfgs(name: str) -> None:
    """Rosenbrock's valley: the same losses, evaluations and end."""
    found = []
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
        found.append((losses, x.tolist() + y.tolist(), state["func_evals"], state["n_iter"]))
        assert "state" in optimizer.state_dict()
    mine, theirs = found
    assert mine[2:] == theirs[2:]
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-6)


def test_a_step_that_is_differentiated() -> None:
    """differentiable=True: the gradient of a parameter after the step by the gradient before it."""
    for kind, options in (
        ("SGD", {"weight_decay": 0.1}),
        ("Adam", {}),
        ("RMSprop", {}),
        ("Adagrad", {}),
    ):
        found = []
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
            found.append(p.grad.tolist() + grad.grad.tolist())
        # The count of steps is float32, and so is what is computed from it.
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-7, err_msg=kind)
