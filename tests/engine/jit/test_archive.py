"""Safetensors files of the native library: the same files as Python's, in both directions."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine._native import ffi, lib
from engine.tensor import wrap

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"


def last_error() -> str:
    return str(ffi.string(lib.uh_last_error()).decode())


@contextmanager
def opened(path: Any, mapped: bool = False) -> Iterator[int]:
    open_file = lib.uh_archive_map if mapped else lib.uh_archive_open
    archive = open_file(os.fsencode(path))
    assert archive, last_error()
    try:
        yield archive
    finally:
        lib.uh_archive_close(archive)


def tensor_of(archive: int, name: str) -> engine.Tensor:
    position = lib.uh_archive_find(archive, name.encode())
    assert position >= 0, name
    result = wrap(lib.uh_archive_tensor(archive, position))
    assert isinstance(result, engine.Tensor)
    return result


def write(path: Any, tensors: dict[str, engine.Tensor], metadata: dict[str, str]) -> list[str]:
    """Return a file by the native writer; the names under which the tensors are in it."""
    writer, names = lib.uh_archive_writer_new(), []
    try:
        for name, tensor in tensors.items():
            actual = lib.uh_archive_writer_add(writer, name.encode(), tensor._h)
            assert actual != ffi.NULL, last_error()
            names.append(ffi.string(actual).decode())
        for key, text in metadata.items():
            assert lib.uh_archive_writer_set_metadata(writer, key.encode(), text.encode()) == 0
        assert lib.uh_archive_writer_write(writer, os.fsencode(path)) == 0, last_error()
    finally:
        lib.uh_archive_writer_free(writer)
    return names


def sample(name: str) -> engine.Tensor:
    return (engine.arange(6).view(2, 3) % 4).to(getattr(engine, name))


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", DTYPES.split())
def test_what_python_writes_is_read(name: str, mapped: bool, tmp_path: Path) -> None:
    x = sample(name)
    engine.save({"x": x, "t": x.clone().t()}, tmp_path / "a")
    with opened(tmp_path / "a", mapped) as archive:
        y, t = tensor_of(archive, "x"), tensor_of(archive, "t")
        assert b'"root"' in ffi.string(lib.uh_archive_metadata(archive, b"underhood"))
    if name == "complex128":  # Python says so in its own metadata
        y, t = engine.view_as_complex(y), engine.view_as_complex(t)
    assert y.dtype == x.dtype
    assert y.tolist() == x.tolist()
    assert t.tolist() == x.t().tolist()


@pytest.mark.parametrize("name", DTYPES.split())
def test_what_is_written_is_read_by_python(name: str, tmp_path: Path) -> None:
    x = sample(name)
    write(tmp_path / "a", {"x": x, "t": x.t(), "s": x[1, 2], "e": x[:0]}, {"k": "é\n"})
    for mmap in (False, True):
        loaded = engine.load(tmp_path / "a", mmap=mmap)
        if name == "complex128":
            loaded = {key: engine.view_as_complex(value) for key, value in loaded.items()}
        assert {k: v.tolist() for k, v in loaded.items()} == {
            "x": x.tolist(),
            "t": x.t().tolist(),
            "s": x[1, 2].tolist(),
            "e": [],
        }
        assert loaded["x"].dtype == x.dtype
    with opened(tmp_path / "a") as archive:
        assert tensor_of(archive, "x").dtype == x.dtype
        assert tensor_of(archive, "x").tolist() == x.tolist()
        assert ffi.string(lib.uh_archive_metadata(archive, b"k")).decode() == "é\n"


def test_the_package_of_the_format_reads_it(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    safetensors = pytest.importorskip("safetensors")
    x = engine.randn(5, 7)
    write(tmp_path / "a", {"x": x, "odd": engine.ones(3, dtype=engine.uint8)}, {"k": "v"})
    assert np.array_equal(numpy.load_file(tmp_path / "a")["x"], x.numpy())
    with safetensors.safe_open(tmp_path / "a", framework="numpy") as file:
        assert file.metadata() == {"k": "v"}
    numpy.save_file({"y": x.numpy(), "z": np.array(3)}, tmp_path / "b", {"m": "n"})
    with opened(tmp_path / "b") as archive:
        assert engine.equal(tensor_of(archive, "y"), x)
        assert tensor_of(archive, "z").shape == ()
        assert ffi.string(lib.uh_archive_metadata(archive, b"m")) == b"n"
        assert lib.uh_archive_metadata(archive, b"none") == ffi.NULL
        assert lib.uh_archive_find(archive, b"none") == -1


def test_tensors_keep_the_file_mapped_and_never_write_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, {"x": engine.arange(1000.0)}, {})
    before = path.read_bytes()
    with opened(path, mapped=True) as archive:
        x = tensor_of(archive, "x")
        assert tensor_of(archive, "x").data_ptr() == x.data_ptr()
    assert lib.uh_storage_allocator(x._h) == 0  # the file's memory
    assert str(path) in Path("/proc/self/maps").read_text()
    x[0] = 7
    write(path, {"x": engine.zeros(1)}, {})  # another file of the same name
    assert x[0].item() == 7
    assert x[999].item() == 999
    write(path, {"x": engine.arange(1000.0)}, {})
    assert path.read_bytes() == before
    del x
    gc.collect()
    assert f"{path} (deleted)" not in Path("/proc/self/maps").read_text()


def test_a_file_that_becomes_shorter_is_an_error_and_no_tensor(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, {"x": engine.arange(1000.0), "y": engine.ones(2)}, {})
    with opened(path) as archive:
        assert tensor_of(archive, "x")[999].item() == 999
        os.truncate(path, 100)
        position = lib.uh_archive_find(archive, b"y")
        for _ in range(2):
            assert lib.uh_archive_tensor(archive, position) == 0
            assert "became shorter" in last_error()


def test_tied_tensors_are_written_once(tmp_path: Path) -> None:
    x = engine.ones(100)
    names = write(tmp_path / "a", {"x": x, "tied": x, "part": x[:50], "alias": x.detach()}, {})
    assert names == ["x", "x", "part", "x"]
    with opened(tmp_path / "a") as archive:
        assert lib.uh_archive_count(archive) == 2


def test_tensors_are_aligned_whatever_comes_before(tmp_path: Path) -> None:
    tensors = {f"{name}{i}": sample(name)[:, :i] for i in (1, 2) for name in DTYPES.split()}
    write(tmp_path / "a", tensors, {"odd": "x"})
    with opened(tmp_path / "a", mapped=True) as archive:
        for name, tensor in tensors.items():
            result = tensor_of(archive, name)
            assert lib.uh_storage_allocator(result._h) == 0, name
            assert result.data_ptr() % min(tensor.itemsize, 8) == 0, name


def test_a_file_without_alignment_is_copied(tmp_path: Path) -> None:
    header = b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
    header += b'"b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}'
    data = b"\5" + np.array([1.5, 2.5], np.float32).tobytes()
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header + data)
    with opened(tmp_path / "a") as archive:
        assert tensor_of(archive, "b").tolist() == [1.5, 2.5]
        assert tensor_of(archive, "a").tolist() == [5]


def test_bools_of_other_writers_are_zero_or_one(tmp_path: Path) -> None:
    header = b'{"a":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}}'
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\1\2\xff")
    with opened(tmp_path / "a") as archive:
        bools = tensor_of(archive, "a")
        assert bools.view(engine.uint8).tolist() == [0, 1, 1, 1]
        assert bools.sum().item() == 3


@pytest.mark.parametrize("name", ["missing", "folder", "empty", "pickle"])
def test_what_is_no_such_file_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "pickle").write_bytes(b"PK\3\4" + bytes(100))
    expected = {
        "missing": "No such file or directory",
        "folder": "is not a file",
        "empty": "is empty",
        "pickle": "pickles can run any code",
    }
    path = tmp_path / name
    for open_file in (lib.uh_archive_open, lib.uh_archive_map):
        assert open_file(os.fsencode(path)) == 0
        assert last_error().startswith("load: ")
        assert expected[name] in last_error()
        assert str(path) in last_error()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    writer = lib.uh_archive_writer_new()
    meta = engine.empty(2, device="meta")
    assert lib.uh_archive_writer_add(writer, b"m", meta._h) == ffi.NULL
    assert "'m' is a meta tensor" in last_error()
    assert lib.uh_archive_writer_add(writer, b"x", engine.ones(2)._h) != ffi.NULL
    assert lib.uh_archive_writer_add(writer, b"x", engine.ones(2)._h) == ffi.NULL
    assert "there is a tensor 'x' already" in last_error()
    assert lib.uh_archive_writer_write(writer, os.fsencode(tmp_path / "no" / "file")) == -1
    assert "No such file or directory" in last_error()
    assert lib.uh_archive_writer_write(writer, os.fsencode(tmp_path)) == -1  # a folder
    lib.uh_archive_writer_free(writer)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["fuzz_archive.py", "fuzz_model.py"])
def test_damaged_files_are_refused_or_read(name: str) -> None:
    """It runs in its own process, with limited memory: a crash would end only that."""
    program = Path(__file__).with_name(name)
    command = [sys.executable, str(program), "--count", "3000", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "refused" in done.stdout
