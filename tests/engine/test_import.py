"""`import engine` stays light: what a program may never use is imported on first use."""

from __future__ import annotations

import subprocess
import sys

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
