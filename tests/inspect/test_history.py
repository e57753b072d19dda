"""History: at every moment of many programs its answers equal a replay of all events up to it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from replay import Replay, random_program
from trace_builder import T, TraceBuilder

from engine.inspect.events import HOLDERS
from engine.inspect.history import History
from engine.inspect.history.arguments import parameter_names
from engine.inspect.history.facts import Argument


def picture(history: History, m: int) -> tuple:
    """Everything that a screen asks for at a moment."""
    tensors = history.tensors_at(m)
    return (
        history.event(m),
        tensors,
        history.storages_at(m),
        history.blocks_at(m),
        history.names_at(m),
        history.frames_at(m),
        history.lines_at(m),
        history.calls_at(m),
        [history.bytes_of(s.id, m)[0] for s in history.storages_at(m)],
        [history.owners(t.id, m) for t in tensors],
        [history.label(t.id, m) for t in tensors],
    )


@pytest.mark.parametrize("seed", range(12))
def test_every_moment_equals_a_replay(seed):
    b = random_program(seed)
    trace = b.trace()
    history = History(trace)
    replay = Replay(trace)
    for m in range(history.end):
        replay.step()
        tensors = {
            t.id: (t.storage, t.offset, t.sizes, t.strides, t.counter, t.base)
            for t in history.tensors_at(m)
        }
        assert tensors == replay.tensors
        storages = {s.id: (s.address, s.nbytes) for s in history.storages_at(m)}
        assert storages == replay.storages
        assert sum(replay.blocks.values()) == len(history.blocks_at(m))
        names = {(n.frame, n.name, HOLDERS.index(n.kind)): n.tensor for n in history.names_at(m)}
        expected = {(f, trace.string(n), k): tensor for (f, n, k), tensor in replay.names.items()}
        for retained in (names, expected):  # names of a freed tensor may end with it, or later
            for key in [
                key for key, tensor in retained.items() if tensor and tensor not in tensors
            ]:
                del retained[key]
        assert names == expected
        assert [frame.id for frame in history.frames_at(m)] == replay.stack
        line = history.line_at(m)
        running = replay.lines.get(replay.stack[-1]) if replay.stack else None
        assert (line.line if line else None) == running
        assert [call.id for call in history.calls_at(m)] == replay.calls
        for counter, version in replay.versions.items():
            assert history.version(counter, m) == version
        for storage in storages:
            check_storage(history, replay, storage, m)
        for tensor, fact in tensors.items():
            assert history.tensor(tensor, m).id == tensor
            assert tensor in [t.id for t in history.tensors_on(fact[0], m)]
            assert history.owners(tensor, m).impl.count == replay.use_counts.get(tensor, 0)
            assert history.wrapped(tensor, m) == (tensor in replay.wrapped)
            bound = sorted(key for key, value in replay.names.items() if value == tensor)
            assert len(history.names_of(tensor, m)) == len(bound)


def check_storage(history: History, replay: Replay, storage: int, m: int) -> None:
    owners = history.storage_owners(storage, m)
    assert owners.count == replay.storage_counts.get(storage, 0)
    assert sum(holder.count for holder in owners.holders) == owners.count
    data, known = history.bytes_of(storage, m)
    right, sure = replay.memory[storage]
    # A write is known from its own event on, its values come a few events later: see tables.values.
    soon = range(m + 1, min(m + 4, history.end))
    assert (known == sure).all() or "VALUES" in [history.event(later).kind for later in soon]
    both = known & sure
    assert (np.frombuffer(data, np.uint8)[both] == right[both]).all()
    for byte in (0, 5, 23):
        write = history.last_write(storage, byte, m)
        assert (write.moment if write else None) == replay.writers[storage].get(byte)


def test_forwards_backwards_and_seeking_show_the_same():
    b = random_program(99)
    forward = History(b.trace())
    seen = [picture(forward, m) for m in range(forward.end)]
    backward = History(b.trace())
    assert [picture(backward, m) for m in reversed(range(backward.end))] == seen[::-1]
    order = np.random.default_rng(0).permutation(forward.end).tolist()
    sought = History(b.trace())
    assert [picture(sought, m) for m in order] == [seen[m] for m in order]


@pytest.mark.parametrize("grain", ["event", "op", "line"])
def test_steps_forwards_and_backwards_visit_the_same_moments(grain):
    history = random_program(5, 120).history()
    forward, m = [0], 0
    while m < history.end - 1:
        assert history.next(m, grain) > m
        m = history.next(m, grain)
        forward.append(m)
    assert history.next(m, grain) == m
    backward = [m]
    while m > 0:
        m = history.previous(m, grain)
        backward.append(m)
    assert backward == forward[::-1]
    kinds = {history.event(stop).kind for stop in forward[1:-1]}
    assert grain == "event" or kinds <= {"op": {"OP_EXIT", "ERROR"}, "line": {"LINE"}}[grain]
    if grain == "op":
        assert all(history.calls_at(stop) == () for stop in forward[1:-1])


def test_bookkeeping_is_a_step_of_raw_events_only():
    from engine.inspect.history.steps import BOOKKEEPING

    history = random_program(5, 120).history()
    kinds = {}
    for grain in ("event", "raw event"):
        seen, m = [], 0
        while (after := history.next(m, grain)) > m:
            m = after
            seen.append(history.event(m).kind)
        kinds[grain] = seen
    assert len(kinds["raw event"]) == history.end - 1
    assert set(kinds["event"][:-1]).isdisjoint(BOOKKEEPING)
    assert {"STORAGE_RETAIN", "STRING"} & set(kinds["raw event"])
    assert set(kinds["raw event"]) - set(kinds["event"]) <= set(BOOKKEEPING)


def test_an_unknown_grain_is_named():
    with pytest.raises(
        ValueError,
        match="'week' is not one of raw event, event, instruction, rewrite, op, node, pass, line",
    ):
        TraceBuilder().history().next(0, "week")


# One program that a person can follow


@pytest.fixture
def talk() -> tuple[TraceBuilder, History, dict[str, int]]:
    """x = rand(2, 3); y = x.t(); def f(a): a.zero_(); f(y); del x."""
    b, at = TraceBuilder(), {}
    b.file("src/demo.py", "x = rand(2, 3)\ny = x.t()\nf(y)\ndel x\n")
    b.frame()
    b.line(1)
    with b.op("rand(int[] size, *, ScalarType? dtype=None) -> Tensor", [(2, 3), None]) as call:
        x = b.tensor((2, 3), values=range(6))
        call.results(x)
    b.bind("x", x)
    at["x"] = b.object(x, refcount=3)
    b.line(2)
    with b.op("t(Tensor(a) self) -> Tensor(a)", [T(x)], key="ADInplaceOrView") as call:
        b.hop(call.op, "CPU", "t_cpu")
        y = b.tensor((3, 2), (1, 3), base=x)
        call.results(y)
    at["y"] = b.bind("y", y)
    b.line(3)
    b.frame("f")
    b.bind("a", y)
    at["in f"] = b.line(10)
    with b.op("zero_(Tensor(a!) self) -> Tensor(a!)", [T(y)]):
        at["zeroed"] = b.write(y, [0.0] * 6)
    b.pop_frame()
    at["line 4"] = b.line(4)
    b.unbind("x", x)
    b.free(x)
    at["end"] = b.bind("n", text="3")
    return b, b.history(), at


def test_names_labels_and_lines(talk):
    _, history, at = talk
    assert [name.name for name in history.names_of(2, at["in f"])] == ["y", "a"]
    assert history.label(2, at["y"]) == "y"
    assert history.label(2, at["in f"]) == "a"  # the running frame's own name comes first
    assert history.label(2, at["line 4"]) == "y"
    assert history.label(1, 3) == "#1"
    assert [frame.function for frame in history.frames_at(at["in f"])] == ["<module>", "f"]
    assert [line.line for line in history.lines_at(at["in f"])] == [3, 10]
    assert history.line_at(at["line 4"]).path == "src/demo.py"
    assert [n.name for n in history.names_at(at["in f"], frame=2)] == ["a"]
    assert history.names_at(at["end"])[-1].text == "3"


def test_who_wrote_this(talk):
    _, history, at = talk
    before, after = history.last_write(1, 7, at["zeroed"] - 1), history.last_write(1, 7, at["end"])
    call = history.call(after.call)
    assert (call.op, call.line, after.tensor) == ("zero_", 10, 2)
    assert history.call(before.call).op == "rand"
    moments = [write.moment for write in history.writes_to(1, at["end"])]
    assert moments == [before.moment, after.moment]
    assert history.last_write(1, 24, at["end"]) is None
    assert [version.version for version in history.versions(1, at["end"])] == [1, 2]


def test_who_owns_this(talk):
    _, history, at = talk
    owners = history.owners(1, at["x"])
    assert owners.object.count == 3
    assert [(h.kind, h.name, h.count) for h in owners.object.holders] == [
        ("NAME", "x", 1),
        ("ELSEWHERE", "held elsewhere", 2),
    ]
    assert [(h.kind, h.count) for h in owners.impl.holders] == [("WRAPPER", 1)]
    storage = history.storage_owners(1, at["y"])
    assert [h.name for h in storage.holders] == ["tensor x", "tensor y"]
    assert history.storage_owners(1, at["end"]).count == 1
    assert history.owners(2, at["y"]).object is None  # its Python object was not sampled


def test_two_paths_to_one_reference_count_once():
    b = TraceBuilder()
    x = b.tensor((2,))
    b.bind("xs[0]", x, "SLOT", holder=0x1000)
    b.bind("xs[1]", x, "SLOT", holder=0x1000)
    b.bind("ys[0]", x, "SLOT", holder=0x1000)  # ys is xs
    b.bind("d['a.b']", x, "SLOT", holder=0x2000)
    b.bind("d['c.b']", x, "SLOT", holder=0x2000)
    b.bind("self.w", x, "ATTRIBUTE", holder=0x3000)
    b.bind("model.w", x, "ATTRIBUTE", holder=0x3000)
    b.bind("c", x, holder=0x4000)  # a cell variable
    b.bind("f.c", x, "CELL", holder=0x4000)
    b.bind("x", x)
    b.object(x, refcount=9)
    looked = b.now
    b.unbind("x", x)
    history = b.history()
    owners = history.owners(x, looked).object
    assert (owners.count, sum(holder.count for holder in owners.holders)) == (9, 9)
    assert [(holder.name, holder.count) for holder in owners.holders] == [
        ("xs[0], also ys[0]", 1),
        ("xs[1]", 1),
        ("d['a.b']", 1),
        ("d['c.b']", 1),
        ("self.w, also model.w", 1),
        ("c, also f.c", 1),
        ("x", 1),
        ("held elsewhere", 2),
    ]
    later = history.owners(x, b.now).object
    assert (later.count, later.holders[-1].count) == (8, 2)


def test_an_operators_own_references_go_with_it():
    b = TraceBuilder()
    x = b.tensor((2,))
    with b.op("view(Tensor(a) self) -> Tensor(a)", [T(x)]):
        b.state[x]["uses"] += 1  # the kernel's own: no event records its end
        inside = b.retain(x, "TENSOR", 2)
        b.state[x]["uses"] -= 1
    history = b.history()
    during, after = (history.owners(x, m).impl for m in (inside, b.now))
    assert (during.count, after.count) == (3, 2)
    assert [(h.kind, h.name) for h in during.holders] == [
        ("WRAPPER", "its Python object"),
        ("TENSOR", "tensor #2"),
        ("CALL", "call 1: view, while it runs"),
    ]
    assert during.holders[:2] == after.holders


def test_names_of_a_module_outlive_its_frame():
    """The recorder records them again after the frame is left; they end when they are unbound."""
    b = TraceBuilder()
    module = b.frame()
    x = b.tensor((2,), name="x")
    popped = b.pop_frame()
    output = b.bind("x", x, frame=module)
    unbound = b.unbind("x", x, frame=module)
    history = b.history()
    assert history.label(x, popped - 1) == history.label(x, output) == "x"
    assert history.label(x, popped) == history.label(x, unbound) == "#1"


def test_a_call_tells_its_arguments_results_and_hops(talk):
    _, history, at = talk
    rand, transposed = history.call(1), history.call(2)
    assert rand.args == (Argument("size", "ints", (2, 3)), Argument("dtype", "none", None))
    assert rand.results == (1,)
    assert rand.schema.startswith("rand(int[] size")
    assert transposed.args == (Argument("self", "tensor", 1),)
    assert [hop.key for hop in history.hops(2)] == ["ADInplaceOrView", "CPU"]
    assert history.call_at_or_before(at["zeroed"]).op == "zero_"
    assert history.call_at_or_before(at["y"]).op == "t"
    assert history.call(99) is None


def test_all_sorts_of_arguments_decode():
    b = TraceBuilder()
    inputs = [T(3), 2, 1.5, True, (1, 2), "nearest", [T(1), T(2)], "float64", [0.5, 1.0], None, []]
    schema = "f(Tensor a, int b, float c, bool d, int[] e, str f, Tensor[] g, ScalarType h, "
    with b.op(schema + "float[] i, Tensor? j, int[2] k=[1, 2], *, Scalar l=1) -> Tensor", inputs):
        pass
    call = b.history().call(1)
    assert [argument.value for argument in call.args] == [
        3, 2, 1.5, True, (1, 2), "nearest", (1, 2), "float64", (0.5, 1.0), None, (),
    ]  # fmt: skip
    assert "".join(argument.name for argument in call.args) == "abcdefghijk"
    assert parameter_names("g() -> (Tensor, Tensor)") == ()


def test_sentences_use_the_names_of_the_moment(talk):
    _, history, at = talk
    recorded = [history.event(m).sentence for m in range(history.end)]
    assert recorded[at["in f"]] == "line demo.py:10 is about to run"
    assert recorded[at["zeroed"]] == (
        "bytes 0 to 24 of storage 1 were written through tensor a (#2) by zero_"
    )
    assert recorded[at["line 4"]] == "line demo.py:4 is about to run: del x"
    assert (
        "tensor #2 was created on storage 1: float32 (3, 2), strides (1, 3), offset 0" in recorded
    )
    assert recorded[at["y"]] == "name y was bound to tensor #2"
    assert recorded[at["end"]] == "name n was bound to 3"
    assert "operator t was called: t(x)" in recorded
    assert "operator rand was called: rand((2, 3), None)" in recorded
    assert "tensor #2 is a view of tensor x (#1)" in recorded
    assert "the dispatcher chose key ADInplaceOrView and ran t_adinplaceorview" in recorded
    assert "storage 1 is now also held by tensor #1; use count 1" in recorded
    assert any(re.fullmatch("allocator cpu .* 24 bytes at 0x50000000", s) for s in recorded)
    assert not any("{" in sentence for sentence in recorded)


def matches(history: History, text: str) -> list[int]:
    moments, m = [], -1
    while (m := history.find(text, m)) is not None:
        moments.append(m)
    back, m = [], history.end
    while (m := history.find(text, m, -1)) is not None:
        back.append(m)
    assert back == moments[::-1]
    return moments


@pytest.mark.parametrize(
    "text",
    ["tensor", "a (#2)", "X", "storage 1", "demo.py:10", "zero_", "by zero_", "(2, 3)", "cpu",
     "0x50000000", "is a view of tensor x (#1)", "24", "use count 1", "was bound to 3", "nothing",
     "del x", "float32 (3", "strides", "(1, 3)"],
)  # fmt: skip
def test_words_find_every_sentence_that_has_them(talk, text):
    _, history, _ = talk
    recorded = [history.event(m).sentence.lower() for m in range(history.end)]
    expected = [m for m, sentence in enumerate(recorded) if text.lower() in sentence]
    if text[-1].isdigit():  # a number matches only all digits of a number
        end = len(text)
        expected = [
            m for m in expected
            if any(not (recorded[m] + " ")[at + end].isdigit()
                   and not (text[0].isdigit() and (" " + recorded[m])[at].isdigit())
                   for at in range(len(recorded[m])) if recorded[m].startswith(text.lower(), at))
        ]  # fmt: skip
    assert matches(history, text) == expected


@pytest.mark.parametrize("seed", [3, 4])
def test_no_word_of_any_sentence_is_missed(seed):
    history = random_program(seed).history()
    for m in range(0, history.end, 7):
        for word in history.event(m).sentence.split():
            assert history.find(word, m - 1) == m, word


def test_filters(talk):
    _, history, at = talk

    def kinds(text: str) -> list[str]:
        return [history.event(m).kind for m in matches(history, text)]

    assert kinds("op:zero_") == ["OP_ENTER"]
    assert kinds("op:zero_ kind:write") == ["WRITE"]
    assert kinds("kind:TENSOR_NEW") == ["TENSOR_NEW", "TENSOR_NEW"]
    assert kinds("shape:2x3") == kinds("shape:(2,3)") == ["TENSOR_NEW"]
    assert kinds("shape:3x2 dtype:float32") == ["TENSOR_NEW"]
    assert kinds("shape:3x2 dtype:float64") == []
    assert matches(history, "line:10") == matches(history, "line:demo.py:10") == [at["in f"]]
    assert kinds("name:a") == ["NAME_BIND"]
    assert kinds("name:x") == ["NAME_BIND", "NAME_UNBIND"]
    assert kinds("tensor:a kind:WRITE") == ["WRITE"]
    assert kinds("tensor:1 kind:TENSOR") == ["TENSOR_NEW", "TENSOR_FREE"]
    assert kinds("storage:1 kind:STORAGE_NEW") == ["STORAGE_NEW"]
    assert kinds("key:ADInplaceOrView") == ["HOP"]
    assert kinds("kind:LINE demo.py:4") == ["LINE"]
    assert kinds("function:f") == ["FRAME_PUSH"]
    assert kinds("nonsense:1") == kinds("shape:what") == kinds("line:x") == []


def test_who_else_writes():
    b = TraceBuilder()
    x = b.tensor((2,), dtype="float64", allocator="foreign", values=[1, 2])
    result = b.now - 2
    b.emit("WRITE", 1, 0, 8, 16, 0)
    history = b.history()
    assert history.event(result).sentence == (
        "bytes 0 to 16 of storage 1 were written through tensor #1 as it was made"
    )
    output = "bytes 8 to 16 of storage 1 were written from outside the engine"
    assert history.event(b.now).sentence == output
    assert history.find("written from outside", 0) == b.now
    assert history.last_write(1, 8, b.now).foreign
    assert not history.last_write(1, 0, b.now).foreign
    assert history.last_write(1, 0, b.now).tensor == x


# Values


def test_bytes_before_any_write_and_after_the_budget_are_unknown():
    b = TraceBuilder()
    x = b.tensor((4,))
    empty = b.now
    b.write(x, [1, 2, 3, 4])
    full = b.now
    b.write(x, [9, 9], lo=4, keep=False)
    history = b.history()
    assert not history.bytes_of(1, empty)[1].any()
    assert history.bytes_of(1, full)[1].all()
    data, known = history.bytes_of(1, b.now)
    assert known.tolist() == [True] * 4 + [False] * 8 + [True] * 4
    assert np.frombuffer(data, "<f4")[[0, 3]].tolist() == [1, 4]
    part, sure = history.bytes_of(1, b.now, 2, 6)
    assert part[:2] == data[2:4]
    assert sure.tolist() == [True, True, False, False]


def test_values_are_known_from_the_write_on():
    b = TraceBuilder()
    x = b.tensor((2,))
    with b.op("fill_(Tensor(a!) self) -> Tensor(a!)", [T(x)]):
        write = b.write(x, [5, 6])
    history = b.history()
    assert history.event(write).kind == "WRITE"
    assert history.bytes_of(1, write)[1].all()
    assert not history.bytes_of(1, write - 1)[1].any()


def test_a_sample_knows_its_elements():
    b = TraceBuilder()
    x = b.tensor((1000,))
    b.sample(x, range(1000), step=16)
    data, known = b.history().bytes_of(1, b.now)
    elements = known.reshape(-1, 4)
    assert np.flatnonzero(elements.all(axis=1)).tolist() == list(range(0, 1000, 16))
    assert (elements.any(axis=1) == elements.all(axis=1)).all()
    assert (np.frombuffer(data, "<f4")[::16] == np.arange(0, 1000, 16)).all()


def test_many_small_writes_are_read_by_region():
    b = TraceBuilder()
    x = b.tensor((50,))
    for value in range(500):
        b.write(x, [value], lo=4 * (value % 50))
    data, known = b.history().bytes_of(1, b.now)
    assert known.all()
    assert np.frombuffer(data, "<f4").tolist() == list(range(450, 500))


def test_memory_that_does_not_exist_has_no_bytes():
    b = TraceBuilder()
    b.tensor((1 << 40,), device="meta", allocator="meta")
    history = b.history()
    assert history.bytes_of(1, b.now)[0] == b""
    assert history.storage(1, b.now).nbytes == 1 << 42


def test_aliases_exactly_when_bytes_meet():
    b = TraceBuilder()
    x = b.tensor((10,))
    even = b.tensor((5,), (2,), 0, base=x)
    odd = b.tensor((5,), (2,), 1, base=x)
    other = b.tensor((10,))
    history = b.history()
    assert history.aliases(x, even, b.now)
    assert history.aliases(odd, x, b.now)
    assert not history.aliases(even, odd, b.now)
    assert not history.aliases(x, other, b.now)
    assert not history.aliases(x, 99, b.now)


def test_what_is_looked_up_at_once_is_what_one_by_one_is() -> None:
    b = TraceBuilder()
    b.line(1)
    tensors = [b.tensor((2,), values=[1, 2], name=f"x{number}") for number in range(5)]
    for number, tensor in enumerate(tensors):
        for _ in range(number):
            b.write(tensor)
    b.unbind("x3")
    history = b.history()
    for m in range(history.end):
        facts = history.tensors_at(m)
        ids, counters = [fact.id for fact in facts], [fact.counter for fact in facts]
        assert history.versions_of(counters, m) == [history.version(each, m) for each in counters]
        assert history.wrapped_of(ids, m) == [history.wrapped(each, m) for each in ids]
        assert history.objects_of(ids, m) == [history.object_at(each, m) for each in ids]
        storages = [fact.id for fact in history.storages_at(m)]
        counts = [history.storage_owners(each, m).count for each in storages]
        assert history.storage_uses(storages, m) == counts
    assert history.versions_of([], 0) == []


def test_names_in_sentences_are_those_that_users_write_and_are_found() -> None:
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2,), values=[1, 2])
    b.line(2)
    bound = b.bind("net._modules['fc']._parameters['weight']", x, "SLOT")
    b.line(3)
    removed = b.emit("GRAD_SET", x, 0)
    history = b.history()
    assert history.event(bound).sentence == "name net.fc.weight was bound to tensor #1"
    assert history.event(removed).sentence == ".grad of tensor net.fc.weight (#1) is now None"
    for pattern in ("net.fc.weight", "name:net.fc.weight", "tensor:net.fc.weight"):
        assert history.find(pattern, 0, 1) is not None, pattern
    assert history.find("net.fc.weight was bound", 0, 1) == bound
