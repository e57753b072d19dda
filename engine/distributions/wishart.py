"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine.distributions import constraints
from engine.distributions.distribution import Shape
from engine.distributions.multivariate_normal import MatrixForms, log_diagonal
from engine.distributions.sampling import standard_gamma
from engine.tensor import Tensor

__all__ = ["Wishart"]


class Wishart(MatrixForms):
    """The distribution of the sum of x xᵀ over `df` normal vectors with a covariance matrix in one of three forms.

    >>> Wishart(engine.tensor(3.0), engine.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _event_dims: ClassVar[dict[str, int]] = {"df": 0}
    df: Tensor

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        form = self._form(covariance_matrix, precision_matrix, scale_tril)
        event = next(iter(form.values())).shape[-2:]
        if not (engine.as_tensor(df) > event[-1] - 1).all():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}."
            )
        self._event_shape = event  # the constraint of df needs it
        self._set_parameters(validate_args, event, df=df, **form)

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @property
    def _columns(self) -> Tensor:
        """The degrees of freedom as matrices (batch, 1, 1)."""
        return self.df[..., None, None]

    @property
    def mean(self) -> Tensor:
        return self._columns * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        excess = self._columns - self.event_shape[-1] - 1
        return engine.where(excess > 0, excess, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._columns * (self.covariance_matrix.square() + outer)

    def _halves(self) -> Tensor:
        """Return half the degrees of freedom that are left for each row."""
        return (
            self.df.unsqueeze(-1) - engine.arange(self.event_shape[-1], dtype=self.df.dtype)
        ) / 2

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Draw by Bartlett's decomposition: the factor has chi and normal entries."""
        shape = self._extended_shape(sample_shape)
        chi = (2 * standard_gamma(self._halves().expand(shape[:-1]))).sqrt()
        factor = engine.randn(shape, dtype=self.df.dtype).tril(-1) + chi.diag_embed()
        factor = self.scale_tril @ factor
        return factor @ factor.mT

    def log_norm(self) -> Tensor:
        """Return the logarithm of the constant by which the density is divided."""
        size = self.event_shape[-1]
        return (
            self.df * (size * math.log(2) / 2 + log_diagonal(self.scale_tril))
            + self._halves().lgamma().sum(-1)
            + size * (size - 1) / 4 * math.log(math.pi)
        )

    def mean_log_det(self) -> Tensor:
        """Return the mean of the logarithm of the determinant."""
        of_rows = self._halves().digamma() + math.log(2)
        return of_rows.sum(-1) + 2 * log_diagonal(self.scale_tril)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        log_det = 2 * log_diagonal(engine.linalg.cholesky(x))
        trace = (self.precision_matrix * x).sum((-2, -1))
        return (self.df - self.event_shape[-1] - 1) / 2 * log_det - trace / 2 - self.log_norm()

    def entropy(self) -> Tensor:
        size = self.event_shape[-1]
        power = (self.df - size - 1) / 2
        return self.log_norm() - power * self.mean_log_det() + self.df * size / 2
