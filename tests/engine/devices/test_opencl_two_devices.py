"""Two OpenCL devices: PoCL shows the CPU twice where the environment names two drivers."""

import ast
import os
import subprocess
import sys

import pytest
from opencl_tools import needs_opencl, run_program

pytestmark = needs_opencl
TWO = {"POCL_DEVICES": "basic pthread"}
HEAD = """
import engine
from engine import opencl
def show(*values): print(repr(values if len(values) > 1 else values[0]))
a, b = (engine.arange(6.0).reshape(2, 3).to(f"opencl:{i}") for i in (0, 1))
"""


@pytest.fixture(scope="module", autouse=True)
def _two_devices():
    count = run_program("import engine; print(engine.opencl.device_count())", **TWO)
    if count.stdout.strip() != "2":
        pytest.skip("the driver does not show two devices: it is not PoCL")


def printed(text: str) -> list[object]:
    """Return the values that a program shows, a line each."""
    result = run_program(HEAD + text, **TWO)
    assert result.returncode == 0, result.stderr
    return [ast.literal_eval(line) for line in result.stdout.splitlines()]


def test_copies_between_devices():
    text = """
show([str(t.device) for t in (a, b, a.to("opencl:1"), b.opencl(0), a.t().to(b.device), b.opencl())])
show(a.t().to("opencl:1").stride(), a[:, ::2].to("opencl:1", engine.int32).tolist())
show(engine.zeros(3, 2).to("opencl:1").t().copy_(a).tolist())
show(a.clone().copy_(b * 2).tolist())
a[0] = b[1]
show(a.tolist())
w = engine.ones(2, device="opencl:0", requires_grad=True)
(w.to("opencl:1") * 3).sum().backward()
show(str(w.grad.device), w.grad.tolist())
p = engine.ones(3).pin_memory()
show(p.to("opencl:1", non_blocking=True).tolist())
"""
    devices, strided, copied, doubled, written, gradient, pinned = printed(text)
    assert devices == [f"opencl:{i}" for i in (0, 1, 1, 0, 1, 0)]
    assert strided == ((1, 3), [[0, 2], [3, 5]])
    assert copied == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert doubled == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    assert written == [[3.0, 4.0, 5.0]] * 2
    assert gradient == ("opencl:0", [3.0, 3.0])
    assert pinned == [1.0, 1.0, 1.0]


def test_calls_that_mix_devices_are_refused():
    text = """
F = engine.nn.functional
i = engine.tensor([1, 2]).to("opencl:1")
from tests.engine.devices.test_opencl_fused import chain
fused = engine.jit.script(chain)
for _ in range(3): fused(a, a), fused(b, b)
for call in (lambda: a + b, lambda: a @ b.t(), lambda: engine.cat([a, b]), lambda: a.lerp(b, 0.5),
    lambda: a[:, i], lambda: F.linear(a, b), lambda: F.embedding(i, a), lambda: F.cross_entropy(a, i),
    lambda: F.conv1d(a[None], b[None]), lambda: engine.add(a, a, out=b), lambda: fused(a, b),
    lambda: engine.nn.Linear(3, 2).to("opencl:1")(a), lambda: engine.bucketize(a, b[0]), lambda: a.index_select(1, i)):
    try: show(call().device)
    except RuntimeError as error: show(str(error))
show(a.tolist() == b.tolist(), (a + engine.tensor(2.0)).tolist()[0])
"""
    *errors, unchanged = printed(text)
    for error in errors:
        assert "same device" in error
        assert "opencl:0" in error
        assert "opencl:1" in error
    assert len(errors) == 14
    assert unchanged == (True, [2.0, 3.0, 4.0])


