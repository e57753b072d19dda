"""kl_divergence: the distance of one distribution from another, by a table of pairs of classes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import total_ordering
from typing import Any

import engine
from engine.distributions.bernoulli import Bernoulli
from engine.distributions.beta import Beta
from engine.distributions.binomial import Binomial
from engine.distributions.categorical import Categorical
from engine.distributions.cauchy import Cauchy
from engine.distributions.continuous_bernoulli import ContinuousBernoulli
from engine.distributions.dirichlet import Dirichlet
from engine.distributions.distribution import Distribution
from engine.distributions.exp_family import ExponentialFamily
from engine.distributions.exponential import Exponential
from engine.distributions.gamma import Gamma
from engine.distributions.geometric import Geometric
from engine.distributions.gumbel import Gumbel
from engine.distributions.half_normal import HalfNormal
from engine.distributions.independent import Independent
from engine.distributions.laplace import Laplace
from engine.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    lowrank_mahalanobis,
)
from engine.distributions.multivariate_normal import MultivariateNormal, batch_mahalanobis
from engine.distributions.normal import Normal
from engine.distributions.one_hot_categorical import OneHotCategorical
from engine.distributions.pareto import Pareto
from engine.distributions.poisson import Poisson
from engine.distributions.transformed_distribution import TransformedDistribution
from engine.distributions.uniform import Uniform
from engine.distributions.utils import euler_constant, sum_rightmost
from engine.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

_Formula = Callable[[Any, Any], Tensor]
_registry: dict[tuple[type, type], _Formula] = {}
_memoized: dict[tuple[type, type], _Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_Formula], _Formula]:
    """Register the function that computes KL(p || q) for two classes and their subclasses.

    Raises: TypeError unless both are distributions.
    """
    if not isinstance(type_p, type) or not issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) or not issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def register(formula: _Formula) -> _Formula:
        _registry[type_p, type_q] = formula
        _memoized.clear()
        return formula

    return register


@total_ordering
class _Match:
    """A pair of classes; a pair of subclasses is smaller."""

    __slots__ = ("types",)

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    def __le__(self, other: _Match) -> bool:
        for x, y in zip(self.types, other.types, strict=True):
            if not issubclass(x, y):
                return False
            if x is not y:
                break
        return True

    __hash__ = object.__hash__


def _dispatch(type_p: type, type_q: type) -> Any:
    matches = [
        (super_p, super_q)
        for super_p, super_q in _registry
        if issubclass(type_p, super_p) and issubclass(type_q, super_q)
    ]
    if not matches:
        return NotImplemented
    left_p, left_q = min(_Match(*m) for m in matches).types
    right_q, right_p = min(_Match(*reversed(m)) for m in matches).types
    left = _registry[left_p, left_q]
    if left is not _registry[right_p, right_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return left


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return KL(p || q) = E_p[log p(x) - log q(x)], of the shape `batch_shape`.

    Raises: NotImplementedError for a pair of classes that is not registered.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in _memoized:
        _memoized[key] = _dispatch(*key)
    formula = _memoized[key]
    if formula is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} "
            f"and q type {q.__class__.__name__}"
        )
    return formula(p, q)


def _infinite_like(tensor: Tensor) -> Tensor:
    return engine.full_like(tensor, math.inf)


def _x_log_x(tensor: Tensor) -> Tensor:
    return engine.xlogy(tensor, tensor)


# ---- pairs of one class


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Any, q: Any) -> Tensor:
    softplus = engine.nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = engine.where(q.probs == 0, math.inf, t1)
    t1 = engine.where(p.probs == 0, 0.0, t1)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t2 = engine.where(q.probs == 1, math.inf, t2)
    return t1 + engine.where(p.probs == 1, 0.0, t2)


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Any, q: Any) -> Tensor:
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    t3 = (p.concentration1 - q.concentration1) * engine.digamma(p.concentration1)
    t4 = (p.concentration0 - q.concentration0) * engine.digamma(p.concentration0)
    return t1 - t2 + t3 + t4 + (sum_q - sum_p) * engine.digamma(sum_p)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return engine.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = engine.where((q.probs == 0).expand_as(t), math.inf, t)
    return engine.where((p.probs == 0).expand_as(t), 0.0, t).sum(-1)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Any, q: Any) -> Tensor:
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    t1 = p.mean * (p.logits - q.logits)
    t2 = p._cont_bern_log_norm() + engine.log1p(-p.probs)
    return t1 + t2 - q._cont_bern_log_norm() - engine.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Any, q: Any) -> Tensor:
    sum_p, sum_q = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = sum_p.lgamma() - sum_q.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = p.concentration - q.concentration
    t4 = p.concentration.digamma() - sum_p.digamma().unsqueeze(-1)
    return t1 - t2 + (t3 * t4).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    p_params = [x.detach().requires_grad_() for x in p._natural_params]
    q_params = q._natural_params
    normalizer = p._log_normalizer(*p_params)
    gradients = engine.autograd.grad(normalizer.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q_params) - normalizer
    for np, nq, gradient in zip(p_params, q_params, gradients, strict=True):
        result = result - sum_rightmost((nq - np) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Any, q: Any) -> Tensor:
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = engine.lgamma(q.concentration) - engine.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * engine.digamma(p.concentration)
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    loc1, loc2 = p.loc / q.scale, q.loc / q.scale
    t1 = loc1 - loc2 - ratio.log() + ratio * euler_constant
    return t1 + engine.exp(loc2 + (1 + ratio).lgamma() - loc1) - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - engine.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: Any, q: Any) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * engine.exp(-distance / p.scale) - 1


def _trace_xxt(matrix: Tensor) -> Tensor:
    return matrix.pow(2).sum((-2, -1))


def _solve(tril: Tensor, matrix: Tensor) -> Tensor:
    shape = engine.broadcast_shapes(tril.shape[:-2], matrix.shape[:-2])
    return engine.linalg.solve_triangular(
        tril.expand(shape + tril.shape[-2:]), matrix.expand(shape + matrix.shape[-2:]), upper=False
    )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrank_lowrank(p: Any, q: Any) -> Tensor:
    _same_size(p, q, "Low Rank Multivariate Normals")
    term1 = q.log_det() - p.log_det()
    q_factor, q_diag = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    p_factor, p_diag = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    term3 = lowrank_mahalanobis(q_factor, q_diag, q.loc - p.loc, q._capacitance_tril)
    scaled = q_factor.mT / q_diag.unsqueeze(-2)
    a = _solve(q._capacitance_tril, scaled)
    term21 = (p_diag / q_diag).sum(-1)
    term22 = _trace_xxt(p_factor * q_diag.rsqrt().unsqueeze(-1))
    term23 = _trace_xxt(a * p_diag.sqrt().unsqueeze(-2))
    term2 = term21 + term22 - term23 - _trace_xxt(a @ p_factor)
    return 0.5 * (term1 + term2 + term3 - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariate_lowrank(p: Any, q: Any) -> Tensor:
    _same_size(p, q, "(Low Rank) Multivariate Normals")
    term1 = q.log_det() - 2 * p._half_log_det()
    factor, diag = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    term3 = lowrank_mahalanobis(factor, diag, q.loc - p.loc, q._capacitance_tril)
    a = _solve(q._capacitance_tril, factor.mT / diag.unsqueeze(-2))
    tril = p._unbroadcasted_scale_tril
    term2 = _trace_xxt(tril * diag.rsqrt().unsqueeze(-1)) - _trace_xxt(a @ tril)
    return 0.5 * (term1 + term2 + term3 - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrank_multivariate(p: Any, q: Any) -> Tensor:
    _same_size(p, q, "(Low Rank) Multivariate Normals")
    term1 = 2 * q._half_log_det() - p.log_det()
    tril = q._unbroadcasted_scale_tril
    term3 = batch_mahalanobis(tril, q.loc - p.loc)
    factor = _solve(tril, p._unbroadcasted_cov_factor)
    diag = _solve(tril, engine.diag_embed(p._unbroadcasted_cov_diag.sqrt()))
    return 0.5 * (term1 + _trace_xxt(factor) + _trace_xxt(diag) + term3 - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariate_multivariate(p: Any, q: Any) -> Tensor:
    _same_size(p, q, "Multivariate Normals")
    term2 = _trace_xxt(_solve(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril))
    term3 = batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (term2 + term3 - p.event_shape[0])


def _same_size(p: Any, q: Any, names: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {names} with different event shapes cannot be computed"
        )


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehot_onehot(p: Any, q: Any) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Any, q: Any) -> Tensor:
    alpha_ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - alpha_ratio.log() + alpha_ratio - 1
    return engine.where(p.support.lower_bound < q.support.lower_bound, math.inf, result)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return engine.where((q.low > p.low) | (q.high < p.high), math.inf, result)


# ---- pairs of different classes


def _register_infinite(attribute: str, p_class: type, *q_classes: type) -> None:
    """Register pairs whose divergence is infinite: p has values at which q has the density 0."""

    def infinite(p: Any, q: Any) -> Tensor:
        return _infinite_like(getattr(p, attribute))

    for q_class in q_classes:
        register_kl(p_class, q_class)(infinite)


_register_infinite("concentration1", Beta, Pareto)
_register_infinite("probs", ContinuousBernoulli, Pareto)
_register_infinite("rate", Exponential, Beta, ContinuousBernoulli, Pareto, Uniform)
_register_infinite("concentration", Gamma, Beta, ContinuousBernoulli, Pareto, Uniform)
_LINE = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_register_infinite("loc", Gumbel, *_LINE)
_register_infinite("loc", Laplace, *_LINE)
_register_infinite("loc", Normal, *_LINE)
_register_infinite("scale", Pareto, Beta, ContinuousBernoulli, Uniform)
_register_infinite("rate", Poisson, Bernoulli, Binomial)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - engine.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Any, q: Any) -> Tensor:
    t1 = -p.entropy()
    t2 = q.concentration.lgamma() - q.concentration * q.rate.log()
    sum_p = p.concentration1 + p.concentration0
    t3 = (q.concentration - 1) * (p.concentration1.digamma() - sum_p.digamma())
    return t1 + t2 - t3 + q.rate * p.mean


@register_kl(Beta, Normal)
def _kl_beta_normal(p: Any, q: Any) -> Tensor:
    variance = q.scale.pow(2)
    t2 = 0.5 * (variance * 2 * math.pi).log()
    t3 = (p.variance + p.mean.pow(2)) * 0.5
    return -p.entropy() + t2 + (t3 - p.mean * q.loc + q.loc.pow(2) * 0.5) / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return engine.where((q.low > 0) | (q.high < 1), math.inf, result)


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - engine.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p: Any, q: Any) -> Tensor:
    t2 = 0.5 * (math.log(2.0 * math.pi) + engine.square(q.loc / q.scale)) + engine.log(q.scale)
    t3 = (p.variance + engine.square(p.mean) - 2.0 * q.loc * p.mean) / (
        2.0 * engine.square(q.scale)
    )
    return -p.entropy() + t2 + t3


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return engine.where((q.low >= 0) | (q.high <= 1), math.inf, result)  # as PyTorch has it


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return (
        -q.concentration * engine.log(ratio)
        + ratio
        + q.concentration.lgamma()
        + q.concentration * euler_constant
        - (1 + euler_constant)
    )


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Any, q: Any) -> Tensor:
    product = p.rate * q.scale
    loc_ratio = q.loc / q.scale
    t3 = loc_ratio.exp() * product / (product + 1)
    return product.log() - 1 - loc_ratio + product.reciprocal() + t3


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Any, q: Any) -> Tensor:
    variance, rate_sqr = q.scale.pow(2), p.rate.pow(2)
    t1 = 0.5 * engine.log(rate_sqr * variance * 2 * math.pi)
    t2 = rate_sqr.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return t1 - 1 + t2 / variance


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Any, q: Any) -> Tensor:
    beta_scale = p.rate * q.scale
    loc_ratio = q.loc / q.scale
    t1 = (
        (p.concentration - 1) * p.concentration.digamma()
        - p.concentration.lgamma()
        - p.concentration
    )
    t2 = beta_scale.log() + p.concentration / beta_scale
    t3 = engine.exp(loc_ratio) * (1 + beta_scale.reciprocal()).pow(-p.concentration)
    return t1 + t2 + t3 - loc_ratio


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Any, q: Any) -> Tensor:
    variance, beta_sqr = q.scale.pow(2), p.rate.pow(2)
    t1 = (
        0.5 * engine.log(beta_sqr * variance * 2 * math.pi)
        - p.concentration
        - p.concentration.lgamma()
    )
    t2 = 0.5 * (p.concentration.pow(2) + p.concentration) / beta_sqr
    t3 = q.loc * p.concentration / p.rate
    t4 = 0.5 * q.loc.pow(2)
    return t1 + (p.concentration - 1) * p.concentration.digamma() + (t2 - t3 + t4) / variance


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    t1 = (ratio / math.sqrt(2 * math.pi)).log()
    t2 = (math.pi * ratio * 0.5).pow(2) / 3
    t3 = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    return -t1 + t2 + t3 - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Any, q: Any) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    t1 = 0.5 * engine.log(2 * ratio / math.pi)
    t2 = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -t1 + ratio + t2 / variance - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Any, q: Any) -> Tensor:
    mean_ratio, scale_ratio = p.loc / q.scale, (p.scale / q.scale).pow(2)
    loc_ratio = q.loc / q.scale
    t1 = -0.5 * scale_ratio.log()
    t2 = mean_ratio - loc_ratio
    t3 = engine.exp(-mean_ratio + 0.5 * scale_ratio + loc_ratio)
    return t1 + t2 + t3 - (0.5 * (1 + math.log(2 * math.pi)))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Any, q: Any) -> Tensor:
    difference = p.loc - q.loc
    ratio = difference / p.scale
    t1 = engine.log(p.scale / q.scale)
    t2 = math.sqrt(2 / math.pi) * p.scale * engine.exp(-0.5 * ratio.pow(2))
    t3 = difference * engine.erf(math.sqrt(0.5) * ratio)
    return -t1 + (t2 + t3) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    result = (
        (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    )
    return engine.where(p.alpha <= 1, math.inf, result)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Any, q: Any) -> Tensor:
    t1 = p.alpha.log() - q.concentration * (p.scale.log() + q.rate.log())
    t2 = q.concentration.lgamma() - 1 - p.alpha.reciprocal()
    t3 = (1 - q.concentration) * p.alpha.reciprocal()
    t4 = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = t1 + t2 + t3 + t4
    return engine.where(p.alpha <= 1, math.inf, result)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Any, q: Any) -> Tensor:
    variance = 2 * q.scale.pow(2)
    common = p.scale / (p.alpha - 1)
    t1 = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    t2 = p.alpha.reciprocal()
    t3 = p.alpha * common.pow(2) / (p.alpha - 2)
    t4 = (p.alpha * common - q.loc).pow(2)
    result = t1 - t2 + (t3 + t4) / variance - 1
    return engine.where(p.alpha <= 2, math.inf, result)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    t2 = (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    t3 = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    t4 = (
        q.concentration1.lgamma()
        + q.concentration0.lgamma()
        - (q.concentration1 + q.concentration0).lgamma()
    )
    result = t3 + t4 - width.log() - t2
    return engine.where((p.high > 1) | (p.low < 0), math.inf, result)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - engine.log1p(-q.probs) - q._cont_bern_log_norm()
    return engine.where((p.high > 1) | (p.low < 0), math.inf, result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p: Any, q: Any) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return engine.where(p.low < 0, math.inf, result)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    t2 = q.concentration.lgamma() - q.concentration * q.rate.log()
    t3 = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = -width.log() + t2 + t3 + q.rate * (p.high + p.low) / 2
    return engine.where(p.low < 0, math.inf, result)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Any, q: Any) -> Tensor:
    common = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return common.log() + 0.5 * (high + low) - common * (engine.exp(-high) - engine.exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    t1 = (math.sqrt(math.pi * 2) * q.scale / width).log()
    t2 = width.pow(2) / 12
    t3 = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return t1 + 0.5 * (t2 + t3) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    t1 = (q.alpha * q.scale.pow(q.alpha) * width).log()
    t2 = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = t2 * (q.alpha + 1) - t1
    return engine.where(p.low < q.support.lower_bound, math.inf, result)
