"""PyTorch's `.pt` files, read: a pickle, which describes the objects, and the bytes of each storage.

By default the pickle is interpreted (`engine.formats.restricted_pickle`): it can create tensors, parameters, dtypes,
plain containers and what `add_safe_globals` allows, and nothing else. The sizes in a file are compared with the
bytes that it has before memory is allocated. `weights_only=False` uses Python's unpickler, which runs what a file
says.
"""

from __future__ import annotations

import math
import mmap as _mmap
import pickle
import sys
from array import array
from collections import Counter, OrderedDict
from io import BytesIO
from typing import Any

import engine
from engine._native import ffi
from engine.dtypes import DTYPES, Size, at_location, device, dtype, sparse_coo, sparse_csr
from engine.formats.legacy_file import LegacyFile
from engine.formats.outline import Outline
from engine.formats.restricted_pickle import PickleError, describe, load_pickle
from engine.formats.zip_records import RecordError, Records
from engine.saved_files import options
from engine.saved_files.pytorch_names import engine_object
from engine.saved_files.safe_globals import find_safe_global, is_safe_global
from engine.sparse.construct import rebuild_sparse
from engine.storage import UntypedStorage, rebuild
from engine.tensor import Tensor

__all__ = ["read_legacy", "read_zip", "unsafe_globals"]

_STORAGES = {f"{kind.title}Storage": kind for kind in DTYPES}
_DTYPES = {kind.name: kind for kind in DTYPES}
_MAX_PICKLE = 1 << 28  # bytes
_HINT = (
    "Hint: `serialization.add_safe_globals([{}])` allows it; if you trust the file, load(..., "
    "weights_only=False) runs what it says."
)


# ---- tensors


class _Storage(UntypedStorage):
    """The bytes of one storage of a file, and the dtype of its elements."""

    __slots__ = ("content", "kind", "later")

    def __init__(self, content: Any, kind: dtype | None, later: list[Any] | None = None) -> None:
        super().__init__(
            engine.empty(0, dtype=engine.uint8, device="meta") if content is None else content
        )
        self.content = content  # a flat uint8 tensor, or None on the meta device
        self.kind = kind
        self.later = later  # calls for when the bytes have been read, if they have not


def _layout(size: Any, stride: Any, offset: Any = 0) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return sizes and strides. Raises: PickleError for what cannot be those of a tensor."""
    for numbers in (size, stride):
        if not isinstance(numbers, (tuple, list)):
            raise PickleError(f"a tensor has the sizes or strides {describe(numbers)}")
    sizes, strides = tuple(size), tuple(stride)
    numbers = (offset, *sizes, *strides)
    if (
        len(sizes) != len(strides)
        or len(sizes) > 64
        or any(type(n) is not int or not 0 <= n < 2**63 for n in numbers)
        or math.prod(sizes) >= 2**60
    ):
        raise PickleError(
            f"a tensor has the sizes {describe(sizes)}, the strides {describe(strides)} and the offset "
            f"{describe(offset)}"
        )
    return sizes, strides


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
    if not isinstance(storage, _Storage):
        raise PickleError(f"a tensor has {describe(storage)} for a storage")
    kind = kind or storage.kind
    if not isinstance(kind, dtype):
        raise PickleError("a tensor has no dtype")
    sizes, strides = _layout(size, stride, storage_offset)
    if storage.content is not None and 0 not in sizes:
        last = storage_offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
        if (last + 1) * kind.itemsize > storage.content.numel():
            raise RuntimeError(
                f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {storage_offset}, "
                f"and itemsize {kind.itemsize} requiring a storage size of {(last + 1) * kind.itemsize} are out "
                f"of bounds for storage of size {storage.content.numel()}"
            )
    result: Tensor = rebuild(
        kind, sizes, strides, storage_offset, storage.content, _is_grad(requires_grad, kind)
    )
    if (
        isinstance(metadata, dict) and metadata
    ):  # views of PyTorch that are computed when they are read
        result = _resolve_bits(result, metadata, storage.later)
    return result


def _resolve_bits(view: Tensor, metadata: dict[Any, Any], later: list[Any] | None) -> Tensor:
    """Return the tensor that a view with PyTorch's bits conj and neg stands for."""
    result = engine.empty_like(view)

    def fill() -> None:
        value = view.detach()
        if metadata.get("conj") is True and view.dtype.is_complex:
            value = value.conj()
        result.copy_(-value if metadata.get("neg") is True else value)

    if later is None:
        fill()
    else:
        later.append(fill)
    return result.requires_grad_(view.requires_grad)


