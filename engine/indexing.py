"""x[...] and x[...] = value: NumPy's and PyTorch's indexing.

An index is read left to right into (1) view steps, one per int, slice, None and Ellipsis, and (2) index
tensors (masks, lists, arrays), each on its own dimension. The steps of (1) call the view operators `select`,
`slice` and `unsqueeze` in turn; (2) is passed to `index` or `index_put_`. An index of (1) only is parsed in C
(engine/_native/basic_index.c); this module handles the mixed and the invalid ones.
"""

from __future__ import annotations

from itertools import dropwhile
from typing import Any, TypeAlias

from engine._generated import ops
from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine._native.namespace import namespace
from engine.dtypes import bool_, dtype, int8, int16, int64, uint8
from engine.tensor import Tensor, wrap
from engine.tensor_new import from_nested, is_array, is_sequence

# One tensor of indices per dimension, None for a dimension that is taken in full.
Advanced: TypeAlias = list[Tensor | None]
# A view operator: (operator, dimension, start or index, stop, step).
Step: TypeAlias = tuple[int, int, int, int, int]
# Integer dtypes whose range is checked here. (Wider ones are checked when the value is written.)
_NARROW = (uint8, int8, int16)
_functions: list[Any] = []
if lib.uh_basic_index_function(id(_functions)):
    raise MemoryError("no memory for basic_index")
_basic = _functions[0]


def getitem(self: Tensor, index: Any) -> Tensor:
    """Return the elements at `index`.

    Ints, slices, None and Ellipsis give a view; a mask, list, array or tensor of indices a copy.
    Raises: IndexError for an index out of range, too many indices or an object that is not an index,
    ValueError for a slice with a step below 1.

    >>> import engine
    >>> x = engine.arange(6).view(2, 3)
    >>> x[1, ::2]
    tensor([3, 5])
    >>> x[x > 3]
    tensor([4, 5])
    """
    view = _basic(self, index)
    if view is not None:
        return view
    if index.__class__ is list and {int}.issuperset(map(type, index)) and index:
        index = from_nested(index, int64, "index")
    if isinstance(index, Tensor) and index.dtype is int64 and index.dim() and self.dim():
        return ops.index(self, [index, *[None] * (self.dim() - 1)])
    view, advanced = _resolve(self, index)
    return ops.index(view, advanced) if advanced else view


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write `value` (a number, or a tensor that broadcasts) to the elements at `index`.

    >>> import engine
    >>> x = engine.zeros(3); x[1:] = 7; x
    tensor([0., 7., 7.])
    """
    if not isinstance(value, (Tensor, bool, int, float, complex)):
        value = _value(self, value)
    if _may_not_fit(value, self.dtype):
        ops.scalar_tensor(value, dtype=self.dtype)  # raises, whatever the index is
    if index is False:  # nothing
        return
    if index is True:
        _write(self[None], value)
        return
    recorded = self.requires_grad or (isinstance(value, Tensor) and value.requires_grad)
    view = None if recorded else _basic(self, index)
    if view is not None:
        advanced: Advanced = []
    else:
        # index_put_ checks whether the tensor may be written, then the index tensors.
        steps, advanced = _plan(self, index, check_tensors=False)
        view = _view(self, steps) if steps else self  # the whole tensor: the graph has no view then
    if not advanced:
        _write(view, value)
        return
    masks = [item for item in advanced if item is not None]
    plain_mask = (
        len(masks) == 1
        and masks[0].dtype is bool_
        and advanced[0] is masks[0]
        and masks[0].shape == view.shape[: masks[0].dim()]
    )
    if plain_mask and not isinstance(value, Tensor) and not view.requires_grad:
        ops.masked_fill__Scalar(view, _widened(masks[0], view.dim()), value)
        return
    if not isinstance(value, Tensor):
        value = ops.scalar_tensor(value, dtype=view.dtype, device=view.device)
    sizes = _shape_without_leading_ones(value)
    ops.index_put_(view, advanced, value if sizes == value.shape else value.reshape(sizes))


def _may_not_fit(value: Any, dtype: dtype) -> bool:
    """Return True if the dtype may not be able to hold a number: a complex one, or one for narrow integers."""
    if value.__class__ is complex:
        return not dtype.is_complex
    return not isinstance(value, Tensor) and dtype in _NARROW


def _write(view: Tensor, value: Tensor | complex) -> None:
    if not isinstance(value, Tensor):
        if not view.is_contiguous():
            _check_no_overlap(view)
        if view.dim() == 0 and view.requires_grad:  # PyTorch's graph shows a copy then
            view.copy_(ops.scalar_tensor(value, dtype=view.dtype, device=view.device))
        else:
            ops.fill__Scalar(view, value)
        return
    if value.shape == view.shape:
        view.copy_(value)
    elif value.dim() == 0 and not value.is_meta:
        view.fill_(value)
    else:
        value = value.view(_shape_without_leading_ones(value))
        # Its repeated elements may share the memory that is written: copy_ rejects other overlaps.
        view.copy_(value.expand(view.shape) if _broadcasts(value, view) else value)


def _broadcasts(value: Tensor, view: Tensor) -> bool:
    return value.dim() <= view.dim() and all(
        n in (1, expected) for n, expected in zip(value.shape[::-1], view.shape[::-1], strict=False)
    )


def _check_no_overlap(view: Tensor) -> None:
    """Raise RuntimeError if an assignment would write an element twice. (`fill_` may: it writes equal values.)"""
    sizes, strides = tuple(view.shape), view.stride()
    if any(step == 0 and size > 1 for size, step in zip(sizes, strides, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single "
            f"memory location (sizes {sizes}, strides {strides}). Please clone() the tensor before "
            "performing the operation."
        )


def _shape_without_leading_ones(value: Tensor) -> tuple[int, ...]:
    """Return the shape from its first size other than 1 on: as in PyTorch, a value may have extra ones."""
    sizes = tuple(value.shape)
    return tuple(dropwhile((1).__eq__, sizes))


def _widened(mask: Tensor, ndim: int) -> Tensor:
    """Append dimensions of size 1 to the mask, so that it broadcasts over rows."""
    if mask.dim() == ndim:
        return mask
    return mask.view(tuple(mask.shape) + (1,) * (ndim - mask.dim()))


def _value(self: Tensor, value: Any) -> Any:
    """Convert a value that is neither a number nor a tensor: a NumPy scalar, or an object like a number."""
    if is_array(value) and value.ndim == 0:
        return value.item()
    if not is_sequence(value) and not isinstance(value, str):
        if hasattr(value, "__index__"):
            return value.__index__()
        if hasattr(value, "__float__"):
            return float(value)
        if hasattr(value, "__complex__"):
            return complex(value)
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    raise TypeError(
        f"setitem: can't assign a {name} to a tensor of {self.dtype}; "
        f"assign a number or a tensor: {namespace()}.tensor(value)"
    )


# ---- reading an index


def _items(index: Any) -> list[Any]:
    """Split the index into the items between its commas."""
    if type(index) is tuple:
        return list(index)
    if isinstance(index, tuple):
        return list(index)
    return [index]


def _consumes(item: Any) -> int:
    """Return the number of the tensor's dimensions that an item indexes."""
    if item is None or item is ... or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and item.dtype in (bool_, uint8):
        return item.dim()
    return 1


