"""Maps between regions, with the logarithm of their Jacobian determinant: `y = t(x)`, `x = t.inv(y)`.

A subclass defines `_call`, `_inverse` if the map is invertible, and `log_abs_det_jacobian(x, y)`.
"""

from __future__ import annotations

import functools
import math
import operator
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Distribution, sum_last
from engine.tensor import Tensor

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

softplus = engine.nn.functional.softplus


class Transform:
    """A map from `domain` to `codomain`.

    `cache_size=1` caches the last x and y, so that `inv(t(x))` is x itself: exact, and with its graph.
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        """Raises: ValueError for another `cache_size` than 0 or 1."""
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._last: tuple[Tensor, Tensor] | None = None
        self._inverse_of_self: Any = None

    def _settings(self) -> tuple[Any, ...]:
        """Return the settings that determine a map of this class."""
        return ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(map(_same, self._settings(), other._settings()))

    __hash__ = object.__hash__

    @property
    def event_dim(self) -> int:
        """The number of dimensions of `x` that are mapped together."""
        dim: int = self.domain.event_dim
        return dim

    @property
    def sign(self) -> Any:
        """1 for increasing maps of numbers, -1 for decreasing ones. Raises: NotImplementedError for others."""
        raise NotImplementedError(f"{type(self).__name__} is neither increasing nor decreasing")

    @property
    def inv(self) -> Transform:
        """The map from y to x."""
        inverse = None if self._inverse_of_self is None else self._inverse_of_self()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inverse_of_self = weakref.ref(inverse)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        """Return the same map with a cache of the last x and y."""
        if self._cache_size == cache_size:
            return self
        other = type(self).__new__(type(self))
        vars(other).update(vars(self), _cache_size=cache_size, _last=None, _inverse_of_self=None)
        return other

    def __call__(self, x: Tensor) -> Tensor:
        if self._last is not None and self._last[0] is x:
            return self._last[1]
        y = self._call(x)
        if self._cache_size:
            self._last = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._last is not None and self._last[1] is y:
            return self._last[0]
        x = self._inverse(y)
        if self._cache_size:
            self._last = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} cannot be undone")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return log |det dy/dx| for each event."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian")

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of y for an x of this shape."""
        return engine.Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the shape of x for a y of this shape."""
        return engine.Size(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return bool(engine.as_tensor(a == b).all())
    return bool(a == b)


class _InverseTransform(Transform):
    """The inverse of a map; it caches nothing itself."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._transform = transform

    def _settings(self) -> tuple[Any, ...]:
        return (self._transform,)

    @property
    def domain(self) -> Any:
        return self._transform.codomain

    @property
    def codomain(self) -> Any:
        return self._transform.domain

    @property
    def bijective(self) -> Any:
        return self._transform.bijective

    @property
    def sign(self) -> Any:
        return self._transform.sign

    @property
    def inv(self) -> Transform:
        return self._transform

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._transform.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._transform._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._transform(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._transform.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._transform.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._transform.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._transform!r})"


# ---- maps of numbers


class _Increasing(Transform):
    """One-to-one increasing maps of the real numbers."""

    domain, bijective, sign = constraints.real, True, 1


class ExpTransform(_Increasing):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Increasing):
    """y = 1 / (1 + exp(-x)), kept away from 0 and 1 by the smallest numbers of the dtype."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        limits = engine.finfo(x.dtype)
        return x.sigmoid().clamp(min=limits.tiny, max=1 - limits.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = engine.finfo(y.dtype)
        return y.clamp(min=limits.tiny, max=1 - limits.eps).logit()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -(softplus(x) + softplus(-x))


class SoftplusTransform(_Increasing):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y + (-(-y).expm1()).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Increasing):
    """y = tanh(x). Near -1 and 1 the inverse loses digits: `cache_size=1` avoids it."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)**2) = log 4 - 2 log(exp(x) + exp(-x))
        return math.log(4) - 2 * (x.abs() + (x.abs() * -2).exp().log1p())


class AbsTransform(Transform):
    """y = |x|; the inverse is the positive x."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """y = x**exponent, of positive numbers."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = engine.as_tensor(exponent)

    def _settings(self) -> tuple[Any, ...]:
        return (self.exponent,)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * (y / x)).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return engine.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """y = loc + scale * x."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _settings(self) -> tuple[Any, ...]:
        return self.loc, self.scale

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        dims = self._event_dim
        return constraints.independent(constraints.real, dims) if dims else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        stretch = engine.as_tensor(self.scale, dtype=x.dtype).abs().log()
        return sum_last(
            stretch.expand(engine.broadcast_shapes(x.shape, stretch.shape)), self._event_dim
        )

    def forward_shape(self, shape: Sequence[int]) -> Any:
        parts = (getattr(part, "shape", ()) for part in (self.loc, self.scale))
        return engine.broadcast_shapes(shape, *parts)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x): uniform draws for draws of the distribution."""

    bijective, sign, codomain = True, 1, constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _settings(self) -> tuple[Any, ...]:
        return (self.distribution,)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


