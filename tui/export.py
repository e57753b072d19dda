"""`underhood export`, and the key that writes a graph: a file whose suffix selects its format.

DOT of graphs needs no other program; SVG, PNG and PDF of them need graphviz. Pictures of a view
need nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tui.render.dot import NoGraph
from tui.views import View, views

if TYPE_CHECKING:
    from tui.navigator import Navigator

DOT = (".dot", ".gv")
RENDERED = (".svg", ".png", ".pdf")


class ExportError(Exception):
    """A file that cannot be written, with the reason in one sentence."""


def first_graph_view() -> str:
    """Return the view whose graph is written by default."""
    return next(each.name for each in views().values() if each.draws_graph)


def _graph_view(nav: Navigator) -> View:
    return nav.active_view if nav.active_view.draws_graph else views()[first_graph_view()]


def write_graph(nav: Navigator, path: Path) -> str:
    """Write the graph in focus to `path`, in the format of its suffix; return a message."""
    suffix = path.suffix.lower()
    if suffix not in (*DOT, *RENDERED):
        known = ", ".join((*DOT, *RENDERED))
        raise ExportError(
            f"{path.name}: unsupported format {suffix or '(no suffix)'}; choose from {known}"
        )
    try:
        text = _graph_view(nav).graph_dot(nav)
    except NoGraph as error:
        raise ExportError(str(error)) from None
    if suffix in DOT:
        path.write_text(text, encoding="utf-8")
    else:
        path.write_bytes(rendered(text, suffix[1:], _graph_view(nav).name))
    return f"written: {path}"


def graph_files(nav: Navigator, folder: Path) -> list[str]:
    """Write the graph as DOT and, with graphviz, as SVG; return a message for each."""
    sentences = []
    for suffix in (".dot", ".svg"):
        try:
            sentences.append(write_graph(nav, folder / f"underhood-graph{suffix}"))
        except (ExportError, OSError) as error:
            sentences.append(str(error))
    return sentences


def write_view(nav: Navigator, path: Path, width: int, height: int) -> str:
    """Write the chosen view to `path`: its picture as .svg, .html or .txt, its model as .json."""
    from tui.exports.picture import as_html, as_svg
    from tui.render import UNICODE
    from tui.show import as_json

    if path.suffix.lower() in (*DOT, ".png", ".pdf"):
        if not nav.active_view.draws_graph:
            names = [each.name for each in views().values() if each.draws_graph]
            raise ExportError(f"{nav.view} is not a graph view; choose from {', '.join(names)}")
        return write_graph(nav, path)
    picture = nav.picture(nav.view, width, height, UNICODE)
    formats: dict[str, Callable[[], str]] = {
        ".svg": lambda: as_svg(picture, f"underhood: {nav.view}"),
        ".html": lambda: as_html(picture),
        ".txt": lambda: picture.text() + "\n",
        ".json": lambda: as_json(nav, Path(nav.history.trace.path)) + "\n",
    }
    return _written(path, formats)


def write_events(nav: Navigator, path: Path) -> str:
    """Write the whole recording to `path`: .json for Perfetto and Chrome, .csv for a table."""
    from tui.exports.events import as_chrome_trace, as_csv

    history = nav.history
    done = {".json": lambda: as_chrome_trace(history), ".csv": lambda: as_csv(history)}
    return _written(path, done)


def _written(path: Path, formats: dict[str, Callable[[], str]]) -> str:
    make = formats.get(path.suffix.lower())
    if make is None:
        suffix = path.suffix or "no suffix"
        raise ExportError(
            f"{path.name}: unsupported format {suffix}; choose from {', '.join(formats)}"
        )
    path.write_text(make(), encoding="utf-8")
    return f"written: {path}"


def rendered(text: str, form: str, view: str) -> bytes:
    """Convert DOT text to SVG, PNG or PDF with the graphviz package and its program `dot`."""
    others = ".dot needs nothing" + (f", nor does .svg with --view {view}" if form == "svg" else "")
    try:
        graphviz = import_module("graphviz")
    except ImportError:
        raise ExportError(f"this .{form} needs the package graphviz; {others}") from None
    try:
        rendered_bytes: bytes = graphviz.Source(text).pipe(format=form)
    except graphviz.ExecutableNotFound:
        raise ExportError(
            f"this .{form} needs graphviz' program `dot`, which is not installed; {others}"
        ) from None
    return rendered_bytes
