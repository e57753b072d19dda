"""A view's picture for a page: SVG, HTML or plain text, as it is on the screen."""

from __future__ import annotations

import re
from io import StringIO

from tui.render import Picture
from tui.render.theme import definition

BACKGROUND = (26, 27, 38)
TEXT = (192, 202, 245)
_WEB_FONT = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="UTF-8">
<title>underhood</title>
<style>
{stylesheet}
body {{ color: {foreground}; background-color: {background}; }}
</style>
</head>
<body>
<pre style="font-family:Menlo,'DejaVu Sans Mono',Consolas,'Courier New',monospace"><code>{code}</code></pre>
</body>
</html>
"""


def as_svg(picture: Picture, title: str) -> str:
    """Return the picture as SVG that needs nothing from anywhere else."""
    console, theme = _printed(picture)
    return _WEB_FONT.sub("", console.export_svg(title=title, theme=theme)).replace(
        "Fira Code", "DejaVu Sans Mono"
    )


def as_html(picture: Picture) -> str:
    """Return the picture as a page of HTML."""
    console, theme = _printed(picture)
    return str(console.export_html(theme=theme, code_format=_PAGE))


def _printed(picture: Picture):  # type: ignore[no-untyped-def]  # types of rich, imported here only
    """Return a console of Rich that has recorded the picture, and the theme of its colours."""
    from rich.console import Console
    from rich.style import Style
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    width = max(40, max((sum(s.width for s in line) for line in _lines(picture)), default=0))
    console = Console(
        record=True, width=width, file=StringIO(), force_terminal=True, color_system="truecolor",
        legacy_windows=False, highlight=False,
    )  # fmt: skip
    for line in _lines(picture):
        text = Text(no_wrap=True)
        for span in line:
            text.append(span.text, Style.parse(definition(span.style)) if span.style else None)
        console.print(text, crop=True, overflow="crop")
    ansi = [(65, 72, 104), (247, 118, 142), (158, 206, 106), (224, 175, 104)]
    ansi += [(122, 162, 247), (187, 154, 247), (125, 207, 255), TEXT]
    return console, TerminalTheme(BACKGROUND, TEXT, ansi)


def _lines(picture: Picture):  # type: ignore[no-untyped-def]
    return [picture.line(y) for y in range(picture.height)]
