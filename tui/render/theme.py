"""The table of styles: how each semantic name looks in each theme, and what it means.

Pictures use names only ("address", "highlighted", "tensor3"). Every style that carries meaning also has an
attribute (bold, underline, reverse, dim, italic), because colour is never the only mark: the `mono`
theme keeps the attributes and drops the colours. Values are style definitions as Rich reads them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class StyleRule(NamedTuple):
    """A style: attributes that hold in every theme, its colours, and the sentence that explains it."""

    attributes: str
    dark: str
    light: str
    ansi: str  # the terminal's own 16 colours
    meaning: str


STYLES: dict[str, StyleRule] = {
    # text
    "text": StyleRule("", "#c0caf5", "#2e3440", "default", "Plain text."),
    "dim": StyleRule(
        "dim", "#6b7394", "#7a8194", "default", "A remark, or something that has not happened yet."
    ),
    "head": StyleRule("bold", "#7aa2f7", "#2456b3", "bright_cyan", "A heading."),
    "title": StyleRule("bold", "#e0e6ff", "#111827", "default", "The title of the picture."),
    "name": StyleRule(
        "bold", "#e0af68", "#8a5a00", "bright_yellow", "A Python name or a field's name."
    ),
    "number": StyleRule("", "#ff9e64", "#a8430b", "bright_cyan", "A number that was recorded."),
    "address": StyleRule("", "#7dcfff", "#00698c", "bright_cyan", "An address in memory."),
    "type": StyleRule(
        "italic", "#bb9af7", "#6d3fc0", "bright_magenta", "A type, or the origin of something."
    ),
    "op": StyleRule("bold", "#9ece6a", "#3f7a12", "bright_green", "An operator call."),
    # source text
    "keyword": StyleRule("bold", "#bb9af7", "#6d3fc0", "bright_magenta", "A keyword of Python."),
    "string": StyleRule("", "#9ece6a", "#3f7a12", "bright_green", "A string of Python."),
    "comment": StyleRule("italic", "#6b7394", "#7a8194", "default", "A comment of Python."),
    # drawing
    "frame": StyleRule("", "#414868", "#b4bac8", "default", "The frame of a box."),
    "wire": StyleRule("", "#565f89", "#9aa2b5", "default", "A wire from one thing to another."),
    "bar": StyleRule(
        "", "#7aa2f7", "#2456b3", "bright_cyan", "The used, or the past, part of a bar."
    ),
    "track": StyleRule("dim", "#414868", "#b4bac8", "default", "The rest of a bar."),
    "hole": StyleRule("dim", "#565f89", "#9aa2b5", "default", "Bytes that no tensor reaches."),
    "ghost": StyleRule("dim strike", "#565f89", "#9aa2b5", "default", "Freed a moment ago."),
    "unknown": StyleRule("dim italic", "#565f89", "#9aa2b5", "default", "Not in the recording."),
    # states
    "highlighted": StyleRule(
        "bold", "#ffd866 on #2f3450", "#7a4b00 on #fff1c2", "bright_yellow", "Selected."
    ),
    "path": StyleRule("bold", "#ffd866", "#7a4b00", "bright_yellow", "The path to the selection."),
    "cursor": StyleRule("reverse", "", "", "", "Under the cursor."),
    "current": StyleRule("bold reverse", "#7aa2f7", "#2456b3", "bright_cyan", "This moment."),
    "good": StyleRule(
        "bold", "#9ece6a", "#3f7a12", "bright_green", "Correct, new or just written."
    ),
    "warn": StyleRule(
        "bold underline", "#e0af68", "#8a5a00", "bright_yellow", "Worth a second look."
    ),
    "waits": StyleRule("", "#7aa2f7", "#2456b3", "bright_cyan", "A node that waits for gradients."),
    "ready": StyleRule("bold", "#e0af68", "#8a5a00", "bright_yellow", "A node in the ready queue."),
    "done": StyleRule(
        "",
        "#9ece6a",
        "#3f7a12",
        "bright_green",
        "A node that has run; a gradient that has arrived.",
    ),
    "error": StyleRule("bold underline", "#f7768e", "#b3123a", "bright_red", "An error."),
}

# styles of eight tensors in one picture; more than eight repeat them
_TENSORS = (
    ("", "#7aa2f7", "#2456b3", "bright_cyan"),
    ("underline", "#e0af68", "#8a5a00", "bright_yellow"),
    ("bold", "#9ece6a", "#3f7a12", "bright_green"),
    ("italic", "#bb9af7", "#6d3fc0", "bright_magenta"),
    ("bold underline", "#7dcfff", "#00698c", "bright_cyan"),
    ("bold italic", "#f7768e", "#b3123a", "bright_red"),
    ("italic underline", "#73daca", "#0f766e", "bright_cyan"),
    ("bold italic underline", "#ff9e64", "#a8430b", "bright_magenta"),
)
STYLES |= {
    f"tensor{index}": StyleRule(*style, f"Tensor number {index + 1} of those on one storage.")
    for index, style in enumerate(_TENSORS)
}

THEMES = ("dark", "light", "ansi", "ansi_light", "mono")
FRAMES = frozenset({"frame", "wire", "bar", "track", "hole"})
"""Styles of lines and bars, which need less contrast than text."""

# On a light terminal only the dark half of the 16 colours can be read.
_ON_LIGHT = {
    "bright_magenta": "magenta",
    "bright_red": "red",
    "bright_cyan": "blue",
    "bright_green": "default",
    "bright_yellow": "default",
}


@lru_cache(maxsize=1024)
def definition(names: str, theme: str = "dark") -> str:
    """Return the Rich style definition of one or more style names; of two colours the later one counts.

    Raises: KeyError for an unknown name, which is an error of the view that uses it.
    """
    attributes: list[str] = []
    colour = background = ""
    for name in names.split():
        rule = STYLES[name]
        attributes += [word for word in rule.attributes.split() if word not in attributes]
        if theme != "mono":
            column = "ansi" if theme == "ansi_light" else theme
            text, _, back = getattr(rule, column).partition(" on ")
            text = _ON_LIGHT.get(text, text) if theme == "ansi_light" else text
            colour, background = text or colour, back or background
    if colour and "dim" in attributes:
        attributes.remove("dim")  # the colour is already dim; both together are unreadable
    return " ".join([*attributes, colour, *(["on", background] if background else [])]).strip()


def tensor_style(ordinal: int) -> str:
    """Return the style of the `ordinal`-th of several tensors in one picture."""
    return f"tensor{ordinal % len(_TENSORS)}"
