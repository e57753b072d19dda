"""Graphs that are not whole or not usual: begun in the middle, of two threads, lied about, very deep."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from engine.inspect.events import NUMBER
from engine.inspect.history import History
from engine.inspect.history.autograd.components import components
from engine.inspect.history.search import _whole_numbers
from engine.inspect.history.why import why_alive, why_no_grad, why_stale
from engine.inspect.models import to_json
from engine.inspect.models.autograd import project
from engine.inspect.selection import Selection
from engine.inspect.trace import TraceReader
from tests.inspect.autograd_builder import GradBuilder
from tests.inspect.autograd_replay import assert_agrees
from tests.inspect.models.test_autograd import diamond
from tests.inspect.selections import select
from tests.inspect.test_trace_fuzz import HOSTILE
from tests.sampling import sampled

NOTHING = Selection()


def chain(b: GradBuilder, leaf: int, length: int) -> int:
    h = leaf
    for _ in range(length):
        h = b.result("ExpBackward0", (h,), {"result": 0})
    return h


def test_a_recording_that_began_in_the_middle_answers():
    b = GradBuilder()
    b.emit("NODE_FREE", 7)
    b.emit("EDGE", 8, 0, 9, 0)
    b.emit("GRAD_FN", 3, 8, 0)
    b.emit("RELEASE", 8, 0, 3)
    b.emit("UNPACK", 8, 0, 3, 1, 0)
    b.emit("READY_PUSH", 4, 8, 1)
    b.emit("READY_POP", 4, 8)
    b.emit("NODE_ENTER", 4, 8, 1)
    b.emit("ARRIVE", 4, 9, 0, 5, 5)
    b.emit("NODE_EXIT", 4, 8, 1)
    b.emit("HOOK", 1, 8, 3, 4)
    b.emit("STALE", 8, 0, 3, 2, 1)
    b.emit("BACKWARD_END", 4, 1, 0)
    history = b.history()
    for moment in range(history.end):
        assert history.event(moment).sentence
        assert len(to_json(project(history, moment, select(node=8, tensor=3)))["nodes"]) == 0


def test_two_passes_at_once_are_told_apart():
    b = GradBuilder()
    x, z = b.leaf(name="x"), b.leaf(name="z")
    y, u = chain(b, x, 3), chain(b, z, 2)
    start = len(b.records)
    b.backward(y)
    half = len(b.records)
    b.thread = 2
    b.backward(u)
    first, second = b.records[start:half], b.records[half:]
    chooser, mixed = random.Random(1), b.records[:start]
    while first or second:
        source = first if not second or (first and chooser.random() < 0.5) else second
        mixed.append((len(mixed), *source.pop(0)[1:]))
    b.records = mixed
    history = b.history()
    assert_agrees(history, project, NOTHING)
    both = [m for m in range(history.end) if len(project(history, m, NOTHING).runs) == 2]
    assert both
    for m in both:
        model = project(history, m, NOTHING)
        assert model.run.thread == history.event(m).thread
        assert [run.thread for run in model.runs] == sorted(
            {1, 2}, key=lambda t: t != model.runs[0].thread
        )


def test_a_write_to_a_view_is_run_by_its_copy_slices():
    b = GradBuilder()
    x = b.leaf(name="x")
    y = b.result("MulBackward0", (x,))
    with b.op("mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor", [y]) as call:
        write = b.node("MulBackward0", [b.edge_to(y)], call.number)
        slices = b.node("CopySlices", [b.edge_to(y)], call.number)
        b.grad_fn(y, slices)
    view = b.node("AsStridedBackward0", [(slices.id, 0)])
    model = project(b.history(), b.now, NOTHING)
    inside = {fact.id: fact.inside for fact in model.parts[0].nodes}
    assert inside == dict.fromkeys(inside, 0) | {write.id: slices.id}
    assert view.id in inside


def test_a_loop_that_shares_its_weights_over_living_steps():
    b = GradBuilder()
    w = b.leaf(name="w")
    losses = [chain(b, w, 2) for _ in range(80)]
    history = b.history()
    model = project(history, b.now, NOTHING)
    assert (len(model.parts), model.hidden) == (64, 16)
    assert model.parts[-1].nodes[-1].id == b.made_by[losses[-1]][0], "the newest are shown"
    old = b.made_by[losses[0]][0]
    selected = project(history, b.now, select(node=old))
    assert selected.nodes.of(old) is not None, "what is selected is shown, however old"


def test_a_deep_chain_is_one_part():
    b = GradBuilder()
    chain(b, b.leaf(name="x"), 3000)
    model = project(b.history(), b.now, NOTHING)
    assert [len(part.nodes) for part in model.parts] == [3001]
    assert model.nodes[1500].state == ""


def test_components_agree_with_walking():
    chooser = np.random.default_rng(0)
    for size, pairs in ((1, 0), (10, 5), (300, 200), (300, 900)):
        ids = chooser.permutation(size * 3)[:size]
        first, second = chooser.integers(0, size, (2, pairs))
        known = {row: {row} for row in range(size)}
        for a, b in zip(first.tolist(), second.tolist(), strict=True):
            merged = known[a] | known[b]
            for row in merged:
                known[row] = merged
        expected = [min(int(ids[row]) for row in known[each]) for each in range(size)]
        assert components(ids, first, second).tolist() == expected


@pytest.mark.parametrize(
    "options", [{}, {"none": ["n_a"]}, {"stops_at": "n_b"}, {"needs": ["n_y"], "captures": ["n_a"]}]
)
def test_search_finds_what_sentences_say(options):
    b, n = diamond(**options)
    b.emit("HOOK", 1, n["n_a"], 3, 4)
    b.emit("HOOK", 5, n["n_a"], 3, 0)
    b.emit("STALE", n["n_b"], 0, n["b"], 1, 0)
    b.emit("GRAD_SET", n["x"], 0)
    b.emit("GRAD_FN", n["y"], 0, 0)
    history = b.history()
    sentences = [history.event(moment).sentence.lower() for moment in range(history.end)]
    assert not any("{" in sentence for sentence in sentences)
    parts = [sentence.split() for sentence in sentences]
    terms = {
        " ".join(part[at : at + n]) for part in parts for n in (1, 3) for at in range(len(part))
    }
    for word in sampled(sorted(word for word in terms if ":" not in word), 100):
        pattern = re.compile(_whole_numbers(word))
        expected = [m for m, sentence in enumerate(sentences) if pattern.search(sentence)]
        actual, moment = [], -1
        while (moment := history.find(word, moment)) is not None:
            actual.append(moment)
        assert actual == expected, f"{word!r}"


@pytest.mark.parametrize("seed", range(40))
def test_records_that_lie(seed):
    """Impossible ids, counts and slots are shown as they were recorded, and never crash."""
    b = GradBuilder()
    b.line(1)
    x = b.leaf(name="x", values=[1.0, 2.0])
    y = b.result("MulBackward0", (x, chain(b, x, 2)), {"self": x, "result": 0}, bind="y")
    b.write(y, [3.0, 4.0])
    b.backward(y, keep_graph=bool(seed % 2))
    records, chooser = b.array(), random.Random(seed)
    grad = np.flatnonzero(records["kind"] >= NUMBER["NODE_NEW"])
    for _ in range(chooser.randint(1, 12)):
        at = int(chooser.choice(grad.tolist()))
        field = chooser.choice(["kind", *"abcdeabcd", "thread"])
        value = chooser.choice([*HOSTILE, chooser.randrange(12)])
        if field == "kind":
            value = chooser.randrange(NUMBER["NODE_NEW"], NUMBER["STALE"] + 1)
        elif field == "thread":
            value &= 0xFFFFFFFF
        records[field][at] = value
    strings = {number: text for text, number in b.strings.items()}
    history = History(TraceReader.of(records, bytes(b.blobs), strings, b.sources))
    for moment in range(0, history.end, 3):
        assert history.event(moment).sentence
        selection = select(node=chooser.randrange(5), tensor=chooser.randrange(5))
        to_json(project(history, moment, selection))
        for grain in ("node", "event"):
            assert 0 <= history.next(moment, grain) < history.end
        for tensor in (1, 2):
            why_no_grad(history, tensor, moment)
            why_alive(history, tensor, moment)
        for node in (1, 2, 3):
            why_stale(history, node, moment)
