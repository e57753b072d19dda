"""The rulebook view: the offset that a sparse convolution computes, its sites and pairs; keys; every size."""

from __future__ import annotations

import pytest

from engine.inspect.models.rulebook import RulebookModel, offset_moments, product_calls
from tests.inspect.jit_traces import recorded
from tests.inspect.trace_builder import TraceBuilder
from tui.navigator import Navigator
from tui.render import ASCII, UNICODE
from tui.render.theme import STYLES
from tui.views import help_of

PROGRAM = """
import engine
from engine import sparse_conv

indices = engine.tensor([[0, 0, 1], [0, 1, 1], [0, 1, 2], [0, 3, 3]])
features = engine.tensor([[1.0], [2.0], [3.0], [4.0]], requires_grad=True)
x = sparse_conv.SparseConvTensor(features, indices, [4, 4], batch_size=1)
layer = sparse_conv.SubMConv2d(1, 1, 3, bias=False)
y = layer(x)
z = sparse_conv.SparseConv2d(1, 1, 3, stride=2, padding=1, bias=False)(x)
z.features.sum().backward()
"""
VOLUME = """
import engine
from engine import sparse_conv

engine.manual_seed(0)
indices = (engine.rand(2, 5, 9, 40) < SHARE).nonzero()
x = sparse_conv.SparseConvTensor(engine.ones(indices.size(0), 6), indices, [5, 9, 40], 2)
y = sparse_conv.SubMConv3d(6, 3, 3, bias=False)(x)
"""


LARGE = VOLUME.replace("SHARE", "0.9")
VOLUME = VOLUME.replace("SHARE", "0.01")


def navigator(program: str = PROGRAM) -> Navigator:
    nav = Navigator(recorded(program), view="rulebook")
    nav.move(0)
    return nav


def model(nav: Navigator) -> RulebookModel:
    return nav.model("rulebook")


def text(nav: Navigator, width: int = 90) -> str:
    return nav.picture("rulebook", width, 24, UNICODE).text()


def test_before_the_first_convolution_it_says_so():
    assert "No sparse convolution ran" in text(navigator())
    empty = Navigator(TraceBuilder().history(), view="rulebook")
    assert "No sparse convolution ran" in text(empty)


def test_offsets_are_computed_one_at_a_time():
    """The centre comes first: it feeds every site from itself. Then the others, in order."""
    nav = navigator()
    order = []
    for _ in range(7):
        assert nav.press("full_stop") == ""
        order.append(model(nav).current)
        states = {row.number: row.state for row in model(nav).offsets}
        assert states[order[-1]] == "current"
        assert all(states[number] == "done" for number in order[:-1])
    assert order == [4, 0, 1, 3, 5, 7, 8]
    assert [row.pairs for row in model(nav).offsets] == [1, 1, 0, 1, 4, 1, 0, 1, 1]
    assert nav.press("comma") == ""
    assert model(nav).current == 7


def test_pairs_are_those_of_the_recorded_rulebook():
    nav = navigator()
    for _ in range(3):
        nav.press("full_stop")
    (pair,) = model(nav).pairs  # offset 1: the site above
    assert (pair.in_row, pair.in_site, pair.out_row, pair.out_site) == (0, (0, 0, 1), 1, (0, 1, 1))
    assert pair.features == "[1.]"
    drawn = text(nav)
    assert "kernel offset 1 at 0,1: 1 pair" in drawn
    assert "row 0 at 0,0,1 [1.] @ weight[1] ▸ row 1 at 0,1,1" in drawn
    assert "· [0] ·  ·" in drawn
    assert "· [1] 2  ·" in drawn


def test_a_regular_convolution_and_its_gradients():
    nav = navigator()
    nav.press("m")
    nav.press("m")
    nav.press("full_stop")
    down = model(nav)
    assert (down.submanifold, down.in_shape, down.out_shape) == (False, (4, 4), (2, 2))
    assert down.out_sites == ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1))
    assert "regular 3×3 · stride 2,2 · padding 1,1" in text(nav)
    nav.press("m")
    nav.press("full_stop")
    back = model(nav)
    assert back.role == "from outputs to inputs"
    assert (back.in_shape, back.out_shape) == ((2, 2), (4, 4))
    assert back.pairs[0].features == "[1.]"  # the gradient of a sum, which is one expanded number
    nav.press("m")
    nav.press("full_stop")
    assert model(nav).role == "the gradient of the weight"
    assert "gradient of row" in text(nav)
    assert nav.press("m") == "no later sparse convolution"
    nav.press("M")
    nav.press("M")
    assert model(nav).call == back.call


def test_after_the_call_all_offsets_are_done():
    nav = navigator()
    history = nav.history
    call = history.call(product_calls(history)[0])
    nav.move(call.until)
    assert not model(nav).running
    assert {row.state for row in model(nav).offsets} == {"done", "empty"}
    assert "the last; all are added" in text(nav)


def test_a_volume_is_drawn_as_the_slice_of_its_first_pair():
    nav = navigator(VOLUME)
    nav.press("full_stop")
    nav.press("full_stop")
    volume = model(nav)
    assert volume.in_shape == (5, 9, 40)
    first = volume.pairs[0]
    assert f"sample {first.in_site[0]}, slice {first.in_site[1]}" in text(nav, 120)
    assert first.features == "[1., 1., 1., 1., ...]"
    assert f"[{first.in_row:>2}]" in text(nav, 120)


def test_sites_that_were_sampled_are_not_guessed():
    nav = navigator(LARGE)
    nav.press("full_stop")
    assert model(nav).in_sites == ()
    assert model(nav).offsets[13].pairs == model(nav).in_count
    assert "sites were sampled" in text(nav, 120)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("program", [PROGRAM, VOLUME, LARGE], ids=["plane", "volume", "large"])
def test_it_fits_and_every_symbol_and_style_is_known(program, glyphs):
    explained = "".join(help_of("rulebook", glyphs))
    nav = navigator(program)
    for moment in (0, *offset_moments(nav.history)[:12], nav.last):
        nav.move(moment)
        for width, height in ((80, 18), (80, 24), (120, 40), (200, 60)):
            picture = nav.picture("rulebook", width, height, glyphs)
            drawn = picture.text()
            assert not {s for s in drawn if not s.isascii() and s not in explained}
            assert glyphs is UNICODE or drawn.isascii()
            for y in range(picture.height):
                assert sum(span.width for span in picture.line(y)) <= width
                for span in picture.line(y):
                    assert all(style in STYLES for style in span.style.split())
