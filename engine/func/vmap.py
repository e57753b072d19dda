"""vmap: a function applied to each element of a batch."""

from __future__ import annotations

from typing import Any

import engine
from engine._native import lib
from engine.random import philox_state
from engine.tensor import Tensor

__all__ = ["vmap"]


def vmap(
    func: Any,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Any:
    """Return a function that calls `func` for each index of the batch dimensions and stacks the results.

    in_dims: the batch dimension of each argument, in its containers; None for one that is passed as it is.
    PyTorch calls the function once with batched operators; here it is called for each element, and `chunk_size` has
    no effect. `randomness`: whether elements draw the "same" or "different" random numbers; else it is an error.
    Raises: ValueError if batch sizes differ, or no argument has a batch dimension; RuntimeError for random numbers.

    >>> vmap(engine.dot)(engine.ones(2, 3), engine.ones(2, 3))
    tensor([3., 3.])
    """

    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )

    if not isinstance(chunk_size, (int, type(None))):
        raise TypeError(f"vmap: chunk_size must be an int or None, got {type(chunk_size).__name__}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        dims = _spread(in_dims, args)
        named_dims = _spread(0, kwargs)
        sizes: set[int] = set()
        _collect(args, dims, sizes)
        _collect(kwargs, named_dims, sizes)
        if len(sizes) != 1:
            problem = f"sizes {sorted(sizes)}" if sizes else "no batch dimension"
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got {problem}"
            )
        state, results = philox_state(), []
        for i in range(sizes.pop()):
            if randomness == "same":
                lib.uh_set_rng_state(*state)
            results.append(func(*_element(args, dims, i), **_element(kwargs, named_dims, i)))
            if randomness == "error" and philox_state() != state:
                raise RuntimeError(
                    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
                )
        return _stacked(results, out_dims)

    return wrapper


def _spread(dims: Any, tree: Any) -> Any:
    """Return a batch dimension for each leaf of the containers."""
    if isinstance(tree, dict):
        return {k: _spread(dims[k] if isinstance(dims, dict) else dims, v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        each = dims if isinstance(dims, (list, tuple)) else [dims] * len(tree)
        if len(each) != len(tree):
            raise ValueError(f"vmap: in_dims has {len(each)} entries for {len(tree)} inputs")
        return [_spread(d, x) for d, x in zip(each, tree, strict=True)]
    return dims if isinstance(tree, Tensor) else None


def _collect(tree: Any, dims: Any, sizes: set[int]) -> None:
    if isinstance(tree, dict):
        for key, value in tree.items():
            _collect(value, dims[key], sizes)
    elif isinstance(tree, (list, tuple)):
        for value, dim in zip(tree, dims, strict=True):
            _collect(value, dim, sizes)
    elif dims is not None:
        sizes.add(tree.size(dims))


def _element(tree: Any, dims: Any, index: int) -> Any:
    """Return the containers with one element of each batch."""
    if isinstance(tree, dict):
        return {key: _element(value, dims[key], index) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(_element(x, d, index) for x, d in zip(tree, dims, strict=True))
    return tree if dims is None else tree.select(dims, index)


def _stacked(results: list[Any], out_dims: Any) -> Any:
    """Stack the tensors at each position of the results' containers."""
    first = results[0]
    if isinstance(first, dict):
        return {key: _stacked([r[key] for r in results], _out_dim(out_dims, key)) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(
            _stacked([r[i] for r in results], _out_dim(out_dims, i)) for i in range(len(first))
        )
    if not isinstance(first, Tensor):
        raise ValueError(
            f"vmap: `func` must only return Tensors, got type {type(first).__name__} as a return"
        )
    return first if out_dims is None else engine.stack(results, out_dims)


def _out_dim(out_dims: Any, key: Any) -> Any:
    return out_dims[key] if isinstance(out_dims, (list, tuple, dict)) else out_dims
