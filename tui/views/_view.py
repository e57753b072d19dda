"""The view class: everything about one picture of a recording, in one module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from engine.inspect.selection import Selection
from tui.keys import Key
from tui.render import UNICODE, Glyphs, Picture
from tui.render.target import TargetItem

if TYPE_CHECKING:
    from engine.inspect.history import History
    from tui.navigator import Navigator


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """The choices of the user about a drawing. A view with options derives its own class."""


@dataclass(frozen=True, slots=True)
class DrawContext:
    """The input of a drawing besides its model: the room, the glyphs, the selection, how far one
    step goes, and the options of the view (None: its defaults)."""

    width: int = 80
    height: int = 24
    glyphs: Glyphs = UNICODE
    selection: Selection = field(default_factory=Selection)
    grain: str = ""
    options: Any = None


@dataclass(frozen=True, slots=True)
class Action:
    """One key of a view. `name` is the method of the view that it calls, and a word of the prompt `:`."""

    name: str
    keys: str
    label: str
    description: str
    leads_in: bool = False  # works from every view, and shows the one that declares it
    option: str = ""  # the option of `underhood show` and `export` that sets the same

    @property
    def row(self) -> Key:
        """The row of the key table."""
        return Key(f"view_key('{self.keys}')", self.keys, self.label, self.description)


@dataclass(frozen=True, slots=True)
class Page:
    """A text to read on a separate screen: Markdown, or a drawing of a given width."""

    title: str
    body: str | Callable[[int], Picture]


def action(
    keys: str, label: str, description: str, *, leads_in: bool = False, option: str = ""
) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Declare a method of a view as an action: `method(nav)`, or `method(nav, argument)` from a prompt.
    It returns one sentence for the status line."""

    def declare(method: Callable[..., str]) -> Callable[..., str]:
        name = method.__name__
        method.action = Action(name, keys, label, description, leads_in, option)  # type: ignore[attr-defined]
        return method

    return declare


class View:
    """One picture of a recording. A subclass in a module of `tui.views` is registered by being there.

    Only `name`, `key`, `title`, `help` and `draw` are required; a method that returns None leaves the
    key to the explorer, which treats it as in every view.
    """

    name: ClassVar[str]
    """As in `underhood show --view NAME`; also the name of its module."""
    key: ClassVar[str]
    """The key that opens it."""
    title: ClassVar[str]
    summary: ClassVar[str] = ""
    """What the picture shows, in a sentence for the palette and the help."""
    help: ClassVar[Mapping[str, str]]
    """Every symbol and heading that only this view has -> one sentence."""
    grain: ClassVar[str] = ""
    """What a step is in this view, until another grain is chosen."""
    fills_screen: ClassVar[bool] = False
    """Whether it brings its own source and has the whole screen."""
    role: ClassVar[str] = ""
    """"first": a recording opens with it. "side": it is next to the others where there is room."""
    opens: ClassVar[Mapping[type, int]] = {}
    """The classes of items that Enter shows in this view. Of several views the lowest number comes first."""
    draws_graph: ClassVar[bool] = False
    """Whether `graph_dot` writes its graph."""
    Options: ClassVar[type[ViewOptions]] = ViewOptions
    actions: ClassVar[tuple[Action, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Collect the actions that the class body declares, after those of its bases."""
        own = [member.action for member in vars(cls).values() if hasattr(member, "action")]
        names = {each.name for each in own}
        cls.actions = (*(each for each in cls.actions if each.name not in names), *own)

    # Drawing

    def project(self, history: History, moment: int, selection: Selection) -> Any:
        """Return the model: every fact of the picture, as frozen dataclasses."""
        from engine.inspect.models import project

        return project(self.name, history, moment, selection)

    def model(self, nav: Navigator) -> Any:
        """Return the model at the navigator's moment; a view whose options choose facts overrides it."""
        return self.project(nav.history, nav.moment, nav.selection)

    def draw(self, model: Any, context: DrawContext) -> Picture:
        """Return the picture of a model; a pure function."""
        raise NotImplementedError(f"{type(self).__name__} has no draw()")

    def is_slow(self, history: History, moment: int, options: Any) -> bool:
        """Return whether a thread had better draw the first picture of this moment."""
        return False

    def with_options(self, context: DrawContext) -> DrawContext:
        """Return the context with options of this view's class."""
        known = isinstance(context.options, self.Options)
        return context if known else replace(context, options=self.Options())

    # What keys do in this view

    def opened(self, nav: Navigator) -> str:
        """React when this view becomes the active one, or another tensor is selected in it. Return a sentence, or
        ""."""
        return ""

    def change(self, nav: Navigator, **options: Any) -> None:
        """Set options of this view."""
        nav.options[self.name] = replace(nav.options_of(self.name), **options)

    def follow(self, nav: Navigator, item: TargetItem) -> str | None:
        """Enter on an item of a class that this view opens; None: the next view that opens it."""
        return None if nav.view == self.name else nav.show_view(self.name)

    def search(self, nav: Navigator, pattern: str, direction: int) -> str | None:
        """Go to the next match in what this view shows; None: search the events."""
        return None

    def who_wrote(self, nav: Navigator) -> str | None:
        """Go to what made the selected thing; None: it is a tensor or a cell."""
        return None

    def who_owns(self, nav: Navigator) -> str | None:
        """Name who uses the selected thing; None: it is a tensor or a storage."""
        return None

    def why(self, nav: Navigator) -> str | None:
        """Explain the selected thing, in Markdown; None: it is a tensor or a node."""
        return None

    def focus_node(self, nav: Navigator) -> int:
        """Return the node of the autograd graph that this view is about; 0: none."""
        return 0

    def details(self, nav: Navigator, glyphs: Glyphs) -> Page | None:
        """Return everything about what is in focus; None: this view has no details."""
        return None

    def graph_dot(self, nav: Navigator) -> str:
        """Return the graph in focus as DOT. Raises: NoGraph without a graph."""
        raise NotImplementedError(f"{self.name} draws no graph")
