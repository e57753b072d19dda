"""Names of classes as PyTorch writes them: `__torch__.package.Name`."""

from __future__ import annotations

import itertools

from engine._native import lib

_mangled = itertools.count()


def _is_taken(name: bytes) -> bool:
    """Returns whether a class or an Enum has that name."""
    handle, listed = lib.uh_class_find(name), lib.uh_enum_find(name)
    lib.uh_class_release(handle)
    lib.uh_enum_release(listed)
    return bool(handle or listed)


def free_name(name: str) -> str:
    """Returns the name, or PyTorch's next mangled name if a class has it already."""
    head, _, last = name.rpartition(".")
    while _is_taken(name.encode()):
        name = f"{head}.___torch_mangle_{next(_mangled)}.{last}"
    return name


def class_name(kind: type) -> str:
    """Returns PyTorch's name for a class: `__torch__.package.Name`, `__torch__.Name` in a script."""
    path = "" if kind.__module__ == "__main__" else f"{kind.__module__}."
    return f"__torch__.{path}{kind.__name__}"
