"""Chi2: the sum of squares of standard normal numbers."""

from __future__ import annotations

from typing import Any

from engine.distributions import constraints
from engine.distributions.gamma import Gamma
from engine.tensor import Tensor

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers: Gamma(df / 2, 1 / 2).

    >>> import engine
    >>> Chi2(engine.tensor([3.0])).mean
    tensor([3.])
    """

    arg_constraints = {"df": constraints.positive}
    _event_dims = {"concentration": 0, "rate": 0}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
