"""save, load and freeze of compiled modules: one safetensors file, without a pickle.

The tensors lie in it as in any safetensors file, under their attribute paths; classes, graphs and
plain attributes are JSON in its metadata. Reading parses and checks all of it, and executes nothing.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.jit.answers import number_of, text_of
from engine.jit.function import ScriptFunction
from engine.jit.module import ScriptModule
from engine.jit.values import ObjectBox
from engine.nn import Module


def save(m: Any, f: Any, extra_files: dict[str, str] | None = None) -> None:
    """Writes a ScriptModule or ScriptFunction.

    f: a path, written beside and renamed when it is complete, or an object with `write`.
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


def to_bytes(m: Any, extra_files: dict[str, str] | None = None) -> bytes:
    """What `save` writes."""
    buffer = io.BytesIO()
    save(m, buffer, extra_files)
    return buffer.getvalue()


def _write(box: ObjectBox, path: str, extra: dict[str, str]) -> None:
    texts = [text for pair in extra.items() for text in pair]
    kept = [ffi.new("char[]", _plain(text).encode()) for text in texts]
    number_of(lib.uh_jit_save(box.handle, os.fsencode(path), kept, len(extra)))


def _plain(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


def load(f: Any, map_location: Any = None, extra_files: dict[str, Any] | None = None) -> Any:
    """What `save` wrote, as a ScriptModule; its tensors are the pages of the mapped file.

    f: a path, or an object with `read`. extra_files: its keys get what the file has of them, as bytes.
    Raises: RuntimeError for a file that is damaged or holds no model, with what is wrong.
    """
    from engine.dtypes import as_device

    if map_location is not None:
        as_device(map_location, "jit.load")
    if hasattr(f, "read"):
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            shutil.copyfileobj(f, file)
            file.flush()
            return _read(file.name, map_location, extra_files)
    return _read(os.fspath(f), map_location, extra_files)


def _read(path: str, map_location: Any, extra_files: dict[str, Any] | None) -> ScriptModule:
    name = os.fsencode(path)
    if not os.path.exists(path):
        raise ValueError(f"The provided filename {path} does not exist")
    if os.path.isdir(path):
        raise ValueError(f"The provided filename {path} is a directory")
    module = ScriptModule(ObjectBox(lib.uh_jit_load(name)))
    if extra_files is not None:
        texts = json.loads(text_of(lib.uh_jit_extra(name)))
        wanted = {key: text.encode() for key, text in texts.items() if key in extra_files}
        extra_files.update(wanted)
    return module if map_location is None else module.to(map_location)


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
