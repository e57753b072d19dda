"""What can be asked about what is selected: who wrote it, who owns it, how would one write it down.

Each takes the stage and answers in one sentence; the first two also go there.
"""

from __future__ import annotations

from dataclasses import replace

from tui.stage import Stage

EVERYTHING = 2**62  # past the end of any storage


def who_wrote(stage: Stage) -> str:
    """To the last write of the selected cell or tensor; again: to the one before that."""
    history = stage.history
    storage, lo, hi = pointed_at(stage)
    if not storage:
        return "select a cell, a tensor or a storage first"
    already = (
        history.event(stage.moment).kind == "WRITE"
    )  # then ask about the write before this one
    writes = history.tables.writes
    rows = writes.until_now("storage", storage, stage.moment - already)
    hits = [row for row in rows[::-1] if writes.lo[row] < hi and writes.hi[row] > lo]
    if not hits:
        return f"nothing wrote to this part of storage {storage} before event {stage.moment:,}"
    stage.remember()
    stage.move(int(writes.since[hits[0]]))
    number, line = int(writes.call[hits[0]]), stage.line()
    place = {"file": line.file, "line": line.line} if line else {"file": 0, "line": 0}
    stage.selection = replace(stage.selection, call=number, **place)
    call = history.call(number) if number else None
    by = f"operator {call.op}" if call else "something outside the engine"
    where = f" on line {line.line}" if line else ""
    return f"written by {by}{where}; w again for the write before, Backspace returns"


def pointed_at(stage: Stage) -> tuple[int, int, int]:
    """(storage, first byte, byte after the last) of what is selected; storage 0: nothing is."""
    chosen = stage.selection
    tensor = stage.history.tensor(chosen.tensor, stage.moment) if chosen.tensor else None
    if chosen.byte >= 0 and chosen.storage:
        return chosen.storage, chosen.byte, chosen.byte + (tensor.itemsize if tensor else 1)
    if tensor is not None:
        lo, hi = tensor.span
        return tensor.storage, lo, max(hi, lo + 1)
    return chosen.storage, 0, EVERYTHING


def who_owns(stage: Stage) -> str:
    """To the object view, where every holder is named; the sum is the answer."""
    history, chosen, moment = stage.history, stage.selection, stage.moment
    if not chosen.tensor and not chosen.storage:
        return "select a name, a tensor or a storage first"
    if chosen.tensor and history.tensor(chosen.tensor, moment) is not None:
        found = history.owners(chosen.tensor, moment)
        owners, what = found.object or found.impl, f"tensor {history.label(chosen.tensor, moment)}"
    elif chosen.storage:
        owners, what = history.storage_owners(chosen.storage, moment), f"storage {chosen.storage}"
    else:
        return f"tensor {chosen.tensor} does not exist at event {moment:,}"
    stage.remember()
    stage.show_view("object")
    names = " + ".join(f"{holder.name or holder.kind} {holder.count}" for holder in owners.holders)
    return (
        f"{what} is held {owners.count} times: {names}" if names else f"{what}: no holder is known"
    )


def copy_text(stage: Stage) -> str:
    """What is selected, as one would write it down."""
    chosen = stage.selection
    tensor = stage.history.tensor(chosen.tensor, stage.moment) if chosen.tensor else None
    if tensor is None:
        return f"event {stage.moment}: {stage.sentence()}"
    label = stage.history.label(chosen.tensor, stage.moment)
    cell = f", byte {chosen.byte}" if chosen.byte >= 0 else ""
    return (
        f"{label}: tensor {tensor.id}, {tensor.dtype}, sizes {tensor.sizes}, strides {tensor.strides}, "
        f"offset {tensor.offset}, storage {tensor.storage}{cell}, at event {stage.moment}"
    )


def copy_python(stage: Stage) -> str:
    """What is selected as a Python expression, as far as its name allows; "" if nothing is."""
    chosen = stage.selection
    tensor = stage.history.tensor(chosen.tensor, stage.moment) if chosen.tensor else None
    if tensor is None:
        return ""
    names = stage.history.names_of(chosen.tensor, stage.moment)
    if names:
        cell = f"[{', '.join(map(str, chosen.index))}]" if chosen.index else ""
        return names[0].name + cell
    return f"torch.as_strided(storage_{tensor.storage}, {tensor.sizes}, {tensor.strides}, {tensor.offset})"
