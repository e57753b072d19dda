"""Keys of what runs: the interpreter up to the next call, branch or bail-out; a kernel's launches.

Each takes the stage and returns one sentence for the status line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.stage import Stage

FUSED = "fused"
INTERPRETER = "interpreter"
STOPS = {
    "call": "call",
    "branch": "branch",
    "bail": "bail-out",
}
"""What the interpreter runs on to, and what it is called."""
_CALLS = ("OP", "CALL", "CALL_METHOD", "FUSED", "SCALAR")
_BRANCHES = ("JUMP", "JUMP_IF_FALSE", "LOOP")


def run_on(stage: Stage, what: str, direction: int) -> str:
    """To the next instruction of that sort that ran, or to the one before; in the interpreter's view."""
    found = _stops(stage, what)
    ahead = [moment for moment in found if (moment - stage.moment) * direction > 0]
    stage.show_view(INTERPRETER)
    if not ahead:
        return f"no {'later' if direction > 0 else 'earlier'} {STOPS[what]}"
    stage.move(min(ahead) if direction > 0 else max(ahead))
    return ""


def _stops(stage: Stage, what: str) -> list[int]:
    """The moments at which the interpreter has run an instruction of that sort."""
    jit = stage.history.jit
    tables = jit.tables
    if what == "bail":
        failed = [
            int(m) for m, ok in zip(tables.guards.since, tables.guards.ok, strict=True) if not ok
        ]
        return [*failed, *(int(moment) for moment in tables.bail_outs.since)]
    wanted = _CALLS if what == "call" else _BRANCHES
    places: dict[int, frozenset[int]] = {}  # of a code: the instructions of that sort
    code_of = dict(zip(tables.frames.id.tolist(), tables.frames.code.tolist(), strict=True))
    found = []
    steps = tables.steps
    for moment, frame, pc in zip(
        steps.since.tolist(), steps.frame.tolist(), steps.pc.tolist(), strict=True
    ):
        code = code_of.get(frame, 0)
        if code not in places:
            fact = jit.code(code)
            listed = enumerate(fact.instructions) if fact is not None else ()
            places[code] = frozenset(at for at, one in listed if one["op"] in wanted)
        if pc in places[code]:
            found.append(moment)
    return found


# Fused kernels


def along(stage: Stage, what: str, direction: int) -> str:
    """To the next launch of any kernel ("pass"), or to the first launch of the next group."""
    tables = stage.history.jit.tables
    moments = [int(moment) for moment in tables.launches.since]
    word = "launch"
    if what == "function":
        groups = stage.model(FUSED).groups
        now = next((at for at, group in enumerate(groups) if group.current), -1)
        at = now + direction
        if not 0 <= at < len(groups):
            return f"no {'later' if direction > 0 else 'earlier'} group"
        stage.remember()
        stage.move(groups[at].at)
        return f"{groups[at].name}; Backspace returns"
    ahead = [moment for moment in moments if (moment - stage.moment) * direction > 0]
    if not ahead:
        return f"no {'later' if direction > 0 else 'earlier'} {word}"
    stage.move(ahead[0] if direction > 0 else ahead[-1])
    return ""


def next_pane(stage: Stage, name: str = "") -> str:
    """Another thing beside the tile loop, or the one of that name."""
    from tui.views.fused import PANES

    if name and name not in PANES:
        return f"no pane is called {name!r}; there are {', '.join(PANES)}"
    now = stage.look.pane if stage.look.pane in PANES else PANES[0]
    pane = name or PANES[(PANES.index(now) + 1) % len(PANES)]
    stage.look = replace(stage.look, pane=pane)
    return f"beside the tile loop: {pane}"


def into_kernel(stage: Stage, node: int) -> str:
    """From a FusionGroup to its kernel, at its last launch up to here, else its first; "": no such."""
    jit = stage.history.jit
    if not jit.links.kind_of.get(node, "").startswith("prim::FusionGroup"):
        return ""
    number = jit.fused.of_node(node)
    launches = jit.fused.launches(number) if number else ()
    if not launches:
        return ""
    past = [launch.moment for launch in launches if launch.moment <= stage.moment]
    stage.move(past[-1] if past else launches[0].moment)
    stage.show_view(FUSED)
    return f"the kernel of this group, event {stage.moment:,}; Backspace returns"
