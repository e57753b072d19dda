"""PyTorch's `.pt` files: a zip of a pickle, which describes the objects, and the bytes of each storage.

Reading interprets the pickle here, opcode by opcode, and calls only the constructors of a table: those of
tensors, parameters, dtypes and plain containers. A file cannot name a function, and the sizes in it are compared
with the bytes of its storages before memory is allocated. `weights_only=False` uses Python's unpickler instead,
which runs what a file says.
"""

from __future__ import annotations

import importlib
import io
import math
import os
import pickle
import pickletools
import tempfile
import warnings
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import engine
from engine._native import lib
from engine.dtypes import DTYPES, Size, device, dtype
from engine.storage import UntypedStorage, rebuild
from engine.tensor import Tensor
from engine.tensor_new import from_bytes

__all__ = ["is_archive", "read_archive", "write_archive"]

MAGIC = b"PK\x03\x04"
_PROTOCOL = 2  # which PyTorch writes
_STORAGES = {f"{kind.title}Storage": kind for kind in DTYPES}
_DTYPES = {kind.name: kind for kind in DTYPES}
_MAX_PICKLE = 1 << 28  # bytes
_MAX_DEPTH = 100  # of nested tuples


def is_archive(start: bytes) -> bool:
    """Return True if a file that starts with these bytes is a zip."""
    return start.startswith(MAGIC)


# ---- tensors


class _Storage:
    """The bytes of one storage of a file, and the dtype of its elements."""

    __slots__ = ("content", "kind")

    def __init__(self, content: Any, kind: dtype | None) -> None:
        self.content = content  # a flat uint8 tensor, or None on the meta device
        self.kind = kind


def _rebuild_tensor(
    storage: _Storage,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool = False,
    backward_hooks: Any = None,
    metadata: Any = None,
    kind: dtype | None = None,
) -> Tensor:
    """Create a tensor over a storage. Raises: RuntimeError for a layout that is not inside it."""
    kind = kind or storage.kind
    if not isinstance(storage, _Storage) or kind is None:
        raise RuntimeError("a tensor has no storage of a known dtype")
    sizes, strides = tuple(size), tuple(stride)
    numbers = (storage_offset, *sizes, *strides)
    if len(sizes) != len(strides) or any(type(n) is not int or not 0 <= n < 2**63 for n in numbers):
        raise RuntimeError(f"a tensor has sizes {sizes} and strides {strides}")
    if storage.content is not None and 0 not in sizes:
        last = storage_offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
        if (last + 1) * kind.itemsize > storage.content.numel():
            raise RuntimeError(
                f"a tensor of sizes {sizes} and strides {strides} extends beyond its storage of "
                f"{storage.content.numel()} bytes"
            )
    if math.prod(sizes) >= 2**60:
        raise RuntimeError(f"a tensor has sizes {sizes}")
    result: Tensor = rebuild(
        kind, sizes, strides, storage_offset, storage.content, bool(requires_grad)
    )
    return result


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    kind: dtype,
    metadata: Any = None,
) -> Tensor:
    return _rebuild_tensor(storage, storage_offset, size, stride, requires_grad, None, None, kind)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any = None) -> Tensor:
    return engine.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any
) -> Tensor:
    parameter = engine.nn.Parameter(data, requires_grad)
    if not isinstance(state, dict):
        raise RuntimeError("a parameter has a state that is not a dict")
    vars(parameter).update(state)
    return parameter


