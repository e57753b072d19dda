"""The Textual application: themes, signals, first screen. Everything else is in the screens."""

from __future__ import annotations

import asyncio
import gc
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.theme import Theme

from tui.key_queue import KeyQueue
from tui.keys import ANYWHERE, bindings
from tui.render import ASCII, UNICODE, Glyphs, clean_lines
from tui.render.contrast import FRAME, readable
from tui.render.theme import STYLES
from tui.settings import Memory, Settings, load_settings

if TYPE_CHECKING:
    from textual.command import Provider

DARK = Theme(
    name="underhood",
    primary="#7aa2f7",
    secondary="#bb9af7",
    accent="#e0af68",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#c0caf5",
    background="#16161e",
    surface="#1a1b26",
    panel="#24283b",
    dark=True,
)
LIGHT = Theme(
    name="underhood-light",
    primary="#2456b3",
    secondary="#6d3fc0",
    accent="#8a5a00",
    warning="#8a5a00",
    error="#b3123a",
    success="#3f7a12",
    foreground="#2e3440",
    background="#f4f5f8",
    surface="#fbfbfd",
    panel="#e3e6ed",
    dark=False,
)

CSS = """
Screen { background: $background; }
ModalScreen { background: $background 40%; }
BaseScreen > TooSmall { display: none; }
BaseScreen.-tiny > TooSmall, BaseScreen.-low > TooSmall { display: block; }
BaseScreen.-tiny > #body, BaseScreen.-low > #body { display: none; }
#body { height: 1fr; }
Input > .input--placeholder { color: $quiet; }
Canvas {
    scrollbar-background: $surface;
    scrollbar-background-hover: $surface; scrollbar-background-active: $surface;
    scrollbar-color: $panel; scrollbar-color-hover: $primary; scrollbar-color-active: $primary;
    scrollbar-corner-color: $surface;
}
Bar#title, Bar#keys { background: $panel; }
Bar#tour { background: $boost; display: none; }
Viewer #tabs, Viewer #watch, Viewer #status, Viewer #strip { background: $surface; }
Viewer #watch { display: none; }
Viewer #panes { height: 1fr; }
Viewer Canvas { border: $edge $line; height: 1fr; border-title-color: $quiet; }
Viewer Canvas:focus { border: $edge $line-focus; border-title-color: $text; }
Viewer #side { display: none; overflow-x: hidden; }
Viewer.two #side { display: block; }
Viewer.plain Canvas, Viewer.plain Canvas:focus { border: none; }
Viewer.zoomed #side, Viewer.zoomed #status, Viewer.zoomed #strip { display: none; }
"""


def palette() -> type[Provider]:
    """Return the palette's source of commands, imported when the palette first opens."""
    from tui.commands import KeyCommands

    return KeyCommands


