"""Everything about one node, next to the graph: state, formula, gradients in and out, what it keeps."""

from __future__ import annotations

from collections.abc import Iterable

from engine.inspect.models._wording import pluralise, shape_text
from engine.inspect.models.autograd import Autograd, Flow, NodeBox, SavedBox
from engine.inspect.selection import CallSelection, LineSelection, NodeSelection
from tui.render import Line, Span, Target, cells, clean, cut
from tui.render.glyphs import translated
from tui.views._view import DrawContext
from tui.views.autograd.fold import NODE, Folded, holds
from tui.views.autograd.glyphs import group_glyph, node_glyph, slot_glyph, slot_style
from tui.views.autograd.graph import edge_target, known_values
from tui.views.autograd.items import Edge, node_target, tensor_target

EDGES = 40  # edges, saved tensors, buffers, outputs: more are counted
USERS = 6  # nodes that lead here, listed one by one
MEMBERS = 12  # nodes of a group, listed one by one


class Pane:
    """Lines of a column `width` cells wide."""

    def __init__(self, model: Autograd, context: DrawContext, width: int) -> None:
        self.model = model
        self.context = context
        self.glyphs = context.glyphs
        self.width = width
        self.lines: list[Line] = []

    def add(self, *spans: Span) -> None:
        """Draw a line, cut at the width."""
        clipped, x = [], 0
        for span in spans:
            text = cut(clean(span.text), self.width - x, self.glyphs.ellipsis)
            if text:
                clipped.append(Span(text, span.style, span.target))
                x += cells(text)
        self.lines.append(tuple(clipped))

    def head(self, title: str, about: str = "") -> None:
        self.add(Span(f" {title}", "head"), Span(f"  {about}" if about else "", "dim"))

    def say(self, text: str, style: str = "dim", indent: int = 3) -> None:
        """Draw a sentence over as many lines as it needs."""
        self.lines += self.wrapped(text, style, indent)

    def wrapped(self, text: str, style: str, indent: int) -> list[Line]:
        """Return words over as many lines as they need; a word longer than a line continues on the next."""
        room = max(8, self.width - indent)
        lines = [""]
        for word in clean(text).split():
            pieces = [word[at : at + room] for at in range(0, len(word), room)]
            for piece in pieces:
                joined = f"{lines[-1]} {piece}" if lines[-1] else piece
                if cells(joined) > room:
                    lines.append(cut(piece, room, self.glyphs.ellipsis))
                else:
                    lines[-1] = joined
        return [(Span(" " * indent), Span(line, style)) for line in lines]


def node_lines(model: Autograd, folded: Folded, context: DrawContext, width: int) -> list[Line]:
    """Return the lines about the node in focus."""
    pane = Pane(model, context, width)
    box = model.nodes.of(model.focus) if model.focus else None
    if box is None:
        pane.say(model.why, indent=1)
        return pane.lines
    _title(pane, box)
    _buffers(pane, box)
    _formula(pane, box)
    _sent(pane, box, folded)
    _saved(pane, box)
    _grad(pane, box)
    _variables(pane, box)
    _users(pane, box, folded)
    _hooks(pane, box)
    _others(pane, box)
    return pane.lines


