"""Compiles a library of operators with the plain compiler and the installed headers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from engine.utils import cmake_prefix_path

PACKAGE = Path(cmake_prefix_path).parents[1]
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def build_library(source: Path, folder: Path) -> Path:
    """The shared object of one source file; skips the test if no compiler is installed."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    target = folder / f"lib{source.stem}.so"
    native = PACKAGE / "_native" / "lib"
    command = [compiler, "-std=c++20", "-O1", *WARNINGS, "-fPIC", "-shared", source, "-o", target]
    command += [f"-I{PACKAGE / 'include'}", f"-L{native}", "-lunderhood", f"-Wl,-rpath,{native}"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target
