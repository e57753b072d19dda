"""UntypedStorage: the bytes of a tensor's Storage, without dtype and shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, overload
from weakref import WeakValueDictionary

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine._native.namespace import no_attribute
from engine.dtypes import as_device, device, device_from_code

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
        """Return the address of the first byte; 0 for an empty or meta storage."""
        return int(lib.uh_storage_data_ptr(self._tensor._h))

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return int(lib.uh_storage_nbytes(self._tensor._h))

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Return 1: the elements of an untyped storage are bytes."""
        return 1

    @property
    def device(self) -> device:
        """The device of the bytes."""
        return device_from_code(lib.uh_device(self._tensor._h))

    def cpu(self) -> UntypedStorage:
        """Return the bytes on the CPU: this storage, if they are."""
        return UntypedStorage(flat_bytes(self._tensor).cpu())

    def opencl(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Return the bytes on an OpenCL device: this storage, if they are."""
        return UntypedStorage(flat_bytes(self._tensor).opencl(device, non_blocking))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Return the bytes on the device that `opencl.alias_cuda()` named "cuda"."""
        return UntypedStorage(flat_bytes(self._tensor).cuda(device, non_blocking))

    def _bytes(self, offset: int = 0, count: int | None = None) -> bytes:
        """Copy some of the bytes, or all."""
        if self._tensor.is_meta:
            raise NotImplementedError("UntypedStorage: a meta storage has no bytes")
        if not self._tensor.is_cpu:
            return UntypedStorage(flat_bytes(self._tensor).cpu())._bytes(offset, count)
        n = self.nbytes() if count is None else count
        copy = ffi.new("char[]", n or 1)
        if lib.uh_storage_read(self._tensor._h, offset, copy, n) != 0:
            raise_last()
        return bytes(ffi.buffer(copy, n))

    def tolist(self) -> list[int]:
        """Return the bytes as ints."""
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
            raise NotImplementedError(
                f"UntypedStorage: a {self.device.type} storage has no bytes here"
            )
        if lib.uh_storage_write(self._tensor._h, position, bytes([value]), 1) != 0:
            raise_last()

    def _position(self, index: int) -> int:
        count = self.nbytes()
        if not -count <= index < count:
            raise IndexError(f"UntypedStorage: index {index} is out of range for {count} bytes")
        return index % count

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Resize the storage to `nbytes`; the bytes within both sizes keep their values.

        Tensors keep their shapes; one that extends beyond the end raises on access until the storage has
        grown again. Raises: RuntimeError for memory that another library owns, or that was exported to one
        (`numpy()`, DLPack).
        """
        if lib.uh_storage_resize(self._tensor._h, nbytes) != 0:
            raise_last()
        return self

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        """Create a storage of zeros that other processes can see: a worker's collate function fills it.

        Raises: RuntimeError for another device than the CPU.
        """
        from engine import shared_memory

        if as_device(device, "UntypedStorage").type != "cpu":
            raise RuntimeError(f"UntypedStorage: shared memory is on the CPU, got device {device}")
        return cls(shared_memory.over(shared_memory.Mapping.create(max(size, 1))))

    def _use_count(self) -> int:
        """Return the number of holders of the Storage: tensors, and exports to NumPy and DLPack."""
        return int(lib.uh_storage_use_count(self._tensor._h))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        handle, other_handle = self._tensor._h, other._tensor._h
        return bool(lib.uh_storage_id(handle) == lib.uh_storage_id(other_handle))

    def __hash__(self) -> int:
        return hash(lib.uh_storage_id(self._tensor._h))

    def __repr__(self) -> str:
        name = f"[engine.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        if self.device.type == "meta":
            return "...\n" + name
        return "".join(f" {byte}\n" for byte in self.tolist()) + name


UntypedStorage.__module__ = "engine"


def readable_address(tensor: Tensor) -> int:
    """Return the address of the first element. Raises: RuntimeError if the Storage became too small for it."""
    if lib.uh_check_within_storage(tensor._h) != 0:
        raise_last()
    return tensor.data_ptr()


def flat_bytes(tensor: Any) -> Any:
    """Return the whole Storage of a tensor as a flat uint8 tensor over it."""
    from engine.dtypes import uint8

    count = lib.uh_storage_nbytes(tensor._h) // tensor.itemsize
    return tensor.detach().as_strided((count,), (1,), 0).view(uint8)


def on_host(tensor: Any, copies: dict[int, Any]) -> Any:
    """Return a tensor with the same layout on the CPU; a CPU tensor is returned itself.

    copies: the copied Storages by id. Tensors that share a Storage share its copy.
    """
    if tensor.is_cpu:
        return tensor
    key = int(lib.uh_storage_id(tensor._h))
    if key not in copies:
        copies[key] = flat_bytes(tensor).cpu()
    layout = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    return rebuild(tensor.dtype, *layout, copies[key], False)


def deep_copy(tensor: Any, memo: dict[Any, Any]) -> Any:
    """Copy a tensor for `copy.deepcopy`; the copies of tensors that share a Storage share a new one."""
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
        copy = _copied(tensor, memo)
    finally:
        lib.uh_set_grad_enabled(recording)
    if tensor.requires_grad:
        copy.requires_grad_()
    if tensor.grad is not None:
        copy.grad = deep_copy(tensor.grad, memo)
    memo[id(tensor)] = copy
    if tensor.__dict__:
        from copy import deepcopy

        copy.__dict__.update(deepcopy(tensor.__dict__, memo))
    return copy


def _copied(tensor: Any, memo: dict[Any, Any]) -> Any:
    """Copy the elements; the copies of tensors that share a Storage share a new one."""
    if tensor.is_meta or lib.uh_layout_kind(tensor._h):
        copy = tensor.clone()
    else:
        key = ("engine.Storage", lib.uh_storage_id(tensor._h), tensor.dtype)
        if key not in memo:
            count = lib.uh_storage_nbytes(tensor._h) // tensor.itemsize
            memo[key] = tensor.as_strided((count,), (1,), 0).clone()
        copy = memo[key].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return copy.detach()


# ---- pickles


class PickledStorage:
    """The bytes of a Storage in a pickle: one object for all tensors over it, so that pickle writes it
    once. It is unpickled as a flat uint8 tensor."""

    __slots__ = ("__weakref__", "_storage")

    def __init__(self, storage: UntypedStorage) -> None:
        self._storage = storage

    def __reduce__(self) -> tuple[Any, ...]:
        device = self._storage.device
        return _unpickled, (bytes(self._storage), *([] if device.type == "cpu" else [str(device)]))


_pickled: WeakValueDictionary[int, PickledStorage] = WeakValueDictionary()


def pickled_storage(tensor: Any) -> PickledStorage:
    """Return the object that represents the tensor's Storage in every pickle that is being written."""
    key = int(lib.uh_storage_id(tensor._h))  # ids are never reused
    pickled = _pickled.get(key)
    if pickled is None:
        pickled = _pickled[key] = PickledStorage(UntypedStorage(tensor.detach()))
    return pickled


def _unpickled(content: bytes, device: str = "cpu") -> Any:
    from engine.dtypes import uint8
    from engine.tensor_new import from_bytes

    return from_bytes(content, uint8, (len(content),)).to(device)


def rebuild_with_attributes(
    function: Callable[..., Any], arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    """Rebuild a tensor that has attributes."""
    tensor = function(*arguments)
    tensor.__dict__.update(attributes)
    return tensor


def rebuild(
    kind: Any, sizes: Any, strides: Any, offset: int, storage: Any, requires_grad: bool
) -> Any:
    """Rebuild the tensor of a `Tensor.__reduce_ex__`; `storage`: a flat uint8 tensor, None for a meta tensor.

    Raises: RuntimeError for a layout that extends beyond the storage.
    """
    if storage is None:
        from engine.creation import empty_strided

        tensor = empty_strided(sizes, strides, dtype=kind, device="meta")
    else:
        nbytes = storage.numel() // kind.itemsize * kind.itemsize
        tensor = storage[:nbytes].view(kind).as_strided(sizes, strides, offset).detach()
    return tensor.requires_grad_() if requires_grad else tensor


def __getattr__(name: str) -> Any:
    if name != "TypedStorage":
        raise no_attribute("storage", name)
    from engine.typed_storage import TypedStorage

    return TypedStorage