# ---- maps of vectors and matrices


class SoftmaxTransform(Transform):
    """Vectors to probabilities: softmax. The inverse returns one of the possible vectors."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """n numbers to n + 1 probabilities: each takes a share of the rest of a stick."""

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    def _shares(self, x: Tensor) -> Tensor:
        """Return the logits of the shares: equal probabilities for x = 0."""
        after = engine.arange(x.shape[-1], 0, -1, dtype=x.dtype)
        return x - after.log()

    def _call(self, x: Tensor) -> Tensor:
        log_odds = self._shares(x)
        log_left = -softplus(log_odds).cumsum(-1)
        pad = engine.nn.functional.pad
        return (pad(log_left, (1, 0)) + pad(-softplus(-log_odds), (0, 1))).exp()

    def _inverse(self, y: Tensor) -> Tensor:
        used = y[..., :-1]
        left = (1 - used.cumsum(-1)).clamp(min=engine.finfo(y.dtype).tiny)
        after = engine.arange(used.shape[-1], 0, -1, dtype=y.dtype)
        return used.log() - left.log() + after.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # The derivative of a probability with respect to its x is itself times (1 - its share).
        return (y[..., :-1].log() - softplus(self._shares(x))).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return _resized(shape, 1, 1)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return _resized(shape, 1, -1)


def _resized(shape: Sequence[int], event_dim: int, by: int) -> Any:
    if len(shape) < event_dim:
        raise ValueError(f"Too few dimensions on input: {tuple(shape)}")
    return engine.Size((*shape[:-1], shape[-1] + by))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers to a triangle with rows of length 1, the Cholesky factor of a correlation matrix.
    tanh of a number is a partial correlation: its share of the remaining length of the row.
    """

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x: Tensor) -> Tensor:
        eps = engine.finfo(x.dtype).eps
        size = self.forward_shape(x.shape)[-1]
        partial = fill_triangle(x.tanh().clamp(-1 + eps, 1 - eps), size, -1)
        left = (1 - partial.square()).sqrt().cumprod(-1)
        left = engine.nn.functional.pad(left[..., :-1], (1, 0), value=1.0)
        return (partial + engine.eye(size, dtype=x.dtype)) * left

    def _inverse(self, y: Tensor) -> Tensor:
        used = y.square().cumsum(-1)
        left = engine.nn.functional.pad(1 - used[..., :-1], (1, 0), value=1.0)
        row, column = engine.tril_indices(y.shape[-1], y.shape[-1], -1)
        eps = engine.finfo(y.dtype).eps
        partial = (y / left.clamp(min=eps).sqrt())[..., row, column]
        return partial.clamp(-1 + eps, 1 - eps).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        row, column = engine.tril_indices(y.shape[-1], y.shape[-1], -1)
        left = engine.nn.functional.pad(1 - y.square().cumsum(-1)[..., :-1], (1, 0), value=1.0)
        of_tanh = TanhTransform().log_abs_det_jacobian(x, x)
        return (of_tanh + left[..., row, column].log() / 2).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        size = (1 + math.isqrt(1 + 8 * shape[-1])) // 2
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return engine.Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return engine.Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def fill_triangle(values: Tensor, size: int, diagonal: int) -> Tensor:
    """Return (..., size, size) matrices with the values in the rows of their lower triangles."""
    row, column = engine.tril_indices(size, size, diagonal)
    flat = engine.zeros(*values.shape[:-1], size * size, dtype=values.dtype)
    positions = (row * size + column).expand(values.shape)
    return flat.scatter(-1, positions, values).unflatten(-1, (size, size))


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangles with a positive diagonal, which is exp of the matrix's."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones: L Lᵀ of the triangle L of LowerCholeskyTransform."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(engine.linalg.cholesky(y))


