"""Regions of parameters and draws: `constraint.check(value)` returns which events are inside.

An event is the last `event_dim` dimensions of a value; `check` returns a tensor of bools without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import engine
from engine.tensor import Tensor

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]

TOLERANCE = 1e-6  # tolerance for sums and norms of 1, and for symmetry


class Constraint:
    """A region; subclasses define `check`, `is_discrete` and `event_dim`, the number of dimensions of an
    event."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Return a bool tensor: True for the events of `value` that are inside."""
        raise NotImplementedError(f"{type(self).__name__} does not define check")

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({bounds})"


def _bounded(
    name: str, bounds: str, inside: Callable[..., Tensor], is_integer: bool = False
) -> Any:
    """Create the class of the values between bounds; its arguments are the `bounds`, by name."""
    names = bounds.split()

    def __init__(self: Constraint, *values: Any, **keywords: Any) -> None:
        if len(values) + len(keywords) != len(names):
            raise TypeError(f"{name} takes {len(names)} bounds ({bounds})")
        vars(self).update(dict(zip(names, values, strict=False)) | keywords)

    def check(self: Constraint, value: Tensor) -> Tensor:
        is_inside = inside(value, *vars(self).values())
        return is_inside & (value % 1 == 0) if is_integer else is_inside

    members = {"__init__": __init__, "check": check, "is_discrete": is_integer}
    return type(name, (Constraint,), members | {"__module__": __name__})


_Interval = _bounded(
    "_Interval", "lower_bound upper_bound", lambda x, low, high: (x >= low) & (x <= high)
)
_HalfOpenInterval = _bounded(
    "_HalfOpenInterval", "lower_bound upper_bound", lambda x, low, high: (x >= low) & (x < high)
)
_GreaterThan = _bounded("_GreaterThan", "lower_bound", lambda x, low: x > low)
_GreaterThanEq = _bounded("_GreaterThanEq", "lower_bound", lambda x, low: x >= low)
_LessThan = _bounded("_LessThan", "upper_bound", lambda x, high: x < high)
_IntegerInterval = _bounded(
    "_IntegerInterval",
    "lower_bound upper_bound",
    lambda x, low, high: (x >= low) & (x <= high),
    is_integer=True,
)
_IntegerGreaterThan = _bounded(
    "_IntegerGreaterThan", "lower_bound", lambda x, low: x >= low, is_integer=True
)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return ~value.isnan()


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < TOLERANCE)


class _Multinomial(Constraint):
    """Counts that add up to the number of trials, or to less."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


class _Matrix(Constraint):
    event_dim = 2


class _Square(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        return engine.full(value.shape[:-2], value.shape[-1] == value.shape[-2])


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if not is_square.all():
            return is_square
        return engine.isclose(value, value.mT, atol=TOLERANCE).all(-1).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return (engine.linalg.eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return engine.linalg.cholesky_ex(value)[1] == 0


class _LowerTriangular(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        return (value == value.tril()).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangles with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        diagonal = value.diagonal(dim1=-2, dim2=-1)
        return super().check(value) & (diagonal > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Lower triangles with rows of length 1: Cholesky factors of correlation matrices."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = 10 * value.shape[-1] * engine.finfo(value.dtype).eps
        is_unit = (engine.linalg.vector_norm(value, dim=-1) - 1).abs() < tolerance
        return super().check(value) & is_unit.all(-1)


class _Dependent(Constraint):
    """A region that depends on other values, so it has no `check`."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    @property
    def is_discrete(self) -> Any:
        return self._known("is_discrete")

    @property
    def event_dim(self) -> Any:
        return self._known("event_dim")

    def __call__(self, **changes: Any) -> _Dependent:
        """Return the same with another `is_discrete` or `event_dim`."""
        known = {"is_discrete": self._is_discrete, "event_dim": self._event_dim}
        return _Dependent(**known | changes)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _DependentProperty(property, _Dependent):
    """A property of a distribution whose value is a constraint; on the class it is a dependent constraint."""

    def __init__(
        self,
        fn: Callable[[Any], Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override]  # decorates
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A region whose events consist of several events of another region."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        if value.dim() < self.event_dim:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()} for {self!r}"
            )
        is_inside = self.base_constraint.check(value)
        return is_inside.flatten(is_inside.dim() - self.reinterpreted_batch_ndims).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Values inside the region of every component of a mixture."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(
                f"base_constraint must be a Constraint, got {type(base_constraint).__name__}"
            )
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        # The components are the dimension in front of the event.
        is_inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return is_inside.all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Parts(Constraint):
    """Constraints for consecutive parts of a dimension."""

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> Any:
        return any(part.is_discrete for part in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(part.event_dim for part in self.cseq)

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Cat(_Parts):
    def __init__(
        self, cseq: Iterable[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    def check(self, value: Tensor) -> Tensor:
        pieces = value.split(self.lengths, self.dim)
        checks = [part.check(piece) for part, piece in zip(self.cseq, pieces, strict=True)]
        return engine.cat(checks, self.dim)


class _Stack(_Parts):
    def check(self, value: Tensor) -> Tensor:
        pieces = value.unbind(self.dim)
        checks = [part.check(piece) for part, piece in zip(self.cseq, pieces, strict=True)]
        return engine.stack(checks, self.dim)


def is_dependent(constraint: Any) -> bool:
    """Return whether the region depends on other values.

    >>> is_dependent(dependent), is_dependent(interval(0.0, 1.0))
    (True, False)
    """
    return isinstance(constraint, _Dependent)


real = _Real()
boolean = _Boolean()
one_hot = _OneHot()
simplex = _Simplex()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
dependent = _Dependent()
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
unit_interval = _Interval(0.0, 1.0)
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
real_vector = _IndependentConstraint(real, 1)

dependent_property = _DependentProperty
interval = _Interval
half_open_interval = _HalfOpenInterval
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
integer_interval = _IntegerInterval
multinomial = _Multinomial
independent = _IndependentConstraint
cat = _Cat
stack = _Stack
