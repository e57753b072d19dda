"""The installed library, headers and package files: C and C++ programs, without Python."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sysconfig
from pathlib import Path

import pytest

import engine
from engine.utils import cmake_prefix_path

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "csrc" / "examples"
PACKAGE = Path(cmake_prefix_path).parents[1]
LIBRARY = PACKAGE / "_native" / "lib" / "libunderhood.so"
CC, CXX = shutil.which("cc") or shutil.which("gcc"), shutil.which("c++") or shutil.which("g++")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
ROW = ["1", "-2", "3.5"]

pytestmark = pytest.mark.skipif(not (CC and CXX), reason="there is no C or C++ compiler")


class Model(engine.nn.Module):
    """Two layers, and a branch that is a branch in the file, too."""

    def __init__(self) -> None:
        super().__init__()
        self.first = engine.nn.Linear(3, 8)
        self.second = engine.nn.Linear(8, 2)

    def forward(self, x):
        x = self.first(x).relu()
        if float(x.sum()) > 1e6:
            x = x * 0.0
        return self.second(x)


def run(*command: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    terms = [str(word) for word in command]
    return subprocess.run(terms, capture_output=True, text=True, check=False, timeout=300, env=env)


def compiled(*command: object) -> None:
    done = run(*command)
    assert done.returncode == 0, done.stderr


def flags() -> list[str]:
    """Return the flags of underhood.pc, from pkg-config if it is installed, else read as it would."""
    folder = PACKAGE / "share" / "pkgconfig"
    if shutil.which("pkg-config"):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
        done = run("pkg-config", "--cflags", "--libs", "underhood", env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()
    names, actual = {"pcfiledir": str(folder)}, ""
    for line in (folder / "underhood.pc").read_text().splitlines():
        line = re.sub(r"\$\{(\w+)\}", lambda match: names[match[1]], line)
        if assigned := re.match(r"(\w+)=(.*)", line):
            names[assigned[1]] = assigned[2]
        if line.startswith(("Libs:", "Cflags:")):
            actual += " " + line.partition(":")[2]
    return actual.split()


@pytest.fixture(scope="module", params=["cmake", "pkg-config"])
def programs(request, tmp_path_factory):
    """The folder of run_c and run_cpp, built in one of the two ways."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "pkg-config":
        compiled(CC, "-std=c11", *WARNINGS, EXAMPLES / "run.c", "-o", folder / "run_c", *flags())
        source = EXAMPLES / "run.cpp"
        compiled(CXX, "-std=c++20", *WARNINGS, source, "-o", folder / "run_cpp", *flags())
        return folder
    if not shutil.which("cmake"):
        pytest.skip("there is no cmake")
    compiled("cmake", "-S", EXAMPLES, "-B", folder, f"-DCMAKE_PREFIX_PATH={cmake_prefix_path}")
    compiled("cmake", "--build", folder)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model's file, and what the model gives for the row."""
    engine.manual_seed(0)
    model = Model()
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    engine.jit.save(engine.jit.script(model), path)
    with engine.no_grad():
        return path, model(engine.tensor([[float(word) for word in ROW]]))[0].tolist()


@pytest.mark.parametrize("name", ["run_c", "run_cpp"])
def test_a_saved_model_runs(name, programs, saved):
    path, expected = saved
    done = run(programs / name, path, *ROW, env={})  # nothing that helps: no LD_LIBRARY_PATH
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words == [f"{value:.9g}" for value in expected]  # 9 digits are a float32, bit for bit


@pytest.mark.parametrize("name", ["run_c", "run_cpp"])
def test_a_file_that_is_no_model_is_refused(name, programs, saved, tmp_path):
    full = saved[0].read_bytes()
    for number, content in enumerate((b"", b"PK\3\4" + bytes(99), full[:-1], full[:100])):
        path = tmp_path / str(number)
        path.write_bytes(content)
        done = run(programs / name, path, *ROW)
        assert done.returncode == 1
        assert str(path) in done.stderr
    assert run(programs / name).returncode == 2  # usage