class ReshapeTransform(Transform):
    """Events of `in_shape` as events of `out_shape`."""

    bijective = True

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        self.in_shape, self.out_shape = engine.Size(in_shape), engine.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    def _settings(self) -> tuple[Any, ...]:
        return self.in_shape, self.out_shape

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._exchanged(shape, self.out_shape, self.in_shape)

    @staticmethod
    def _exchanged(shape: Sequence[int], event: Sequence[int], by: Sequence[int]) -> Any:
        split = len(shape) - len(event)
        if split < 0:
            raise ValueError("Too few dimensions on input")
        if tuple(shape[split:]) != tuple(event):
            raise ValueError(
                f"Shape mismatch: expected {tuple(shape[split:])} but got {tuple(event)}"
            )
        return engine.Size((*shape[:split], *by))


# ---- maps composed of maps


class ComposeTransform(Transform):
    """The maps `parts`, one after the other."""

    def __init__(self, parts: Iterable[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]

    def _settings(self) -> tuple[Any, ...]:
        return (self.parts,)

    def _event_dims(self) -> Iterator[int]:
        """Yield the number of event dimensions before each part, and after the last."""
        # From last to first: the dimensions that a part needs, or that the later parts need, in its terms.
        dims = [self.parts[-1].codomain.event_dim]
        for part in reversed(self.parts):
            gained = part.codomain.event_dim - part.domain.event_dim
            dims.append(max(part.domain.event_dim, dims[-1] - gained))
        # From first to last: the dimensions that the earlier parts add.
        current = dims[-1]
        yield current
        for part in self.parts:
            current += part.codomain.event_dim - part.domain.event_dim
            yield current

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        first, needed = self.parts[0].domain, next(self._event_dims())
        extra = needed - first.event_dim
        return constraints.independent(first, extra) if extra else first

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        extra = list(self._event_dims())[-1] - last.event_dim
        return constraints.independent(last, extra) if extra else last

    @property
    def bijective(self) -> Any:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        return ComposeTransform([part.inv for part in reversed(self.parts)]) if self.parts else self

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return engine.zeros_like(x)
        total: Any = 0.0
        for part, dims in zip(self.parts, self._event_dims(), strict=False):
            after = y if part is self.parts[-1] else part(x)
            total = total + sum_last(
                part.log_abs_det_jacobian(x, after), dims - part.domain.event_dim
            )
            x = after
        result: Tensor = total
        return result

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return functools.reduce(
            lambda s, part: part.forward_shape(s), self.parts, engine.Size(shape)
        )

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        backwards = reversed(self.parts)
        return functools.reduce(
            lambda s, part: part.inverse_shape(s), backwards, engine.Size(shape)
        )

    def __repr__(self) -> str:
        lines = ",\n    ".join(map(repr, self.parts))
        return f"ComposeTransform(\n    {lines}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A map whose last `reinterpreted_batch_ndims` dimensions of the batch belong to the event."""

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _settings(self) -> tuple[Any, ...]:
        return self.base_transform, self.reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_last(
            self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims
        )

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class _Parts(Transform):
    """Maps for consecutive parts of the dimension `dim`."""

    transforms: list[Transform]

    def __init__(self, tseq: Iterable[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms = [part.with_cache(cache_size) if cache_size else part for part in tseq]
        self.dim = dim

    def _settings(self) -> tuple[Any, ...]:
        return self.transforms, self.dim

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError(f"{type(self).__name__} does not split its dimension")

    def _join(self, pieces: list[Tensor]) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not join pieces")

    @property
    def bijective(self) -> Any:
        return all(part.bijective for part in self.transforms)

    def _each(self, *values: Tensor) -> Iterator[tuple[Any, ...]]:
        """Yield each map with its pieces of the values."""
        return zip(self.transforms, *map(self._split, values), strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return self._join([part(piece) for part, piece in self._each(x)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([part.inv(piece) for part, piece in self._each(y)])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._join([part.log_abs_det_jacobian(a, b) for part, a, b in self._each(x, y)])


class CatTransform(_Parts):
    """Each map for a part of its length of the dimension `dim`."""

    def __init__(
        self,
        tseq: Iterable[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    def _settings(self) -> tuple[Any, ...]:
        return self.transforms, self.dim, self.lengths

    @property
    def event_dim(self) -> int:
        return max(part.event_dim for part in self.transforms)

    @property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([part.domain for part in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([part.codomain for part in self.transforms], self.dim, self.lengths)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        return x.split(self.lengths, self.dim)

    def _join(self, pieces: list[Tensor]) -> Tensor:
        return engine.cat(pieces, self.dim)


class StackTransform(_Parts):
    """Each map for one index of the dimension `dim`."""

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([part.domain for part in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([part.codomain for part in self.transforms], self.dim)

    def _split(self, x: Tensor) -> Sequence[Tensor]:
        return x.unbind(self.dim)

    def _join(self, pieces: list[Tensor]) -> Tensor:
        return engine.stack(pieces, self.dim)
