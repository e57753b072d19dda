"""One node at one moment: its buffers, saved tensors, hooks and results."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from engine._generated.codes import GRADIENT_HOOKS
from engine.inspect.history.autograd.backward_pass import STATES
from engine.inspect.history.autograd.descriptions import accumulation_mode, hook_name
from engine.inspect.models._contents import Contents
from engine.inspect.models._numbers import dtype_of, short
from engine.inspect.models.autograd.boxes import (
    BufferSlot,
    Flow,
    Flows,
    GradBox,
    HookRow,
    NodeBox,
    NodeFact,
    Overwrite,
    SavedBox,
)
from engine.inspect.models.autograd.formula import formula
from engine.inspect.selection import CallSelection, LineSelection, NodeSelection

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

_MAX_UNUSED = 64  # inputs of a node that are shown although no edge leads to them
_NUMBERS = 3  # that a line has room for
_LOOKED_AT = 1 << 12  # bytes of a gradient that are read to determine whether all of it is zero


@dataclass(frozen=True)
class NodeMaker:
    """Builds the boxes of one moment; `run` is the backward pass that is shown."""

    history: History
    moment: int
    selection: Selection
    run: Any

    def box(self, fact: NodeFact) -> NodeBox:
        node, m, run = fact.id, self.moment, self.run
        index = run.index(node) if run else -1
        reached = index >= 0 and int(run.known[index]) <= m
        outputs = self._outputs(fact)
        saved = tuple(self._saved(each) for each in self.history.autograd.saved_by(node, m))
        inputs = self._inputs(node) if reached else ()
        gradients = Flows(self._sent(node) if reached else (), self.flow)
        entered = reached and int(run.entered[index]) <= m
        touches = {flow.tensor for flow in outputs} | set(gradients.tensors)
        touches |= {slot.tensor for slot in inputs} | {fact.variable}
        touches |= {each.tensor for each in saved if each.released < 0}
        return NodeBox(
            fact=fact,
            alive=fact.since <= m < fact.until,
            state=STATES[int(self._codes[index])] if reached else "",
            waits_for=int(self._waits[index]) if reached else 0,
            dependencies=int(run.count[index]) if reached else 0,
            queue_position=self._queue.get(node, -1) if reached else -1,
            order=run.order_of(node, m) if reached else 0,
            thread=int(self.history.tables.events["thread"][run.entered[index]]) if entered else 0,
            outputs=outputs,
            sent=gradients,
            inputs=inputs,
            saved=saved,
            stale=any(each.stale for each in saved),
            formula=formula(fact.op),
            hooks=self._hooks(fact),
            grad=self._grad(fact.variable) if fact.variable else None,
            touches=tuple(sorted(touches - {0})),
            highlighted=self._is_highlighted(fact, touches),
        )

    @cached_property
    def _roots(self) -> list[tuple[int, int, int]]:
        return roots(self.history, self.run)

    @cached_property
    def _codes(self) -> Any:
        return self.run.codes(self.moment)

    @cached_property
    def _waits(self) -> Any:
        return self.run.waits(self.moment)

    @cached_property
    def _queue(self) -> dict[int, int]:
        queue = self.run.nodes[self.run.ready(self.moment)]
        return {node: index for index, node in enumerate(queue.tolist())}

    def _is_highlighted(self, fact: NodeFact, touches: set[int]) -> bool:
        selected = self.selection
        return (
            NodeSelection(fact.id) == selected.node
            or (selected.tensor != 0 and selected.tensor in touches)
            or CallSelection(fact.call) == selected.call
            or LineSelection(fact.file, fact.line) == selected.line
        )

    # Tensors

    def flow(self, index: int, tensor: int) -> Flow:
        """Describe a tensor as it is, or as it was when it was freed."""
        tensor_fact = self.history.described(tensor, self.moment) if tensor else None
        label = self.history.autograd.label(tensor, self.moment) if tensor else "None"
        return Flow(
            index,
            tensor,
            label,
            tensor_fact.dtype if tensor_fact else "",
            tensor_fact.sizes if tensor_fact else (),
        )

    def _outputs(self, fact: NodeFact) -> tuple[Flow, ...]:
        if fact.leaf:
            return (self.flow(0, fact.variable),) if fact.variable else ()
        return tuple(
            self.flow(output, tensor)
            for output, tensor in self.history.autograd.outputs(fact.id, self.moment)
        )

    def _numbers(self, tensor: int, m: int) -> tuple[str, bool]:
        """Return (the first numbers of a tensor at moment m, whether all of them are known to be zero)."""
        fact = self.history.tensor(tensor, m)
        storage = self.history.storage(fact.storage, m) if fact else None
        if fact is None or storage is None or fact.device == "meta" or not fact.numel:
            return "", False
        if fact.extent.span[0] < 0 or fact.extent.span[1] > storage.nbytes:
            return "", False
        dtype = dtype_of(fact.dtype)
        contents = Contents.of(self.history, storage.id, m, storage.nbytes, count=False)
        if fact.numel * fact.itemsize > _LOOKED_AT:
            start = contents.value(dtype, fact.extent.byte((0,) * len(fact.sizes)))
            return ("" if start is None else f"{short(dtype, start)}, ...", False)
        values, known = contents.elements(dtype, fact.extent)
        elements = [
            short(dtype, value) if sure else "?"
            for value, sure in zip(values[:_NUMBERS], known[:_NUMBERS], strict=True)
        ]
        elements += ["..."] if fact.numel > _NUMBERS else []
        return ", ".join(elements), bool(known.all() and not values.any())

    # Buffers

    def _inputs(self, node: int) -> tuple[BufferSlot, ...]:
        table = self.history.autograd.tables.arrivals
        rows = self.run.arrivals_at(node, self.moment)
        numbers = table.input[rows]  # thousands, where one parameter is used thousands of times
        expected = self.run.expected(node)
        # a node that has run consumed its buffer: the content when it ran
        when = min(self.moment, int(self.run.entered[self.run.index(node)]))
        for root, number, _ in self._roots:
            if root == node:
                expected[number] = expected.get(number, 0) + 1
        known = {*numbers.tolist(), *expected}
        known |= set(range(min(max(known, default=-1), _MAX_UNUSED)))  # those that nothing reaches
        return tuple(
            self._slot(number, rows[numbers == number], expected.get(number, 0), when)
            for number in sorted(known)
        )

    def _slot(self, number: int, rows: Any, expected: int, when: int) -> BufferSlot:
        table, some = self.history.autograd.tables.arrivals, len(rows) > 0
        tensor = int(table.sum[rows[-1]]) if some else 0
        flow = self.flow(number, tensor)
        text, zero = self._numbers(tensor, when) if tensor else ("", False)
        real = int((table.tensor[rows] != 0).sum())
        state = "not yet" if not some else "none" if not tensor else "sum" if real > 1 else "one"
        return BufferSlot(
            input=number,
            state="zero" if zero else state,
            tensor=tensor,
            arrived=len(rows),
            expected=max(expected, len(rows)),
            dtype=flow.dtype,
            sizes=flow.sizes,
            text=text,
        )

    def _sent(self, node: int) -> Sequence[int]:
        table = self.history.autograd.tables.exits
        index = self.run.index(node)
        moment = int(self.run.exited[index])
        if moment > self.moment:
            return ()
        count = int(table.n[table.started_by(moment) - 1])
        return _integers(self.history.trace.blob(moment))[:count]

    # Saved tensors and hooks

    def _saved(self, fact: Any) -> SavedBox:
        m = self.moment
        tensor_fact = self.history.described(fact.tensor, m)
        stale = fact.stale <= m and fact.stale < fact.until
        return SavedBox(
            slot=fact.slot,
            name=fact.name,
            tensor=fact.tensor,
            label=self.history.autograd.label(fact.tensor, m),
            dtype=tensor_fact.dtype if tensor_fact else "",
            sizes=tensor_fact.sizes if tensor_fact else (),
            nbytes=tensor_fact.numel * tensor_fact.itemsize if tensor_fact else 0,
            saved=fact.version,
            current=self.history.version(fact.counter, m),
            stale=stale,
            released=fact.until if fact.until <= m else -1,
            unpacked=self._unpacked(fact),
            overwrite=overwrite(self.history, fact, m) if stale else None,
        )

    def _unpacked(self, fact: Any) -> bool:
        if not self.run:
            return False
        table = self.history.autograd.tables.unpacks
        rows = table.until_now("node", fact.node, self.moment)
        rows = rows[(table.slot[rows] == fact.slot) & (table.since[rows] >= self.run.since)]
        return len(rows) > 0

    def _hooks(self, fact: NodeFact) -> tuple[HookRow, ...]:
        """Return the hooks that the pass called for this node, and those that packed its saved tensors."""
        table = self.history.autograd.tables.hooks
        current = self.run.id if self.run else 0
        rows = table.until_now("node", fact.id, self.moment)
        rows = rows[table.run[rows] == current]
        packed = table.until_now("owner", fact.id, self.moment)
        packed = packed[~np.isin(table.kind[packed], GRADIENT_HOOKS)]
        return tuple(
            HookRow(
                moment=int(table.since[row]),
                kind=hook_name(int(table.kind[row])),
                before=int(table.before[row]),
                after=int(table.after[row]),
                replaced=int(table.after[row]) not in (0, int(table.before[row]))
                and table.before[row] != 0,
            )
            for row in sorted([*rows.tolist(), *packed.tolist()])
        )

    def _grad(self, variable: int) -> GradBox:
        fact = self.history.autograd.grad(variable, self.moment)
        if fact is None or not fact.grad:
            return GradBox(0, "", fact.since if fact else -1, "", (), "")
        last = self.history.autograd.last_accumulation(variable, self.moment, fact.grad)
        mode = accumulation_mode(last.mode) if last else ""
        flow = self.flow(0, fact.grad)
        since = max(fact.since, last.moment) if last else fact.since
        text = self._numbers(fact.grad, self.moment)[0]
        return GradBox(fact.grad, mode, since, flow.dtype, flow.sizes, text)


def overwrite(history: History, saved: Any, moment: int) -> Overwrite | None:
    """Describe the write that made a saved tensor stale: operator and line."""
    writes = history.autograd.writes_after(saved, moment)
    if not writes:
        return None
    first = writes[0]
    call = history.call(first.call) if first.call else None
    file, line = (call.file, call.line) if call else (0, 0)
    return Overwrite(
        moment=first.since,
        call=first.call,
        op=call.op if call else "",
        version=first.version,
        file=file,
        line=line,
        code=history.line_text(file, line) if file else "",
        writes=len(writes),
    )


def roots(history: History, run: Any) -> list[tuple[int, int, int]]:
    """Return (node, input, gradient) that the pass began with."""
    integers = _integers(history.trace.blob(run.since))
    return [
        (a, b, c) for a, b, c in zip(integers[::3], integers[1::3], integers[2::3], strict=False)
    ]


def _integers(blob: bytes) -> list[int]:
    return [word for (word,) in struct.iter_unpack("<q", blob[: len(blob) & ~7])]
