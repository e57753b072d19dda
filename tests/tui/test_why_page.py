"""The page under W: what it asks, and what it answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspect.autograd_builder import GradBuilder
from tests.inspect.trace_builder import T
from tests.tui.waiting import exploring
from tui.actions.queries import why
from tui.navigator import Navigator
from tui.screens.text_modal import TextModal

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def stale() -> GradBuilder:
    b = GradBuilder()
    b.file("stale.py", "x = leaf()\ny = x.exp()\ny.add_(1)\n")
    b.line(1)
    x = b.leaf(name="x")
    b.line(2)
    y = b.result("ExpBackward0", (x,), {"result": 0}, bind="y")
    b.line(3)
    with b.op("add_.Scalar(Tensor(a!) self, Scalar other) -> Tensor", [T(y), 1]):
        b.write(y, [2.0, 3.0])
    b.mark("here")
    return b


def test_without_a_selection_it_tells_of_everything_stale(stale: GradBuilder) -> None:
    page = why(Navigator(stale.history(), at="last"))
    assert page.count("# What wrote a saved tensor?") == 1
    assert "was written by add_ on line 3 of stale.py (`y.add_(1)`)" in page


def test_of_a_tensor_it_tells_what_is_stale_the_gradient_and_the_holders(
    stale: GradBuilder,
) -> None:
    nav = Navigator(stale.history(), at="last")
    nav.select_text("y")
    page = why(nav)
    heads = [line for line in page.splitlines() if line.startswith("#")]
    assert heads == [
        "# Why is y.grad None?",
        "# What keeps y alive?",
        "# What wrote a saved tensor?",
    ]
    nav.select_text("x")
    assert "What wrote" not in why(nav)
    assert "x is a leaf, and no backward pass has run yet" in why(nav)


def test_of_many_overwritten_tensors_it_lists_two() -> None:
    b = GradBuilder()
    results = [b.result("ExpBackward0", (b.leaf(),), {"result": 0}) for _ in range(5)]
    for result in results:
        with b.op("add_.Scalar(Tensor(a!) self, Scalar other) -> Tensor", [T(result), 1]):
            b.write(result, [2.0, 3.0])
    page = why(Navigator(b.history(), at="last"))
    assert page.count("# What wrote a saved tensor?") == 2
    assert "- 3 more saved tensors were written since." in page


def test_of_a_leaf_it_tells_of_its_variable(stale: GradBuilder) -> None:
    nav = Navigator(stale.history(), at="last")
    nav.select_text(f"node={stale.accumulators[1]}")
    assert "# Why is x.grad None?" in why(nav)


def test_with_nothing_to_tell_it_says_so() -> None:
    assert why(Navigator(GradBuilder().history())) == "nothing was recorded"
    b = GradBuilder()
    b.leaf(name="x")
    assert "Select a tensor (`a`) or a node" in why(Navigator(b.history(), at="last"))


async def test_the_key_opens_the_page(stale: GradBuilder, tmp_path: Path) -> None:
    async with exploring(stale.save(tmp_path / "stale.uht"), (100, 30), view="autograd") as pilot:
        await pilot.press("W")
        await pilot.pause()
        assert isinstance(pilot.app.screen, TextModal)
        assert "What wrote a saved tensor?" in pilot.app.screen.draw(90).text()
