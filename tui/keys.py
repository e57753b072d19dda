"""The key table. Every key of every screen is a row here, every key of one view a row of that view
(`tui.views`). Bindings, key bar, help and command palette are generated from these rows, so that they are
consistent.

A row's `action` is the method `action_<name>` of the screen. `[keys]` in config.toml remaps it by its id: `step
= "n"`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """One action: its keys, its label in the key bar, and a sentence that explains it."""

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
    "asterisk": "*",
    "apostrophe": "'",
    "backslash": "\\",
    "less_than_sign": "<",
    "greater_than_sign": ">",
}
PLAIN = {"↑": "up", "↓": "down", "←": "left", "→": "right"}

ANYWHERE = KeyGroup(
    "Anywhere",
    (
        Key(
            "help",
            "question_mark,f1",
            "help",
            "Explain every key and every symbol of the focused pane.",
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
            "Step forward by one grain: an event, an operator, a line, an instruction...",
            True,
        ),
        Key("step(-1)", "left_square_bracket", "step back", "Step back by one grain.", True),
        Key(
            "stride(1)",
            "right_curly_bracket",
            "step over",
            "Step forward one coarser grain; on lines: over calls.",
            True,
        ),
        Key(
            "stride(-1)",
            "left_curly_bracket",
            "step over, back",
            "Step back one coarser grain.",
        ),
        Key(
            "grain",
            "s",
            "grain",
            "Choose what one step is: an event (without bookkeeping, or every raw event), "
            "an operator call, a node of the graph, a line; of the "
            "JIT an instruction, a rewrite, a pass.",
            True,
        ),
        Key(
            "go",
            "g",
            "go to",
            "Go to an event number, `end`, `start`, `line:12` or `train.py:12`.",
            True,
        ),
        Key("first", "less_than_sign,ctrl+home", "first", "Go to the first event."),
        Key("last", "greater_than_sign,G,ctrl+end", "last", "Go to the last event."),
        Key(
            "search",
            "slash",
            "find",
            "Find text in events, names, operators and source lines.",
            True,
        ),
        Key("search_back", "backslash", "find back", "Find text, backwards."),
        Key("search_next(1)", "n", "next", "Find the next match."),
        Key("search_next(-1)", "N", "previous", "Find the previous match."),
        Key(
            "until",
            "U",
            "run until",
            "Run until a condition holds: `x[2] > 5`, `y.version changes`, `line 12 3 times`, "
            "`allocation over 1 MB`, `live over 1 GB` (of all tensors), `error`.",
        ),
        Key(
            "watch",
            "X",
            "watch",
            "Watch an expression over recorded values: `x[2]`, `y.version`, `loss.item()`; typing it again "
            "removes it.",
        ),
        Key("bookmark", "asterisk", "bookmark", "Set a bookmark with a note at this moment."),
        Key(
            "bookmarks", "apostrophe", "bookmarks", "List the bookmarks; Enter goes to one of them."
        ),
        Key("next_tensor(1)", "a,ctrl+down", "next tensor", "Select the next living tensor."),
        Key("next_tensor(-1)", "ctrl+up", "previous tensor", "Select the previous living tensor."),
        Key(
            "who_wrote",
            "w",
            "who wrote",
            "Go to the event that last wrote the selected cell or tensor, or to the definition of an IR Value.",
            True,
        ),
        Key(
            "who_owns",
            "o",
            "owners",
            "Show every holder of the selected tensor; they add up to its use count. For a Value: its uses.",
            True,
        ),
        Key(
            "why",
            "W",
            "why",
            "Explain: what overwrote a saved tensor, what keeps a tensor alive, why .grad is None.",
        ),
        Key(
            "explain",
            "e",
            "explain",
            "Describe this event, and what the operator does.",
            True,
        ),
        Key(
            "follow",
            "enter",
            "follow",
            "Open the item under the cursor: a line, an event, a tensor.",
        ),
        Key("back", "backspace", "jump back", "Go back to where the last jump began.", True),
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
        Key("play", "space", "play", "Step automatically; press again to pause."),
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
            "Everything about the node in focus, on its own page: where the pane is too small.",
        ),
        Key("next_pane", "tab", "pane", "Go to the next pane."),
        Key("previous_pane", "shift+tab", "pane back", "Go to the previous pane."),
        Key("split(-1)", "ctrl+left", "splitter left", "Make the left pane narrower."),
        Key(
            "split(1)",
            "ctrl+right",
            "splitter right",
            "Make the left pane wider; the mouse drags it.",
        ),
        Key("zoom", "z", "zoom", "Give the focused pane the whole screen; again to restore."),
        Key(
            "export", "", "export picture", "Write the screen as an SVG file to the current folder."
        ),
        Key(
            "export_graph",
            "",
            "export graph",
            "Write the autograd graph to the current folder: as DOT, and as SVG if graphviz is installed.",
        ),
    ),
)

SCREEN = KeyGroup(
    "Screen",
    (
        Key(
            "leave",
            "escape",
            "leave",
            "Go back one thing: stop playing, show all panes, return from what a key opened; then, pressed "
            "twice, leave the screen.",
        ),
        Key("quit", "q", "quit", "Leave Underhood.", True),
    ),
)

CURSOR = KeyGroup(
    "Cursor",
    (
        Key("cursor(0,-1)", "up,k", "up", "Move up."),
        Key("cursor(0,1)", "down,j", "down", "Move down."),
        Key("cursor(-1,0)", "left,h", "left", "Move left."),
        Key("cursor(1,0)", "right,l", "right", "Move right."),
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
        Key("pick('continue')", "c", "continue", "Continue your lesson.", True),
        Key("pick('lessons')", "1", "lessons", "The list of lessons.", True),
        Key("pick('playground')", "2", "playground", "Type lines and watch what they do.", True),
        Key("quit", "q", "quit", "Leave Underhood.", True),
        Key("leave", "escape", "leave", "Pressed twice: leave Underhood."),
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

SAVED_FILE = KeyGroup(
    "Saved file",
    (
        Key("cursor(-1)", "up,k", "up", "To the row above.", True),
        Key("cursor(1)", "down,j", "down", "To the row below.", True),
        Key("leave", "escape,backspace", "back", "Back to where you came from."),
        Key("quit", "q", "quit", "Leave Underhood.", True),
    ),
)

LESSON = KeyGroup(
    "Lesson",
    (
        Key("next_step", "n", "next", "To the next step of the lesson.", True),
        Key("previous_step", "p", "previous", "To the previous step.", True),
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
            "Reset the exercise; your version is saved next to it.",
        ),
        Key("solution", "S", "solution", "Show a solution once yours passes."),
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
            "Resume a line that is paused at its budget of events, with twice the budget.",
        ),
        Key("save", "ctrl+s", "save", "Save the statements that ran as a Python script."),
        Key(
            "restart",
            "ctrl+r",
            "restart",
            "Restart the playground's Python; the old recording stays.",
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


def key_label(keys: str, ascii: bool = False) -> str:
    """Format keys for the key bar: `right_square_bracket,n` -> `] n`."""
    labels = [
        NAMES.get(key, key.replace("ctrl+", "^").replace("shift+", "⇧")) for key in keys.split(",")
    ]
    if ascii:
        labels = [PLAIN.get(word, word).replace("⇧", "shift+") for word in labels]
    return " ".join(labels)


def bindings(*groups: KeyGroup) -> list:
    """Return Textual bindings for the rows of these groups."""
    from textual.binding import Binding

    return [
        Binding(key.keys, key.action, key.label, show=False, id=key.id, tooltip=key.description)
        for group in groups
        for key in group.rows
        if key.keys
    ]
