"""Maps of unconstrained numbers onto the regions of constraints: `biject_to` and `transform_to`.

`biject_to` returns a one-to-one map with a Jacobian, for inference; `transform_to` a map suited to optimisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.distributions import constraints, transforms
from engine.distributions.constraints import Constraint
from engine.distributions.transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """A table from classes of constraints to functions that create the map for one of them."""

    def __init__(self) -> None:
        self._factories: dict[type[Constraint], Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Register the function for a class of constraints, or that of an object; decorates without `factory`."""
        if factory is None:
            return lambda function: self.register(constraint, function)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._factories[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """Return the map onto the region. Raises: NotImplementedError if none is registered."""
        factory = self._factories.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            ) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _onto_above(constraint: Any) -> Transform:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


def _onto_below(constraint: Any) -> Transform:
    mirror = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), mirror])


def _onto_between(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    stretch = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), stretch])


FOR_BOTH: dict[Any, Factory] = {
    constraints.real: lambda _: transforms.identity_transform,
    constraints.greater_than: _onto_above,
    constraints.greater_than_eq: _onto_above,
    constraints.less_than: _onto_below,
    constraints.interval: _onto_between,
    constraints.half_open_interval: _onto_between,
    constraints.corr_cholesky: lambda _: transforms.CorrCholeskyTransform(),
}


def _register_shared(registry: ConstraintRegistry) -> None:
    """Register the entries of both tables, and the regions that are composed of others."""

    def parts(constraint: Any) -> list[Transform]:
        return [registry(part) for part in constraint.cseq]

    def several(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    for region, factory in FOR_BOTH.items():
        registry.register(region, factory)
    registry.register(constraints.independent, several)
    registry.register(
        constraints.cat, lambda c: transforms.CatTransform(parts(c), c.dim, c.lengths)
    )
    registry.register(constraints.stack, lambda c: transforms.StackTransform(parts(c), c.dim))


_register_shared(biject_to)
_register_shared(transform_to)
biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
for region in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(region, lambda _: transforms.PositiveDefiniteTransform())
