"""Type aliases for annotations: devices, numbers and sizes."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from engine.dtypes import Size, device, dtype
from engine.storage import UntypedStorage
from engine.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex

Number: TypeAlias = builtins.int | builtins.float | builtins.bool
Device: TypeAlias = device | str | builtins.int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage = UntypedStorage
