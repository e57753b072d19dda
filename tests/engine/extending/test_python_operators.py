"""engine.library: operators written in Python are called, differentiated, traced and recorded like the engine's."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys

import numpy as np
import pytest

import engine
from engine import Tensor
from engine.inspect.history import History
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader
from engine.library import Library, custom_op, infer_schema, opcheck

_numbers = itertools.count()


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test uses."""
    return f"python_test_{next(_numbers)}"


@pytest.fixture
def numpy_sin(namespace):
    """A sine that NumPy computes, with everything registered."""

    @custom_op(f"{namespace}::numpy_sin", mutates_args=())
    def numpy_sin(x: Tensor, scale: float = 1.0) -> Tensor:
        return engine.from_numpy(np.sin(x.numpy(force=True)) * scale)

    @numpy_sin.register_fake
    def _(x, scale=1.0):
        return engine.empty_like(x)

    def setup_context(ctx, inputs, output):
        x, ctx.scale = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return grad * ctx.scale * x.cos(), None

    numpy_sin.register_autograd(backward, setup_context=setup_context)
    return numpy_sin


@pytest.fixture
def x():
    return engine.tensor([[0.5, -1.0], [2.0, 3.0]], dtype=engine.float64)


def test_a_custom_operator_is_called_like_its_function(numpy_sin, namespace, x):
    expected = np.sin(x.numpy()) * 2
    packet = getattr(engine.ops, namespace).numpy_sin
    for call in (numpy_sin, packet, packet.default):
        assert np.array_equal(call(x, 2.0).numpy(), expected)
        assert np.array_equal(call(x=x, scale=2.0).numpy(), expected)
    assert packet.__doc__ == "numpy_sin(Tensor x, float scale=1.0) -> Tensor"
    assert repr(numpy_sin) == f"<CustomOpDef({namespace}::numpy_sin)>"
    with pytest.raises(TypeError, match="argument 'x' must be Tensor, got int"):
        numpy_sin(3)


def test_its_formula_is_its_gradient(numpy_sin, namespace, x):
    x.requires_grad_()
    assert engine.autograd.gradcheck(lambda x: numpy_sin(x, 3.0), (x,))
    assert engine.autograd.gradgradcheck(lambda x: numpy_sin(x, 3.0), (x,))
    y = numpy_sin(x)
    assert y.grad_fn.name() == f"GeneratedBackwardFor_{namespace}_numpy_sin_defaultBackward"
    with engine.no_grad():
        assert numpy_sin(x).grad_fn is None
    assert numpy_sin(x.detach()).grad_fn is None


def test_opcheck_accepts_it(numpy_sin, x):
    for args in ((x,), (x.float(), 2.0), (x.t(), 0.5), (x.clone().requires_grad_(),)):
        assert set(opcheck(numpy_sin, args).values()) <= {"SUCCESS"} or args[0].stride() == (1, 2)
    assert opcheck(numpy_sin, (x.requires_grad_(), 2.0)) == {
        "test_schema": "SUCCESS",
        "test_autograd_registration": "SUCCESS",
        "test_faketensor": "SUCCESS",
        "test_aot_dispatch_dynamic": "SUCCESS",
    }


def test_traced_scripted_and_saved_programs_name_it(numpy_sin, namespace, x, tmp_path):
    packet = getattr(engine.ops, namespace).numpy_sin

    def f(x):
        return packet(x, 2.0) + 1

    traced = engine.jit.trace(f, (x,))
    scope: dict[str, object] = {}
    source = tmp_path / "program.py"
    source.write_text(
        f"import engine\ndef f(x):\n    return engine.ops.{namespace}.numpy_sin(x, 2.0) + 1\n"
    )
    exec(compile(source.read_text(), source, "exec"), scope)
    scripted = engine.jit.script(scope["f"])
    for program in (traced, scripted):
        assert f"{namespace}::numpy_sin(" in str(program.graph)
        leaf = x.clone().requires_grad_()
        result = program(leaf)
        assert result.tolist() == f(x).tolist()
        result.sum().backward()
        assert engine.allclose(leaf.grad, 2 * x.cos())
    file = tmp_path / "model.safetensors"
    engine.jit.save(scripted, file)
    assert engine.jit.load(file)(x).tolist() == f(x).tolist()
    program = "import sys, engine\nengine.jit.load(sys.argv[1])"
    run = subprocess.run(
        [sys.executable, "-c", program, file], capture_output=True, text=True, check=False
    )
    assert f"there is no operator {namespace}::numpy_sin" in run.stderr


