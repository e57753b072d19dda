"""save and load: tensors, containers of them and modules, as safetensors files or as PyTorch's `.pt` files."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any, TypeAlias

from engine._native.namespace import namespace
from engine.dtypes import device
from engine.formats import legacy_file
from engine.formats.zip_records import MAGIC
from engine.saved_files.options import LoadEndianness as LoadEndianness
from engine.saved_files.options import get_default_load_endianness as get_default_load_endianness
from engine.saved_files.options import set_default_load_endianness as set_default_load_endianness
from engine.saved_files.safe_globals import add_safe_globals as add_safe_globals
from engine.saved_files.safe_globals import clear_safe_globals as clear_safe_globals
from engine.saved_files.safe_globals import get_safe_globals as get_safe_globals
from engine.saved_files.safe_globals import safe_globals as safe_globals
from engine.storage import UntypedStorage
from engine.types import FileLike

__all__ = [
    "LoadEndianness",
    "add_safe_globals",
    "clear_safe_globals",
    "get_default_load_endianness",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
    "set_default_load_endianness",
]

FILE_LIKE: TypeAlias = FileLike  # for annotations, as MAP_LOCATION
MAP_LOCATION: TypeAlias = (
    Callable[[UntypedStorage, str], UntypedStorage] | device | str | dict[str, str] | None
)
DEFAULT_PROTOCOL = 2  # of the pickles that PyTorch writes
_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".tar")


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write tensors, and dicts, lists, tuples and plain values that contain them, to one file.

    A path that ends in .pt, .pth, .ckpt, .bin or .tar becomes a file that `torch.load` reads, and may contain
    any object that can be pickled; so does every file of a program that imports the engine as `torch`.
    Every other file is in the format safetensors. The options after `f` concern `.pt` files; `pickle_module`
    has no effect.

    f: a path, or an object with `write`. A file is replaced only when the new one is complete: a program that has
    mapped the old file keeps its pages, and a failed save changes nothing. Permissions and symbolic links are
    preserved; devices, pipes and /dev/stdout are written to directly; other hard links of the file keep the old
    content. `requires_grad`, strides and shared memory are saved; the graph is not, and
    attributes of tensors (`x.tag = 1`) only in a `.pt` file.
    Memory: contiguous tensors are written in place; a safetensors file has copies of views, a `.pt` file their
    whole Storage.
    Raises: TypeError for values that cannot be written, RuntimeError for meta tensors in safetensors,
    ValueError for containers that contain themselves in safetensors.

    >>> import io; file = io.BytesIO()
    >>> save({"w": engine.ones(2), "epoch": 3}, file); _ = file.seek(0); load(file)
    {'w': tensor([1., 1.]), 'epoch': 3}
    """
    if _is_for_torch(f):
        from engine.saved_files.torch_writer import write_torch_file

        write_torch_file(obj, f, pickle_protocol, _use_new_zipfile_serialization)
        return
    from engine.saved_files.safetensors_file import write_safetensors

    write_safetensors(obj, f)


def _is_for_torch(f: Any) -> bool:
    """Return True if a file is written in PyTorch's format: by its suffix, or because the program imports
    `torch`."""
    if namespace() == "torch":
        return True
    return not hasattr(f, "write") and os.fsdecode(f).endswith(_SUFFIXES)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file that `save` or `torch.save` wrote; any other safetensors file becomes a dict of its tensors.

    f: a path, or an object with `read`. map_location: the device for all tensors ("cpu", "meta"), a dict of
    devices by the device in the file, or a function that takes a storage and its device. mmap=True: the tensors
    are the file's mapped pages, read on first access (a path only); writing to them does not change the file, and
    if another program truncates it, an access ends this one. A `.pt` file is read without executing anything:
    tensors, parameters, plain containers and what `serialization.add_safe_globals` allows. weights_only=False also
    reads other objects and executes code from the
    file: use it only for files that you trust. `pickle_module` and `pickle_load_args` are for that case.
    Raises: FileNotFoundError; EOFError for an empty file; RuntimeError for a file that is damaged, cut short or of
    another format; pickle.UnpicklingError for a pickle that is damaged or contains more than is allowed; TypeError
    for dtypes the engine does not have.
    """
    if mmap and hasattr(f, "read"):
        raise ValueError("load: mmap=True needs a path, got an open file")
    is_safe = weights_only is not False
    if is_safe and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified. Hint: leave it out, or "
            "pass weights_only=False for a file that you trust"
        )
    if hasattr(f, "read"):
        return _load(
            f, f, "the file", map_location, is_safe, False, pickle_module, pickle_load_args
        )
    path = os.fspath(f)
    with open(path, "rb") as file:
        return _load(
            *(f, file, repr(path), map_location, is_safe, bool(mmap), pickle_module),
            pickle_load_args,
        )


def _load(
    f: Any,
    file: Any,
    name: str,
    map_location: Any,
    is_safe: bool,
    is_mapped: bool,
    pickle_module: Any,
    arguments: dict[str, Any],
) -> Any:
    start = _peek(file)
    if start == b"":
        raise EOFError(f"load: {name} is empty")
    unpickling = (pickle_module or pickle, arguments)
    if start is not None and start.startswith(MAGIC):
        from engine.saved_files.torch_file import read_zip

        return read_zip(file, name, map_location, is_safe, is_mapped, *unpickling)
    if start is not None and legacy_file.is_legacy(start):
        if is_mapped:
            raise RuntimeError(
                f"load: {name}: mmap can only be used with files saved with "
                "`torch.save(_use_new_zipfile_serialization=True)`, please torch.save your checkpoint with "
                "this option in order to use mmap."
            )
        from engine.saved_files.torch_file import read_legacy

        return read_legacy(file, name, map_location, is_safe, *unpickling)
    if start is not None and legacy_file.is_tar(start):
        raise RuntimeError(
            f"load: {name} is a tar, which torch.save wrote before 0.1.10, and is not supported. Hint: load it "
            "with PyTorch and save it again"
        )
    from engine.saved_files.safetensors_file import read_safetensors

    return read_safetensors(f, map_location, is_mapped)


def _peek(file: Any) -> bytes | None:
    """Return the next bytes of a file without moving its position; None for a pipe."""
    if not (hasattr(file, "seek") and hasattr(file, "tell")):
        return None
    try:
        position = file.tell()
        start = file.read(512)
        file.seek(position)
    except OSError:
        return None
    if not isinstance(start, bytes):
        raise TypeError(f"load: the file gives {type(start).__name__}; open it with mode 'rb'")
    return start


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the classes and functions in a `.pt` file that `load` does not allow by default.

    Nothing is loaded or executed. Raises: RuntimeError for a file that is damaged, or in another format.
    """
    from engine.saved_files.torch_file import unsafe_globals

    if hasattr(f, "read"):
        return unsafe_globals(f, "the file")
    with open(os.fspath(f), "rb") as file:
        return unsafe_globals(file, repr(os.fspath(f)))
