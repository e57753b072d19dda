"""The heart of the explorer: views of one navigator side by side, and every key that moves through it.

The explore screen, the playground and the lessons use it. It holds no facts: it turns keys into
calls of the navigator, and the state of the navigator into pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import BindingsMap
from textual.containers import Horizontal
from textual.events import MouseDown, MouseMove
from textual.geometry import Size
from textual.timer import Timer

from tui.keys import EXPLORE, SCREEN, KeyGroup, bindings
from tui.render import Picture, Span, Target, clean
from tui.render.target import ViewItem
from tui.screens.base import is_open, key_words
from tui.screens.finding import Finding
from tui.screens.tabs import tab_words
from tui.widgets.bar import Bar, Word
from tui.widgets.canvas import Canvas
from tui.widgets.markdown import prose
from tui.widgets.scrubber import Scrubber

if TYPE_CHECKING:
    from tui.navigator import Navigator

PLAY_SECONDS = 0.25
TWO_FROM = 110  # columns; every view is made to fit 80
BOTH_FROM = 160  # columns: from here on the source, too, has a second view next to it
SPLIT_STEP = 4  # columns by which a key moves the splitter
SMALLEST = 27  # columns of a pane
SOURCE = 100  # columns in which lines of 88 characters are not cut


class Viewer(Finding):
    """One or two views of a navigator, the line that says what happened, the strip of time."""

    BINDINGS = bindings(EXPLORE)

    def __init__(
        self,
        changed: Callable[[], None] | None = None,
        *,
        side: bool = True,
        reserved: frozenset[str] = frozenset(),
    ) -> None:
        """`changed` is called when the moment, the selection or the view is another one. (A message
        would come a frame later: two paints for one key.) `reserved`: keys of the screen around it."""
        super().__init__()
        self._reserved = reserved
        self._split = 0  # the columns of the left pane that the user chose; 0: none
        self._dragging = False  # the splitter
        self._bindings = without(self._bindings, reserved)
        self._changed = changed or (lambda: None)
        self.acting: Callable[[str], None] = lambda action: None  # called with each action of a key
        self.nav: Navigator | None = None
        self.side = side  # whether there may be a second view
        self._playing: Timer | None = None
        self._pointing: Canvas | None = None
        self._levels: tuple[int, int, list[float]] = (0, 0, [])
        self._drawn: dict[str, tuple] = {}
        self._status: tuple[str, tuple] = ("", ())
        self._ahead = False  # whether a thread draws a picture ahead
        self._at_once = False  # whether no thread is used
        self._waiting = ""  # the sentence that replaces the pictures until there is a navigator
        self._views_bound = False

    @property
    def KEYS(self) -> tuple[KeyGroup, ...]:
        """The keys that work now: those of the views come with the first recording."""
        if self.nav is None:
            return (EXPLORE,)
        from tui.views import key_groups

        return (EXPLORE, *key_groups(self.nav.view))

    def _bind_views(self) -> None:
        """Bind the keys that views declare. (The class cannot: the first frame is drawn without them.)"""
        from tui.views import key_groups

        rows = {row.action: row for group in key_groups() for row in group.rows}
        bound = BindingsMap(bindings(KeyGroup("Views", tuple(rows.values()))))
        self._bindings = BindingsMap.merge([self._bindings, without(bound, self._reserved)])
        self._views_bound = True

    @property
    def _side_name(self) -> str:
        from tui.views import view_with_role

        name = view_with_role("side").name
        active = self.nav is not None and self.nav.view == name
        return view_with_role("first").name if active and self.size.width >= BOTH_FROM else name

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Report the action, which Textual is about to run."""
        self.acting(f"{action}({', '.join(map(repr, parameters))})")
        return super().check_action(action, parameters)

    def compose(self) -> ComposeResult:
        yield Bar(id="tabs")
        with Horizontal(id="panes"):
            for name in ("side", "main"):
                canvas = Canvas(self._selected, id=name)
                canvas._bindings = without(canvas._bindings, self._reserved)
                yield canvas
        yield Bar(id="watch")
        yield Bar(id="status")
        yield Scrubber(id="strip")

    # The navigator

    def set_navigator(self, nav: Navigator | None) -> None:
        """Show this navigator."""
        if nav is not None and not self._views_bound:
            self._bind_views()
        self.nav = nav
        self._levels = (0, 0, [])
        self._drawn.clear()
        self.show()

    def waiting(self, text: str) -> None:
        """Show a sentence until there is something to draw."""
        self._arrange()
        self._waiting = text
        if (width := self.main.room().width) > 0:  # else on_canvas_fitted shows it
            lines = wrap(clean(text), width)  # not Markdown: an error may contain any character
            self.main.show_picture(Picture.of([[], *([Span(line, "type")] for line in lines)]))

    @property
    def main(self) -> Canvas:
        return self.query_one("#main", Canvas)

    @property
    def view(self) -> str:
        """The view that has the focus."""
        if self.nav is None:
            return ""
        return self._side_name if self.query_one("#side").has_focus else self.nav.view

    def show(self, sentence: str = "") -> None:
        """Draw everything from the navigator; `sentence` is the result of the last key."""
        nav = self.nav
        if nav is None:
            return
        if nav.moment < 0:
            self.waiting(nav.history.trace.warning or "nothing has been recorded yet")
            return
        before = self.has_class("two")
        two = self._arrange()
        if before and not two and self.is_on_screen:  # this picture fits until there is more room
            self.call_after_refresh(self.show, sentence)
            return
        rooms = self._rooms_to_be() if two and not before else (None, None)
        self._show_in(self.main, nav.view, rooms[0])
        if two:
            self._show_in(self.query_one("#side", Canvas), self._side_name, rooms[1])
        self._show_tabs()
        sentence = self._status_of(sentence)
        self.query_one("#status", Bar).say(
            [Word(" "), Word(sentence or nav.sentence(), "title" if sentence else "")]
        )
        self.show_watches()
        self._show_strip()
        self._changed()

    def _status_of(self, sentence: str) -> str:
        """Return the sentence for the status line. It stays until the moment, selection or view changes, even
        if a picture is drawn again because its room changed."""
        assert self.nav is not None
        state = (self.nav.moment, self.nav.selection, self.nav.view)
        if sentence or self._status[1] != state:
            self._status = (sentence, state)
        return self._status[0]

    def _arrange(self) -> bool:
        """Make room for one or two views. Returns whether there are two."""
        width, nav = self.size.width, self.nav
        two = self.side and nav is not None and width >= TWO_FROM
        two = (
            two
            and nav is not None
            and not nav.active_view.fills_screen
            and nav.view != self._side_name
        )
        if two:
            self.query_one("#side").styles.width = self._side_width(width)
        self.set_class(two, "two")
        self.set_class(width < 84, "plain")
        return two

    def _side_width(self, width: int) -> int:
        """Return the columns of the left pane: as the splitter says, else so that both views have room."""
        if self._split:
            return max(SMALLEST, min(self._split, width - SMALLEST))
        if self.nav is not None and self.nav.view != self._side_name and width >= BOTH_FROM:
            from tui.views import view_with_role

            if self._side_name == view_with_role("first").name:  # the source is on the right then
                return max(86, width // 2)
        # the other view is fitted to 80 columns first, then the source is, then the other view to 118
        return max(SMALLEST, min(60, width - 83), min(SOURCE, width - 120))

    def action_split(self, direction: int) -> None:
        """Move the splitter between the panes."""
        if self.has_class("two"):
            side = self.query_one("#side")
            self._split_at(side.outer_size.width + direction * SPLIT_STEP)

    def _split_at(self, column: int) -> None:
        self._split = max(SMALLEST, min(column, self.size.width - SMALLEST))
        self._arrange()
        self.call_after_refresh(self.show)

    def on_mouse_down(self, event: MouseDown) -> None:
        """Grab the frame between the panes."""
        right = self.query_one("#side").region.right
        if self.has_class("two") and event.screen_x in (right - 1, right):
            self._dragging = True
            self.capture_mouse()

    def on_mouse_move(self, event: MouseMove) -> None:
        if self._dragging:
            self._split_at(int(event.screen_x) - self.region.x + 1)

    def on_mouse_up(self) -> None:
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def _rooms_to_be(self) -> tuple[Size, Size]:
        """Return the main view's room and the side view's, once there are two. Drawn for its present
        room, the main view would get scroll bars, a new layout, and a second drawing."""
        side = self.query_one("#side").styles.width
        side_width = int(side.value) if side is not None else 0
        width, height = self.size.width, self.main.room().height
        return Size(width - side_width - 2, height), Size(side_width - 2, height)  # 2: the frame

    def _show_in(self, canvas: Canvas, name: str, room: Size | None = None) -> None:
        """Draw one view, unless nothing has changed."""
        from tui.views import view

        nav, room = self.nav, room or canvas.room()
        if nav is None or room.width <= 0 or room.height <= 0:
            return
        state = (name, nav.moment, nav.last, nav.selection, nav.grain, nav.options_of(name), room)
        if self._drawn.get(canvas.id or "") == state:
            return
        if not self._at_once and nav.is_slow(name):
            self._draw_ahead(canvas, name, room)
            return
        fresh = self._drawn.get(canvas.id or "", ("",))[0] != name
        self._drawn[canvas.id or ""] = state
        picture = nav.picture(name, room.width, room.height, self.app.glyphs)  # type: ignore[attr-defined]
        if fresh:  # setting a title paints the whole widget again, the same one too
            canvas.border_title = f"{view(name).key} {view(name).title}"
            canvas.cursor = None
            canvas.scroll_to(0, 0, animate=False, force=True)
        pointing = canvas is self._pointing
        canvas.show_picture(picture, row=None if pointing else picture.focus_row, lead=not pointing)

    def _draw_ahead(self, canvas: Canvas, name: str, room: Size) -> None:
        """Draw a picture in a thread first, so that keys keep working in the meantime."""
        canvas.show_picture(prose("\n*reading what the compiler did ...*", room.width))
        if self._ahead:
            return  # when that is done, the current state is drawn
        nav, glyphs, self._ahead = self.nav, self.app.glyphs, True  # type: ignore[attr-defined]
        assert nav is not None
        moment = nav.moment

        def work() -> None:
            try:
                nav.picture(name, room.width, room.height, glyphs)
            except Exception:
                self.app.call_from_thread(done, True)
            else:
                self.app.call_from_thread(done, False)

        def done(failed: bool) -> None:
            self._ahead = False
            if not self.is_attached or not is_open(self.screen) or self.nav is not nav:
                return
            # An error is raised again when the picture is drawn; a thread that did not help is not started again.
            same_moment = nav.moment == moment
            self._at_once = failed or (same_moment and nav.is_slow(name))
            self.call_later(self.show)  # an error is the application's then, not the thread's

        self.run_worker(work, thread=True, group="ahead", exit_on_error=False)

    def _show_tabs(self) -> None:
        assert self.nav is not None
        self.query_one("#tabs", Bar).say(tab_words(self.nav.view, self.size.width))

    def _show_strip(self) -> None:
        nav, strip = self.nav, self.query_one(Scrubber)
        assert nav is not None
        width, end = max(1, strip.size.width), nav.last + 1
        if self._levels[:2] != (width, end):
            self._levels = (width, end, nav.activity(width))
        strip.show_moment(nav.moment, end, self._levels[2])

    def on_canvas_fitted(self, event: Canvas.Fitted) -> None:
        event.stop()
        if self.nav is None and self._waiting:
            self.waiting(self._waiting)
        self.show()

    def _selected(self, target: Target, entered: bool) -> None:
        if self.nav is None:
            return
        self.nav.select(target)
        self._pointing = self._focused()  # its own cursor moves there: no automatic scrolling
        if entered:
            self.action_follow()
        else:
            self.show()
        self._pointing = None

    def on_scrubber_moved(self, event: Scrubber.Moved) -> None:
        event.stop()
        if self.nav is not None and self.nav.move(event.moment):
            self.show()

    # Keys

    def action_step(self, direction: int) -> None:
        if self.nav is not None:
            self.show(self.nav.step(direction))

    def action_stride(self, direction: int) -> None:
        if self.nav is not None:
            self.show(self.nav.stride(direction))

    def action_grain(self) -> None:
        if self.nav is not None:
            self.show(self.nav.set_grain())

    def action_first(self) -> None:
        self._go("start")

    def action_last(self) -> None:
        self._go("last")

    def _go(self, spec: str | None) -> None:
        if spec and self.nav is not None:
            self.show(self.nav.go(spec))

    def action_go(self) -> None:
        from tui.screens.prompt import PromptScreen

        ask = PromptScreen(
            "go", "go to", "event number, +5, -5, start, end, last, line:12 or train.py:12"
        )
        self.app.push_screen(ask, self._go)

    def action_who_wrote(self) -> None:
        if self.nav is not None:
            from tui.actions.queries import who_wrote

            self.show(who_wrote(self.nav))

    def action_who_owns(self) -> None:
        if self.nav is not None:
            from tui.actions.queries import who_owns

            self.show(who_owns(self.nav))

    def action_follow(self) -> None:
        cursor = self._focused().cursor
        if self.nav is None or cursor is None:
            return
        from engine.inspect.selection import LineSelection

        item = cursor.target.item
        if isinstance(item, ViewItem) and item.opens_details:
            self.action_details()
            return
        sentence = self.nav.follow(cursor.target)
        if not sentence and isinstance(item, LineSelection):
            sentence = f"line {item.line} is about to run"
        self.show(sentence)

    def action_view_key(self, keys: str) -> None:
        """Do the action of these keys in the active view, or in one that they lead into."""
        if self.nav is not None and self.nav.moment >= 0:
            self.show(self.nav.press(keys))

    def action_details(self) -> None:
        """Show everything about what is in focus, however little room it has in the view."""
        if self.nav is None or self.nav.moment < 0:
            return
        from tui.actions.queries import details

        page = details(self.nav, self.app.glyphs)  # type: ignore[attr-defined]
        if page is not None:
            self._show_page(page.title, page.body)

    def action_back(self) -> None:
        if self.nav is not None:
            self.show(self.nav.back())

    def action_view(self, key: str) -> None:
        from tui.views import views

        name = next((each.name for each in views().values() if key == each.key), "")
        if self.nav is not None and name:
            self.show(self.nav.show_view(name))
            self.main.focus()

    def action_next_pane(self) -> None:
        self.screen.focus_next()

    def action_previous_pane(self) -> None:
        self.screen.focus_previous()

    def action_zoom(self) -> None:
        """Show only the focused view, or everything again."""
        if self._focused().id == "side" and self.nav is not None:
            self.nav.show_view(self._side_name)
        self.toggle_class("zoomed")
        self.main.focus()
        self.call_after_refresh(self.show)

    def close_one(self) -> bool:
        """Take back the last thing: stop playing, show all panes, return from a view that a key opened.
        Returns whether there was one."""
        if self.cancel_search():
            return True
        if self._playing is not None:
            self._stop_playing("paused")
        elif self.has_class("zoomed"):
            self.action_zoom()
        elif self.nav is not None and (sentence := self.nav.close_view()):
            self.show(sentence)
        else:
            return False
        return True

    def action_play(self) -> None:
        """Step automatically until the end, or until the key is pressed again."""
        if self._playing is not None:
            self._stop_playing("paused")
        elif self.nav is not None:
            self._playing = self.set_interval(PLAY_SECONDS, self._play_on)
            self.show("playing; Space pauses")

    def _play_on(self) -> None:
        problem = self.nav.step(1) if self.nav is not None else "nothing to play"
        self._stop_playing(problem) if problem else self.show()

    def _stop_playing(self, sentence: str) -> None:
        if self._playing is not None:
            self._playing.stop()
            self._playing = None
        self.show(sentence)

    def action_copy(self) -> None:
        if self.nav is not None:
            from tui.actions.queries import copy_text

            self._copy(copy_text(self.nav))

    def action_copy_python(self) -> None:
        if self.nav is not None:
            from tui.actions.queries import copy_python

            text = copy_python(self.nav)
            self._copy(text) if text else self.show("select a name or a tensor first")

    def _copy(self, text: str) -> None:
        text = clean(text)  # it is pasted into a shell, perhaps
        self.app.copy_to_clipboard(text)
        self.app.notify(text, title="Copied", timeout=3, markup=False)

    def action_explain(self) -> None:
        """Describe the event, and explain the running operator."""
        if self.nav is None or self.nav.moment < 0:
            return
        from tui.actions.explain import explanation
        from tui.screens.text_modal import TextModal

        text = explanation(self.nav)
        self.app.push_screen(
            TextModal(f"Event {self.nav.moment:,}", lambda width: prose(text, width))
        )

    def action_why(self) -> None:
        """Explain why what is selected is stale, alive, or without a gradient."""
        if self.nav is None:
            return
        from tui.actions.queries import why

        self._show_page("Why?", why(self.nav))

    def _show_page(self, title: str, body: str | Callable[[int], Picture]) -> None:
        from tui.screens.text_modal import TextModal

        draw = body if callable(body) else lambda width: prose(body, width)
        self.app.push_screen(TextModal(title, draw, self.follow_link))

    def action_export(self) -> None:
        """Write the screen as SVG to the current folder."""
        name = f"underhood-{self.nav.view if self.nav else 'screen'}.svg"
        path = self.app.save_screenshot(name, path=str(Path.cwd()))
        self.app.notify(path, title="Written", markup=False)

    def action_export_graph(self) -> None:
        """Write the graph as DOT and, if graphviz is installed, as SVG."""
        if self.nav is None:
            return
        from tui.export import graph_files

        sentences = graph_files(self.nav, Path.cwd())
        self.app.notify("\n".join(sentences), title="Graph", markup=False)

    def action_command(self) -> None:
        from tui.screens.prompt import PromptScreen

        hint = "a view, go 120, select x, grain op, find text, until x > 5, watch x, note hi"
        self.app.push_screen(PromptScreen("command", ":", hint), self.command)

    def command(self, text: str | None) -> None:
        """Run a command typed after `:`."""
        if not text or self.nav is None:
            return
        word, _, argument = text.strip().partition(" ")
        nav = self.nav
        done = {
            "go": lambda: nav.go(argument),
            "select": lambda: nav.select_text(argument),
            "grain": lambda: nav.set_grain(argument),
            "view": lambda: nav.show_view(argument),
            "note": lambda: nav.notes.mark(nav.moment, argument),
        }
        acts: dict[str, Callable[[str], None]] = {
            "find": self.search,
            "until": self.run_until,
            "watch": self.watch_expression,
        }
        if word in done:
            self.show(done[word]())
        elif word in acts and argument:
            acts[word](argument)
        elif word in ("q", "quit"):
            self.app.call_later(self.app.run_action, "app.quit")
        elif word in ("help", "?"):
            self.app.call_later(self.app.run_action, "help")
        elif word[0].isdigit() or ":" in word:
            self.show(nav.go(word))
        else:
            self.show(nav.command(word, argument))

    def _focused(self) -> Canvas:
        side = self.query_one("#side", Canvas)
        return side if side.has_focus else self.main

    # Help

    def symbols(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the symbols of the focused view and their sentences, for the help."""
        if self.nav is None:
            return
        from tui.views import help_of, view

        symbols = help_of(self.view, self.app.glyphs)  # type: ignore[attr-defined]
        yield f"{view(self.view).title}: what is on the screen", list(symbols.items())


def without(bound: BindingsMap, keys: frozenset[str]) -> BindingsMap:
    """Return the bindings without these keys."""
    left = bound.copy()
    for key in keys & left.key_to_bindings.keys():
        del left.key_to_bindings[key]
    return left


def viewer_bar(ascii: bool) -> list[Word]:
    """Return the key bar of screens that are mainly a viewer."""
    return key_words((EXPLORE, SCREEN), ascii)