class PlainScrollBar(ScrollBarRender):
    """A scroll bar for --ascii: whole cells of background, without block characters at the ends."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class Underhood(App[int]):
    """The application: home, explorer, playground and lessons."""

    TITLE = "underhood"
    CSS = CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(ANYWHERE),
        Binding("ctrl+c", "safe", show=False, system=True),
    ]
    COMMANDS: ClassVar = App.COMMANDS | {palette}
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-tall")]  # noqa: RUF012

    def __init__(
        self,
        first: str = "home",
        *,
        ascii: bool = False,
        settings: Settings | None = None,
        memory: Memory | None = None,
        **options: Any,
    ) -> None:
        self.settings = settings or Settings()
        self.ascii = ascii or self.settings.ascii  # the style sheet asks for it
        super().__init__()
        self.memory = memory or Memory()
        self.glyphs: Glyphs = ASCII if self.ascii else UNICODE
        ScrollBar.renderer = PlainScrollBar if self.ascii else ScrollBarRender
        self._first, self._options = first, options
        self.key_queue = KeyQueue(self, super().on_event)
        self._warned = -1  # the number of the key press that requested to quit
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = self._known_theme()
        if self.settings.keys:
            self.set_keymap(self.settings.keys)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the default of `$edge`, the style of frames."""
        return {"edge": "ascii" if self.ascii else "round"}

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's variables, and `$line`, `$line-focus` and `$quiet` (titles) with enough
        contrast."""
        variables = super().get_css_variables()
        theme, ground = self.current_theme, variables["surface"]
        if theme.ansi or not ground.startswith("#"):
            focus = "ansi_bright_blue" if theme.dark else "ansi_blue"
            return variables | {
                "line": "ansi_default",
                "line-focus": focus,
                "quiet": "ansi_default",
            }
        return variables | {
            "line": readable(variables["panel"], ground, FRAME),
            "line-focus": readable(variables["primary"], ground, FRAME),
            "quiet": readable(STYLES["dim"].dark if theme.dark else STYLES["dim"].light, ground),
        }

    def get_default_screen(self) -> Screen[Any]:
        """Return the first screen as the lowest one, so that no empty screen is drawn before it."""
        return make_screen(self._first, **self._options)

    def _known_theme(self) -> str:
        """Return the theme of the settings, or with 16 colours the one that uses the terminal's
        colours."""
        name = self._theme_of_settings()
        if self.console.color_system != "standard" or self.available_themes[name].ansi:
            return name
        return "ansi-dark" if self.available_themes[name].dark else "ansi-light"

    def _theme_of_settings(self) -> str:
        for name in (self.settings.theme, self.memory.get("theme", "")):
            if name in self.available_themes:
                return str(name)
            if name:
                self.settings.warnings.append(f"unknown theme {name!r}")
        return DARK.name

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave_cleanly, number)
        self.theme_changed_signal.subscribe(self, self._remember_theme)
        for warning in self.settings.warnings:
            self.notify(warning, title="Settings", severity="warning", markup=False)

    def notify(self, message: str, **options: Any) -> None:
        """Show a message without control characters: it may quote a recording or a file name."""
        super().notify(clean_lines(message), **options)

    def on_ready(self) -> None:
        """Freeze the garbage collector's objects after the first frame, and let it run rarely."""
        gc.collect()
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 20, 50)
        self.key_queue.open()

    async def on_event(self, event: events.Event) -> None:
        """Queue typed keys; leave everything else to Textual."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self.key_queue.take(event)
        else:
            await super().on_event(event)

    def on_unmount(self) -> None:
        self.key_queue.close()

    def _leave_cleanly(self, number: int) -> None:
        self.exit(return_code=128 + number)

    def _remember_theme(self, theme: Theme) -> None:
        sixteen = self.console.color_system == "standard"
        if theme.name != self.settings.theme and not sixteen:
            self.memory.put("theme", theme.name)

    def go(self, name: str, instead: bool = False, **options: Any) -> None:
        """Open a screen by name, on top of the current one or instead of it (not instead of the
        lowest, which Textual cannot switch)."""
        show = self.switch_screen if instead and len(self.screen_stack) > 1 else self.push_screen
        show(make_screen(name, **options))

    async def action_quit(self) -> None:
        """Leave Underhood."""
        self.quit()

    def quit(self) -> None:
        """Quit; if that would lose something, only on the second request in a row."""
        lost = next(
            filter(None, (getattr(each, "unsaved", str)() for each in self.screen_stack)), ""
        )
        typed = self.key_queue.forwarded
        if lost and typed != self._warned + 1:
            self._warned = typed
            self.notify(f"{lost} The same key again leaves.", severity="warning", timeout=4)
            return
        self.exit(0)

    def action_safe(self) -> None:
        """Show how to quit, for ctrl+c, which never kills the explorer."""
        self.notify("Press q or ctrl+q to leave.", timeout=2)

    def action_help(self) -> None:
        """Explain the focused pane and all keys."""
        from tui.screens.help import help_modal

        if not self.screen.is_modal:
            getattr(self.screen, "help_opened", lambda: None)()
            self.push_screen(help_modal(self.screen))


def make_screen(name: str, **options: Any) -> Screen[Any]:
    """Create the screen called `name`, importing its module."""
    if name == "home":
        from tui.screens.home import HomeScreen

        return HomeScreen()
    if name == "explore":
        from tui.screens.explore import ExploreScreen

        return ExploreScreen(**options)
    if name == "playground":
        from tui.screens.playground import PlaygroundScreen

        return PlaygroundScreen()
    if name == "lessons":
        from tui.screens.lessons import LessonsScreen

        return LessonsScreen()
    if name == "lesson":
        from tui.screens.lesson import LessonScreen

        return LessonScreen(options.get("lesson", ""))
    if name == "saved_file":
        from tui.screens.saved_file import SavedFileScreen

        return SavedFileScreen(**options)
    raise ValueError(f"there is no screen named {name!r}")


def run_app(first: str, *, ascii: bool = False, mouse: bool = True, **options: Any) -> int:
    """Open the explorer in this terminal and return its exit code."""
    settings = load_settings()
    app = Underhood(first, ascii=ascii, settings=settings, **clean(options))
    app.run(mouse=mouse and settings.mouse)
    return app.return_code or 0


def clean(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were set, with absolute paths, which stay valid after a chdir."""
    return {
        name: value.resolve() if isinstance(value, Path) else value
        for name, value in options.items()
        if value not in ("", None)
    }
