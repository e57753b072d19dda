"""The tabs: every key is always there, the view that is shown is written out, neighbours as far as fits."""

from __future__ import annotations

import pytest

from tui.screens.tabs import tab_words
from tui.views import views


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
@pytest.mark.parametrize("name", list(views()))
def test_every_key_and_the_whole_title_of_the_view_that_is_shown(name: str, width: int) -> None:
    terms = tab_words(name, width)
    assert sum(len(word.text) for word in terms) <= width
    keys = [word.text.split()[0] for word in terms[1:]]
    assert keys == [view.key for view in views().values()]
    assert [word.action for word in terms[1:]] == [f"view('{key}')" for key in keys]
    current = [word.text for word in terms if word.style == "current"]
    assert current == [f" {views()[name].key} {views()[name].title} "]


def test_what_is_written_out_stands_side_by_side() -> None:
    written = [len(word.text.split()) > 1 for word in tab_words("strides", 80)[1:]]
    first, last = written.index(True), len(written) - written[::-1].index(True)
    assert all(written[first:last])
    assert last - first >= 3
    assert all(
        len(word.text.split()) > 1 for word in tab_words("strides", 60 + 20 * len(views()))[1:]
    )
