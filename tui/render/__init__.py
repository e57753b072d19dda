"""Drawing without a screen: pictures, styles, glyphs. Imports neither Textual nor NumPy."""

from tui.render.glyphs import ASCII, SETS, UNICODE, Glyphs
from tui.render.picture import (
    Guide,
    Landmarks,
    Line,
    Picture,
    Span,
    cells,
    clean,
    clean_lines,
    cut,
    cut_apart,
    cut_middle,
    fit,
    line_width,
    side_by_side,
    stack,
)
from tui.render.target import Target

__all__ = [
    "ASCII",
    "SETS",
    "UNICODE",
    "Glyphs",
    "Guide",
    "Landmarks",
    "Line",
    "Picture",
    "Span",
    "Target",
    "cells",
    "clean",
    "clean_lines",
    "cut",
    "cut_apart",
    "cut_middle",
    "fit",
    "line_width",
    "side_by_side",
    "stack",
]
