"""`import engine` stays light: what a program may never use is imported on first use."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

import engine  # noqa: F401

LATER = [
    "accelerator",
    "amp",
    "backends",
    "class_names",
    "compiler",
    "cuda",
    "default_device",
    "distributed",
    "distributions",
    "fft",
    "foreach",
    "formats",
    "func",
    "function_forms",
    "inspect",
    "jit",
    "library",
    "linalg",
    "masked",
    "modes",
    "mps",
    "multiprocessing",
    "nn",
    "onnx",
    "opencl",
    "optim",
    "profiler",
    "saved_files",
    "serialization",
    "signal",
    "sparse_conv",
    "special",
    "typed_tensors",
    "utils",
    "version",
    "xpu",
]
LIBRARIES = [
    "asyncio",
    "concurrent",
    "email",
    "http",
    "logging",
    "multiprocessing",
    "numpy",
    "pickle",
    "pickletools",
    "rich",
    "safetensors",
    "sqlite3",
    "tensorboardX",
    "textual",
    "unittest",
    "urllib",
    "zipfile",
]


def test_what_is_imported_later():
    code = (
        "import sys; before = set(sys.modules); import engine; print(*(set(sys.modules) - before))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    imported = set(process.stdout.split())
    assert "engine.tensor" in imported
    eager = [name for name in LATER if f"engine.{name}" in imported]
    assert not eager, f"`import engine` imports {eager}: list them in engine/__init__.py's _MODULES"
    heavy = [name for name in LIBRARIES if name in imported]
    assert not heavy, f"`import engine` imports {heavy}"


def thread_local_bytes(library: Path) -> int:
    """Return the size of an ELF file's thread-local segment (System V ABI, PT_TLS = 7)."""
    content = library.read_bytes()
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for at in range(table, table + size * count, size):
        if struct.unpack_from("<I", content, at)[0] == 7:
            return struct.unpack_from("<Q", content, at + 40)[0]
    return 0


@pytest.mark.skipif(sys.platform != "linux", reason="ELF")
def test_thread_local_memory_leaves_room_for_other_libraries():
    """glibc has 512 bytes for libraries that are loaded late: torch and its like take some of them."""
    maps = Path("/proc/self/maps").read_text().split()
    library = next(name for name in maps if name.endswith("libunderhood.so"))
    assert thread_local_bytes(Path(library)) <= 480


def test_the_engine_is_imported_after_torch():
    pytest.importorskip("torch")
    subprocess.run([sys.executable, "-c", "import torch, engine"], check=True)
