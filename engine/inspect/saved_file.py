"""The contents of a file of tensors, listed without loading it: `.pt` files, with and without a zip, and safetensors.

Nothing is executed and no tensor is read: a pickle's calls become data (`engine.formats.outline`), and every size is
the file's claim. Impossible claims are reported with the tensor.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from engine.formats import legacy_file
from engine.formats.outline import GlobalName, Outline, StorageId
from engine.formats.restricted_pickle import Opaque, PickleError, describe, load_pickle
from engine.formats.zip_records import MAGIC, RecordError, Records

__all__ = ["SavedFile", "SavedFileError", "SavedTensor", "is_saved_file", "read_saved_file"]

_MAX_PICKLE = 1 << 28  # bytes
_MAX_HEADER = 100 << 20  # bytes of a safetensors header
_MAX_VALUES = 1_000_000  # of a pickle that are looked at
_SIZES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
}
_STORAGES = {
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Float": "float32",
    "Double": "float64",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}
_SAFETENSORS = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}


_PLAIN_MODULES = ("torch._utils", "torch._tensor", "collections", "torch.storage", "_codecs")
_PLAIN = {
    *("torch.Size", "torch.device", "torch.Tensor", "torch.nn.parameter.Parameter"),
    *(f"{home}.{name}" for home in ("builtins", "__builtin__") for name in ("set", "complex")),
}


class SavedFileError(Exception):
    """A file that is damaged, or that contains no tensors in a known format."""


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """One tensor of the file, as the file describes it."""

    name: str
    kind: str  # Tensor, Parameter, Buffer
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    storage: str  # its key in the file
    offset: int  # in elements of the storage
    requires_grad: bool
    nbytes: int  # of its elements
    problem: str = ""  # why it cannot be loaded


@dataclass(frozen=True, slots=True)
class SavedFile:
    """The contents of a file."""

    path: str
    format: str
    file_bytes: int
    tensors: tuple[SavedTensor, ...]
    storages: dict[str, int]  # bytes by key
    values: tuple[tuple[str, str], ...]  # names and descriptions of other values
    globals: tuple[str, ...]  # classes and functions that loading calls, without those of tensors
    sharing: dict[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # names by storage, if more than one

    @property
    def storage_bytes(self) -> int:
        """The bytes of all storages."""
        return sum(self.storages.values())


def is_saved_file(path: str) -> bool:
    """Return True for a file in one of the formats, by its first bytes, and for a tar of torch.save."""
    try:
        with open(path, "rb") as file:
            start = file.read(512)
    except OSError:
        return False
    if start.startswith(MAGIC) or legacy_file.is_legacy(start) or legacy_file.is_tar(start):
        return True
    suffixes = (".pt", ".pth", ".ckpt", ".bin", ".safetensors")
    return start[8:9] == b"{" or str(path).endswith(suffixes)


def read_saved_file(path: str) -> SavedFile:
    """List what a file contains. Raises: SavedFileError for a damaged one, OSError."""
    try:
        with open(path, "rb") as file:
            start = file.read(512)
            file.seek(0)
            if not start:
                raise SavedFileError("it is empty")
            if start.startswith(MAGIC):
                return _zip(path, file)
            if legacy_file.is_legacy(start):
                return _legacy(path, file)
            if legacy_file.is_tar(start):
                raise SavedFileError("it is a tar, which torch.save wrote before 0.1.10")
            return _safetensors(path, file)
    except (PickleError, RecordError) as error:
        raise SavedFileError(str(error)) from None
    except (MemoryError, RecursionError) as error:
        raise SavedFileError(f"it is damaged: {type(error).__name__}") from None


def _zip(path: str, file: Any) -> SavedFile:
    records = Records(file)
    if "constants.pkl" in records:
        raise SavedFileError("it is a TorchScript archive; run it, and record the run")
    outline = Outline()
    root = load_pickle(records.read("data.pkl", _MAX_PICKLE), outline)
    storages = {
        name.removeprefix("data/"): records.size(name)
        for name in records
        if name.startswith("data/") and name != "data/"
    }
    size = os.fstat(file.fileno()).st_size
    return _listed(path, "PyTorch, zip", size, root, storages, outline)


def _legacy(path: str, file: Any) -> SavedFile:
    content = legacy_file.LegacyFile(file)
    outline = Outline()
    root = content.object(outline)
    keys = content.keys()
    walk = _Walk(dict.fromkeys(keys, 0), None)
    walk.look("", root)
    size = os.fstat(file.fileno()).st_size
    storages = {key: walk.claimed.get(key, 0) for key in keys}
    if sum(storages.values()) > content.remaining:
        raise SavedFileError(
            f"its storages have {sum(storages.values())} bytes, and {content.remaining} remain in the file"
        )
    return _listed(path, "PyTorch before 1.6", size, root, storages, outline)


def _listed(
    path: str, kind: str, size: int, root: Any, storages: dict[str, int], outline: Outline
) -> SavedFile:
    walk = _Walk(storages, size)
    walk.look("", root)
    tensors = tuple(walk.tensors)
    called = sorted(
        f"{module}.{name}"
        for module, name in outline.globals
        if module not in _PLAIN_MODULES and f"{module}.{name}" not in _PLAIN | walk.plain
    )
    return SavedFile(
        path, kind, size, tensors, storages, tuple(walk.values), tuple(called), _sharing(tensors)
    )


def _sharing(tensors: tuple[SavedTensor, ...]) -> dict[str, tuple[str, ...]]:
    names: dict[str, list[str]] = {}
    for tensor in tensors:
        names.setdefault(tensor.storage, []).append(tensor.name)
    return {key: tuple(shared) for key, shared in names.items() if len(shared) > 1 and key}


class _Walk:
    """Finds the tensors in an outline, each under its path: `optimizer.state.0.exp_avg`."""

    def __init__(self, storages: dict[str, int], file_bytes: int | None) -> None:
        self.tensors: list[SavedTensor] = []
        self.values: list[tuple[str, str]] = []
        self.claimed: dict[str, int] = {}  # bytes of a storage, as its tensors say
        self.plain: set[str] = set()  # names of dtypes and of storages
        self._storages, self._file_bytes = storages, file_bytes
        self._seen: set[int] = set()
        self._count = 0

    def look(self, name: str, value: Any) -> None:
        """Visit a value without recursion, because files may nest to any depth."""
        left: list[tuple[str, Any]] = [(name, value)]
        while left and self._count < _MAX_VALUES:
            self._count += 1
            name, value = left.pop()
            parts = self._parts(name, value)
            left.extend(reversed(parts))

    def _parts(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """List a value, or return the values in it."""
        if isinstance(value, Opaque):
            tensor = self._tensor(name, value)
            if tensor is not None:
                self.tensors.append(tensor)
                return []
        if isinstance(value, (dict, list, tuple, Opaque)):
            if id(value) in self._seen and value:
                return []  # a second reference, or one to what contains it
            self._seen.add(id(value))
        prefix = f"{name}." if name else ""
        if isinstance(value, dict):
            return [(f"{prefix}{_key(key)}", item) for key, item in value.items()]
        if isinstance(value, (list, tuple)) and any(
            isinstance(item, (dict, list, tuple, Opaque)) for item in value
        ):
            return [(f"{prefix}{number}", item) for number, item in enumerate(value)]
        if isinstance(value, Opaque):
            return self._object(name, prefix, value)
        if isinstance(value, GlobalName):
            self.plain.add(str(value))
            self.values.append((name, str(value)))
        elif isinstance(value, StorageId):
            self.values.append((name, f"storage {describe(_fields(value)[2])}"))
        else:
            self.values.append((name, describe(value)))
        return []

    def _object(self, name: str, prefix: str, value: Opaque) -> list[tuple[str, Any]]:
        """Return what an object consists of that only loading would create."""
        function = str(value.function)
        pairs = [
            (f"{prefix}{_key(value.items[i])}", value.items[i + 1])
            for i in range(0, len(value.items) - 1, 2)
        ]
        if function == "collections.OrderedDict":
            return pairs
        state = value.state[0] if isinstance(value.state, tuple) and value.state else value.state
        if isinstance(state, dict):
            self.values.append((name, f"an object of {function}"))
            tables = ("_parameters", "_buffers", "_modules")
            parts: list[tuple[str, Any]] = []
            for key, item in state.items():
                inner = item.items if isinstance(item, Opaque) else None
                if key in tables and isinstance(item, dict):
                    parts.extend((f"{prefix}{_key(k)}", each) for k, each in item.items())
                elif key in tables and inner is not None:
                    parts.extend(
                        (f"{prefix}{_key(inner[i])}", inner[i + 1])
                        for i in range(0, len(inner) - 1, 2)
                    )
                elif not str(key).startswith("_"):
                    parts.append((f"{prefix}{_key(key)}", item))
            return parts
        if function.startswith("torch.") and function not in ("torch.Size", "torch.device"):
            self.values.append((name, f"an object of {function}"))
        else:
            short = ", ".join(describe(each) for each in value.arguments[:3])
            self.values.append((name, f"{function.rpartition('.')[2]}({short})"))
        return pairs

    def _tensor(self, name: str, value: Opaque) -> SavedTensor | None:
        """Return the tensor that a call would create; None for another call."""
        function, kind = str(value.function), "Tensor"
        arguments: Any = value.arguments
        requires_grad: Any = None
        if function == "torch._tensor._rebuild_from_type_v2" and len(arguments) == 4:
            state = arguments[3]
            if isinstance(state, dict) and state.get("_is_buffer") is True:
                kind = "Buffer"
            elif isinstance(arguments[1], GlobalName):
                kind = arguments[1].rpartition(".")[2]
            function, arguments = str(arguments[0]), arguments[2]
        if function.startswith("torch._utils._rebuild_parameter") and arguments:
            kind, requires_grad = "Parameter", arguments[1] if len(arguments) > 1 else None
            inner = arguments[0]
            if not isinstance(inner, Opaque):
                return None
            function, arguments = str(inner.function), inner.arguments
        if not function.startswith("torch._utils._rebuild_") or not isinstance(arguments, tuple):
            return None
        form = function.removeprefix("torch._utils._rebuild_")
        if form == "meta_tensor_no_storage" and len(arguments) == 4:
            dtype, sizes, strides = str(arguments[0]), *map(_numbers, arguments[1:3])
            return self._entry(name, f"{kind}, meta", dtype, sizes, strides, None, 0, arguments[3])
        if not form.startswith("tensor") or len(arguments) < 4:
            problem = f"it is created by {function}"
            return SavedTensor(name, kind, "", (), (), "", 0, False, 0, problem)
        storage, offset = arguments[0], arguments[1]
        sizes, strides = _numbers(arguments[2]), _numbers(arguments[3])
        if requires_grad is None:
            requires_grad = arguments[4] if len(arguments) > 4 else False
        dtype = str(arguments[6]) if form.endswith("v3") and len(arguments) > 6 else ""
        return self._entry(name, kind, dtype, sizes, strides, storage, offset, requires_grad)

    def _entry(
        self,
        name: str,
        kind: str,
        dtype: str,
        sizes: Any,
        strides: Any,
        storage: Any,
        offset: Any,
        requires_grad: Any,
    ) -> SavedTensor:
        self.plain.add(dtype)
        dtype = dtype.removeprefix("torch.")
        key, problem = "", ""
        if isinstance(storage, StorageId):
            fields = _fields(storage)
            self.plain.add(str(fields[1]))
            element = _STORAGES.get(str(fields[1]).rpartition(".")[2].removesuffix("Storage"), "")
            dtype = dtype or element
            key = fields[2] if isinstance(fields[2], str) else ""
            count = fields[4] if type(fields[4]) is int and 0 <= fields[4] < 2**60 else 0
            self.claimed[key] = count * _SIZES.get(element, 1)
        itemsize = _SIZES.get(dtype, 0)
        if (
            sizes is None
            or strides is None
            or len(sizes) != len(strides)
            or type(offset) is not int
        ):
            return SavedTensor(name, kind, dtype, (), (), key, 0, False, 0, "its layout is damaged")
        nbytes = math.prod(sizes) * itemsize
        last = offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True)) + 1
        available = self._storages.get(key)
        if not dtype:
            problem = "its dtype is not known"
        elif key and available is None:
            problem = f"the file has no storage {key}"
        elif key and self._file_bytes and 0 not in sizes and last * itemsize > (available or 0):
            problem = f"it needs {last * itemsize} bytes of a storage of {available}"
        return SavedTensor(
            name, kind, dtype, sizes, strides, key, offset, requires_grad is True, nbytes, problem
        )


def _key(key: Any) -> str:
    return key if type(key) is str else describe(key)


def _fields(storage: StorageId) -> tuple[Any, ...]:
    fields = storage.fields if isinstance(storage.fields, tuple) else ()
    return (*fields, *[None] * (5 - len(fields)))


def _numbers(value: Any) -> tuple[int, ...] | None:
    """Return sizes or strides; None for anything else."""
    if isinstance(value, Opaque) and value.function == "torch.Size" and value.arguments:
        value = value.arguments[0]
    if not isinstance(value, (tuple, list)) or len(value) > 64:
        return None
    return tuple(value) if all(type(n) is int and 0 <= n < 2**63 for n in value) else None


def _safetensors(path: str, file: Any) -> SavedFile:
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(_MAX_HEADER, size - 8):
        raise SavedFileError("it is neither a file of torch.save nor a whole safetensors file")
    try:
        header = json.loads(file.read(length))
        metadata = header.pop("__metadata__", None) or {}
        tensors, storages = [], {}
        for name, entry in header.items():
            start, end = entry["data_offsets"]
            sizes = tuple(entry["shape"])
            if not all(type(n) is int and 0 <= n < 2**63 for n in (start, end, *sizes)):
                raise ValueError(f"{name} has damaged sizes")
            dtype = _SAFETENSORS.get(entry["dtype"], str(entry["dtype"]))
            nbytes = math.prod(sizes) * _SIZES.get(dtype, 0)
            strides = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
            problem = ""
            if end > size - 8 - length or (dtype in _SIZES and nbytes != end - start):
                problem = f"its bytes are {start} to {end} of {size - 8 - length}"
            storages[name] = end - start
            tensors.append(
                SavedTensor(name, "Tensor", dtype, sizes, strides, name, 0, False, nbytes, problem)
            )
        values = tuple((str(key), describe(text)) for key, text in metadata.items())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SavedFileError(f"its safetensors header is damaged: {error}") from None
    return SavedFile(path, "safetensors", size, tuple(tensors), storages, values, ())


def dtype_counts(file: SavedFile) -> Counter[str]:
    """Return the bytes of the tensors by dtype."""
    counts: Counter[str] = Counter()
    for tensor in file.tensors:
        counts[tensor.dtype or "?"] += tensor.nbytes
    return counts
