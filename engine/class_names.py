"""Module names of the engine's classes in a program that imports it as torch: `<class 'torch.Tensor'>`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType

from engine.saved_files.pytorch_names import pytorch_name


def name_classes(namespace: str) -> Callable[[ModuleType], None]:
    """Set `__module__` of the engine's classes to modules of `namespace`; return a function that does it for one
    module.

    For `torch` these are PyTorch's modules, so that pickles and annotations resolve.
    """

    def name_those_of(module: ModuleType) -> None:
        sys.modules.setdefault(namespace + module.__name__.removeprefix("engine"), module)
        for value in list(vars(module).values()):
            if not isinstance(value, type) or value.__module__.partition(".")[0] != "engine":
                continue
            home = pytorch_name(value)[0] if namespace == "torch" else ""
            if home in ("", "torch._C"):  # the latter cannot be imported
                home = namespace + value.__module__.removeprefix("engine")
            with suppress(TypeError):  # of an immutable class in C
                value.__module__ = home

    for name, module in list(sys.modules.items()):
        if name == "engine" or name.startswith("engine."):
            name_those_of(module)
    return name_those_of
