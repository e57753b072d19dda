"""Printed tensors: known strings, and PyTorch's on random tensors where it is installed."""

import math
import random

import numpy as np
import pytest

import engine


@pytest.fixture(autouse=True)
def default_options():
    engine.set_printoptions(profile="default")
    yield
    engine.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: engine.tensor(3), "tensor(3)"),
        (lambda: engine.tensor(True), "tensor(True)"),
        (lambda: engine.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: engine.tensor([0.0, math.nan, math.inf]), "tensor([0., nan, inf])"),
        (lambda: engine.tensor([1.0, 1e9]), "tensor([1.0000e+00, 1.0000e+09])"),
        (lambda: engine.tensor([-1, 10]), "tensor([-1, 10])"),
        (lambda: engine.tensor([1], dtype=engine.int8), "tensor([1], dtype=engine.int8)"),
        (lambda: engine.zeros(0), "tensor([])"),
        (lambda: engine.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: engine.zeros(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
        (lambda: engine.tensor([[True, False]]), "tensor([[ True, False]])"),
        (lambda: engine.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
        (lambda: engine.eye(2), "tensor([[1., 0.],\n        [0., 1.]])"),
    ],
)
def test_known_texts(make, text):
    assert repr(make()) == text


def test_printing_makes_no_tensors_and_keeps_counts():
    from engine.inspect import live

    x = engine.arange(5000)
    before = live.use_count(x), live.storage_use_count(x), live.version(x)
    repr(x)
    next_id = live.tensor_id(engine.zeros(1))
    repr(x)
    assert live.tensor_id(engine.zeros(1)) == next_id + 1
    assert (live.use_count(x), live.storage_use_count(x), live.version(x)) == before


def test_options_last_for_a_block():
    with engine.printoptions(precision=1):
        assert repr(engine.tensor([1.25])) == "tensor([1.2])"
    assert repr(engine.tensor([1.25])) == "tensor([1.2500])"


def test_format_of_a_number():
    assert f"{engine.tensor(1.5):.3f}" == "1.500"
    with pytest.raises(TypeError):
        f"{engine.ones(2):.3f}"


def random_case(rng, kind):
    shape = tuple(rng.choice([0, 1, 2, 3, 7, 8, 30]) for _ in range(rng.choice([0, 1, 2, 2, 3])))
    values = np.random.default_rng(rng.randrange(10**6)).standard_normal(shape)
    values = values * 10.0 ** rng.choice([-6, -2, 0, 0, 1, 3, 8, 20])
    if rng.random() < 0.3:
        values = np.round(values)
    if rng.random() < 0.2:
        values = np.where(values > 0, rng.choice([np.nan, np.inf, -np.inf, -0.0]), values)
    if kind == "bool":
        return values > 0
    if "int" in kind:
        return np.nan_to_num(values, posinf=0, neginf=0).clip(0, 100).astype(np.int64)
    return values


def test_equal_to_pytorchs_text():
    torch = pytest.importorskip("torch")
    rng = random.Random(0)
    kinds = [d.name for d in engine.dtypes.DTYPES]
    for _ in range(400):
        kind = rng.choice(kinds)
        values = random_case(rng, kind)
        other = torch.tensor(values).to(getattr(torch, kind))
        exact = other.double() if other.is_floating_point() else other
        ours = engine.tensor(exact.numpy()).to(getattr(engine, kind))
        if values.ndim > 1 and rng.random() < 0.5:
            other, ours = other.transpose(0, 1), ours.transpose(0, 1)
        options = {
            "precision": rng.choice([None, 2]),
            "threshold": rng.choice([None, 5, 50]),
            "edgeitems": rng.choice([None, 1, 2]),
            "linewidth": rng.choice([None, 40]),
            "sci_mode": rng.choice([None, None, True, False]),
        }
        for module in (torch, engine):
            module.set_printoptions(profile="default")
            module.set_printoptions(**options)
        expected = repr(other).replace("torch.", "engine.")
        torch.set_printoptions(profile="default")
        assert repr(ours) == expected, (kind, values.shape, options)
