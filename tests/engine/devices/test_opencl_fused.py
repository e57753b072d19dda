"""Fused groups of scripted programs on the OpenCL device: one kernel, with the CPU's results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine._generated.event_kinds import COMMAND, FUSED_RUN, PROGRAM_SOURCE
from engine.inspect.history import History
from engine.inspect.recorder import record
from engine.inspect.selection import Selection
from engine.inspect.trace import TraceReader
from tests.engine.devices.opencl_tools import needs_opencl, run_program
from tui.views import DrawContext, view

pytestmark = needs_opencl


def chain(x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
    return engine.relu(x * y + 1.5) - engine.tanh(y)


def several(x: engine.Tensor, y: engine.Tensor) -> tuple[engine.Tensor, engine.Tensor]:
    a = engine.exp(-x) * y
    b = a.clamp(-1.0, 1.0) > 0.25
    return a, engine.where(b, a, y)


def smaller(x: engine.Tensor, y: engine.Tensor) -> tuple[engine.Tensor, engine.Tensor]:
    row = y * 2 + 1
    return row, (x + row) * row


def with_number(x: engine.Tensor, y: engine.Tensor, a: float) -> engine.Tensor:
    return engine.addcmul(x, x, y, value=2.0) * a + a


def total(x: engine.Tensor, y: engine.Tensor) -> tuple[engine.Tensor, engine.Tensor]:
    z = (x - y) * (x - y)
    return z.sum(), engine.sigmoid(x * y).mean(-1, True)


def rows(x: engine.Tensor, y: engine.Tensor) -> tuple[engine.Tensor, engine.Tensor, engine.Tensor]:
    z = (x - y) * y + x
    return z, z.sum(-1), z.amax(-1)


def without_nan(x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
    return engine.sqrt(x * y).nansum(-1)


def promoted(x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
    return (x > y).to(engine.int32) * 3 + (x * y).to(engine.int64)


def with_gelu(x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
    return engine.nn.functional.gelu(x) * y / (1 + y.abs())


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "chain": (chain, ()),
    "several": (several, ()),
    "smaller": (smaller, ()),
    "number": (with_number, (0.75,)),
    "total": (total, ()),
    "rows": (rows, ()),
    "without_nan": (without_nan, ()),
    "promoted": (promoted, ()),
    "gelu": (with_gelu, ()),
}
SHAPES: dict[str, Callable[[engine.Tensor], tuple[engine.Tensor, engine.Tensor]]] = {
    "alike": lambda x: (x, x.flip(0)),
    "broadcast": lambda x: (x, x[0]),
    "transposed": lambda x: (x.t().contiguous().t(), x),
    "strided": lambda x: (x[::2, 1:], x[::2, :-1]),
    "empty": lambda x: (x[:0], x[:0]),
}


def results(value: Any) -> list[engine.Tensor]:
    return [value] if isinstance(value, engine.Tensor) else list(value)


def values(dtype: engine.dtype) -> engine.Tensor:
    engine.manual_seed(1)
    return engine.randn(6, 10).to(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_cpu(name: str, shape: str) -> None:
    function, numbers = PROGRAMS[name]
    x, y = SHAPES[shape](values(engine.float32))
    expected = results(function(x, y, *numbers))
    scripted = engine.jit.script(function)
    for _ in range(3):  # profiled, specialised, again
        for ours, theirs in zip(
            results(scripted(x.to("opencl"), y.to("opencl"), *numbers)), expected, strict=True
        ):
            assert (ours.device.type, ours.dtype) == ("opencl", theirs.dtype)
            assert ours.stride() == theirs.stride()
            engine.testing.assert_close(ours.cpu(), theirs, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16, engine.float64])
def test_other_floats_are_rounded_at_every_step(dtype: engine.dtype) -> None:
    x = values(dtype)
    expected = chain(x.opencl(), x.opencl() * 2)
    scripted = engine.jit.script(chain)
    for _ in range(3):
        ours = scripted(x.opencl(), x.opencl() * 2)
        assert ours.dtype == dtype
        engine.testing.assert_close(
            ours.cpu(), expected.cpu(), rtol=0 if dtype.itemsize == 2 else 1e-12, atol=0
        )


@pytest.mark.parametrize(
    ("shape", "lanes"), [((3, 200_001), ""), ((5000, 7), ""), ((2, 3, 70), "1")]
)
def test_reductions_are_part_of_the_kernel(shape: tuple[int, ...], lanes: str) -> None:
    """Few rows are folded in slices, short ones one after the other; a GPU folds a row in a group."""
    program = f"""
