"""Regions in a recording: a profile, a record_function block and a distribution's sample."""

from __future__ import annotations

import pytest

from engine.inspect.history import History
from engine.inspect.models import dispatch, timeline, values
from engine.inspect.selection import CallSelection, Selection
from tests.inspect.selections import select
from tests.inspect.test_recorder import recorded_history
from tests.inspect.trace_builder import TraceBuilder
from tui.render import ASCII, UNICODE
from tui.views import DrawContext
from tui.views.dispatch import DispatchView
from tui.views.timeline import TimelineView
from tui.views.values import ValuesView

PROGRAM = """
import warnings
import engine as torch
from engine.distributions import Categorical, Normal
from engine.profiler import profile, record_function

warnings.simplefilter("ignore")
normal = Normal(torch.zeros(3), 1.0)
before = torch.ones(2)
with profile() as p:
    with record_function("model"):
        draw = normal.sample()
    plain = torch.ones(3) + 1
index = Categorical(torch.ones(4)).sample()
try:
    with record_function("fails"):
        raise ValueError
except ValueError:
    pass
print([event.name for event in p.events()])
end = 1
"""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    history, output = recorded_history(tmp_path_factory.mktemp("regions"), PROGRAM)
    assert "['model']" in output
    return history


def last_line(history: History) -> int:
    return int(history.tables.numbers("LINE")[-1])


def named(history: History, name: str) -> int:
    return next(n.tensor for n in history.names_at(last_line(history)) if n.name == name)


def test_a_tensor_knows_the_regions_that_it_was_created_in(history: History) -> None:
    regions = {
        name: [region.name for region in history.regions_of(named(history, name))]
        for name in ("before", "draw", "plain", "index")
    }
    assert regions == {
        "before": [],
        "draw": ["profile", "model", "Normal.sample", "Normal.rsample"],
        "plain": ["profile"],
        "index": ["Categorical.sample"],
    }
    assert history.regions_of(0) == ()
    assert history.regions_at(history.end) == ()


def test_every_region_ends(history: History) -> None:
    assert (history.tables.regions.until < history.end).all()
    names = {history.text(int(since)) for since in history.tables.regions.since}
    assert names == {
        "profile", "model", "Normal.sample", "Normal.rsample", "Categorical.sample", "fails",
    }  # fmt: skip


def test_the_views_show_them(history: History) -> None:
    draw, moment = named(history, "draw"), last_line(history)
    model = values.project(history, moment, select(tensor=draw))
    assert model.regions == ("profile", "model", "Normal.sample", "Normal.rsample")
    picture = ValuesView().draw(model, DrawContext(120, 30, UNICODE, Selection()))
    assert "created in profile ▸ model ▸ Normal.sample" in picture.text()

    created_at = int(history.tables.tensors.since[history.tables.tensors.where("id", draw)[0]])
    call = history.calls_at(created_at)[0]
    inside = dispatch.project(history, moment, Selection(call=CallSelection(call.id)))
    assert [region.name for region in inside.regions] == list(model.regions)
    picture = DispatchView().draw(inside, DrawContext(100, 30, ASCII, Selection()))
    assert " in profile > model > Normal.sample > Normal.rsample" in picture.text()

    run = timeline.project(history, created_at, Selection())
    bars = {bar.name: bar for bar in run.regions}
    assert {name: bar.depth for name, bar in bars.items()} == {
        "profile": 0, "model": 1, "Normal.sample": 2, "Normal.rsample": 3, "Categorical.sample": 0, "fails": 0,
    }  # fmt: skip
    assert bars["model"].since < created_at < bars["model"].until
    assert any("began: model" in row.sentence for row in around(history, bars["model"].since))


def around(history: History, moment: int) -> tuple[timeline.EventRow, ...]:
    return timeline.project(history, moment, Selection()).rows


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_bars_of_regions(glyphs) -> None:
    b = TraceBuilder()
    for number, name in enumerate(("outer", "inner", "innermost", "hidden"), 1):
        for line in range(1, 30):
            b.line(line)
        b.emit("REGION", number, blob=name.encode())
    for line in range(1, 30):
        b.line(line)
    for number in (4, 3, 2):
        b.emit("REGION_END", number)
    for line in range(1, 90):
        b.line(line)
    history = b.history()
    model = timeline.project(history, history.end - 1, Selection())
    text = TimelineView().draw(model, DrawContext(100, 24, glyphs, Selection())).text()
    rows = [line for line in text.splitlines() if "outer" in line or "inner" in line]
    left, right = glyphs.wire(7), glyphs.wire(13)
    outer, inner, innermost = (row.strip() for row in rows[:3])
    assert outer.startswith(f"{left}{glyphs.wire(10)}outer")
    assert not outer.endswith(right), "it has no end"
    assert inner.startswith(left)
    assert inner.endswith(right)
    assert innermost.endswith(right)
    assert not any("hidden" in line for line in text.splitlines()[:9])


def test_a_region_of_another_thread_is_not_around() -> None:
    b = TraceBuilder()
    b.line(1)
    b.emit("REGION", 1, blob=b"first")
    b.thread = 2
    other = b.emit("REGION", 2, blob=b"second")
    b.thread = 1
    inside = b.line(2)
    b.emit("REGION_END", 9)
    history = b.history()
    assert [r.name for r in history.regions_at(other)] == ["second"]
    assert [r.name for r in history.regions_at(inside)] == ["first"]
