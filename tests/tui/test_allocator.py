"""Memory over time: live bytes, the peak, its creators, and what leaks."""

from __future__ import annotations

import pytest

from engine.inspect.history import History
from engine.inspect.models.allocator import project
from engine.inspect.models.timeline import CLOSEST, window
from engine.inspect.selection import Selection
from tests.inspect.trace_builder import TraceBuilder
from tui.actions.queries import why
from tui.navigator import Navigator
from tui.render import ASCII, UNICODE
from tui.views import DrawContext, view

SOURCE = """import engine
losses = []
for step in range(8):
    x = batch(step)
    loss = model(x)
    if keep: losses.append(loss)
"""


def loop(keep: bool, steps: int = 8, gradients: int = 0) -> History:
    """Each iteration creates a batch of 400 bytes, which is freed, and a loss of 40, which may be kept; and
    gradients of 40 bytes, which replace those of the iteration before."""
    b = TraceBuilder()
    b.file("/home/me/my_train_2.py", SOURCE)
    b.frame("<module>")
    b.line(1)
    b.line(2)
    current: list[int] = []
    for step in range(steps):
        b.line(3)
        b.line(4)
        x = b.tensor((100,), values=range(100))
        b.line(5)
        loss = b.tensor((10,), values=range(10))
        b.line(6)
        if keep:
            b.bind(f"losses[{step}]", loss, kind="SLOT")
        else:
            b.free(loss)
        b.free(x)
        for gradient in current:
            b.free(gradient)
        current = [b.tensor((10,), values=range(10)) for _ in range(gradients)]
    b.line(3)
    return b.history()


def drawn(history: History, width: int = 100, glyphs=UNICODE) -> str:
    model = project(history, history.end - 1, Selection())
    return view("allocator").draw(model, DrawContext(width, 40, glyphs)).text()


def test_live_bytes_add_up_at_every_moment() -> None:
    history = loop(keep=True)
    for moment in range(0, history.end, 7):
        model = project(history, moment, Selection())
        alive = history.storages_at(moment)
        assert (model.live_bytes, model.live_count) == (sum(s.nbytes for s in alive), len(alive))
    best = max(range(history.end), key=lambda m: sum(s.nbytes for s in history.storages_at(m)))
    assert (model.peak_at, model.peak) == (best, 400 + 8 * 40)
    assert max(map(sum, zip(*model.layers, strict=True))) == model.peak


def test_the_device_meta_takes_no_memory() -> None:
    b = TraceBuilder()
    b.frame("<module>")
    b.line(1)
    b.tensor((100,), values=range(100))
    for _ in range(5):
        b.tensor((1000,), device="meta")
    history = b.history()
    model = project(history, history.end - 1, Selection())
    assert (model.live_bytes, model.live_count, model.peak) == (400, 1, 400)
    assert not model.devices
    assert [creator.peak_bytes for creator in model.creators] == [400]


def test_the_peak_names_its_line_and_what_was_alive_by_creator() -> None:
    model = project(loop(keep=True), 3, Selection())
    assert (model.peak_line, model.peak_code) == (5, "loss = model(x)")
    assert [(c.line, c.peak_count, c.peak_bytes) for c in model.creators] == [
        (4, 1, 400),
        (5, 8, 320),
    ]


def test_growth_from_iteration_to_iteration_is_a_leak_with_its_holder() -> None:
    history = loop(keep=True)
    (leak,) = project(history, history.end - 1, Selection()).leaks
    assert (leak.line, leak.iterations, leak.leaving, leak.count, leak.bytes) == (5, 8, 8, 8, 320)
    assert leak.held_by == ("losses[…]",)
    assert "leak: 8 of 8 iterations of line 5 left 40 bytes each" in drawn(history)


def test_what_the_next_iteration_replaces_is_no_part_of_a_leak() -> None:
    history = loop(keep=True, gradients=6)
    (leak,) = project(history, history.end - 1, Selection()).leaks
    assert (leak.leaving, leak.count, leak.bytes, leak.creators) == (8, 8, 320, (5,))
    history = loop(keep=False, gradients=6)
    assert project(history, history.end - 1, Selection()).leaks == ()


def test_what_the_running_iteration_uses_is_no_part_of_a_leak() -> None:
    history = loop(keep=True)
    lines = history.tables.lines
    inside = int(lines.since[lines.line == 6][-1])
    (leak,) = project(history, inside, Selection()).leaks
    assert (leak.iterations, leak.leaving, leak.bytes) == (7, 7, 7 * 40)
    assert leak.held_by == ("losses[…]",)


def test_why_explains_what_grows_and_else_the_peak() -> None:
    nav = Navigator(loop(keep=True), view="allocator")
    nav.go("end")
    page = why(nav)
    assert "8 of 8 iterations left 40 bytes each" in page
    assert "kept by `losses[…]`" in page
    assert "What keeps the newest alive?" in page
    nav = Navigator(loop(keep=False), view="allocator")
    page = why(nav)
    assert "Why is the peak 440 bytes?" in page
    assert "400 bytes on 1 storage, created in line 4" in page


def test_what_is_freed_in_each_iteration_does_not_leak() -> None:
    history = loop(keep=False)
    assert project(history, history.end - 1, Selection()).leaks == ()
    assert "no loop allocates memory in every iteration that stays" in drawn(history)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_graph_fits_and_every_column_goes_to_its_moment(width: int) -> None:
    history = loop(keep=True)
    model = project(history, history.end - 1, Selection())
    picture = view("allocator").draw(model, DrawContext(width, 24))
    assert all(sum(s.width for s in picture.line(y)) <= width for y in range(picture.height))
    bottom = [target.event for _, _, target in picture.targets(8)]
    assert bottom == sorted(bottom)
    assert all(0 <= event < history.end for event in bottom)
    assert drawn(history, width, ASCII).isascii()


