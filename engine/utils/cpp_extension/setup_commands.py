"""Extensions that are built ahead of time, for setup.py files."""

from __future__ import annotations

from typing import Any, NoReturn

import setuptools
from setuptools.command.build_ext import build_ext

from engine.utils.cpp_extension.compiler import include_paths, library_paths, package_folder

_STANDARD = "-std=c++20"


def CppExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> setuptools.Extension:
    """Return a setuptools.Extension that includes the engine's headers and links with its library.

    Example (setup.py): `setup(name="lltm", ext_modules=[CppExtension("lltm_cpp", ["lltm.cpp"])],
    cmdclass={"build_ext": BuildExtension})`
    """
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *include_paths()]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", []), *library_paths()]
    kwargs["libraries"] = [*kwargs.get("libraries", []), "underhood"]
    kwargs["runtime_library_dirs"] = [*kwargs.get("runtime_library_dirs", []), *library_paths()]
    kwargs["language"] = "c++"
    return setuptools.Extension(name, sources, *args, **kwargs)


def CUDAExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> NoReturn:
    """Raise OSError: there is no CUDA; a setup.py chooses CppExtension where `CUDA_HOME` is None."""
    raise OSError(
        "CUDA_HOME environment variable is not set. Please set it to your CUDA install root."
    )


def _headers() -> list[str]:
    return sorted(map(str, (package_folder() / "include").rglob("*.h*")))


class BuildExtension(build_ext):
    """The `build_ext` command for CppExtensions: C++20, and the macro TORCH_EXTENSION_NAME."""

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """Return the command with options: `no_python_abi_suffix=True` leaves Python's tag out of file names."""

        class BuildExtensionWithOptions(cls):  # type: ignore[valid-type, misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **{**kwargs, **options})

        return BuildExtensionWithOptions

    def __init__(self, *args: Any, no_python_abi_suffix: bool = False, **kwargs: Any) -> None:
        kwargs.pop("use_ninja", None)  # setuptools calls the compiler itself
        self.no_python_abi_suffix = no_python_abi_suffix
        super().__init__(*args, **kwargs)

    def build_extension(self, ext: setuptools.Extension) -> None:
        """Build one extension."""
        flags = ext.extra_compile_args or []
        flags = list(flags.get("cxx", []) if isinstance(flags, dict) else flags)
        macro = f"-DTORCH_EXTENSION_NAME={ext.name.rpartition('.')[2]}"
        standard = [] if any(flag.startswith("-std=") for flag in flags) else [_STANDARD]
        ext.depends = [*ext.depends, *_headers()]  # built again when the engine has changed
        ext.extra_compile_args = [*standard, "-fvisibility=hidden", macro, *flags]
        super().build_extension(ext)

    def get_ext_filename(self, ext_name: str) -> str:
        """Return the file name of an extension."""
        filename = str(super().get_ext_filename(ext_name))
        if not self.no_python_abi_suffix:
            return filename
        parts = filename.split(".")
        return ".".join([*parts[:-2], parts[-1]])
