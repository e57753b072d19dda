"""Keys of what runs: the interpreter up to the next call, branch or bail-out; a kernel's launches.

Each takes the navigator and returns one sentence for the status line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.navigator import Navigator

FUSED = "fused"
INTERPRETER = "interpreter"
STOPS = {
    "call": "call",
    "branch": "branch",
    "bail": "bail-out",
}
"""What the interpreter runs on to, and what it is called."""
_OPS = {
    "call": ("OP", "CALL", "CALL_METHOD", "FUSED", "SCALAR"),
    "branch": ("JUMP", "JUMP_IF_FALSE", "LOOP"),
}


def run_on(nav: Navigator, what: str, direction: int) -> str:
    """To the next instruction of that sort that ran, or to the one before; in the interpreter's view."""
    jit = nav.history.jit
    found = jit.registers.missed() if what == "bail" else jit.registers.ran(_OPS[what])
    place = int(found.searchsorted(nav.moment, "right" if direction > 0 else "left"))
    place -= direction < 0
    nav.show_view(INTERPRETER)
    if not 0 <= place < len(found):
        return f"no {'later' if direction > 0 else 'earlier'} {STOPS[what]}"
    nav.move(int(found[place]))
    return ""


# Fused kernels


def along(nav: Navigator, what: str, direction: int) -> str:
    """To the next launch of any kernel ("pass"), or to the first launch of the next group."""
    tables = nav.history.jit.tables
    moments = [int(moment) for moment in tables.launches.since]
    word = "launch"
    if what == "function":
        groups = nav.model(FUSED).groups
        now = next((at for at, group in enumerate(groups) if group.current), -1)
        at = now + direction
        if not 0 <= at < len(groups):
            return f"no {'later' if direction > 0 else 'earlier'} group"
        nav.remember()
        nav.move(groups[at].at)
        return f"{groups[at].name}; Backspace returns"
    ahead = [moment for moment in moments if (moment - nav.moment) * direction > 0]
    if not ahead:
        return f"no {'later' if direction > 0 else 'earlier'} {word}"
    nav.move(ahead[0] if direction > 0 else ahead[-1])
    return ""


def next_pane(nav: Navigator, name: str = "") -> str:
    """Another thing beside the tile loop, or the one of that name."""
    from tui.views.fused import PANES

    if name and name not in PANES:
        return f"no pane is called {name!r}; there are {', '.join(PANES)}"
    now = nav.look.pane if nav.look.pane in PANES else PANES[0]
    pane = name or PANES[(PANES.index(now) + 1) % len(PANES)]
    nav.look = replace(nav.look, pane=pane)
    return f"beside the tile loop: {pane}"


def into_kernel(nav: Navigator, node: int) -> str:
    """From a FusionGroup to its kernel, at its last launch up to here, else its first; "": no such."""
    jit = nav.history.jit
    if not jit.links.kind_of.get(node, "").startswith("prim::FusionGroup"):
        return ""
    number = jit.fused.of_node(node)
    launches = jit.fused.launches(number) if number else ()
    if not launches:
        return ""
    past = [launch.moment for launch in launches if launch.moment <= nav.moment]
    nav.move(past[-1] if past else launches[0].moment)
    nav.show_view(FUSED)
    return f"the kernel of this group, event {nav.moment:,}; Backspace returns"
