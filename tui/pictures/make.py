"""Draws the pictures of the README and the docs: `python tui/pictures/make.py [NAME ...]`. They are screenshots.

A script is recorded, the explorer opened on it at 120x36, keys pressed, and the screen saved twice: as
SVG, and as the text that a terminal shows.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDERS = (ROOT / "lessons" / "gallery", ROOT / "tests" / "tui" / "questions")
SIZE = (120, 36)
PICTURES = {  # name: script, view, and the keys that lead to the moment of the picture
    "explorer": ("sliding_windows.py", "memory", ""),
    "failure": ("shape_error.py", "", ""),
    "leak": ("leaking_losses.py", "", "T"),
    "autograd": ("mlp_on_iris.py", "autograd", "left_square_bracket left_square_bracket"),
    "jit": ("dumb_function.py", "jit", "comma comma comma down down down down"),
    "interpreter": ("scripted_rnn.py", "interpreter", "x"),
}


async def draw(trace: Path, view: str, keys: str) -> tuple[str, str]:
    """Return the screen as SVG and as text, once the recording has been read and the keys have been pressed."""
    from tui.app import Underhood
    from tui.screens.viewer import Viewer

    app = Underhood("explore", trace=trace, view=view)
    async with app.run_test(size=SIZE) as pilot:
        while all(viewer.nav is None for viewer in app.screen.query(Viewer)):
            await pilot.pause(0.1)
        await pilot.press(*keys.split())
        await pilot.pause(1.0)
        strips = app.screen._compositor.render_strips()
        lines = ("".join(segment.text for segment in strip).rstrip() for strip in strips)
        return small(app.export_screenshot(title="underhood")), "\n".join(lines) + "\n"


def small(picture: str) -> str:
    """Return the same SVG in fewer bytes: no clipping of single lines, short names, no text of blanks, and no
    web font: a page that shows the file may not load it, and needs none."""
    picture = picture.replace("Fira Code", "ui-monospace, DejaVu Sans Mono, Menlo, Consolas")
    picture = picture.replace("<svg ", '<svg xml:space="preserve" ', 1)
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = re.sub(r' clip-path="url\(#[\w-]+-line-\d+\)"', "", picture)
    picture = re.sub(r'<clipPath id="[\w-]+-line-\d+">.*?</clipPath>', "", picture, flags=re.DOTALL)
    picture = re.sub(r"<text [^>]*>(?:&#160;|\s)*</text>", "", picture)
    picture = re.sub(r"terminal-\d+-", "t", picture)
    picture = re.sub(r' shape-rendering="crispEdges"', "", picture)
    return re.sub(r"\n\s+", "\n", picture)


def main(names: list[str]) -> None:
    for name in names or PICTURES:
        script, view, keys = PICTURES[name]
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(UNDERHOOD_HOME=folder, TERM="xterm-256color", COLORTERM="truecolor")
            trace = Path(folder) / Path(script).with_suffix(".uht")
            command = [
                sys.executable,
                "-P",
                "-m",
                "tui",
                "record",
                "--as",
                "torch",
                "-o",
                str(trace),
            ]
            subprocess.run(
                [*command, script],
                cwd=next(each for each in FOLDERS if (each / script).exists()),
                check=False,  # one of the scripts fails, and its picture is of that
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            picture, text = asyncio.run(draw(trace, view, keys))
        (HERE / f"{name}.svg").write_text(picture, encoding="utf-8")
        (HERE / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
