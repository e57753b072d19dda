"""Explanations of gradients and lifetimes from recorded facts, each with a line to look at.

An answer is one sentence, the facts that support it, and the moment to go to. Nothing is guessed:
if a record is missing, the sentence states what is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from engine._generated.codes import ACCUMULATE
from engine.inspect.declarations import has_tag
from engine.inspect.events import full_op
from engine.inspect.history.facts import CallFact
from engine.inspect.history.keepers import keepers

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.history.autograd import SavedFact
    from engine.inspect.history.autograd.backward_pass import BackwardPass

_MAX_LISTED = 3  # facts of one kind that an answer lists
_MAX_ADDED = 6  # holders whose counts are added up
_MAX_OTHERS = 6  # holders of a tensor's memory that are listed
_LATEST = 64  # backward passes that are examined, newest first


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; `moment` is when it happened; -1: at no single moment."""

    text: str
    facts: tuple[str, ...] = ()
    moment: int = -1
    file: int = 0
    line: int = 0


def why_stale(history: History, node: int, m: int) -> tuple[Answer, ...]:
    """Return one answer per stale saved tensor: the operation and line that modified it."""
    saved = history.autograd.saved_by(node, m)
    return tuple(_overwritten(history, each, m) for each in saved if each.stale <= m < each.until)


def _overwritten(history: History, saved: SavedFact, m: int) -> Answer:
    writes = history.autograd.writes_after(saved, m)
    retained = location(history, saved.since)
    name = _called(history, saved.tensor, m)
    facts = [
        f"node {history.autograd.describe_node(saved.node)} saved it at version {saved.version}{retained}"
    ]
    for write in writes[:_MAX_LISTED]:
        by = operation(history, write.call)
        facts.append(f"{by}{location(history, write.since)} made it version {write.version}")
    if len(writes) > _MAX_LISTED:
        facts.append(f"{len(writes) - _MAX_LISTED} more writes followed")
    first = writes[0]
    line = history.line_at(first.since)
    text = (
        f"{name}, which node {history.autograd.describe_node(saved.node)} needs as {saved.name}, was written "
        f"by {operation(history, first.call)}{location(history, first.since)}"
    )
    return Answer(
        text, tuple(facts), first.since, line.file if line else 0, line.line if line else 0
    )


def why_alive(history: History, tensor: int, m: int) -> Answer:
    """Return every holder of the tensor; they add up to the use count."""
    if history.tensor(tensor, m) is None:
        return Answer(f"tensor #{tensor} does not exist at event {m:,}")
    owners = history.owners(tensor, m)
    name = _called(history, tensor, m)
    counts = " + ".join(str(holder.count) for holder in owners.impl.holders)
    facts = [
        f"{holder.count} × {holder.name}{_since(history, holder.since)}"
        for holder in owners.impl.holders
    ]
    facts = [f"kept by {way.text}" for way in keepers(history, tensor, m)] + facts
    text = f"{name} has use count {owners.impl.count}"
    if 1 < len(owners.impl.holders) <= _MAX_ADDED:
        text += f" = {counts}"
    if owners.object is not None:
        facts += [
            f"its Python object: {holder.count} × {_holder(holder.kind)}{holder.name}{_since(history, holder.since)}"
            for holder in owners.object.holders
        ]
        references = "reference" if owners.object.count == 1 else "references"
        text += f"; its Python object has {owners.object.count} {references}"
    fact = history.tensor(tensor, m)
    if fact is not None and fact.storage:
        others = history.storage_owners(fact.storage, m).holders
        others = tuple(holder for holder in others if holder.id != tensor)
        facts += [
            f"its memory: also {holder.name}{_since(history, holder.since)}"
            for holder in others[:_MAX_OTHERS]
        ]
        if len(others) > _MAX_OTHERS:
            facts.append(f"its memory: and {len(others) - _MAX_OTHERS} more")
    return Answer(text, tuple(facts))