def test_a_recording_shows_its_hops(numpy_sin, tmp_path, x):
    file = tmp_path / "calls.uht"
    x.requires_grad_()
    with record(file):
        numpy_sin(x, 2.0).sum().backward()
    history = History(TraceReader.open(file))
    calls = {call.op: call for call in map(history.call, history.tables.calls.id.tolist())}
    hops = history.hops(calls["numpy_sin"].id)
    assert [hop.kernel for hop in hops] == ["numpy_sin (Autograd) (Python)", "numpy_sin (Python)"]


def test_lists_and_several_results(namespace):
    @custom_op(f"{namespace}::weigh", mutates_args=())
    def weigh(
        xs: list[Tensor], weights: list[float], bias: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor], int]:
        parts = [x * w for x, w in zip(xs, weights, strict=True)]
        total = sum(parts[1:], parts[0] if bias is None else parts[0] + bias)
        return total.clone(), parts, len(parts)

    def setup_context(ctx, inputs, output):
        ctx.weights, ctx.biased = inputs[1], inputs[2] is not None

    def backward(ctx, total, parts, count):
        assert count is None
        gradients = [(total + part) * w for part, w in zip(parts, ctx.weights, strict=True)]
        return gradients, None, total if ctx.biased else None

    weigh.register_autograd(backward, setup_context=setup_context)
    a, b = (engine.randn(3, dtype=engine.float64, requires_grad=True) for _ in range(2))
    bias = engine.randn(3, dtype=engine.float64, requires_grad=True)

    def f(a, b, bias):
        total, parts, count = weigh([a, b], [2.0, 3.0], bias)
        assert count == 2
        return total, *parts

    assert engine.autograd.gradcheck(f, (a, b, bias))
    total, parts, _ = weigh([a, b], [2.0, 3.0])
    assert engine.allclose(total, a * 2 + b * 3)
    assert len(parts) == 2


def test_an_operator_that_writes(namespace):
    @custom_op(f"{namespace}::sin_", mutates_args={"out"})
    def sin_(x: Tensor, out: Tensor) -> None:
        np.sin(x.numpy(), out=out.numpy())

    x, out = engine.ones(2), engine.zeros(2)
    version = out._version
    assert sin_(x, out) is None
    assert engine.allclose(out, x.sin())
    assert out._version == version + 1
    assert sin_(x.to("meta"), out.to("meta")) is None  # what returns nothing needs no fake
    with pytest.raises(RuntimeError, match="non-functional operator"):
        sin_.register_autograd(lambda ctx: None)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        sin_(x, engine.zeros(2, requires_grad=True))


