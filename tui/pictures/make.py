"""Draws the README's picture anew: `python tui/pictures/make.py`. It is a screenshot, not a drawing.

A gallery script is recorded, the explorer opened on it at 120x36, and the screen saved as SVG.
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
SCRIPT = ROOT / "lessons" / "gallery" / "sliding_windows.py"
SIZE = (120, 36)


async def draw(trace: Path) -> str:
    """The screen as SVG, once the recording has been read."""
    from tui.app import Underhood
    from tui.screens.viewer import Viewer

    app = Underhood("explore", trace=trace, view="memory")
    async with app.run_test(size=SIZE) as pilot:
        while all(viewer.stage is None for viewer in app.screen.query(Viewer)):
            await pilot.pause(0.1)
        await pilot.pause(1.0)
        return app.export_screenshot(title="underhood")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(UNDERHOOD_HOME=folder, TERM="xterm-256color", COLORTERM="truecolor")
        trace = Path(folder) / SCRIPT.with_suffix(".uht").name
        command = [sys.executable, "-m", "tui", "record", "-o", str(trace), SCRIPT.name]
        subprocess.run(command, cwd=SCRIPT.parent, check=True, stdout=subprocess.DEVNULL)
        picture = asyncio.run(draw(trace))
    # Textual links a web font; a page that shows the file may not load it, and needs none.
    picture = picture.replace("Fira Code", "ui-monospace, DejaVu Sans Mono, Menlo, Consolas")
    picture = picture.replace("<svg ", '<svg xml:space="preserve" ', 1)
    (HERE / "explorer.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
