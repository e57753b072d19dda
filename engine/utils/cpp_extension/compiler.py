"""The C++ compiler, and the flags with which extensions find the engine's headers and library."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

_STANDARD = "-std=c++20"


def package_folder() -> Path:
    """Return the folder of the compiled library and its headers; in an editable install sources are elsewhere."""
    spec = find_spec("engine._native._ffi")
    assert spec is not None  # the engine is imported
    assert spec.origin is not None
    return Path(spec.origin).parents[1]


def include_paths(device_type: str = "cpu") -> list[str]:
    """Return the folders of headers that an extension includes: the engine's, Python's, pybind11's."""
    if device_type != "cpu":
        raise RuntimeError(f"include_paths: the engine runs on the CPU, got {device_type!r}")
    folders = [str(package_folder() / "include"), sysconfig.get_paths()["include"]]
    pybind11 = find_spec("pybind11")
    if pybind11 is not None and pybind11.origin is not None:
        folders.append(str(Path(pybind11.origin).parent / "include"))
    return folders


def library_paths(device_type: str = "cpu") -> list[str]:
    """Return the folders of libraries that an extension links with."""
    if device_type != "cpu":
        raise RuntimeError(f"library_paths: the engine runs on the CPU, got {device_type!r}")
    return [str(package_folder() / "_native" / "lib")]


def compiler_command() -> list[str]:
    """Return the command of the C++ compiler: CXX, or the first that is installed. Raises: RuntimeError without one."""
    command = shlex.split(os.environ.get("CXX", ""))
    if command:
        path = shutil.which(command[0])
        if path is None:
            raise RuntimeError(
                f"cpp_extension: CXX names {command[0]!r}, which is not installed; correct it or unset it"
            )
        return [path, *command[1:]]
    for name in ("c++", "g++", "clang++"):
        path = shutil.which(name)
        if path is not None:
            return [path]
    raise RuntimeError(
        "cpp_extension: no C++ compiler is installed. Hint: on Debian and Ubuntu `sudo apt install g++`, or set CXX "
        "to a compiler that is not on PATH"
    )


@functools.cache
def compiler_version(command: tuple[str, ...]) -> str:
    """Return the compiler's version text. Raises: RuntimeError if it does not run."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(
            f"cpp_extension: the compiler {command[0]} cannot run: {error}"
        ) from None
    if done.returncode != 0:
        raise RuntimeError(
            f"cpp_extension: the compiler {command[0]} cannot run:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def compile_flags(name: str, folders: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Return the flags of one source of the extension `name`."""
    standard = [] if any(flag.startswith("-std=") for flag in flags) else [_STANDARD]
    includes = [f"-I{folder}" for folder in (*folders, *include_paths())]
    macros = [f"-DTORCH_EXTENSION_NAME={name}", f"-DUH_EXTENSION_NAME={name}"]
    return [*standard, "-O2", "-fPIC", "-fvisibility=hidden", *macros, *includes, *flags]


def link_flags(flags: Sequence[str]) -> list[str]:
    """Return the flags that link an extension with the engine's library."""
    folder = library_paths()[0]
    return ["-shared", *flags, f"-L{folder}", "-lunderhood", f"-Wl,-rpath,{folder}"]