def test_one_key_goes_to_the_peak_from_every_view() -> None:
    nav = Navigator(loop(keep=True), at="start", view="source")
    sentence = nav.press("P")
    assert "peak: 720 bytes in line 5 of my_train_2.py" in sentence
    assert nav.view == "allocator"
    assert sum(s.nbytes for s in nav.history.storages_at(nav.moment)) == 720
    nav.back()
    assert nav.moment == 0


@pytest.mark.parametrize("name", ["timeline", "allocator"])
def test_bars_zoom_and_say_what_their_height_means(name: str) -> None:
    nav = Navigator(loop(keep=True, steps=40), at="300", view=name)
    end = nav.last + 1
    assert "height: " in nav.picture(name, 100, 30, UNICODE).text()
    assert "all events" in nav.picture(name, 100, 30, UNICODE).text()
    nav.press("plus")
    model = nav.model(name)
    assert model.last - model.first == end // 2
    assert model.first <= nav.moment < model.last
    assert f"events {model.first:,} to" in nav.picture(name, 100, 30, UNICODE).text()
    for _ in range(20):
        nav.press("plus")
    assert nav.model(name).last - nav.model(name).first == CLOSEST
    assert "no closer" in nav.press("plus")
    for _ in range(20):
        nav.press("minus")
    assert "all" in nav.press("minus")


def test_a_window_holds_its_moment_and_stays_while_the_moment_steps() -> None:
    for end in (1, 50, 61, 1000):
        for zoom in range(12):
            windows = [window(moment, end, zoom) for moment in range(end)]
            assert all(0 <= a <= m < b <= end for m, (a, b) in enumerate(windows))
            size = windows[0][1] - windows[0][0]
            assert len(set(windows)) <= 2 * end // size + 2


def test_bars_of_the_memory_map_share_one_scale() -> None:
    b = TraceBuilder()
    b.line(1)
    big = b.tensor((4096,), dtype="float32", name="big")
    half = b.tensor((2048,), dtype="float32", name="half")
    wide = b.tensor((1024,), dtype="float64", name="wide")
    b.line(2)
    nav = Navigator(b.history())
    model = nav.model("memory")
    length = {box.tensors[0].label: len(box.tensors[0].bar) for box in model.storages}
    assert length == {"big": 32, "half": 16, "wide": 16}
    assert {box.bucket for box in model.storages} == {model.scale} == {512}
    lines = nav.picture("memory", 120, 40, UNICODE).text().splitlines()
    bars = [line.count("█") for line in lines if "█" in line]
    assert bars == [bars[0], bars[0] // 2, bars[0] // 2]
    assert "bars: 512 bytes a cell" in lines[1] or "bars: 1024 bytes a cell" in lines[1]
    assert big != half != wide


def test_a_small_map_draws_bytes_not_elements() -> None:
    b = TraceBuilder()
    b.line(1)
    b.tensor((4,), dtype="float32", name="four")
    b.tensor((4,), dtype="int64", name="longs")
    b.tensor((4,), dtype="bool", name="flags")
    b.line(2)
    nav = Navigator(b.history())
    lines = nav.picture("memory", 80, 40, UNICODE).text().splitlines()
    assert [line.count("█") for line in lines if "█" in line] == [4, 8, 1]


def test_the_end_is_where_a_function_that_owned_everything_still_runs() -> None:
    b = TraceBuilder()
    b.file("/home/me/my_prog_2.py", "def main():\n    x = ones(3)\n    pass\nmain()\n")
    module = b.frame("<module>")
    b.line(4)
    b.frame("main")
    b.line(2)
    x = b.tensor((3,), values=range(3))
    b.bind("x", x)
    b.line(3)
    b.pop_frame()
    b.free(x)
    b.pop_frame()
    nav = Navigator(b.history())
    assert module
    assert [name.name for name in nav.history.names_at(nav.moment)] == ["x"]
    assert nav.model("memory").tensors == 1


def test_the_end_is_that_of_the_outermost_frame_that_ended_last() -> None:
    """The frames of threads are outermost ones too, and begin later."""
    b = TraceBuilder()
    b.frame("<module>")
    b.line(1)
    x = b.tensor((3,), values=range(3), name="x")
    main, b.frames = b.frames, []
    b.frame("work")
    b.pop_frame()
    b.frames = main
    b.line(2)
    end = b.now
    b.pop_frame()
    b.free(x)
    assert Navigator(b.history()).moment == end


def test_a_line_of_a_named_file_is_a_location() -> None:
    b = TraceBuilder()
    b.file("/home/me/my_prog_2.py", "a\nb\n")
    b.frame("<module>")
    first = b.line(2)
    b.file("/home/me/lib/other_one.py", "a\nb\n")
    b.frame("helper")
    second = b.line(2)
    nav = Navigator(b.history())
    assert (nav.go("my_prog_2.py:2"), nav.moment) == ("", first)
    assert (nav.go("other_one.py:2"), nav.moment) == ("", second)
    assert (nav.go("lib/other_one.py:2"), nav.moment) == ("", second)
    assert nav.go("no_such_file.py:2") == (
        "no file 'no_such_file.py' ran; the files of this recording are my_prog_2.py, other_one.py"
    )
    assert "line 9 of my_prog_2.py never ran" in nav.go("my_prog_2.py:9")
    assert "'my_moment_1' is not a location" in nav.go("my_moment_1")