def test_each_device_has_its_own_state():
    text = """
g, h = (engine.Generator(f"opencl:{i}").manual_seed(3) for i in (0, 1))
show(engine.rand(3, generator=g, device="opencl:0").tolist() == engine.rand(3, generator=h, device="opencl:1").tolist())
with opencl.device(1):
    show(opencl.current_device(), [str(t.device) for t in (engine.ones(1, device="opencl"), a.cpu().opencl())])
with opencl.stream(opencl.Stream(1)):
    show(opencl.current_device(), opencl.current_stream() == opencl.Stream(1) != opencl.Stream(0))
before = [opencl.memory_allocated(i) for i in (0, 1)]
x = engine.ones(1000, device="opencl:1")
show([opencl.memory_allocated(i) - before[i] for i in (0, 1)])
opencl.set_per_process_memory_fraction(0.001, 1)
show(opencl.get_per_process_memory_fraction(0), opencl.get_per_process_memory_fraction(1))
for i in (0, 1):
    try: show(engine.empty(1 << 24, device=f"opencl:{i}").numel())
    except engine.OutOfMemoryError as error: show(str(error))
start, end, other = (opencl.Event(enable_timing=True) for _ in range(3))
start.record(opencl.Stream(1)); y = b @ b.t(); end.record(opencl.Stream(1)); other.record(opencl.Stream(0))
opencl.Stream(0).wait_event(end)
opencl.synchronize(0)
show(end.query(), start.elapsed_time(end) > 0)
try: start.elapsed_time(other)
except ValueError as error: show(str(error))
"""
    equal, current, stream, allocated, fractions, room, full, times, apart = printed(text)
    assert equal is True
    assert current == (1, ["opencl:1", "opencl:1"])
    assert stream == (1, True)
    assert allocated == [0, 4000]
    assert fractions == (1.0, 0.001)
    assert room == 1 << 24
    assert full.startswith("opencl:1 is out of memory: tried to allocate 64.00 MiB")
    assert times == (True, True)
    assert "opencl:1 and opencl:0" in apart


def test_files_and_map_location(tmp_path):
    text = f"""
path = {str(tmp_path / "saved.pt")!r}
engine.save({{"a": a, "b": b}}, path)
for where in (None, "cpu", {{"opencl:1": "opencl:0"}}, lambda storage, location: storage.opencl(1)):
    try: show([str(t.device) for t in engine.load(path, map_location=where).values()])
    except Exception as error: show(repr(error))
"""
    assert printed(text)[:3] == [
        ["opencl:0", "opencl:1"],
        ["cpu", "cpu"],
        ["opencl:0", "opencl:0"],
    ]
    alone = run_program(
        f"import engine\ntry: engine.load({str(tmp_path / 'saved.pt')!r})\nexcept RuntimeError as e: print(e)"
    )
    assert "opencl:1" in alone.stdout
    assert "map_location" in alone.stdout


def test_views_have_a_part_for_each_device(tmp_path):
    (tmp_path / "program.py").write_text(
        "import engine\n"
        "a = engine.ones(300).to('opencl:0')\n"
        "b = engine.ones(500).to('opencl:1')\n"
        "c = a.to('opencl:1')\n"
        "print((b + 1).sum().item())\n"
    )
    program = """
import sys
from engine.inspect.recorder import record_program
record_program(["program.py"], "trace.uht")
"""
    environment = {**os.environ, **TWO}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True)
    from engine.inspect.history import History
    from engine.inspect.models import allocator, memory, queue
    from engine.inspect.selection import Selection
    from engine.inspect.trace import TraceReader

    history = History(TraceReader.open(tmp_path / "trace.uht"))
    moment = next(line for line in reversed(range(history.end)) if _alive(history, line))
    sections = memory.project(history, moment, Selection()).devices
    assert [section.device for section in sections] == ["cpu", "opencl:0", "opencl:1"]
    assert [(s.to_device.bytes, s.to_host.bytes) for s in sections[1:]] == [(1200, 1200), (3200, 4)]
    assert [d.device for d in allocator.project(history, moment, Selection()).devices] == [
        "cpu",
        "opencl:0",
        "opencl:1",
    ]
    assert queue.project(history, moment, Selection()).device == "opencl:1"


def _alive(history, moment) -> bool:
    return {"a", "b", "c"} <= {name.name for name in history.names_at(moment)}
