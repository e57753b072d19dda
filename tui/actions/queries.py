"""Queries about the selection: who wrote it, who owns it, why it is as it is, and copies of it.

Each takes the navigator and returns one sentence; the first two also move to the answer. `why` has a page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from engine.inspect.history import History
from engine.inspect.history.facts import Holder, WriteFact
from engine.inspect.history.failure import Failure, failure_at
from engine.inspect.history.why import Answer, why_alive, why_no_grad, why_stale
from engine.inspect.history.why_failed import why_failed
from engine.inspect.history.why_node import why_node_alive, why_node_runs
from engine.inspect.layout import Extent
from engine.inspect.models._wording import writer
from engine.inspect.selection import CallSelection, LineSelection
from tui.navigator import Navigator
from tui.render import Glyphs, Target
from tui.render.target import OwnersPage
from tui.views import Page, views

MAX_OVERWRITTEN = 2  # saved tensors that a page explains one by one


def who_wrote(nav: Navigator) -> str:
    """Go to the last write of the selected cell or tensor; again: to the previous write. For an IR
    Value: to its definition; again: to its origin."""
    if (sentence := nav.active_view.who_wrote(nav)) is not None:
        return sentence
    history = nav.history
    storage, extent = pointed_at(nav)
    if not storage:
        return "select a cell, a tensor or a storage first"
    # on a write already: query the previous one
    again = history.event(nav.moment).kind == "WRITE"
    write = last_write(nav, nav.moment - again)
    if write is None:
        part = f"this part of storage {storage}" if extent else f"storage {storage}"
        return f"nothing wrote to {part} before event {nav.moment:,}"
    nav.remember()
    nav.move(write.moment)
    line = nav.line()
    nav.selection = replace(
        nav.selection,
        call=CallSelection(write.call) if write.call else None,
        line=LineSelection(line.file, line.line) if line else None,
    )
    location = f" on line {line.line}" if line else ""
    by = writer(history, write)
    return f"written by {by}{location}; w: previous write; Backspace: back"


def last_write(nav: Navigator, moment: int | None = None) -> WriteFact | None:
    """Return the newest write to the selection up to a moment (None: the current one)."""
    storage, extent = pointed_at(nav)
    if not storage:
        return None
    moment = nav.moment if moment is None else moment
    return nav.history.last_write(storage, -1 if extent is None else extent, moment)


def pointed_at(nav: Navigator) -> tuple[int, Extent | None]:
    """Return the selected storage and extent. Storage 0: nothing is selected; no extent: all of it."""
    selection = nav.selection
    tensor = nav.history.tensor(selection.tensor, nav.moment) if selection.tensor else None
    if selection.cell is not None and selection.cell.byte is not None and selection.storage:
        size = tensor.itemsize if tensor else 1
        return selection.storage, Extent.stretch(selection.cell.byte, selection.cell.byte + size)
    if tensor is not None:
        return tensor.storage, tensor.extent if tensor.numel else None
    return selection.storage, None


def who_owns(nav: Navigator) -> str:
    """Go to the object view, which names every holder. For an IR Value: list its uses."""
    if (sentence := nav.active_view.who_owns(nav)) is not None:
        return sentence
    history, selection, moment = nav.history, nav.selection, nav.moment
    if not selection.tensor and not selection.storage:
        return "select a name, a tensor or a storage first"
    if selection.tensor and history.tensor(selection.tensor, moment) is not None:
        counts = history.owners(selection.tensor, moment)
        owners, subject = (
            counts.object or counts.impl,
            f"tensor {history.label(selection.tensor, moment)}",
        )
        others = (
            [each for each in counts.impl.holders if each.kind != "WRAPPER"]
            if counts.object
            else []
        )
    elif selection.storage:
        owners, subject = (
            history.storage_owners(selection.storage, moment),
            f"storage {selection.storage}",
        )
        others = []
    else:
        return f"tensor {selection.tensor} does not exist at event {moment:,}"
    nav.remember()
    nav.open(Target(OwnersPage()))
    if not owners.holders:
        return f"{subject}: no holder is known"
    also = f"; its TensorImpl also by {_named(others)}" if others else ""
    count = "once" if owners.count == 1 else f"{owners.count} times"
    return f"{subject} is held {count}: {_named(owners.holders)}{also}"


def _named(holders: Sequence[Holder]) -> str:
    return " + ".join(f"{holder.name or holder.kind} {holder.count}" for holder in holders)


def details(nav: Navigator, glyphs: Glyphs) -> Page | None:
    """Return the details of the active view, else of the first view that has any."""
    for each in (nav.active_view, *views().values()):
        if (page := each.details(nav, glyphs)) is not None:
            return page
    return None


def why(nav: Navigator) -> str:
    """Explain the selection, or every stale tensor, as the Markdown of a page."""
    history, moment, selection = nav.history, nav.moment, nav.selection
    if moment < 0:
        return "nothing was recorded"
    if (page := nav.active_view.why(nav)) is not None:
        return page
    parts: list[str] = []
    failure = failure_at(history, moment)
    if failure is not None:
        parts += [*_title(failure), *_page("Why?", why_failed(history, failure))]
        if not selection:
            return "\n".join(parts)
    focus = 0 if selection else nav.active_view.focus_node(nav)
    tensor = selection.tensor if history.tensor(selection.tensor, moment) is not None else 0
    subject = selection.node.node if selection.node else focus
    if subject:
        parts += _page("Does this node run next?", why_node_runs(history, subject, moment))
        parts += _page("What keeps this node alive?", why_node_alive(history, subject, moment))
    overwritten = _overwritten(nav, subject, tensor)
    if selection.node and not tensor:
        tensor = history.autograd.variable(selection.node.node)
    for each in () if selection else grads_read(nav):
        parts += _page(_question(history, each, moment), why_no_grad(history, each, moment))
    if tensor:
        label = history.label(tensor, moment)
        parts += _page(_question(history, tensor, moment), why_no_grad(history, tensor, moment))
        parts += _page(f"What keeps {label} alive?", why_alive(history, tensor, moment))
    parts += overwritten
    return "\n".join(parts) or (
        "No saved tensor was overwritten. Select a tensor (`a`) or a node to ask about it."
    )


def _question(history: History, tensor: int, moment: int) -> str:
    """Return the question of a user about a .grad, which depends on whether it is None."""
    label, grad = history.label(tensor, moment), history.autograd.grad(tensor, moment)
    is_none = grad is None or not grad.grad
    return f"Why is {label}.grad None?" if is_none else f"Where does {label}.grad come from?"


def _overwritten(nav: Navigator, node: int, tensor: int) -> list[str]:
    """Return the saved tensors that were written since: of the node, of the tensor's storage, or all."""
    history, moment = nav.history, nav.moment
    fact = history.tensor(tensor, moment) if tensor else None
    nodes = [node] if node else []
    for saved in history.autograd.stale(moment):
        is_selected = saved.storage == fact.storage if fact is not None else not node
        nodes += [saved.node] if is_selected else []
    answers = [each for stale in dict.fromkeys(nodes) for each in why_stale(history, stale, moment)]
    parts: list[str] = []
    for answer in answers[:MAX_OVERWRITTEN]:
        parts += _page("What wrote a saved tensor?", answer)
    if len(answers) > MAX_OVERWRITTEN:
        parts += [f"- {len(answers) - MAX_OVERWRITTEN} more saved tensors were written since.", ""]
    return parts


