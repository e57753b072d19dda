"""Parameters computed from others: weight_norm, spectral_norm and one's own."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn.utils import parametrize
from engine.nn.utils.parametrizations import spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).t()

    def right_inverse(self, a: Any) -> Any:
        return a.triu()


class Doubled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return 2 * x


@pytest.fixture(autouse=True)
def _seed() -> None:
    engine.manual_seed(1)


def array(tensor: Any) -> np.ndarray:
    return np.array(tensor.tolist())


def test_a_parameter_becomes_what_is_computed() -> None:
    layer = nn.Linear(3, 3)
    before = layer.weight.tolist()
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert type(layer).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert parametrize.is_parametrized(layer)
    assert parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert array(layer.weight).tolist() == array(layer.weight).T.tolist()
    np.testing.assert_array_equal(np.triu(before), array(layer.parametrizations.weight.original))
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert [name for name, _ in layer.named_parameters()] == [
        "bias",
        "parametrizations.weight.original",
    ]
    (layer.weight * engine.arange(9.0).view(3, 3)).sum().backward()
    grad = layer.parametrizations.weight.original.grad
    assert grad.tolist() == [[0.0, 4.0, 8.0], [0.0, 4.0, 12.0], [0.0, 0.0, 8.0]]
    layer.weight = engine.ones(3, 3)
    assert layer.weight.tolist() == [[1.0] * 3] * 3


def test_one_on_top_of_another_and_back() -> None:
    layer = nn.Linear(2, 2)
    start = layer.weight
    values = layer.weight.tolist()
    parametrize.register_parametrization(layer, "weight", Doubled())
    parametrize.register_parametrization(layer, "weight", Doubled())
    np.testing.assert_allclose(array(layer.weight), 4 * np.array(values))
    with pytest.raises(RuntimeError, match="Doubled does not implement right_inverse"):
        layer.weight = engine.ones(2, 2)
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert type(layer) is nn.Linear
    assert layer.weight is start
    assert layer.weight.tolist() == values
    parametrize.register_parametrization(layer, "weight", Doubled())
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
    np.testing.assert_allclose(array(layer.weight), 2 * np.array(values))
    assert list(layer.state_dict()) == ["bias", "weight"]


def test_inside_cached_it_is_computed_once() -> None:
    layer, doubled = nn.Linear(2, 2), Doubled()
    parametrize.register_parametrization(layer, "weight", doubled)
    doubled.calls = 0
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert doubled.calls == 1
    assert layer.weight is not layer.weight


def test_a_copy_stands_alone() -> None:
    layer = weight_norm(nn.Linear(2, 3))
    other = copy.deepcopy(layer)
    with engine.no_grad():
        other.parametrizations.weight.original0.mul_(2)
    np.testing.assert_allclose(array(other.weight), 2 * array(layer.weight), rtol=1e-6)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        layer.__getstate__()


@pytest.mark.parametrize(("dim", "shape"), [(0, (4, 1)), (1, (1, 3)), (None, ())])
def test_weight_norm(dim: int | None, shape: tuple[int, ...]) -> None:
    layer = nn.Linear(3, 4)
    before = array(layer.weight)
    weight_norm(layer, dim=dim)
    length = layer.parametrizations.weight.original0
    assert length.shape == shape
    np.testing.assert_allclose(array(layer.weight), before, rtol=1e-6)
    with engine.no_grad():
        length.fill_(3)
    norms = np.linalg.norm(array(layer.weight), axis=None if dim is None else 1 - dim)
    np.testing.assert_allclose(norms, np.full_like(norms, 3), rtol=1e-6)
    assert "(weight): ParametrizationList(\n      (0): _WeightNorm()" in repr(layer)


def test_weight_norm_reads_old_names() -> None:
    layer = weight_norm(nn.Linear(2, 2, bias=False))
    state = {"weight_g": engine.ones(2, 1), "weight_v": engine.tensor([[3.0, 4.0], [0.0, 1.0]])}
    layer.load_state_dict(state)
    np.testing.assert_allclose(array(layer.weight), [[0.6, 0.8], [0.0, 1.0]], rtol=1e-6)


@pytest.mark.parametrize("kind", ["linear", "conv", "transposed"])
def test_spectral_norm_has_a_largest_singular_value_of_one(kind: str) -> None:
    layer = {
        "linear": lambda: nn.Linear(4, 3),
        "conv": lambda: nn.Conv2d(2, 3, 2),
        "transposed": lambda: nn.ConvTranspose2d(2, 3, 2),
    }[kind]()
    spectral_norm(layer, n_power_iterations=20)
    for _ in range(3):
        weight = array(layer.weight)
    weight = weight.swapaxes(0, 1) if kind == "transposed" else weight
    largest = np.linalg.svd(weight.reshape(len(weight), -1), compute_uv=False)[0]
    assert largest == pytest.approx(1, abs=1e-3)
    layer.eval()
    assert layer.weight.tolist() == layer.weight.tolist()
    assert "parametrizations.weight.0._u" in layer.state_dict()
    layer.weight.sum().backward()
    assert layer.parametrizations.weight.original.grad is not None


def test_what_is_refused() -> None:
    layer = nn.Linear(2, 3)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        parametrize.register_parametrization(layer, "wait", Doubled())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(layer, "weight", nn.Flatten(0))
    assert type(layer) is nn.Linear
    with pytest.raises(ValueError, match="has no parameter or buffer with name 'wait'"):
        spectral_norm(layer, "wait")
    weight_norm(layer)
    with pytest.raises(ValueError, match="in terms of a sequence of tensors"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
