"""Explanations of exceptions: their meaning, the recorded facts that led to them, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING

from engine.inspect.history.failure import Failure, Operand
from engine.inspect.history.why import Answer, location, why_no_grad, why_stale

if TYPE_CHECKING:
    from engine.inspect.history import History

Explain = Callable[["History", Failure], Answer]


def why_failed(history: History, failure: Failure) -> Answer:
    """Explain an exception by its kind, or an unknown one by its line and names."""
    for pattern, explain in _RULES:
        if re.search(pattern, failure.message):
            return explain(history, failure)
    return _unknown(history, failure)


def _answer(failure: Failure, text: str, *facts: str) -> Answer:
    return Answer(text, tuple(fact for fact in facts if fact), failure.moment)


def _described(operand: Operand) -> str:
    sizes = " × ".join(map(str, operand.sizes)) or "()"
    return f"{operand.name} is {operand.label}: {operand.dtype}, sizes {sizes}, on {operand.device}"


def _raised(history: History, failure: Failure) -> str:
    event = f"{failure.op} failed" if failure.op else f"{failure.type} was raised"
    return f"{event}{location(history, failure.moment)}"


def _shape(history: History, failure: Failure) -> Answer:
    pairs = [
        f"{operand.label} has size {size} in dimension {i}"
        for operand in failure.operands
        for i, (size, wrong) in enumerate(zip(operand.sizes, operand.wrong, strict=True))
        if wrong
    ]
    text = f"The shapes do not fit: {_raised(history, failure)}"
    rule = "Sizes have to be equal where tensors meet; when broadcasting, a size of 1 also fits."
    if "multiplied" in failure.message:
        rule = (
            "A product needs as many columns in the first matrix as there are rows in the second."
        )
        if failure.op == "linear":
            rule = "The last dimensions of the input and of the weight (in_features) must be equal."
    origins = [_origin(history, operand, failure.moment) for operand in failure.operands]
    facts = [*map(_described, failure.operands), *pairs, *filter(None, origins)]
    return _answer(failure, text, *facts, rule)


def _origin(history: History, operand: Operand, m: int) -> str:
    if not any(operand.wrong):
        return ""
    table = history.tables.tensors
    rows = table.until_now("id", operand.tensor, m)
    at = location(history, int(table.since[rows[0]])) if len(rows) else ""
    return f"{operand.label} got its sizes{at}" if at else ""


def _in_place(history: History, failure: Failure) -> Answer:
    stale = {saved.node for saved in history.autograd.stale(failure.moment)}
    run = history.autograd.run_at(failure.moment)
    reached = {node for node in stale if run is not None and run.order_of(node, failure.moment)}
    nodes = sorted(
        stale, key=lambda node: (node not in reached, -node)
    )  # the node that failed first, if several
    answers = [each for node in nodes for each in why_stale(history, node, failure.moment)]
    text = f"A saved tensor was overwritten before backward needed it: {_raised(history, failure)}"
    facts = [fact for each in answers for fact in (each.text, *each.facts)]
    remedy = (
        "Make a new tensor (h = h + 1 in place of h += 1 or h.add_(1)), or clone() the tensor before it "
        "is changed."
    )
    return Answer(text, (*facts, remedy), answers[0].moment if answers else failure.moment)


def _freed(history: History, failure: Failure) -> Answer:
    autograd = history.autograd
    run = autograd.run_at(failure.moment)
    nodes = run.running(min(failure.moment, run.until - 1)).tolist() if run is not None else []
    facts = []
    for node in nodes:
        saves = autograd.tables.saves
        released = saves.until[saves.where("node", node)]
        released = released[released <= failure.moment]
        earlier = autograd.run_at(int(released[-1])) if len(released) else None
        if earlier is None:
            continue
        facts.append(
            f"the backward pass at event {earlier.since:,}{location(history, earlier.since)} freed the saved "
            "tensors of its graph"
        )
        since = autograd.since(node)
        facts.append(
            f"node {autograd.describe_node(node)} was made before that, at event {since:,}"
            f"{location(history, since)}; the new graph leads to it"
        )
    remedy = (
        "Compute the loss again before each backward(); retain_graph=True keeps the saved tensors for "
        "one more pass; a result of an earlier step needs detach()."
    )
    text = f"The graph was freed by an earlier backward pass: {_raised(history, failure)}"
    return _answer(failure, text, *facts, remedy)


def _no_graph(history: History, failure: Failure) -> Answer:
    text = f"There is nothing to differentiate: {_raised(history, failure)}"
    frame = history.frame_at(failure.moment)
    code = history.line_text(failure.file, failure.line)
    facts = []
    for name in history.names_at(failure.moment, frame):
        if name.tensor and re.search(rf"\b{re.escape(name.name)}\b", code):
            answer = why_no_grad(history, name.tensor, failure.moment)
            facts += [answer.text, *answer.facts]
    remedy = (
        "backward() needs a tensor that was computed, with gradients on, from one with "
        "requires_grad=True; detach(), item(), no_grad() and integer dtypes end the graph."
    )
    return _answer(failure, text, *facts, remedy)


def _implicit(history: History, failure: Failure) -> Answer:
    text = f"backward() without an argument starts from one number: {_raised(history, failure)}"
    return _answer(
        failure,
        text,
        "Reduce first (sum() or mean()), or pass a gradient of the same shape.",
    )


def _leaf(history: History, failure: Failure) -> Answer:
    text = (
        f"A leaf that requires a gradient must not be changed in place: {_raised(history, failure)}"
    )
    remedy = "Change it under torch.no_grad(), as optimizers do, or work on a copy: x = x + 1."
    return _answer(failure, text, *map(_described, failure.operands), remedy)


def _dtype(history: History, failure: Failure) -> Answer:
    text = f"The dtypes do not fit: {_raised(history, failure)}"
    remedy = "Convert one side: x.to(other.dtype), x.float(), or create it with dtype=."
    if "Long" in failure.message:
        remedy = "Indices and classes are integers: convert them with .long()."
    return _answer(failure, text, *map(_described, failure.operands), remedy)


def _device(history: History, failure: Failure) -> Answer:
    text = f"The devices do not fit: {_raised(history, failure)}"
    remedy = "Move model and data to one device with .to(device) before they meet."
    return _answer(failure, text, *map(_described, failure.operands), remedy)


def _index(history: History, failure: Failure) -> Answer:
    text = f"An index is outside its dimension: {_raised(history, failure)}"
    remedy = "Valid indices of a dimension of size n are -n to n - 1; for classes and embeddings 0 to n - 1."
    return _answer(failure, text, *map(_described, failure.operands), remedy)


def _gradient_count(history: History, failure: Failure) -> Answer:
    text = f"backward() of a Function returned too few or too many gradients: {_raised(history, failure)}"
    remedy = (
        "backward() has to return one gradient for each argument of forward() after ctx, in their "
        "order, and None for an argument without a gradient."
    )
    return _answer(failure, text, *_backward_pass(history, failure.moment), remedy)


def _worker(history: History, failure: Failure) -> Answer:
    """Explain the exception of a worker: its message is the traceback of another process."""
    lines = failure.message.strip().split("\n")
    frames = re.findall(r'File "(.*)", line (\d+), in (.*)', failure.message)
    text = f"A DataLoader worker failed with {lines[-1]}: {_raised(history, failure)}"
    facts = [
        f"the worker raised it on line {line} of {PurePath(path).name}, in {function}"
        for path, line, function in frames[-1:]
    ]
    remedy = "Worker processes are not recorded: with num_workers=0 the dataset runs here, and is."
    return _answer(failure, text, *facts, remedy)


def _backward_pass(history: History, m: int) -> list[str]:
    """Return the running nodes and the line that started the backward pass, if it failed there."""
    run, line = history.autograd.run_at(m), history.line_at(m)
    ended = run is not None and run.until <= m
    if run is None or line is None or (ended and not (run.failed and run.since >= line.since)):
        return []
    facts = [f"it happened in the backward pass that was started{location(history, run.since)}"]
    for node in run.running(min(m, run.until - 1)).tolist():
        origin = location(history, history.autograd.since(node))
        facts.append(
            f"node {history.autograd.describe_node(node)} was running, which was made{origin}"
        )
    return facts


def _unknown(history: History, failure: Failure) -> Answer:
    names = history.names_at(failure.moment, history.frame_at(failure.moment))
    code = history.line_text(failure.file, failure.line)
    facts = list(map(_described, failure.operands))
    for name in names:
        if re.search(rf"\b{re.escape(name.name)}\b", code):
            label = f"tensor #{name.tensor}" if name.tensor else name.text
            facts.append(f"{name.name} was {label}")
    facts += _backward_pass(history, failure.moment)
    functions = {frame.id: frame.function for frame in history.frames_at(failure.moment)}
    for line in reversed(history.lines_at(failure.moment)[:-1]):
        facts.append(
            f"called by {functions[line.frame]} on line {line.line} of {PurePath(line.path).name}"
        )
    return _answer(failure, _raised(history, failure), *facts)


_RULES: tuple[tuple[str, Explain], ...] = (
    (r"^Caught \w+ in DataLoader worker", _worker),
    (r"modified by an in-?place operation", _in_place),
    (r"backward through the graph a second time", _freed),
    (r"does not require grad and does not have a grad_fn", _no_graph),
    (r"grad can be implicitly created only", _implicit),
    (r"leaf Variable that requires grad", _leaf),
    (r"returned an incorrect number of gradients", _gradient_count),
    (r"same device|compiled with CUDA|No CUDA|device type", _device),
    (r"out of bounds|out of range", _index),
    (r"same dtype|scalar type|expected .* dtype|floating point and complex dtype", _dtype),
    (
        r"must match|cannot be multiplied|do not broadcast|is invalid for input of size|channels|"
        r"Expected size|equal size|tensor size|batch_size|sizes? .*(differ|mismatch)",
        _shape,
    ),
)