def why_no_grad(history: History, tensor: int, m: int) -> Answer:
    """Return the reason why the tensor's .grad is None, or its origin."""
    name = _called(history, tensor, m)
    grad = history.autograd.grad(tensor, m)
    if grad is not None and grad.grad:
        at = location(history, grad.since)
        return Answer(f"{name}.grad is tensor #{grad.grad}, set{at}", moment=grad.since)
    node = history.autograd.grad_fn(tensor, m)[0]
    if not history.autograd.requires_grad(tensor, m):
        return _not_required(history, tensor, name, m)
    if node and grad is None:
        return _not_a_leaf(history, name, node, m)
    if grad is not None and (cleared := _cleared(history, tensor, name, grad.since, m)):
        return cleared
    return _never_arrived(history, tensor, name, m)


# No graph was recorded for it


def _origin(history: History, tensor: int, m: int) -> str:
    """Return the origin of a tensor that no operator of the program returned."""
    table = history.tables.tensors
    rows = table.until_now("id", tensor, m)
    if not len(rows):
        return "the recording does not have its creation"
    since = int(table.since[rows[0]])
    if any(holder.kind == "GRAD" for holder in history.owners(tensor, m).impl.holders):
        return "a backward pass computed it: that pass records a graph only with create_graph=True"
    if len(history.jit.tables.frames.at(since)):
        return "compiled code computed it from tensors that did not require it"
    return "it was made from numbers: no operator made it"


def _not_required(history: History, tensor: int, name: str, m: int) -> Answer:
    if (ended := _graph_ended(history, tensor, name, m)) is not None:
        return ended
    maker = made_by(history, tensor, m)
    if maker is None:
        remedy = "call requires_grad_() before it is used, or make it with requires_grad=True"
        return Answer(
            f"{name}.requires_grad is False, and {_origin(history, tensor, m)}", (remedy,)
        )
    at = location(history, maker.since)
    reason = f"{maker.op} made it{at} without requires_grad=True"
    if any(tensors_of(maker)):
        reason = f"{maker.op} made it{at} from tensors that require no gradient"
    return Answer(
        f"{name}.requires_grad is False: {reason}",
        _where_graphs_ended(history, maker),
        moment=maker.since,
    )


def _graph_ended(history: History, tensor: int, name: str, m: int) -> Answer | None:
    """Return why a tensor requires no gradient although its inputs do, or that it was switched off."""
    flag = history.autograd.tables.flags.last("tensor", tensor, m)
    if flag >= 0:
        moment = int(history.autograd.tables.flags.since[flag])
        at = location(history, moment)
        return Answer(f"{name}.requires_grad is False: it was switched off{at}", moment=moment)
    maker = made_by(history, tensor, m)
    if maker is None:
        return None
    source = next((each for each in tensors_of(maker) if _asks(history, each, maker.since)), 0)
    if not source:
        return None
    at, origin = location(history, maker.since), _called(history, source, maker.since)
    if _detaches(maker):
        return Answer(f"{name} was detached from {origin}{at}", moment=maker.since)
    fact = history.described(tensor, m)
    if fact is not None and not fact.dtype.startswith(("float", "bfloat", "complex")):
        return Answer(
            f"{name} is {fact.dtype}: only floating and complex tensors have gradients",
            moment=maker.since,
        )
    return Answer(
        f"{name} was made{at} by {maker.op} while gradients were not recorded (no_grad or "
        f"inference_mode)",
        (f"{origin} requires a gradient, but no node was made",),
        moment=maker.since,
    )


