"""An OpenCL driver for the tests: the system's, or that of the wheel `pocl-binary-distribution`."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
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


def compiles(driver: str) -> bool:
    """Whether kernels run with it: the wheel's compiler does not know every processor."""
    program = "import engine; assert (engine.ones(1).to('opencl') + 1).item() == 2"
    environment = {**os.environ, "UNDERHOOD_OPENCL": driver}
    command = [sys.executable, "-c", program]
    return (
        subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
    )


def prepare() -> None:
    """Name the driver to the engine, and a folder for kernels that all test processes share."""
    folder = Path(tempfile.gettempdir()) / f"underhood-opencl-{os.getuid()}"
    os.environ.setdefault("UNDERHOOD_OPENCL_CACHE", str(folder))
    if "UNDERHOOD_OPENCL" in os.environ:
        return
    driver = find()
    if driver and compiles(driver):
        os.environ["UNDERHOOD_OPENCL"] = driver
