"""Sentences about the selected Value or source range: its origin, and the reason for its removal."""

from __future__ import annotations

from typing import Any

from engine.inspect.models._wording import method_name
from engine.inspect.models.jit.graph_timeline import GraphTimeline, state_at, timeline_of
from engine.inspect.models.jit.rule import rule_of, short_path
from engine.inspect.selection import (
    GraphNodeSelection,
    JitSelection,
    SyntaxSelection,
    ValueSelection,
)


def story_of(jit: Any, selected: JitSelection | None, graph: int, moment: int) -> tuple[str, ...]:
    """Return the sentences about the selection; () without one."""
    match selected:
        case None:
            return ()
        case ValueSelection(value):
            return _Story(jit, graph, moment).value(value)
        case GraphNodeSelection(node):
            return _Story(jit, graph, moment).node(node)
        case SyntaxSelection():
            return _source_story(jit, selected, graph, moment)


def _source_story(jit: Any, selected: SyntaxSelection, graph: int, moment: int) -> tuple[str, ...]:
    function, index = selected.function, selected.index
    fact = jit.function(function)
    name = method_name(fact.name) if fact else f"function {function}"
    tree = jit.tree(function)
    if selected.part == "line":
        subject = f"Line {index} of {name}"
    elif selected.part == "tree" and index < len(tree):
        subject = f"{tree[index].kind} {tree[index].text}".strip() + f" in {name}"
    else:
        tokens = jit.syntax(function).get("tokens", [])
        subject = (
            f"Token {tokens[index][1]!r} in {name}" if index < len(tokens) else f"A token in {name}"
        )
    seeds = jit.links.seeds(selected)
    timeline = timeline_of(jit.history, graph)
    present = timeline.names(state_at(timeline, moment))
    current = seeds & present.keys()
    alive = jit.links.family(seeds) & present.keys()
    if not seeds:
        return (f"{subject}: no node of a graph comes from it.",)
    names = _Names(jit, timeline, present)
    if current:
        come = "comes" if len(current) == 1 else "come"
        return (f"{subject}: {names.of(current)} of this graph {come} from it.",)
    removed = _Story(jit, graph, moment).removals(seeds)
    if alive:
        contain = "contains" if len(alive) == 1 else "contain"
        text = (
            f"{subject}: no Value of this graph is its own; {names.of(alive)} {contain} its work."
        )
        return (text, *removed)
    return (f"{subject}: nothing in this graph at this moment comes from it.", *removed)


class _Names:
    """The names of Values: those of the graph at this moment; for removed Values, their last names."""

    def __init__(self, jit: Any, timeline: GraphTimeline, present: dict[int, str]) -> None:
        self.links, self.present, self.timeline = jit.links, present, timeline

    def of_value(self, value: int) -> str:
        if value in self.present:
            return f"%{self.present[value]}"
        return f"%{self.timeline.last_names.get(value) or self.links.name_of.get(value, value)}"

    def of(self, values: frozenset[int], maximum: int = 6) -> str:
        names = [self.of_value(value) for value in sorted(values)]
        remaining = f" and {len(names) - maximum} more" if len(names) > maximum else ""
        return ", ".join(names[:maximum]) + remaining


