"""Typed storages, PyTorch's older view of a Storage: its elements instead of its bytes.

`x.storage()` is a TypedStorage; `FloatStorage(5)` and its like make one, and are the classes to test it against.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import engine
from engine.absent_names import getattr_of
from engine.dtypes import dtype as Dtype
from engine.storage import UntypedStorage, flat_bytes
from engine.tensor import Tensor

_DTYPES = {
    "BFloat16": "bfloat16",
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "ComplexDouble": "complex128",
    "ComplexFloat": "complex64",
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "Int": "int32",
    "Long": "int64",
    "Short": "int16",
}


class TypedStorage:
    """The elements of a Storage, all of one dtype, as a sequence.

    `TypedStorage(5)` has uninitialized elements, `TypedStorage([1, 2])` these; `wrap_storage` is an UntypedStorage to
    share.

    >>> TypedStorage([1, 2], dtype=engine.int16).untyped().tolist()
    [1, 0, 2, 0]
    """

    _elements: Tensor

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Dtype | None = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        kind = dtype or engine.get_default_dtype()
        if wrap_storage is not None:
            self._elements = _elements_of(wrap_storage._tensor, kind)
        elif len(args) > 1:
            raise TypeError(
                f"TypedStorage: expected a size or a sequence of elements, got {len(args)} values"
            )
        elif args and not isinstance(args[0], int):
            self._elements = engine.tensor(list(args[0]), dtype=kind, device=device)
        else:
            self._elements = engine.empty(args[0] if args else 0, dtype=kind, device=device)

    @property
    def dtype(self) -> Dtype:
        """The dtype of the elements."""
        return self._elements.dtype

    @property
    def device(self) -> Any:
        """The device of the elements."""
        return self._elements.device

    @property
    def is_cuda(self) -> bool:
        """True if the elements are on the device that is also called "cuda"."""
        return self._elements.is_cuda

    def untyped(self) -> UntypedStorage:
        """Return the Storage's bytes."""
        return self._elements.untyped_storage()

    _untyped_storage = property(untyped)

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.element_size()

    __len__ = size

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self.untyped().nbytes()

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self.untyped().data_ptr()

    def is_shared(self) -> bool:
        """Return True if the memory is shared by `share_memory_`."""
        return self._elements.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the elements to shared memory."""
        self._elements.share_memory_()
        return self

    def _flat(self) -> Tensor:
        return _elements_of(self._elements, self.dtype)

    def _position(self, index: Any) -> int:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        count = self.size()
        if not -count <= index < count:
            raise IndexError(f"index {index} out of range for storage of size {count}")
        return index % count

    def __getitem__(self, index: int) -> Any:
        position = self._position(index)
        return self._flat()[position].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            index = self._position(index)
        self._flat()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as numbers."""
        elements: list[Any] = self._flat().tolist()
        return elements

    def fill_(self, value: Any) -> TypedStorage:
        """Set all elements to `value`."""
        self._flat().fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """Copy the elements of another storage of the same size."""
        self._flat().copy_(source._flat(), non_blocking=non_blocking)
        return self

    def resize_(self, size: int) -> None:
        """Resize the Storage to `size` elements."""
        self.untyped().resize_(size * self.element_size())

    def clone(self) -> TypedStorage:
        """Return a copy."""
        return typed_storage(self._flat().clone())

    def cpu(self) -> TypedStorage:
        """Return a storage on the CPU: this one if it is on the CPU."""
        return self if self._elements.is_cpu else typed_storage(self._flat().cpu())

    def type(self, dtype: Any = None) -> Any:
        """Return the name of the type, or a storage converted to `dtype`, which may be such a name or class."""
        if dtype is None:
            return next(
                f"{engine.Tensor.__module__}.{name}Storage"
                for name, kind in _DTYPES.items()
                if self.dtype is getattr(engine, kind)
            )
        if isinstance(dtype, str):
            dtype = __getattr__(dtype.rpartition(".")[2])
        return self._to(dtype if isinstance(dtype, Dtype) else dtype.dtype)

    def _to(self, kind: Dtype) -> TypedStorage:
        return self if kind is self.dtype else typed_storage(self._flat().to(kind))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypedStorage):
            return NotImplemented
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        name = (
            f"[{engine.Tensor.__module__}.storage.TypedStorage(dtype={self.dtype}, device={self.device}) "
            f"of size {len(self)}]"
        )
        if self.device.type == "meta":
            return "...\n" + name
        return "".join(f" {element}\n" for element in self) + name


def _elements_of(tensor: Tensor, kind: Dtype) -> Tensor:
    elements: Tensor = flat_bytes(tensor).view(kind)
    return elements


def typed_storage(tensor: Tensor) -> TypedStorage:
    """Return the elements of a tensor's Storage; views share it."""
    return TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype)


class _KindOfStorage(type):
    """The class of FloatStorage and its like: instances are the TypedStorages of their dtype."""

    dtype: Dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, **options: Any) -> TypedStorage:
        return TypedStorage(*args, dtype=cls.dtype, **options)


_absent = getattr_of("typed_storage")


def __getattr__(name: str) -> Any:
    kind = name.removesuffix("Storage")
    if not name.endswith("Storage") or kind not in _DTYPES:
        return _absent(name)
    dtype = getattr(engine, _DTYPES[kind])
    text = f"Typed storages of {dtype}: `{name}(5)`, `{name}([1, 2])`, and the class to test them against."
    members = {"dtype": dtype, "__doc__": text, "__module__": engine.Tensor.__module__}
    value = globals()[name] = _KindOfStorage(name, (), members)
    return value


def _conversion(kind: str) -> Any:
    def convert(self: TypedStorage) -> TypedStorage:
        return self._to(getattr(engine, _DTYPES[kind]))

    convert.__name__ = {"ComplexDouble": "complex_double", "ComplexFloat": "complex_float"}.get(
        kind, kind.lower()
    )
    convert.__qualname__ = f"TypedStorage.{convert.__name__}"
    convert.__doc__ = f"Return a {kind}Storage of the elements: this storage if it is one."
    return convert


for _kind in _DTYPES:
    _method = _conversion(_kind)
    setattr(TypedStorage, _method.__name__, _method)
