"""The dispatch view as text."""

from __future__ import annotations

import pytest

from engine.inspect import declarations
from engine.inspect.models.dispatch import project
from engine.inspect.selection import CallSelection, TensorSelection
from tests.inspect.models.calls import ADD, added
from tests.inspect.selections import select
from tests.inspect.trace_builder import T, TraceBuilder
from tui.render import ASCII, UNICODE, Picture
from tui.views import DrawContext
from tui.views.dispatch import SIDE, DispatchView

ENTRY = f"- schema: {ADD}\n  pointwise: arithmetic\n  expr: self + alpha * other"
GENERATED = {
    "dispatcher entry": f'Op<Tensor(const Operand&, const Operand&, const Scalar&)> add_op("{ADD}");',
    "kernel": "Tensor add_pointwise(KeySet, const Operand& self, const Operand& other, const Scalar& alpha);",
    "C function": 'extern "C" uh_handle uh_add(uh_handle self, uh_handle other);',
    "Python function": """def add(input, other, *, alpha=1):
    r = _uh_add(*operand(input), *operand(other), *number(alpha))
    return wrapped(r)""",
    "public names": "engine.add, Tensor.add, Tensor.__add__",
}


@pytest.fixture(autouse=True)
def one_declaration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The view shows the engine's own sources: here they are fixed, so that pictures can be compared."""
    tables = ({("pointwise", 8): ENTRY}, {"add.Tensor": ("pointwise", 8, GENERATED)})
    monkeypatch.setattr(declarations, "_declarations", lambda: tables)
    declarations.origin.cache_clear()
    yield
    declarations.origin.cache_clear()


def picture(b: TraceBuilder, width: int = 80, glyphs=UNICODE, at: int = -1, **selected) -> Picture:
    history, selection = b.history(), select(**selected)
    model = project(history, history.end - 1 if at < 0 else at, selection)
    return DispatchView().draw(model, DrawContext(width, 24, glyphs, selection))


@pytest.mark.parametrize("width", [80, 120])
def test_what_a_person_sees(width, golden):
    b, at = added()
    golden(f"dispatch_{width}", picture(b, width, tensor=at["x"]).text())


def test_in_ascii(golden):
    b, at = added()
    golden("dispatch_ascii", picture(b, 80, ASCII, tensor=at["x"]).text())


def test_what_comes_later_is_marked():
    b, at = added()
    text = picture(b, at=at["first hop"]).text()
    assert "still running" in text
    assert text.count("not yet") == 2, "one hop and the plan"


def test_a_key_that_falls_through_says_so():
    b, _ = added()
    line = next(line for line in picture(b).text().splitlines() if "Autograd" in line)
    assert "falls through" in line


def test_the_entry_stands_beside_what_it_became_where_there_is_room():
    b, _ = added()
    narrow, wide = (picture(b, width).text() for width in (SIDE - 1, SIDE))
    assert not any("from  csrc" in line and "becomes" in line for line in narrow.splitlines())
    assert any("from  csrc" in line and "becomes" in line for line in wide.splitlines())


def test_every_argument_and_every_hop_can_be_pointed_at():
    b, at = added()
    drawn = picture(b)
    targets = [t for y in range(drawn.height) for _, _, t in drawn.targets(y)]
    assert {t.item.tensor for t in targets if isinstance(t.item, TensorSelection)} == {
        at["x"],
        at["y"],
        at["z"],
    }
    assert at["plan"] in {t.event for t in targets}


def test_calls_within_calls_lead_to_themselves():
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2, 2), name="x")
    with b.op("outer_one(Tensor self) -> Tensor", [T(x)]) as call:
        for _ in range(20):
            with b.op("inner_one(Tensor self) -> Tensor", [T(x)]):
                pass
        call.results(x)
    drawn = picture(b)
    text = drawn.text()
    assert "inside  21 calls" in text
    assert "9 more" in text
    calls = [
        t.item.call
        for y in range(drawn.height)
        for _, _, t in drawn.targets(y)
        if isinstance(t.item, CallSelection)
    ]
    assert calls[:2] == [1, 2]


def test_long_names_keep_every_line_its_width():
    b = TraceBuilder()
    b.line(1)
    x = b.tensor((2, 2), name="n" * 200)
    schema = f"{'o' * 90}.{'v' * 90}(Tensor {'a' * 90}, str {'b' * 90}) -> Tensor"
    with b.op(schema, [T(x), "s" * 300]) as call:
        call.fail("no " * 100)
    for width in (60, 80, 120):
        for glyphs in (UNICODE, ASCII):
            drawn = picture(b, width, glyphs)
            for y in range(drawn.height):
                assert sum(span.width for span in drawn.line(y)) <= width