def group_lines(
    model: Autograd, folded: Folded, number: int, context: DrawContext, width: int
) -> list[Line]:
    """Return the lines about the selected group."""
    pane = Pane(model, context, width)
    item = folded.items[number]
    glyph = group_glyph(model, folded, number, context.glyphs)
    times = f"{context.glyphs.times}{item.times} " if item.times > 1 else ""
    pane.add(Span(f" {times}{translated(item.label, context.glyphs)}", "title"))
    pane.say(glyph.description, glyph.style)
    if item.times > 1:
        pane.say(f"{item.times} blocks of {len(item.members) // item.times} nodes, all equal")
    pane.say("Enter expands it; u collapses it")
    pane.head("nodes", "of the first block" if item.times > 1 else "")
    for index in item.members[: min(MEMBERS, max(1, len(item.members) // item.times))]:
        fact = folded.part.nodes[index]
        target = node_target(fact)
        line = f"  line {fact.line}" if fact.line else ""
        pane.add(Span("   "), Span(fact.name, "op", target), Span(line, "dim"))
    return pane.lines


def _title(pane: Pane, box: NodeBox) -> None:
    fact = box.fact
    glyph = node_glyph(box, pane.glyphs, pane.model.run is not None)
    name = f"{fact.name} of {fact.label}" if fact.leaf else fact.name
    pane.add(Span(f" {name}", "title"), Span(f"  node {fact.id}", "dim"))
    run = pane.model.run
    elsewhere = run is not None and box.thread not in (0, run.thread)
    thread = f", in thread {box.thread}" if elsewhere else ""
    style = "title" if glyph.style == "current" else glyph.style
    state = f"{glyph.text} " if glyph.text else ""
    pane.say(f"{state}{glyph.description}{thread}", style)
    if box.state == "failed" and run is not None and run.error:
        pane.say(run.error, "error", 5)
    if fact.line:
        target = Target(LineSelection(fact.file, fact.line), (NodeSelection(fact.id),))
        call = Target(CallSelection(fact.call), (NodeSelection(fact.id),))
        inside = f" in {fact.function}" if fact.function not in ("", "<module>") else ""
        operator = Span(fact.op or fact.name, "op", call if fact.call else None)
        origin = [Span("   created by ", "dim"), operator, Span(" on ", "dim")]
        if fact.leaf:
            origin = [Span("   first needed on ", "dim")]
        pane.add(*origin, Span(f"line {fact.line}", "name", target), Span(inside, "dim"))
    if fact.module:
        pane.add(Span("   of module ", "dim"), Span(fact.module, "name"))


def _label(name: str, tensor: int) -> str:
    return name if name.startswith("#") else f"{name} #{tensor}"


def _tensor(pane: Pane, flow: Flow, node: int) -> Iterable[Span]:
    """Yield a tensor in one line; `None` if there is no tensor."""
    if not flow.tensor:
        yield Span(f"{pane.glyphs.none} None", "type")
        return
    label = _label(flow.label, flow.tensor)
    yield Span(label, "name", tensor_target(flow.tensor, node))
    if flow.dtype:
        yield Span(f" {flow.dtype} {shape_text(flow.sizes, pane.glyphs.times)}", "type")


def _buffers(pane: Pane, box: NodeBox) -> None:
    if not box.inputs:
        return
    pane.head("gradient in", "its input buffer")
    for slot in box.inputs:
        glyph, style = slot_glyph(slot, pane.glyphs), slot_style(slot)
        come = f"{slot.arrived} of {slot.expected}"
        if not slot.tensor:
            state = "nothing yet" if slot.state == "not yet" else "None"
            pane.add(Span(f"   {glyph} ", style), Span(f"{state}, {come}", style))
            continue
        flow = Flow(slot.input, slot.tensor, f"#{slot.tensor}", slot.dtype, slot.sizes)
        zero = ", zero" if slot.state == "zero" else ""
        pane.add(
            Span(f"   {glyph} ", style),
            *_tensor(pane, flow, box.fact.id),
            Span(f"  {come}{zero}", "dim"),
        )
        if known_values(slot.text):
            pane.add(Span(f"     {slot.text}", "number"))


def _formula(pane: Pane, box: NodeBox) -> None:
    if box.fact.leaf:
        pane.head("what it does")
        pane.say(f"adds the gradient into {box.fact.label}.grad")
        return
    if not box.formula:
        return
    pane.head("formula", f"csrc/ops: {box.fact.op}")
    for row in box.formula:
        lead = f"   {row.argument}: "
        if cells(lead) > pane.width // 3:  # several arguments: too little room next to them
            pane.say(lead.strip(), "name")
            pane.say(row.text, "text", 5)
            continue
        first, *rest = pane.wrapped(row.text, "text", cells(lead))
        pane.lines.append((Span(lead, "name"), *first[1:]))
        pane.lines += rest


def _sent(pane: Pane, box: NodeBox, folded: Folded) -> None:
    if not box.fact.edges:
        return
    pane.head("gradient out", "Enter follows" if pane.width > 40 else "")
    own = folded.item_of.get(box.fact.id, -1)
    for edge in box.fact.edges[:EDGES]:
        if not edge.next:
            pane.add(Span(f"   {edge.index}: ", "number"), Span("needs no gradient", "dim"))
            continue
        tail = folded.item_of.get(edge.next, -1)
        label = translated(folded.items[tail].label, pane.glyphs) if tail >= 0 else str(edge.next)
        target = Target(Edge(box.fact.id, edge.next))
        if tail >= 0 and folded.items[tail].key[1] != NODE:
            target = edge_target(folded, own, tail)
        into = f" input {edge.input}" if edge.input else ""
        spans = [
            Span(f"   {edge.index}: ", "number"),
            Span(f"{pane.glyphs.arrow} {label}{into}", "op", target),
        ]
        if edge.index < len(box.sent):
            flow = box.sent[edge.index]
            spans += [Span("  "), *_tensor(pane, flow, box.fact.id)]
        pane.add(*spans)
    if len(box.fact.edges) > EDGES:
        pane.add(Span(f"   and {len(box.fact.edges) - EDGES} more", "dim"))


def _saved(pane: Pane, box: NodeBox) -> None:
    if not box.saved:
        return
    alive = [each for each in box.saved if each.released < 0]
    about = f"keeps {pluralise(len(alive), 'tensor')}" if alive else "released"
    pane.head("saved", about)
    for each in box.saved:
        _saved_one(pane, each, box.fact.id)


def _saved_one(pane: Pane, each: SavedBox, node: int) -> None:
    target = tensor_target(each.tensor, node)
    released = each.released >= 0
    style = "error" if each.stale else "ghost" if released else "name"
    label = _label(each.label, each.tensor)
    version = f"released at event {each.released}" if released else f"version {each.saved}"
    pane.add(
        Span(f"   {each.name} ", "dim"),
        Span(label, style, target),
        Span("" if each.stale else f"  {version}", "dim"),
    )
    if not each.stale:
        return
    pane.add(Span(f"     saved at version {each.saved}, is at {each.current}", "error"))
    write = each.overwrite
    if write is None:
        pane.say("STALE: it was written in place since", "error", 5)
        return
    goto = Target(also=(NodeSelection(node),), event=write.moment)
    line = f" on line {write.line}" if write.line else ""
    pane.add(
        Span(f"     {pane.glyphs.fail} STALE: ", "error"),
        Span(f"{write.op}{line}", "error", goto),
        Span(" overwrote it", "error"),
    )
    if write.code:
        pane.add(Span(f"       {write.code}", "text", goto))


def _grad(pane: Pane, box: NodeBox) -> None:
    grad = box.grad
    if grad is None:
        return
    pane.head(f"{box.fact.label}.grad")
    if not grad.tensor:
        pane.add(Span(f"   {pane.glyphs.none} None", "type"), Span("  not computed yet", "dim"))
        return
    flow = Flow(0, grad.tensor, f"#{grad.tensor}", grad.dtype, grad.sizes)
    pane.add(Span("   "), *_tensor(pane, flow, box.fact.id), Span(f"  {grad.mode}", "dim"))
    if known_values(grad.text):
        pane.add(Span(f"     {grad.text}", "number"))


def _variables(pane: Pane, box: NodeBox) -> None:
    if box.outputs:
        pane.head("variable" if box.fact.leaf else "grad_fn of")
        for flow in box.outputs:
            pane.add(Span("   "), *_tensor(pane, flow, box.fact.id))


def _users(pane: Pane, box: NodeBox, folded: Folded) -> None:
    """Add the nodes that its gradients come from."""
    own = folded.item_of.get(box.fact.id, -1)
    users = folded.users[own] if own >= 0 else []
    if not users or folded.items[own].key[1] != NODE:
        return
    pane.head("gradients come from")
    for number in users[:USERS]:
        target = edge_target(folded, own, number)
        pane.add(
            Span(
                f"   {pane.glyphs.arrow_left} {translated(folded.items[number].label, pane.glyphs)}",
                "op",
                target,
            )
        )
    if len(users) > USERS:
        pane.add(Span(f"   and {len(users) - USERS} more", "dim"))


def _others(pane: Pane, box: NodeBox) -> None:
    """Add the other graphs: they share no node with this one except leaves."""
    parts = [part for part in pane.model.parts if not holds(part, box.fact.id)]
    if not parts:
        return
    pane.head("other graphs", "Enter goes there")
    for part in parts[-USERS:]:
        root = next((node for node in reversed(part.nodes) if not node.leaf), part.nodes[-1])
        target = Target(Edge(box.fact.id, root.id))
        line = f"  line {root.line}" if root.line else ""
        pane.add(
            Span(f"   {pane.glyphs.arrow} {root.label}", "op", target),
            Span(f"  {pluralise(len(part.nodes), 'node')}{line}", "dim"),
        )
    if len(parts) > USERS:
        pane.add(Span(f"   and {len(parts) - USERS} more", "dim"))


def _hooks(pane: Pane, box: NodeBox) -> None:
    if not box.hooks:
        return
    pane.head("hooks")
    for hook in box.hooks:
        result = f", returned #{hook.after} for #{hook.before}" if hook.replaced else ""
        target = Target(also=(NodeSelection(box.fact.id),), event=hook.moment)
        pane.add(Span(f"   {hook.kind}{result}", "op", target))