@pytest.mark.parametrize("name", ["run_c", "run_cpp"])
def test_a_file_of_a_newer_version_is_refused(name, programs, saved, tmp_path):
    full = saved[0].read_bytes()
    version = b'{\\"version\\":2,'
    assert version in full
    (tmp_path / "m").write_bytes(full.replace(version, b'{\\"version\\":3,'))
    done = run(programs / name, tmp_path / "m", *ROW)
    assert done.returncode == 1
    assert f'"{tmp_path}/m" was written by a newer version of the engine' in done.stderr


@pytest.mark.parametrize("name", ["run_c", "run_cpp"])
def test_an_input_that_does_not_fit_is_an_error(name, programs, saved):
    done = run(programs / name, saved[0], "1", "2")
    assert done.returncode == 1
    assert "1x2" in done.stderr or "[1, 2]" in done.stderr, done.stderr


def test_the_cpp_header_does_what_it_says(tmp_path):
    engine.save({"w": engine.arange(6.0).reshape(2, 3)}, tmp_path / "w.safetensors")
    source, program = Path(__file__).with_name("native_use.cpp"), tmp_path / "native_use"
    compiled(CXX, "-std=c++20", *WARNINGS, "-fsanitize=undefined", source, "-o", program, *flags())
    done = run(program, tmp_path / "w.safetensors")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all of it holds\n"


HEADERS = PACKAGE / "include"


@pytest.mark.parametrize(
    "header", sorted(str(p.relative_to(HEADERS)) for p in HEADERS.rglob("*.h*"))
)
def test_headers_stand_alone(header):
    """Each compiles by itself, those of C as C and as C++; PyTorch's names for one of them lead to it."""
    text = (HEADERS / header).read_text(encoding="utf-8")
    if alias := re.fullmatch(r"#pragma once\n#include <(.+)>\n", text):
        assert (HEADERS / alias[1]).is_file()
        return
    python = pytest.importorskip("pybind11").get_include()
    own = [HEADERS, HEADERS / "torch/csrc/api/include"]
    folders = [f"-I{folder}" for folder in own if folder.is_dir()]
    folders += [f"-isystem{folder}" for folder in (python, sysconfig.get_path("include"))]
    include = [*folders, "-include", header, "-x"]
    remainder = ["-fsyntax-only", *WARNINGS, os.devnull]
    compiled(CXX, "-std=c++20", *include, "c++", *remainder)
    if header.startswith("underhood/") and header.endswith(".h"):
        compiled(CC, "-std=c11", *include, "c", *remainder)


def symbols(path: Path) -> tuple[set[str], set[str]]:
    """Return the dynamic symbols of a 64-bit ELF file: those it defines, those it needs."""
    content = path.read_bytes()
    (start,) = struct.unpack_from("<Q", content, 0x28)
    size, count = struct.unpack_from("<HH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, start + i * size) for i in range(count)]
    (table,) = [s for s in sections if s[1] == 11]  # SHT_DYNSYM
    names = content[sections[table[6]][4] :]
    defined, needed = set(), set()
    for at in range(table[4], table[4] + table[5], 24):
        name, section = struct.unpack_from("<I2xH", content, at)
        text = names[name : names.index(b"\0", name)].decode()
        (defined if section else needed).add(text)
    return defined - {""}, needed - {""}


@pytest.mark.skipif(not LIBRARY.exists(), reason="not an ELF library")
def test_the_library_shows_the_c_abi_alone_and_needs_no_python():
    defined, needed = symbols(LIBRARY)
    assert not [name for name in needed if name.lstrip("_").startswith("Py")]
    assert not [name for name in defined if not name.startswith("uh_")]
    declared = set()
    for path in (PACKAGE / "include" / "underhood").glob("*.h"):
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        declared |= set(re.findall(r"^\w[\w \*]*?\b(uh_\w+)\(", code, re.MULTILINE))
    assert len(declared) > 1000
    assert defined == declared


def test_package_files_name_no_place():
    """An installed package may be moved to another folder."""
    for path in (PACKAGE / "share").rglob("*"):
        if path.is_file() and not path.name.endswith("Version.cmake"):
            assert str(PACKAGE) not in path.read_text()
            assert str(ROOT) not in path.read_text()
