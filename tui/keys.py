"""One system of keys. Every key of every screen is a row here, every key of one view a row of that view
(`tui.views`); bindings, key bar, help and command palette are all made from these rows, so they cannot
disagree.

A row's `action` is the method `action_<name>` of the screen. Its id is what `[keys]` in config.toml
remaps: `step = "n"`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """One action: how it is reached, what the bar calls it and the sentence that explains it."""

    action: str
    keys: str  # as Textual names them, comma separated; "" = only in the palette
    label: str
    description: str
    bar: bool = False  # shown in the key bar at the bottom

    @property
    def id(self) -> str:
        return self.action.replace("(", ".").replace(")", "").replace("'", "").replace("-", "back")


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """Keys that work in one part of a screen, under the title that help gives them."""

    title: str
    rows: tuple[Key, ...]


NAMES = {
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "right_curly_bracket": "}",
    "left_curly_bracket": "{",
    "question_mark": "?",
    "f1": "F1",
    "slash": "/",
    "colon": ":",
    "space": "Space",
    "enter": "Enter",
    "backspace": "Back",
    "escape": "Esc",
    "tab": "Tab",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "full_stop": ".",
    "comma": ",",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "plus": "+",
    "minus": "-",
}
PLAIN = {"↑": "up", "↓": "down", "←": "left", "→": "right"}

ANYWHERE = KeyGroup(
    "Anywhere",
    (
        Key(
            "help",
            "question_mark,f1",
            "help",
            "Explain every key and every sign of what is in focus.",
            True,
        ),
        Key("app.command_palette", "ctrl+p", "palette", "Every action by name, and the themes."),
        Key(
            "app.suspend_process",
            "ctrl+z",
            "suspend",
            "Back to the shell for a while; `fg` returns.",
        ),
        Key("app.quit", "ctrl+q", "quit", "Leave Underhood."),
    ),
)

EXPLORE = KeyGroup(
    "Explore",
    (
        Key(
            "step(1)",
            "right_square_bracket",
            "step",
            "Step forwards by one grain: an event, an operator, a line, an instruction...",
            True,
        ),
        Key("step(-1)", "left_square_bracket", "back", "Step backwards by one grain.", True),
        Key(
            "stride(1)",
            "right_curly_bracket",
            "far",
            "Step forwards by the next coarser grain; from lines: over calls.",
            True,
        ),
        Key(
            "stride(-1)",
            "left_curly_bracket",
            "far back",
            "Step backwards by the next coarser grain.",
        ),
        Key(
            "grain",
            "s",
            "grain",
            "Choose what one step is: an event, an operator call, a node of the graph, a line; of the "
            "JIT an instruction, a rewrite, a pass.",
            True,
        ),
        Key("go", "g", "go to", "Go to an event number, `end`, `start` or `line:12`.", True),
        Key("first", "less_than_sign,ctrl+home", "first", "Go to the first event."),
        Key("last", "greater_than_sign,G,ctrl+end", "last", "Go to the last event."),
        Key(
            "search",
            "slash",
            "find",
            "Find text in events, names, operators and source lines.",
            True,
        ),
        Key("search_again(1)", "n", "next", "Find the next match."),
        Key("search_again(-1)", "N", "previous", "Find the match before."),
        Key(
            "who_wrote",
            "w",
            "who wrote",
            "Go to the event that last wrote the selected cell or tensor; of a Value of the JIT to what made it.",
            True,
        ),
        Key(
            "who_owns",
            "o",
            "owners",
            "Show every holder of the selected tensor; they add up to its use count. Of a Value: who reads it.",
            True,
        ),
        Key(
            "why",
            "W",
            "why",
            "Tell why it is so: what overwrote a saved tensor, what keeps a tensor alive, why .grad is None.",
        ),
        Key(
            "explain",
            "e",
            "explain",
            "Tell what happened at this event, in words, and what the operator does.",
            True,
        ),
        Key(
            "follow",
            "enter",
            "follow",
            "Go into what the cursor is on: a line, an event, a tensor.",
        ),
        Key("back", "backspace", "return", "Return to where the last jump began.", True),
        Key(
            "copy",
            "y",
            "copy",
            "Copy what is selected as text.",
        ),
        Key(
            "copy_python",
            "Y",
            "copy as code",
            "Copy what is selected as a Python expression.",
        ),
        Key("play", "space", "play", "Step on by itself; again to pause."),
        Key(
            "command",
            "colon",
            "command",
            "Type a command: a view's name, `go 120`, `select x`, `grain op`.",
        ),
        Key(
            "details",
            "d",
            "details",
            "Everything about the node in focus, on a sheet of its own: where the pane is too small.",
        ),
        Key("next_pane", "tab", "pane", "Go to the next pane."),
        Key("previous_pane", "shift+tab", "pane back", "Go to the pane before."),
        Key("zoom", "z", "zoom", "Give the focused pane the whole screen; again to restore."),
        Key(
            "export", "", "export picture", "Write the screen as an SVG file to the current folder."
        ),
        Key(
            "export_graph",
            "",
            "export graph",
            "Write the autograd graph to the current folder: as DOT, and as SVG where graphviz is there.",
        ),
    ),
)

SCREEN = KeyGroup(
    "Screen",
    (
        Key("leave", "escape", "leave", "Go back one screen."),
        Key("quit", "q", "quit", "Leave Underhood.", True),
    ),
)

CURSOR = KeyGroup(
    "Cursor",
    (
        Key("cursor(0,-1)", "up,k", "up", "To the next thing above."),
        Key("cursor(0,1)", "down,j", "down", "To the next thing below."),
        Key("cursor(-1,0)", "left,h", "left", "To the thing on the left."),
        Key("cursor(1,0)", "right,l", "right", "To the thing on the right."),
        Key("page(-1)", "pageup,ctrl+u", "page up", "One page up."),
        Key("page(1)", "pagedown,ctrl+d", "page down", "One page down."),
        Key("edge(-1)", "home", "top", "To the top of this pane."),
        Key("edge(1)", "end", "bottom", "To the bottom of this pane."),
    ),
)

HOME = KeyGroup(
    "Home",
    (
        Key("cursor(-1)", "up,k", "up", "To the entry above."),
        Key("cursor(1)", "down,j", "down", "To the entry below."),
        Key("choose", "enter,l,right", "open", "Open the entry.", True),
        Key("pick('continue')", "c", "continue", "Go on with the lesson you were in.", True),
        Key("pick('lessons')", "1", "lessons", "The list of lessons.", True),
        Key("pick('playground')", "2", "playground", "Type lines and watch what they do.", True),
        Key("quit", "q,escape", "quit", "Leave Underhood.", True),
    ),
)

LESSONS = KeyGroup(
    "Lessons",
    (
        Key("cursor(-1)", "up,k", "up", "To the entry above."),
        Key("cursor(1)", "down,j", "down", "To the entry below."),
        Key("choose", "enter,l,right", "open", "Open the lesson.", True),
        Key("leave", "escape,q,backspace,h,left", "back", "Back to where you came from.", True),
    ),
)

LESSON = KeyGroup(
    "Lesson",
    (
        Key("next_step", "n", "next", "To the next step of the lesson.", True),
        Key("previous_step", "p", "previous", "To the step before.", True),
        Key(
            "act",
            "enter,r",
            "do it",
            "Run the code, answer the question or check the exercise.",
            True,
        ),
        Key("hint", "h", "hint", "A hint; again for the next one.", True),
        Key(
            "edit",
            "v",
            "edit",
            "Edit the exercise here; it is saved and checked when you come back.",
        ),
        Key("edit_outside", "V", "$EDITOR", "Edit the exercise in your own $EDITOR."),
        Key(
            "reset",
            "x",
            "reset",
            "Put the exercise back to how it began; your version is kept beside it.",
        ),
        Key("solution", "S", "solution", "Show one right answer, once yours is right."),
        Key("look", "o", "look inside", "Open what this step recorded in the full explorer."),
        Key("next_pane", "tab", "pane", "Between the text and the picture.", True),
        Key("lesson_list", "L", "lessons", "The list of lessons."),
        Key("leave", "escape,q", "back", "Back to where you came from.", True),
    ),
)

PLAYGROUND = KeyGroup(
    "Playground",
    (
        Key("prompt", "i", "prompt", "Back to the prompt from the picture.", True),
        Key(
            "interrupt",
            "ctrl+c",
            "interrupt",
            "Interrupt the running line; the third time ends its process.",
            True,
        ),
        Key(
            "more",
            "ctrl+n",
            "more events",
            "Let a line that is paused, because it recorded too many events, go on to twice as many.",
        ),
        Key(
            "restart",
            "ctrl+r",
            "restart",
            "Start the playground's Python anew; the old recording stays.",
            True,
        ),
        Key(
            "picture",
            "escape",
            "picture",
            "From the prompt to the picture; there, Esc goes back.",
            True,
        ),
    ),
)


def shown(keys: str, ascii: bool = False) -> str:
    """The keys as a person reads them: `right_square_bracket,n` -> `] n`."""
    words = [
        NAMES.get(key, key.replace("ctrl+", "^").replace("shift+", "⇧")) for key in keys.split(",")
    ]
    signs = {"less_than_sign": "<", "greater_than_sign": ">"}
    words = [signs.get(word, word) for word in words]
    if ascii:
        words = [PLAIN.get(word, word).replace("⇧", "shift+") for word in words]
    return " ".join(words)


def bindings(*groups: KeyGroup) -> list:
    """Textual bindings for the rows of these groups."""
    from textual.binding import Binding

    return [
        Binding(key.keys, key.action, key.label, show=False, id=key.id, tooltip=key.description)
        for group in groups
        for key in group.rows
        if key.keys
    ]
