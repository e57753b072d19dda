"""C++ extensions: built at first use and ahead of time, with tensors as PyTorch's C++ API has them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import engine
from engine.utils import cpp_extension
from tests.engine.extending.building import HAS_COMPILER

pytest.importorskip("pybind11")
if not HAS_COMPILER:
    pytest.skip("there is no compiler", allow_module_level=True)
HERE = Path(__file__).parent
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-O0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("builds")


@pytest.fixture(scope="module")
def lltm(folder):
    return cpp_extension.load(
        "lltm_at_first_use",
        [str(HERE / "lltm.cpp")],
        WARNINGS,
        build_directory=str(folder / "lltm"),
    )


@pytest.fixture(scope="module")
def cpp(folder):
    source = str(HERE / "tensors_in_cpp.cpp")
    return cpp_extension.load(
        "tensors_in_cpp", source, extra_cflags=WARNINGS, build_directory=str(folder / "tensors")
    )


def function_of(module):
    """The autograd.Function over an LLTM extension, as PyTorch's tutorial writes it."""

    class LLTMFunction(engine.autograd.Function):
        @staticmethod
        def forward(ctx, input, weights, bias, old_h, old_cell):
            h, cell, *saved = module.forward(input, weights, bias, old_h, old_cell)
            ctx.save_for_backward(cell, *saved, weights)
            return h, cell

        @staticmethod
        def backward(ctx, grad_h, grad_cell):
            return tuple(module.backward(grad_h, grad_cell, *ctx.saved_tensors))

    return LLTMFunction


def lltm_in_python(input, weights, bias, old_h, old_cell):
    x = engine.cat([old_h, input], dim=1)
    gates = engine.nn.functional.linear(x, weights, bias.view(-1)).chunk(3, dim=1)
    cell = old_cell + engine.nn.functional.elu(gates[2]) * gates[0].sigmoid()
    return cell.tanh() * gates[1].sigmoid(), cell


def lltm_arguments():
    sizes = [(4, 5), (9, 8), (1, 9), (4, 3), (4, 3)]
    return [engine.randn(*size, dtype=engine.float64, requires_grad=True) for size in sizes]


def check_lltm(module):
    apply = function_of(module).apply
    arguments = lltm_arguments()
    for got, expected in zip(apply(*arguments), lltm_in_python(*arguments), strict=True):
        assert engine.allclose(got, expected, rtol=1e-12)
    assert engine.autograd.gradcheck(apply, tuple(arguments))


def test_lltm_at_first_use(lltm):
    check_lltm(lltm)
    assert lltm.forward.__doc__.endswith("LLTM forward\n")
    with pytest.raises(RuntimeError, match="expected a matrix, got 1 dimensions"):
        lltm.forward(engine.ones(3), *lltm_arguments()[1:])
    with pytest.raises(TypeError, match=r"engine\.Tensor"):
        lltm.forward(3)


def test_lltm_ahead_of_time(tmp_path):
    pytest.importorskip("setuptools")
    shutil.copy(HERE / "lltm.cpp", tmp_path)
    (tmp_path / "setup.py").write_text(
        textwrap.dedent("""
        from setuptools import setup
        from engine.utils.cpp_extension import BuildExtension, CppExtension
        setup(name="lltm_cpp",
              ext_modules=[CppExtension("lltm_ahead", ["lltm.cpp"], extra_compile_args=["-O0"])],
              cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)})
        """)
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "build_ext", "--inplace"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "lltm_ahead.so").exists()
    sys.path.insert(0, str(tmp_path))
    try:
        import lltm_ahead
    finally:
        sys.path.remove(str(tmp_path))
    check_lltm(lltm_ahead)


def test_a_setup_script_that_prefers_cuda():
    assert cpp_extension.CUDA_HOME is None
    with pytest.raises(OSError, match="CUDA_HOME environment variable is not set"):
        cpp_extension.CUDAExtension("a", ["a.cpp"])


def test_a_module_without_pybind11(tmp_path):
    source = tmp_path / "plain_module.cpp"
    source.write_text(
        textwrap.dedent("""
        #include <Python.h>
        #include <torch/all.h>
        #include <torch/library.h>
        extern "C" {
        PyObject* PyInit_plain_module(void) {
          static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "plain_module", NULL, -1, NULL};
          return PyModule_Create(&definition);
        }
        }
        at::Tensor half(const at::Tensor& x) {
          at::Tensor result = torch::empty(x.sizes(), x.options());
          for (int64_t i = 0; i < x.numel(); ++i)
            result.data_ptr<float>()[i] = x.contiguous().data_ptr<float>()[i] / 2;
          return result;
        }
        TORCH_LIBRARY(plain_module, m) { m.def("half(Tensor x) -> Tensor"); }
        TORCH_LIBRARY_IMPL(plain_module, CPU, m) { m.impl("half", &half); }
        """)
    )
    cpp_extension.load("plain_module", str(source), ["-O0"], build_directory=str(tmp_path))
    assert engine.ops.plain_module.half(engine.ones(2)).tolist() == [0.5, 0.5]


