"""Adafactor, Muon and SparseAdam: what each one is for, and every step as PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import engine

CASES: dict[str, tuple[str, dict[str, Any], tuple[tuple[int, ...], ...]]] = {
    "adafactor": ("Adafactor", {}, ((3, 4), (4,), (2, 1, 5), ())),
    "adafactor options": (
        "Adafactor",
        {"lr": 0.2, "beta2_decay": -0.5, "eps": (1e-6, 0.1), "d": 2.0, "weight_decay": 0.1},
        ((5, 2), (3,)),
    ),
    "adafactor maximize": ("Adafactor", {"maximize": True}, ((2, 3), (3,))),
    "muon": ("Muon", {}, ((3, 4), (4, 3), (1, 6))),
    "muon options": (
        "Muon",
        {"lr": 0.1, "weight_decay": 0.0, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"},
        ((6, 2), (4, 4)),
    ),
    "sparse adam": ("SparseAdam", {"lr": 0.1}, ((6, 3), (5,), (4, 2, 2))),
    "sparse adam maximize": ("SparseAdam", {"betas": (0.5, 0.7), "maximize": True}, ((6, 3),)),
}


def values(seed: int, shape: tuple[int, ...], some_rows: bool = False) -> list[Any]:
    draw = np.random.default_rng(seed)
    result = draw.standard_normal(shape)
    if some_rows:
        result[draw.random(shape[0]) < 0.5] = 0
    return result.tolist()


def train(library: Any, name: str, dtype: str, steps: int = 12) -> tuple[Any, list[list[Any]]]:
    """Return the optimizer after `steps` steps, and the parameters after each."""
    kind, options, shapes = CASES[name]
    sparse, float_type = kind == "SparseAdam", getattr(library, dtype)
    params = [
        library.tensor(values(n, shape), dtype=float_type).requires_grad_()
        for n, shape in enumerate(shapes)
    ]
    optimizer = getattr(library.optim, kind)(params, **options)
    seen = []
    for step in range(steps):
        for n, (p, shape) in enumerate(zip(params, shapes, strict=True)):
            grad = library.tensor(values(100 * step + n, shape, sparse), dtype=float_type)
            p.grad = grad.to_sparse(1) if sparse else grad
        optimizer.step()
        seen.append([p.tolist() for p in params])
    return optimizer, seen


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_every_step_and_the_state_are_pytorchs(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    own, seen = train(engine, name, dtype)
    result, expected = train(torch, name, dtype)
    far = 1e-11 if dtype == "float64" else 2e-5
    if CASES[name][0] == "Muon":  # its products are in bfloat16, summed in another order
        far = 0.02
    for step, (index, item) in enumerate(zip(seen, expected, strict=True)):
        for a, b in zip(index, item, strict=True):
            np.testing.assert_allclose(a, b, rtol=far, atol=far, err_msg=f"step {step}")
    assert repr(own) == repr(result)
    ours, other = own.state_dict(), result.state_dict()
    assert ours["param_groups"] == other["param_groups"]
    for key, state in other["state"].items():
        assert list(ours["state"][key]) == list(state)
        for slot, value in state.items():
            if slot == "step":
                assert float(ours["state"][key][slot]) == float(value)
            else:
                index = ours["state"][key][slot].tolist()
                np.testing.assert_allclose(index, value.tolist(), rtol=far, atol=far)


@pytest.mark.parametrize("name", ["adafactor", "muon", "sparse adam"])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(name: str) -> None:
    kind, options, shapes = CASES[name]
    optimizer, _ = train(engine, name, "float64", steps=3)
    params = [p.detach().clone().requires_grad_() for p in optimizer.param_groups[0]["params"]]
    second = getattr(engine.optim, kind)(params, **options)
    second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for each in (optimizer, second):
        for n, (p, shape) in enumerate(zip(each.param_groups[0]["params"], shapes, strict=True)):
            is_sparse = kind == "SparseAdam"
            grad = engine.tensor(values(n, shape, is_sparse), dtype=engine.float64)
            p.grad = grad.to_sparse(1) if is_sparse else grad
        each.step()
    for p, q in zip(optimizer.param_groups[0]["params"], params, strict=True):
        assert engine.equal(p, q)


def test_adafactor_keeps_a_row_and_a_column_of_a_matrix() -> None:
    p = engine.ones(30, 20, requires_grad=True)
    optimizer = engine.optim.Adafactor([p], lr=0.5)
    p.grad = engine.full((30, 20), 7.0)
    optimizer.step()
    state = optimizer.state[p]
    assert state["row_var"].shape == (30, 1)
    assert state["col_var"].shape == (1, 20)
    # A gradient of equal elements over its own root mean square is 1: the step is rms(p) * lr.
    assert engine.allclose(p, engine.tensor(0.5))


def test_muon_takes_a_step_of_nearly_equal_singular_values() -> None:
    p = engine.zeros(4, 6, requires_grad=True)
    optimizer = engine.optim.Muon([p], lr=1.0, weight_decay=0.0)
    p.grad = engine.diag(engine.tensor([1.0, 0.5, 0.25, 0.1])) @ engine.eye(4, 6)
    optimizer.step()
    sizes = engine.linalg.svdvals(p)
    assert sizes.min() > 0.6
    assert sizes.max() < 1.3


def test_sparse_adam_leaves_rows_without_a_gradient_and_their_moments_alone() -> None:
    embedding = engine.nn.Embedding(5, 3, sparse=True)
    before = embedding.weight.detach().clone()
    optimizer = engine.optim.SparseAdam(embedding.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        embedding(engine.tensor([1, 3, 1])).sum().backward()
        optimizer.step()
    moved = (embedding.weight != before).any(1)
    assert moved.tolist() == [False, True, False, True, False]
    assert (optimizer.state[embedding.weight]["exp_avg"] != 0).any(1).tolist() == moved.tolist()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("Adafactor", {"lr": -1}, "Learning rate should be >= 0 but is: -1"),
        ("Adafactor", {"beta2_decay": 0.1}, "beta2_decay should be <= 0 but is: 0.1"),
        ("Adafactor", {"eps": (-1, 1)}, "epsilon1 should be >= 0 but is: -1"),
        ("Adafactor", {"eps": (None, -1)}, "epsilon2 should be >= 0 but is: -1"),
        ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
        ("Adafactor", {"weight_decay": -2}, "weight_decay should be >= 0 but is: -2"),
        ("Muon", {"lr": -1}, "Learning rate should be >= 0 but is: -1"),
        ("Muon", {"momentum": -1}, "momentum should be >= 0 but is: -1"),
        ("Muon", {"weight_decay": -1}, "weight decay should be >= 0 but is: -1"),
        ("Muon", {"adjust_lr_fn": "no"}, "Adjust learning rate function no is not supported"),
        ("SparseAdam", {"lr": 0}, "Invalid learning rate: 0"),
        ("SparseAdam", {"eps": 0}, "Invalid epsilon value: 0"),
        ("SparseAdam", {"betas": (1, 0)}, "Invalid beta parameter at index 0: 1"),
    ],
)
def test_options_out_of_range_are_rejected(
    kind: str, options: dict[str, Any], message: str
) -> None:
    p = engine.ones(2, 2, requires_grad=True)
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(")):
        getattr(engine.optim, kind)([p], **options)


def test_parameters_that_an_optimizer_is_not_for_are_rejected() -> None:
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        engine.optim.Muon([engine.ones(3, requires_grad=True)])
    z = engine.ones(2, 2, dtype=engine.complex64, requires_grad=True)
    with pytest.raises(ValueError, match=r"Complex params at indices \[\[0, 0\]\]"):
        engine.optim.SparseAdam([z])
    z.grad = engine.ones_like(z)
    for kind in ("Adafactor", "Muon"):
        with pytest.raises(RuntimeError, match=f"{kind} does not support complex parameters"):
            getattr(engine.optim, kind)([z]).step()
