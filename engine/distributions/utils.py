"""PyTorch's helpers for user-defined distributions."""

from __future__ import annotations

from typing import Any

import engine
from engine.distributions.distribution import as_tensors, derived, sum_last
from engine.distributions.gumbel import EULER as euler_constant
from engine.distributions.probs_or_logits import Binary, Classes, clamp_probs
from engine.distributions.transforms import fill_triangle
from engine.tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

lazy_property = derived


def broadcast_all(*values: Any) -> Any:
    """Return numbers and tensors as tensors that are broadcast against each other.

    >>> broadcast_all(1.0, engine.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    tensors = as_tensors({str(i): value for i, value in enumerate(values)})
    return engine.broadcast_tensors(*tensors.values())


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return the probabilities of logits: softmax, or sigmoid for binary ones."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the logits of probabilities, clamped away from 0 and 1."""
    family = Binary if is_binary else Classes
    holder: Any = family.__new__(family)
    vars(holder)["probs"] = probs
    logits: Tensor = holder.logits
    return logits


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return square matrices with the vectors in the rows of their lower triangles, from diagonal `diag` on.

    >>> vec_to_tril_matrix(engine.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    size = round(((1 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5 - (1 + 2 * diag)) / 2)
    return fill_triangle(vec, size, diag)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the rows of the lower triangles of matrices, from diagonal `diag` on, as vectors."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    row, column = engine.tril_indices(size, size, diag)
    return mat[..., row, column]


_sum_rightmost = sum_last  # PyTorch's name: libraries that extend distributions call it


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Return draws of the standard normal distribution."""
    draws: Tensor = engine.randn(tuple(shape), dtype=dtype, device=device)
    return draws
