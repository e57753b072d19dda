"""Explanations of when a node runs, from the counts of the running backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.events import FOREVER
from engine.inspect.history.keepers import node_keepers
from engine.inspect.history.why import Answer, last_reaching, location

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.history.autograd.backward_pass import BackwardPass

_RULE = "of the ready nodes the one created last runs first; leaves run before all others"


def why_node_runs(history: History, node: int, m: int) -> Answer:
    """Return the state of a node in the backward pass of the moment, and the reason for it."""
    name = f"Node {history.autograd.describe_node(node, m)}"
    run = history.autograd.run_at(m)
    since = history.autograd.since(node)
    created = f"it was created{location(history, since)}" if since < history.end else ""
    if run is None or run.index(node) < 0:
        earlier = last_reaching(history, node, m)
        if earlier is None:
            passes = "no backward pass has reached it yet"
            return Answer(f"{name} does not run: {passes}", (created,) if created else (), since)
        text, _, moment = _state(history, earlier, node, m)
        start = f"pass {earlier.id} was started{location(history, earlier.since)}"
        return Answer(f"{name} {text}", (start, created) if created else (start,), moment)
    text, facts, moment = _state(history, run, node, m)
    return Answer(f"{name} {text}", tuple(fact for fact in (*facts, created) if fact), moment)


def why_node_alive(history: History, node: int, m: int) -> Answer:
    """Return the holders of a node, up to the name of the result whose graph has it."""
    if history.autograd.node(node, m) is None:
        return Answer(f"node {history.autograd.describe_node(node)} does not exist at event {m:,}")
    ways = node_keepers(history, node, m)
    return Answer(ways[0].text, tuple(way.text for way in ways[1:]), ways[0].since)


def _state(history: History, run: BackwardPass, node: int, m: int) -> tuple[str, list[str], int]:
    describe, index = history.autograd.describe_node, run.index(node)
    if run.until <= m:
        order = run.order_of(node, m)
        if order:
            return f"ran as number {order} of backward pass {run.id}", [], int(run.entered[index])
        return f"did not run in backward pass {run.id}", [], run.since
    if node in run.running(m).tolist():
        return (
            "runs now: every gradient that it needs has arrived",
            [_RULE, _next(history, run, m)],
            m,
        )
    if order := run.order_of(node, m):
        return f"has run: it was number {order} of the pass", [], int(run.entered[index])
    ready = run.ready(m).tolist()
    if index in ready:
        others = [describe(int(run.nodes[each])) for each in ready if each != index]
        if ready[0] == index:
            text = "runs next: every gradient that it needs has arrived"
            waiting = f"ready, too: {', '.join(others[:3])}" if others else "no other node is ready"
            return text, [_RULE, waiting], m
        return f"is ready, but {describe(int(run.nodes[ready[0]]))} runs before it", [_RULE], m
    waits = int(run.waits(m)[index])
    above = history.autograd.tables.edges
    rows = above.where_at("next", node, m)
    senders = [int(each) for each in above.node[rows] if run.index(int(each)) >= 0]
    missing = [describe(each) for each in dict.fromkeys(senders) if run.exited[run.index(each)] > m]
    gradients = "gradient" if waits == 1 else "gradients"
    facts = [f"they come from {', '.join(missing[:3])}"] if missing else []
    return f"waits for {waits} {gradients}", facts, m


def _next(history: History, run: BackwardPass, m: int) -> str:
    """Say what the pass does after the running node."""
    describe, later = history.autograd.describe_node, run.entered > m
    if not later.any() or int(run.entered[later].min()) >= run.until:
        return "then the pass fails" if run.failed else "it is the last node of the pass"
    following = int(np.where(later, run.entered, FOREVER).argmin())
    if run.pushed[following] <= m:
        return f"then {describe(int(run.nodes[following]))} runs, which is ready"
    return f"then {describe(int(run.nodes[following]))} runs: it waits for gradients of this node"