class _Story:
    """Sentences about Values and nodes, as of a moment."""

    def __init__(self, jit: Any, graph: int, moment: int) -> None:
        self.jit, self.links, self.moment = jit, jit.links, moment
        timeline = timeline_of(jit.history, graph)
        self.own = timeline.keys
        index = state_at(timeline, moment)
        self.names, self.lines = _Names(jit, timeline, timeline.names(index)), timeline.lines(index)

    def value(self, value: int) -> tuple[str, ...]:
        node = self.links.node_of.get(value)
        if node is None:
            return (f"Value {value} is in no graph of this recording.",)
        name = self.names.of_value(value)
        definition = self.links.kind_of.get(node, "")
        subject = f"{name} = {definition}" if definition else f"{name}, a parameter"
        return self._life(subject, node) + self._origin(value)

    def node(self, node: int) -> tuple[str, ...]:
        kind = self.links.kind_of.get(node)
        if kind is None:
            return ("A parameter or the return of a graph or block: not a node.",)
        return self._life(kind, node)

    def removals(self, values: frozenset[int], maximum: int = 2) -> tuple[str, ...]:
        """Return the removals of the nodes of these Values up to the moment, each by its own rule: those of this graph
        first; constants only if there is nothing else."""
        ends = []
        for value in sorted(values):
            node = self.links.node_of.get(value, 0)
            end, kind = self.links.removals.get(node), self.links.kind_of.get(node, "")
            if end is not None and end.moment <= self.moment:
                constant = kind == "prim::Constant"
                ends.append((node not in self.own, constant, end.moment, value, node, kind, end))
        ends.sort(key=lambda each: each[:4])
        computing = [each for each in ends if not each[1]] or ends
        sentences = dict.fromkeys(  # one Value may have been removed under two numbers
            f"{self.names.of_value(value)} = {kind} {self._removal(node, end)}"
            for _, _, _, value, node, kind, end in computing
        )
        return tuple(sentences)[:maximum]

    def _life(self, subject: str, node: int) -> tuple[str, ...]:
        creation, end = self.links.creations.get(node), self.links.removals.get(node)
        came = f"{subject}: {self._came(creation)}" if creation else f"{subject}."
        if node not in self.own:
            came += " It is in another graph; related lines of this one are highlighted."
        if end is None or end.moment > self.moment:
            later = f" It will be removed in {self._pass(end.run)}." if end is not None else ""
            return (came + later,)
        return (came, f"It {self._removal(node, end)}")

    def _came(self, creation: Any) -> str:
        if creation.moment > self.moment:
            return f"not created yet: it will be at event {creation.moment:,}."
        if not creation.run:
            return f"in the initial graph ({creation.rule})."
        return f'created in {self._pass(creation.run)} by the rule "{creation.rule}".'

    def _removal(self, node: int, end: Any) -> str:
        """Return the removal of a node, after its name: pass, rule, reason and replacement."""
        fact = self.jit.rewrite_at(end.moment)
        position = ""
        if fact is not None and fact.file:
            line = rule_of(self.jit, fact).line or fact.line
            position = f" ({short_path(fact.file)}:{line})"
        reason = f": {end.reason}" if end.reason else ""
        description = (
            f'was removed in {self._pass(end.run)} by the rule "{end.rule}"{position}{reason}.'
        )
        if end.replaced_by:
            names = self.names.of(frozenset(end.replaced_by))
            return f"{description} {names} {'replaces' if len(end.replaced_by) == 1 else 'replace'} it."
        inside = self._inside(node, end)
        if inside:
            (group, copies), *_ = inside.items()
            does = "does" if len(copies) == 1 else "do"
            return f"{description} {self.names.of(frozenset(copies))} in {group} {does} its work."
        return description if reason else f"{description} It had no uses, so nothing replaces it."

    def _inside(self, node: int, end: Any) -> dict[str, list[int]]:
        """Return the replacements of a node by the rewrite that removed it, by the groups that contain them."""
        own = self.links.values_of.get(node, ())
        replacements = {copy for value in own for copy in self.links.replaced_by(value)}
        matches: dict[str, list[int]] = {}
        group = ""
        for line in self.lines.values():
            group = line.kind if line.role == "with" else group
            creation = self.links.creations.get(line.node)
            if group and creation is not None and creation.moment == end.moment:
                copies = [value.id for value in line.outputs if value.id in replacements]
                matches.setdefault(group, []).extend(copies)
        return {group: copies for group, copies in matches.items() if copies}

    def _pass(self, run: int) -> str:
        row = self.jit.tables.runs.last("id", run, 1 << 61)
        if row < 0:
            return "a pass"
        fact = self.jit.run_fact(int(row))
        return f"pass {fact.name}" + (f" ({fact.index})" if fact.index else "")

    def _origin(self, value: int) -> tuple[str, ...]:
        origins = self.links.origins(value)
        indices = self.links.sources(value)
        description = []
        own = frozenset(item for item in origins if self.links.node_of.get(item) in self.own)
        if own:
            description.append(f"made from {self.names.of(own)}")
        if origins - own:
            description.append(f"made from {self.names.of(origins - own)} of another graph")
        if indices:
            visible = [f"{p.file.rpartition('/')[2]}:{p.line}" for p in indices]
            visible = list(dict.fromkeys(visible))
            remaining = f" and {len(visible) - 6} more" if len(visible) > 6 else ""
            description.append(f"source {', '.join(visible[:6])}{remaining}")
        return (f"Its origins: {'; '.join(description)}.",) if description else ()
