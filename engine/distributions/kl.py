"""Kullback-Leibler divergences KL(p || q): the mean of log p - log q over draws of p.

Most are -entropy(p) - E_p[log q]: `Expectations` has the means of powers, logarithms and exponentials of draws of
a family p, and `CROSS` the mean of log q in terms of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import engine
from engine.distributions.bernoulli import Bernoulli, log_likelihood
from engine.distributions.beta import Beta
from engine.distributions.binomial import Binomial
from engine.distributions.categorical import Categorical
from engine.distributions.cauchy import Cauchy
from engine.distributions.continuous_bernoulli import ContinuousBernoulli
from engine.distributions.dirichlet import Dirichlet
from engine.distributions.distribution import Distribution, sum_last
from engine.distributions.exp_family import ExponentialFamily, natural_gradients
from engine.distributions.exponential import Exponential
from engine.distributions.gamma import Gamma
from engine.distributions.geometric import Geometric
from engine.distributions.gumbel import EULER, Gumbel
from engine.distributions.independent import Independent
from engine.distributions.laplace import Laplace
from engine.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from engine.distributions.multivariate_normal import MultivariateNormal, log_diagonal
from engine.distributions.normal import Normal
from engine.distributions.one_hot_categorical import OneHotCategorical
from engine.distributions.pareto import Pareto
from engine.distributions.poisson import Poisson
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.uniform import Uniform
from engine.distributions.wishart import Wishart
from engine.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]
_rules: dict[tuple[type, type], Divergence] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """Decorate the function that computes the divergence of a `type_p` from a `type_q`, subclasses included."""
    for kind in (type_p, type_q):
        if not isinstance(
            kind, type
        ):  # as in PyTorch, another library's classes may be no subclasses
            raise TypeError(f"Expected a subclass of Distribution, but got {kind}")

    def register(function: Divergence) -> Divergence:
        _rules[type_p, type_q] = function
        _rule_of.clear()
        return function

    return register


_rule_of: dict[tuple[type, type], Divergence | None] = {}


def _find_rule(p: type, q: type) -> Divergence | None:
    """Return the rule of the nearest base classes."""
    if (p, q) not in _rule_of:
        pairs = [
            (i + j, rule)
            for i, a in enumerate(p.__mro__)
            for j, b in enumerate(q.__mro__)
            if (rule := _rules.get((a, b)))
        ]
        _rule_of[p, q] = min(pairs, key=lambda pair: pair[0])[1] if pairs else None
    return _rule_of[p, q]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return KL(p || q), of the shape batch_shape. Raises: NotImplementedError for pairs without a rule.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    rule = _find_rule(type(p), type(q))
    if rule is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return rule(p, q)


# ---- means over the draws of p


def _xlogx(x: Tensor) -> Tensor:
    return x.xlogy(x)


class Expectations:
    """Means over the draws of `p`; `ends` bound them."""

    def __init__(self, p: Any) -> None:
        self.p = p

    @property
    def mean(self) -> Tensor:
        result: Tensor = self.p.mean
        return result

    def square_around(self, centre: Tensor) -> Tensor:
        """Return the mean of (x - centre)**2."""
        variance = self.p.variance
        finite = variance + (self.p.mean - centre).square()
        return engine.where(variance.isinf(), math.inf, finite)

    @property
    def ends(self) -> tuple[Any, Any]:
        return {
            Beta: (0.0, 1.0), ContinuousBernoulli: (0.0, 1.0), Exponential: (0.0, math.inf),
            Gamma: (0.0, math.inf),
        }.get(self._family, (-math.inf, math.inf))  # fmt: skip

    @property
    def _family(self) -> type:
        return next(kind for kind in type(self.p).__mro__ if kind in _LOGARITHM or kind in _LAPLACE)

    @property
    def log(self) -> Tensor:
        """The mean of log(x)."""
        return _LOGARITHM[self._family](self.p)

    @property
    def log_complement(self) -> Tensor:
        """The mean of log(1 - x)."""
        if isinstance(self.p, Beta):
            return _LOGARITHM[Beta](Beta(self.p.concentration0, self.p.concentration1))
        return _log_of_uniform(1 - self.p.high, 1 - self.p.low)

    def exp(self, rate: Tensor) -> Tensor:
        """Return the mean of exp(-rate * x)."""
        return _LAPLACE[self._family](self.p, rate)


class _UniformExpectations(Expectations):
    @property
    def ends(self) -> tuple[Any, Any]:
        return self.p.low, self.p.high


class _ParetoExpectations(Expectations):
    @property
    def ends(self) -> tuple[Any, Any]:
        return self.p.scale, math.inf


def _log_of_uniform(low: Tensor, high: Tensor) -> Tensor:
    return (_xlogx(high) - _xlogx(low)) / (high - low) - 1


_LOGARITHM: dict[type, Callable[[Any], Tensor]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - EULER,
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + 1 / p.alpha,
    Uniform: lambda p: _log_of_uniform(p.low, p.high),
    ContinuousBernoulli: lambda p: p.mean * math.nan,
}
_LAPLACE: dict[type, Callable[[Any, Tensor], Tensor]] = {
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (p.rate / (p.rate + t)) ** p.concentration,
    Gumbel: lambda p, t: ((1 + p.scale * t).lgamma() - p.loc * t).exp(),
    Normal: lambda p, t: ((p.scale * t).square() / 2 - p.loc * t).exp(),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low)),
    Laplace: lambda p, t: (-p.loc * t).exp() / (1 - (p.scale * t).square()),
}


# ---- the mean of log q in terms of these


def _inside(p: Expectations, low: Any, high: Any, log_q: Tensor) -> Tensor:
    """Return `log_q`, or -inf where p has draws outside [low, high]."""
    low_end, high_end = p.ends
    is_inside = engine.as_tensor(low_end >= low) & engine.as_tensor(high_end <= high)
    return engine.where(is_inside, log_q, -math.inf)


def _cross_gamma(q: Any, p: Expectations) -> Tensor:
    a, rate = q.concentration, q.rate
    log_q = (a - 1) * p.log - rate * p.mean + a * rate.log() - a.lgamma()
    return _inside(p, 0.0, math.inf, log_q)


def _cross_gumbel(q: Any, p: Expectations) -> Tensor:
    rate = 1 / q.scale
    return rate.log() - (p.mean - q.loc) * rate - p.exp(rate) * (q.loc * rate).exp()


CROSS: dict[type, Callable[[Any, Expectations], Tensor]] = {
    Beta: lambda q, p: _inside(
        p,
        0.0,
        1.0,
        (q.concentration1 - 1) * p.log + (q.concentration0 - 1) * p.log_complement - q._log_norm(),
    ),
    ContinuousBernoulli: lambda q, p: _inside(p, 0.0, 1.0, q.logits * p.mean - q._log_norm()),
    Exponential: lambda q, p: _inside(p, 0.0, math.inf, q.rate.log() - q.rate * p.mean),
    Gamma: _cross_gamma,
    Gumbel: _cross_gumbel,
    Normal: lambda q, p: (
        p.square_around(q.loc) / (-2 * q.variance) - q.scale.log() - math.log(2 * math.pi) / 2
    ),
    Pareto: lambda q, p: _inside(
        p, q.scale, math.inf, q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * p.log
    ),
    Uniform: lambda q, p: _inside(p, q.low, q.high, -(q.high - q.low).log()),
}
_PAIRS: dict[type, tuple[type, ...]] = {
    Beta: (Beta, ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (ContinuousBernoulli, Exponential, Normal, Uniform),
    Exponential: (Exponential, Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gamma, Gumbel, Normal),
    Gumbel: (Gumbel, Normal),
    Laplace: (Normal,),
    Normal: (Gumbel,),
    Pareto: (Exponential, Gamma, Normal, Pareto),
    Uniform: (
        Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto, Uniform,
    ),
}  # fmt: skip
# p has draws outside the support of q.
_INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
_EXPECTATIONS: dict[type, type[Expectations]] = {
    Uniform: _UniformExpectations,
    Pareto: _ParetoExpectations,
}


def _register_tables() -> None:
    for p_type, q_types in _PAIRS.items():
        expectations = _EXPECTATIONS.get(p_type, Expectations)
        for q_type in q_types:

            def divergence(
                p: Any, q: Any, cross: Any = CROSS[q_type], expectations: Any = expectations
            ) -> Tensor:
                result: Tensor = -p.entropy() - cross(q, expectations(p))
                return result

            register_kl(p_type, q_type)(divergence)
    for p_type, q_types in _INFINITE.items():
        for q_type in q_types:
            register_kl(p_type, q_type)(
                lambda p, q: engine.full(
                    engine.broadcast_shapes(p.batch_shape, q.batch_shape), math.inf
                )
            )


_register_tables()


# ---- closed forms: discrete families, and pairs for which they are shorter or more exact


@register_kl(Normal, Normal)
def _(p: Normal, q: Normal) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (ratio.square() + shift.square() - 1) / 2 - ratio.log()


@register_kl(Laplace, Laplace)
def _(p: Laplace, q: Laplace) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * (-shift / p.scale).exp() + shift / q.scale - ratio.log() - 1


@register_kl(Normal, Laplace)
def _(p: Normal, q: Laplace) -> Tensor:
    shift = (p.loc - q.loc) / p.scale
    density = (shift.square() / -2).exp() * math.sqrt(2 / math.pi)
    distance = p.scale * (density + shift * engine.erf(shift / math.sqrt(2)))
    return distance / q.scale + (2 * q.scale).log() - p.entropy()


@register_kl(Cauchy, Cauchy)
def _(p: Cauchy, q: Cauchy) -> Tensor:
    apart = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return (apart / (4 * p.scale * q.scale)).log()


@register_kl(Bernoulli, Bernoulli)
def _(p: Bernoulli, q: Bernoulli) -> Tensor:
    finite = -p.entropy() - log_likelihood(p.probs, 1 - p.probs, q.logits)
    is_never = ((q.probs == 0) & (p.probs > 0)) | ((q.probs == 1) & (p.probs < 1))
    return finite.masked_fill(is_never, math.inf)


@register_kl(Binomial, Binomial)
def _(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    of_trial = kl_divergence(
        Bernoulli(p.probs, validate_args=False), Bernoulli(q.probs, validate_args=False)
    )
    return engine.where(p.total_count > q.total_count, math.inf, p.total_count * of_trial)


@register_kl(Bernoulli, Poisson)
def _(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - p.entropy() - p.probs.xlogy(q.rate)


@register_kl(Poisson, Poisson)
def _(p: Poisson, q: Poisson) -> Tensor:
    return p.rate.xlogy(p.rate) - p.rate.xlogy(q.rate) + q.rate - p.rate


@register_kl(Geometric, Geometric)
def _(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - log_likelihood(engine.ones_like(p.mean), p.mean, q.logits)


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), math.inf)
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0.0).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _(p: Dirichlet, q: Dirichlet) -> Tensor:
    a = p.concentration
    means_of_logs = a.digamma() - a.sum(-1, keepdim=True).digamma()
    return q._log_norm() - p._log_norm() + ((a - q.concentration) * means_of_logs).sum(-1)


def _between_normals(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two multivariate normals with different event shapes cannot be "
            f"computed: {p.event_shape} and {q.event_shape}"
        )
    batch = engine.broadcast_shapes(p.batch_shape, q.batch_shape)
    factor = q.scale_tril.expand((*batch, -1, -1))
    columns = engine.cat([p.scale_tril.expand((*batch, -1, -1)), (p.loc - q.loc).unsqueeze(-1)], -1)
    in_units_of_q = engine.linalg.solve_triangular(factor, columns, upper=False)
    spread = in_units_of_q.square().sum((-2, -1)) - p.event_shape[0]
    return spread / 2 + log_diagonal(q.scale_tril) - log_diagonal(p.scale_tril)


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_between_normals)


@register_kl(Wishart, Wishart)
def _(p: Wishart, q: Wishart) -> Tensor:
    size = p.event_shape[-1]
    trace = (q.precision_matrix * p.covariance_matrix).sum((-2, -1))
    powers = (p.df - q.df) / 2 * p.mean_log_det() + p.df / 2 * (trace - size)
    return q.log_norm() - p.log_norm() + powers


@register_kl(Independent, Independent)
def _(p: Independent, q: Independent) -> Tensor:
    dims = p.reinterpreted_batch_ndims
    if dims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"KL of Independents with {dims} and {q.reinterpreted_batch_ndims} dimensions is not implemented"
        )
    return sum_last(kl_divergence(p.base_dist, q.base_dist), dims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    # A one-to-one map of both does not change the divergence.
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL of TransformedDistributions is implemented for equal transforms and event shapes only"
        )
    dims = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_last(kl_divergence(p.base_dist, q.base_dist), max(dims, 0))


@register_kl(ExponentialFamily, ExponentialFamily)
def _(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    params, log_norm, means = natural_gradients(p)
    result = q._log_normalizer(*q._natural_params) - log_norm
    for p_theta, q_theta, mean in zip(params, q._natural_params, means, strict=True):
        result = result - sum_last((q_theta - p_theta) * mean, len(q.event_shape))
    return result
