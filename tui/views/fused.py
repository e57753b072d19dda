"""A fused kernel: the group as expression trees, its tile loop with every step, and its launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from engine.inspect.models._wording import bytes_text, pluralise
from engine.inspect.models.fused import FusedModel, LaunchRow, LineRow
from engine.inspect.models.jit import links_take_long
from engine.inspect.models.jit.fused_tree import ExpressionRow, LoopRow
from engine.inspect.selection import GraphNodeSelection, SyntaxSelection, ValueSelection
from tui.render import Glyphs, Picture, Span, Target, cells, fit
from tui.render.boxes import Grid
from tui.render.glyphs import translated
from tui.render.target import LaunchItem, TargetItem
from tui.views._view import DrawContext, ViewOptions, action
from tui.views.jit.ir_view import IRView
from tui.views.jit.navigation import guide_of
from tui.views.jit.panes import source_pane, time_text
from tui.views.jit.queries import node_of
from tui.views.jit.rows import Region, first, listed, put_cut, sentence, wrap

if TYPE_CHECKING:
    from engine.inspect.history import History
    from tui.navigator import Navigator

HELP = {
    "tree": "Each output as an expression: a step, below it its operands. A single operand is right "
    "below, several are branches. Numbers before steps are those of the tile loop.",
    "·": "In a tree: an operand that is below. Elsewhere a separator.",
    "tile loop": "One launch: for each tile all steps run, while the tile is in the first cache.",
    "kernel": "The group's kernel in OpenCL C, where a device ran it: each step is a function, `apply` calls them.",
    "machine code": "Steps that run as one loop of generated machine code: values stay in "
    "registers of the processor.",
    "loop": "A step that runs as its operator's own vectorised loop over the tile.",
    "in0": "An input of the group, in memory. in1, in2: the next ones. n0: a number passed at each launch.",
    "out0": "An output, written to its own memory.",
    "v0": "A value in a register of the processor, by the step that computes it: it is never in memory.",
    "r0": "A tile's values in the first cache; a register is reused after its last use.",
    "graph": "The group's own graph (prim::FusionGroup's Subgraph), and the step that computes each line.",
    "source": "The source of the group; bright is what belongs to it, or to the selection.",
    "launches": "Each run of the kernel: sizes of inputs and outputs, tiles, threads, time, bytes moved "
    "and the factor by which the operators would move more. Enter goes there.",
    "groups": "All fused groups of this recording. Enter goes to the first launch.",
    "about": "The sizes of the tensors were not recorded: counted by elements.",
    "%": "A Value of the graph. `for %x`: a conversion that the step of %x needs. +1: equal nodes "
    "are one step.",
    "▶": "The last launch up to this moment; the visible group.",
    "▌": "It belongs to the selection: its origin or result.",
    "◆": "This is selected.",
    "▴": "This many more rows above.",
    "▾": "This many more rows below.",
    "→": "From the sizes of the inputs to the sizes of the outputs.",
    "×": "Between sizes; or a factor of bytes.",
    "?": "Not known: the first launch is recorded while it runs.",
}

_WIDE = 100  # columns from which graph and source are next to tree and loop
_TALL = 26  # lines from which there is room for the graph below the source
PANES = ("tree", "graph", "source", "groups")
"""The panes next to the tile loop on a narrow screen, chosen with `t`."""


@dataclass(frozen=True, slots=True)
class FusedOptions(ViewOptions):
    """The pane next to the tile loop on a narrow screen."""

    pane: str = PANES[0]


class FusedView(IRView):
    name = "fused"
    key = "K"
    title = "Fused"
    summary = "A fused kernel: trees, tile loop and launches."
    help = HELP
    fills_screen = True
    opens: ClassVar = {
        LaunchItem: 0,
        ValueSelection: 0,
        GraphNodeSelection: 0,
        SyntaxSelection: 0,
    }
    Options = FusedOptions

    def draw(self, model: FusedModel, context: DrawContext) -> Picture:
        """Draw exactly as high as there is room; each list a window round what matters in it."""
        context = self.with_options(context)
        width, height = max(40, context.width), max(12, context.height)
        grid = Grid(width, height, context.glyphs)
        if model.why:
            for y, line in enumerate(wrap(model.why, width - 4), 1):
                if y < height:
                    grid.put(2, y, line, "dim")
            return grid.picture()
        _title(grid, model, context)
        top = 1 + _plan(grid, model, context, 1)
        about = _about(model, width)
        story = max(1, min(len(about), height // 6, 4))
        runs = min(len(model.launches) + 1, max(3, height // 6))
        bottom = height - story - runs - 2
        pane = context.options.pane
        if width >= _WIDE:
            _wide(grid, model, context, pane, top, bottom)
        else:
            half = width * 2 // 5 if pane == "tree" else width // 2
            _pane(pane)(grid, Region(0, half, top, bottom), model, context)
            grid.down(half, top, bottom)
            loop_pane(grid, Region(half + 1, width, top, bottom), model, context)
        grid.across(0, width - 1, bottom)
        launch_pane(grid, Region(0, width, bottom + 1, bottom + 1 + runs), model, context)
        grid.across(0, width - 1, bottom + 1 + runs)
        for y, (text, style) in enumerate(about[:story], height - story):
            grid.put(1, y, translated(text, context.glyphs), style)
        picture = grid.picture()
        steps = [
            ValueSelection(row.value) for row in model.loop if row.kind == "step" and row.value
        ]
        lists = (steps, [row.item for row in model.lines], [row.item for row in model.source])
        picture.guide = guide_of(model.selected, lists, bottom - top)
        return picture

    def is_slow(self, history: History, moment: int, options: FusedOptions) -> bool:
        return links_take_long(history)  # it asks where Values come from

    @action("t", "pane", "Show something else next to the tile loop.", option="form")
    def pane(self, nav: Navigator, name: str = "") -> str:
        """Show the next pane next to the tile loop, or the named pane."""
        if name and name not in PANES:
            return f"unknown pane {name!r}; choose from {', '.join(PANES)}"
        pane = name or PANES[(PANES.index(nav.options_of(self.name).pane) + 1) % len(PANES)]
        self.change(nav, pane=pane)
        return f"next to the tile loop: {pane}"

    @action("full_stop", "next launch", "To the next launch of a kernel.")
    def next_launch(self, nav: Navigator) -> str:
        return nav.move_along(_launches(nav), 1, "launch")

    @action("comma", "previous launch", "To the previous launch of a kernel.")
    def previous_launch(self, nav: Navigator) -> str:
        return nav.move_along(_launches(nav), -1, "launch")

    @action("m", "next group", "To the first launch of the next group.")
    def next_group(self, nav: Navigator) -> str:
        return self._to_group(nav, 1)

    @action("M", "previous group", "To the first launch of the previous group.")
    def previous_group(self, nav: Navigator) -> str:
        return self._to_group(nav, -1)

    def _to_group(self, nav: Navigator, direction: int) -> str:
        groups = nav.model(self.name).groups
        at = next((at for at, group in enumerate(groups) if group.current), -1) + direction
        if not 0 <= at < len(groups):
            return f"no {'later' if direction > 0 else 'earlier'} group"
        nav.remember()
        nav.move(groups[at].at)
        return f"{groups[at].name}; Backspace returns"

    def follow(self, nav: Navigator, item: TargetItem) -> str | None:
        """Go to a launch; from a FusionGroup to its kernel: its last launch up to this moment, else its first."""
        if isinstance(item, LaunchItem):
            nav.move(item.moment)
            return nav.show_view(self.name)
        jit = nav.history.jit
        node = node_of(nav, item)
        if nav.view == self.name or not jit.links.kind_of.get(node, "").startswith(
            "prim::FusionGroup"
        ):
            return None
        kernel = jit.fused.of_node(node)
        launches = jit.fused.launches(kernel) if kernel else ()
        if not launches:
            return None
        past = [launch.moment for launch in launches if launch.moment <= nav.moment]
        nav.move(past[-1] if past else launches[0].moment)
        nav.show_view(self.name)
        return f"the kernel of this group, event {nav.moment:,}; Backspace returns"


def _launches(nav: Navigator) -> list[int]:
    return [int(moment) for moment in nav.history.jit.tables.launches.since]


def _wide(
    grid: Grid, model: FusedModel, context: DrawContext, pane: str, top: int, bottom: int
) -> None:
    """Draw tree, loop, and graph above source; `groups` replaces the graph."""
    first_rule, second_rule = grid.width * 30 // 100, grid.width * 65 // 100
    tree_pane(grid, Region(0, first_rule, top, bottom), model, context)
    grid.down(first_rule, top, bottom)
    loop_pane(grid, Region(first_rule + 1, second_rule, top, bottom), model, context)
    grid.down(second_rule, top, bottom)
    upper = "groups" if pane == "groups" else "graph"
    if bottom - top < _TALL * 2 // 3:
        only = pane if pane in ("groups", "source") else "graph"
        _pane(only)(grid, Region(second_rule + 1, grid.width, top, bottom), model, context)
        return
    middle = top + (bottom - top) // 2
    _pane(upper)(grid, Region(second_rule + 1, grid.width, top, middle), model, context)
    grid.across(second_rule, grid.width - 1, middle)
    source_pane(
        grid, Region(second_rule + 1, grid.width, middle + 1, bottom), _as_source(model), context
    )


def _as_source(model: FusedModel) -> Any:
    return model  # it has the `source` and `why_no_source` that the pane reads


def _pane(name: str) -> Any:
    return {
        "tree": tree_pane, "graph": graph_pane, "groups": group_pane,
        "source": lambda g, a, m, c: source_pane(g, a, _as_source(m), c),
    }[name]  # fmt: skip


def _title(grid: Grid, model: FusedModel, context: DrawContext) -> None:
    dot = context.glyphs.dot
    target = Target(ValueSelection(model.value)) if model.value else None
    x = grid.put(1, 0, model.name, "title", target)
    location = model.file.rpartition("/")[2] + (f":{model.line}" if model.line else "")
    facts = [model.function and f"in {model.function}", location, f"kernel {model.kernel}"]
    others = len(model.groups)
    at = next((n for n, group in enumerate(model.groups, 1) if group.current), 0)
    right = f"group {at} of {others}" if others > 1 else ""
    room = grid.width - x - cells(right) - 3
    grid.put(x, 0, "".join(f" {dot} {fact}" for fact in facts if fact), "dim", room=max(0, room))
    grid.put(grid.width - cells(right) - 1, 0, right, "head")


def _plan(grid: Grid, model: FusedModel, context: DrawContext, y: int) -> int:
    """Draw sentences about this launch. Returns their number of lines."""
    launch = next((row for row in model.launches if row.current), None)
    if launch is None:
        return 0
    summary = f"{launch.elements:,} elements in {pluralise(launch.tiles, 'tile')} of {model.tile:,}"
    if model.device:
        summary = f"{launch.elements:,} elements in one kernel on {model.device}"
    elif launch.last != model.tile:
        summary += (
            f", the last of {launch.last:,}" if launch.tiles > 1 else f": {launch.last:,} in use"
        )
    if not model.device:
        summary += f", {pluralise(launch.threads, 'thread')}"
    about = "" if launch.exact else "about "
    moved = (
        f"reads {about}{bytes_text(launch.read_bytes)}, writes {bytes_text(launch.written_bytes)}; "
        f"unfused, the operators would move {bytes_text(launch.eager_bytes)}{_times(launch)}"
    )
    lines = wrap(f"{summary}; {moved}", grid.width - 2)
    for at, line in enumerate(lines, y):
        grid.put(1, at, translated(line, context.glyphs), "text")
    grid.across(0, grid.width - 1, y + len(lines))
    return len(lines) + 1


def _times(row: LaunchRow) -> str:
    own = row.read_bytes + row.written_bytes
    return f", {row.eager_bytes / own:.1f}× as much" if own else ""


def _about(model: FusedModel, width: int) -> list[tuple[str, str]]:
    """Return sentences about the selection, and the expression of the selected step."""
    lines: list[tuple[str, str]] = []
    selected = next((row for row in model.loop if row.selected and row.kind == "step"), None)
    if selected is not None:
        text = f"step {selected.step}: {selected.text} · each element: {selected.expression}"
        lines += [(line, "title") for line in wrap(text, width - 2)]
    lines += [(line, "text") for text in model.story for line in wrap(text, width - 2)]
    return lines or [
        ("Select a step, a line or a Value: what belongs to it lights up everywhere.", "dim")
    ]


def _marks(
    grid: Grid, region: Region, y: int, glyphs: Glyphs, row: Any, target: Target | None
) -> str:
    """Draw the marks of the selection at the left edge. Returns the style that highlights its text."""
    if row.highlighted or row.selected:
        grid.put(region.left, y, glyphs.highlighted, "path", target)
    if row.selected:
        grid.put(region.left + 1, y, glyphs.mark, "path", target)
    return " highlighted" if row.highlighted or row.selected else ""


def _target(value: int) -> Target | None:
    return Target(ValueSelection(value)) if value else None


def tree_pane(grid: Grid, region: Region, model: FusedModel, context: DrawContext) -> None:
    glyphs = context.glyphs

    def draw(row: ExpressionRow, y: int) -> None:
        target = _target(row.value)
        highlighted = _marks(grid, region, y, glyphs, row, target)
        x = region.left + 2
        for level, more in enumerate(row.path):
            last = level == len(row.path) - 1
            sides = (7 if more else 3) if last and row.head else 5 if more else 0
            grid.put(x, y, glyphs.wire(sides) if sides else " ", "wire")
            x += 2
        text = translated(row.text, glyphs)
        number = f"{row.step} " if row.step >= 0 else ""
        style = "dim" if row.again else "title" if row.step < 0 else "op"
        spans = [
            Span(number, "number" + highlighted, target),
            Span(text, style + highlighted, target),
        ]
        room = max(0, region.right - x)
        wide = cells(number) + cells(text)
        if row.name and not row.again and wide + len(row.name) + 1 <= room:
            spans.append(Span(f" {row.name}", "name" + highlighted, target))
        put_cut(grid, x, y, spans, room, glyphs)

    listed(grid, region, glyphs, "tree", model.tree, _focus(model.tree), draw)


def loop_pane(grid: Grid, region: Region, model: FusedModel, context: DrawContext) -> None:
    glyphs = context.glyphs

    def draw(row: LoopRow, y: int) -> None:
        target = _target(row.value)
        highlighted = _marks(grid, region, y, glyphs, row, target)
        text = translated(row.text, glyphs)
        if row.kind != "step":
            indent = {"loop": 0, "end": 0}.get(row.kind, 1)
            style = {"loop": "keyword", "end": "keyword", "note": "dim"}.get(row.kind, "head")
            x = grid.put(region.left + 2 + indent, y, text, style, None, region.width - 3 - indent)
            aside = translated(row.aside, glyphs)
            grid.put(x + 2, y, aside, "dim", None, max(0, region.right - x - 2))
            return
        x = grid.put(
            region.left + 3, y, fit(str(row.step), 3, align=">"), "number" + highlighted, target
        )
        room = max(4, region.right - x - 1)
        right = row.name if room >= cells(text) + len(row.name) + 1 else ""
        spans = [Span(text, "text" + highlighted, target)]
        put_cut(grid, x + 1, y, spans, room, glyphs)
        if right:
            x = region.right - cells(right) - 1
            grid.put(x, y, right, "name" + highlighted, target)
            kind = f"{row.aside} "
            free = room - cells(text) - cells(right) - 2
            if len(kind) <= free:
                grid.put(x - len(kind), y, kind, "type", target)

    if model.device_source:
        lines = model.device_source
        start = next((n for n, line in enumerate(lines) if " apply(" in line), 0)

        def draw_line(line: str, y: int) -> None:
            grid.put(region.left + 2, y, translated(line, glyphs), "text", None, region.width - 3)

        listed(grid, region, glyphs, "kernel", lines, start, draw_line)
        return
    rows = model.loop
    focus = first(rows, lambda r: r.selected, lambda r: r.highlighted)
    listed(grid, region, glyphs, "tile loop", rows, focus, draw)


def graph_pane(grid: Grid, region: Region, model: FusedModel, context: DrawContext) -> None:
    glyphs = context.glyphs
    if not model.lines:
        sentence(grid, region, "graph", "The graph of this group was not recorded.")
        return

    def draw(row: LineRow, y: int) -> None:
        target = Target(row.item)
        highlighted = _marks(grid, region, y, glyphs, row, target)
        number = str(row.step) if row.step >= 0 else ""
        grid.put(region.left + 2, y, fit(number, 3, align=">"), "number" + highlighted, target)
        spans = [
            Span(part.text, (part.style or "text") + highlighted, _target(part.value) or target)
            for part in row.parts
        ]
        put_cut(grid, region.left + 6, y, spans, max(0, region.width - 6), glyphs)

    listed(grid, region, glyphs, "graph", model.lines, _focus(model.lines), draw)


def group_pane(grid: Grid, region: Region, model: FusedModel, context: DrawContext) -> None:
    glyphs = context.glyphs

    def draw(row: Any, y: int) -> None:
        target = Target(event=row.at)
        if row.current:
            grid.put(region.left + 1, y, glyphs.current, "current", target)
        runs = pluralise(row.launches, "launch", "launches")
        text = f"{row.name} {glyphs.dot} {pluralise(row.steps, 'step')} {glyphs.dot} {runs}"
        style = "current" if row.current else "text"
        grid.put(region.left + 3, y, text, style, target, max(0, region.width - 3))

    focus = first(model.groups, lambda r: r.current)
    listed(grid, region, glyphs, "groups", model.groups, focus, draw)


def launch_pane(grid: Grid, region: Region, model: FusedModel, context: DrawContext) -> None:
    glyphs = context.glyphs

    def draw(row: LaunchRow, y: int) -> None:
        target = Target(event=row.at)
        if row.current:
            grid.put(region.left + 1, y, glyphs.current, "current", target)
        style = "current" if row.current else "dim" if row.ahead else "text"
        time = time_text(row.ns) if row.ns >= 0 else glyphs.unknown
        moved = bytes_text(row.read_bytes + row.written_bytes)
        frame = f"frame {row.frame}" if row.frame else "no frame"
        columns = [
            fit(str(row.index), 3, align=">"),
            fit(f"event {row.at:,}", 13),
            fit(frame, 9),
            fit(pluralise(row.tiles, "tile") if row.tiles else "kernel", 9, align=">"),
            fit(pluralise(row.threads, "thread") if row.tiles else "", 10, align=">"),
            fit(time, 7, align=">"),
            fit(moved, 10, align=">"),
            fit(translated(_times(row), glyphs).removeprefix(", ").split(" ")[0], 6, align=">"),
        ]
        if region.width < _WIDE:  # the threads are in the first line, too
            del columns[4], columns[2]
        x = grid.put(region.left + 3, y, " ".join(columns), style, target, max(0, region.width - 3))
        sizes = f"  {_sizes(row.inputs)} {glyphs.arrow} {_sizes(row.outputs)}"
        grid.put(x, y, translated(sizes, glyphs), style, target, max(0, region.right - x - 1))

    focus = first(model.launches, lambda r: r.current)
    listed(grid, region, glyphs, "launches", model.launches, focus, draw)


def _sizes(shapes: tuple[str, ...]) -> str:
    """Return `64×64, 30`; equal neighbours once: `4 of 64×64`."""
    if len(shapes) > 2 and len(set(shapes)) == 1:
        return f"{len(shapes)} of {shapes[0]}"
    return ", ".join(shapes)


def _focus(rows: Any) -> int:
    return first(rows, lambda r: r.selected, lambda r: r.highlighted)
