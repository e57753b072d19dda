"""C++ extensions with PyTorch's torch.utils.cpp_extension API, built at first use (`load`) or ahead of time.

Sources include <torch/extension.h>, PyTorch's C++ API on the engine's headers; a source of PyTorch's extensions for the
CPU compiles unmodified. Bindings are pybind11's (`pip install underhood[extensions]`), and tensors cross them without
a copy.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from engine._native.namespace import no_attribute
from engine.utils.cpp_extension.build import Build, default_folder
from engine.utils.cpp_extension.compiler import include_paths, library_paths

if TYPE_CHECKING:
    from engine.utils.cpp_extension.setup_commands import (
        BuildExtension,
        CppExtension,
        CUDAExtension,
    )

__all__ = [
    "CUDA_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "library_paths",
    "load",
    "load_inline",
]

CUDA_HOME = None
"""No CUDA is installed: a setup.py that compares it with None builds CppExtensions."""

_loaded: dict[Path, ModuleType] = {}


def __getattr__(name: str) -> Any:
    if name in ("BuildExtension", "CUDAExtension", "CppExtension"):  # they need setuptools
        from engine.utils.cpp_extension import setup_commands

        return getattr(setup_commands, name)
    raise no_attribute("utils.cpp_extension", name)


def load(
    name: str,
    sources: str | Sequence[str],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
) -> Any:
    """Build an extension unless its last build is up to date, and return it as a module.

    It is built again when a source, a header it includes, a flag or the compiler has changed. Processes that load it
    at once build it once. `build_directory` is a folder of the user's cache by default. `is_python_module=False`
    loads it as a library of operators and returns its path. ninja runs the compiler if it is installed.

    Raises: RuntimeError with all of the compiler's output; ImportError for a module without bindings.
    """
    files = [sources] if isinstance(sources, str) else list(sources)
    build = Build(
        name,
        tuple(Path(file) for file in files),
        _folder(name, build_directory, with_cuda),
        tuple(extra_cflags or ()),
        tuple(extra_ldflags or ()),
        tuple(extra_include_paths or ()),
        verbose,
    )
    return _loaded_library(build, is_python_module)


def _folder(name: str, build_directory: str | None, with_cuda: bool | None) -> Path:
    if with_cuda:
        raise RuntimeError("cpp_extension: with_cuda=True; the engine runs on the CPU")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"cpp_extension: the name must be an identifier, got {name!r}")
    return (Path(build_directory) if build_directory else default_folder(name)).absolute()


def _loaded_library(build: Build, is_python_module: bool) -> Any:
    library = build.library()
    if is_python_module:
        return _module(build.name, library)
    from engine import ops

    ops.load_library(library)
    return str(library)


def _module(name: str, library: Path) -> ModuleType:
    if library in _loaded:
        return _loaded[library]
    spec = importlib.util.spec_from_file_location(
        name, library, loader=ExtensionFileLoader(name, str(library))
    )
    assert spec is not None
    assert spec.loader is not None
    try:
        module = importlib.util.module_from_spec(spec)
    except ImportError as error:
        if f"PyInit_{name}" not in str(error):
            raise
        raise ImportError(
            f"cpp_extension: {name} has no bindings: {error}; name its functions= or write a PYBIND11_MODULE, or pass "
            "is_python_module=False if it is a library of operators"
        ) from None
    spec.loader.exec_module(module)
    sys.modules[name] = module
    _loaded[library] = module
    return module


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | dict[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    no_implicit_headers: bool = False,
) -> Any:
    """Build and load an extension from source strings; `functions` are bound by name, with docstrings if it is a dict.

    The strings become one file, which includes <torch/extension.h> first unless `no_implicit_headers`.
    """
    if cuda_sources:
        raise RuntimeError("cpp_extension: cuda_sources; the engine runs on the CPU")
    parts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    if not no_implicit_headers:
        parts.insert(0, "#include <torch/extension.h>")
    if functions is not None:
        if isinstance(functions, str):
            functions = [functions]
        if not isinstance(functions, dict):
            functions = {function: function for function in functions}
        parts.append("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {")
        for function, doc in functions.items():
            parts.append(f'  m.def("{function}", {function}, {_c_string(doc)});')
        parts.append("}")
    folder = _folder(name, build_directory, with_cuda)
    build = Build(
        name,
        (folder / "main.cpp",),
        folder,
        tuple(extra_cflags or ()),
        tuple(extra_ldflags or ()),
        tuple(extra_include_paths or ()),
        verbose,
        source_text="\n".join(parts) + "\n",
    )
    return _loaded_library(build, is_python_module)


def _c_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
