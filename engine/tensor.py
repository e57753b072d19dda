"""Tensor: the Python object. Its native base holds the address of the TensorImpl (_TensorBase).

The object owns one reference on the TensorImpl and gives it back when it dies. Everything else lives in
the core: this class asks. Operators (x.add, x.t, x + y, ...) are installed from the generated
tables by engine/__init__.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine._native.tensor_base import _TensorBase
from engine.dtypes import (
    DEVICES,
    DTYPES,
    Size,
    bool_,
    check_format,
    device,
    dtype,
    layout,
    memory_format,
    strided,
)
from engine.storage import UntypedStorage

if TYPE_CHECKING:  # the operators' methods, which engine/__init__.py installs
    import numpy as np

    from engine._generated.methods import TensorMethods
    from engine.autograd.tensor_methods import Differentiable

    class _Base(_TensorBase, TensorMethods, Differentiable): ...

else:
    _Base = _TensorBase

_item_double = lib.uh_item_double
_new_tuple = tuple.__new__


class Tensor(_Base):
    """An n-dimensional array of one element type, over a Storage that others may share.

    Make one with `engine.tensor(data)`, `engine.zeros(sizes)` and their like. `Tensor(2, 3)` (sizes)
    and `Tensor([1, 2])` (data) give the default float dtype.
    """

    __slots__ = ()

    def __new__(cls, *args: Any) -> Tensor:
        from engine.creation import empty, tensor
        from engine.dtypes import get_default_dtype

        if not args:
            return empty(0)
        if all(isinstance(arg, int) for arg in args) or isinstance(args[0], Size):
            return empty(*args)
        if len(args) > 1:
            raise TypeError(
                f"Tensor: expected sizes or one nested sequence, got {len(args)} values"
            )
        return tensor(args[0], dtype=get_default_dtype())

    # ---- description

    @property
    def shape(self) -> Size:
        """The sizes."""
        handle = self._h
        ndim = lib.uh_ndim(handle)
        if ndim == 1:
            return _new_tuple(Size, (lib.uh_size(handle, 0),))
        if ndim == 2:
            return _new_tuple(Size, (lib.uh_size(handle, 0), lib.uh_size(handle, 1)))
        sizes = ffi.new("int64_t[]", ndim or 1)
        lib.uh_sizes(handle, sizes, ndim)
        return _new_tuple(Size, ffi.unpack(sizes, ndim) if ndim else ())

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or that of one dimension. Raises: IndexError for a dimension that is not there."""
        return self.shape if dim is None else self.shape[self._dimension(dim, "size")]

    def stride(self, dim: int | None = None) -> Any:
        """How many elements to go on when an index grows by one: for all dimensions, or for one."""
        ndim = lib.uh_ndim(self._h)
        if ndim == 0:
            return () if dim is None else self._dimension(dim, "stride")
        strides = ffi.new("int64_t[]", ndim)
        lib.uh_strides(self._h, strides, ndim)
        return tuple(strides) if dim is None else strides[self._dimension(dim, "stride")]

    def _dimension(self, dim: int, function: str) -> int:
        ndim = lib.uh_ndim(self._h)
        try:
            inside = -ndim <= dim < ndim
        except TypeError:
            raise TypeError(
                f"{function}(): argument 'dim' must be int, not {type(dim).__name__}"
            ) from None
        if not inside:
            expected = f"[{-ndim}, {ndim - 1}]" if ndim else "nothing: the tensor has 0 dimensions"
            raise IndexError(
                f"{function}: dimension out of range (expected to be in range of {expected}, "
                f"but got {dim})"
            )
        return dim % ndim

    def storage_offset(self) -> int:
        """The distance of the first element from the start of the Storage, in elements."""
        return int(lib.uh_offset(self._h))

    @property
    def dtype(self) -> dtype:
        """The element type."""
        return DTYPES[lib.uh_dtype(self._h)]

    @property
    def device(self) -> device:
        """Where the elements are."""
        return DEVICES[lib.uh_device(self._h)]

    @property
    def layout(self) -> layout:
        """`engine.strided`: elements lie where sizes, strides and offset say."""
        return strided

    @property
    def is_meta(self) -> bool:
        """Whether there are no elements, only their description."""
        return lib.uh_device(self._h) == 1

    @property
    def is_cpu(self) -> bool:
        """Whether the elements are in main memory."""
        return lib.uh_device(self._h) == 0

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(lib.uh_ndim(self._h))

    def dim(self) -> int:
        """The number of dimensions."""
        return int(lib.uh_ndim(self._h))

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return int(lib.uh_numel(self._h))

    nelement = numel

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements; the Storage may have more, or fewer after `expand`."""
        return self.numel() * self.itemsize

    def is_contiguous(self, *, memory_format: memory_format | None = None) -> bool:
        """Whether the elements lie in row-major order without gaps, or in another format's order."""
        check_format("is_contiguous", memory_format)
        if memory_format is not None and memory_format.name.startswith("channels_last"):
            from engine.casts import is_channels_last

            return is_channels_last(self, 5 if memory_format.name.endswith("3d") else 4)
        return bool(lib.uh_is_contiguous(self._h))

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating one."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is a complex one."""
        return self.dtype.is_complex

    def is_conj(self) -> bool:
        """Whether the elements still have to be conjugated: never, `conj` does it at once."""
        return False

    def is_neg(self) -> bool:
        """Whether the elements still have to be negated: never, operators do it at once."""
        return False

    def is_signed(self) -> bool:
        """Whether the dtype can hold negative numbers."""
        return self.dtype.is_signed

    def is_same_size(self, other: Tensor) -> bool:
        """Whether both have the same shape."""
        _expect_tensor("is_same_size", "other", other)
        return self.shape == other.shape

    def data_ptr(self) -> int:
        """The address of the first element; 0 when there is none."""
        return int(lib.uh_data_ptr(self._h))

    def untyped_storage(self) -> UntypedStorage:
        """The bytes behind the tensor, which its views share."""
        return UntypedStorage(self)

    def is_set_to(self, tensor: Tensor) -> bool:
        """Whether both describe the same elements of one Storage in the same way."""
        _expect_tensor("is_set_to", "tensor", tensor)
        return bool(
            lib.uh_storage_id(self._h) == lib.uh_storage_id(tensor._h)
            and self.storage_offset() == tensor.storage_offset()
            and self.shape == tensor.shape
            and self.stride() == tensor.stride()
        )

    @property
    def _version(self) -> int:
        """How often the memory was written in place, through this tensor or its views."""
        if lib.uh_is_inference(self._h):
            raise RuntimeError("Inference tensors do not track version counter.")
        return int(lib.uh_version(self._h))

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, or None."""
        handle = lib.uh_base(self._h)
        return wrap(handle) if handle else None

    def _is_view(self) -> bool:
        """Whether this tensor is a view of another."""
        handle = lib.uh_base(self._h)
        if handle:
            lib.uh_release(handle)
        return bool(handle)

    @property
    def data(self) -> Tensor:
        """The same elements with a version counter of its own: writes to it are not counted here."""
        handle = lib.uh_variable_data(self._h)
        if not handle:
            raise_last()
        return wrap(handle)

    @data.setter
    def data(self, source: Tensor) -> None:
        if not isinstance(source, Tensor):
            raise TypeError(f"data: expected a Tensor, got {type(source).__name__}")
        if lib.uh_set_data(self._h, source._h) != 0:
            raise_last()

    # ---- as Python values

    def item(self) -> Any:
        """The value of the only element. Raises: RuntimeError when there is not exactly one."""
        number = _item_double(self._h)
        if number == number:  # not NaN: the everyday answer, without an object for the C struct
            return number
        found = lib.uh_item(self._h)
        kind = found.kind
        if kind == 2:
            return found.d
        if kind == 1:
            return found.i
        if kind == 0:
            return bool(found.i)
        if kind == 3:
            from engine.convert import complex_value

            return complex_value(found.d, found.i)
        raise_last()

    def tolist(self) -> Any:
        """The elements as nested lists; a bare number for 0 dimensions."""
        handle = self._h
        status = 1
        while status == 1:  # another thread has given the tensor other sizes since they were read
            kind, shape = self.dtype, self.shape
            count = math.prod(shape) * (1 + kind.is_complex)
            if kind.is_floating_point or kind.is_complex:
                values = ffi.new("double[]", count or 1)
                status = lib.uh_read_doubles(handle, values, count)
            else:
                values = ffi.new("int64_t[]", count or 1)
                status = lib.uh_read_ints(handle, values, count)
        if status != 0:
            raise_last()
        flat = ffi.unpack(values, count) if count else []
        if kind.is_complex:
            flat = list(map(complex, flat[::2], flat[1::2]))
        if kind is bool_:
            flat = [value != 0 for value in flat]
        from engine.tensor_new import nest

        return nest(flat, shape) if shape else flat[0]

    def __bool__(self) -> bool:
        count = lib.uh_numel(self._h)
        if count != 1:
            how_many = f"more than one value ({count})" if count else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {how_many} is ambiguous")
        return bool(self.item())

    def _single(self, function: str) -> Any:
        count = lib.uh_numel(self._h)
        if count != 1:
            raise ValueError(
                f"{function}: only one element tensors can be converted to Python scalars, "
                f"this one has {count}"
            )
        return self.item()

    def __int__(self) -> int:
        return int(_real(self._single("int"), "int"))

    def __float__(self) -> float:
        return float(_real(self._single("float"), "float"))

    def __complex__(self) -> complex:
        return complex(self._single("complex"))

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.dtype.is_complex or lib.uh_numel(self._h) != 1:
            raise TypeError(
                "only integer tensors of a single element can be converted to an index, "
                f"got {self.dtype} of shape {tuple(self.shape)}"
            )
        return int(self.item())

    def __len__(self) -> int:
        if lib.uh_ndim(self._h) == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(lib.uh_size(self._h, 0))

    def __iter__(self) -> Iterator[Tensor]:
        if lib.uh_ndim(self._h) == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        """The rows in reverse order, as a copy."""
        if self.dim() == 0:
            return self
        from engine.creation import arange

        last = len(self) - 1
        found: Tensor = self[arange(last, -1, -1)]
        return found

    def __contains__(self, element: object) -> bool:
        if not isinstance(element, (Tensor, bool, int, float, complex)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, "
                f"but you passed in a {type(element)}."
            )
        return bool((self == element).any())

    __hash__ = object.__hash__  # by identity, since == compares elements

    def __repr__(self) -> str:
        from engine.display import tensor_text

        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        if lib.uh_ndim(self._h) == 0 and not self.is_meta:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    # ---- shared with and copied to others

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array.

        Memory: shared; the array keeps the Storage alive, whatever becomes of the tensor.
        Raises: TypeError for meta tensors and bfloat16.
        """
        from engine.numpy_bridge import to_numpy

        if not self.requires_grad:
            return to_numpy(self)
        if not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        return to_numpy(self.detach())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        from engine.numpy_bridge import to_array

        return to_array(self, dtype, copy)

    def __buffer__(self, flags: int) -> memoryview:
        """The buffer protocol (Python 3.12 and later): memoryview(x). Before: memoryview(x.numpy())."""
        return memoryview(self.numpy())  # type: ignore[arg-type]

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over the memory, for `other_library.from_dlpack(x)`."""
        from engine.dlpack import to_capsule

        return to_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """(1, 0): DLPack's name of main memory."""
        if self.is_meta:
            raise BufferError("__dlpack_device__: a meta tensor has no memory to share")
        return (1, 0)

    def __copy__(self) -> Tensor:
        made = self.detach()
        return made.requires_grad_() if self.requires_grad and self.is_leaf else made

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        from engine.storage import deep_copy

        return deep_copy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle dtype, layout and the bytes of the whole Storage, which tensors of one pickle share."""
        from engine.storage import pickled_storage, rebuild

        layout = (tuple(self.shape), self.stride(), self.storage_offset())
        storage = None if self.is_meta else pickled_storage(self)
        return rebuild, (self.dtype, *layout, storage, self.requires_grad)

    # ---- another dtype, another place

    def to(self, *args: Any, **options: Any) -> Tensor:
        """The tensor with another dtype, on another device, or both: itself when nothing changes.

        `x.to(dtype)`, `x.to(device)`, `x.to(device, dtype)`, `x.to(other)`; `copy=True` always copies.
        """
        from engine.casts import parse_to

        kind, place, copy, format_ = parse_to(args, options)
        same = (kind is None or kind is self.dtype) and (place is None or place == self.device)
        if same and not copy and (format_ is None or self.is_contiguous(memory_format=format_)):
            return self
        return self._copied(kind, place, format_)

    def _copied(self, kind: Any, place: Any, format_: memory_format | None = None) -> Tensor:
        from engine._generated.ops import _to_copy

        if self.dtype.is_complex:
            from engine.casts import warn_of_lost_parts

            warn_of_lost_parts(kind, self.dtype)
        return _to_copy(self, dtype=kind, device=place, memory_format=format_)

    if TYPE_CHECKING:

        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...


Tensor.__module__ = "engine"


def _expect_tensor(function: str, argument: str, value: object) -> None:
    from engine.arguments import check_tensor

    check_tensor(function, argument, value)


def _real(number: Any, function: str) -> Any:
    """The number without an imaginary part of 0. Raises: RuntimeError when there is another."""
    if not isinstance(number, complex):
        return number
    if number.imag != 0:
        kind = {"float": "double", "int": "int64_t"}[function]
        raise RuntimeError(
            f"{function}: value cannot be converted to type {kind} without overflow: "
            f"{number} has an imaginary part"
        )
    return number.real


# The Python object of a handle, which it owns from here on: the one there is already, or a new one.
Tensor._set_class(Tensor)
wrap: Callable[[int], Tensor] = Tensor._wrap
