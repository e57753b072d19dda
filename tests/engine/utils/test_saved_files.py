"""Saving replaces a file as a unit or leaves it alone, and no program that uses the old one crashes."""

import errno
import io
import json
import os
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import engine


@engine.jit.script
def doubled(x):
    return x * 2


def save_tensors(path):
    engine.save({"x": engine.arange(1000.0)}, path)


def save_program(path):
    engine.jit.save(doubled, path)


def check_tensors(path):
    assert engine.load(path)["x"][999].item() == 999


def check_program(path):
    assert engine.jit.load(path)(engine.ones(1)).tolist() == [2.0]


@pytest.fixture(params=["tensors", "program"])
def kind(request):
    """A function that saves something, and one that checks that it can be loaded."""
    if request.param == "tensors":
        return save_tensors, check_tensors
    return save_program, check_program


def run(program, *arguments, **options):
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, check=False, **options)


# ---- programs that have loaded a file


@pytest.mark.parametrize("change", ["save", "copy", "truncate"])
def test_a_loaded_program_survives_what_happens_to_its_file(change, tmp_path):
    model = engine.nn.Linear(300, 300)
    engine.jit.save(engine.jit.script(model), tmp_path / "m")
    engine.save(model.state_dict(), tmp_path / "t")
    program = """if True:
        import os, sys, engine
        change, folder = sys.argv[1:]
        model = engine.jit.load(folder + "/m")
        weights = engine.load(folder + "/t")
        if change == "save":
            engine.jit.save(engine.jit.script(engine.nn.Linear(1, 1)), folder + "/m")
            engine.save({}, folder + "/t")
        for name in ("m", "t") if change != "save" else ():
            with open(folder + "/" + name, "r+b") as file:
                file.truncate(0 if change == "truncate" else 100)
        total = model(engine.ones(300)).sum().item() + weights["weight"].sum().item()
        print(total == total)
    """
    done = run(program, change, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"True\n"


def test_a_mapped_program_keeps_the_file_that_save_replaces(tmp_path):
    save_program(tmp_path / "m")
    engine.jit.save(engine.jit.script(engine.nn.Linear(300, 300)), tmp_path / "m")
    mapped = engine.jit.load(tmp_path / "m", mmap=True)
    assert f"{tmp_path}/m\n" in Path("/proc/self/maps").read_text()
    save_program(tmp_path / "m")
    assert mapped(engine.ones(300)).shape == (300,)
    check_program(tmp_path / "m")
    assert f"{tmp_path}/m\n" not in Path("/proc/self/maps").read_text()  # it is read
    with (
        open(tmp_path / "m", "rb") as file,
        pytest.raises(ValueError, match="mmap=True needs a path"),
    ):
        engine.jit.load(file, mmap=True)


def test_a_scripted_function_is_saved_again_while_a_loaded_one_is_used(tmp_path):
    loaded = []
    for number in range(3):
        path = tmp_path / str(number)
        save_program(path)
        loaded.append(engine.jit.load(path))
        engine.jit.save(loaded[-1], tmp_path / "copy")
        check_program(tmp_path / "copy")
    for program in loaded:
        assert program(engine.ones(1)).tolist() == [2.0]


@pytest.mark.parametrize("stream", [False, True])
def test_extra_files_are_whole(stream, tmp_path):
    every = bytes(range(256))
    files = {
        "text": "a\0b é \U0001f600",
        "é": b"\0",
        "bytes": every * 3,
        "bytearray": bytearray(b"\xff\0"),
        "cut": "é".encode()[:1],
        "empty": b"",
    }
    reference = dict.fromkeys(files, "was here")
    reference["other"] = "stays"
    if stream:
        buffer = io.BytesIO(doubled.save_to_buffer(_extra_files=files))
        engine.jit.load(buffer, _extra_files=reference)
    else:
        engine.jit.save(doubled, tmp_path / "m", _extra_files=files)
        engine.jit.load(tmp_path / "m", _extra_files=reference)
    assert reference.pop("other") == "stays"
    for name, content in files.items():
        expected = content.encode() if isinstance(content, str) else bytes(content)
        assert reference[name] == expected, name
    with pytest.raises(ValueError, match="NUL"):
        engine.jit.save(doubled, tmp_path / "m", _extra_files={"a\0b": ""})


# ---- links, devices, pipes


def test_a_symbolic_link_stays_and_its_target_is_replaced(kind, tmp_path):
    save, check = kind
    (tmp_path / "other").mkdir()
    target, link = tmp_path / "other" / "target", tmp_path / "link"
    link.symlink_to("other/chain")
    (tmp_path / "other" / "chain").symlink_to(target)
    save(link)  # it points at nothing yet
    check(target)
    target.write_bytes(b"old")
    number = target.stat().st_ino
    save(link)
    assert link.is_symlink()
    assert os.readlink(link) == "other/chain"
    assert target.stat().st_ino != number
    check(target)
    assert sorted(os.listdir(tmp_path)) == ["link", "other"]
    assert sorted(os.listdir(tmp_path / "other")) == ["chain", "target"]


def test_links_without_end_are_an_error(kind, tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises((OSError, RuntimeError), match="Too many levels of symbolic links"):
        kind[0](tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_device_is_written_into(kind):
    before = os.stat("/dev/null")
    kind[0]("/dev/null")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_dev) == (after.st_ino, after.st_dev)
    with pytest.raises((OSError, RuntimeError), match="No space left on device"):
        kind[0]("/dev/full")


def test_a_pipe_is_written_into(kind, tmp_path):
    save, check = kind
    os.mkfifo(tmp_path / "pipe")
    content = []
    reader = threading.Thread(target=lambda: content.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    save(tmp_path / "pipe")
    reader.join()
    (tmp_path / "file").write_bytes(content[0])
    check(tmp_path / "file")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


STDOUT = """if True:
    import os, engine
    os.write(1, b"before|")
    engine.save({"x": engine.arange(1000.0)}, "/dev/stdout")
    os.write(1, b"|after")
"""


@pytest.mark.parametrize("target", ["pipe", "file"])
def test_the_standard_output_is_written_to_at_its_position(target, tmp_path):
    if target == "pipe":
        out = run(STDOUT).stdout
    else:
        with open(tmp_path / "out", "wb") as file:
            subprocess.run([sys.executable, "-c", STDOUT], stdout=file, timeout=120, check=True)
        out = (tmp_path / "out").read_bytes()
    assert out.startswith(b"before|")
    assert out.endswith(b"|after")
    (tmp_path / "x").write_bytes(out[7:-6])
    check_tensors(tmp_path / "x")


def test_other_hard_links_keep_the_old_content(kind, tmp_path):
    save, check = kind
    (tmp_path / "backup").write_bytes(b"old")
    os.link(tmp_path / "backup", tmp_path / "model")
    save(tmp_path / "model")
    check(tmp_path / "model")
    assert (tmp_path / "backup").read_bytes() == b"old"


# ---- permissions


def test_permissions_stay_and_new_files_have_those_of_the_umask(kind, tmp_path):
    save, _ = kind
    for mode in (0o600, 0o640, 0o664, 0o755):
        path = tmp_path / oct(mode)
        path.write_bytes(b"old")
        path.chmod(mode)
        save(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    for mask in (0o022, 0o077, 0o002):
        before = os.umask(mask)
        try:
            save(tmp_path / f"new{mask}")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / f"new{mask}").stat().st_mode) == 0o666 & ~mask


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
def test_a_file_that_may_not_be_written_is_not_replaced(kind, tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    (tmp_path / "x").chmod(0o444)
    with pytest.raises((OSError, RuntimeError), match="Permission denied"):
        kind[0](tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"old"


# ---- saves that fail


FULL = """if True:
    import resource, sys, engine
    kind, path = sys.argv[1:]
    model = engine.nn.Linear(500, 500)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    try:
        if kind == "program":
            engine.jit.save(engine.jit.script(model), path)
        else:
            engine.save(model.state_dict(), path)
    except OSError as error:
        print("OSError", error.errno, error.filename)
    except RuntimeError as error:
        print("RuntimeError", error)
"""


@pytest.mark.parametrize("name", ["tensors", "program"])
def test_a_disk_that_is_full_leaves_the_old_file_and_no_other(name, tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    done = run(FULL, name, tmp_path / "x")
    assert done.returncode == 0, done.stderr
    if name == "tensors":
        assert done.stdout.decode().split() == ["OSError", str(errno.EFBIG), str(tmp_path / "x")]
    else:
        assert b"RuntimeError save: cannot write" in done.stdout
        assert b"File too large" in done.stdout
    assert (tmp_path / "x").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_killed_save_leaves_no_file(tmp_path):
    """The temporary file has no name until it is whole; its folder is looked into while it grows."""
    program = """if True:
        import sys, threading, os, engine, signal, time
        folder = sys.argv[1]
        x = engine.ones(30_000_000)
        def kill():
            while True:
                for fd in os.listdir("/proc/self/fd"):
                    try:
                        if folder in os.readlink("/proc/self/fd/" + fd):
                            os.kill(os.getpid(), signal.SIGKILL)
                    except OSError:
                        pass
        threading.Thread(target=kill, daemon=True).start()
        engine.save(x, folder + "/x")
    """
    done = run(program, tmp_path)
    assert done.returncode == -signal.SIGKILL
    left = os.listdir(tmp_path)
    assert left in ([], ["x"])  # "x": it was complete before it was noticed
    if left:
        assert engine.load(tmp_path / "x").numel() == 30_000_000


def test_control_c_ends_a_save_that_waits_for_a_reader(kind, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kind[0](tmp_path / "pipe")
    timer.join()


def test_other_signals_do_not_end_a_save(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    content = []

    def read():
        time.sleep(0.3)
        content.append((tmp_path / "pipe").read_bytes())

    reader = threading.Thread(target=read)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.05)
        reader.start()
        save_tensors(tmp_path / "pipe")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    reader.join()
    assert calls
    (tmp_path / "x").write_bytes(content[0])
    check_tensors(tmp_path / "x")


class Failing:
    """A file object whose writes fail."""

    def __init__(self, error):
        self.error = error

    def write(self, data):
        raise self.error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_an_error_of_a_stream_comes_through_and_leaves_nothing(error, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(type(error)):
        kind[0](Failing(error))
    assert os.listdir(tmp_path) == []


def test_errors_name_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        engine.save(1, tmp_path / "no" / "folder")
    assert caught.value.filename == str(tmp_path / "no" / "folder")
    with pytest.raises(IsADirectoryError):
        engine.save(1, tmp_path)
    with pytest.raises(ValueError, match="null"):
        engine.save(1, "a\0b")
    with pytest.raises(RuntimeError, match="No such file or directory"):
        engine.jit.save(doubled, tmp_path / "no" / "folder")
    assert os.listdir(tmp_path) == []


# ---- what a file says


def rewritten(path, key, change):
    """The file with another value of one JSON text of its metadata."""
    full = path.read_bytes()
    size = int.from_bytes(full[:8], "little")
    header = json.loads(full[8 : 8 + size])
    value = json.loads(header["__metadata__"][key])
    change(value)
    header["__metadata__"][key] = json.dumps(value)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + full[8 + size :])


def test_a_file_of_a_newer_version_is_not_read_as_an_old_one(kind, tmp_path):
    save, check = kind
    path = tmp_path / "x"
    save(path)
    key = "underhood" if save is save_tensors else "underhood.jit"
    rewritten(path, key, lambda value: value.update(version=99))
    with pytest.raises(RuntimeError, match=r"written by a newer version of the engine.*99") as e:
        check(path)
    assert "damaged" not in str(e.value)
    rewritten(path, key, lambda value: value.update(version="x"))
    with pytest.raises(RuntimeError):
        check(path)


def test_any_string_is_a_key_of_saved_tensors(tmp_path):
    names = ["a\0", "a\0b", "a\\0", "\ud800", "é", ""]
    engine.save({name: engine.tensor(i) for i, name in enumerate(names)}, tmp_path / "x")
    loaded = engine.load(tmp_path / "x")
    assert {name: x.item() for name, x in loaded.items()} == {n: i for i, n in enumerate(names)}