import engine
from tests.engine.devices.test_opencl_fused import rows, total
engine.manual_seed(1)
x, y = engine.randn({shape}), engine.randn({shape[-1:]})
for function in (rows, total):
    scripted = engine.jit.script(function)
    for _ in range(4):
        ours = scripted(x.opencl(), y.opencl())
    for result, expected in zip(ours, function(x.double(), y.double())):
        engine.testing.assert_close(result.cpu().double(), expected, rtol=1e-4, atol=1e-3)
"""
    result = run_program(program, UNDERHOOD_OPENCL_LANES=lanes)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["chain", "gelu", "total", "rows"])
def test_gradients_are_those_of_the_cpu(name: str) -> None:
    function, _ = PROGRAMS[name]
    scripted = engine.jit.script(function)

    def gradients(device: str, call: Callable[..., Any]) -> list[engine.Tensor]:
        x = values(engine.float32).to(device).requires_grad_()
        y = values(engine.float32).flip(1).to(device).requires_grad_()
        engine.cat([r.flatten() for r in results(call(x, y))]).sum().backward()
        return [x.grad.cpu(), y.grad.cpu()]

    expected = gradients("cpu", function)
    for _ in range(3):
        for ours, theirs in zip(gradients("opencl", scripted), expected, strict=True):
            engine.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_group_is_one_kernel(tmp_path: Any) -> None:
    scripted = engine.jit.script(chain)
    x = values(engine.float32).opencl()
    for _ in range(3):
        scripted(x, x)
    with record(tmp_path / "group.uht"):
        scripted(x, x)
    trace = TraceReader.open(tmp_path / "group.uht")
    events = {
        kind: [e for e in trace.events if e["kind"] == kind]
        for kind in (COMMAND, FUSED_RUN, PROGRAM_SOURCE)
    }
    commands = [json.loads(trace.blob(int(event["n"]))) for event in events[COMMAND]]
    assert [command["name"] for command in commands] == ["fused_mul_add_relu_tanh_sub"]
    assert len(events[FUSED_RUN]) == 1
    source = trace.blob(int(events[PROGRAM_SOURCE][0]["n"])).decode()
    assert "relu_float32" in source


def test_the_view_of_a_group_shows_its_kernel(tmp_path: Any) -> None:
    scripted = engine.jit.script(total)
    x = values(engine.float32).opencl()
    with record(tmp_path / "group.uht"):
        for _ in range(4):
            scripted(x, x)
    history = History(TraceReader.open(tmp_path / "group.uht"))
    model = view("fused").project(history, history.end - 1, Selection())
    assert model.device == "opencl:0"
    assert any("mul_Tensor_float32(" in line for line in model.device_source)
    text = view("fused").draw(model, DrawContext(120, 40)).text()
    assert "60 elements in one kernel on opencl:0" in text
    assert " apply(" in text


def test_the_dispatch_view_shows_the_kernel_of_a_group(tmp_path: Any) -> None:
    scripted = engine.jit.script(chain)
    x = values(engine.float32).opencl()
    with record(tmp_path / "group.uht"):
        for _ in range(4):
            scripted(x, x).sum().item()
        y = scripted(x, x)[0, 0].item()
        z = x + y
    del z
    history = History(TraceReader.open(tmp_path / "group.uht"))
    launch = int(history.jit.tables.launches.since[-1])
    text = text_of("dispatch", history, launch)
    assert "fused group  fused_mul_add_relu_tanh_sub" in text
    assert "opencl:0  fused_mul_add_relu_tanh_sub" in text
    assert " apply(" in text
    assert "add.Tensor  call" in text_of("dispatch", history, history.end - 1)


def text_of(name: str, history: History, moment: int) -> str:
    model = view(name).project(history, moment, Selection())
    return view(name).draw(model, DrawContext(120, 40)).text()
