"""One system of keys. Every key of every screen is a row here; the bindings, the key bar, the help
sheet and the command palette are all made from these rows, so they cannot disagree.

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

ANYWHERE = (
    Key(
        "help",
        "question_mark,f1",
        "help",
        "Explain every key and every sign of what is in focus.",
        True,
    ),
    Key("app.command_palette", "ctrl+p", "palette", "Every action by name, and the themes."),
    Key("app.suspend_process", "ctrl+z", "suspend", "Back to the shell for a while; `fg` returns."),
    Key("app.quit", "ctrl+q", "quit", "Leave Underhood."),
)

EXPLORE = (
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
        "stride(-1)", "left_curly_bracket", "far back", "Step backwards by the next coarser grain."
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
    Key("search", "slash", "find", "Find text in events, names, operators and source lines.", True),
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
    Key("follow", "enter", "follow", "Go into what the cursor is on: a line, an event, a tensor."),
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
        "graph('form')",
        "t",
        "form",
        "Draw the graph as boxes, as rows, as a list. In the JIT view: show something else beside it.",
    ),
    Key(
        "graph('fold')",
        "f",
        "fold",
        "Draw as one: nothing, blocks that repeat, the nodes of a line, of a module. In the JIT view: "
        "list or hide passes that changed nothing.",
    ),
    Key(
        "graph('open')",
        "u",
        "unfold",
        "Open the group that is pointed at; again to close it. In the JIT view: which lines that are "
        "gone keep their place.",
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
    Key("export", "", "export picture", "Write the screen as an SVG file to the current folder."),
    Key(
        "export_graph",
        "",
        "export graph",
        "Write the autograd graph to the current folder: as DOT, and as SVG where graphviz is there.",
    ),
)

COMPILER = (
    Key(
        "jit('pass', 1)",
        "full_stop",
        "next pass",
        "To the next pass that changed something; of a fused kernel to the next launch.",
    ),
    Key("jit('pass', -1)", "comma", "pass before", "To the changing pass, or the launch, before."),
    Key(
        "jit('function', 1)",
        "m",
        "next graph",
        "To the next graph that was compiled; of a fused kernel to the next group.",
    ),
    Key("jit('function', -1)", "M", "graph before", "To the graph, or the group, before."),
    Key("jit('source')", "S", "source", "To where the function's source came to the compiler."),
    Key("jit('tree')", "A", "tree", "To the tokens and the syntax tree (AST) of the function."),
    Key("jit('graph')", "B", "begin", "To the graph as it was made, before every pass."),
    Key("jit('inlined')", "L", "inlined", "To the graph after calls were inlined."),
    Key("jit('fused')", "F", "fused", "To the graph after fusion."),
    Key("jit('optimised')", "O", "optimised", "To the graph after the last pass."),
    Key("jit('code')", "C", "code", "To the instructions that the graph became."),
    Key("jit('run')", "R", "first run", "To the first run of these instructions."),
    Key(
        "jit('call', 1)",
        "c",
        "run to call",
        "Run on to the next call: an operator, a kernel, a function.",
    ),
    Key("jit('call', -1)", "x", "call before", "Back to the call before."),
    Key(
        "jit('branch', 1)",
        "b",
        "run to branch",
        "Run on to the next branch, jump or round of a loop.",
    ),
    Key("jit('branch', -1)", "v", "branch before", "Back to the branch before."),
    Key(
        "jit('bail', 1)",
        "right_parenthesis",
        "run to bail-out",
        "Run on to the next bail-out, or guard that does not hold.",
    ),
    Key("jit('bail', -1)", "left_parenthesis", "bail-out before", "Back to the bail-out before."),
)
"""Keys of the JIT view and of the interpreter; from another view they lead into it."""

SCREEN = (
    Key("leave", "escape", "leave", "Go back one screen."),
    Key("quit", "q", "quit", "Leave Underhood.", True),
)

VIEW_KEYS = tuple(
    Key(f"view('{key}')", key, f"view {key}", f"Show the view with the key {key}.")
    for key in "1234567890JIK"
)

CURSOR = (
    Key("cursor(0,-1)", "up,k", "up", "To the next thing above."),
    Key("cursor(0,1)", "down,j", "down", "To the next thing below."),
    Key("cursor(-1,0)", "left,h", "left", "To the thing on the left."),
    Key("cursor(1,0)", "right,l", "right", "To the thing on the right."),
    Key("page(-1)", "pageup,ctrl+u", "page up", "One page up."),
    Key("page(1)", "pagedown,ctrl+d", "page down", "One page down."),
    Key("edge(-1)", "home", "top", "To the top of this pane."),
    Key("edge(1)", "end", "bottom", "To the bottom of this pane."),
)

HOME = (
    Key("cursor(-1)", "up,k", "up", "To the entry above."),
    Key("cursor(1)", "down,j", "down", "To the entry below."),
    Key("choose", "enter,l,right", "open", "Open the entry.", True),
    Key("pick('continue')", "c", "continue", "Go on with the lesson you were in.", True),
    Key("pick('lessons')", "1", "lessons", "The list of lessons.", True),
    Key("pick('playground')", "2", "playground", "Type lines and watch what they do.", True),
    Key("quit", "q,escape", "quit", "Leave Underhood.", True),
)

LESSONS = (
    Key("cursor(-1)", "up,k", "up", "To the entry above."),
    Key("cursor(1)", "down,j", "down", "To the entry below."),
    Key("choose", "enter,l,right", "open", "Open the lesson.", True),
    Key("leave", "escape,q,backspace,h,left", "back", "Back to where you came from.", True),
)

LESSON = (
    Key("next_step", "n", "next", "To the next step of the lesson.", True),
    Key("previous_step", "p", "previous", "To the step before.", True),
    Key(
        "act", "enter,r", "do it", "Run the code, answer the question or check the exercise.", True
    ),
    Key("hint", "h", "hint", "A hint; again for the next one.", True),
    Key("edit", "v", "edit", "Edit the exercise here; it is saved and checked when you come back."),
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
)

PLAYGROUND = (
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
)

GROUPS = {
    "Anywhere": ANYWHERE,
    "Explore": EXPLORE,
    "JIT": COMPILER,
    "Screen": SCREEN,
    "Views": VIEW_KEYS,
    "Cursor": CURSOR,
    "Home": HOME,
    "Lessons": LESSONS,
    "Lesson": LESSON,
    "Playground": PLAYGROUND,
}


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


def bindings(*groups: tuple[Key, ...]) -> list:
    """Textual bindings for the rows of these groups."""
    from textual.binding import Binding

    return [
        Binding(key.keys, key.action, key.label, show=False, id=key.id, tooltip=key.description)
        for group in groups
        for key in group
        if key.keys
    ]
