"""save and load: tensors and containers of them as one safetensors file.

The file is what the `safetensors` package writes: a JSON header and the tensors' bytes. How they are
nested, and the values that are no tensors, are JSON in its metadata (engine/saved_tree.py), so that
any reader of the format finds every tensor, under its path: `optimizer.state.0.exp_avg`. Reading
executes nothing: a pickle, which is what `torch.save` writes, is refused.

Memory that tensors share: tensors over exactly the same elements (tied weights) are written once, and
share memory again after loading. Tensors that overlap otherwise are refused; those that lie apart in
one Storage are written each by itself.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import mmap as _mmap
import os
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import last_error, raise_last
from engine._native.interrupt import listen
from engine.dtypes import DTYPES, as_device, bfloat16, complex128, device, dtype, int16
from engine.saved_tree import Reader, Writer

__all__ = ["load", "save"]

_KEY = "underhood"  # of the metadata
_VERSION = 1  # of the form of its value
_NAMES = {  # in the format; complex128, which it does not have, is written as pairs of F64
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64",
}  # fmt: skip
_BY_NAME: dict[str, dtype] = {kind.name: kind for kind in DTYPES}


# ---- writing


def save(obj: Any, f: Any) -> None:
    """Writes tensors, and dicts, lists, tuples and plain values that contain them, to one file.

    f: a path, or an object with `write`. A path gets the new file when it is complete: a program that
    has mapped the old file keeps it, and a save that fails leaves it as it was. Permissions and
    symbolic links stay; devices, pipes and /dev/stdout are written into; other hard links of the file
    keep the old content. `requires_grad` is kept, the graph is not. Memory: contiguous tensors are
    written from where they are.
    Raises: TypeError for values that cannot be written, RuntimeError for meta tensors and for tensors
    that overlap in memory without being the same, ValueError for containers that contain themselves.

    >>> import io; file = io.BytesIO()
    >>> save({"w": engine.ones(2), "epoch": 3}, file); _ = file.seek(0); load(file)
    {'w': tensor([1., 1.]), 'epoch': 3}
    """
    tensors = _Tensors()
    tree = Writer(tensors.note).node(obj)
    tensors.refuse_overlaps()
    metadata = {_KEY: json.dumps({"version": _VERSION, "root": tree}, separators=(",", ":"))}
    dense = {name: _as_pairs(x.detach()).contiguous() for name, x in tensors.by_name.items()}
    if hasattr(f, "write"):
        f.write(_serialized(dense, metadata))
    else:
        _write(os.fspath(f), dense, metadata)


def _serialized(tensors: dict[str, Any], metadata: dict[str, str]) -> bytes:
    from safetensors import TensorSpec, serialize

    specs = {
        name: TensorSpec(
            dtype=tensor.dtype.name,
            shape=list(tensor.shape),
            data_ptr=tensor.data_ptr(),
            data_len=tensor.nbytes,
        )
        for name, tensor in tensors.items()
    }
    return bytes(serialize(specs, metadata))


def _write(path: Any, tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    """Through the library, which knows how a file is replaced: csrc/jit/model/output_file.h."""
    listen()
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("embedded null byte")
    writer = lib.uh_archive_writer_new()
    try:
        for key, text in metadata.items():
            lib.uh_archive_writer_set_metadata(writer, key.encode(), text.encode())
        for key, tensor in tensors.items():
            if lib.uh_archive_writer_add(writer, key.encode(), tensor._h) == ffi.NULL:
                raise_last()
        if lib.uh_archive_writer_write(writer, name) != 0:
            code = ffi.errno
            error = last_error()
            if code and isinstance(error, RuntimeError):
                raise OSError(code, os.strerror(code), path)
            raise error
    finally:
        lib.uh_archive_writer_free(writer)


def _as_pairs(tensor: Any) -> Any:
    if tensor.dtype is not complex128:
        return tensor
    from engine import view_as_real

    return view_as_real(tensor)


class _Tensors:
    """The tensors of one file by name, each memory once."""

    def __init__(self) -> None:
        self.by_name: dict[str, Any] = {}
        self._places: dict[tuple[Any, ...], str] = {}

    def note(self, suggested: str, tensor: Any) -> Any:
        """The JSON value for a tensor, which is now part of the file."""
        if tensor.is_meta:
            raise RuntimeError(f"save: {suggested} is a meta tensor: it has no elements to save")
        place = _place(tensor)
        name = self._places.get(place) if place else None
        if name is None:
            name = self._free(suggested)
            self.by_name[name] = tensor
            if place:
                self._places[place] = name
        content: dict[str, Any] = {"name": name}
        if tensor.requires_grad:
            content["requires_grad"] = True
        if tensor.dtype is complex128:
            content["complex"] = True
        return {"tensor": content}

    def _free(self, suggested: str) -> str:
        if suggested == "__metadata__":
            suggested = "tensor.__metadata__"
        # Any string may be a key of a dict; a name in the file is UTF-8, and ends at a NUL.
        suggested = suggested.replace("\0", "\\0").encode(errors="backslashreplace").decode()
        name, number = suggested, 2
        while name in self.by_name:
            name, number = f"{suggested}#{number}", number + 1
        return name

    def refuse_overlaps(self) -> None:
        """RuntimeError for tensors whose bytes overlap: they would come back as separate copies."""
        spans = sorted(
            (place[0], place[0] + _extent(self.by_name[name]), name)
            for place, name in self._places.items()
        )
        for (_, end, first), (start, _, second) in itertools.pairwise(spans):
            if start < end:
                raise RuntimeError(
                    f"save: {first} and {second} share memory, and are not the same tensor: "
                    "loaded they would be two; save a .clone() of one, or the tensor both are views of"
                )


def _place(tensor: Any) -> tuple[Any, ...]:
    """What is equal for tensors over the same elements; () where there are none."""
    if tensor.numel() == 0:
        return ()
    return (tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)


def _extent(tensor: Any) -> int:
    """Bytes from the first to behind the last element."""
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return int((last + 1) * tensor.itemsize)


# ---- reading


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """What `save` wrote; of any other safetensors file, a dict of its tensors by name.

    f: a path, or an object with `read`. map_location: the device for all tensors ("cpu", "meta").
    mmap=True: the tensors are the file's pages, read when they are touched (a path only); writing to
    them does not change the file, and a program that truncates it ends this one. weights_only: files
    hold nothing else, True and False are one.
    Raises: FileNotFoundError; RuntimeError for a file that is damaged, cut short or of another format
    (pickles among them, which are never executed); TypeError for dtypes the engine does not have.
    """
    if pickle_module is not None:
        raise TypeError("load: there are no pickles in these files, so no pickle_module is used")
    place = None if map_location is None else as_device(map_location, "load")
    if hasattr(f, "read"):
        if mmap:
            raise ValueError("load: mmap=True needs a path, got an open file")
        content = f.read()
        if not isinstance(content, bytes):
            raise TypeError(
                f"load: the file gives {type(content).__name__}; open it with mode 'rb'"
            )
        _validate_bytes(content, "the file")
        return _Loaded(_FromFile(io.BytesIO(content)), "the file", place).value()
    path = os.fspath(f)
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise RuntimeError(f"load: {path!r} is empty")
        _validate_file(path, file)
        if not mmap:
            return _Loaded(_FromFile(file), repr(path), place).value()
        pages = _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY)
        return _Loaded(_FromPages(pages), repr(path), place).value()


def _validate_file(path: Any, file: Any) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass  # opened: the header holds together with the file's size
    except SafetensorError as error:
        raise _refusal(repr(path), file.read(8), error) from None


def _validate_bytes(content: bytes, name: str) -> None:
    from safetensors import SafetensorError, deserialize

    try:
        deserialize(content)
    except SafetensorError as error:
        raise _refusal(name, content[:8], error) from None


def _refusal(name: str, start: bytes, error: Exception) -> RuntimeError:
    if start.startswith((b"PK\x03\x04", b"\x80")):
        return RuntimeError(
            f"load: {name} is a pickle, as torch.save writes them, and not a safetensors file: pickles "
            "can run any code, and are not read; write it again with safetensors.torch.save_file"
        )
    return RuntimeError(f"load: {name} is not a whole safetensors file: {error}")


class _FromFile:
    """Tensors are read from an open file into memory of their own."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def bytes(self, start: int, end: int) -> bytes:
        self.file.seek(start)
        found: bytes = self.file.read(end - start)
        return found

    def tensor(self, start: int, kind: dtype, sizes: tuple[int, ...]) -> Any:
        from engine import empty

        made = empty(sizes, dtype=kind)
        memory = memoryview(ffi.buffer(ffi.cast("char *", made.data_ptr()), made.nbytes))
        self.file.seek(start)
        while memory:
            count = self.file.readinto(memory)
            if not count:
                raise RuntimeError("load: the file became shorter while it was read")
            memory = memory[count:]
        return made


