"""References of compiled programs are recorded with named holders, add up at every step, and end."""

from __future__ import annotations

import re

import numpy as np
import pytest
from jit_traces import recorded

from engine._generated.codes import JIT_HOLDERS
from engine.inspect.events import FOREVER, HOLDERS, coded
from engine.inspect.history import History
from engine.inspect.history.facts import Owners
from engine.inspect.history.ownership import ELSEWHERE
from engine.inspect.models import VIEWS, to_json
from engine.inspect.selection import Selection
from tests.inspect.selections import select

MODULES = """
import gc
import engine
from engine import nn

class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.deep = nn.Linear(3, 3)

    def forward(self, x):
        kept = [x, x * 2]
        kept.append(self.deep(x))
        table = {"a": kept[1], "b": x}
        kept.pop(0)
        y = kept[1] + table["a"]
        return y * 2, kept

cell = Cell()
compiled = engine.jit.script(cell)
x = engine.ones(2, 3)
for _ in range(4):
    out, kept = compiled(x)
out.sum().backward()
shared = compiled.deep.weight
del compiled, cell, out, kept
gc.collect()
end = 0
"""

CONSTANTS = """
import engine

constant = engine.arange(3.0)

def scaled(x):
    y = x * constant
    return y + 1

traced = engine.jit.trace(scaled, engine.ones(3))
for _ in range(4):
    out = traced(engine.ones(3))
del traced
end = 0
"""

FAILS = """
import engine

@engine.jit.script
def refuses(x, n: int):
    y = x * 2
    z = [y, x]
    assert n > 0, "n must be positive"
    return y + z[1]

x = engine.ones(2)
for n in (1, 0, 1, 0):
    try:
        refuses(x, n)
    except engine.jit.Error as error:
        said = str(error)
end = 0
"""

INSIDE = """
import engine

@engine.jit.ignore
def plain(x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
    z = x + y
    return z

def calls(x):
    y = x * 3
    z = plain(x, y)
    return y + z

compiled = engine.jit.script(calls)
for _ in range(4):
    out = compiled(engine.ones(2))
end = 0
"""

SAVED = """
import gc, os, tempfile
import engine
from engine import nn

path = os.path.join(tempfile.mkdtemp(), "m.safetensors")
engine.jit.save(engine.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())), path)
module = engine.jit.load(path)
weight = getattr(module, "0").weight
out = module(engine.ones(1, 2))
frozen = engine.jit.freeze(module.eval())
out = frozen(engine.ones(1, 2))
del module, frozen
gc.collect()
end = 0
"""
MANY = """
import engine
from engine import nn
c = engine.arange(3.0)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.drop = nn.Dropout(0.5)
        self.bn = nn.BatchNorm1d(3)
    def forward(self, x):
        n = x.shape[0] * 2
        y = self.lin(x).view(n // 2, -1) + c
        z = self.bn(y)
        z = z + engine.zeros(x.size(0), 3)
        z[0] = 1.0
        w = z.reshape(-1, n // x.shape[0] // 2)
        return w, (y, z)
m = M()
traced = engine.jit.trace(m, engine.ones(2, 3), check_trace=False)
for _ in range(4):
    w, ys = traced(engine.ones(4, 3))
w.sum().backward()
h = []
def hook(g):
    h.append(g)
    return g * 2
@engine.jit.script
def f(x, ys: list[engine.Tensor], d: dict[str, engine.Tensor]):
    out = [y for y in ys]
    out.append(x)
    d["k"] = x + 1
    for i in range(3):
        x = x * ys[i % len(ys)] + d["k"]
    out.reverse()
    out.insert(0, x)
    del out[1]
    return out, d
a = engine.ones(3, requires_grad=True)
for k in range(4):
    b = a * 2
    b.register_hook(hook)
    out, d = f(b, [a, b], {"z": a})
    out[0].sum().backward()
@engine.jit.script
def g(x):
    return x
p = g(a)
q = g(a)
fr = engine.jit.freeze(engine.jit.script(nn.Sequential(nn.Linear(2, 2))).eval())
u = fr(engine.ones(1, 2))
end = 0
"""
"""Traces with sizes in them, lists and dictionaries that are written to, hooks, what returns its input."""

PROGRAMS = {
    "modules": MODULES,
    "constants": CONSTANTS,
    "fails": FAILS,
    "inside": INSIDE,
    "saved": SAVED,
}


def total(owners: Owners) -> int:
    return sum(holder.count for holder in owners.holders)


def names(history: History, kind: str) -> set[str]:
    """Return the names of the holders of a kind, at the start of each reference."""
    uses = history.tables.uses
    rows = np.flatnonzero(uses.kind == HOLDERS.index(kind)).tolist()
    actual = set()
    for row in rows:
        owners = history.owners(int(uses.id[row]), int(uses.since[row])).impl
        actual |= {holder.name for holder in owners.holders if holder.kind == kind}
    return actual


@pytest.mark.parametrize("program", [*PROGRAMS, "many"])
def test_owners_add_up_at_every_line_and_step(program: str) -> None:
    history = recorded(PROGRAMS.get(program, MANY))
    looked = 0
    for m in history.tables.numbers("LINE", "JIT_STEP").tolist():
        for tensor in history.tensors_at(m):
            owners = history.owners(tensor.id, m).impl
            kind = history.event(m).kind
            location = f"{history.label(tensor.id, m)} at {kind} {m}: {owners}"
            assert total(owners) == owners.count, location
            assert ELSEWHERE not in {holder.name for holder in owners.holders}, location
            looked += any(holder.kind in JIT_HOLDERS for holder in owners.holders)
    assert looked > 20


