"""The steps of the interpreter: when each instruction ran, and the registers of a frame after a step.

A step is recorded with the registers that it wrote. An instruction writes the same registers each
time, so the last write of a register is found by the steps' program counters, and only that event is
read: the cost does not depend on the number of steps. A list or dictionary changes in
place: its recorded value is that of its last store or load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.inspect.events import FOREVER

if TYPE_CHECKING:
    from engine.inspect.history.jit import Jit

Ints = NDArray[np.int64]
MUTABLE = ("list", "dict", "object")
"""Types of values that change where they lie."""


@dataclass(frozen=True, slots=True)
class Written:
    """The value of a register, with the instruction and the event that wrote it."""

    register: int
    value: dict[str, Any]
    pc: int
    moment: int


class Registers:
    """The instructions that ran in the frames of a recording, and their registers."""

    def __init__(self, jit: Jit) -> None:
        self._jit = jit
        self._writes: dict[int, dict[int, list[int]]] = {}  # of a frame: register -> instructions

    def ran(self, ops: tuple[str, ...]) -> Ints:
        """Return the moments at which an instruction of one of these kinds has run, ascending."""
        tables = self._jit.tables
        steps, frames = tables.steps, tables.frames
        if not len(steps) or not len(frames):
            return np.empty(0, np.int64)
        order = np.argsort(frames.id, kind="stable")
        ids = frames.id[order]
        indices = np.minimum(np.searchsorted(ids, steps.frame), len(ids) - 1)
        codes = np.where(ids[indices] == steps.frame, frames.code[order][indices], 0)
        expected = np.zeros(len(steps), bool)
        for number in np.unique(codes).tolist():
            code = self._jit.code(int(number))
            listed = code.instructions if code is not None else ()
            pcs = [at for at, item in enumerate(listed) if item["op"] in ops]
            expected |= (codes == number) & np.isin(steps.pc, pcs)
        return np.sort(steps.since[expected])

    def missed(self) -> Ints:
        """Return the moments of failed guards and of bail-outs, ascending."""
        tables = self._jit.tables
        failed = tables.guards.since[tables.guards.ok == 0]
        return np.sort(np.concatenate([failed, tables.bail_outs.since]))

    def after(self, frame: int, rows: Ints) -> tuple[Written, ...]:
        """Return the non-empty registers after these steps of a frame."""
        steps = self._jit.tables.steps
        pcs = steps.pc[rows]
        matches = []
        for register, writers in sorted(self._writers(frame).items()):
            indices = np.flatnonzero(np.isin(pcs, writers))
            if not len(indices):
                continue
            row = int(rows[indices[-1]])
            moment = int(steps.since[row])
            value = self._jit.json(moment).get("registers", {}).get(str(register))
            if value is None:
                continue
            if value.get("type") in MUTABLE:
                value = self._loaded(frame, rows[indices[-1] :], register) or value
            matches.append(Written(register, value, int(steps.pc[row]), moment))
        return tuple(matches)

    def _loaded(self, frame: int, rows: Ints, register: int) -> dict[str, Any]:
        """Return the value that the last LOAD of a register pushed; {} if there was none."""
        table, steps = self._jit.tables.frames, self._jit.tables.steps
        code = self._jit.code(int(table.code[table.last("id", frame, FOREVER - 1)]))
        listed = code.instructions if code is not None else ()
        loads = [
            at for at, item in enumerate(listed) if item["op"] == "LOAD" and item["x"] == register
        ]
        indices = np.flatnonzero(np.isin(steps.pc[rows], loads))
        if not len(indices):
            return {}
        stack = self._jit.json(int(steps.since[rows[indices[-1]]])).get("stack", [])
        return dict(stack[-1]) if stack else {}

    def _writers(self, frame: int) -> dict[int, list[int]]:
        """Map each register to the instructions that write it, read from the first and last run of
        each."""
        if frame not in self._writes:
            steps = self._jit.tables.steps
            rows = steps.where("frame", frame)
            pcs = steps.pc[rows]
            _, first = np.unique(pcs, return_index=True)
            _, last = np.unique(pcs[::-1], return_index=True)
            results: dict[int, set[int]] = {}
            for index in (*first.tolist(), *(len(rows) - 1 - last).tolist()):
                written = self._jit.json(int(steps.since[rows[index]])).get("registers", {})
                for register in written:
                    results.setdefault(int(register), set()).add(int(pcs[index]))
            self._writes[frame] = {
                register: sorted(writers) for register, writers in results.items()
            }
        return self._writes[frame]
