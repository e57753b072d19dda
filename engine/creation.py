"""New tensors: from data, from sizes, from ranges.

The factories here take PyTorch's keyword arguments and call the operators of
csrc/ops/creation.yaml. Random ones are in random_factories.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from engine._generated import ops
from engine._native import lib
from engine._native.errors import raise_last
from engine._native.namespace import namespace
from engine.arguments import type_word
from engine.dtypes import CPU, as_device, as_dtype, device, dtype, strided
from engine.marshal import c_function, python_number
from engine.numpy_bridge import from_numpy, share
from engine.tensor import Tensor
from engine.tensor_new import from_array, from_bytes, from_nested, is_array

__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_bytes",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]

_empty = c_function("empty")
_zeros = c_function("zeros")
_ones = c_function("ones")
Device: TypeAlias = device | str | None
Number: TypeAlias = complex  # as type checkers read it: bool, int, float or complex
default_device: Callable[[], device] | None = (
    None  # set by engine/default_device.py once it is used
)


# ---- from data


def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a tensor with a copy of `data`: a number, nested sequences, a NumPy array, a tensor.

    Shape: the nesting of `data`. Dtype: bool, int64 or the default float by Python's numbers, the
    array's or tensor's own otherwise; `dtype` converts.
    Memory: always its own, row-major.
    Raises: ValueError when rows differ in length, TypeError for an element that is not a number,
    RuntimeError for a number that `dtype` cannot hold.

    >>> import engine
    >>> engine.tensor([[1, 2], [3, 4]]).shape
    engine.Size([2, 2])
    >>> engine.tensor([1, 2.5])
    tensor([1.0000, 2.5000])
    """
    kind = None if dtype is None else as_dtype(dtype, "tensor")
    if device is None and default_device is not None:
        device = default_device()
    target_device = CPU if device is None else as_device(device, "tensor")
    if isinstance(data, Tensor):
        result = ops._to_copy(data.detach(), dtype=kind, device=device and target_device)
    elif is_array(data):
        result = from_array(data, kind, "tensor")
    elif hasattr(data, "__array__"):
        result = from_array(data.__array__(), kind, "tensor")
    else:
        result = from_nested(data, kind, "tensor")
    if target_device.type != result.device.type and not (
        device is None and isinstance(data, Tensor)
    ):
        result = ops._to_copy(result, device=target_device)
    return result.requires_grad_(requires_grad) if requires_grad else result


def as_tensor(data: Any, dtype: dtype | None = None, device: Device = None) -> Tensor:
    """Return `data` as a tensor, without a copy where that is possible.

    Memory: a tensor with the right dtype and device is returned itself; a NumPy array of the right
    dtype is shared as in `from_numpy`; everything else is copied.

    >>> import engine
    >>> x = engine.tensor([1])
    >>> engine.as_tensor(x) is x
    True
    """
    kind = None if dtype is None else as_dtype(dtype, "as_tensor")
    if device is None and default_device is not None:
        device = default_device()
    if not isinstance(data, Tensor):
        if type(data).__module__ != "numpy" or type(data).__name__ != "ndarray":
            return tensor(data, dtype=kind, device=device)
        data = share(data, "as_tensor")
    target_device = data.device if device is None else as_device(device, "as_tensor")
    same = (kind is None or data.dtype is kind) and target_device.type == data.device.type
    return data if same else ops._to_copy(data, dtype=kind, device=target_device)


