"""Tensors in memory that processes share: anonymous files, mapped by each of them."""

from __future__ import annotations

import mmap
import os
import weakref

from engine._native import lib
from engine.numpy_bridge import from_numpy
from engine.tensor import Tensor

__all__ = ["is_shared", "mapping_of", "moved", "over", "share_memory_"]


class Mapping(mmap.mmap):
    """A mapping of an anonymous file, whose descriptor is sent to other processes; closed with the last tensor."""

    descriptor: int

    @classmethod
    def create(cls, size: int) -> Mapping:
        """Map a new file of zeros."""
        descriptor = os.memfd_create("underhood-tensor")
        os.ftruncate(descriptor, size)
        return cls.open(descriptor, size)

    @classmethod
    def open(cls, descriptor: int, size: int) -> Mapping:
        """Map a file and take ownership of its descriptor."""
        mapping = cls(descriptor, size)
        mapping.descriptor = descriptor
        weakref.finalize(mapping, os.close, descriptor)
        return mapping


_mappings: weakref.WeakValueDictionary[int, Mapping] = weakref.WeakValueDictionary()  # by address


def over(mapping: Mapping) -> Tensor:
    """Return the bytes of a mapping as a tensor, which keeps the mapping alive."""
    import numpy

    x: Tensor = from_numpy(numpy.frombuffer(mapping, numpy.uint8))
    _mappings[x.untyped_storage().data_ptr()] = mapping
    return x


def mapping_of(x: Tensor) -> Mapping | None:
    """Return the mapping of the tensor's memory, None if it is not shared."""
    return _mappings.get(x.untyped_storage().data_ptr()) if x.numel() else None


def is_shared(x: Tensor) -> bool:
    """Return whether other processes can see the tensor's memory."""
    return x.numel() == 0 or mapping_of(x) is not None


def moved(x: Tensor) -> Tensor:
    """Return a copy of the tensor, with its strides, in shared memory."""
    extent = x.storage_offset() + 1
    extent += sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    bytes_ = over(Mapping.create(max(extent * x.element_size(), 1)))
    shared = bytes_.view(x.dtype).as_strided(x.shape, x.stride(), x.storage_offset())
    return shared.copy_(x.detach())


def share_memory_(x: Tensor) -> Tensor:
    """Move the tensor to shared memory: processes that receive it see each other's writes. A GPU tensor is not
    moved.

    Raises: RuntimeError if views share the memory, as they would keep the old one: move it before they are created.
    """
    if not x.is_cpu or is_shared(x):
        return x
    holders = lib.uh_storage_use_count(x._h)
    if holders > 1:
        raise RuntimeError(
            f"share_memory_: the tensor's Storage has {holders} holders, such as views, which would keep the old "
            "memory; call it before creating them"
        )
    x.data = moved(x.detach())
    return x
