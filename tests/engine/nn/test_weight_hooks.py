"""The older weight_norm and spectral_norm, which compute weights in a hook, compared with their definitions."""

from __future__ import annotations

import warnings

import pytest

import engine
from engine.nn.utils import (
    remove_spectral_norm,
    remove_weight_norm,
    skip_init,
    spectral_norm,
    weight_norm,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*weight_norm.*deprecated:FutureWarning")


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_splits_and_joins(dim):
    layer = engine.nn.Linear(3, 2)
    before, x = layer.weight.detach().clone(), engine.randn(4, 3)
    expected = layer(x)
    weight_norm(layer, dim=dim)
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert engine.allclose(layer(x), expected, atol=1e-6)
    layer.weight_g.data.mul_(2)
    assert engine.allclose(layer(x) - layer.bias, 2 * (expected - layer.bias), atol=1e-5)
    layer(x).sum().backward()
    assert layer.weight_g.grad is not None
    with pytest.raises(RuntimeError, match="two weight_norm hooks on the same parameter weight"):
        weight_norm(layer)
    remove_weight_norm(layer)
    assert engine.allclose(layer.weight, 2 * before, atol=1e-6)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        remove_weight_norm(layer)


def test_weight_norm_warns_as_pytorch_does():
    with pytest.warns(FutureWarning, match=r"parametrizations\.weight_norm"):
        weight_norm(engine.nn.Linear(1, 1))


@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (lambda: engine.nn.Linear(4, 3), (2, 4)),
        (lambda: engine.nn.Conv2d(2, 3, 3), (1, 2, 5, 5)),
        (lambda: engine.nn.ConvTranspose2d(2, 3, 3), (1, 2, 5, 5)),
    ],
)
def test_spectral_norm_converges(layer, x):
    engine.manual_seed(0)
    layer = spectral_norm(layer(), n_power_iterations=5)
    assert sorted(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    x = engine.randn(*x)
    for _ in range(30):
        layer(x)
    dim = int(isinstance(layer, engine.nn.ConvTranspose2d))
    norm = engine.linalg.matrix_norm(layer.weight.movedim(dim, 0).flatten(1), 2)
    assert engine.allclose(norm, engine.tensor(1.0), atol=1e-4)
    layer(x).sum().backward()
    assert layer.weight_orig.grad is not None
    u = layer.weight_u.clone()
    layer.eval()
    layer(x)
    assert engine.equal(u, layer.weight_u)
    weight = layer.weight.detach().clone()
    remove_spectral_norm(layer)
    assert engine.allclose(layer.weight, weight, atol=1e-6)
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found"):
        remove_spectral_norm(layer)


def test_misuse_of_spectral_norm():
    with pytest.raises(ValueError, match="n_power_iterations=0"):
        spectral_norm(engine.nn.Linear(1, 1), n_power_iterations=0)
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        spectral_norm(engine.nn.Linear(1, 1), "x")
    layer = spectral_norm(engine.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="two spectral_norm hooks"):
        spectral_norm(layer)


def test_the_same_outputs_as_pytorch():
    torch = pytest.importorskip("torch")
    results = []
    for t in (engine, torch):
        layer = t.nn.Linear(3, 2)
        layer.load_state_dict({"weight": t.arange(6.0).view(2, 3) - 2, "bias": t.zeros(2)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = t.nn.utils.spectral_norm(layer)
        layer.weight_u.copy_(t.tensor([0.6, 0.8]))
        x = t.ones(1, 3)
        results.append((layer(x).tolist(), layer(x).tolist(), layer.weight_v.tolist()))
    for ours, theirs in zip(*results, strict=True):
        assert engine.allclose(engine.tensor(ours), engine.tensor(theirs))


def test_skip_init_allocates_only():
    layer = skip_init(engine.nn.Linear, 2, 3)
    assert layer.weight.shape == (3, 2)
    assert layer.weight.device.type == "cpu"
