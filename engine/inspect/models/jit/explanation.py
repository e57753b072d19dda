"""What is selected, where it comes from, and why it vanished: in sentences."""

from __future__ import annotations

from typing import Any

from engine.inspect.history.jit.source_ranges import LINE, TREE, what_is
from engine.inspect.models.jit.graph_timeline import GraphTimeline, place_at, timeline_of
from engine.inspect.models.jit.rule import rule_of, short_path


def story_of(jit: Any, selected: int, graph: int, moment: int) -> tuple[str, ...]:
    """The sentences about what is selected; () when nothing is."""
    if not selected:
        return ()
    kind, one, which, index = what_is(selected)
    if kind == "value":
        return _Story(jit, graph, moment).value(one)
    if kind == "node":
        return _Story(jit, graph, moment).node(one)
    return _place(jit, selected, one, which, index, graph, moment)


def _place(
    jit: Any, selected: int, function: int, which: int, index: int, graph: int, moment: int
) -> tuple[str, ...]:
    fact = jit.function(function)
    name = fact.name if fact else f"function {function}"
    tree = jit.tree(function)
    if which == LINE:
        what = f"Line {index} of {name}"
    elif which == TREE and index < len(tree):
        what = f"{tree[index].kind} {tree[index].text}".strip() + f" in {name}"
    else:
        tokens = jit.syntax(function).get("tokens", [])
        what = (
            f"Token {tokens[index][1]!r} in {name}" if index < len(tokens) else f"A place in {name}"
        )
    seeds = jit.links.seeds(selected)
    timeline = timeline_of(jit, graph)
    there = timeline.names(place_at(timeline, moment))
    here = seeds & there.keys()
    alive = jit.links.family([selected]) & there.keys()
    if not seeds:
        return (f"{what}: no node of a graph comes from it.",)
    names = _Names(jit, timeline, there)
    if here:
        come = "comes" if len(here) == 1 else "come"
        return (f"{what}: {names.of(here)} of this graph {come} from it.",)
    if alive:
        return (f"{what}: nothing of this graph is its own; {names.of(alive)} belong to it.",)
    return (f"{what}: nothing in this graph at this moment comes from it.",)


class _Names:
    """What Values are called: as the graph calls them now; those that are gone as it did last."""

    def __init__(self, jit: Any, timeline: GraphTimeline, there: dict[int, str]) -> None:
        self.links, self.there, self.timeline = jit.links, there, timeline

    def one(self, value: int) -> str:
        if value in self.there:
            return f"%{self.there[value]}"
        return f"%{self.timeline.last_names.get(value) or self.links.name_of.get(value, value)}"

    def of(self, values: frozenset[int], most: int = 6) -> str:
        names = [self.one(value) for value in sorted(values)]
        rest = f" and {len(names) - most} more" if len(names) > most else ""
        return ", ".join(names[:most]) + rest


class _Story:
    """Sentences about Values and nodes, as of a moment."""

    def __init__(self, jit: Any, graph: int, moment: int) -> None:
        self.jit, self.links, self.moment = jit, jit.links, moment
        timeline = timeline_of(jit, graph)
        self.own = timeline.keys
        place = place_at(timeline, moment)
        self.names, self.lines = _Names(jit, timeline, timeline.names(place)), timeline.lines(place)

    def value(self, value: int) -> tuple[str, ...]:
        node = self.links.node_of.get(value)
        if node is None:
            return (f"Value {value} is in no graph of this recording.",)
        name = self.names.one(value)
        made = self.links.kind_of.get(node, "")
        what = f"{name} = {made}" if made else f"{name}, a parameter"
        return self._life(what, node) + self._origin(value)

    def node(self, node: int) -> tuple[str, ...]:
        kind = self.links.kind_of.get(node)
        if kind is None:
            return ("What a graph or a block takes or gives back: it is no node of its own.",)
        return self._life(kind, node)

    def _life(self, what: str, node: int) -> tuple[str, ...]:
        creation, end = self.links.creations.get(node), self.links.removals.get(node)
        came = f"{what}: {self._came(creation)}" if creation else f"{what}."
        if node not in self.own:
            came += " It is of another graph; what belongs to it here is lit."
        if end is None or end.moment > self.moment:
            later = f" It will go in {self._pass(end.run)}." if end is not None else ""
            return (came + later,)
        return (came, self._gone(node, end))

    def _came(self, creation: Any) -> str:
        if creation.moment > self.moment:
            return f"not there yet: it comes at event {creation.moment:,}."
        if not creation.run:
            return f"there from the start ({creation.rule})."
        return f'made in {self._pass(creation.run)} by the rule "{creation.rule}".'

    def _gone(self, node: int, end: Any) -> str:
        """Why a node vanished: pass, rule, reason and what stands for it."""
        fact = self.jit.rewrite_at(end.moment)
        where = ""
        if fact is not None and fact.file:
            line = rule_of(self.jit, fact).line or fact.line
            where = f" ({short_path(fact.file)}:{line})"
        reason = f": {end.reason}" if end.reason else ""
        said = f'It vanished in {self._pass(end.run)} by the rule "{end.rule}"{where}{reason}.'
        if end.replaced_by:
            names = self.names.of(frozenset(end.replaced_by))
            return (
                f"{said} {names} {'stands' if len(end.replaced_by) == 1 else 'stand'} for it since."
            )
        inside = self._inside(node, end)
        if inside:
            (group, copies), *_ = inside.items()
            does = "does" if len(copies) == 1 else "do"
            return f"{said} {self.names.of(frozenset(copies))} in {group} {does} its work since."
        return f"{said} Nothing stands for it: nobody used it any more."

    def _inside(self, node: int, end: Any) -> dict[str, list[int]]:
        """What was made from a node by the rewrite that took it away, by the groups that hold it."""
        mine = self.links.values_of.get(node, ())
        made = {copy for value in mine for copy in self.links.replaced_by(value)}
        found: dict[str, list[int]] = {}
        group = ""
        for line in self.lines.values():
            group = line.kind if line.role == "with" else group
            creation = self.links.creations.get(line.node)
            if group and creation is not None and creation.moment == end.moment:
                copies = [value.id for value in line.outputs if value.id in made]
                found.setdefault(group, []).extend(copies)
        return {group: copies for group, copies in found.items() if copies}

    def _pass(self, run: int) -> str:
        row = self.jit.tables.runs.last("id", run, 1 << 61)
        if row < 0:
            return "a pass"
        fact = self.jit.run_fact(int(row))
        return f"pass {fact.name}" + (f" ({fact.index})" if fact.index else "")

    def _origin(self, value: int) -> tuple[str, ...]:
        origins = self.links.origins(value)
        places = self.links.sources(value)
        said = []
        own = frozenset(one for one in origins if self.links.node_of.get(one) in self.own)
        if own:
            said.append(f"made from {self.names.of(own)}")
        if origins - own:
            said.append(f"made from {self.names.of(origins - own)} of another graph")
        if places:
            shown = [f"{p.file.rpartition('/')[2]}:{p.line}" for p in places]
            shown = list(dict.fromkeys(shown))
            rest = f" and {len(shown) - 6} more" if len(shown) > 6 else ""
            said.append(f"source {', '.join(shown[:6])}{rest}")
        return (f"Its origins: {'; '.join(said)}.",) if said else ()
