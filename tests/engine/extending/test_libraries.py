"""Libraries of operators: compiled with the installed headers, loaded, and used like the engine's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine import library, sparse_conv
from engine.inspect.history import History
from engine.inspect.live import storage_id, tensor_id
from engine.inspect.models import dispatch
from engine.inspect.recorder import record
from engine.inspect.selection import CallSelection, Selection
from engine.inspect.trace import TraceReader
from tests.engine.extending.building import build_library, build_program
from tui.cli import main

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """The library of signed_sqrt.cpp."""
    return build_library(HERE / "signed_sqrt.cpp", tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def signed(path):
    """Its operators."""
    engine.ops.load_library(path)
    engine.ops.load_library(path)  # once is enough
    assert str(path.resolve()) in engine.ops.loaded_libraries
    return engine.ops.test_signed


@pytest.fixture
def x():
    return engine.tensor([[4.0, -9.0], [0.25, -16.0]], dtype=engine.float64)


def load_source(source: str, folder: Path) -> None:
    """Builds and loads a library of these lines."""
    file = folder / "library.cpp"
    file.write_text(f"#include <underhood/underhood_library.hpp>\nusing uh::Tensor;\n{source}\n")
    engine.ops.load_library(build_library(file, folder))


def test_an_operator_is_called_by_position_and_by_name(signed, x):
    assert signed.signed_sqrt(x).tolist() == [[2, -3], [0.5, -4]]
    assert signed.signed_sqrt(x.t(), scale=2).tolist() == [[4, 1], [-6, -8]]
    assert signed.signed_sqrt.default(x=x, scale=0.0).abs().sum().item() == 0


def test_arguments_and_results_of_all_kinds(signed, x):
    sign, negatives = signed.split_sign(x)
    assert sign.tolist() == [[1, -1], [1, -1]]
    assert negatives == 2
    assert signed.weighted_sum([x, x], weights=[1, 0.5]).tolist() == (x * 1.5).tolist()
    assert signed.weighted_sum([x], engine.ones(2, 2), weights=[1.0]).tolist() == (x + 1).tolist()
    assert signed.cube(x).tolist() == (x**3).tolist()
    assert signed.cube(x, 2).tolist() == (2 * x**3).tolist()
    assert signed.cube.overloads() == ["default", "scaled"]


def test_an_operator_that_writes_counts_the_write(signed):
    x = engine.zeros(2, 3)
    version = x._version
    assert signed.fill_with_(x, 7) is None
    assert x.tolist() == [[7, 7, 7], [7, 7, 7]]
    assert x._version == version + 1
    leaf = engine.zeros(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        signed.fill_with_(leaf, 7)


def test_what_is_known_of_an_operator(signed):
    assert "signed_sqrt" in dir(signed)
    schema = "signed_sqrt(Tensor x, float scale=1.0) -> Tensor"
    assert signed.signed_sqrt.__doc__ == schema
    assert engine.ops.schema("test_signed::signed_sqrt").text == schema
    # A device that other tests have used has the fallback.
    kernels = set(engine.ops.kernels("test_signed::signed_sqrt")) - {"OpenCL"}
    assert kernels == {"CPU", "Meta", "Autograd"}
    assert "test_signed::signed_sqrt" not in engine.ops.schemas()  # those are the engine's own


def test_the_formula_is_its_gradient(signed, x):
    x.requires_grad_()
    assert engine.autograd.gradcheck(lambda x: signed.signed_sqrt(x, 3.0), (x,))
    assert engine.autograd.gradgradcheck(lambda x: signed.signed_sqrt(x, 3.0), (x,))
    y = signed.signed_sqrt(x)
    assert y.grad_fn.name() == "GeneratedBackwardFor_test_signed_signed_sqrt_defaultBackward"
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()
    with engine.no_grad():
        assert signed.signed_sqrt(x).grad_fn is None


def test_a_composite_operator_has_the_gradient_of_what_it_calls(signed, x):
    x.requires_grad_()
    assert engine.autograd.gradcheck(signed.cube, (x,))
    assert engine.autograd.gradcheck(
        lambda x: signed.weighted_sum([x, x * x], weights=[1, 2]), (x,)
    )


def test_an_operator_without_a_formula_refuses_to_be_differentiated(signed, x):
    x.requires_grad_()
    sign, _ = signed.split_sign(x)
    with pytest.raises(
        RuntimeError, match="derivative for test_signed::split_sign is not implemented"
    ):
        sign.sum().backward()


def test_meta_tensors_run_the_fake_kernel(signed, x):
    shape = engine.empty(5, 3, device="meta")
    assert signed.signed_sqrt(shape).shape == (5, 3)
    assert signed.signed_sqrt(shape).is_meta
    assert signed.cube(shape).shape == (5, 3)  # its operators have one
    with pytest.raises(NotImplementedError, match=r"test_signed::split_sign.*'Meta' backend"):
        signed.split_sign(shape)


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("value", ValueError, "an invalid argument"),
        ("index", IndexError, "out of range"),
        ("runtime", RuntimeError, "a failure"),
        ("int", RuntimeError, "not a std::exception"),
        ("engine", RuntimeError, "shapes cannot be multiplied"),
        ("none", RuntimeError, "returned None as result 0, where the schema has Tensor"),
    ],
)
def test_an_exception_of_a_kernel_arrives(signed, kind, error, text):
    with pytest.raises(error, match=text):
        signed.fail(engine.ones(2), kind)


def test_wrong_calls_say_what_is_wrong(signed, x):
    with pytest.raises(TypeError, match="argument 'x' must be Tensor, got str"):
        signed.signed_sqrt("a")
    with pytest.raises(TypeError, match="missing argument 'x'"):
        signed.signed_sqrt()
    with pytest.raises(TypeError, match="no argument 'y'"):
        signed.signed_sqrt(x, y=1)
    with pytest.raises(AttributeError, match=r"engine.ops.test_signed has no operator 'nothing'"):
        _ = signed.nothing
    with pytest.raises(AttributeError, match="load its library first"):
        _ = engine.ops.nowhere.anything


def test_traced_and_scripted_programs_call_it(signed, x):
    def f(x):
        return engine.ops.test_signed.signed_sqrt(x, 2.0) + 1

    expected = f(x)
    for program in (engine.jit.trace(f, (x,)), engine.jit.script(f)):
        assert "test_signed::signed_sqrt(" in str(program.graph)
        assert program(x).tolist() == expected.tolist()
        leaf = x.detach().requires_grad_()
        program(leaf).sum().backward()
        assert leaf.grad.tolist() == (1 / x.abs().sqrt()).tolist()

    @engine.jit.script
    def two(x):
        sign, negatives = engine.ops.test_signed.split_sign(x)
        return sign * negatives + engine.ops.test_signed.cube.scaled(x, 2)

    assert two(x).tolist() == (x.sign() * 2 + 2 * x**3).tolist()


class Rooted(engine.nn.Module):
    def forward(self, x):
        return engine.ops.test_signed.signed_sqrt(x, 2.0)


def test_a_saved_model_names_it_and_asks_for_its_library(signed, path, x, tmp_path):
    file = tmp_path / "model.safetensors"
    engine.jit.save(engine.jit.script(Rooted()), file)
    assert engine.jit.load(file)(x).tolist() == signed.signed_sqrt(x, 2.0).tolist()
    program = (
        "import sys, engine\n"
        "try:\n    engine.jit.load(sys.argv[1])\nexcept RuntimeError as error:\n    print(error)\n"
        "engine.ops.load_library(sys.argv[2])\n"
        "print(engine.jit.load(sys.argv[1])(engine.tensor([4.0])).tolist())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(file), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "there is no operator test_signed::signed_sqrt" in run.stdout
    assert "namespace test_signed is not loaded" in run.stdout
    assert run.stdout.splitlines()[-1] == "[4.0]"


def test_a_recording_shows_the_call_with_its_arguments(signed, tmp_path):
    file = tmp_path / "calls.uht"
    x = engine.tensor([4.0, -9.0], requires_grad=True)
    y = engine.zeros(1, 2)
    with record(file):
        signed.signed_sqrt(x, 2.0).sum().backward()
        signed.fill_with_(y, 3)
        signs = signed.split_sign(y)
    assert signs[1] == 0
    history = History(TraceReader.open(file))
    calls = {call.op: call for call in map(history.call, history.tables.calls.id.tolist())}
    assert [argument.value for argument in calls["signed_sqrt"].args] == [tensor_id(x), 2.0]
    hops = history.hops(calls["signed_sqrt"].id)
    assert [hop.kernel for hop in hops] == ["signed_sqrt (Autograd)", "signed_sqrt (CPU)"]
    written = history.last_write(storage_id(y), -1, history.end - 1)
    assert written.call == calls["fill_with_"].id
    (result,) = calls["split_sign"].results
    storage = history.described(result, calls["split_sign"].until).storage
    assert history.last_write(storage, -1, history.end - 1).call == calls["split_sign"].id


def test_the_dispatch_view_shows_the_library_and_the_source(signed, path, tmp_path, capsys):
    own = library.Library("test_signed", "FRAGMENT")
    own.define("from_python(Tensor x) -> Tensor")
    own.impl("from_python", lambda x: x + 1, "CPU")
    file = tmp_path / "calls.uht"
    x = engine.tensor([4.0, -9.0])
    with record(file):
        signed.signed_sqrt(x, 2.0)
        signed.from_python(x)
    history = History(TraceReader.open(file))
    numbers = {history.call(n).op: n for n in history.tables.calls.id.tolist()}
    model = dispatch.project(
        history, history.end - 1, Selection.of(CallSelection(numbers["signed_sqrt"]))
    )
    assert model.name == "test_signed::signed_sqrt"
    assert model.schema == "test_signed::signed_sqrt(Tensor x, float scale=1.0) -> Tensor"
    assert model.origin.library == str(path)
    assert model.origin.path.endswith("signed_sqrt.cpp")
    line = (HERE / "signed_sqrt.cpp").read_text().splitlines()[model.origin.line - 1]
    assert line.startswith("UH_LIBRARY(test_signed, m)")
    model = dispatch.project(
        history, history.end - 1, Selection.of(CallSelection(numbers["from_python"]))
    )
    assert (model.origin.path, model.origin.library) == (__file__, "")
    own._destroy()
    for name, expected in (("signed_sqrt", str(path)), ("from_python", "a Python program")):
        moment = str(history.call(numbers[name]).since + 1)
        main(["show", "--view", "dispatch", "--at", moment, "--width", "200", str(file)])
        text = capsys.readouterr().out
        assert "a library, not csrc/ops" in text
        assert expected in text


def test_a_file_that_cannot_be_loaded_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no_such_library"):
        engine.ops.load_library(tmp_path / "no_such_library.so")
    text = tmp_path / "text.so"
    text.write_text("not a shared object")
    with pytest.raises(OSError, match=r"load_library: cannot load .*text.so"):
        engine.ops.load_library(text)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3])
def test_a_library_that_was_cut_off_is_an_error(share, tmp_path):
    """A copy that was interrupted: reading what its headers promise would end the process."""
    sparse_conv.build_rulebook(engine.zeros(0, 2, dtype=engine.int64), 1, [1], [1])
    library_path = next(path for path in engine.ops.loaded_libraries if "libsparse_conv" in path)
    content = Path(library_path).read_bytes()
    part = tmp_path / "part.so"
    part.write_bytes(content[: int(share * len(content))])
    with pytest.raises(OSError, match=r"load_library: cannot load .*part.so: .*(cut off|short)"):
        engine.ops.load_library(part)


FIRST = 'm.def("first(Tensor x) -> Tensor");'
BAD = {
    "is not an operator library": "int no_operators = 1;",
    "expected": f'UH_LIBRARY(test_bad, m) {{ {FIRST} m.def("bad(Tensor x -> Tensor"); }}',
    "has the type Thing": f'UH_LIBRARY(test_bad, m) {{ {FIRST} m.def("bad(Thing x) -> Tensor"); }}',
    "already registered": f"UH_LIBRARY(test_bad, m) {{ {FIRST} {FIRST} }}",
    "Only a single UH_LIBRARY": f"UH_LIBRARY(test_bad, m) {{ {FIRST} }} UH_LIBRARY(test_bad, n) {{}}",
    "no operator test_bad::gone to implement": """
        UH_LIBRARY_IMPL(test_bad, CPU, m) { m.impl("gone", [](const Tensor& x) { return x; }); }""",
    "could not parse dispatch key 'Nowhere'": f"""
        UH_LIBRARY(test_bad, m) {{ {FIRST} }}
        UH_LIBRARY_IMPL(test_bad, Nowhere, m) {{ m.impl("first", [](const Tensor& x) {{ return x; }}); }}""",
    "the schema has 1 arguments and the kernel 0": f"""
        UH_LIBRARY(test_bad, m) {{ {FIRST} }}
        UH_LIBRARY_IMPL(test_bad, CPU, m) {{ m.impl("first", [] {{ return 1.0; }}); }}""",
    r"argument 0 \('x'\) is Tensor in the schema and str in the kernel": f"""
        UH_LIBRARY(test_bad, m) {{ {FIRST} }}
        UH_LIBRARY_IMPL(test_bad, CPU, m) {{ m.impl("first", [](std::string) {{ return Tensor(); }}); }}""",
    "reserved namespace": 'UH_LIBRARY(aten, m) { m.def("mine(Tensor x) -> Tensor"); }',
}


@pytest.mark.parametrize(("message", "source"), BAD.items(), ids=BAD)
def test_a_library_that_fails_leaves_no_operator_behind(message, source, tmp_path):
    before = set(engine.ops.loaded_libraries)
    with pytest.raises((RuntimeError, ValueError), match=message):
        load_source(source, tmp_path)
    assert engine.ops.schemas("test_bad") == {}
    assert engine.ops.loaded_libraries == before


def test_the_c_abi_registers_operators_and_survives_mistakes(tmp_path):
    program = build_program(HERE / "registration.c", tmp_path)
    done = subprocess.run([program], capture_output=True, text=True, check=False, env={})
    assert (done.stdout, done.stderr, done.returncode) == ("ok\n", "", 0)
