"""A module under a second name: `import torch` finds the engine, submodules included, in this process only."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType


class _AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `alias` and `alias.x.y` as the modules `target` and `target.x.y`: the same objects."""

    def __init__(self, alias: str, target: str) -> None:
        self._alias, self._target = alias, target
        self._specs: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._alias and not fullname.startswith(f"{self._alias}."):
            return None
        if not self._exists(self._actual(fullname)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def _actual(self, fullname: str) -> str:
        return self._target + fullname.removeprefix(self._alias)

    @staticmethod
    def _exists(name: str) -> bool:
        try:
            return name in sys.modules or importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:  # its parent is not a package
            return False

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._actual(spec.name))
        self._specs[spec.name] = module.__spec__  # the import system sets that of the alias
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None  # of the alias
        module.__spec__ = self._specs.pop(spec.name)
        if spec.name == self._alias:
            module.imported_as(self._alias)


def install(alias: str, target: str = "engine") -> None:
    """Make `import alias` find `target`, even if a module of the name `alias` is installed.

    The module is informed by `target.imported_as(alias)`. Raises: RuntimeError if `alias` is imported already.
    """
    if alias in sys.modules:
        raise RuntimeError(f"{alias} is imported already")
    sys.meta_path.insert(0, _AliasFinder(alias, target))