def _where_graphs_ended(history: History, maker: CallFact) -> tuple[str, ...]:
    """Return where the graphs of a call's inputs ended, the nearest first."""
    waiting = [(tensor, maker.since) for tensor in tensors_of(maker)]
    seen: set[int] = set()
    facts: list[str] = []
    while waiting and len(seen) < _LATEST and len(facts) < _MAX_LISTED:
        tensor, m = waiting.pop(0)
        if tensor in seen:
            continue
        seen.add(tensor)
        ended = _graph_ended(history, tensor, _called(history, tensor, m), m)
        if ended is not None:
            facts += [ended.text, *ended.facts]
        elif (earlier := made_by(history, tensor, m)) is not None:
            waiting += [(each, earlier.since) for each in tensors_of(earlier)]
    return tuple(facts)


def _not_a_leaf(history: History, name: str, node: int, m: int) -> Answer:
    since = history.autograd.since(node)
    facts = ["a gradient that passes through is not kept: call retain_grad() before backward"]
    run = last_reaching(history, node, m)
    if run is None:
        facts.append("and no backward pass has reached it yet")
    text = f"{name} is not a leaf: node {history.autograd.describe_node(node)} made it{location(history, since)}"
    return Answer(text, tuple(facts), since)


def _cleared(history: History, tensor: int, name: str, moment: int, m: int) -> Answer | None:
    """Explain a .grad that was set to None, with no gradient since."""
    newest = history.autograd.last_accumulation(tensor, m)
    if newest is not None and newest.moment > moment:
        return None
    at = location(history, moment)
    return Answer(
        f"{name}.grad was set to None{at}, and no gradient has arrived since", moment=moment
    )


# A backward pass should have computed it


def _never_arrived(history: History, tensor: int, name: str, m: int) -> Answer:
    runs = history.autograd.tables.runs
    count = runs.started_by(m)
    matches = (
        history.autograd.run(int(runs.id[row])) for row in range(max(0, count - _LATEST), count)
    )
    passes = [run for run in matches if run]
    if not passes:
        return Answer(f"{name} is a leaf, and no backward pass has run yet")
    nodes = set(history.autograd.accumulators_ever(tensor, m))
    own = history.autograd.grad_fn(tensor, m)[0]
    nodes |= {own} if own else set()
    reached = [(run, node) for run in passes for node in nodes if _reaches(run, node, m)]
    if reached:
        return _what_went_wrong(history, name, *reached[-1], m)
    last = passes[-1]
    facts = list(_uses(history, tensor, m))
    text = f"no backward pass reached {name}: the last one{location(history, last.since)} does not lead to it"
    return Answer(text, tuple(facts), last.since)


def _what_went_wrong(history: History, name: str, run: BackwardPass, node: int, m: int) -> Answer:
    at, index = location(history, run.since), run.index(node)
    node_name = history.autograd.describe_node(node)
    if run.until > m:
        waits = int(run.waits(m)[index])
        description = (
            f"node {node_name} still waits for {waits} of them"
            if waits
            else f"node {node_name} is ready"
        )
        return Answer(f"backward pass {run.id} is still running: {description}", moment=run.since)
    if not run.flags & ACCUMULATE:
        return Answer(
            f"pass {run.id}{at} was autograd.grad(): it returns gradients and leaves .grad alone",
            moment=run.since,
        )
    if not run.needed[index]:
        return Answer(
            f"backward pass {run.id}{at} computed the gradients of other tensors only (inputs=)",
            moment=run.since,
        )
    table = history.autograd.tables.arrivals
    rows = run.arrivals_at(node, m)
    if run.exited[index] > m:
        return Answer(
            f"backward pass {run.id}{at} failed before {name} got its gradient", moment=run.until
        )
    if len(rows) and not table.sum[rows].any():
        givers = dict.fromkeys(giver(run, int(table.since[row])) for row in rows)
        facts = tuple(
            f"node {history.autograd.describe_node(each)} gave None" for each in givers if each
        )
        return Answer(
            f"the gradient that arrived for {name} in backward pass {run.id}{at} was None",
            facts[:_MAX_LISTED],
            int(table.since[rows[-1]]),
        )
    return Answer(
        f"backward pass {run.id}{at} ran node {node_name}, but set no .grad", moment=run.since
    )


