"""Functions of any number of tensors, as separate arguments or as a sequence."""

from __future__ import annotations

import warnings
from typing import Any

from engine._generated import ops
from engine.overloads import broadcast_sizes, function
from engine.tensor import Tensor


def _listed(tensors: tuple[Any, ...], name: str) -> list[Tensor]:
    """Return the tensors of `f(a, b)` or `f([a, b])` as a list."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    return _separate(tensors, name)


def _separate(tensors: tuple[Any, ...], name: str) -> list[Tensor]:
    """Return the tensors of `f(a, b)` as a list. Raises: TypeError for `f([a, b])`."""
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{name}: expected tensors, got {type(tensor).__name__} at position {position + 1}"
            )
    return list(tensors)


@function
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinates of a grid: each vector, expanded along the dimensions of all others.

    Shape: vectors of n1, n2... elements give tensors of shape (n1, n2, ...); indexing "xy" swaps the
    first two. Memory: none, views with stride 0.
    Raises: RuntimeError for tensors beyond 1-d, mixed dtypes, or another `indexing`.

    >>> import engine
    >>> x, y = engine.meshgrid(engine.tensor([1, 2]), engine.tensor([3, 4]), indexing="ij")
    >>> x
    tensor([[1, 1],
            [2, 2]])
    """
    if indexing is None:
        warnings.warn(
            "meshgrid: in an upcoming release, it will be required to pass the indexing argument",
            UserWarning,
            stacklevel=2,
        )
    return tuple(ops.meshgrid_indexing(_listed(tensors, "meshgrid"), indexing=indexing or "ij"))


@function
def cartesian_prod(*tensors: Any) -> Tensor:
    """Return all combinations of one element of each vector, one per row.

    >>> import engine
    >>> engine.cartesian_prod(engine.tensor([1, 2]), engine.tensor([3])).tolist()
    [[1, 3], [2, 3]]
    """
    listed = _separate(tensors, "cartesian_prod")
    result = ops.cartesian_prod(listed)
    return listed[0] if len(listed) == 1 else result


@function
def block_diag(*tensors: Any) -> Tensor:
    """Return a matrix of zeros with the given matrices (vectors as rows) along its diagonal.

    >>> import engine
    >>> engine.block_diag(engine.tensor([[1]]), engine.tensor([2, 3])).tolist()
    [[1, 0, 0], [0, 2, 3]]
    """
    return ops.block_diag(_separate(tensors, "block_diag"))


def _at_least(rank: int, doc: str) -> Any:
    name = f"atleast_{rank}d"

    def at_least(*tensors: Any) -> Any:
        operator = getattr(ops, name)
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return operator(tensors[0])
        return tuple(operator(tensor) for tensor in _listed(tensors, name))

    at_least.__name__ = at_least.__qualname__ = name
    at_least.__doc__ = f"{doc} Several tensors give a tuple. Memory: none, views."
    return at_least


atleast_1d = function(_at_least(1, "The tensor; a 0-d tensor gets one dimension."))
atleast_2d = function(_at_least(2, "The tensor with at least two dimensions: a vector is one row."))
atleast_3d = function(
    _at_least(3, "The tensor with at least three: (n) is (1, n, 1), (m, n) is (m, n, 1).")
)


@function
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Expand all tensors to the shape that they broadcast to. Memory: none, views; one of that shape is itself.

    A list of tensors is taken too, as in PyTorch's scripts.
    """
    listed = _listed(tensors, "broadcast_tensors")
    shape = broadcast_sizes([tensor.shape for tensor in listed])
    return tuple(
        tensor if list(tensor.shape) == shape else ops.expand(tensor, shape) for tensor in listed
    )
