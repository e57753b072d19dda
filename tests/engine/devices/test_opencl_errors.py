"""Failures of an OpenCL device are clear errors, and the host continues."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from opencl_tools import needs_opencl, run_program

import engine

FOLDER = Path(__file__).parent
# Prints the error of its second use of the device, then what a tensor of the host has become.
PROGRAM = """
import engine
host = engine.arange(3.0)
there = host.to("opencl")
try:
    for i in range(3):
        print(((there + 1) * 2).tolist())
except RuntimeError as error:
    print(type(error).__name__, error)
print("host", (host + 1).tolist())
"""


def test_no_driver():
    text = """
import engine
for call in (lambda: engine.ones(2).to("opencl"), lambda: engine.empty(2, device="opencl")):
    try: call()
    except RuntimeError as error: print(error)
print(engine.ones(2).tolist())
"""
    result = run_program(text, UNDERHOOD_OPENCL="/nowhere.so")
    first, second, last = result.stdout.splitlines()
    assert first == second
    assert "no OpenCL library was found (/nowhere.so" in first
    assert "UNDERHOOD_OPENCL" in first
    assert last == "[1.0, 1.0]"


def test_a_library_that_is_something_else():
    text = "import engine\ntry: engine.ones(2).to('opencl')\nexcept RuntimeError as e: print(e)"
    result = run_program(text, UNDERHOOD_OPENCL="libc.so.6")
    assert "libc.so.6 is not a library of OpenCL 1.2" in result.stdout


@needs_opencl
def test_a_meta_tensor_is_another_device():
    """Shape rules alone are all of Meta: a result that nothing fills must not leave them."""
    x, index = engine.ones(2).opencl(), engine.tensor([0]).to("meta")
    for call in (
        lambda: x.index_fill(0, index, 1.0),
        lambda: x.index_add_(0, index, x[:1]),
        lambda: x.index_select(0, index),
        lambda: x.to("meta").gather(0, index.new_zeros(1, device="opencl")),
    ):
        with pytest.raises(RuntimeError, match=r"at least two devices, (opencl:0|meta) and"):
            call()
    assert x.tolist() == [1.0, 1.0]


@needs_opencl
@pytest.mark.skipif(
    "UNDERHOOD_OPENCL" in os.environ, reason="the driver is named: no loader looks for one"
)
def test_a_loader_that_finds_no_driver(tmp_path):
    text = "import engine\ntry: engine.ones(2).to('opencl')\nexcept RuntimeError as e: print(e)"
    result = run_program(text, OCL_ICD_VENDORS=str(tmp_path))
    assert "found no device: no driver is installed for one" in result.stdout


@needs_opencl
def test_a_forked_process_is_told():
    """Before it asks the driver, whose locks may have been held by one of its threads."""
    text = """
import engine, os
x = engine.ones(2).to("opencl")
if os.fork() == 0:
    try: engine.ones(2).to("opencl")
    except RuntimeError as error: print(error, flush=True)
    os._exit(0)
os.wait()
print(x.sum().item())
"""
    result = run_program(text)
    assert "this process was forked" in result.stdout
    assert result.stdout.splitlines()[-1] == "2.0"


@pytest.fixture(scope="module")
def failing_library(tmp_path_factory):
    import ctypes.util

    loader = "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1"
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not Path(loader).exists() or not ctypes.util.find_library("OpenCL"):
        pytest.skip("no compiler, or no OpenCL loader to fail in front of")
    library = tmp_path_factory.mktemp("opencl") / "libfailing.so"
    subprocess.run(
        [
            compiler,
            "-shared",
            "-fPIC",
            "-o",
            library,
            FOLDER / "failing_opencl.c",
            "-Wl,--no-as-needed",
            loader,
            "-ldl",
        ],
        check=True,
    )
    return str(library)


@needs_opencl
@pytest.mark.parametrize(
    ("fail", "after", "status", "message"),
    [
        ("launch", 1, -5, r"opencl:0: mul could not be enqueued: CL_OUT_OF_RESOURCES"),
        ("launch", 2, -36, r"CL_INVALID_COMMAND_QUEUE; the device was lost"),
        ("run", 6, -5, r"which was enqueued earlier, failed on the device: CL_OUT_OF_RESOURCES"),
        ("buffer", 2, -4, r"opencl:0 is out of memory: tried to allocate 12 bytes; tensors use"),
        ("source", 0, 0, r"add: its kernel does not compile .*no_such_function"),
    ],
)
def test_failures_of_a_driver(failing_library, tmp_path, fail, after, status, message):
    import re

    result = run_program(
        PROGRAM,
        UNDERHOOD_OPENCL=failing_library,
        UNDERHOOD_OPENCL_CACHE=str(tmp_path),
        FAIL=fail,
        AFTER=str(after),
        STATUS=str(status),
    )
    assert result.returncode == 0, result.stderr
    error = "OutOfMemoryError" if fail == "buffer" else "RuntimeError"
    assert error in result.stdout
    assert re.search(message, result.stdout, re.DOTALL), result.stdout
    assert result.stdout.splitlines()[-1] == "host [1.0, 2.0, 3.0]"


@needs_opencl
def test_kernels_are_stored_and_damaged_files_replaced(tmp_path):
    text = "import engine; print((engine.arange(3.0).to('opencl') * 3 + 1).tolist())"
    assert run_program(text, UNDERHOOD_OPENCL_CACHE=str(tmp_path)).stdout == "[1.0, 4.0, 7.0]\n"
    stored = sorted(tmp_path.iterdir())
    assert stored
    assert all(path.suffix == ".bin" for path in stored)
    for number, path in enumerate(stored):
        content = path.read_bytes()
        path.write_bytes(b"" if number == 0 else content[:-7] + b"damaged")
    assert run_program(text, UNDERHOOD_OPENCL_CACHE=str(tmp_path)).stdout == "[1.0, 4.0, 7.0]\n"
    assert all(path.stat().st_size > 100 for path in stored)
    assert not [path for path in tmp_path.iterdir() if path not in stored]
    for path in stored:
        path.unlink()
        path.mkdir()
    assert run_program(text, UNDERHOOD_OPENCL_CACHE=str(tmp_path)).stdout == "[1.0, 4.0, 7.0]\n"
    not_a_folder = str(FOLDER / "failing_opencl.c")
    assert run_program(text, UNDERHOOD_OPENCL_CACHE=not_a_folder).stdout == "[1.0, 4.0, 7.0]\n"
    assert os.environ.get("UNDERHOOD_OPENCL_CACHE") != str(tmp_path)
