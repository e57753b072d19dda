"""The one table of styles: what a semantic name looks like in each theme.

Pictures use names only ("address", "lit", "tensor3"). Every style that carries meaning also has an
attribute (bold, underline, reverse, dim, italic), because colour is never the only sign: the `mono`
theme keeps the attributes and drops the colours. Values are style definitions as Rich reads them.
"""

from __future__ import annotations

from functools import lru_cache

# name: (attributes in every theme, dark, light, the terminal's own 16 colours)
STYLES: dict[str, tuple[str, str, str, str]] = {
    # text
    "text": ("", "#c0caf5", "#2e3440", "default"),
    "dim": ("dim", "#6b7394", "#7a8194", "bright_black"),
    "head": ("bold", "#7aa2f7", "#2456b3", "bright_blue"),
    "title": ("bold", "#e0e6ff", "#111827", "bright_white"),
    "name": ("bold", "#e0af68", "#8a5a00", "yellow"),
    "number": ("", "#ff9e64", "#a8430b", "cyan"),
    "address": ("", "#7dcfff", "#00698c", "bright_cyan"),
    "type": ("italic", "#bb9af7", "#6d3fc0", "magenta"),
    "op": ("bold", "#9ece6a", "#3f7a12", "green"),
    # source text
    "keyword": ("bold", "#bb9af7", "#6d3fc0", "magenta"),
    "string": ("", "#9ece6a", "#3f7a12", "green"),
    "comment": ("italic", "#6b7394", "#7a8194", "bright_black"),
    # drawing
    "frame": ("", "#414868", "#b4bac8", "bright_black"),
    "wire": ("", "#565f89", "#9aa2b5", "bright_black"),
    "bar": ("", "#7aa2f7", "#2456b3", "blue"),
    "track": ("dim", "#414868", "#b4bac8", "bright_black"),
    "hole": ("dim", "#565f89", "#9aa2b5", "bright_black"),
    "ghost": ("dim strike", "#565f89", "#9aa2b5", "bright_black"),
    "unknown": ("dim italic", "#565f89", "#9aa2b5", "bright_black"),
    # states
    "lit": ("bold", "#ffd866 on #2f3450", "#7a4b00 on #fff1c2", "bright_yellow"),
    "cursor": ("reverse", "", "", ""),
    "here": ("bold reverse", "#7aa2f7", "#2456b3", "bright_blue"),
    "good": ("bold", "#9ece6a", "#3f7a12", "green"),
    "warn": ("bold underline", "#e0af68", "#8a5a00", "yellow"),
    "error": ("bold underline", "#f7768e", "#b3123a", "bright_red"),
    # eight tensors side by side; beyond eight they repeat
    "tensor0": ("", "#7aa2f7", "#2456b3", "bright_blue"),
    "tensor1": ("underline", "#e0af68", "#8a5a00", "yellow"),
    "tensor2": ("bold", "#9ece6a", "#3f7a12", "green"),
    "tensor3": ("italic", "#bb9af7", "#6d3fc0", "magenta"),
    "tensor4": ("bold underline", "#7dcfff", "#00698c", "cyan"),
    "tensor5": ("bold italic", "#f7768e", "#b3123a", "red"),
    "tensor6": ("italic underline", "#73daca", "#0f766e", "bright_cyan"),
    "tensor7": ("bold italic underline", "#ff9e64", "#a8430b", "bright_magenta"),
}

THEMES = ("dark", "light", "ansi", "mono")


@lru_cache(maxsize=1024)
def definition(names: str, theme: str = "dark") -> str:
    """The Rich style definition of one or more style names; of two colours the later one counts.

    Unknown names are an error of the view that uses them and raise KeyError with the name.
    """
    attributes: list[str] = []
    colour = background = ""
    for name in names.split():
        row = STYLES[name]
        attributes += [word for word in row[0].split() if word not in attributes]
        if theme != "mono":
            text, _, behind = row[1 + THEMES.index(theme)].partition(" on ")
            colour, background = text or colour, behind or background
    return " ".join([*attributes, colour, *(["on", background] if background else [])]).strip()


def tensor_style(ordinal: int) -> str:
    """The style of the `ordinal`-th of several tensors in one picture."""
    return f"tensor{ordinal % 8}"