def _is_grad(requires_grad: Any, kind: dtype) -> bool:
    if type(requires_grad) is not bool:
        raise PickleError(f"requires_grad is {describe(requires_grad)}")
    if requires_grad and not (kind.is_floating_point or kind.is_complex):
        raise PickleError(f"a tensor of {kind} requires a gradient")
    return requires_grad


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
    return _rebuild_tensor(
        storage, storage_offset, size, stride, requires_grad, None, metadata, kind
    )


def _rebuild_meta_tensor(kind: dtype, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    if not isinstance(kind, dtype):
        raise PickleError(f"a meta tensor has {describe(kind)} for a dtype")
    sizes, strides = _layout(size, stride)
    result: Tensor = rebuild(kind, sizes, strides, 0, None, _is_grad(requires_grad, kind))
    return result


def _get_layout(name: str) -> Any:
    if name not in ("torch.sparse_coo", "torch.sparse_csr"):
        raise PickleError(
            f"it contains a tensor of layout {describe(name)}, which the engine does not have"
        )
    return sparse_coo if name == "torch.sparse_coo" else sparse_csr


def _rebuild_sparse_tensor(layout: Any, parts: Any) -> Tensor:
    """Create a sparse tensor of its parts. Raises: RuntimeError for indices outside the sizes."""
    if layout not in (sparse_coo, sparse_csr) or not isinstance(parts, tuple):
        raise PickleError(f"a sparse tensor is {describe(layout)} of {describe(parts)}")
    tensors = parts[: 3 if layout is sparse_csr else 2]
    if len(parts) not in (3, 4) or not all(isinstance(part, Tensor) for part in tensors):
        raise PickleError("a sparse tensor is not created of tensors and sizes")
    sizes = parts[len(tensors)]
    if not isinstance(sizes, tuple):
        raise PickleError(f"a sparse tensor has the sizes {describe(sizes)}")
    return rebuild_sparse(layout, (*tensors, _size(sizes), *parts[len(tensors) + 1 :]))


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any = None) -> Tensor:
    if not isinstance(data, Tensor):
        raise PickleError(f"a parameter has {describe(data)} for data")
    return engine.nn.Parameter(data, _is_grad(requires_grad, data.dtype))


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any
) -> Tensor:
    parameter = _rebuild_parameter(data, requires_grad)
    if not isinstance(state, dict):
        raise PickleError(f"a parameter has {describe(state)} for attributes")
    vars(parameter).update(state)
    return parameter


def _rebuild_from_type(function: Any, kind: Any, arguments: Any, state: Any) -> Tensor:
    """Create a tensor with attributes, or of a subclass that PyTorch has: Parameter, Buffer, Tensor."""
    if not isinstance(function, _Constructor) or function not in _TENSORS.values():
        raise PickleError("a tensor is created by something else than its constructor")
    if not isinstance(arguments, tuple):
        raise PickleError(f"a tensor is created from {describe(arguments)}")
    result: Tensor = function(*arguments)
    if isinstance(kind, type) and issubclass(kind, Tensor) and type(result) is not kind:
        result = Tensor._make_subclass(kind, result, result.requires_grad)
    if isinstance(state, tuple) and len(state) == 2:  # attributes, and those in slots
        state = {**(state[0] or {}), **(state[1] or {})}
    if isinstance(state, dict) and state.get("_is_buffer") is True:
        result = engine.nn.Buffer(result, persistent=state.get("persistent") is not False)
        state = {key: state[key] for key in state if key not in ("_is_buffer", "persistent")}
    if isinstance(state, dict) and all(type(name) is str for name in state):
        vars(result).update(state)
    elif state is not None:
        raise PickleError(f"a tensor has {describe(state)} for attributes")
    return result


def _encode(text: str, encoding: str) -> bytes:
    if type(text) is not str or encoding != "latin1":
        raise PickleError(f"bytes are encoded as {describe(encoding)}")
    return text.encode("latin1")


def _size(sizes: Any) -> Size:
    if not all(type(n) is int and 0 <= n < 2**63 for n in sizes):
        raise PickleError(f"a Size is {describe(sizes)}")
    return Size(sizes)