def test_kernels_of_devices_and_their_switch(namespace):
    @custom_op(f"{namespace}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return x + 1

    @f.register_kernel("cpu")
    def _(x):
        return x + 2

    f.register_kernel("cuda", lambda x: x)  # a device of PyTorch's that is not here
    x = engine.zeros(1)
    assert f(x).item() == 2
    with f.set_kernel_enabled("cpu", enabled=False):
        assert f(x).item() == 1
    assert f(x).item() == 2
    with pytest.raises(RuntimeError, match="device type at start of device string: gpu"):
        f.register_kernel("gpu", lambda x: x)


def test_defining_a_name_again_replaces_it(namespace):
    def define(number):
        @custom_op(f"{namespace}::f", mutates_args=())
        def f(x: Tensor) -> Tensor:
            return x + number

        return f

    define(1)
    assert define(2)(engine.zeros(1)).item() == 2
    assert getattr(engine.ops, namespace).f(engine.zeros(1)).item() == 2


def test_what_is_not_registered_is_an_error(namespace):
    @custom_op(f"{namespace}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(RuntimeError, match="There was no fake impl registered"):
        f(engine.ones(2, device="meta"))
    y = f(engine.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()
    f.register_autograd(lambda ctx, grad: (grad, grad))
    with pytest.raises(RuntimeError, match=r"expected 1, got 2"):
        f(engine.ones(2, requires_grad=True)).sum().backward()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: x, "may not alias any inputs"),
        (lambda x: x.view(-1), "may not alias any inputs"),
        (lambda x: None, "returned NoneType as result 0, where the schema has Tensor"),
        (lambda x: "text", "returned str as result 0"),
        (lambda x: (x + 1, x + 2), "returned tuple of Tensor as result 0"),
    ],
)
def test_kernels_with_wrong_results(namespace, result, message):
    @custom_op(f"{namespace}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return result(x)

    with pytest.raises(RuntimeError, match=message):
        f(engine.ones(2, 2))


def test_an_exception_of_a_kernel_arrives_as_it_is(namespace):
    class Mine(Exception):
        pass

    error = Mine("text")

    @custom_op(f"{namespace}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        raise error

    with pytest.raises(Mine) as caught:
        f(engine.ones(1))
    assert caught.value is error


class Double(engine.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_opcheck_finds_what_is_wrong(namespace, x):
    @custom_op(f"{namespace}::writes", mutates_args=())
    def writes(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()

    @custom_op(f"{namespace}::wrong_fake", mutates_args=())
    def wrong_fake(x: Tensor) -> Tensor:
        return x.float()

    wrong_fake.register_fake(lambda x: engine.empty_like(x))
    with pytest.raises(engine.library.OpCheckError, match="not declared as mutable"):
        opcheck(writes, (x,), test_utils="test_schema")
    results = opcheck(wrong_fake, (x,), raise_exception=False)
    assert results["test_schema"] == "SUCCESS"
    assert "Dtypes" in str(results["test_faketensor"])
    library = Library(namespace, "FRAGMENT")
    library.define("hidden(Tensor x) -> Tensor")
    library.impl("hidden", Double.apply, "CPU")
    with pytest.raises(engine.library.OpCheckError, match="at an autograd key"):
        opcheck(
            getattr(engine.ops, namespace).hidden,
            (x.requires_grad_(),),
            test_utils="test_autograd_registration",
        )
    with pytest.raises(ValueError, match="expected test_utils to be subset"):
        opcheck(writes, (x,), test_utils="test_nothing")


def test_a_library_lasts_as_long_as_its_object(namespace):
    library = Library(namespace, "DEF")
    assert library.define("f(Tensor x, int n=2) -> Tensor") == "f"
    library.impl("f", lambda x, n: x * n, "CPU")
    f = getattr(engine.ops, namespace).f
    assert f(engine.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="Only a single"):
        Library(namespace, "DEF")
    del library
    gc.collect()
    with pytest.raises(RuntimeError, match=r"no operator is registered|has been destroyed"):
        f(engine.ones(1))
    assert engine.ops.schemas(namespace) == {}


def test_a_later_kernel_replaces_an_earlier_one_until_its_library_ends(namespace):
    first, second = Library(namespace, "DEF"), Library(namespace, "IMPL", "CPU")
    first.define("f(Tensor x) -> Tensor")
    first.impl("f", lambda x: x + 1, "CPU")
    f = getattr(engine.ops, namespace).f
    assert f(engine.zeros(1)).item() == 1
    with pytest.raises(RuntimeError, match="already a kernel registered"):
        second.impl("f", lambda x: x, allow_override=False)
    second.impl("f", lambda x: x + 2)
    assert f(engine.zeros(1)).item() == 2
    second._destroy()
    assert f(engine.zeros(1)).item() == 1
    with pytest.raises(AssertionError, match="destroyed"):
        second.impl("f", lambda x: x)


def test_functions_register_by_name(namespace):
    engine.library.define(f"{namespace}::scale", "(Tensor x, *, float by) -> Tensor")

    @engine.library.impl(f"{namespace}::scale", "cpu")
    def _(x, *, by):
        return x * by

    @engine.library.register_fake(f"{namespace}::scale")
    def _(x, *, by):
        return engine.empty_like(x)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.by = keyword_only_inputs["by"]

    engine.library.register_autograd(
        f"{namespace}::scale", lambda ctx, grad: grad * ctx.by, setup_context=setup_context
    )
    scale = getattr(engine.ops, namespace).scale
    x = engine.randn(3, dtype=engine.float64, requires_grad=True)
    assert engine.autograd.gradcheck(lambda x: scale(x, by=3.0), (x,))
    assert scale(x.to("meta"), by=2.0).is_meta
    assert set(opcheck(scale, (x,), {"by": 2.0}).values()) == {"SUCCESS"}


def test_without_a_key_a_kernel_is_composite(namespace):
    library = Library(namespace, "FRAGMENT")

    @engine.library.define(library, "cube(Tensor x) -> Tensor")
    def cube(x):
        return x * x * x

    x = engine.randn(3, dtype=engine.float64, requires_grad=True)
    assert engine.autograd.gradcheck(getattr(engine.ops, namespace).cube, (x,))
    with pytest.raises(RuntimeError, match="should not register a meta kernel"):
        library.impl("cube", cube, "Meta")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda ns: Library(ns, "OTHER"), ValueError, "Unsupported kind: OTHER"),
        (lambda ns: Library("aten", "DEF"), ValueError, "reserved namespace"),
        (lambda ns: Library(ns, "DEF").define("f(Tensor x"), RuntimeError, "expected"),
        (lambda ns: Library(ns, "DEF").impl("f", len), KeyError, "no operator"),
        (lambda ns: Library(ns, "DEF").impl("f", 3), TypeError, "required to be a callable"),
        (lambda ns: engine.library.define("f", "() -> ()"), ValueError, '"namespace::name"'),
        (lambda ns: engine.library.define(f"{ns}::f", "f"), ValueError, "expected schema to look"),
        (lambda ns: engine.library.register_fake(3, len), ValueError, "unexpected type for op"),
        (lambda ns: engine.library.get_ctx(), RuntimeError, "data-dependent shape"),
    ],
)
def test_wrong_registrations_say_what_is_wrong(namespace, call, error, message):
    with pytest.raises(error, match=message):
        call(namespace)


def _all(
    a: Tensor,
    b: list[Tensor],
    c: Tensor | None,
    d: list[int],
    e: int = 1,
    f: bool = False,
    g: str = "a",
    *,
    h: engine.dtype = engine.float32,
    i: engine.device | None = None,
    j: list[float] | None = None,
    k: int | float | bool = 2,
) -> tuple[Tensor, int]: ...


def test_schemas_are_inferred_from_annotations():
    assert infer_schema(_all, mutates_args={"a"}, op_name="all") == (
        'all(Tensor(a0!) a, Tensor[] b, Tensor? c, int[] d, int e=1, bool f=False, str g="a", *, '
        "ScalarType h=float32, Device? i=None, float[]? j=None, Scalar k=2) -> (Tensor, int)"
    )

    def unknown(a: Tensor, b: list[Tensor], n: int) -> None: ...

    assert (
        infer_schema(unknown, mutates_args="unknown")
        == "(Tensor(a0!) a, Tensor(a1!)[] b, int n) -> ()"
    )


def _no_annotation(x) -> Tensor: ...
def _no_result(x: Tensor): ...
def _a_tuple(x: tuple[int, int]) -> Tensor: ...
def _an_object(x: object) -> Tensor: ...
def _variadic(*x: Tensor) -> Tensor: ...
def _bad_default(x: list[int] = [1]) -> Tensor: ...  # noqa: B006
def _not_importable(x: Nowhere) -> Tensor: ...  # noqa: F821
def _a_string_result(x: Tensor) -> str: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_no_annotation, "Parameter x must have a type annotation"),
        (_no_result, "No return type annotation was provided"),
        (_a_tuple, "We do not support Tuple inputs"),
        (_an_object, "Parameter x has unsupported type"),
        (_variadic, "positional-only args, varargs, or varkwargs"),
        (_bad_default, "unsupported default value type"),
        (_not_importable, "It is not a type"),
        (_a_string_result, "Return has unsupported type"),
    ],
)
def test_functions_without_a_schema(function, message):
    with pytest.raises(ValueError, match=message):
        infer_schema(function, mutates_args=())


