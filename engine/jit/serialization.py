"""save, load and freeze of compiled modules: one safetensors file, without a pickle.

The tensors lie in it as in any safetensors file, under their attribute paths; classes, graphs and
plain attributes are JSON in its metadata. Reading parses and checks all of it, and executes nothing.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.jit.c_results import c_integer
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.types.ivalues import ObjectBox
from engine.nn import Module


def save(m: Any, f: Any, extra_files: dict[str, Any] | None = None) -> None:
    """Writes a ScriptModule or ScriptFunction.

    f: a path, which gets the new file when it is complete (as `engine.save`), or an object with
    `write`. extra_files: bytes or strings that go along, by name.
    Raises: TypeError for what is not compiled, RuntimeError for attributes that have no form in a file.
    """
    if isinstance(m, ScriptFunction):
        box = ObjectBox(lib.uh_function_module(m._native.handle))
    elif isinstance(m, ScriptModule):
        box = m._script_object
    else:
        what = "a module; script or trace it first" if isinstance(m, Module) else type(m).__name__
        raise TypeError(f"jit.save: expected a ScriptModule or ScriptFunction, got {what}")
    if not hasattr(f, "write"):
        _write(box, os.fspath(f), extra_files or {})
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        _write(box, path, extra_files or {})
        with open(path, "rb") as file:
            shutil.copyfileobj(file, f)


def to_bytes(m: Any, extra_files: dict[str, Any] | None = None) -> bytes:
    """What `save` writes."""
    buffer = io.BytesIO()
    save(m, buffer, extra_files)
    return buffer.getvalue()


def _write(box: ObjectBox, path: str, extra: dict[str, Any]) -> None:
    files = ffi.new("uh_extra_file[]", len(extra))
    buffers = []  # as long as `files` points at them
    for file, (name, content) in zip(files, extra.items(), strict=True):
        if isinstance(content, str):
            content = content.encode()
        buffers += [ffi.new("char[]", _c_string(name, "name of an extra file")), content]
        file.name, file.bytes, file.size = buffers[-2], ffi.from_buffer(content), len(content)
    c_integer(lib.uh_jit_save(box.handle, _c_string(os.fsencode(path), "path"), files, len(extra)))


def _c_string(text: str | bytes, role: str) -> bytes:
    """What C reads to its end. Raises: ValueError for a NUL within."""
    content = text.encode() if isinstance(text, str) else text
    if b"\0" in content:
        raise ValueError(f"the {role} holds a NUL: {text!r}")
    return content


def load(
    f: Any,
    map_location: Any = None,
    extra_files: dict[str, Any] | None = None,
    mmap: bool | None = None,
) -> Any:
    """What `save` wrote, as a ScriptModule.

    f: a path, or an object with `read`. extra_files: its keys get what the file has of them, as bytes.
    mmap=True: its tensors are the file's pages (a path only), as in `engine.load`.
    Raises: RuntimeError for a file that is damaged, holds no model, or was written by a newer version.
    """
    from engine.dtypes import as_device

    if map_location is not None:
        as_device(map_location, "jit.load")
    archive = _open(f, mmap)
    if not archive:
        raise_last()
    try:
        module = ScriptModule(ObjectBox(lib.uh_jit_load_archive(archive)))
        for name in extra_files or {}:
            content = _extra_file(archive, name)
            if content is not None:
                extra_files[name] = content  # type: ignore[index]  # there is a name: not None
    finally:
        lib.uh_archive_close(archive)
    return module if map_location is None else module.to(map_location)


def _open(f: Any, mmap: bool | None) -> int:
    """A `uh_archive`: of a path, or of what an object reads."""
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


def _extra_file(archive: int, name: str) -> bytes | None:
    size = ffi.new("size_t *")
    content = lib.uh_jit_extra(archive, name.encode(), size)
    if content != ffi.NULL:
        return bytes(ffi.buffer(content, size[0]))
    return None


def freeze(mod: ScriptModule, preserved: list[str], optimize_numerics: bool) -> ScriptModule:
    """A ScriptModule of one graph, with the module's attributes as constants.

    Raises: RuntimeError for a module in training mode, and for one that sets its attributes.
    """
    if not isinstance(mod, ScriptModule):
        raise ValueError(f"jit.freeze: expected a ScriptModule, got {type(mod).__name__}")
    names = [ffi.new("char[]", name.encode()) for name in preserved]
    handle = lib.uh_jit_freeze(mod._script_object.handle, names, len(names), optimize_numerics)
    if not handle:
        raise_last()
    return ScriptModule(ObjectBox(handle), dict(mod._signatures))