class _Constructor:
    """A function that a file may call, and the types of its arguments where Python does not check them."""

    __slots__ = ("function", "kinds")

    def __init__(self, function: Any, *kinds: Any) -> None:
        self.function, self.kinds = function, kinds

    def __call__(self, *arguments: Any) -> Any:
        for argument in arguments if self.kinds else ():
            if not isinstance(argument, self.kinds):
                name = self.function.__name__
                raise PickleError(f"{name}() is called with {describe(argument)}")
        return self.function(*arguments)


_TENSORS: dict[str, _Constructor] = {
    "torch._utils _rebuild_tensor": _Constructor(_rebuild_tensor),
    "torch._utils _rebuild_tensor_v2": _Constructor(_rebuild_tensor),
    "torch._utils _rebuild_tensor_v3": _Constructor(_rebuild_tensor_v3),
    "torch._utils _rebuild_meta_tensor_no_storage": _Constructor(_rebuild_meta_tensor),
    "torch._utils _rebuild_sparse_tensor": _Constructor(_rebuild_sparse_tensor),
    "torch._utils _rebuild_parameter": _Constructor(_rebuild_parameter),
    "torch._utils _rebuild_parameter_with_state": _Constructor(_rebuild_parameter_with_state),
}
_CONSTRUCTORS: dict[str, _Constructor] = {
    **_TENSORS,
    "torch._tensor _rebuild_from_type_v2": _Constructor(_rebuild_from_type),
    "collections OrderedDict": _Constructor(OrderedDict, dict, list),
    "collections Counter": _Constructor(Counter, dict, list),
    "builtins set": _Constructor(set, list, set),
    "__builtin__ set": _Constructor(set, list, set),
    "builtins complex": _Constructor(complex, float, int),
    "__builtin__ complex": _Constructor(complex, float, int),
    "builtins bytearray": _Constructor(bytearray, bytes),
    "__builtin__ bytearray": _Constructor(bytearray, bytes),
    "torch.serialization _get_layout": _Constructor(_get_layout, str),
    "torch Size": _Constructor(_size, tuple, list),
    "torch device": _Constructor(device, str, int),
    "_codecs encode": _Constructor(_encode),
}
_VALUES: dict[str, Any] = {
    **{f"torch {name}": kind for name, kind in _DTYPES.items()},
    **{f"torch {name}": kind for name, kind in _STORAGES.items()},
    "torch.storage UntypedStorage": None,
    "torch UntypedStorage": None,
    "torch._tensor Tensor": Tensor,
    "torch Tensor": Tensor,
}
_UNSUPPORTED = {
    "_rebuild_qtensor": "a quantised tensor",
    "_rebuild_nested_tensor": "a nested tensor",
    "_rebuild_wrapper_subclass": "a tensor of a wrapper subclass",
    "_rebuild_device_tensor_from_numpy": "a tensor of another device",
    "_rebuild_device_tensor_from_cpu_tensor": "a tensor of another device",
}


def _find(module: str, name: str) -> Any:
    """Return what a global stands for. Raises: PickleError if it is not allowed."""
    key = f"{module} {name}"
    if key in _CONSTRUCTORS:
        return _CONSTRUCTORS[key]
    if key in _VALUES:
        return _VALUES[key]
    if key == "torch.nn.parameter Parameter":
        return engine.nn.Parameter
    if key == "torch.nn.parameter Buffer":
        return engine.nn.Buffer
    allowed = find_safe_global(module, name)
    if allowed is not None:
        return allowed
    path = f"{module}.{name}"
    if name in _UNSUPPORTED and module.startswith("torch"):
        raise PickleError(
            f"it contains {_UNSUPPORTED[name]} ({path}), which the engine does not have"
        )
    if module == "torch" and name.removesuffix("Storage").startswith(
        ("q", "Q", "float8", "float4", "uint", "int", "bits", "complex32")
    ):
        raise PickleError(
            f"it contains {path}, a dtype that the engine does not have. Hint: convert the tensor with "
            "PyTorch to one that it has"
        )
    raise PickleError(
        f"Weights only load failed. Unsupported global: GLOBAL {path} was not an allowed global by default. "
        + _HINT.format(name)
    )