class _FromPages:
    """Tensors are the pages of a mapped file."""

    def __init__(self, pages: Any) -> None:
        self.pages = pages

    def bytes(self, start: int, end: int) -> bytes:
        found: bytes = self.pages[start:end]
        return found

    def tensor(self, start: int, kind: dtype, sizes: tuple[int, ...]) -> Any:
        import numpy as np

        from engine import from_numpy

        count = math.prod(sizes) * kind.itemsize
        flat = np.frombuffer(self.pages, np.uint8, count=count, offset=start)
        if flat.ctypes.data % kind.itemsize:  # other writers need not align tensors
            flat = flat.copy()
        stored = int16 if kind is bfloat16 else kind  # NumPy has no bfloat16
        made = from_numpy(flat.view(stored.typestr).reshape(sizes))
        return made if stored is kind else made.view(kind)


class _Loaded:
    """The content of one file whose header is valid."""

    def __init__(self, source: _FromFile | _FromPages, name: str, place: device | None) -> None:
        self.source = source
        self.name = name
        self.place = place
        self.start = 8 + int.from_bytes(source.bytes(0, 8), "little")
        self.header: dict[str, Any] = json.loads(source.bytes(8, self.start))
        self.metadata: dict[str, str] = self.header.pop("__metadata__", None) or {}
        for tensor, entry in self.header.items():
            if entry["dtype"] not in _NAMES:
                raise TypeError(
                    f"load: {tensor!r} in {name} has dtype {entry['dtype']}, which the engine does "
                    f"not have; it has {', '.join(_NAMES)}"
                )
        self._made: dict[str, Any] = {}

    def value(self) -> Any:
        if _KEY not in self.metadata:
            order = sorted(self.header, key=lambda name: self.header[name]["data_offsets"])
            return {name: self.tensor(name) for name in order}
        try:
            tree = json.loads(self.metadata[_KEY])
            version = tree["version"]
            if version > _VERSION:
                raise RuntimeError(
                    f"load: {self.name} was written by a newer version of the engine: it has version "
                    f"{version} of the form, and this engine reads up to version {_VERSION}"
                )
            return Reader(self._node).value(tree["root"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RuntimeError(
                f"load: {self.name} has metadata that engine.save did not write: {error}"
            ) from error

    def _node(self, content: Any) -> Any:
        if content["name"] not in self.header:
            raise ValueError(f"there is no tensor {content['name']!r} in the file")
        made = self.tensor(content["name"])
        if content.get("complex") is True:
            from engine import view_as_complex

            made = view_as_complex(made)
        made = made.detach()
        return made.requires_grad_() if content.get("requires_grad") is True else made

    def tensor(self, name: str) -> Any:
        """One tensor; the same memory when it is asked for again."""
        if name not in self._made:
            made = self._read(name)
            self._made[name] = made if self.place is None else made.to(self.place)
        return self._made[name]

    def _read(self, name: str) -> Any:
        from engine import empty

        entry = self.header[name]
        kind, sizes = _BY_NAME[_NAMES[entry["dtype"]]], tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        if begin == end:
            return empty(sizes, dtype=kind)
        return self.source.tensor(self.start + begin, kind, sizes)