def _encode(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise RuntimeError(f"bytes are encoded as {encoding!r}")
    return text.encode("latin1")


_TENSORS: dict[str, Any] = {
    "torch._utils _rebuild_tensor": _rebuild_tensor,
    "torch._utils _rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils _rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils _rebuild_parameter": _rebuild_parameter,
    "torch._utils _rebuild_parameter_with_state": _rebuild_parameter_with_state,
}
_CONSTRUCTORS: dict[str, Any] = {
    **_TENSORS,
    "collections OrderedDict": OrderedDict,
    "collections Counter": Counter,
    "builtins set": set,
    "__builtin__ set": set,
    "builtins complex": complex,
    "__builtin__ complex": complex,
    "torch Size": Size,
    "torch device": device,
    "_codecs encode": _encode,
}
_VALUES: dict[str, Any] = {
    **{f"torch {name}": kind for name, kind in _DTYPES.items()},
    **{f"torch {name}": kind for name, kind in _STORAGES.items()},
    "torch.storage UntypedStorage": None,
}


# ---- reading


class _Archive:
    """An open zip: its pickle, and storages that are read once."""

    def __init__(self, file: Any, name: str, map_location: Any) -> None:
        self.name = name
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise RuntimeError(f"load: {name} is not a whole file of torch.save: {error}") from None
        pickles = [n for n in self._zip.namelist() if n.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise RuntimeError(f"load: {name} is a zip, but not of torch.save: it has no data.pkl")
        self._prefix = pickles[0].removesuffix("data.pkl")
        self._storages: dict[str, _Storage] = {}
        self._map_location = map_location
        if f"{self._prefix}constants.pkl" in self._zip.namelist():
            raise RuntimeError(
                f"load: {name} is a TorchScript archive. Hint: save the state_dict() of the module instead."
            )
        byteorder = f"{self._prefix}byteorder"
        if byteorder in self._zip.namelist() and self._read("byteorder", 16) != b"little":
            raise RuntimeError(f"load: {name} was written on a big-endian machine")

    def _read(self, entry: str, limit: int | None = None) -> bytes:
        info = self._zip.getinfo(self._prefix + entry)
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise RuntimeError(
                f"load: {self.name}: {entry} is compressed, which torch.save never does"
            )
        if limit is not None and info.file_size > limit:
            raise RuntimeError(f"load: {self.name}: {entry} has {info.file_size} bytes")
        return self._zip.read(info)

    def pickle(self) -> bytes:
        """Return the pickle."""
        return self._read("data.pkl", _MAX_PICKLE)

    def storage(self, pid: Any) -> _Storage:
        """Return the storage that a persistent id names."""
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage"):
            raise RuntimeError(f"unknown persistent id {pid!r:.100}")
        _, kind, key, location, count = pid
        if not isinstance(key, str) or type(count) is not int or not isinstance(location, str):
            raise RuntimeError("a storage has no key, location or number of elements")
        if kind is not None and not isinstance(kind, dtype):
            raise RuntimeError("a storage has no dtype")
        if key not in self._storages:
            self._storages[key] = _Storage(self._content(key, kind, location, count), kind)
        return self._storages[key]

    def _content(self, key: str, kind: dtype | None, location: str, count: int) -> Any:
        target = self._target(location)
        if target.type == "meta":
            return None
        content = self._read(f"data/{key}")
        expected = count * (kind.itemsize if kind else 1)
        if len(content) != expected:
            raise RuntimeError(f"storage {key} has {len(content)} bytes instead of {expected}")
        return from_bytes(content, engine.uint8, (len(content),))

    def _target(self, location: str) -> device:
        where_to = self._map_location
        if isinstance(where_to, dict):
            where_to = where_to.get(location, location)
        elif callable(where_to) and not isinstance(where_to, (str, device)):
            where_to = "cpu"  # it is called with storages, all of which are here
        target = device(location if where_to is None else where_to)
        if target.type not in ("cpu", "meta"):
            raise RuntimeError(
                f"Attempting to deserialize object on {str(target)!r}, which is not available here. "
                "Hint: use load(..., map_location='cpu')."
            )
        return target


class _Interpreter:
    """The opcodes of a pickle, without those that import, subclass or call anything else."""

    def __init__(self, archive: _Archive) -> None:
        self._archive = archive
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._depths: dict[int, int] = {}  # of nested tuples, by id

    def run(self, content: bytes) -> Any:
        """Return the object that the pickle describes."""
        with warnings.catch_warnings():  # of escape sequences in damaged text
            warnings.simplefilter("ignore", DeprecationWarning)
            for opcode, argument, _ in pickletools.genops(content):
                if opcode.name == "STOP":
                    break
                action = _ACTIONS.get(opcode.name)
                if action is None:
                    raise RuntimeError(f"the pickle has the opcode {opcode.name}")
                action(self, argument)
        if len(self._stack) != 1:
            raise RuntimeError("the pickle is incomplete")
        return self._stack[0]

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def pop_mark(self) -> list[Any]:
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def mark(self, _: Any) -> None:
        self._marks.append(len(self._stack))

    def put(self, index: int | None) -> None:
        self._memo[len(self._memo) if index is None else index] = self._stack[-1]

    def get(self, index: int) -> None:
        self.push(self._memo[index])

    def take(self, count: int) -> tuple[Any, ...]:
        if count > len(self._stack):
            raise IndexError
        items = tuple(self._stack[len(self._stack) - count :])
        del self._stack[len(self._stack) - count :]
        return items

    def global_(self, name: str) -> None:
        if name in _CONSTRUCTORS:
            self.push(_Constructor(name))
        elif name in _VALUES:
            self.push(_VALUES[name])
        else:
            raise RuntimeError(
                f"the file contains {name.replace(' ', '.')}, which is not a tensor or a plain container. "
                "Hint: if you trust the file, load(..., weights_only=False) runs what it says."
            )

    def reduce(self, _: Any) -> None:
        constructor, arguments = self.take(2)
        if not isinstance(constructor, _Constructor) or not isinstance(arguments, tuple):
            raise RuntimeError("the pickle calls something that is not a constructor")
        self.push(_CONSTRUCTORS[constructor.name](*arguments))

    def build(self, _: Any) -> None:
        target, state = self.take(2)
        self.push(target)
        if not isinstance(target, OrderedDict) or not isinstance(state, dict):
            raise RuntimeError(f"the pickle sets attributes of a {type(target).__name__}")
        vars(target).update(state)

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise RuntimeError(f"the pickle sets items of a {type(target).__name__}")
        for i in range(0, len(items), 2):
            target[items[i]] = items[i + 1]

    def append_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise RuntimeError(f"the pickle appends to a {type(target).__name__}")
        target.extend(items)

    def add_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, set):
            raise RuntimeError(f"the pickle adds to a {type(target).__name__}")
        target.update(items)

    def persistent(self, _: Any) -> None:
        self.push(self._archive.storage(self._stack.pop()))

    def make_tuple(self, items: tuple[Any, ...]) -> None:
        """Push a tuple. Raises: RuntimeError if tuples are nested so deeply that Python cannot hash them."""
        depth = 1 + max((self._depths[id(x)] for x in items if type(x) is tuple), default=0)
        if depth > _MAX_DEPTH:
            raise RuntimeError(f"the pickle nests more than {_MAX_DEPTH} tuples")
        if items:
            self._depths[id(items)] = depth
        else:
            self._depths[id(())] = 1
        self.push(items)

    def make_dict(self, items: list[Any]) -> None:
        self.push({})
        self.set_items(items)


class _Constructor:
    """A constructor of the table, by its name in the file."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _nothing(machine: _Interpreter, argument: Any) -> None:
    return None


_Action = Callable[[_Interpreter, Any], Any]
_ACTIONS: dict[str, _Action] = {
    "PROTO": _nothing,
    "FRAME": _nothing,
    "MARK": _Interpreter.mark,
    "EMPTY_DICT": lambda m, _: m.push({}),
    "EMPTY_LIST": lambda m, _: m.push([]),
    "EMPTY_SET": lambda m, _: m.push(set()),
    "EMPTY_TUPLE": lambda m, _: m.make_tuple(()),
    "TUPLE": lambda m, _: m.make_tuple(tuple(m.pop_mark())),
    "TUPLE1": lambda m, _: m.make_tuple(m.take(1)),
    "TUPLE2": lambda m, _: m.make_tuple(m.take(2)),
    "TUPLE3": lambda m, _: m.make_tuple(m.take(3)),
    "LIST": lambda m, _: m.push(m.pop_mark()),
    "DICT": lambda m, _: m.make_dict(m.pop_mark()),
    "NONE": lambda m, _: m.push(None),
    "NEWTRUE": lambda m, _: m.push(True),
    "NEWFALSE": lambda m, _: m.push(False),
    "SETITEM": lambda m, _: m.set_items(list(m.take(2))),
    "SETITEMS": lambda m, _: m.set_items(m.pop_mark()),
    "APPEND": lambda m, _: m.append_items(list(m.take(1))),
    "APPENDS": lambda m, _: m.append_items(m.pop_mark()),
    "ADDITEMS": lambda m, _: m.add_items(m.pop_mark()),
    "GLOBAL": _Interpreter.global_,
    "STACK_GLOBAL": lambda m, _: m.global_(" ".join(m.take(2))),
    "REDUCE": _Interpreter.reduce,
    "BUILD": _Interpreter.build,
    "BINPERSID": _Interpreter.persistent,
    "MEMOIZE": _Interpreter.put,
    **dict.fromkeys(("BINPUT", "LONG_BINPUT", "PUT"), _Interpreter.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET", "GET"), _Interpreter.get),
    **dict.fromkeys(
        (
            *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"),
            *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "SHORT_BINSTRING", "BINSTRING"),
            *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
        ),
        _Interpreter.push,
    ),
}


class _Unpickler(pickle.Unpickler):
    """Python's unpickler, in which `torch` is the engine. It runs what the file says."""

    def __init__(self, content: bytes, archive: _Archive) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self._archive = archive

    def find_class(self, module: str, name: str) -> Any:
        key = f"{module} {name}"
        if key in _VALUES:
            return _VALUES[key]
        if key in _TENSORS:
            return _TENSORS[key]
        if module == "torch" or module.startswith("torch."):
            home = importlib.import_module("engine" + module.removeprefix("torch"))
            return getattr(home, name)
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        return self._archive.storage(pid)


def read_archive(file: Any, name: str, map_location: Any, weights_only: bool) -> Any:
    """Return the object of a `.pt` file.

    Raises: RuntimeError for a file that is damaged, or that contains more than tensors and plain containers.
    """
    try:
        archive = _Archive(file, name, map_location)
        content = archive.pickle()
        if not weights_only:
            return _Unpickler(content, archive).load()
        return _Interpreter(archive).run(content)
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RuntimeError,
        EOFError,
        OSError,
        NotImplementedError,
        zipfile.BadZipFile,
        pickle.UnpicklingError,
    ) as error:
        if not weights_only and not isinstance(error, (RuntimeError, zipfile.BadZipFile)):
            raise  # of the code that the file runs
        if str(error).startswith("load: "):
            raise
        raise RuntimeError(f"load: {name}: {error or type(error).__name__}") from None


