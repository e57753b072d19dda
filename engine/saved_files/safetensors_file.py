"""Tensors and containers of them as one safetensors file.

The file has the format of the `safetensors` package: a JSON header and the tensors' bytes. The nesting of the
containers and all other values are JSON in its metadata (engine/pytree_json.py), so that any reader of the
format can read every tensor, under its path: `optimizer.state.0.exp_avg`. Reading executes no code.

Memory that tensors share is written once and is shared again after loading: tied weights under the name
of the first, and views that overlap, or are not contiguous, as one flat tensor and an offset, sizes and
strides for each. Tensors of one Storage that do not overlap are written separately.
"""

from __future__ import annotations

import io
import json
import math
import mmap as _mmap
import os
from dataclasses import dataclass
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import last_error, raise_last
from engine._native.interrupt import listen
from engine._native.namespace import namespace
from engine.dtypes import DTYPES, as_device, at_location, bfloat16, complex128, device, dtype, int16
from engine.pytree_json import Reader, Writer
from engine.storage import UntypedStorage, flat_bytes, on_host, readable_address, rebuild

__all__ = ["read_safetensors", "write_safetensors"]

_KEY = "underhood"  # of the metadata
_VERSION = 2  # of the metadata's layout; version 1 has no views
_NAMES = {  # in the format; complex128, which it does not have, is written as pairs of F64
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "C64": "complex64",
}  # fmt: skip
_BY_NAME: dict[str, dtype] = {kind.name: kind for kind in DTYPES}


# ---- writing


def write_safetensors(obj: Any, f: Any) -> None:
    """Write tensors and containers of them as one safetensors file."""
    tensors = _Tensors()
    tree = Writer(tensors.note).node(obj)
    dense = tensors.written()
    metadata = {_KEY: json.dumps({"version": tensors.version, "root": tree}, separators=(",", ":"))}
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
            data_ptr=readable_address(tensor),
            data_len=tensor.nbytes,
        )
        for name, tensor in tensors.items()
    }
    return bytes(serialize(specs, metadata))