def asarray(
    obj: Any,
    *,
    dtype: dtype | None = None,
    device: Device = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return `obj` as a tensor; `copy=True` always copies, `copy=False` raises ValueError if it must.

    A result of a graph is detached with `requires_grad=False`, and stays in the graph by default.
    """
    if copy and not isinstance(obj, Tensor):
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    result = as_tensor(obj, dtype, device)
    if copy and result is obj:
        result = obj.clone()
    if copy is False and result is not obj:
        shared = (
            is_array(obj) and obj.size and obj.__array_interface__["data"][0] == result.data_ptr()
        )
        if not shared:
            kind = type(obj).__name__
            raise ValueError(f"asarray: {kind} of this dtype needs a copy, got copy=False")
    if requires_grad is None:
        return result
    return (
        result.requires_grad_(requires_grad) if result.is_leaf or requires_grad else result.detach()
    )


def frombuffer(
    buffer: Any,
    *,
    dtype: dtype,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """Return a 1-d tensor over the memory of an object with the buffer protocol, from byte `offset` on.

    Memory: shared. Raises: ValueError for a buffer of another size than whole elements.

    >>> import engine
    >>> engine.frombuffer(bytearray(b"\\x01\\x00\\x02\\x00"), dtype=engine.int16)
    tensor([1, 2], dtype=engine.int16)
    """
    import numpy as np

    kind = as_dtype(dtype, "frombuffer")
    try:
        memoryview(buffer)
    except TypeError:
        raise ValueError(
            f"frombuffer: object does not implement Python buffer protocol: {type_word(buffer)}"
        ) from None
    bytes_ = np.frombuffer(buffer, np.uint8, offset=offset)
    if count > 0:
        if count * kind.itemsize > bytes_.size:
            raise ValueError(
                f"frombuffer: requested {count} elements of {kind.itemsize} bytes after offset "
                f"{offset}, the buffer has {bytes_.size} bytes there"
            )
        bytes_ = bytes_[: count * kind.itemsize]
    elif bytes_.size == 0 or bytes_.size % kind.itemsize:
        raise ValueError(
            f"frombuffer: {bytes_.size} bytes after offset {offset} are not a multiple of the "
            f"{kind.itemsize} bytes of an element"
        )
    result = ops.view_dtype(from_numpy(bytes_), kind)
    return result.requires_grad_(requires_grad) if requires_grad else result


# ---- from sizes


def size_arguments(args: tuple[Any, ...], size: Any, function: str) -> tuple[Any, ...]:
    """Return the sizes of a factory that takes them one by one, as a tuple, or as the keyword `size`."""
    if size is None:
        if not args:
            raise TypeError(f"{function}: missing the argument 'size': ints, or a tuple of ints")
        return args
    if args:
        raise TypeError(f"{function}() got multiple values for argument 'size'")
    if isinstance(size, int):
        raise TypeError(f"{function}(): argument 'size' must be tuple of ints, not int")
    return (size,)


def result_dtype(out: Tensor | None, kind: dtype | None, function: str) -> dtype | None:
    """Return the dtype to compute in: `out`'s dtype if there is an `out`, and `kind` must then equal it."""
    if out is None:
        return kind
    if not isinstance(out, Tensor):
        raise TypeError(f"{function}: out must be a Tensor, got {type(out).__name__}")
    if kind is not None and as_dtype(kind, function) is not out.dtype:
        title = as_dtype(kind, function).title
        raise RuntimeError(
            f"{function}: dtype {title} does not match dtype of out parameter ({out.dtype.title})"
        )
    root = out if out._base is None else out._base
    if out.requires_grad and root.is_leaf and lib.uh_grad_enabled():
        raise RuntimeError(
            f"{function}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    return out.dtype


def warn_of_resize(before: Sequence[int], after: Sequence[int]) -> None:
    """Warn, as PyTorch does, that a non-empty `out` was resized: that is probably a mistake."""
    warnings.warn(
        f"An output with one or more elements was resized since it had shape {list(before)}, which "
        f"does not match the required output shape {list(after)}. Reuse it only at its own size, or "
        "call out.resize_(0) before.",
        UserWarning,
        stacklevel=4,
    )


def finish(
    result: Tensor,
    out: Tensor | None,
    requires_grad: bool,
    *,
    keep_shape: bool = False,
    value: int | None = None,
) -> Tensor:
    """Copy the result of a factory into `out`, if there is one, and set `requires_grad`.

    With `keep_shape`, an `out` with the same number of elements keeps its shape. If all elements
    are one `value`, elements of `out` may share memory.
    """
    if out is not None:
        if not isinstance(out, Tensor):
            raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
        if keep_shape and out.numel() == result.numel():
            result = result.reshape(out.shape)
        if out.shape != result.shape and out.numel():
            warn_of_resize(out.shape, result.shape)
        if value is not None and not out.requires_grad and out.shape == result.shape:
            ops.fill__Scalar(out, value)
        else:
            ops.alias_copy_out(result, out=out)
        # The history of a view that was written under no_grad cannot be read: is_leaf would raise.
        recorded = out._base is not None and out._base.requires_grad
        if (requires_grad or not recorded) and out.is_leaf:
            return out.requires_grad_(requires_grad)
        return out
    return result.requires_grad_(requires_grad) if requires_grad else result


def is_sparse_layout(layout: Any) -> bool:
    """Return True for a layout whose tensors consist of others. Raises: TypeError for no layout."""
    if layout is None or layout is strided:
        return False
    if not isinstance(layout, type(strided)):
        raise TypeError(
            f"argument 'layout' must be {namespace()}.layout, not {type(layout).__name__}"
        )
    return True


def _without_values(sizes: Any, layout: Any, kind: dtype | None, function: str) -> Tensor:
    """Return a sparse tensor of zeros."""
    from engine.sparse.construct import refused, sparse_coo_tensor

    size = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else tuple(sizes)
    if layout.name not in ("sparse_coo", "sparse_csr"):
        raise refused(f"{function} with layout {layout}")
    coo = sparse_coo_tensor(size, dtype=kind)
    return coo if layout.name == "sparse_coo" else coo.to_sparse_csr()


def _with_options(name: str, value: int | None) -> Callable[..., Tensor]:
    """Return the factory of this name for calls with options, or with sizes that C does not take."""

    def factory(
        *args: Any,
        size: Any = None,
        out: Tensor | None = None,
        dtype: dtype | None = None,
        layout: Any = None,
        device: Device = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **more: Any,
    ) -> Tensor:
        sizes = size_arguments(args, size, name)
        if is_sparse_layout(layout):
            if value:
                raise RuntimeError("full(...) is not implemented for sparse layout")
            return finish(_without_values(sizes, layout, dtype, name), out, requires_grad)
        dtype = result_dtype(out, dtype, name)
        result = getattr(ops, name)(*sizes, dtype=dtype, device=device, **more)
        if out is None and not requires_grad:
            return result
        return finish(result, out, requires_grad, value=value)

    factory.__name__ = factory.__qualname__ = name
    return factory


_empty_with_options = _with_options("empty", None)
_zeros_with_options = _with_options("zeros", 0)
_ones_with_options = _with_options("ones", 1)

# empty(2, 3), zeros(2, 3) and ones(2, 3), the usual calls, go straight to the C function. Options are taken
# together because every keyword-only parameter with a default costs a call a dictionary look-up.


def empty(*size: Any, **options: Any) -> Tensor:
    """Return an uninitialised tensor of the given size: its elements are arbitrary.

    Options as for `ones`, and memory_format.

    >>> import engine
    >>> engine.empty(2, 3).shape
    engine.Size([2, 3])
    """
    if size and not options and default_device is None:
        try:
            sizes = size if len(size) != 1 or size[0].__class__ is int else size[0]
            result = _empty(sizes, None, None, None)
        except (TypeError, OverflowError, AttributeError):
            return _empty_with_options(*size)
        if result is None:
            raise_last()
        return result
    return _empty_with_options(*size, **options)


def zeros(*size: Any, **options: Any) -> Tensor:
    """Return a tensor of the given size filled with 0.

    Options as for `ones`.

    >>> import engine
    >>> engine.zeros(2, dtype=engine.int64)
    tensor([0, 0])
    """
    if size and not options and default_device is None:
        try:
            sizes = size if len(size) != 1 or size[0].__class__ is int else size[0]
            result = _zeros(sizes, None, None)
        except (TypeError, OverflowError, AttributeError):
            return _zeros_with_options(*size)
        if result is None:
            raise_last()
        return result
    return _zeros_with_options(*size, **options)


def ones(*size: Any, **options: Any) -> Tensor:
    """Return a tensor of the given size filled with 1.

    Options: out, dtype, layout, device, requires_grad, pin_memory.

    >>> import engine
    >>> engine.ones(2)
    tensor([1., 1.])
    """
    if size and not options and default_device is None:
        try:
            sizes = size if len(size) != 1 or size[0].__class__ is int else size[0]
            result = _ones(sizes, None, None)
        except (TypeError, OverflowError, AttributeError):
            return _ones_with_options(*size)
        if result is None:
            raise_last()
        return result
    return _ones_with_options(*size, **options)


def full(
    size: Sequence[int],
    fill_value: Number | Tensor,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a tensor of the given size filled with `fill_value`; its dtype follows from the value by default.

    >>> import engine
    >>> engine.full((2,), 7)
    tensor([7, 7])
    """
    number = python_number(fill_value)
    dtype = result_dtype(out, dtype, "full")
    result = ops.full(size, number, dtype=dtype, device=device)
    return finish(result, out, requires_grad)


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return an uninitialised tensor with the given strides, in elements.

    >>> import engine
    >>> engine.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    result = ops.empty_strided(size, stride, dtype=dtype, device=device)
    return finish(result, None, requires_grad)


def scalar_tensor(
    s: Number,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a 0-d tensor holding `s`, of the default float dtype unless one is given."""
    result = ops.scalar_tensor(s, dtype=dtype, device=device)
    return finish(result, None, requires_grad)


def like_factory(name: str, doc: str) -> Any:
    """Return one of the `*_like` factories over its operator, with PyTorch's keyword arguments."""

    def like(
        input: Tensor,
        *values: Any,
        dtype: dtype | None = None,
        layout: Any = None,
        device: Device = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        function = getattr(ops, name)
        result = function(input, *values, dtype=dtype, device=device, memory_format=memory_format)
        return result.requires_grad_(requires_grad) if requires_grad else result

    like.__name__ = like.__qualname__ = name
    like.__doc__ = f"{doc} the sizes, dtype, device and memory order of `input`, unless the options say otherwise."
    return like


empty_like = like_factory("empty_like", "An uninitialised tensor with")
zeros_like = like_factory("zeros_like", "Zeros with")
ones_like = like_factory("ones_like", "Ones with")


def full_like(input: Tensor, fill_value: Number | Tensor, **options: Any) -> Tensor:
    """Return a tensor like `input` filled with `fill_value`; options as for `zeros_like`."""
    number = python_number(fill_value)
    result: Tensor = _full_like(input, number, **options)
    return result


_full_like = like_factory("full_like", "A filled tensor with")


# ---- from ranges


def arange(
    start: Number,
    end: Number | None = None,
    step: Number = 1,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return the numbers from `start` up to but without `end`, `step` apart; `arange(n)` starts at 0.

    out[i] = start + i * step, for i < ceil((end - start) / step).
    Dtype: int64 when all three are ints, else the default float.
    Raises: RuntimeError when `step` is 0 or leads away from `end`.

    >>> import engine
    >>> engine.arange(0, 1, 0.25)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if end is None:
        start, end = 0, start
    dtype = result_dtype(out, dtype, "arange")
    result = ops.arange(start, end, step, dtype=dtype, device=device)
    if out is None and not requires_grad:
        return result
    return finish(result, out, requires_grad, keep_shape=True)


def linspace(
    start: Number,
    end: Number,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `steps` numbers evenly spaced from `start` to `end`, both included.

    >>> import engine
    >>> engine.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    start, end = limits("linspace", start, end)
    dtype = result_dtype(out, dtype, "linspace")
    result = ops.linspace(start, end, steps, dtype=dtype, device=device)
    return finish(result, out, requires_grad, keep_shape=True)


def limits(function: str, start: Any, end: Any) -> tuple[Any, Any]:
    """Return the limits of an interval, tensors without dimensions as numbers, whose gradients end here.

    Raises: RuntimeError for a tensor with dimensions.
    """
    for name, limit in (("start", start), ("end", end)):
        if isinstance(limit, Tensor) and limit.dim() > 0:
            raise RuntimeError(
                f"{function}: only 0-dimensional tensors can be limits, "
                f"but {name} has {limit.dim()} dimensions"
            )
    start, end = (x.item() if isinstance(x, Tensor) else x for x in (start, end))
    return start, end


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return an n x m matrix (m defaults to n) with ones on the diagonal and zeros elsewhere.

    >>> import engine
    >>> engine.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    dtype = result_dtype(out, dtype, "eye")
    result = ops.eye(n, m, dtype=dtype, device=device)
    return finish(result, out, requires_grad)