def _resolve(self: Tensor, index: Any) -> tuple[Tensor, Advanced]:
    """Return the view that the basic items select, and the index tensors by dimension of that view."""
    steps, advanced = _plan(self, index)
    return (self if advanced and not steps else _view(self, steps)), advanced


def _plan(self: Tensor, index: Any, check_tensors: bool = True) -> tuple[list[Step], Advanced]:
    """Return the steps of the view that the basic items select, and the index tensors by dimension of that view."""
    items = [_normal(item, check_tensors) for item in _items(index)]
    needed = sum(map(_consumes, items))
    ndim = self.dim()
    if needed > ndim:
        if ndim == 0 and needed == 1:
            raise IndexError(
                "index: invalid index of a 0-dim tensor; use x.item() to convert it to a number"
            )
        raise IndexError(
            f"index: too many indices for tensor of dimension {ndim}: {needed} were given"
        )
    if not any(item is ... for item in items):
        items.append(...)

    sizes = self.shape
    advanced: Advanced = []
    steps: list[Step] = []
    dim, left = 0, ndim - needed  # of self
    for item in items:
        at = len(advanced) + _masked_dims(advanced)  # the dimension of the view so far
        if item is ...:
            advanced += [None] * left
            dim, left = dim + left, 0
            continue
        if item is None or isinstance(item, bool):
            # A bool indexes a new dimension of size 1: True keeps it, False empties it.
            steps.append((lib.UH_UNSQUEEZE, at, 0, 0, 0))
            advanced.append(None if item is None else _bool_index(self, item))
            continue
        if isinstance(item, Tensor):
            width = _consumes(item)
            if item.dtype in (bool_, uint8):
                if check_tensors:
                    _check_mask(item, self, dim)
                if width == 0:
                    steps.append((lib.UH_UNSQUEEZE, at, 0, 0, 0))
                    advanced.append(_bool_index(self, bool(item)))
                    continue
            advanced.append(item)  # a mask indexes all its dimensions
            dim += width
            continue
        size = sizes[dim]
        if isinstance(item, slice):
            start, length, step = _span(item, size)
            begins_at_0 = item.start is None or _bound(item.start) == 0
            ends_at_size = item.stop is None or _bound(item.stop) >= size  # not at -1 of size 0
            if not (begins_at_0 and ends_at_size) or (length, step) != (size, 1):
                steps.append((lib.UH_SLICE, at, start, start + length * step, step))
            advanced.append(None)
        else:
            steps.append((lib.UH_SELECT, at, _position(item, size, dim), 0, 0))
        dim += 1
    return steps, advanced if any(tensor is not None for tensor in advanced) else []


