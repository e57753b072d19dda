"""Compiles libraries and programs with the plain compiler and the installed headers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from engine.utils import cmake_prefix_path

PACKAGE = Path(cmake_prefix_path).parents[1]
HAS_COMPILER = bool(shutil.which("c++") or shutil.which("g++"))
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C++ compiler")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def build_library(source: Path, folder: Path) -> Path:
    """The shared object of one C or C++ file."""
    target = folder / f"lib{source.stem}.so"
    compiler = (
        (("c++", "g++"), "-std=c++20") if source.suffix == ".cpp" else (("cc", "gcc"), "-std=c11")
    )
    _compile(*compiler, "-O0", "-fPIC", "-shared", source, "-o", target)
    return target


def build_program(source: Path, folder: Path) -> Path:
    """The program of one C file."""
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
    command += [f"-L{native}", "-lunderhood", f"-Wl,-rpath,{native}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
