"""PyTorch's `.pt` files, written: any object that can be pickled, its tensors as PyTorch writes them.

The classes of the engine are written under the names that PyTorch's have, so that `torch.load` finds its own.
"""

from __future__ import annotations

import io
import os
import pickle
import stat
import sys
import tempfile
import types
import zipfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import engine
from engine._native import ffi, lib
from engine.dtypes import Size, device, dtype, strided
from engine.formats import legacy_file
from engine.saved_files.pytorch_names import pytorch_name
from engine.sparse.construct import parts_of
from engine.storage import UntypedStorage, readable_address
from engine.tensor import Tensor

__all__ = ["write_torch_file"]

_ALIGNMENT = 64  # of the storages in the file, so that they can be mapped


class _Global:
    """A name in PyTorch, as a pickle refers to it."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        raise TypeError(f"{self.module}.{self.name} is a name in a file")


class _StorageEntry:
    """A storage to write: its key, the dtype of its elements, and a tensor over it."""

    def __init__(self, key: str, tensor: Tensor) -> None:
        self.key, self.tensor = key, tensor

    @property
    def kind(self) -> dtype:
        """The dtype of the elements."""
        return self.tensor.dtype


class _Called:
    """A call of a function of PyTorch, which a pickle has for its result."""

    def __init__(self, function: _Global, argument: str) -> None:
        self.function, self.argument = function, argument

    def __reduce__(self) -> Any:
        return self.function, (self.argument,)


_REDUCTIONS = {
    kind.__reduce_ex__ for kind in (Tensor, engine.nn.Parameter, engine.nn.Buffer)
}  # those that PyTorch's files replace

# Python's own class, in which globals can be renamed; the one in C cannot.
_PythonPickler: Any = pickle._Pickler


class _Pickler(_PythonPickler):
    """Writes tensors as PyTorch does, and the engine's classes under the name `torch`."""

    dispatch: ClassVar[dict[Any, Any]] = dict(_PythonPickler.dispatch)

    def __init__(self, file: Any, protocol: int, is_zip: bool) -> None:
        super().__init__(file, protocol=protocol)
        self.storages: dict[int, _StorageEntry] = {}
        self._is_zip = is_zip
        self._globals: dict[tuple[str, str], _Global] = {}

    def _name(self, module: str, name: str) -> _Global:
        return self._globals.setdefault((module, name), _Global(module, name))

    def save_name(self, obj: _Global) -> None:
        """Write a name in PyTorch, without importing it."""
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[_Global] = save_name

    def save_global(self, obj: Any, name: str | None = None) -> None:
        home, own = pytorch_name(obj) if hasattr(obj, "__qualname__") else ("", "")
        if home == "torch" or home.startswith("torch."):
            self.save(self._name(home, own))
            return
        super().save_global(obj, name)

    for _kind in (type, types.FunctionType, types.BuiltinFunctionType):
        dispatch[_kind] = save_global

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, UntypedStorage):
            kind = self._name("torch.storage", "UntypedStorage")
            entry = self._entry(obj._tensor)
            last = () if self._is_zip else (None,)
            return "storage", kind, entry.key, str(obj.device), obj.nbytes(), *last
        if not isinstance(obj, _StorageEntry):
            return None
        kind = self._name("torch", f"{obj.kind.title}Storage")
        count = UntypedStorage(obj.tensor).nbytes() // obj.kind.itemsize
        last = () if self._is_zip else (None,)
        return "storage", kind, obj.key, str(obj.tensor.device), count, *last

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            is_own = type(obj).__reduce_ex__ in _REDUCTIONS
            return self._reduce_tensor(obj) if is_own else NotImplemented
        if isinstance(obj, Size):
            return self._name("torch", "Size"), (tuple(obj),)
        if isinstance(obj, device):
            arguments = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return self._name("torch", "device"), arguments
        return NotImplemented

    def save_dtype(self, obj: dtype) -> None:
        """Write a dtype as its name in PyTorch."""
        self.save(self._name("torch", obj.name))

    dispatch[dtype] = save_dtype

    def _reduce_tensor(self, obj: Tensor) -> Any:
        attributes = dict(obj.__dict__)
        if isinstance(obj, engine.nn.Parameter):
            parts = (obj.data, obj.requires_grad, _no_hooks())
            if attributes:
                function = self._name("torch._utils", "_rebuild_parameter_with_state")
                return function, (*parts, attributes)
            return self._name("torch._utils", "_rebuild_parameter"), parts
        if isinstance(obj, engine.nn.Buffer):
            attributes = {"persistent": obj.persistent, **attributes, "_is_buffer": True}
        reduced = self._plain(obj)
        if type(obj) is not Tensor or attributes:
            return self._with_attributes(reduced, obj, attributes)
        return reduced

    def _entry(self, tensor: Tensor) -> _StorageEntry:
        """Return the entry of the tensor's Storage."""
        key = int(lib.uh_storage_id(tensor._h))
        entry = self.storages.get(key)
        if entry is None:
            entry = self.storages[key] = _StorageEntry(str(len(self.storages)), tensor.detach())
        return entry

    def _with_attributes(self, reduced: Any, obj: Tensor, attributes: dict[str, Any]) -> Any:
        """Return the reduction of a tensor that has attributes, or is of a subclass."""
        function = self._name("torch._tensor", "_rebuild_from_type_v2")
        kind = Tensor if isinstance(obj, engine.nn.Buffer) else type(obj)
        return function, (reduced[0], kind, reduced[1], attributes)

    def _plain(self, obj: Tensor) -> Any:
        """Return the reduction of a tensor without its class."""
        if obj.is_meta:
            function = self._name("torch._utils", "_rebuild_meta_tensor_no_storage")
            sizes, strides = tuple(obj.shape), tuple(obj.stride())
            return function, (obj.dtype, sizes, strides, obj.requires_grad)
        if obj.layout is not strided:
            layout = _Called(
                self._name("torch.serialization", "_get_layout"), f"torch.{obj.layout.name}"
            )
            return self._name("torch._utils", "_rebuild_sparse_tensor"), (layout, parts_of(obj))
        entry = self._entry(obj)
        if entry.kind is not obj.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        location = (obj.storage_offset(), tuple(obj.shape), tuple(obj.stride()))
        arguments = (entry, *location, obj.requires_grad, _no_hooks())
        return self._name("torch._utils", "_rebuild_tensor_v2"), arguments


