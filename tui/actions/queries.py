"""Queries about the selection: who wrote it, who owns it, why it is what it is, how to write it down.

Each takes the navigator and answers in one sentence; the first two also go there. `why` has a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.inspect.history.facts import Holder
from engine.inspect.history.why import Answer, why_alive, why_no_grad, why_stale
from engine.inspect.layout import Extent
from engine.inspect.models._wording import writer
from engine.inspect.selection import CallSelection, LineSelection
from tui.navigator import Navigator
from tui.render import Glyphs, Target
from tui.render.target import OwnersPage
from tui.views import Page, views


def who_wrote(nav: Navigator) -> str:
    """To the last write of the selected cell or tensor; again: to the one before that. Of a Value of the
    JIT: to what made it; again: to what that was made from."""
    if (sentence := nav.shown.who_wrote(nav)) is not None:
        return sentence
    history = nav.history
    storage, place = pointed_at(nav)
    if not storage:
        return "select a cell, a tensor or a storage first"
    # on a write already: ask about the one before it
    again = history.event(nav.moment).kind == "WRITE"
    write = history.last_write(storage, -1 if place is None else place, nav.moment - again)
    if write is None:
        part = f"this part of storage {storage}" if place else f"storage {storage}"
        return f"nothing wrote to {part} before event {nav.moment:,}"
    nav.remember()
    nav.move(write.moment)
    line = nav.line()
    nav.selection = replace(
        nav.selection,
        call=CallSelection(write.call) if write.call else None,
        line=LineSelection(line.file, line.line) if line else None,
    )
    where = f" on line {line.line}" if line else ""
    by = writer(history, write)
    return f"written by {by}{where}; w: previous write; Backspace: back"


def pointed_at(nav: Navigator) -> tuple[int, Extent | None]:
    """The storage and the place in it that is selected; storage 0: nothing is; no place: all of it."""
    chosen = nav.selection
    tensor = nav.history.tensor(chosen.tensor, nav.moment) if chosen.tensor else None
    if chosen.cell is not None and chosen.cell.byte is not None and chosen.storage:
        size = tensor.itemsize if tensor else 1
        return chosen.storage, Extent.stretch(chosen.cell.byte, chosen.cell.byte + size)
    if tensor is not None:
        return tensor.storage, tensor.extent if tensor.numel else None
    return chosen.storage, None


def who_owns(nav: Navigator) -> str:
    """To the object view, where every holder is named; the sum is the answer. Of a Value of the JIT: who
    reads it."""
    if (sentence := nav.shown.who_owns(nav)) is not None:
        return sentence
    history, chosen, moment = nav.history, nav.selection, nav.moment
    if not chosen.tensor and not chosen.storage:
        return "select a name, a tensor or a storage first"
    if chosen.tensor and history.tensor(chosen.tensor, moment) is not None:
        found = history.owners(chosen.tensor, moment)
        owners, what = found.object or found.impl, f"tensor {history.label(chosen.tensor, moment)}"
        others = (
            [one for one in found.impl.holders if one.kind != "WRAPPER"] if found.object else []
        )
    elif chosen.storage:
        owners, what = history.storage_owners(chosen.storage, moment), f"storage {chosen.storage}"
        others = []
    else:
        return f"tensor {chosen.tensor} does not exist at event {moment:,}"
    nav.remember()
    nav.open(Target(OwnersPage()))
    if not owners.holders:
        return f"{what}: no holder is known"
    also = f"; its TensorImpl also by {_named(others)}" if others else ""
    return f"{what} is held {owners.count} times: {_named(owners.holders)}{also}"


def _named(holders: Sequence[Holder]) -> str:
    return " + ".join(f"{holder.name or holder.kind} {holder.count}" for holder in holders)


def details(nav: Navigator, glyphs: Glyphs) -> Page | None:
    """Everything about what is in focus in the view that is shown, else in the first that has details."""
    for each in (nav.shown, *views().values()):
        if (page := each.details(nav, glyphs)) is not None:
            return page
    return None


def why(nav: Navigator) -> str:
    """Why what is selected (or everything that is stale) is as it is, as the Markdown of a page."""
    history, moment, chosen = nav.history, nav.moment, nav.selection
    if moment < 0:
        return "nothing was recorded"
    if (page := nav.shown.why(nav)) is not None:
        return page
    parts: list[str] = []
    tensor = chosen.tensor if history.tensor(chosen.tensor, moment) is not None else 0
    nodes = [chosen.node.node] if chosen.node else []
    fact = history.tensor(tensor, moment) if tensor else None
    for saved in history.autograd.stale(moment):
        asked = saved.storage == fact.storage if fact is not None else not chosen.node
        nodes += [saved.node] if asked else []
    for node in dict.fromkeys(nodes):
        for answer in why_stale(history, node, moment):
            parts += _page("What wrote a saved tensor?", answer)
    if chosen.node and not tensor:
        tensor = history.autograd.variable(chosen.node.node)
    if tensor:
        label = history.label(tensor, moment)
        parts += _page(f"Why is {label}.grad what it is?", why_no_grad(history, tensor, moment))
        parts += _page(f"What keeps {label} alive?", why_alive(history, tensor, moment))
    return (
        "\n".join(parts) or "no saved tensor was overwritten; select a tensor or a node to ask more"
    )


def _page(question: str, answer: Answer) -> list[str]:
    where = f"See event {answer.moment:,}: `g`, then its number." if answer.moment >= 0 else ""
    facts = [f"- {fact}" for fact in answer.facts]
    return [f"# {question}", "", f"{answer.text}.", "", *facts, "", where, ""]


def copy_text(nav: Navigator) -> str:
    """The selection in words, for the clipboard."""
    chosen = nav.selection
    tensor = nav.history.tensor(chosen.tensor, nav.moment) if chosen.tensor else None
    if tensor is None:
        return f"event {nav.moment}: {nav.sentence()}"
    label = nav.history.label(chosen.tensor, nav.moment)
    byte = chosen.cell.byte if chosen.cell is not None else None
    cell = "" if byte is None else f", byte {byte}"
    return (
        f"{label}: tensor {tensor.id}, {tensor.dtype}, sizes {tensor.sizes}, strides {tensor.strides}, "
        f"offset {tensor.offset}, storage {tensor.storage}{cell}, at event {nav.moment}"
    )


def copy_python(nav: Navigator) -> str:
    """The selection as a Python expression, as far as its name allows; "" if nothing is."""
    chosen = nav.selection
    tensor = nav.history.tensor(chosen.tensor, nav.moment) if chosen.tensor else None
    if tensor is None:
        return ""
    names = nav.history.names_of(chosen.tensor, nav.moment)
    if names:
        index = chosen.cell.index if chosen.cell is not None else None
        cell = f"[{', '.join(map(str, index))}]" if index else ""
        return names[0].name + cell
    return f"torch.as_strided(storage_{tensor.storage}, {tensor.sizes}, {tensor.strides}, {tensor.offset})"
