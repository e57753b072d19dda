"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions import constraints
from engine.distributions.gamma import Gamma
from engine.tensor import Tensor

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The distribution of the sum of `df` squared standard normal draws.

    >>> Chi2(3.0).variance
    tensor(6.)
    """

    _repr_shows_parameters = False
    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def _event_dim_of(self, name: str) -> int:
        return 0

    def _parameters(self) -> Any:
        return ((name, vars(self)[name]) for name in Gamma.arg_constraints if name in vars(self))

    def _check_parameters(self) -> None:
        if not (self.df > 0).all():
            raise ValueError(
                f"Expected parameter df (Tensor of shape {tuple(self.df.shape)}) of distribution {self!r} "
                f"to satisfy the constraint {constraints.positive!r}, but found invalid values:\n{self.df}"
            )

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
