"""The JIT: source, tree and graph side by side, every pass, every rewrite, and why nodes disappear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from engine.inspect.models import jit as models
from engine.inspect.models.jit import JitModel
from engine.inspect.selection import GraphNodeSelection, SyntaxSelection, ValueSelection
from tui.render import Glyphs, Picture
from tui.render.target import TargetItem
from tui.views._view import DrawContext, Page, ViewOptions, action
from tui.views.jit import queries
from tui.views.jit.dot import jit_dot
from tui.views.jit.drawing import draw
from tui.views.jit.ir_view import IRView
from tui.views.jit.panes import PANES

if TYPE_CHECKING:
    from engine.inspect.history import History
    from tui.navigator import Navigator

HELP = {
    "▶": "The current position: the last pass or phase, this rewrite, this line of a rule, "
    "this instruction.",
    "▌": "It belongs to the selection: its origin or result. In a heading: this many more "
    "are outside the window.",
    "◆": "This is selected. Next to a pass: it created or removed a part of the selection.",
    "+": "This pass (or rewrite) added the line.",
    "-": "It removed the line, which keeps its row. Or joins the words of a name.",
    "~": "It changed the line: the pane `before` shows how it was.",
    ">": "It moved the line here. Also the head of an arrow.",
    "<": "The line was here before it was moved.",
    "·": "A separator. Before a line: an earlier pass removed it; select it to read why. If "
    "removed lines do not fit, neighbours are one row: u shows each, or none.",
    "▴": "This many more rows above.",
    "▾": "This many more rows below.",
    "✖": "The pass failed; everything before the failure is shown.",
    "graph": "The IR as PyTorch prints it, except that tensor types omit requires_grad=0 and "
    "device=cpu, and that a class has its short name. Enter on a line goes to the rewrite that created "
    "or removed it. `with prim::FusionGroup_0` is the graph inside a group.",
    "passes": "The passes over this graph in order, with their changes and times. Later ones are dim; "
    "Enter goes there. Passes that changed nothing are idle: f lists them.",
    "source": "The function and the functions inlined into it; bright is the source of the selected "
    "Value.",
    "tree": "The syntax tree: the field of the parent, the kind of the node, its names and operators.",
    "tokens": "Position, kind and text of each token.",
    "before": "The graph before the pass or the rewrite, row by row next to the graph after it.",
    "diagram": "The graph as boxes and wires, from a node down to those that use its Values; a node "
    "keeps its position from pass to pass. On a small screen, as lanes. Constants and parameters "
    "are written where they are used, types are omitted; a dot is an input that comes by a wire.",
    "◂": "This many more boxes to the left.",
    "▸": "This many more boxes to the right.",
    "■": "A node to which no lane leads: it uses only parameters and constants, or nothing.",
    "▼": "A node that uses a Value of the node that its lane comes from.",
    "⇢": "It is used further down, without a lane.",
    "rewrites": "The rewrites of the pass in order, by rule and reason; Enter goes there.",
    "rule": "Source code of the rule.",
    "code": "The instructions compiled from the graph.",
    "functions": "Everything that was compiled, and each of its graphs. Enter goes there.",
    "instr.": "Instructions.",
    "│": "Between two panes.",
    "─": "Between two panes.",
}

GHOSTS = {
    "": "removed lines keep their rows, as one row where they do not fit",
    "all": "every removed line keeps its row",
    "pass": "lines that this pass removed keep their rows",
    "none": "removed lines are hidden",
}


@dataclass(frozen=True, slots=True)
class JITOptions(ViewOptions):
    """The pane next to the graph, and the rows that are listed; "" leaves it to the view."""

    pane: str = ""
    idle: bool = False  # whether passes that changed nothing are listed
    ghosts: str = ""  # which removed lines keep their rows: "" all, pass, none


class JITView(IRView):
    name = "jit"
    key = "J"
    title = "JIT"
    summary = "A graph from its source to its instructions, pass by pass."
    help = HELP
    grain = "rewrite"
    fills_screen = True
    opens: ClassVar = {ValueSelection: 1, GraphNodeSelection: 1, SyntaxSelection: 1}
    draws_graph = True
    Options = JITOptions

    def draw(self, model: JitModel, context: DrawContext) -> Picture:
        """Draw in each pane the lines around its focus, as many as there is room for."""
        return draw(model, self.with_options(context))

    def is_slow(self, history: History, moment: int, options: JITOptions) -> bool:
        return models.takes_long(history, moment, options.pane == "diagram")

    @action("t", "pane", "Show another pane next to the graph.", option="form")
    def pane(self, nav: Navigator, name: str = "") -> str:
        """Show the next pane next to the graph, or the named pane."""
        names = list(PANES)
        if name and name not in names:
            return f"unknown pane {name!r}; choose from {', '.join(names)}"
        current = nav.options_of(self.name).pane or "passes"
        pane = name or names[(names.index(current) + 1) % len(names)]
        self.change(nav, pane=pane)
        return f"next to the graph: {pane}"

    @action("f", "idle passes", "List or hide passes that changed nothing.")
    def idle_passes(self, nav: Navigator) -> str:
        """List passes that changed nothing, or hide them."""
        idle = not nav.options_of(self.name).idle
        self.change(nav, idle=idle)
        return f"passes that changed nothing are {'listed' if idle else 'hidden'}"

    @action("u", "removed lines", "Choose which removed lines keep their rows.")
    def removed_lines(self, nav: Navigator) -> str:
        """Switch which removed lines keep their rows."""
        order = list(GHOSTS)
        ghosts = order[(order.index(nav.options_of(self.name).ghosts) + 1) % len(order)]
        self.change(nav, ghosts=ghosts)
        return GHOSTS[ghosts]

    @action("full_stop", "next pass", "To the next pass that changed something.", leads_in=True)
    def next_pass(self, nav: Navigator) -> str:
        return queries.changing_pass(nav, 1)

    @action("comma", "previous pass", "To the previous pass that changed something.", leads_in=True)
    def previous_pass(self, nav: Navigator) -> str:
        return queries.changing_pass(nav, -1)

    @action("m", "next graph", "To the next graph that was compiled.", leads_in=True)
    def next_graph(self, nav: Navigator) -> str:
        return queries.to_function(nav, 1)

    @action("M", "previous graph", "To the previous graph that was compiled.", leads_in=True)
    def previous_graph(self, nav: Navigator) -> str:
        return queries.to_function(nav, -1)

    @action("S", "source", "Go to where the source reached the compiler.", leads_in=True)
    def to_source(self, nav: Navigator) -> str:
        return self._to_phase(nav, "source", "source")

    @action(
        "A", "tree", "Go to the tokens and the syntax tree (AST) of the function.", leads_in=True
    )
    def to_tree(self, nav: Navigator) -> str:
        return self._to_phase(nav, "tree", "tree")

    @action("B", "initial graph", "Go to the initial graph, before any pass.", leads_in=True)
    def to_initial_graph(self, nav: Navigator) -> str:
        return self._to_phase(nav, "graph")

    @action("L", "inlined", "Go to the graph after calls were inlined.", leads_in=True)
    def to_inlined(self, nav: Navigator) -> str:
        return self._to_phase(nav, "inlined")

    @action("F", "fused", "Go to the graph after fusion.", leads_in=True)
    def to_fused(self, nav: Navigator) -> str:
        return self._to_phase(nav, "fused")

    @action("O", "optimised", "Go to the graph after the last pass.", leads_in=True)
    def to_optimised(self, nav: Navigator) -> str:
        return self._to_phase(nav, "optimised")

    @action("C", "code", "Go to the compiled instructions.", leads_in=True)
    def to_code(self, nav: Navigator) -> str:
        return self._to_phase(nav, "code", "code")

    @action("R", "first run", "Go to the first run of these instructions.", leads_in=True)
    def to_first_run(self, nav: Navigator) -> str:
        return self._to_phase(nav, "run", "code")

    def _to_phase(self, nav: Navigator, phase: str, pane: str = "") -> str:
        """Go to a key phase, and show its pane."""
        reached, sentence = queries.to_phase(nav, phase)
        if reached and pane:
            self.change(nav, pane=pane)
        return sentence

    def follow(self, nav: Navigator, item: TargetItem) -> str:
        """Go to the rewrite that removed the selection or, if it still exists, created it."""
        if nav.view != self.name or type(item) not in self.opens:
            return nav.show_view(self.name)
        return queries.follow(nav, item)

    def search(self, nav: Navigator, pattern: str, direction: int) -> str | None:
        return queries.search(nav, pattern, direction)

    def why(self, nav: Navigator) -> str | None:
        if self.has_value(nav) or not nav.selection:
            return queries.page(nav) or None
        return None

    def details(self, nav: Navigator, glyphs: Glyphs) -> Page | None:
        return Page("JIT", queries.page(nav)) if nav.view == self.name else None

    def graph_dot(self, nav: Navigator) -> str:
        return jit_dot(nav.model(self.name))
