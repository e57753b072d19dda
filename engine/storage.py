"""UntypedStorage: the bytes behind a tensor, without dtype and shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload
from weakref import WeakValueDictionary

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.dtypes import DEVICES, device

if TYPE_CHECKING:
    from engine.tensor import Tensor


class UntypedStorage:
    """The Storage of a tensor as a sequence of bytes; views share one.

    It is reached through a tensor and keeps that tensor alive, so it adds no holder to the Storage.

    >>> import engine
    >>> x = engine.tensor([1, 2], dtype=engine.int16)
    >>> x.untyped_storage().tolist()
    [1, 0, 2, 0]
    >>> x.t().untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    True
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def data_ptr(self) -> int:
        """The address of the first byte; 0 for an empty or meta storage."""
        return int(lib.uh_storage_data_ptr(self._tensor._h))

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(lib.uh_storage_nbytes(self._tensor._h))

    size = __len__ = nbytes

    def element_size(self) -> int:
        """1: the elements of an untyped storage are bytes."""
        return 1

    @property
    def device(self) -> device:
        """Where the bytes are."""
        return DEVICES[lib.uh_device(self._tensor._h)]

    def _bytes(self, offset: int = 0, count: int | None = None) -> bytes:
        """A copy of some of the bytes, or of all."""
        if lib.uh_device(self._tensor._h) != 0:
            raise NotImplementedError("UntypedStorage: a meta storage has no bytes")
        n = self.nbytes() if count is None else count
        copy = ffi.new("char[]", n or 1)
        if lib.uh_storage_read(self._tensor._h, offset, copy, n) != 0:
            raise_last()
        return bytes(ffi.buffer(copy, n))

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        return list(self._bytes())

    def __bytes__(self) -> bytes:
        return self._bytes()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return list(self._bytes()[index])
        return self._bytes(self._position(index), 1)[0]

    def __setitem__(self, index: int, value: int) -> None:
        if not 0 <= value <= 255:
            raise ValueError(f"UntypedStorage: a byte is between 0 and 255, got {value}")
        position = self._position(index)
        if lib.uh_device(self._tensor._h) != 0:
            raise NotImplementedError("UntypedStorage: a meta storage has no bytes")
        if lib.uh_storage_write(self._tensor._h, position, bytes([value]), 1) != 0:
            raise_last()

    def _position(self, index: int) -> int:
        count = self.nbytes()
        if not -count <= index < count:
            raise IndexError(f"UntypedStorage: index {index} is out of range for {count} bytes")
        return index % count

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Grows or shrinks to `nbytes`, keeping the bytes that both sizes have.

        Tensors keep their shapes; one that reaches beyond the end must not be used until the
        storage has grown again: reading it raises. Raises RuntimeError for memory that another library
        owns, or that was exported to one (`numpy()`, DLPack).
        """
        if lib.uh_storage_resize(self._tensor._h, nbytes) != 0:
            raise_last()
        return self

    def _use_count(self) -> int:
        """How many hold the Storage: tensors on it, and exports to NumPy and DLPack."""
        return int(lib.uh_storage_use_count(self._tensor._h))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        mine, theirs = self._tensor._h, other._tensor._h
        return bool(lib.uh_storage_id(mine) == lib.uh_storage_id(theirs))

    def __hash__(self) -> int:
        return hash(lib.uh_storage_id(self._tensor._h))

    def __repr__(self) -> str:
        name = f"[engine.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        if self.device.type == "meta":
            return "...\n" + name
        return "".join(f" {byte}\n" for byte in self.tolist()) + name


UntypedStorage.__module__ = "engine"


def readable_address(tensor: Tensor) -> int:
    """The address of the first element; RuntimeError where the Storage has lost some of the elements."""
    if lib.uh_check_within_storage(tensor._h) != 0:
        raise_last()
    return tensor.data_ptr()


def deep_copy(tensor: Any, memo: dict[Any, Any]) -> Any:
    """`copy.deepcopy` of a tensor: tensors over one Storage become tensors over one new Storage."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
            "at the moment."
        )
    recording = lib.uh_grad_enabled()
    lib.uh_set_grad_enabled(False)
    try:
        made = _copied(tensor, memo)
    finally:
        lib.uh_set_grad_enabled(recording)
    if tensor.requires_grad:
        made.requires_grad_()
    if tensor.grad is not None:
        made.grad = deep_copy(tensor.grad, memo)
    memo[id(tensor)] = made
    return made


def _copied(tensor: Any, memo: dict[Any, Any]) -> Any:
    """The elements, sharing a new Storage with other tensors of the same old one."""
    if tensor.is_meta:
        made = tensor.clone()
    else:
        key = ("engine.Storage", lib.uh_storage_id(tensor._h), tensor.dtype)
        if key not in memo:
            count = lib.uh_storage_nbytes(tensor._h) // tensor.itemsize
            memo[key] = tensor.as_strided((count,), (1,), 0).clone()
        made = memo[key].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return made.detach()


# ---- pickles


class PickledStorage:
    """The bytes of a Storage in a pickle: the tensors over it give the same one, which pickle writes
    once; unpickled it is a flat uint8 tensor."""

    __slots__ = ("__weakref__", "_storage")

    def __init__(self, storage: UntypedStorage) -> None:
        self._storage = storage

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (bytes(self._storage),)


_pickled: WeakValueDictionary[int, PickledStorage] = WeakValueDictionary()


def pickled_storage(tensor: Any) -> PickledStorage:
    """Return what stands for the tensor's Storage in every pickle that is being written."""
    key = int(lib.uh_storage_id(tensor._h))  # ids are never reused
    pickled = _pickled.get(key)
    if pickled is None:
        pickled = _pickled[key] = PickledStorage(UntypedStorage(tensor.detach()))
    return pickled


def _unpickled(content: bytes) -> Any:
    from engine.dtypes import uint8
    from engine.tensor_new import from_bytes

    return from_bytes(content, uint8, (len(content),))


def rebuild(
    kind: Any, sizes: Any, strides: Any, offset: int, storage: Any, requires_grad: bool
) -> Any:
    """The inverse of `Tensor.__reduce_ex__`; `storage`: a flat uint8 tensor, None for a meta tensor.

    Raises: RuntimeError for a layout that reaches beyond the storage.
    """
    if storage is None:
        from engine.creation import empty_strided

        tensor = empty_strided(sizes, strides, dtype=kind, device="meta")
    else:
        whole = storage.numel() // kind.itemsize * kind.itemsize
        tensor = storage[:whole].view(kind).as_strided(sizes, strides, offset).detach()
    return tensor.requires_grad_() if requires_grad else tensor
