"""Predefined parametrizations: orthogonal, spectral_norm and weight_norm."""

from __future__ import annotations

from typing import Any

import engine
from engine.nn import functional
from engine.nn.module import Module
from engine.nn.utils.parametrize import register_parametrization
from engine.nn.utils.spectral_norm import output_dim
from engine.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """g * v / |v|, with the norm over all dimensions but `dim`, or over all if `dim` is -1."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def _norm(self, v: Tensor) -> Tensor:
        if self.dim == -1:
            norm: Tensor = engine.linalg.vector_norm(v)
        else:
            others = [d for d in range(v.dim()) if d != self.dim % v.dim()]
            norm = engine.linalg.vector_norm(v, dim=others, keepdim=True) if others else v.abs()
        return norm

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / self._norm(weight_v))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weight's norm, and the weight itself as the direction."""
        return self._norm(weight), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its length and its direction: w = g * v / |v|.

    `module.parametrizations.weight.original0` is g, `.original1` v; `dim=None` uses a single length for
    the tensor. State dicts with `weight_g` and `weight_v` can be loaded.

    >>> layer = weight_norm(engine.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    engine.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_{part}" for part in ("g", "v")]
        if all(key in state for key in old):
            for i, key in enumerate(old):
                state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iterations in training estimate."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, "
                f"but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with engine.no_grad():
                matrix = self._matrix(weight)
                for side, size in zip(("_u", "_v"), matrix.shape, strict=True):
                    drawn = engine.empty(size, dtype=weight.dtype).normal_(0, 1)
                    self.register_buffer(side, functional.normalize(drawn, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            others = (d for d in range(weight.dim()) if d != self.dim)
            weight = weight.permute(self.dim, *others)
        return weight.flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with engine.no_grad():
            for _ in range(times):
                for vector, product in (
                    (self._u, lambda: engine.mv(matrix, self._v)),
                    (self._v, lambda: engine.mv(matrix.t(), self._u)),
                ):
                    vector.copy_(functional.normalize(product(), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            normalized: Tensor = functional.normalize(weight, dim=0, eps=self.eps)
            return normalized
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Clone them: the next iteration overwrites them while backward still needs these values.
        u, v = self._u.clone(), self._v.clone()
        return weight / engine.dot(u, engine.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value itself: an assigned value is normalized when it is read."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value.

    `dim` is the dimension of the outputs: 1 for transposed convolutions, else 0.
    Raises: ValueError if the module has no such tensor.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = output_dim(module)
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, parametrization)


# ---- orthogonal matrices


def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.shape[-2:]
    identity = engine.eye(k, dtype=q.dtype, device=q.device)
    return bool(engine.allclose(q.mH @ q, identity, atol=10 * n * engine.finfo(q.dtype).eps))


def _orthogonalized(a: Tensor) -> Tensor:
    """Return the orthogonal factor of `a` whose triangular factor has a positive diagonal."""
    factors, tau = engine.geqrf(a)
    signs = factors.diagonal(dim1=-2, dim2=-1).sgn()
    return engine.linalg.householder_product(factors, tau) * signs.unsqueeze(-2)


def _exponential(a: Tensor) -> Tensor:
    result: Tensor = engine.linalg.matrix_exp(a)
    return result


def _cayley(a: Tensor) -> Tensor:
    identity = engine.eye(a.size(-1), dtype=a.dtype, device=a.device)
    result: Tensor = engine.linalg.solve(
        engine.add(identity, a, alpha=-0.5), engine.add(identity, a, alpha=0.5)
    )
    return result


_MAPS_OF_SKEW = {"matrix_exp": _exponential, "cayley": _cayley}


class _Orthogonal(Module):
    """An orthogonal matrix as a function of any matrix of its shape.

    With `use_trivialization` the function's values are multiplied by a matrix `base`, which assignment sets.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if orthogonal_map == "householder" and weight.is_complex():
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        is_wide = x.size(-2) < x.size(-1)
        if is_wide:
            x = x.mT
        if self.orthogonal_map == "householder":
            reflectors = x.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (reflectors * reflectors).sum(dim=-2))
            q = engine.linalg.householder_product(reflectors, tau)
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            q = self._of_skew(x)
        if self.use_trivialization and self.base is not None:
            q = self.base @ q
        return q.mT if is_wide else q

    def _of_skew(self, x: Tensor) -> Tensor:
        """Return the first columns of a map of the skew-symmetric matrix that the lower triangle of `x` defines."""
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            zeros = x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)
            x = engine.cat([x, zeros], dim=-1)
        return _MAPS_OF_SKEW[self.orthogonal_map](x - x.mH)[..., :k]

    def right_inverse(self, q: Tensor) -> Tensor:
        """Return the matrix that is mapped to `q`, or, if `q` is not orthogonal, to its orthogonal factor.

        Raises: ValueError for another shape; NotImplementedError without `use_trivialization`, except for
        householder.
        """
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {q.shape}."
            )
        shape_of_result = q
        is_wide = q.size(-2) < q.size(-1)
        if is_wide:
            q = q.mT
        n, k = q.shape[-2:]
        if self.use_trivialization:
            if n != k:
                others = engine.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
                self.base = _orthogonalized(engine.cat([q, others], dim=-1))
            else:
                self.base = q.clone() if _is_orthogonal(q) else _orthogonalized(q)
            minus_identity = engine.zeros_like(shape_of_result)
            minus_identity.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return minus_identity
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                "when use_trivialization=False."
            )
        factors, tau = engine.geqrf(q)
        diagonal = factors.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return factors.mT if is_wide else factors


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Make a matrix, or each of a batch, orthogonal: its columns, or the rows of a wide one, are orthonormal.

    `orthogonal_map` is "matrix_exp" or "cayley" (functions of a skew-symmetric matrix), or "householder" (a product
    of reflections); default: matrix_exp for square and complex matrices, else householder. Without
    `use_trivialization` less is stored, and only householder can be assigned.
    Raises: ValueError if the module has no such tensor, or for fewer than two dimensions.

    >>> layer = orthogonal(engine.nn.Linear(20, 40))
    >>> bool(engine.dist(layer.weight.T @ layer.weight, engine.eye(20)) < 1e-4)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        is_general = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if is_general else "householder"
    if orthogonal_map not in (*_MAPS_OF_SKEW, "householder"):
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)