def _masked_dims(advanced: Advanced) -> int:
    """Return the number of dimensions that masks index in addition to their one entry of the list."""
    return sum(
        tensor.dim() - 1
        for tensor in advanced
        if tensor is not None and tensor.dtype in (bool_, uint8)
    )


def _normal(item: Any, check_dtype: bool = True) -> Any:
    """Convert an item to an int, bool, slice, None, Ellipsis or index tensor."""
    if item is None or item is ... or item.__class__ in (int, slice, bool):
        return item
    if isinstance(item, Tensor):
        if item.dtype.is_floating_point or item.dtype.is_complex:
            if not check_dtype:
                return item
            raise IndexError(
                f"index: tensors used as indices must be integer or bool tensors, got {item.dtype}"
            )
        if item.dim() == 0 and item.dtype is not bool_ and item.dtype is not uint8:
            return item if item.is_meta else item.item()
        return item
    if is_array(item):
        from engine.creation import tensor

        if item.dtype == bool and item.ndim == 0:
            return bool(item)
        return _normal(tensor(item), check_dtype)
    if isinstance(item, (str, bytes)):
        raise TypeError(f"index: invalid data type '{type(item).__name__}': {item!r}")
    if is_sequence(item):
        from engine.creation import tensor

        # An empty list selects nothing, and without elements its dtype cannot be inferred.
        indices = tensor(item) if len(item) else tensor(item, dtype=int64)
        return _normal(indices, check_dtype)
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        "index: only integers, slices (`:`), ellipsis (`...`), None and integer or bool tensors "
        f"are valid indices, got {type(item).__name__}"
    )


def _position(index: int, size: int, dim: int) -> int:
    if not -size <= index < size:
        if not -(1 << 63) <= index < 1 << 63:
            raise ValueError(f"index: Overflow when unpacking long long: {index}")
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    return index + size if index < 0 else index


def _span(item: slice, size: int) -> tuple[int, int, int]:
    """Return (first index, length, step) of a slice over `size` indices."""
    if item.step is not None:
        step = _bound(item.step)
        if step < 1:
            raise ValueError(f"slice: step must be greater than zero, got {step}")
    else:
        step = 1
    start, stop, step = slice(_bound(item.start), _bound(item.stop), step).indices(size)
    return start, max(0, -(-(stop - start) // step)), step


def _bound(value: Any) -> Any:
    """Convert one end of a slice; a tensor of a single int is accepted."""
    if value is None or isinstance(value, int):
        return value
    if hasattr(value, "__index__"):
        return value.__index__()
    raise TypeError(
        "slice: indices must be integers or None or have an __index__ method, "
        f"got {type(value).__name__} {value!r}"
    )


def _view(self: Tensor, steps: list[Step]) -> Tensor:
    """Apply the view operators in turn; without any the result is an alias, as for x[...]."""
    handle = lib.uh_index_basic(self._h, ffi.new("uh_index_step[]", steps), len(steps))
    if not handle:
        raise_last()
    return wrap(handle)


# ---- masks


def _bool_index(self: Tensor, value: bool) -> Tensor:
    """Convert the bool of x[True, ...] or x[False, ...] to the indices that it selects of a dimension of size 1."""
    from engine.creation import tensor

    return tensor([0] if value else [], dtype=int64, device=self.device)


def _check_mask(mask: Tensor, self: Tensor, dim: int) -> None:
    expected = tuple(self.shape[dim : dim + mask.dim()])
    if tuple(mask.shape) != expected:
        raise IndexError(
            f"index: the shape of the mask {list(mask.shape)} at index {dim} does not match the "
            f"shape of the indexed tensor {list(self.shape)} at index {dim}"
        )