def _write(path: Any, tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    """Write the file through the library, which replaces it atomically: csrc/jit/serialization/output_file.h."""
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
    """The tensors of one file, and the name under which each memory range is written."""

    def __init__(self) -> None:
        self.version = 1
        self._entries: list[_TensorEntry] = []
        self._copies: dict[int, Any] = {}  # of Storages on devices

    def note(self, suggested: str, tensor: Any) -> Any:
        """Return the JSON value for a tensor, which `written` completes."""
        if tensor.is_meta:
            raise RuntimeError(f"save: {suggested} is a meta tensor: it has no elements to save")
        content: dict[str, Any] = {"name": ""}
        if tensor.requires_grad:
            content["requires_grad"] = True
        if tensor.dtype is complex128:
            content["complex"] = True
        if not tensor.is_cpu:
            content["device"] = str(tensor.device)
        host = on_host(tensor.detach(), self._copies)
        self._entries.append(_TensorEntry(suggested, host, content))
        return {"tensor": content}

    def written(self) -> dict[str, Any]:
        """Return the tensors to write by name: contiguous, each memory range once."""
        by_name: dict[str, Any] = {}
        for cluster in _clusters(self._entries):
            name = _free(cluster[0].name, by_name)
            first = cluster[0].tensor
            same = all(_same(first, each.tensor) for each in cluster)
            if same and not any(0 in each.tensor.stride() for each in cluster):
                by_name[name] = _as_pairs(first.contiguous())
            else:
                by_name[name] = _write_views(cluster)
                same = False
            for each in cluster:
                each.content["name"] = name
                if same and not first.is_contiguous():
                    each.content["strides"] = list(first.stride())
            if not (same and first.is_contiguous()):
                self.version = _VERSION
        return by_name


@dataclass(slots=True)
class _TensorEntry:
    """A tensor, its suggested name, and its JSON value."""

    name: str
    tensor: Any
    content: dict[str, Any]

    @property
    def start(self) -> int:
        """The address of the first element."""
        return int(self.tensor.data_ptr())

    @property
    def end(self) -> int:
        """The address after the last element."""
        pairs = zip(self.tensor.shape, self.tensor.stride(), strict=True)
        last = sum((size - 1) * stride for size, stride in pairs)
        return self.start + int(last + 1) * int(self.tensor.itemsize)


def _clusters(entries: list[_TensorEntry]) -> list[list[_TensorEntry]]:
    """Group the tensors whose memory overlaps, in the order in which they were noted."""
    clusters: list[list[_TensorEntry]] = [[each] for each in entries if each.tensor.numel() == 0]
    end = 0
    for each in sorted((n for n in entries if n.tensor.numel()), key=lambda n: n.start):
        if each.start >= end:
            clusters.append([])
        clusters[-1].append(each)
        end = max(end, each.end) if len(clusters[-1]) > 1 else each.end
    order = {id(each): number for number, each in enumerate(entries)}
    for cluster in clusters:
        cluster.sort(key=lambda n: order[id(n)])
    return sorted(clusters, key=lambda cluster: order[id(cluster[0])])


def _same(a: Any, b: Any) -> bool:
    """Return True if both tensors have the same elements in memory."""
    return bool(
        a.data_ptr() == b.data_ptr()
        and a.shape == b.shape
        and a.stride() == b.stride()
        and a.dtype is b.dtype
    )


def _write_views(cluster: list[_TensorEntry]) -> Any:
    """Return the memory that tensors share as a flat tensor, and add each tensor's position to its JSON value:
    {"view": [offset, sizes, strides]}, in elements, and "dtype" if it differs from the flat tensor's."""
    import engine

    start, end = min(each.start for each in cluster), max(each.end for each in cluster)
    kinds = {each.tensor.dtype for each in cluster}
    grid = max(each.tensor.itemsize for each in cluster)  # every element starts at a multiple of it
    skipped = start % grid if len(kinds) > 1 else 0
    for each in cluster:
        if (skipped + each.start - start) % each.tensor.itemsize:
            raise RuntimeError(
                f"save: {cluster[0].name} and {each.name} share memory, and the elements of one begin "
                "within those of the other; save a .clone() of one"
            )
    flat = engine.zeros(-(-(skipped + end - start) // grid) * grid, dtype=engine.uint8)
    at = ffi.cast("char *", flat.data_ptr()) + skipped
    ffi.memmove(at, ffi.cast("char *", start), end - start)
    for each in cluster:
        tensor = each.tensor
        offset = (skipped + each.start - start) // tensor.itemsize
        each.content["view"] = [offset, list(tensor.shape), list(tensor.stride())]
        if len(kinds) > 1:
            each.content.pop("complex", None)
            each.content["dtype"] = tensor.dtype.name
    return flat if len(kinds) > 1 else _as_pairs(flat.view(kinds.pop()))


def _free(suggested: str, used: dict[str, Any]) -> str:
    """Return a name that is not used in the file yet."""
    if suggested == "__metadata__":
        suggested = "tensor.__metadata__"
    # Any string may be a key of a dict; a name in the file is UTF-8, and ends at a NUL.
    suggested = suggested.replace("\0", "\\0").encode(errors="backslashreplace").decode()
    name, number = suggested, 2
    while name in used:
        name, number = f"{suggested}#{number}", number + 1
    return name


# ---- reading


def read_safetensors(f: Any, map_location: Any, is_mapped: bool) -> Any:
    """Return the object of a safetensors file."""
    if hasattr(f, "read"):
        content = f.read()
        if not isinstance(content, bytes):
            raise TypeError(
                f"load: the file gives {type(content).__name__}; open it with mode 'rb'"
            )
        _validate_bytes(content, "the file")
        return _Loaded(_FromFile(io.BytesIO(content)), "the file", map_location).value()
    path = os.fspath(f)
    with open(path, "rb") as file:
        _validate_file(path, file)
        if not is_mapped:
            return _Loaded(_FromFile(file), repr(path), map_location).value()
        pages = _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY)
        return _Loaded(_FromPages(pages), repr(path), map_location).value()


def _validate_file(path: Any, file: Any) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass  # it opened, so the header is consistent with the file's size
    except SafetensorError as error:
        raise _refusal(repr(path), file.read(8), error) from None


def _validate_bytes(content: bytes, name: str) -> None:
    from safetensors import SafetensorError, deserialize

    try:
        deserialize(content)
    except SafetensorError as error:
        raise _refusal(name, content[:8], error) from None


def _refusal(name: str, start: bytes, error: Exception) -> RuntimeError:
    if start.startswith(b"\x80"):
        return RuntimeError(
            f"load: {name} is a pickle, but not of torch.save. Hint: read it with Python's pickle, if you "
            "trust it"
        )
    return RuntimeError(f"load: {name} is not a whole safetensors file: {error}")


class _FromFile:
    """Reads each tensor from an open file into new memory."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def bytes(self, start: int, end: int) -> bytes:
        self.file.seek(start)
        content: bytes = self.file.read(end - start)
        return content

    def tensor(self, start: int, kind: dtype, sizes: tuple[int, ...]) -> Any:
        from engine import empty

        result = empty(sizes, dtype=kind)
        memory = memoryview(ffi.buffer(ffi.cast("char *", result.data_ptr()), result.nbytes))
        self.file.seek(start)
        while memory:
            count = self.file.readinto(memory)
            if not count:
                raise RuntimeError("load: the file became shorter while it was read")
            memory = memory[count:]
        return result


class _FromPages:
    """Returns tensors over the pages of a mapped file."""

    def __init__(self, pages: Any) -> None:
        self.pages = pages

    def bytes(self, start: int, end: int) -> bytes:
        content: bytes = self.pages[start:end]
        return content

    def tensor(self, start: int, kind: dtype, sizes: tuple[int, ...]) -> Any:
        import numpy as np

        from engine import from_numpy

        count = math.prod(sizes) * kind.itemsize
        flat = np.frombuffer(self.pages, np.uint8, count=count, offset=start)
        if flat.ctypes.data % kind.itemsize:  # other writers need not align tensors
            flat = flat.copy()
        stored = int16 if kind is bfloat16 else kind  # NumPy has no bfloat16
        result = from_numpy(flat.view(stored.typestr).reshape(sizes))
        return result if stored is kind else result.view(kind)


def _existing(target: device) -> device:
    """Return the device. Raises: RuntimeError if it is one of a backend that is not here."""
    is_known = lib.uh_device_type(target.type.encode()) >= 0
    if is_known and not target.exists():
        raise RuntimeError(
            f"Attempting to deserialize object on {str(target)!r}, which is not available here. "
            "Hint: use load(..., map_location='cpu')."
        )
    return target


class _Loaded:
    """The content of one file whose header is valid."""

    def __init__(self, source: _FromFile | _FromPages, name: str, map_location: Any) -> None:
        self.source = source
        self.name = name
        # Where all tensors go, or where a tensor goes by where it was.
        is_rule = isinstance(map_location, dict) or (
            callable(map_location) and not isinstance(map_location, (str, device))
        )
        self.target_device: device | None = None
        if map_location is not None and not is_rule:
            self.target_device = _existing(as_device(map_location, "load"))
        self.rule = map_location if is_rule else None
        self.start = 8 + int.from_bytes(source.bytes(0, 8), "little")
        self.header: dict[str, Any] = json.loads(source.bytes(8, self.start))
        self.metadata: dict[str, str] = self.header.pop("__metadata__", None) or {}
        for tensor, entry in self.header.items():
            if entry["dtype"] not in _NAMES:
                raise TypeError(
                    f"load: {tensor!r} in {name} has dtype {entry['dtype']}, which the engine does "
                    f"not have; it has {', '.join(_NAMES)}"
                )
        self._tensors: dict[Any, Any] = {}  # by name, or by name and strides
        self._copies: dict[tuple[int, str], Any] = {}  # of Storages, by id and device

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
                f"load: {self.name} has metadata that {namespace()}.save did not write: {error}"
            ) from error

    def _node(self, content: Any) -> Any:
        if content["name"] not in self.header:
            raise ValueError(f"there is no tensor {content['name']!r} in the file")
        result = self.tensor(content["name"])
        if content.get("complex") is True:
            from engine import view_as_complex

            result = view_as_complex(result)
        if "view" in content:
            offset, sizes, strides = content["view"]
            if "dtype" in content:
                result = result.view(_BY_NAME[content["dtype"]])
            result = result.as_strided(sizes, strides, offset)
        elif "strides" in content:
            result = self._strided(content["name"], result, tuple(content["strides"]))
        if self.target_device is None and ("device" in content or self.rule is not None):
            result = self._on(content.get("device", "cpu"), result)
        result = result.detach()
        return result.requires_grad_() if content.get("requires_grad") is True else result

    def _on(self, name: str, host: Any) -> Any:
        """Return the tensor where it was saved, or where the rule says; tensors over one Storage share its copy."""
        key = int(lib.uh_storage_id(host._h)), name
        if key not in self._copies:
            self._copies[key] = self._moved(name, flat_bytes(host))
        layout = tuple(host.shape), host.stride(), host.storage_offset()
        return rebuild(host.dtype, *layout, self._copies[key], False)

    def _moved(self, name: str, content: Any) -> Any:
        """Return the bytes of a storage that was on the device `name`."""
        if isinstance(self.rule, dict):
            name = at_location(self.rule, name)
        elif self.rule is not None:
            result = self.rule(UntypedStorage(content), name)
            if result is not None:
                return result._tensor
        return content.to(_existing(as_device(name, "load")))

    def _strided(self, name: str, rows: Any, strides: tuple[int, ...]) -> Any:
        """Return a copy with other strides: the same one for every reference to it."""
        from engine import empty_strided

        if (name, strides) not in self._tensors:
            copy = empty_strided(rows.shape, strides, dtype=rows.dtype, device=rows.device)
            self._tensors[name, strides] = copy.copy_(rows)
        return self._tensors[name, strides]

    def tensor(self, name: str) -> Any:
        """Return a tensor of the file: the same one for every reference to it."""
        if name not in self._tensors:
            result = self._read(name)
            self._tensors[name] = (
                result if self.target_device is None else result.to(self.target_device)
            )
        return self._tensors[name]

    def _read(self, name: str) -> Any:
        from engine import empty

        entry = self.header[name]
        kind, sizes = _BY_NAME[_NAMES[entry["dtype"]]], tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        if begin == end:
            return empty(sizes, dtype=kind)
        return self.source.tensor(self.start + begin, kind, sizes)
