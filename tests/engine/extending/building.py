"""Compiles libraries and programs with the plain compiler and the installed headers."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from engine.utils import cmake_prefix_path

PACKAGE = Path(cmake_prefix_path).parents[1]
HAS_COMPILER = bool(shutil.which("c++") or shutil.which("g++"))
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C++ compiler")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


CPP = (("c++", "g++"), "-std=c++20", "-O0", "-fPIC")
C = (("cc", "gcc"), "-std=c11", "-O0", "-fPIC")
HEADER = "underhood/underhood_library.hpp"


def build_library(source: Path, folder: Path) -> Path:
    """Return the shared object of one C or C++ file."""
    target = folder / f"lib{source.stem}.so"
    compiler = (*CPP, f"-I{_precompiled()}") if source.suffix == ".cpp" else C
    _compile(*compiler, "-shared", source, "-o", target)
    return target


@functools.cache
def _precompiled() -> str:
    """Return the folder of the header as GCC has compiled it: most of a small library's time is the header's."""
    folder = tempfile.TemporaryDirectory(prefix="underhood-header-")
    atexit.register(folder.cleanup)
    target = Path(folder.name, f"{HEADER}.gch")
    target.parent.mkdir()
    _compile(*CPP, "-x", "c++-header", PACKAGE / "include" / HEADER, "-o", target)
    return folder.name


def build_program(source: Path, folder: Path) -> Path:
    """Return the program of one C file."""
    target = folder / source.stem
    _compile(("cc", "gcc"), "-std=c11", source, "-o", target)
    return target


def _compile(names: tuple[str, ...], *arguments: object) -> None:
    """Runs the first of these compilers; skips the test if none is installed."""
    compiler = next(filter(None, map(shutil.which, names)), None)
    if compiler is None:
        pytest.skip("there is no compiler")
    native = PACKAGE / "_native" / "lib"
    command = [compiler, *WARNINGS, *arguments, f"-I{PACKAGE / 'include'}"]
    if "c++-header" not in arguments:  # nothing is linked
        command += [f"-L{native}", "-lunderhood", f"-Wl,-rpath,{native}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
