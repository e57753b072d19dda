"""`underhood show`: one view of a recording as text or JSON. The screen's own models and drawings."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tui.output import complain, json_text, write

if TYPE_CHECKING:
    from tui.stage import Stage


def print_view(path: Path, options: argparse.Namespace) -> int:
    """Print the view that the options ask for; 1 if the trace or the place is not there."""
    from engine.inspect.trace import TraceError
    from tui.stage import open_stage
    from tui.views import Look

    try:
        stage = open_stage(path, at=options.at, view=options.view, select=options.select)
    except (TraceError, ValueError) as error:
        complain(f"underhood show: {error}")
        return 1
    stage.look = Look(options.form, options.fold)
    warning = stage.history.trace.warning
    if warning:
        complain(f"underhood show: {warning}")
    write(as_json(stage, path) if options.json else as_text(stage, options))
    return 0


def as_json(stage: Stage, path: Path) -> str:
    """The model, with the place it was made at."""
    from engine.inspect.models import to_json

    line = stage.line()
    return json_text(
        {
            "trace": str(path),
            "events": stage.last + 1,
            "moment": stage.moment,
            "line": None if line is None else {"path": line.path, "line": line.line},
            "sentence": stage.sentence(),
            "selection": to_json(stage.selection),
            "view": stage.view,
            "model": to_json(stage.model(stage.view)),
        }
    )


def as_text(stage: Stage, options: argparse.Namespace) -> str:
    """The picture, under one line that says where it is from."""
    from tui.render import SETS
    from tui.views import view

    width = options.width or shutil.get_terminal_size((100, 40)).columns
    plain = options.ascii or not encodes(sys.stdout, "┼▸")
    glyphs = SETS["ascii" if plain else "unicode"]
    line = stage.line()
    where = f", line {line.line} of {Path(line.path).name}" if line else ""
    head = f"{view(stage.view).TITLE} at event {stage.moment} of {stage.last}{where}: {stage.sentence()}"
    return f"{head}\n\n{stage.picture(stage.view, width, options.height, glyphs).text()}"


def encodes(stream: TextIO, signs: str) -> bool:
    """Whether the stream's encoding has these signs."""
    try:
        signs.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
