"""Conversion of samples to a batch: default_collate stacks them, default_convert does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import engine
from engine.tensor_new import is_array

_PLAIN = (str, bytes)


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and scalars inside nested containers to tensors; return anything else unchanged.

    >>> default_convert({"a": [1, "b"]})
    {'a': [1, 'b']}
    """
    if isinstance(data, (engine.Tensor, *_PLAIN)):
        return data
    if is_array(data):
        return data if _is_text(data) else engine.as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple):
        return _tuple_like(data, [default_convert(x) for x in data])
    if isinstance(data, Sequence):
        return _sequence_like(data, [default_convert(x) for x in data])
    return data


def pinned(data: Any) -> Any:
    """Copy the tensors inside nested containers to pinned memory; other objects may have a `pin_memory`, too."""
    if isinstance(data, _PLAIN):
        return data
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return _mapping(data, lambda key: pinned(data[key]))
    if isinstance(data, tuple):
        return _tuple_like(data, [pinned(x) for x in data])
    if isinstance(data, Sequence):
        return _sequence_like(data, [pinned(x) for x in data])
    return data


def default_collate(batch: Any) -> Any:
    """Combine samples into one with a leading batch dimension in every tensor.

    Tensors and arrays are stacked, numbers become a tensor (int64, float64, bool), strings stay a
    list, mappings, named tuples, tuples and sequences are collated by key or position.
    Raises: TypeError for anything else; RuntimeError for tensors and sequences of unequal sizes.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, engine.Tensor):
        return engine.stack(list(batch), 0)
    if is_array(first):
        return _collated_arrays(batch, first)
    if isinstance(first, float):
        return engine.tensor(batch, dtype=engine.float64)
    if isinstance(first, int):
        return engine.tensor(batch)
    if isinstance(first, _PLAIN):
        return batch
    if isinstance(first, Mapping):
        return _mapping(first, lambda key: default_collate([sample[key] for sample in batch]))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        collated = [default_collate(column) for column in zip(*batch, strict=True)]
        return collated if isinstance(first, tuple) else _sequence_like(first, collated)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first)}"
    )


def _is_text(array: Any) -> bool:
    return array.dtype.kind in "SUOV"


def _collated_arrays(batch: Any, first: Any) -> Any:
    if _is_text(first):
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
            f"found an array of {first.dtype}"
        )
    return engine.stack([engine.as_tensor(sample) for sample in batch], 0)


def _mapping(like: Mapping[Any, Any], value: Callable[[Any], Any]) -> Any:
    values = {key: value(key) for key in like}
    try:
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:  # a mapping that cannot be constructed from a mapping
        return values


def _tuple_like(like: tuple[Any, ...], values: list[Any]) -> Any:
    return type(like)(*values) if hasattr(like, "_fields") else values  # a list, as in PyTorch


def _sequence_like(like: Sequence[Any], values: list[Any]) -> Any:
    try:
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:  # range and other sequences without such a constructor
        return values