class _Resolver:
    """The objects to which a file may refer when nothing of it is executed."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def find(self, module: str, name: str) -> Any:
        return _find(module, name)

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        if not isinstance(function, _Constructor) and not is_safe_global(function):
            raise PickleError(f"the pickle calls {describe(function)}")
        try:
            return function(*arguments)
        except TypeError as error:
            raise PickleError(f"the pickle is damaged: {error}") from None

    def new(self, kind: Any, arguments: tuple[Any, ...]) -> Any:
        if kind is _CONSTRUCTORS["collections OrderedDict"] and not arguments:
            return OrderedDict()
        if not isinstance(kind, type) or not is_safe_global(kind):
            raise PickleError(f"the pickle creates an instance of {describe(kind)}")
        return kind.__new__(kind, *arguments)

    def build(self, target: Any, state: Any) -> None:
        if type(target) in (OrderedDict, Counter) and isinstance(state, dict):
            vars(target).update(state)
        elif not is_safe_global(type(target)):
            raise PickleError(f"the pickle sets attributes of {describe(target)}")
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) else (state, None)
            vars(target).update(attributes or {})
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def persistent(self, pid: Any) -> Any:
        return self._source.storage(pid)


def unsafe_globals(file: Any, name: str) -> list[str]:
    """Return the globals in a `.pt` file that are not allowed, sorted."""
    outline = Outline()
    try:
        load_pickle(Records(file).read("data.pkl", _MAX_PICKLE), outline)
    except (PickleError, RecordError) as error:
        raise RuntimeError(f"get_unsafe_globals_in_checkpoint: {name}: {error}") from None
    return sorted(
        f"{module}.{name}"
        for module, name in outline.globals
        if f"{module} {name}" not in {**_CONSTRUCTORS, **_VALUES}
        and find_safe_global(module, name) is None
    )


# ---- storages


class _Source:
    """The storages of a file: each is created once, on the device that `map_location` says."""

    def __init__(self, name: str, map_location: Any) -> None:
        self.name = name
        self.byteorder = options.load_byteorder()
        self._storages: dict[str, _Storage] = {}
        self._map_location = map_location

    def storage(self, pid: Any) -> Any:
        """Return the storage that a persistent id names."""
        if not (isinstance(pid, tuple) and pid and pid[0] == "storage" and len(pid) in (5, 6)):
            raise PickleError(f"unknown persistent id {describe(pid)}")
        _, kind, key, location, count = pid[:5]
        if type(key) is not str or type(location) is not str:
            raise PickleError(f"a storage is called {describe(key)}, at {describe(location)}")
        if type(count) is not int or not 0 <= count < 2**60:
            raise PickleError(f"the storage {key} has {describe(count)} elements")
        if kind is not None and not isinstance(kind, dtype):
            raise PickleError(f"the storage {key} has {describe(kind)} for a dtype")
        if key not in self._storages:
            self._storages[key] = self._read(key, kind, location, count)
        storage = self._storages[key]
        return storage if kind is storage.kind else _Storage(storage.content, kind, storage.later)

    def _read(self, key: str, kind: dtype | None, location: str, count: int) -> _Storage:
        nbytes = count * (kind.itemsize if kind else 1)
        self.check(key, nbytes)
        target = self._target(location)
        if target.type == "meta":
            return _Storage(None, kind)
        content = self.bytes(key, kind, nbytes).to(target)
        if callable(self._map_location) and not isinstance(self._map_location, (str, device)):
            content = self._mapped(content, location)
        return _Storage(content, kind)

    def check(self, key: str, nbytes: int) -> None:
        """Raise PickleError or RecordError if the file does not have these bytes for a storage."""
        raise NotImplementedError

    def bytes(self, key: str, kind: dtype | None, nbytes: int) -> Tensor:
        """Return the bytes of a storage as a flat uint8 tensor."""
        raise NotImplementedError

    def _target(self, location: str) -> device:
        """Return the device of a storage that was on the device `location`."""
        target = self._map_location
        if isinstance(target, dict):
            target = at_location(target, location)
        if target is None or (callable(target) and not isinstance(target, (str, device))):
            target = "cpu" if target is not None else location
        try:
            result = device(target)
        except (RuntimeError, TypeError):
            raise RuntimeError(
                f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {target})"
            ) from None
        if not result.exists():
            raise RuntimeError(
                f"Attempting to deserialize object on {str(target)!r}, which is not available here. "
                "Hint: use load(..., map_location='cpu')."
            )
        return result

    def _mapped(self, content: Tensor, location: str) -> Tensor:
        """Return the storage to which a function of the program maps one of the file."""
        result = self._map_location(UntypedStorage(content), location)
        if result is None:
            if self._is_default_missing(location):
                raise RuntimeError(
                    f"Attempting to deserialize object on {location!r}, which is not available here. "
                    "Hint: map_location returned None for it; return the storage."
                )
            return content
        if not isinstance(result, UntypedStorage):
            raise TypeError(
                f"load: map_location must return a storage or None, got {type(result).__name__}"
            )
        mapped: Tensor = result._tensor
        return mapped

    @staticmethod
    def _is_default_missing(location: str) -> bool:
        return location.split(":")[0] not in ("cpu", "meta")


def _memory(tensor: Tensor) -> memoryview:
    """Return the bytes of a flat uint8 tensor, to write to."""
    count = tensor.numel()
    return memoryview(ffi.buffer(ffi.cast("char *", tensor.data_ptr()), count) if count else b"")


def _swap_bytes(memory: memoryview, kind: dtype | None) -> None:
    """Reverse the bytes of each number."""
    if kind is None:
        raise RuntimeError("the dtype of a big-endian storage is not known")
    size = kind.itemsize // 2 if kind.is_complex else kind.itemsize
    if size > 1:
        numbers = array({2: "H", 4: "I", 8: "Q"}[size])
        numbers.frombytes(memory)
        numbers.byteswap()
        memory[:] = numbers.tobytes()


class _ZipSource(_Source):
    """The storages of a zip."""

    def __init__(self, file: Any, name: str, map_location: Any, is_mapped: bool) -> None:
        super().__init__(name, map_location)
        self._records = Records(file)
        if "constants.pkl" in self._records:
            raise RuntimeError(
                "it is a TorchScript archive, of torch.jit.save. Hint: save the state_dict() of the "
                "module instead"
            )
        if "byteorder" in self._records:
            byteorder = self._records.read("byteorder", 16)
            if byteorder not in (b"little", b"big"):
                raise RecordError(f"its byte order is {describe(byteorder)}")
            self.byteorder = byteorder.decode()
        self._pages: Any = None
        if is_mapped:
            self._pages = _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY)

    def pickle(self) -> Any:
        """Return the pickle."""
        return self._records.read("data.pkl", _MAX_PICKLE)

    def check(self, key: str, nbytes: int) -> None:
        size = self._records.size(f"data/{key}")
        if size != nbytes:
            raise RecordError(f"the storage {key} has {size} bytes, and {nbytes} are expected")
        self._records.position(f"data/{key}")

    def bytes(self, key: str, kind: dtype | None, nbytes: int) -> Tensor:
        position = self._records.position(f"data/{key}")
        is_swapped = self.byteorder != sys.byteorder and (kind is None or kind.itemsize > 1)
        if self._pages is not None and not is_swapped and position % 8 == 0 and nbytes:
            import numpy as np

            pages = np.frombuffer(self._pages, np.uint8, count=nbytes, offset=position)
            mapped: Tensor = engine.from_numpy(pages)
            return mapped
        content = engine.empty(nbytes, dtype=engine.uint8)
        self._records.read_into(f"data/{key}", _memory(content))
        if is_swapped:
            _swap_bytes(_memory(content), kind)
        return content


class _LegacySource(_Source):
    """The storages of a file without a zip: they follow the object, and are filled after it is read."""

    def __init__(self, file: Any, name: str, map_location: Any) -> None:
        super().__init__(name, map_location)
        self.file = LegacyFile(file)
        self.byteorder = self.file.byteorder
        self._unfilled: dict[str, tuple[Tensor | None, dtype, int]] = {}
        self._later: list[Any] = []
        self._allocated = 0

    def storage(self, pid: Any) -> Any:
        if isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "module":
            return pid[1]  # a class; the others are its file and its source at that time
        if isinstance(pid, tuple) and len(pid) == 6 and isinstance(pid[5], tuple):
            return self._part(super().storage((*pid[:5], None)), pid[5])
        return super().storage(pid)

    def _part(self, storage: _Storage, view: tuple[Any, ...]) -> _Storage:
        """Return a part of a storage: files of the first versions of PyTorch have such views."""
        if len(view) != 3 or not all(type(n) is int and 0 <= n < 2**60 for n in view[1:]):
            raise PickleError(f"a part of a storage is {describe(view)}")
        if storage.content is None or storage.kind is None:
            return storage
        start, end = view[1] * storage.kind.itemsize, (view[1] + view[2]) * storage.kind.itemsize
        if end > storage.content.numel():
            raise PickleError(f"a part of a storage is {describe(view[1:])}, beyond its end")
        return _Storage(storage.content[start:end], storage.kind, self._later)

    def check(self, key: str, nbytes: int) -> None:
        self._allocated += nbytes
        if self._allocated > self.file.remaining:
            raise PickleError(
                f"its storages have {self._allocated} bytes, and {self.file.remaining} remain in the file"
            )

    def bytes(self, key: str, kind: dtype | None, nbytes: int) -> Tensor:
        return engine.zeros(nbytes, dtype=engine.uint8)

    def _read(self, key: str, kind: dtype | None, location: str, count: int) -> _Storage:
        storage = super()._read(key, kind, location, count)
        kind = kind or engine.uint8
        self._unfilled[key] = storage.content, kind, count * kind.itemsize
        storage.later = self._later
        return storage

    def fill(self) -> None:
        """Read the bytes of every storage."""
        keys = self.file.keys()
        if set(keys) != set(self._unfilled):
            raise PickleError("the keys of the storages are not those that its tensors name")
        for key in keys:
            content, kind, nbytes = self._unfilled[key]
            host = content
            if host is None or not host.is_cpu:
                host = engine.empty(nbytes, dtype=engine.uint8)
            self.file.read_into(key, _memory(host), kind.itemsize)
            if self.byteorder != sys.byteorder:
                _swap_bytes(_memory(host), kind)
            if content is not None and content is not host:
                content.copy_(host)
        with engine.no_grad():
            for fill in self._later:
                fill()


# ---- reading


def _unpickler(pickle_module: Any, file: Any, source: _Source, arguments: dict[str, Any]) -> Any:
    """Return an unpickler in which `torch` is the engine. It runs what the file says."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            key = f"{module} {name}"
            if key in _VALUES:
                return _VALUES[key]
            if key in _TENSORS or key == "torch._tensor _rebuild_from_type_v2":
                return _CONSTRUCTORS[key]
            if module == "torch" or module.startswith("torch."):
                return engine_object(module, name)
            return super().find_class(module, name)

        def persistent_load(self, pid: Any) -> Any:
            return source.storage(pid)

    return Unpickler(file, **{"encoding": "utf-8", **arguments})


_DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RuntimeError, EOFError),
    *(OSError, NotImplementedError, MemoryError, RecordError, PickleError),
)


def _refuse(name: str, error: Exception, is_safe: bool) -> Exception:
    """Return the error that says what is wrong with a file."""
    if isinstance(error, (RecordError, RuntimeError)):
        text = str(error)
        return RuntimeError(text if text.startswith("load: ") else f"load: {name}: {text}")
    if isinstance(error, PickleError) or is_safe:
        return pickle.UnpicklingError(f"load: {name}: {error or type(error).__name__}")
    return error  # of the code that the file runs


def read_zip(
    file: Any,
    name: str,
    map_location: Any,
    is_safe: bool,
    is_mapped: bool,
    pickle_module: Any,
    arguments: dict[str, Any],
) -> Any:
    """Return the object of a `.pt` file.

    Raises: RuntimeError for a damaged zip, and tensors that are not within their storages;
    pickle.UnpicklingError for a damaged pickle, or one that contains more than is allowed.
    """
    try:
        source = _ZipSource(file, name, map_location, is_mapped)
        content = source.pickle()
        if not is_safe:
            return _unpickler(pickle_module, BytesIO(content), source, arguments).load()
        return load_pickle(content, _Resolver(source))
    except _DAMAGE as error:
        refused = _refuse(name, error, is_safe)
        if refused is error:
            raise
        raise refused from None


def read_legacy(
    file: Any,
    name: str,
    map_location: Any,
    is_safe: bool,
    pickle_module: Any,
    arguments: dict[str, Any],
) -> Any:
    """Return the object of a file that torch.save wrote before 1.6, or later without the zip."""
    try:
        source = _LegacySource(file, name, map_location)
        if is_safe:
            result = source.file.object(_Resolver(source))
        else:
            result = _unpickler(pickle_module, file, source, arguments).load()
        source.fill()
        return result
    except _DAMAGE as error:
        refused = _refuse(name, error, is_safe)
        if refused is error:
            raise
        raise refused from None
