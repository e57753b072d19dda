"""An OpenCL driver for the tests: the system's, or that of the wheel `pocl-binary-distribution`."""

from __future__ import annotations

import ctypes
import os
import tempfile
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path


def find() -> str | None:
    """Return the library to load: "" for the system's loader, the path of the wheel's driver, None without either."""
    try:
        ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        pass
    else:
        return ""
    try:
        listed = files("pocl-binary-distribution") or []
    except PackageNotFoundError:
        return None
    return next((str(path.locate()) for path in listed if path.name.startswith("libpocl")), None)


def prepare() -> None:
    """Name the driver to the engine, and a folder for kernels that all test processes share."""
    driver = find()
    if driver:
        os.environ.setdefault("UNDERHOOD_OPENCL", driver)
    folder = Path(tempfile.gettempdir()) / f"underhood-opencl-{os.getuid()}"
    os.environ.setdefault("UNDERHOOD_OPENCL_CACHE", str(folder))
