"""`jit.save`, `jit.load` and `jit.freeze`."""

from __future__ import annotations

from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.dtypes import as_device
from engine.jit.runtime import archive
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.types.ivalues import ObjectBox
from engine.nn import Module


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Writes a scripted function or module to one safetensors file, which C and C++ read as well.

    f: a path, whose file is replaced when the new one is complete (as in `engine.save`), or an object
    with `write`. _extra_files: additional bytes or strings to store, by name.
    Raises: TypeError for an object that is not compiled, RuntimeError for attributes that cannot be
    saved.
    """
    if not isinstance(m, (ScriptFunction, ScriptModule)):
        description = (
            "a module; script or trace it first" if isinstance(m, Module) else type(m).__name__
        )
        raise TypeError(f"jit.save: expected a ScriptModule or ScriptFunction, got {description}")
    m.save(f, _extra_files)


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    *,
    mmap: bool | None = None,
) -> Any:
    """Reads a file of `save` as a ScriptModule; nothing in it is executed.

    f: a path, or an object with `read`. _extra_files: the values of its keys are set to the file's, as
    bytes. mmap=True maps the tensors from the file (a path only), as in `engine.load`.
    Raises: RuntimeError for a file that is damaged, holds no model, or was written by a newer version.
    """
    if map_location is not None:
        as_device(map_location, "jit.load")
    handle = archive.open_archive(f, mmap)
    if not handle:
        raise_last()
    try:
        module = ScriptModule(ObjectBox(lib.uh_jit_load_archive(handle)))
        for name in _extra_files or {}:
            content = archive.extra_file(handle, name)
            if content is not None:
                _extra_files[name] = content  # type: ignore[index]  # there is a name: not None
    finally:
        lib.uh_archive_close(handle)
    return module if map_location is None else module.to(map_location)


def freeze(
    mod: ScriptModule, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> ScriptModule:
    """Returns a module in eval mode whose attributes have become constants of its graph.

    `preserved_attrs` names attributes to keep, and methods besides forward to keep callable. With
    `optimize_numerics` a batch_norm is folded into copies of the weights of the convolution or linear
    (of matrices) before it, which rounds differently; other constants share memory with the module.
    Raises: ValueError for anything but a ScriptModule, RuntimeError for one in training mode, one
    that sets an attribute which is not preserved, and a name that it does not have.
    """
    if not isinstance(mod, ScriptModule):
        raise ValueError(f"jit.freeze: expected a ScriptModule, got {type(mod).__name__}")
    names = [ffi.new("char[]", name.encode()) for name in preserved_attrs or []]
    handle = lib.uh_jit_freeze(mod._script_object.handle, names, len(names), optimize_numerics)
    if not handle:
        raise_last()
    return ScriptModule(ObjectBox(handle), dict(mod._signatures))