def test_written_arguments_are_named_correctly():
    def f(x: Tensor, n: int) -> Tensor: ...

    with pytest.raises(ValueError, match="only Tensors or collections of Tensors"):
        infer_schema(f, mutates_args={"n"})
    with pytest.raises(ValueError, match="were not found in the custom op's signature"):
        infer_schema(f, mutates_args={"y"})
    with pytest.raises(ValueError, match="the string 'unknown'"):
        infer_schema(f, mutates_args="x")


def test_numbers_may_be_tensors_without_dimensions_which_a_trace_follows(namespace):
    """As in PyTorch; there a trace of a registered operator has the number as a constant."""
    lib = Library(namespace, "DEF")
    lib.define("scale(Tensor x, int n, int[2] sizes, float f=1.0) -> Tensor")
    lib.impl("scale", lambda x, n, sizes, f: x * (n + sum(sizes)) * f, "CPU")
    scale = getattr(engine.ops, namespace).scale
    number, size = engine.tensor(1), engine.tensor(2)
    assert scale(engine.ones(2), number, (size, 3), engine.tensor(0.5)).tolist() == [3, 3]
    for wrong in (engine.tensor(1.5), engine.ones(1, dtype=engine.int64), engine.tensor(1j)):
        with pytest.raises(TypeError, match="argument 'n' must be int, got Tensor"):
            scale(engine.ones(2), wrong, (1, 1))
    traced = engine.jit.trace(lambda x: scale(x, x.size(0), (x.size(1), 2)), (engine.ones(2, 3),))
    assert traced(engine.ones(5, 4)).equal(engine.full((5, 4), 11.0))
