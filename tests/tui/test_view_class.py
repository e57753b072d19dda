"""A view is one class in one module: whatever lists views or keys derives from the class."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tui.views
from tests.tui.program import program
from tui import keys
from tui.navigator import Navigator
from tui.render import UNICODE, Target
from tui.screens.tabs import tab_words
from tui.views import help_of, key_groups, views

EXAMPLE = '''
from dataclasses import dataclass

from tui.render import Picture, Span
from tui.render.target import ViewItem
from tui.views._view import View, ViewOptions, action


@dataclass(frozen=True, slots=True)
class Options(ViewOptions):
    dead: bool = False


class Lifetime(ViewItem):
    pass


class ExampleView(View):
    """A view that adds two keys."""

    name = "example"
    key = "X"
    title = "Example"
    help = {"@": "A tensor."}
    opens = {Lifetime: 0}
    Options = Options

    def project(self, history, moment, selection):
        return moment

    def draw(self, model, context):
        dead = self.with_options(context).options.dead
        return Picture.of([(Span(f"@ at {model}, dead tensors {dead}"),)], context.width)

    @action("Z", "dead tensors", "Show freed tensors, too.", option="form")
    def dead(self, nav, name=""):
        self.change(nav, dead=not nav.options_of(self.name).dead)
        return "freed tensors"

    @action("H", "first tensor", "Go to the first tensor.", leads_in=True)
    def first_tensor(self, nav):
        nav.move(0)
        return "the first tensor"
'''


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more module in the folder of views, and nothing else."""
    (tmp_path / "example.py").write_text(EXAMPLE)
    monkeypatch.setattr(tui.views, "__path__", [*tui.views.__path__, str(tmp_path)])
    views.cache_clear()
    yield
    sys.modules.pop("tui.views.example", None)
    views.cache_clear()


@pytest.mark.usefixtures("example")
def test_one_module_makes_a_view_with_its_tab_keys_help_options_and_targets() -> None:
    nav = Navigator(program().history(), view="memory")
    assert any(word.text.split() == ["X", "Example"] for word in tab_words("example", 120))
    assert help_of("example")["@"] == "A tensor."
    own = next(group for group in key_groups("example") if group.title == "Example view")
    assert [row.keys for row in own.rows] == ["Z", "H"]
    assert nav.press("Z") == "this is a key of: Example"
    assert nav.press("H") == "the first tensor"
    assert (nav.view, nav.moment) == ("example", 0), "a key that leads in shows the view"
    assert nav.press("Z") == "freed tensors"
    assert "@ at 0, dead tensors True" in nav.picture("example", 80, 24, UNICODE).text()
    assert nav.command("dead") == "freed tensors"
    assert nav.set_option("form", "any") == ""
    assert nav.options_of("example").dead
    nav.show_view("memory")
    nav.open(Target(sys.modules["tui.views.example"].Lifetime()))
    assert nav.view == "example"


def test_no_key_has_two_meanings_in_one_view() -> None:
    shared = (keys.ANYWHERE, keys.EXPLORE, keys.SCREEN, keys.CURSOR)
    for name in views():
        groups = {group.title: group for group in (*shared, *key_groups(name))}.values()
        used = Counter(key for group in groups for row in group.rows for key in row.keys.split(","))
        assert not {key: count for key, count in used.items() if key and count > 1}, name


def test_actions_that_share_keys_are_one_binding() -> None:
    rows = [row for group in key_groups() for row in group.rows]
    assert len({row.action for row in rows}) == len({row.keys for row in rows})


def names_in(path: Path) -> set[str]:
    """Return the string constants of a module that are one word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize(
    "file",
    [
        "navigator.py",
        "keys.py",
        "show.py",
        "export.py",
        "cli.py",
        "commands.py",
        "lesson_session.py",
    ]
    + ["actions/queries.py", "actions/explain.py", "views/__init__.py", "views/_view.py"]
    + [
        f"screens/{name}.py"
        for name in ("viewer", "explore", "help", "tabs", "lesson", "playground")
    ],
)
def test_state_and_screens_know_no_view_by_name(file: str) -> None:
    # `source`, `storage`, `object` and `values` are words of a selection or of a trace, too.
    terms = {"source", "storage", "object", "values"}
    known = names_in(Path(tui.views.__file__).parents[1] / file) & (set(views()) - terms)
    assert not known, f"tui/{file} names the views {', '.join(sorted(known))}"


def test_exactly_one_view_opens_a_recording_and_one_is_at_the_side() -> None:
    roles = Counter(each.role for each in views().values() if each.role)
    assert roles == {"first": 1, "side": 1}


def test_what_enter_opens_is_unambiguous() -> None:
    ranks = Counter((kind, rank) for each in views().values() for kind, rank in each.opens.items())
    assert not [pair for pair, count in ranks.items() if count > 1]


def test_keys_and_help_need_no_docstrings() -> None:
    program = "from tui.views import key_groups, help_of, views; print(len(key_groups()), *map(help_of, views()))"
    outputs = [
        subprocess.run(
            [sys.executable, *flags, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        for flags in ([], ["-OO"])
    ]
    assert outputs[0] == outputs[1]
