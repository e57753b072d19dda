"""Files of compiled modules: one safetensors file, without a pickle.

The tensors are stored as in any safetensors file, under their attribute paths; classes, graphs and
plain attributes are JSON in its metadata. Reading parses and checks all of it, and executes nothing.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from typing import Any

from engine._native import ffi, lib
from engine.jit.c_results import c_integer
from engine.jit.types.ivalues import ObjectBox


def write(box: ObjectBox, f: Any, extra_files: dict[str, Any] | None = None) -> None:
    """Writes a module to a path, whose file is replaced when the new one is complete, or to an object with
    `write`."""
    if not hasattr(f, "write"):
        _write(box, os.fspath(f), extra_files or {})
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        _write(box, path, extra_files or {})
        with open(path, "rb") as file:
            shutil.copyfileobj(file, f)


def to_bytes(box: ObjectBox, extra_files: dict[str, Any] | None = None) -> bytes:
    """Returns the bytes that `write` writes."""
    buffer = io.BytesIO()
    write(box, buffer, extra_files)
    return buffer.getvalue()


def _write(box: ObjectBox, path: str, extra: dict[str, Any]) -> None:
    files = ffi.new("uh_extra_file[]", len(extra))
    buffers = []  # must outlive `files`, which points at them
    for file, (name, content) in zip(files, extra.items(), strict=True):
        if isinstance(content, str):
            content = content.encode()
        buffers += [ffi.new("char[]", _c_string(name, "name of an extra file")), content]
        file.name, file.bytes, file.size = buffers[-2], ffi.from_buffer(content), len(content)
    c_integer(lib.uh_jit_save(box.handle, _c_string(os.fsencode(path), "path"), files, len(extra)))


def _c_string(text: str | bytes, role: str) -> bytes:
    """Encodes a string for C. Raises: ValueError for a NUL within."""
    content = text.encode() if isinstance(text, str) else text
    if b"\0" in content:
        raise ValueError(f"the {role} holds a NUL: {text!r}")
    return content


def open_archive(f: Any, mmap: bool | None) -> int:
    """Opens a `uh_archive` from a path, or from an object with `read`."""
    if hasattr(f, "read"):
        if mmap:
            raise ValueError("jit.load: mmap=True needs a path, got an open file")
        content = f.read()
        return int(lib.uh_archive_of_bytes(ffi.from_buffer(content), len(content)))
    path = os.fspath(f)
    if not os.path.exists(path):
        raise ValueError(f"The provided filename {path} does not exist")
    if os.path.isdir(path):
        raise ValueError(f"The provided filename {path} is a directory")
    name = os.fsencode(path)
    return int(lib.uh_archive_map(name) if mmap else lib.uh_archive_open(name))


def extra_file(archive: int, name: str) -> bytes | None:
    size = ffi.new("size_t *")
    content = lib.uh_jit_extra(archive, name.encode(), size)
    if content != ffi.NULL:
        return bytes(ffi.buffer(content, size[0]))
    return None