def _no_hooks() -> OrderedDict[str, Any]:
    """Return the value that PyTorch writes for a tensor without hooks."""
    return OrderedDict()


def write_torch_file(obj: Any, f: Any, protocol: int, is_zip: bool) -> None:
    """Write an object as a `.pt` file, which `torch.load` reads.

    f: a path, whose file is replaced when the new one is complete, or an object with `write`.
    is_zip: False for the format from before PyTorch 1.6.
    """
    content = io.BytesIO()
    pickler = _Pickler(content, protocol, is_zip)
    pickler.dump(obj)
    folder = "archive"

    def write(file: Any) -> None:
        if is_zip:
            _write_zip(file, folder, content.getvalue(), pickler)
        else:
            _write_legacy(file, content.getvalue(), pickler)

    if hasattr(f, "write"):
        return write(f)
    path = Path(os.path.realpath(os.fsdecode(f)))
    folder = path.name.split(".")[0] or "archive"
    mode = None
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode
    if mode is not None and not stat.S_ISREG(mode):  # a device or a pipe
        with open(path, "wb") as file:
            return write(file)
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(number, "wb") as file:
            write(file)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask if mode is None else stat.S_IMODE(mode))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _bytes(entry: _StorageEntry) -> memoryview:
    """Return the bytes of a storage, without copying them if they are in main memory."""
    storage = UntypedStorage(entry.tensor)
    if not storage.nbytes():
        return memoryview(b"")
    if not entry.tensor.is_cpu:
        return memoryview(bytes(storage))
    readable_address(entry.tensor)
    return memoryview(ffi.buffer(ffi.cast("char *", storage.data_ptr()), storage.nbytes()))


def _write_zip(file: Any, folder: str, content: bytes, pickler: _Pickler) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:

        def write(name: str, data: bytes | memoryview) -> None:
            info = zipfile.ZipInfo(f"{folder}/{name}")
            fixed = 30 + len(info.filename.encode()) + 4  # the header, the name, the extra field's
            if len(data) * 1.05 > zipfile.ZIP64_LIMIT:
                fixed += 20
            padding = -(archive.fp.tell() + fixed) % _ALIGNMENT  # type: ignore[union-attr]
            if name.startswith("data/"):
                info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
            archive.writestr(info, data)

        write("data.pkl", content)
        write(".format_version", b"1")
        write(".storage_alignment", str(_ALIGNMENT).encode())
        write("byteorder", sys.byteorder.encode())
        for entry in pickler.storages.values():
            write(f"data/{entry.key}", _bytes(entry))
        write("version", b"3\n")


def _write_legacy(file: Any, content: bytes, pickler: _Pickler) -> None:
    sizes = {"short": 2, "int": 4, "long": 4}
    system = {
        "protocol_version": legacy_file.PROTOCOL,
        "little_endian": sys.byteorder == "little",
        "type_sizes": sizes,
    }
    for header in (legacy_file.MAGIC, legacy_file.PROTOCOL, system):
        pickle.dump(header, file, protocol=2)
    file.write(content)
    pickle.dump([entry.key for entry in pickler.storages.values()], file, protocol=2)
    for entry in pickler.storages.values():
        data = _bytes(entry)
        file.write((len(data) // entry.kind.itemsize).to_bytes(8, sys.byteorder))
        file.write(data)