def test_nothing_is_copied(cpp):
    x = engine.ones(2, 3)
    assert cpp.itself(x) is x
    assert cpp.address(x) == x.data_ptr()
    assert cpp.empty() is None
    assert cpp.dtype_of(x) is engine.float32
    assert cpp.cast(x, engine.int64).dtype is engine.int64


def test_a_function_in_cpp(cpp):
    x = engine.randn(3, dtype=engine.float64, requires_grad=True)
    assert engine.autograd.gradcheck(lambda x: cpp.cube(x, 2.0), (x,))
    assert engine.autograd.gradgradcheck(lambda x: cpp.cube(x, 2.0), (x,))
    assert cpp.cube(x, 1.0).grad_fn.name() == "CubeBackward"
    assert cpp.cube(x.detach(), 1.0).grad_fn is None
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 1, got 0\)"):
        cpp.careless(x).sum().backward()


def test_elements_indices_and_factories(cpp):
    for dtype in (engine.float32, engine.float64, engine.int8, engine.int64, engine.uint8):
        assert cpp.dispatched_sum(engine.arange(6).view(2, 3).to(dtype).t()) == 15
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        cpp.dispatched_sum(engine.zeros(1, 1, dtype=engine.complex64))
    x = engine.arange(24.0).view(2, 4, 3)
    assert cpp.row_of(x, 1).tolist() == x[1, ::2].tolist()
    assert cpp.masked(engine.arange(3.0), engine.tensor([True, False, True])).tolist() == [
        0.5,
        1,
        0.5,
    ]
    assert cpp.counted().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert cpp.options_of(x).tolist() == [4, 6]
    assert cpp.options_of(x).requires_grad
    x.requires_grad_()
    assert not cpp.without_gradient(x).requires_grad
    assert cpp.gradient_of_square(engine.arange(3.0)).tolist() == [0, 2, 4]
    assert cpp.printed(engine.ones(1, 2)) == " 1 1\n[ CPUFloatType{1,2} ]"
    assert cpp.add_all([engine.ones(2)] * 3).tolist() == [3, 3]
    assert cpp.add_all([engine.ones(2)], bias=engine.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("value", ValueError, "an invalid argument"),
        ("index", IndexError, "out of range"),
        ("type", TypeError, "a wrong type"),
        ("check", RuntimeError, 'Expected kind != "check" to be true'),
        ("engine", RuntimeError, "shapes cannot be multiplied"),
    ],
)
def test_exceptions_of_cpp_arrive(cpp, kind, error, text):
    with pytest.raises(error, match=text):
        cpp.fails(kind)


def test_operators_that_an_extension_registers(cpp):
    a, b, out = engine.randn(3), engine.randn(3), engine.empty(3)
    ops = engine.ops.tensors_in_cpp
    assert engine.allclose(ops.muladd(a, b, 2.0), a * b + 2)
    assert ops.muladd_out(a, b, out) is None
    assert engine.allclose(out, a * b)
    assert cpp.through_the_dispatcher(a, b, 1.0).tolist() == ops.muladd(a, b, 1.0).tolist()
    text = "with_inferred_schema(Tensor _0, int _1, float? _2) -> Tensor"
    assert ops.with_inferred_schema.__doc__ == text
    assert engine.allclose(ops.with_inferred_schema(a, 2, None), a * 2)
    with pytest.raises(RuntimeError, match=r"Expected a\.dtype\(\) == at::kFloat"):
        ops.muladd(a.double(), b.double(), 2.0)


# ---- builds; operators without pybind11 compile in half the time

OPERATOR = """
#include "number.h"
static uh::Tensor f(const uh::Tensor& x) {{ return x + NUMBER; }}
UH_LIBRARY({name}, m) {{ m.def("f(Tensor x) -> Tensor", &f); }}
"""


def write_operator(folder: Path, name: str, number: int = 1) -> Path:
    (folder / "number.h").write_text(
        f"#include <underhood/underhood_library.hpp>\n#define NUMBER {number}\n"
    )
    source = folder / f"{name}.cpp"
    source.write_text(OPERATOR.format(name=name))
    return source


def load_operator(source: Path, **options) -> Path:
    folder = source.parent / "build"
    return Path(
        cpp_extension.load(
            source.stem,
            str(source),
            options.pop("cflags", ["-O0"]),
            build_directory=str(folder),
            is_python_module=False,
            **options,
        )
    )


