"""Distribution: the base class, with shapes, checks and the methods that every distribution has."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import engine
from engine.distributions import constraints
from engine.distributions.utils import lazy_property
from engine.dtypes import Size
from engine.tensor import Tensor

__all__ = ["Distribution"]


class Distribution:
    """A random variable: `sample()`, `log_prob(value)`, `entropy()` and moments.

    A sample has the shape `sample_shape + batch_shape + event_shape`: draws, independent distributions, and the
    dimensions of one value. `rsample` is differentiable in the parameters where `has_rsample` is True.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _event_dims: dict[str, int] = {}
    """The parameters, and how many dimensions of each belong to one value."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether new distributions check parameters and values. Raises: ValueError unless it is a bool."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = (),
        event_shape: Any = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` "
                "or initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(
                getattr(type(self), name, None), lazy_property
            ):
                continue  # computed later, from a parameter that is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} "
                    f"({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution with its parameters expanded to another batch shape; no memory is copied."""
        owner = next(c for c in type(self).__mro__ if "_event_dims" in c.__dict__)
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        for name, dims in self._event_dims.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                event = value.shape[value.dim() - dims :]
                new.__dict__[name] = value.expand(batch_shape + event)
        self._copy_fixed(new, batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _copy_fixed(self, new: Any, batch_shape: Size) -> None:
        """Copy what `expand` does not expand; a hook for subclasses."""

    @property
    def batch_shape(self) -> Size:
        """The shape of the independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    if TYPE_CHECKING:
        arg_constraints: Any
        support: Any
    else:

        @property
        def arg_constraints(self) -> dict[str, Any]:
            """The constraints of the parameters."""
            raise NotImplementedError

        @property
        def support(self) -> Any:
            """The constraint of the values."""
            raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values of the shape `sample_shape + batch_shape + event_shape`, without a gradient."""
        with engine.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values that are differentiable in the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Draw n values; `sample((n,))` is the same."""
        warnings.warn(
            "sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density or probability of a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the value up to which the probability is this one."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution, in the first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy, of the shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return e to the power of the entropy."""
        return engine.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError unless the value has a fitting shape and is in the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.size()} vs {self._event_shape}."
            )
        actual, expected = value.size(), self._batch_shape + self._event_shape
        for i, j in zip(reversed(actual), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{actual} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. "
                "Please initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=2,
            )
            return
        assert support is not None
        if not support.check(value).all():
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) "
                f"of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        parts = []
        for name in names:
            value = self.__dict__[name]
            parts.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{self.__class__.__name__}({', '.join(parts)})"