# ---- writing


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


# Python's own class, in which globals can be renamed; the one in C cannot.
_PythonPickler: Any = pickle._Pickler


class _Pickler(_PythonPickler):
    """Writes tensors as PyTorch does, and the engine's classes under the name `torch`."""

    dispatch: ClassVar[dict[Any, Any]] = dict(_PythonPickler.dispatch)

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=_PROTOCOL)
        self.storages: dict[int, _StorageEntry] = {}
        self._globals: dict[tuple[str, str], _Global] = {}

    def _name(self, module: str, name: str) -> _Global:
        return self._globals.setdefault((module, name), _Global(module, name))

    def save_name(self, obj: _Global) -> None:
        """Write a name in PyTorch, without importing it."""
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[_Global] = save_name

    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = getattr(obj, "__module__", None) or ""
        if module == "engine" or module.startswith("engine."):
            self.save(self._name("torch" + module.removeprefix("engine"), obj.__qualname__))
            return
        super().save_global(obj, name)

    dispatch[type] = save_global

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, _StorageEntry):
            return None
        kind = self._name("torch", f"{obj.kind.title}Storage")
        count = UntypedStorage(obj.tensor).nbytes() // obj.kind.itemsize
        return "storage", kind, obj.key, "cpu", count

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self._reduce_tensor(obj)
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
        if obj.is_meta:
            raise RuntimeError("save: a meta tensor has no elements to save")
        if isinstance(obj, engine.nn.Parameter):
            parts = (obj.data, obj.requires_grad, _no_hooks())
            return self._name("torch._utils", "_rebuild_parameter"), parts
        key = int(lib.uh_storage_id(obj._h))
        entry = self.storages.get(key)
        if entry is None:
            entry = self.storages[key] = _StorageEntry(str(len(self.storages)), obj.detach())
        if entry.kind is not obj.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        layout = (obj.storage_offset(), tuple(obj.shape), tuple(obj.stride()))
        arguments = (entry, *layout, obj.requires_grad, _no_hooks())
        return self._name("torch._utils", "_rebuild_tensor_v2"), arguments


def _no_hooks() -> OrderedDict[str, Any]:
    """Return the value that PyTorch writes for a tensor without hooks."""
    return OrderedDict()


def write_archive(obj: Any, f: Any) -> None:
    """Write an object as a `.pt` file, which `torch.load` reads.

    f: a path, whose file is replaced when the new one is complete, or an object with `write`.
    """
    content = io.BytesIO()
    pickler = _Pickler(content)
    pickler.dump(obj)
    if hasattr(f, "write"):
        _write_zip(f, "archive", content.getvalue(), pickler)
        return
    path = Path(os.fspath(f))
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            _write_zip(file, path.name.split(".")[0] or "archive", content.getvalue(), pickler)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _write_zip(file: Any, prefix: str, content: bytes, pickler: _Pickler) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:

        def write(name: str, data: bytes) -> None:
            archive.writestr(zipfile.ZipInfo(f"{prefix}/{name}"), data)

        write("data.pkl", content)
        write("byteorder", b"little")
        for entry in pickler.storages.values():
            write(f"data/{entry.key}", bytes(UntypedStorage(entry.tensor)))
        write("version", b"3\n")
