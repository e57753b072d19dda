"""Draws: their moments, gradients, shapes and supports; errors; the examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import engine
import engine.distributions
from engine.distributions import Beta, Binomial, Categorical, Gamma, Normal
from tests.engine.distributions.distribution_cases import CASES, make

MODULES = [m.name for m in pkgutil.iter_modules(engine.distributions.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"engine.distributions.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", CASES)
def test_draws_are_in_the_support(name):
    engine.manual_seed(0)
    distribution = make(engine, name)[0]
    draws = distribution.sample((50,))
    assert draws.shape == (50, *distribution.batch_shape, *distribution.event_shape)
    assert distribution.log_prob(draws.clone()).isfinite().all()
    assert not draws.requires_grad


HEAVY_TAILS = {"Cauchy", "HalfCauchy", "StudentT", "FisherSnedecor", "Pareto", "InverseGamma"}
NO_MOMENTS = {
    "Categorical", "LKJCholesky", "LogisticNormal", "RelaxedBernoulli", "VonMises",
    "RelaxedOneHotCategorical", "GeneralizedPareto", "LogNormal",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(CASES) - HEAVY_TAILS - NO_MOMENTS))
def test_moments_of_draws(name):
    engine.manual_seed(1)
    distribution = make(engine, name)[0]
    n = 20000
    draws = distribution.sample((n,))
    error = (draws.mean(0) - distribution.mean).abs()
    assert (error <= 5 * distribution.stddev / n**0.5 + 1e-6).all()
    assert (
        (draws.var(0) - distribution.variance).abs() <= 0.25 * distribution.variance + 1e-6
    ).all()


@pytest.mark.parametrize("concentration", [0.05, 0.5, 1.0, 4.0, 200.0])
def test_gradients_of_gamma_draws(concentration):
    """The gradient of the mean of the draws is that of the mean: 1."""
    engine.manual_seed(2)
    a = engine.full((40000,), concentration, dtype=engine.float64, requires_grad=True)
    Gamma(a, 1.0).rsample().sum().backward()
    spread = a.grad.std() / 200
    assert abs(a.grad.mean() - 1) < 5 * spread + 0.01


def test_gradients_of_beta_draws():
    engine.manual_seed(3)
    a = engine.full((40000,), 2.0, dtype=engine.float64, requires_grad=True)
    Beta(a, 3.0).rsample().sum().backward()
    assert abs(a.grad.mean().item() - 3 / 25) < 0.005  # d/da a / (a + b)


@pytest.mark.parametrize("count", [1, 15, 16, 100, 5000])
@pytest.mark.parametrize("prob", [0.0, 0.02, 0.5, 1.0])
def test_binomial_draws(count, prob):
    engine.manual_seed(4)
    distribution = Binomial(count, engine.tensor(prob, dtype=engine.float64))
    draws = distribution.sample((4000,))
    assert bool(((draws >= 0) & (draws <= count) & (draws == draws.floor())).all())
    assert abs(draws.mean() - distribution.mean) <= 5 * distribution.stddev / 4000**0.5
    assert abs(draws.var() - distribution.variance) <= 0.2 * distribution.variance + 0.02 * (
        0 < prob < 1
    )


def test_frequencies_of_categories():
    engine.manual_seed(5)
    probs = engine.tensor([0.1, 0.2, 0.7])
    draws = Categorical(probs).sample((20000,))
    assert ((draws.bincount(minlength=3) / 20000 - probs).abs() < 0.02).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Normal(0.0, -1.0), "Expected parameter scale"),
        (lambda: Categorical(), "Either `probs` or `logits`"),
        (lambda: Categorical(engine.tensor(1.0)), "at least one-dimensional"),
        (lambda: Normal("a", 1.0), "must all be instances of Number"),
        (lambda: Gamma(1.0, 1.0).log_prob(engine.tensor(-1.0)), "within the support"),
        (lambda: Normal(engine.zeros(3), 1.0).log_prob(engine.zeros(2)), "not broadcastable"),
        (lambda: Normal(0.0, 1.0).log_prob(1.0), "must be a Tensor"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_checks_can_be_switched_off():
    assert Normal(0.0, -1.0, validate_args=False).scale == -1
    try:
        engine.distributions.Distribution.set_default_validate_args(False)
        assert Normal(0.0, -1.0).scale == -1
    finally:
        engine.distributions.Distribution.set_default_validate_args(True)


def test_a_subclass_with_an_init_of_its_own_needs_its_own_expand():
    class Scaled(engine.distributions.Distribution):
        def __init__(self, base, factor):
            super().__init__(base.batch_shape, validate_args=False)
            self.base, self.factor = base, factor

        def expand(self, batch_shape, _instance=None):
            expanded = self._get_checked_instance(Scaled, _instance)
            Scaled.__init__(expanded, self.base.expand(batch_shape), self.factor)
            return expanded

    class Named(Scaled):
        def __init__(self, name):
            super().__init__(Normal(0.0, 1.0), 2)

    assert Scaled(Normal(0.0, 1.0), 2).expand((3,)).batch_shape == (3,)
    with pytest.raises(NotImplementedError, match="Subclass Named of Scaled"):
        Named("x").expand((3,))
