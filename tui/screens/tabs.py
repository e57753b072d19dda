"""The tabs of the views: every key always, and the titles that there is room for."""

from __future__ import annotations

from tui.widgets.bar import Word


def tab_words(active: str, width: int) -> list[Word]:
    """Return the tabs: the visible view is written out, then its neighbours, nearest first; the others are known
    by their keys."""
    from tui.views import views

    known = list(views().values())
    current = next(at for at, view in enumerate(known) if active == view.name)
    room = width - 1 - sum(len(view.key) + 2 for view in known)
    # Where even the title of the current view has no room, keys have no blank after them.
    after = " " if len(known[current].title) < room else ""
    written = set()
    for at in sorted(range(len(known)), key=lambda at: (abs(at - current), at < current)):
        need = len(known[at].title) + 1
        if need > room and at != current:
            break
        written.add(at)
        room -= need
    content = [Word(" ")]
    for at, view in enumerate(known):
        text = f" {view.key} {view.title} " if at in written else f" {view.key}{after}"
        content.append(Word(text, "current" if at == current else "dim", f"view('{view.key}')"))
    return content
