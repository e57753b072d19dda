"""from_file: a tensor over the bytes of a file."""

from __future__ import annotations

import mmap
import os
from typing import Any

from engine.creation import empty, frombuffer
from engine.dtypes import get_default_dtype
from engine.tensor import Tensor

__all__ = ["from_file"]


def from_file(
    filename: str | os.PathLike[str],
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return the first `size` elements of a file as a tensor that maps it.

    Memory: the file's pages. With `shared` the file is created or extended as needed, and writes into the tensor
    change it; otherwise they stay in this process.
    Raises: RuntimeError for a file that is missing or too small, if it is not `shared`.
    """
    dtype = dtype or get_default_dtype()
    nbytes = size * dtype.itemsize
    if not nbytes:
        return empty(size, dtype=dtype, requires_grad=requires_grad)
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        descriptor = os.open(filename, flags, 0o600)
    except OSError as error:
        raise RuntimeError(
            f"from_file: unable to open file <{os.fspath(filename)}>: {error.strerror}"
        ) from None
    try:
        length = os.fstat(descriptor).st_size
        if length < nbytes:
            if not shared:
                raise RuntimeError(
                    f"from_file: {size} elements of {dtype} need {nbytes} bytes, and the file "
                    f"<{os.fspath(filename)}> has {length}; pass shared=True to extend it"
                )
            os.ftruncate(descriptor, nbytes)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        mapped = mmap.mmap(descriptor, nbytes, access=access)
    finally:
        os.close(descriptor)
    return frombuffer(mapped, dtype=dtype, count=size, requires_grad=requires_grad)
