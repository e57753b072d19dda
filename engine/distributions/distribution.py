"""Distribution: parameters with constraints, a batch of independent distributions, events of any shape.

A draw has the shape (sample, batch, event). A class declares its parameters in `arg_constraints`; `_set_parameters`
stores them, broadcast against each other. Checks, `expand` and `repr` use these declarations.
"""

from __future__ import annotations

import functools
import numbers
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import engine
from engine import regions
from engine._native import lib
from engine.distributions import constraints
from engine.distributions.constraints import Constraint
from engine.tensor import Tensor

__all__ = ["Distribution"]

Shape = Sequence[int]


def _as_region(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a method that a recording shows as a region such as `Normal.sample`."""

    @functools.wraps(method)
    def call(self: Distribution, *args: Any, **options: Any) -> Tensor:
        if not lib.uh_recording():
            return method(self, *args, **options)
        region = regions.begin(f"{type(self).__name__}.{method.__name__}")
        try:
            return method(self, *args, **options)
        finally:
            regions.end(region)

    return call


class Distribution:
    """The base class of distributions: a batch of `batch_shape` distributions, each with draws of `event_shape`."""

    has_rsample: Any = False
    has_enumerate_support: Any = False
    arg_constraints: ClassVar[
        Any
    ] = {}  # constraints by the names of parameters; a property in some classes
    support: Any = None
    _event_dims: ClassVar[dict[str, int]] = {}  # parameters whose constraints depend on others
    _validate_args: bool = __debug__
    _repr_shows_parameters = True  # as in PyTorch, left out if another distribution holds them

    def __init_subclass__(cls, **options: Any) -> None:
        """Let a recording show the draws of the engine's own distributions as regions."""
        super().__init_subclass__(**options)
        for name in {"sample", "rsample"} & set(vars(cls)):
            if cls.__module__.startswith(__package__):
                setattr(cls, name, _as_region(vars(cls)[name]))

    def __init__(
        self,
        batch_shape: Shape = (),
        event_shape: Shape = (),
        validate_args: bool | None = None,
    ) -> None:
        """Raises: ValueError if a parameter lies outside its constraint; `validate_args=False` skips this."""
        self._batch_shape = engine.Size(batch_shape)
        self._event_shape = engine.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their parameters and the arguments of `log_prob` and `cdf`."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, got {value!r}")
        Distribution._validate_args = value

    def _set_parameters(
        self, validate_args: bool | None, event_shape: Shape = (), **parameters: Any
    ) -> None:
        """Store parameters (None: not passed), broadcast over the batch, and initialise the rest."""
        tensors = as_tensors({k: v for k, v in parameters.items() if v is not None})
        event_dims = {name: self._event_dim_of(name) for name in tensors}
        batch = engine.broadcast_shapes(
            *(x.shape[: x.dim() - event_dims[name]] for name, x in tensors.items())
        )
        for name, x in tensors.items():
            vars(self)[name] = x.expand((*batch, *x.shape[x.dim() - event_dims[name] :]))
        Distribution.__init__(self, batch, event_shape, validate_args)

    def _event_dim_of(self, name: str) -> int:
        if name in self._event_dims:
            return self._event_dims[name]
        dim: int = self.arg_constraints[name].event_dim
        return dim

    def _parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the stored parameters: those passed, and derived ones that were read before."""
        for name in self.arg_constraints:
            if isinstance(value := vars(self).get(name), Tensor):
                yield name, value

    def _check_parameters(self) -> None:
        for name, value in self._parameters():
            constraint = self.arg_constraints[name]
            if constraints.is_dependent(constraint) or constraint.check(value).all():
                continue
            raise ValueError(
                f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of distribution {self!r} "
                f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Return the same distribution for a larger batch; no memory is copied."""
        expanded = type(self).__new__(type(self)) if _instance is None else _instance
        vars(expanded).update(vars(self))
        expanded._batch_shape = engine.Size(batch_shape)
        for name, value in self._parameters():
            event = value.shape[value.dim() - self._event_dim_of(name) :]
            vars(expanded)[name] = value.expand((*batch_shape, *event))
        return expanded

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return the object that `expand` of a class `cls` fills: `_instance`, or a new one of this object's class.

        Raises: NotImplementedError if a subclass defines `__init__` but not `expand`.
        """
        if _instance is not None:
            return _instance
        own: Any = type(self)
        if own.__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {own.__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return own.__new__(own)

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one draw of one of them."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        raise _missing(self, "mean")

    @property
    def mode(self) -> Tensor:
        raise _missing(self, "mode")

    @property
    def variance(self) -> Tensor:
        raise _missing(self, "variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    @_as_region
    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Return draws of the shape (sample_shape, batch_shape, event_shape), without a graph."""
        with engine.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Return draws that are differentiable in the parameters."""
        raise _missing(self, "rsample")

    def sample_n(self, n: int) -> Tensor:
        """Return `n` draws: `sample((n,))`."""
        warnings.warn(
            "sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2
        )
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at `value`."""
        raise _missing(self, "log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of draws up to `value`."""
        raise _missing(self, "cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile: the inverse of `cdf`."""
        raise _missing(self, "icdf")

    def entropy(self) -> Tensor:
        """Return the entropy in nats, of the shape batch_shape."""
        raise _missing(self, "entropy")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution, along a new first dimension."""
        raise _missing(self, "enumerate_support")

    def _enumerate(self, values: Tensor, expand: bool) -> Tensor:
        """Return values (n, event) as (n, batch, event), with a batch of ones unless `expand`."""
        batch = self._batch_shape if expand else (1,) * len(self._batch_shape)
        ones = (1,) * len(self._batch_shape)
        event = values.shape[1:]
        return values.reshape(-1, *ones, *event).expand(-1, *batch, *event)

    def perplexity(self) -> Tensor:
        """Return `exp(entropy())`."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Shape = ()) -> Any:
        """Return the shape of draws: (sample_shape, batch_shape, event_shape)."""
        return engine.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError unless `value` is a tensor of values of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape = engine.Size((*self._batch_shape, *self._event_shape))
        event = value.shape[value.dim() - len(self._event_shape) :]
        if event != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        pairs = zip(reversed(value.shape), reversed(shape), strict=False)
        if any(1 not in (i, j) and i != j for i, j in pairs):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {shape}."
            )
        support = self.support
        if isinstance(support, Constraint) and not support.check(value).all():
            raise ValueError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _checked(self, value: Any) -> Any:
        """Return `value` after a check, if this distribution checks values."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        if not self._repr_shows_parameters:
            return f"{type(self).__name__}()"
        parameters = (
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in self._parameters()
        )
        return f"{type(self).__name__}({', '.join(parameters)})"


class LocationScale(Distribution):
    """Distributions of `loc + scale * z`; a subclass describes z by the underscored members."""

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor
    _mean: float
    _mode = 0.0
    _variance: float
    _entropy: float

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale)

    def _draw(self, shape: Shape) -> Tensor:
        """Return draws of z."""
        raise _missing(self, "rsample")

    def _log_density(self, z: Tensor) -> Tensor:
        raise _missing(self, "log_prob")

    def _probability(self, z: Tensor) -> Tensor:
        raise _missing(self, "cdf")

    def _quantile(self, q: Tensor) -> Tensor:
        raise _missing(self, "icdf")

    def _at(self, z: float) -> Tensor:
        return self.loc if z == 0 else self.loc + self.scale * z

    @property
    def mean(self) -> Tensor:
        return self._at(self._mean)

    @property
    def mode(self) -> Tensor:
        return self._at(self._mode)

    @property
    def variance(self) -> Tensor:
        return self.scale.square() * self._variance

    @property
    def stddev(self) -> Tensor:
        return self.scale if self._variance == 1 else self.scale * self._variance**0.5

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.loc + self.scale * self._draw(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return self._log_density((self._checked(value) - self.loc) / self.scale) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return self._probability((self._checked(value) - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * self._quantile(value)

    def entropy(self) -> Tensor:
        return self.scale.log() + self._entropy


def derived(function: Callable[[Any], Tensor]) -> Any:
    """Define a parameter that is computed from the others on its first use, with its graph."""

    @functools.wraps(function)
    def compute(self: Any) -> Tensor:
        with engine.enable_grad():
            return function(self)

    return functools.cached_property(compute)


def as_tensors(values: dict[str, Any]) -> dict[str, Tensor]:
    """Return numbers as tensors of the dtype of the first tensor, or of the default dtype."""
    for value in values.values():
        if not isinstance(value, (Tensor, numbers.Number)):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                "__torch_function__."
            )
    first = next((x for x in values.values() if isinstance(x, Tensor)), None)
    dtype = engine.get_default_dtype() if first is None else first.dtype
    return {
        name: x if isinstance(x, Tensor) else engine.tensor(x, dtype=dtype)
        for name, x in values.items()
    }


def sum_last(value: Tensor, dim: int) -> Tensor:
    """Return the sum over the last `dim` dimensions."""
    return value.flatten(value.dim() - dim).sum(-1) if dim else value


def _missing(distribution: Distribution, name: str) -> NotImplementedError:
    return NotImplementedError(f"{type(distribution).__name__} has no {name}")
