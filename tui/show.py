"""`underhood show`: one view of a recording as text or JSON, with the screen's models and
pictures."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tui.output import complain, json_text, write

if TYPE_CHECKING:
    from tui.navigator import Navigator


def print_view(path: Path, options: argparse.Namespace) -> int:
    """Print the view that the options select; return 1 for an unknown trace or location."""
    from engine.inspect.trace import TraceError
    from tui.navigator import open_navigator

    try:
        nav = open_navigator(path, at=options.at, view=options.view, select=options.select)
        set_options(nav, options)
    except (TraceError, ValueError) as error:
        complain(f"underhood show: {error}")
        return 1
    warning = nav.history.trace.warning
    if warning:
        complain(f"underhood show: {warning}")
    write(as_json(nav, path) if options.json else as_text(nav, options))
    return 0


def print_saved_file(path: Path, options: argparse.Namespace) -> int:
    """Print the table of a file of tensors; return 1 if it cannot be read."""
    from dataclasses import asdict

    from engine.inspect.saved_file import SavedFileError, read_saved_file
    from tui.render import SETS
    from tui.saved_file import draw_saved_file

    try:
        file = read_saved_file(str(path))
    except (SavedFileError, OSError) as error:
        complain(f"underhood show: {path}: {error}")
        return 1
    if options.json:
        write(json_text(asdict(file)))
        return 0
    width = options.width or shutil.get_terminal_size((100, 40)).columns
    plain = options.ascii or not encodes(sys.stdout, "┼▸")
    glyphs = SETS["ascii" if plain else "unicode"]
    write(draw_saved_file(file, "", width, glyphs).text())
    return 0


def set_options(nav: Navigator, options: argparse.Namespace) -> None:
    """Set the view's options from the command line. Raises: ValueError for an option that the view
    lacks."""
    for name in ("form", "fold"):
        value = getattr(options, name)
        if value and (problem := nav.set_option(name, value)):
            raise ValueError(problem)


def as_json(nav: Navigator, path: Path) -> str:
    """Return the model as JSON, with the trace, moment, line and selection."""
    from engine.inspect.models import to_json
    from engine.inspect.selection import selection_parts

    line = nav.line()
    return json_text(
        {
            "trace": str(path),
            "events": nav.last + 1,
            "moment": nav.moment,
            "line": None if line is None else {"path": line.path, "line": line.line},
            "sentence": nav.sentence(),
            "selection": to_json(selection_parts(nav.selection)),
            "view": nav.view,
            "model": to_json(nav.model(nav.view)),
        }
    )


def as_text(nav: Navigator, options: argparse.Namespace) -> str:
    """Return the picture, below a line with its view, event and line."""
    from tui.render import SETS

    width = options.width or shutil.get_terminal_size((100, 40)).columns
    plain = options.ascii or not encodes(sys.stdout, "┼▸")
    glyphs = SETS["ascii" if plain else "unicode"]
    line = nav.line()
    location = f", line {line.line} of {Path(line.path).name}" if line else ""
    head = (
        f"{nav.active_view.title} at event {nav.moment} of {nav.last}{location}: {nav.sentence()}"
    )
    return f"{head}\n\n{nav.picture(nav.view, width, options.height, glyphs).text()}"


def encodes(stream: TextIO, symbols: str) -> bool:
    """Return whether the stream's encoding has these symbols."""
    try:
        symbols.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