@pytest.mark.parametrize("program", PROGRAMS)
def test_everything_is_let_go_of(program: str) -> None:
    """At the end of the program no frame, list, trace or dropped module holds anything."""
    history = recorded(PROGRAMS[program])
    uses = history.tables.uses
    end = history.tables.numbers("LINE")[-1]  # the last line is about to run
    left = {
        (coded(HOLDERS, int(uses.kind[row])), int(uses.id[row]))
        for row in np.flatnonzero((uses.since <= end) & (uses.until > end))
        if coded(HOLDERS, int(uses.kind[row])) in JIT_HOLDERS
    }
    assert not left
    closed = uses.until[np.isin(uses.kind, [HOLDERS.index(kind) for kind in JIT_HOLDERS])] < FOREVER
    assert closed.all()


@pytest.mark.parametrize(
    ("program", "kind", "pattern"),
    [
        ("modules", "REGISTER", r"register \d+ \(%\S+\) of frame \d+ \(.*forward\)"),
        ("modules", "OPERAND", r"stack slot \d+ of frame \d+ \(.*forward\)"),
        ("modules", "LIST", r"item [012] of a list"),
        ("modules", "DICT", r"entry '[ab]' of a dict"),
        ("modules", "TUPLE", r"item 0 of a tuple"),
        ("modules", "OBJECT", r"attribute (weight|bias) of module Linear \d+"),
        ("constants", "CONSTANT", r"constant (%\S+ )?of graph \d+ \(scaled\)"),
        ("constants", "CODE", r"constant \d+ of the code of scaled"),
        ("constants", "TRACE", r"the trace that makes graph \d+.*"),
        ("saved", "OBJECT", r"attribute (weight|bias) of module Linear.* \d+"),
    ],
)
def test_holders_have_names_that_a_person_understands(
    program: str, kind: str, pattern: str
) -> None:
    actual = names(recorded(PROGRAMS[program]), kind)
    assert actual
    assert not [name for name in actual if not re.fullmatch(pattern, name)], actual


def test_sentences_say_who_holds() -> None:
    history = recorded(MODULES)
    result = [
        history.event(m).sentence
        for m in history.tables.numbers("TENSOR_RETAIN", "TENSOR_RELEASE").tolist()
    ]
    assert any(
        re.search(r"is now held by register \d+ \(%\S+\) of frame \d+ \(", s) for s in result
    )
    assert any("is now held by attribute weight of module Linear" in s for s in result)
    assert any(re.match(r"stack slot \d+ of frame \d+ .* tensor", s) for s in result)


def test_passes_of_the_front_end_belong_to_their_function() -> None:
    history = recorded(MODULES)
    jit = history.jit
    functions = {fact.id: fact for fact in jit.functions(FOREVER - 1)}
    runs = jit.tables.runs
    assert len(runs)
    assert set(runs.function.tolist()) <= set(functions)
    graphs = {fact.graph for fact in functions.values()}
    first = {int(graph) for graph in runs.graph.tolist()} & graphs
    assert first, "no pass of the front end was recorded"
    for graph in first:
        assert jit.graph_at(graph, FOREVER - 1) is not None


def test_gradients_of_groups_belong_to_their_function() -> None:
    history = recorded(MODULES)
    runs = history.jit.tables.runs
    started, ended = (history.tables.numbers(f"BACKWARD_{item}") for item in ("BEGIN", "END"))
    inside = np.searchsorted(started, runs.since) > np.searchsorted(ended, runs.since)
    assert (runs.function[inside] > 0).all()


def test_the_compiler_is_told_from_the_program() -> None:
    history = recorded(MODULES)
    calls, by_compiler = history.tables.calls, history.tables.by_compiler
    assert by_compiler.any()
    sentence = history.event(int(calls.since[np.flatnonzero(by_compiler)[0]])).sentence
    assert "was called by the compiler" in sentence
    assert not np.isin(calls.until[by_compiler], history.tables.returns).any()
    m = int(calls.until[np.flatnonzero(by_compiler)[-1]]) + 1
    newest = history.call_at_or_before(m)
    assert newest is None or not history.of_compiler(newest.id)


def test_the_memory_map_and_the_object_view_name_them() -> None:
    history = recorded(MODULES)
    uses = history.tables.uses
    rows = np.flatnonzero(uses.kind == HOLDERS.index("OPERAND"))
    retained = [(int(uses.id[row]), int(uses.since[row])) for row in rows]
    tensor, m = next(element for element in retained if not history.names_of(*element))
    selection = select(tensor=tensor)
    output = to_json(VIEWS["memory"](history, m, selection))
    assert re.search(r"stack slot \d+ of frame \d+", str(output))
    (count,) = (
        item for item in VIEWS["object"](history, m, selection).counts if item.kind == "TensorImpl"
    )
    assert count.sum == count.count
    assert any(holder.kind == "OPERAND" for holder in count.holders)


FORKS = """
import engine
from tests.inspect.selections import select

@engine.jit.script
def branch(x):
    return (x * 2).sum()

@engine.jit.script
def both(x):
    a = engine.jit.fork(branch, x)
    b = engine.jit.fork(branch, x * 2)
    return engine.jit.wait(a) + engine.jit.wait(b)

out = both(engine.ones(3))
"""
"""Without any module the references of a future are recorded all the same."""


def test_a_future_is_told_in_a_program_without_classes():
    history = recorded(FORKS)
    names = history.tables.names.name
    assert "out" in {history.string(int(name)) for name in names}
    frames = history.jit.tables.frames
    visible = [
        [frame.function for frame in VIEWS["interpreter"](history, int(since), Selection()).frames]
        for since in frames.since
    ]
    assert visible == [["both"], ["both", "<forked function>"], ["both", "<forked function>"]]
