"""Libraries and builds that are wrong in many ways: a clear error of the right class, and the process lives on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import engine
from engine import library
from engine.library.opcheck import OpCheckError
from engine.utils import cpp_extension
from tests.engine.extending.building import build_library, needs_compiler

HEADER = "#include <underhood/underhood_library.hpp>\n#include <csignal>\nusing uh::Tensor;\n"


def load_source(source: str, folder: Path) -> Path:
    file = folder / "library.cpp"
    file.write_text(HEADER + source)
    path = build_library(file, folder)
    engine.ops.load_library(path)
    return path


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_library_for_another_version_of_the_engine(tmp_path):
    file = tmp_path / "newer.c"
    file.write_text(
        "int uh_of_the_next_version(void); int f(void) { return uh_of_the_next_version(); }"
    )
    path = build_library(file, tmp_path)
    with pytest.raises(OSError, match=r"uh_of_the_next_version.*built for another version"):
        engine.ops.load_library(path)
    assert str(path) not in engine.ops.loaded_libraries


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    load_source(
        """
        static std::string g_answers;
        static std::string answers() { return g_answers; }
        template <class F>
        static void register_kernel(uh::Library& m, const std::string& schema, F kernel) {
          m.def(schema);
          const std::string name = schema.substr(0, schema.find('('));
          try {
            m.impl(name, "CPU", kernel);
            g_answers += name + ": registered\\n";
          } catch (const uh::Error& error) {
            g_answers += std::string(error.what()) + "\\n";
          }
        }
        using Ints = std::vector<int64_t>;
        UH_LIBRARY(test_bad_input, m) {
          m.def("answers() -> str", &answers);
          register_kernel(m, "wants_str(Tensor x, int n) -> Tensor",
                          [](const Tensor& x, const std::string&) { return x; });
          register_kernel(m, "wants_float(int n) -> int", [](double) { return int64_t{3}; });
          register_kernel(m, "wants_int(bool b) -> int", [](int64_t i) { return i; });
          register_kernel(m, "wants_value(float? x) -> float", [](double x) { return x; });
          register_kernel(m, "wants_tensors(Tensor x) -> int",
                          [](const std::vector<Tensor>&) { return int64_t{3}; });
          register_kernel(m, "wants_floats(int[2] sizes) -> ()", [](std::vector<double>) {});
          register_kernel(m, "returns_int(Tensor x) -> Tensor",
                          [](const Tensor&) { return int64_t{3}; });
          register_kernel(m, "returns_two(Tensor x) -> (Tensor y)",
                          [](const Tensor& x) { return std::make_tuple(x, x); });
          register_kernel(m, "returns_list(Tensor x) -> (Tensor, Tensor)",
                          [](const Tensor& x) { return std::vector<Tensor>{x, x}; });
          register_kernel(m, "returns_nothing(Tensor x) -> Tensor", [](const Tensor&) {});
          register_kernel(m, "fits(Tensor(a!) x, Tensor? y, Tensor?[] z, SymInt[3]? n, ScalarType t, "
                             "MemoryFormat? f, Device d, Scalar s, str w) -> (Tensor(a!), int)",
                          [](Tensor& x, const Tensor&, std::vector<Tensor>, std::optional<Ints>,
                             uh::ScalarType, std::optional<uh::MemoryFormat> f, uh::Device, uh::Scalar,
                             std::string) { return std::make_tuple(x, f ? int64_t(*f) : -1); });
          m.def("beyond(Tensor x) -> Tensor");
          m.def("other_shape(Tensor x) -> Tensor");
          m.def("throws(Tensor x, int what) -> Tensor");
          m.set_python_module("a.module.of.fakes", "It comes with the package.");
          m.def("fake_in_python(Tensor x) -> Tensor");
        }
        UH_LIBRARY_IMPL(test_bad_input, CPU, m) {
          m.impl("beyond", [](const Tensor& x) { return uh::as_strided(x, {1000, 1000}, {1000, 1}); });
          m.impl("other_shape", [](const Tensor& x) { return uh::zeros({7, 3}, x.dtype()); });
          m.impl("throws", [](const Tensor& x, int64_t what) -> Tensor {
            if (what == 0) throw std::runtime_error("a reason");
            if (what == 1) throw 42;
            if (what == 2) throw "text";
            if (what == 3) throw std::bad_alloc();
            return x * 1;
          });
        }
        UH_LIBRARY_IMPL(test_bad_input, Meta, m) {
          m.impl("other_shape", [](const Tensor& x) { return uh::empty_like(x); });
        }
        """,
        tmp_path_factory.mktemp("bad"),
    )
    return engine.ops.test_bad_input


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        ("beyond", (), RuntimeError, "out of bounds"),
        ("throws", (0,), RuntimeError, "a reason"),
        ("throws", (1,), RuntimeError, "an exception that is not a std::exception"),
        ("throws", (2,), RuntimeError, "an exception that is not a std::exception"),
        ("throws", (3,), RuntimeError, "out of memory"),
    ],
)
def test_a_kernel_that_fails(bad, name, arguments, error, message):
    for x in (engine.ones(2), engine.ones(2, requires_grad=True)):
        with pytest.raises(error, match=message):
            getattr(bad, name)(x, *arguments)
    assert bad.throws(engine.ones(2), 9).tolist() == [1, 1]


def test_a_fake_kernel_that_a_module_registers(bad):
    meta = engine.empty(2, device="meta")
    with pytest.raises(NotImplementedError, match=r"Could not run .*; register a fake kernel"):
        bad.beyond(meta)
    message = "import the 'a.module.of.fakes' Python module to load the fake impl. It comes with the package."
    with pytest.raises(NotImplementedError, match=re.escape(message)):
        bad.fake_in_python(meta)
    with pytest.warns(FutureWarning, match="renamed to `library.register_fake`"):
        library.impl_abstract("test_bad_input::fake_in_python", engine.empty_like)
    assert bad.fake_in_python(meta).shape == (2,)


def test_a_kernel_whose_types_are_not_the_schema_s_is_refused_when_it_is_registered(bad):
    answers = bad.answers().splitlines()
    mismatch = "Inferred operator schema for a C++ kernel function doesn't match the expected function schema."
    reasons = [
        "wants_str (CPU): argument 1 ('n') is int in the schema and str in the kernel",
        "wants_float (CPU): argument 0 ('n') is int in the schema and float in the kernel",
        "wants_int (CPU): argument 0 ('b') is bool in the schema and int in the kernel",
        "wants_value (CPU): argument 0 ('x') is float? in the schema and float in the kernel",
        "wants_tensors (CPU): argument 0 ('x') is Tensor in the schema and Tensor[] in the kernel",
        "wants_floats (CPU): argument 0 ('sizes') is int[] in the schema and float[] in the kernel",
        "returns_int (CPU): result 0 is Tensor in the schema and int in the kernel",
        "returns_two (CPU): the schema has 1 results and the kernel 2",
        "returns_list (CPU): the schema has 2 results and the kernel 1",
        "returns_nothing (CPU): the schema has 1 results and the kernel 0",
    ]
    for reason, answer in zip([*reasons, "fits: registered"], answers, strict=True):
        assert answer.replace(f" {mismatch}", "").startswith(reason)
    assert answers[0].endswith(
        "expected schema: wants_str(Tensor x, int n) -> Tensor; "
        "inferred schema: (Tensor _0, str _1) -> Tensor"
    )
    x = engine.ones(2)
    arguments = (None, [None, x], [1, 2, 3], engine.float32)
    for memory_format, number in ((None, -1), (engine.channels_last, 2)):
        y, n = bad.fits(x, *arguments, memory_format, engine.device("cpu"), 1, "word")
        assert (y is x, n) == (True, number)


def test_results_of_another_shape_than_promised(bad):
    assert bad.other_shape(engine.ones(2)).shape == (7, 3)
    with pytest.raises(OpCheckError, match="test_faketensor failed"):
        library.opcheck(bad.other_shape.default, (engine.ones(2),))


def test_a_library_that_holds_tensors_at_exit(tmp_path):
    path = load_source(
        """
        static std::vector<Tensor> g_kept;
        static Tensor keep(const Tensor& x) { g_kept.push_back(x); g_kept.push_back(x * 2); return x * 1; }
        UH_LIBRARY(test_holds, m) { m.def("keep(Tensor x) -> Tensor", &keep); }
        """,
        tmp_path,
    )
    done = run_python(
        """
        import sys, engine
        engine.ops.load_library(sys.argv[1])
        x = engine.ones(1000, requires_grad=True)
        engine.ops.test_holds.keep(x).sum().backward()
        print("done")
        """,
        str(path),
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


SLOW = """
#include <underhood/underhood_library.hpp>
UH_LIBRARY({name}, m) {{ m.def("f(Tensor x) -> Tensor", [](const uh::Tensor& x) {{ return x + 1; }}); }}
"""
LOADS = """
import sys
from engine.utils import cpp_extension
cpp_extension.load(sys.argv[1], sys.argv[2], ["-O0"], build_directory=sys.argv[3], is_python_module=False)
"""


@needs_compiler
def test_a_build_that_is_interrupted_leaves_nothing_half(tmp_path):
    source, folder = tmp_path / "interrupted.cpp", tmp_path / "build"
    source.write_text(SLOW.format(name="interrupted"))
    process = subprocess.Popen(
        [sys.executable, "-c", LOADS, "interrupted", str(source), str(folder)],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not list(folder.glob("building-*")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not list(folder.glob("*.so"))
    assert not (folder / "build.json").exists()
    cpp_extension.load(
        "interrupted", str(source), ["-O0"], build_directory=str(folder), is_python_module=False
    )
    assert engine.ops.interrupted.f(engine.zeros(1)).item() == 1
    assert not list(folder.glob("building-*"))


@needs_compiler
def test_nothing_is_written_next_to_the_sources(tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    source = sources / "read_only.cpp"
    source.write_text(SLOW.format(name="read_only"))
    sources.chmod(0o555)
    try:
        cpp_extension.load(
            "read_only",
            str(source),
            ["-O0"],
            build_directory=str(tmp_path / "build"),
            is_python_module=False,
        )
    finally:
        sources.chmod(0o755)
    assert [file.name for file in sources.iterdir()] == ["read_only.cpp"]
    assert engine.ops.read_only.f(engine.zeros(1)).item() == 1


@needs_compiler
def test_a_build_folder_that_is_a_file(tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text("int x;")
    occupied = tmp_path / "occupied"
    occupied.write_text("a file")
    with pytest.raises(RuntimeError, match="cannot write to the build folder"):
        cpp_extension.load("a", str(source), build_directory=str(occupied))
