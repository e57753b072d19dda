"""fork and wait: results, errors, graphs, files, gradients, recordings."""

from __future__ import annotations

import inspect
import io
import re
import threading

import pytest
from canonical_text import canonical

import engine
from engine import jit
from engine.inspect import record
from engine.inspect.events import kind_of
from engine.inspect.trace import TraceReader
from tests.engine.jit.programs import forks


def example():
    return engine.arange(3.0).reshape(1, 3) - 1


def call(fn, x):
    return fn(x, 3) if "n" in inspect.signature(fn).parameters else fn(x)


@pytest.mark.parametrize("fn", [*forks.PROGRAMS, forks.writes], ids=lambda fn: fn.__name__)
def test_it_gives_what_python_gives(fn):
    expected = call(fn, example()).tolist()
    scripted = jit.script(fn)
    assert [call(scripted, example()).tolist() for _ in range(4)] == [expected] * 4


@pytest.mark.parametrize("fn", forks.PROGRAMS, ids=lambda fn: fn.__name__)
def test_the_text_of_its_graph_is_read(fn):
    graph = jit.script(fn).graph
    again = jit.Graph.parse(str(graph))
    assert str(again) == str(graph)


def test_the_graph_is_as_pytorch_writes_it():
    text = re.sub(r" # .*|(?<=scaled)_\d+", "", str(jit.script(forks.one).graph))
    assert (
        canonical(text).splitlines()
        == canonical(
            """graph(%x.1 : Tensor):
  %2 : int = prim::Constant[value=2]()
  %10 : int = prim::Constant[value=1]()
  %future.1 : Future[Tensor] = prim::fork_0(%x.1, %2)
  %y.1 : Tensor = aten::add(%x.1, %10, %10)
  %9 : Tensor = aten::wait(%future.1)
  %11 : Tensor = aten::add(%9, %y.1, %10)
  return (%11)
with prim::fork_0 = graph(%x.1 : Tensor,
      %6 : int):
  %1 : Function = prim::Constant[name="scaled"]()
  %4 : Tensor = prim::CallFunction(%1, %x.1, %6)
  return (%4)
"""
        ).splitlines()
    )


def test_the_source_again_has_a_function_within():
    assert re.sub(r"(?<=scaled)_\d+", "", jit.script(forks.one).code) == (
        "def one(x: Tensor) -> Tensor:\n"
        "  def __forked_function():\n"
        "    return __torch__.scaled(x, 2, )\n"
        "  future = fork(__forked_function)\n"
        "  y = torch.add(x, 1)\n"
        "  return torch.add(torch.wait(future), y)\n"
    )


def test_an_error_comes_where_it_is_waited_for(capsys):
    with pytest.raises(RuntimeError, match="it went wrong"):
        jit.script(forks.waits_for_failure)(example())
    assert capsys.readouterr().out == "begun\n"


def test_an_error_that_nobody_waits_for_does_not_come():
    scripted = jit.script(forks.never_waits)
    assert scripted(example()).tolist() == (example() + 1).tolist()


def test_a_future_may_be_returned():
    future = jit.script(forks.returned)(example())
    assert isinstance(future, jit.Future)
    assert future.done()
    assert jit.wait(future).tolist() == future.value().tolist() == (example() * 3).tolist()


def test_gradients_pass_it():
    x, y = example().requires_grad_(), example().requires_grad_()
    jit.script(forks.several)(x, 3).sum().backward()
    forks.several(y, 3).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_a_module_that_forks_is_saved_and_read():
    scripted = jit.script(forks.Shared())
    expected = scripted(example()).tolist()
    buffer = io.BytesIO(scripted.save_to_buffer())
    assert jit.load(buffer)(example()).tolist() == expected == forks_eagerly(scripted)


def forks_eagerly(scripted):
    eager = forks.Shared()
    eager.load_state_dict(scripted.state_dict())
    return eager(example()).tolist()


def test_a_module_that_forks_its_own_calls_is_not_frozen():
    with pytest.raises(RuntimeError, match=r"freeze: the module forks a call"):
        jit.freeze(jit.script(forks.Shared().eval()))


def test_a_trace_holds_what_the_call_did():
    traced = jit.trace(forks.one, (example(),))
    x = example() * 7
    assert traced(x).tolist() == forks.one(x).tolist()


def test_it_runs_as_a_frame_of_its_own(tmp_path):
    scripted = jit.script(forks.one)
    with record(tmp_path / "forks.uht", lines=False):
        result = scripted(example())
    assert result.tolist() == forks.one(example()).tolist()
    trace = TraceReader.open(tmp_path / "forks.uht")
    recorded = [(kind_of(int(event["kind"])).name, event) for event in trace.events]
    frames = {int(event["a"]) for name, event in recorded if name == "JIT_FRAME"}
    assert len(frames) == 2
    graphs = [trace.blob(int(event["n"])).decode() for name, event in recorded if name == "GRAPH"]
    assert any("prim::fork" in text and "Future[Tensor]" in text for text in graphs)


# ---- in Python


def test_fork_of_a_function_of_python_raises_at_once():
    with pytest.raises(ZeroDivisionError):
        jit.fork(lambda: 1 / 0)


def test_fork_of_a_compiled_function_raises_at_wait():
    future = jit.fork(jit.script(forks.fails), example())
    assert future.done()
    with pytest.raises(RuntimeError, match="it went wrong"):
        jit.wait(future)


def test_a_future_is_set_once_and_tells_who_asked():
    future, seen = jit.Future(), []
    future.add_done_callback(lambda done: seen.append(done.value()))
    doubled = future.then(lambda done: done.wait() * 2)
    assert not future.done()
    assert not doubled.done()
    future.set_result(4)
    assert (seen, doubled.wait()) == ([4], 8)
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(5)


def test_wait_blocks_until_another_thread_sets_the_result(monkeypatch):
    future = jit.Future()
    with monkeypatch.context() as alone:
        alone.setattr(threading, "active_count", lambda: 1)
        with pytest.raises(RuntimeError, match="no result was set"):
            future.wait()
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(future.wait()))
    waiting.start()
    future.set_result(7)
    waiting.join()
    assert answers == [7]


def test_a_function_is_forked():
    with pytest.raises(TypeError, match="fork: expected a function, got bool"):
        jit.fork(True)


def test_what_is_no_future_is_not_waited_for():
    with pytest.raises(TypeError, match="expected a Future, got int"):
        jit.wait(3)


def test_nothing_is_no_call():
    def empty(x):
        return jit.fork()

    with pytest.raises(RuntimeError, match="fork of nothing"):
        jit.script(empty)


@pytest.mark.parametrize("depth", [3, 60])
def test_forks_within_forks_are_read_to_a_depth(depth):
    head = "graph(%x : Tensor):\n  %f : Future[Tensor] = prim::fork_0(%x)\n"
    text = head + "  %r : Tensor = aten::wait(%f)\n  return (%r)\n"
    for i in range(depth):
        text += (
            f"with prim::fork_{i} = graph(%x : Tensor):\n  %f : Future[Tensor] = prim::fork_{i + 1}(%x)\n"
            "  %r : Tensor = aten::wait(%f)\n  return (%r)\n"
        )
    text += f"with prim::fork_{depth} = graph(%x : Tensor):\n  return (%x)\n"
    if depth == 3:
        assert jit.Graph.parse(text).run(engine.ones(1)).tolist() == [1.0]
    else:
        with pytest.raises(RuntimeError, match="nested too deeply"):
            jit.Graph.parse(text)
