"""The modules that the engine's classes name while a program imports it as torch: `<class 'torch.Tensor'>`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType

from engine.saved_files.pytorch_names import pytorch_name


def name_classes(namespace: str) -> Callable[[ModuleType], None]:
    """Let the classes of the engine name modules of `namespace`, and return what does it for those of one module.

    As `torch` they name PyTorch's modules, by which pickles and annotations find them again.
    """

    def name_those_of(module: ModuleType) -> None:
        sys.modules.setdefault(namespace + module.__name__.removeprefix("engine"), module)
        for value in list(vars(module).values()):
            if not isinstance(value, type) or value.__module__.partition(".")[0] != "engine":
                continue
            home = pytorch_name(value)[0] if namespace == "torch" else ""
            if home in ("", "torch._C"):  # the latter is not there to be imported
                home = namespace + value.__module__.removeprefix("engine")
            with suppress(TypeError):  # of a class in C that may not change
                value.__module__ = home

    for name, module in list(sys.modules.items()):
        if name == "engine" or name.startswith("engine."):
            name_those_of(module)
    return name_those_of