def giver(run: BackwardPass, arrival: int) -> int:
    """Return the node that computed a gradient: the last one that ran in the pass; 0 for a root's gradient."""
    if arrival < run.started:
        return 0
    before = np.where(run.exited < arrival, run.exited, -1)
    index = int(before.argmax()) if len(before) else 0
    return int(run.nodes[index]) if len(before) and before[index] >= 0 else 0


def _reaches(run: BackwardPass, node: int, m: int) -> bool:
    index = run.index(node)
    return index >= 0 and bool(run.known[index] <= m)


def last_reaching(history: History, node: int, m: int) -> BackwardPass | None:
    table = history.autograd.tables.dependencies
    rows = table.until_now("node", node, m)
    return history.autograd.run(int(table.run[rows[-1]])) if len(rows) else None


def _uses(history: History, tensor: int, m: int) -> Iterable[str]:
    """Return the uses of a tensor: the calls that cut it off from the differentiated result."""
    description, nodes = [], history.autograd.tables.nodes
    for call in calls_with(history, tensor, m):
        if _detaches(call):
            description.append(f"{call.op} cut it off{location(history, call.since)}")
        elif not len(nodes.where("call", call.id)) and not call.parent:
            description.append(f"{call.op}{location(history, call.since)} recorded no node for it")
        if len(description) == _MAX_LISTED:
            break
    if not description and not any(True for _ in calls_with(history, tensor, m)):
        description.append("no operator was called with it")
    return description


# Helpers


def calls_with(history: History, tensor: int, m: int) -> Iterable[CallFact]:
    """Yield the operator calls with the tensor as an argument, newest first, among the last few thousand."""
    table = history.tables.calls
    for row in range(table.started_by(m) - 1, max(-1, table.started_by(m) - 4096), -1):
        call = history.call(int(table.id[row]))
        if call is not None and tensor in tensors_of(call):
            yield call


def tensors_of(call: CallFact) -> tuple[int, ...]:
    """Return the tensor arguments of a call."""
    matches: list[int] = []
    for argument in call.args:
        if argument.kind == "tensor":
            matches.append(argument.value)
        elif argument.kind == "tensors":
            matches += argument.value
    return tuple(matches)


def made_by(history: History, tensor: int, m: int) -> CallFact | None:
    """Return the program's call during which the tensor was created."""
    rows = history.tables.tensors.until_now("id", tensor, m)
    running = history.calls_at(int(history.tables.tensors.since[rows[0]])) if len(rows) else ()
    return running[0] if running else None


def _asks(history: History, tensor: int, m: int) -> bool:
    return bool(tensor) and history.autograd.requires_grad(tensor, m)


def _detaches(call: CallFact) -> bool:
    return has_tag(full_op(call.schema), "detaches")


def operation(history: History, call: int) -> str:
    fact = history.call(call) if call else None
    return fact.op if fact else "something outside any operator"


def location(history: History, moment: int) -> str:
    """Return ` on line 12 of train.py (code)`; "" if no line was running."""
    line = history.line_at(moment)
    if line is None:
        return ""
    code = history.line_text(line.file, line.line)
    position = f" on line {line.line} of {PurePath(line.path).name}"
    return f"{position} (`{code}`)" if code else position


def _called(history: History, tensor: int, m: int) -> str:
    label = history.autograd.label(tensor, m)
    return f"tensor {label}" if label.startswith("#") else label


def _since(history: History, moment: int) -> str:
    line = history.line_at(moment) if moment >= 0 else None
    return f", since line {line.line}" if line else ""


def _holder(kind: str) -> str:
    prefixes = {
        "NAME": "name ",
        "SLOT": "item ",
        "ATTRIBUTE": "attribute ",
        "CELL": "closure variable ",
    }
    return prefixes.get(kind, "")