def grads_read(nav: Navigator) -> list[int]:
    """Return the tensors whose .grad the current line reads."""
    line, history = nav.line(), nav.history
    if line is None:
        return []
    code = history.line_text(line.file, line.line)
    names = history.names_at(nav.moment, history.frame_at(nav.moment))
    read = {
        each.tensor
        for each in names
        if re.search(rf"(?<![\w.]){re.escape(each.label)}\.grad\b", code)
    }
    return sorted(read - {0})


def _title(failure: Failure) -> list[str]:
    """Return a heading. A message of several lines (a worker's traceback) or with characters of Markdown is
    unchanged."""
    if any(text in failure.message for text in ("\n", "*", "`", "](")):
        return [f"# {failure.type}", "", "```text", *failure.message.splitlines(), "```", ""]
    return [f"# {failure.title}", ""]


def _page(question: str, answer: Answer) -> list[str]:
    link = f"[event {answer.moment:,}](event:{answer.moment})"
    hint = f"It happened at {link}." if answer.moment >= 0 else ""
    facts = [f"- {fact}" for fact in answer.facts]
    return [f"# {question}", "", f"{answer.text}.", "", *facts, "", hint, ""]


def copy_text(nav: Navigator) -> str:
    """Describe the selection, for the clipboard."""
    selection = nav.selection
    tensor = nav.history.tensor(selection.tensor, nav.moment) if selection.tensor else None
    if tensor is None:
        return f"event {nav.moment}: {nav.sentence()}"
    label = nav.history.label(selection.tensor, nav.moment)
    byte = selection.cell.byte if selection.cell is not None else None
    cell = "" if byte is None else f", byte {byte}"
    return (
        f"{label}: tensor {tensor.id}, {tensor.dtype}, sizes {tensor.sizes}, strides {tensor.strides}, "
        f"offset {tensor.offset}, storage {tensor.storage}{cell}, at event {nav.moment}"
    )


def copy_python(nav: Navigator) -> str:
    """Return the selection as a Python expression, if its name allows it; "" without a selection."""
    selection = nav.selection
    tensor = nav.history.tensor(selection.tensor, nav.moment) if selection.tensor else None
    if tensor is None:
        return ""
    names = nav.history.names_of(selection.tensor, nav.moment)
    if names:
        index = selection.cell.index if selection.cell is not None else None
        cell = f"[{', '.join(map(str, index))}]" if index else ""
        return names[0].name + cell
    return f"torch.as_strided(storage_{tensor.storage}, {tensor.sizes}, {tensor.strides}, {tensor.offset})"