def test_a_build_is_reused_until_an_input_changes(tmp_path, monkeypatch, capfd):
    source = write_operator(tmp_path, "reused")
    first = load_operator(source, verbose=True)
    assert engine.ops.reused.f(engine.zeros(1)).item() == 1
    assert "compiling" in capfd.readouterr().err
    time = first.stat().st_mtime_ns
    os.utime(source)
    assert load_operator(source, verbose=True) == first
    assert first.stat().st_mtime_ns == time
    assert "up to date" in capfd.readouterr().err
    monkeypatch.setattr(engine.ops, "load_library", lambda path: None)  # its namespace is taken
    (tmp_path / "build" / "building-left").mkdir()  # by a build that was killed
    write_operator(tmp_path, "reused", 2)  # a header
    second = load_operator(source)
    assert second != first
    assert not first.exists()
    assert sorted(p.name for p in second.parent.iterdir()) == [
        "build.json",
        "lock",
        second.name,
    ]
    assert load_operator(source, cflags=["-O0", "-DOTHER"]) != second  # a flag
    (tmp_path / "build" / "build.json").write_text('{"library"')  # damaged
    assert load_operator(source).exists()


def test_compiler_calls_without_ninja(tmp_path, monkeypatch):
    from engine.utils.cpp_extension import build

    source = write_operator(tmp_path, "without_ninja")
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    monkeypatch.setenv("CXX", "")
    monkeypatch.setattr(build, "compiler_command", lambda: ["/usr/bin/c++"])
    assert load_operator(source).exists()
    assert engine.ops.without_ninja.f(engine.zeros(1)).item() == 1
    source.write_text("int x = y;")
    with pytest.raises(RuntimeError, match=r"error: .y. was not declared"):
        load_operator(source)


def test_processes_that_load_at_once_build_once(tmp_path):
    source = write_operator(tmp_path, "at_once")
    program = textwrap.dedent(f"""
        import sys
        from engine.utils.cpp_extension import build, load
        run = build._run_ninja
        def counting(*args):
            print("built", flush=True)
            run(*args)
        build._run_ninja = counting
        load("at_once", {str(source)!r}, ["-O0"], build_directory={str(tmp_path / "build")!r},
             is_python_module=False)
        import engine
        assert engine.ops.at_once.f(engine.zeros(1)).item() == 1
    """)
    runs = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert sorted(outputs) == ["", "built\n"]


def test_errors_of_the_compiler_arrive_whole(tmp_path):
    with pytest.raises(RuntimeError, match="Error building extension 'broken'") as caught:
        cpp_extension.load_inline(
            "broken",
            "int f() { return first_mistake; }\nint g() { return second_mistake; }",
            functions="f",
            extra_cflags=["-O0"],
            build_directory=str(tmp_path),
            no_implicit_headers=True,
        )
    assert "first_mistake" in str(caught.value)
    assert "second_mistake" in str(caught.value)
    assert not (tmp_path / "build.json").exists()


def test_sources_from_strings(tmp_path):
    module = cpp_extension.load_inline(
        "from_strings",
        ["torch::Tensor twice(torch::Tensor x) { return x * 2; }"],
        functions={"twice": 'Doubles "x".'},
        extra_cflags=["-O0"],
        build_directory=str(tmp_path),
    )
    assert module.twice(engine.ones(2)).tolist() == [2, 2]
    assert module.twice.__doc__.endswith('Doubles "x".\n')


@pytest.mark.parametrize(
    ("options", "variables", "error", "message"),
    [
        ({"sources": []}, {}, RuntimeError, "has no sources"),
        ({"sources": "missing.cpp"}, {}, FileNotFoundError, r"no source missing\.cpp"),
        ({"sources": "a.cu"}, {}, RuntimeError, r"a\.cu is CUDA"),
        ({"with_cuda": True}, {}, RuntimeError, "runs on the CPU"),
        ({"name": "no name"}, {}, ValueError, "must be an identifier"),
        ({}, {"CXX": "no-such-compiler"}, RuntimeError, "CXX names 'no-such-compiler'"),
        ({}, {"CXX": "false"}, RuntimeError, "the compiler .*false cannot run"),
        ({}, {"CXX": "", "PATH": "/nowhere"}, RuntimeError, "no C.. compiler is installed"),
        (
            {"build_directory": "/proc/nowhere"},
            {},
            RuntimeError,
            "cannot write to the build folder /proc/nowhere",
        ),
    ],
)
def test_what_cannot_be_built(tmp_path, monkeypatch, options, variables, error, message):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    source = tmp_path / "source.cpp"
    source.write_text("int x;")
    arguments = {"name": "a", "sources": str(source), "build_directory": str(tmp_path), **options}
    with pytest.raises(error, match=message):
        cpp_extension.load(**arguments)


def test_builds_are_cached_for_the_user(monkeypatch, tmp_path):
    from engine.utils.cpp_extension.build import default_folder

    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    python = f"py{sys.version_info[0]}{sys.version_info[1]}_cpu"
    assert default_folder("mine") == tmp_path / python / "mine"
    monkeypatch.delenv("TORCH_EXTENSIONS_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tmp_path in default_folder("mine").parents
