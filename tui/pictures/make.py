"""Draws the README's pictures: `python tui/pictures/make.py`. They are screenshots, not drawings.

A gallery script is recorded, the explorer opened on it at 120x36, keys pressed, and the screen saved as
SVG.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GALLERY = ROOT / "lessons" / "gallery"
SIZE = (120, 36)
PICTURES = {  # name: script, view, and the keys that lead to the moment of the picture
    "explorer": ("sliding_windows.py", "memory", ""),
    "jit": ("dumb_function.py", "jit", "comma comma comma down down down down"),
}


async def draw(trace: Path, view: str, keys: str) -> str:
    """The screen as SVG, once the recording has been read and the keys have been pressed."""
    from tui.app import Underhood
    from tui.screens.viewer import Viewer

    app = Underhood("explore", trace=trace, view=view)
    async with app.run_test(size=SIZE) as pilot:
        while all(viewer.nav is None for viewer in app.screen.query(Viewer)):
            await pilot.pause(0.1)
        await pilot.press(*keys.split())
        await pilot.pause(1.0)
        return app.export_screenshot(title="underhood")


def main() -> None:
    for name, (script, view, keys) in PICTURES.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(UNDERHOOD_HOME=folder, TERM="xterm-256color", COLORTERM="truecolor")
            trace = Path(folder) / Path(script).with_suffix(".uht")
            command = [sys.executable, "-P", "-m", "tui", "record", "-o", str(trace), script]
            subprocess.run(command, cwd=GALLERY, check=True, stdout=subprocess.DEVNULL)
            picture = asyncio.run(draw(trace, view, keys))
        # Textual links a web font; a page that shows the file may not load it, and needs none.
        picture = picture.replace("Fira Code", "ui-monospace, DejaVu Sans Mono, Menlo, Consolas")
        picture = picture.replace("<svg ", '<svg xml:space="preserve" ', 1)
        (HERE / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
