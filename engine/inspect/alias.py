"""A module under a second name: `import torch` finds the engine, submodules included.

It affects this process and those that its multiprocessing starts.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


class _Watched(importlib.abc.Loader):
    """A loader that delegates to the module's own loader, then calls a function with the module."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then(module)


class _AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `alias` and `alias.x.y` as the modules `target` and `target.x.y`: the same objects."""

    def __init__(self, alias: str, target: str) -> None:
        self._alias, self._target = alias, target
        self._specs: dict[str, importlib.machinery.ModuleSpec | None] = {}
        self._watched: Callable[[ModuleType], None] | None = None  # for later modules of `target`

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "multiprocessing.spawn":
            return self._watch(fullname, path, self.install_in_processes)
        if fullname.startswith(f"{self._target}.") and self._watched is not None:
            return self._watch(fullname, path, self._watched)
        if fullname != self._alias and not fullname.startswith(f"{self._alias}."):
            return None
        if not self._exists(self._actual(fullname)):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def _watch(
        self, fullname: str, path: Sequence[str] | None, then: Callable[[ModuleType], None]
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the other finders' spec, with a loader that calls `then`."""
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path)
            if spec is not None:
                spec.loader = _Watched(spec.loader, then) if spec.loader else None
                return spec
        return None

    def install_in_processes(self, spawn: ModuleType) -> None:
        """Install the alias in processes that multiprocessing spawns, before they import the program."""
        prepared = spawn.get_preparation_data

        def with_alias(name: str) -> dict[str, Any]:
            return {**prepared(name), "alias": _InstalledWhenRead(self._alias, self._target)}

        spawn.get_preparation_data = with_alias  # type: ignore[attr-defined]

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
            self._watched = module.imported_as(self._alias)


class _InstalledWhenRead:
    """Installs the alias in the process that unpickles it."""

    def __init__(self, alias: str, target: str) -> None:
        self._names = alias, target

    def __reduce__(self) -> tuple[Any, ...]:
        return install, self._names


def install(alias: str, target: str = "engine") -> None:
    """Make `import alias` find `target`, even if a module of the name `alias` is installed.

    `target.imported_as(alias)` returns a function that is called with each of its modules that is imported later.
    Raises: RuntimeError if `alias` is imported already.
    """
    if alias in sys.modules:
        raise RuntimeError(f"{alias} is imported already")
    finder = _AliasFinder(alias, target)
    sys.meta_path.insert(0, finder)
    if "multiprocessing.spawn" in sys.modules:
        finder.install_in_processes(sys.modules["multiprocessing.spawn"])
