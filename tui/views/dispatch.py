"""A call through the dispatcher: which keys its arguments bring, which kernels run, what they loop over,
and the declaration that all of it was generated from."""

from __future__ import annotations

from collections.abc import Sequence

from engine.inspect.declarations import Origin
from engine.inspect.models._wording import shape_text
from engine.inspect.models.dispatch import (
    ArgumentRow,
    CallRow,
    DispatchModel,
    HopRow,
    PlanRow,
    TensorRow,
)
from engine.inspect.selection import CallSelection, TensorSelection
from tui.render import Glyphs, Line, Picture, Span, Target, cells, clean, cut, fit
from tui.views._cells import facts, numbers_text, padded, wrapped
from tui.views._view import DrawContext, View
from tui.views.queue import items_text

HELP = {
    "keys": "A dispatch key is a bit: the tensor needs this kind of work. Each tensor has a set of them.",
    "◆": "This argument (or the union) has the key of this row.",
    "union": "The keys of all arguments together: the dispatcher looks at nothing else.",
    "▸": "The kernel on the right ran: of the remaining keys, this was the highest with a kernel.",
    "falls through": "The operator has no kernel for this key: the next one below is tried.",
    "hop": "One choice of the dispatcher. A kernel may redispatch to the keys below.",
    "+4 us for 8 us": "The time from the start of the call to the hop, and from there to the next hop "
    "or the end; a time alone is the latter. All times include the work of the recorder.",
    "us": "Microseconds: millionths of a second. ns: a thousandth of that.",
    "not yet": "This part of the call is later than this moment.",
    "result": "The result of the shape rule: sizes, strides and dtype.",
    "plan": "The loop that the kernel ran: dimensions merged and reordered, the outermost first.",
    "contiguous": "A loop over adjacent elements: full vector loads and stores.",
    "scalar-broadcast": "Like contiguous, with an operand that is a single element.",
    "transposed in tiles": "An operand is transposed: small tiles of it are transposed in a buffer "
    "that fits the first cache, so that the loop reads adjacent elements.",
    "strided": "A loop with steps over memory: one element at a time, gathered into a tile for arithmetic.",
    "one element": "Nothing to loop over.",
    "one row": "A reduction of adjacent elements to one.",
    "row by row": "A reduction that folds the elements of one result after the other.",
    "columns side by side": "A reduction that computes many adjacent results at once, row after row.",
    "matrix product": "blocked: OpenBLAS, in blocks that fit the caches. small: a plain loop, which "
    "is faster than a call of OpenBLAS. The last dimension is summed over.",
    "bytes a step": "The distance in each operand of one step along the dimension. 0: the same element again.",
    "x86-64-v2, v3, v4": "Sets of instructions: with vectors of 16, 32 (AVX2) and 64 bytes (AVX-512).",
    "fused group": "Operators that the compiler made one kernel of; the fused view shows its steps.",
    "enqueued": "The kernels and copies that this call put into a device's queue; the device runs them later.",
    "kernel": "The source of such a kernel, which the device's driver compiled at run time.",
    "inside": "The calls inside this one; a composite operator consists only of such calls.",
    "▶": "This call, among those of the same tree or line.",
    "✖": "The call failed.",
    "from": "The one entry in csrc/ops that declares the operator.",
    "library": "The shared object that registered the operator: load_library or an import loaded it.",
    "source": "The UH_LIBRARY block, or the line of Python, that defined the operator.",
    "becomes": "The code that the generator wrote from the entry: compiled into the engine, or installed in Python.",
    "# - { } [ ] | > \" ' * & ! ; < / ? + % ~ @ ^ `": "In the entry and below it: YAML, C++, the schema as they are.",
    "…": "Truncated, or more than fits.",
}

COLUMN = 7  # cells of an argument's column in the table of keys
COLUMNS = 6  # arguments that have their own column
SIDE = 100  # columns from which the entry and the generated code are side by side


class DispatchView(View):
    name = "dispatch"
    key = "8"
    title = "Dispatch"
    summary = "A call through the dispatcher."
    help = HELP

    def draw(self, model: DispatchModel, context: DrawContext) -> Picture:
        """Draw from the top: the call, its arguments, the table of keys, result, loop, calls inside, origin."""
        width = context.width
        if model.group:
            group = [
                *_group(model, context),
                (),
                *_commands(model, context),
                *_kernels(model, context),
            ]
            return Picture.of([_clipped(line, context) for line in group], width)
        if not model.call:
            return Picture.of([(), (Span("  " + model.why, "dim"),)], width)
        lines: list[Line] = [_head(model, context)]
        lines += wrapped(model.schema, width - 2, "dim", 1)
        if model.regions:
            lines.append(_regions(model, context))
        lines += [(), *_arguments(model, context), ()]
        lines += [*_keys(model, context), ()]
        lines += [*_results(model, context), ()]
        for plan in model.plans:
            lines += [*_plan(plan), ()]
        if model.commands:
            lines += [*_commands(model, context), ()]
        if len(model.tree) > 1:
            lines += [*_calls("inside", model.tree, context), ()]
        if len(model.neighbours) > 1:
            lines += [*_calls(f"line {model.line}", model.neighbours, context), ()]
        lines += _origin(model, context)
        lines += _kernels(model, context)
        return Picture.of([_clipped(line, context) for line in lines], width)


def _clipped(line: Line, context: DrawContext) -> Line:
    """Return the line, cut at the width with an ellipsis."""
    if sum(span.width for span in line) <= context.width:
        return line
    clipped, x = [], 0
    for span in line:
        text = cut(span.text, context.width - x, context.glyphs.ellipsis)
        clipped.append(Span(text, span.style, span.target))
        x += cells(text)
        if text != span.text:
            break
    return tuple(clipped)


def _head(model: DispatchModel, context: DrawContext) -> Line:
    location = f"  line {model.line}: {model.code}" if model.line else ""
    pairs = [
        (model.name, "op"),
        (f"  call {model.call}", "head"),
        (f"  {model.time}", "number"),
        ("  still running" if model.running else "", "warn"),
        (location, "dim"),
    ]
    return facts(pairs, context.width, context.glyphs.ellipsis)


def _regions(model: DispatchModel, context: DrawContext) -> Line:
    """Return `in profile ▸ Normal.sample`: the regions that the call is part of."""
    spans = [Span(" in", "dim")]
    for region in model.regions:
        glyph = "" if len(spans) == 1 else f" {context.glyphs.arrow}"
        spans += [Span(f"{glyph} ", "dim"), Span(region.name, "name", Target(event=region.moment))]
    return tuple(spans)


def _heading(title: str, about: str = "") -> Line:
    return (Span(f" {title}", "head"), Span(f"  {about}" if about else "", "dim"))


# Arguments


def _arguments(model: DispatchModel, context: DrawContext) -> list[Line]:
    name = min(18, max((cells(a.name) for a in model.arguments), default=0))
    lines: list[Line] = [_heading("arguments", "" if model.arguments else "none")]
    for argument in model.arguments:
        first, *rest = _argument(argument, context)
        lines.append(
            (
                Span("   "),
                *padded(argument.name, name + 2, "name", ellipsis=context.glyphs.ellipsis),
                *first,
            )
        )
        lines += [(Span(" " * (name + 5)), *line) for line in rest]
    return lines


def _argument(argument: ArgumentRow, context: DrawContext) -> list[Line]:
    if not argument.tensors:
        return [(Span(cut(clean(argument.text), 60, context.glyphs.ellipsis), "number"),)]
    rows = [_tensor(row, context) for row in argument.tensors[:8]]
    if len(argument.tensors) > len(rows):
        more = len(argument.tensors) - len(rows)
        rows.append((Span(f"{context.glyphs.ellipsis} {more} more tensors", "dim"),))
    return rows


def _tensor(row: TensorRow, context: DrawContext) -> Line:
    selected = context.selection.tensor == row.tensor
    target = Target(TensorSelection(row.tensor, row.storage))
    label = cut(clean(row.label), 20, context.glyphs.ellipsis)
    return (
        Span(context.glyphs.highlighted if selected else "", "highlighted"),
        Span(label, "name highlighted" if selected else "name", target),
        Span(f"  {row.dtype} {shape_text(row.sizes, context.glyphs.times)}", "type"),
        Span(f"  strides {numbers_text(row.strides)}", "number"),
        Span(f"  offset {row.offset}" if row.offset else "", "number"),
        Span(f"  {row.device}" if row.device != "cpu" else "", "type"),
        Span(f"  on storage {row.storage}", "dim"),
    )


# Keys and hops


def _keys(model: DispatchModel, context: DrawContext) -> list[Line]:
    """Return a row per key of the union, highest first; a column per argument that has keys."""
    glyphs = context.glyphs
    columns = [a for a in model.arguments if a.tensors][:COLUMNS]
    wide = max((cells(key) for key in model.union), default=4) + 2
    titles = [*(a.name for a in columns), "union"]
    head = [Span(fit(" keys", wide + 3, ""), "head")]
    head += [Span(_middle(cut(t, COLUMN - 1, glyphs.ellipsis)), "dim") for t in titles]
    hops = {hop.key: (number, hop) for number, hop in enumerate(model.hops, 1)}
    lines: list[Line] = [(*head, Span("  hop  kernel", "head"))]
    for key in model.union:
        ran = hops.get(key)
        highlighted = ran is not None and ran[1].done
        row = [Span("   "), *padded(key, wide, "op" if highlighted else "dim")]
        for argument in columns:
            glyph = (
                glyphs.mark if key in argument.keys else "" if argument.recorded else glyphs.unknown
            )
            row.append(Span(_middle(glyph), "number"))
        row.append(Span(_middle(glyphs.mark), "title"))
        lines.append((*row, *_hop(model, key, ran, context)))
    if not model.hops:
        lines.append((Span("   no hop is in the trace", "dim"),))
    lines.append(_absent(model, context))
    return lines


def _middle(text: str) -> str:
    left = (COLUMN - cells(text)) // 2
    return " " * left + text + " " * (COLUMN - cells(text) - left)


def _hop(
    model: DispatchModel, key: str, ran: tuple[int, HopRow] | None, context: DrawContext
) -> list[Span]:
    if ran is None:
        fell = any(key in hop.fell for hop in model.hops)
        return [Span("       falls through" if fell else "       left below", "dim")]
    number, hop = ran
    target = Target(also=(CallSelection(model.call),), event=hop.moment)
    if not hop.done:
        return [
            Span(f"    {number}  ", "dim"),
            Span(hop.kernel, "dim", target),
            Span("  not yet", "dim"),
        ]
    start = f"+{hop.start_text} for " if context.width >= 100 else ""
    time = f"  {start}{hop.duration_text}"
    return [
        Span(f"  {context.glyphs.arrow} {number}  ", "head"),
        Span(hop.kernel, "op", target),
        Span(time, "dim"),
    ]


def _absent(model: DispatchModel, context: DrawContext) -> Line:
    between = f" {context.glyphs.dot} "
    return (Span(f"   in no argument: {between.join(model.absent)}", "dim"),)


# Results


def _results(model: DispatchModel, context: DrawContext) -> list[Line]:
    if model.error:
        glyph = context.glyphs.fail
        first, *rest = wrapped(model.error, context.width - 4, "error", 3)
        return [_heading("result"), (Span(f" {glyph} ", "error"), first[1]), *rest]
    about = (
        "" if model.results else "not yet" if model.running else "none: it wrote into its arguments"
    )
    lines: list[Line] = [_heading("result", about)]
    for row, fresh in zip(model.results, model.fresh, strict=True):
        shared = "new memory" if fresh else "the memory of an argument"
        lines.append(
            (Span("   "), *_tensor(row, context), Span(f"  {shared}", "good" if fresh else "dim"))
        )
    if model.more_results:
        lines.append((Span(f"   and {model.more_results} more", "dim"),))
    return lines


def _plan(plan: PlanRow) -> list[Line]:
    vector = f", vectors of {plan.vector} bytes: {plan.lanes} at once" if plan.vector else ""
    threads = f", {plan.threads} threads" if plan.threads > 1 else ", one thread"
    target = Target(event=plan.moment)
    head = [
        Span(" plan", "head"),
        Span("  "),
        Span(f"{plan.loop} loop", "op" if plan.done else "dim", target),
        Span("" if plan.done else "  not yet", "warn"),
        Span(f"  x86-64-{plan.isa}{vector}{threads}", "dim"),
    ]
    name = max([len("bytes a step"), *(cells(operand.name) for operand in plan.operands)])
    width = max([7, *(len(str(n)) + 2 for o in plan.operands for n in (*o.strides, *plan.sizes))])
    dims = "".join(fit(f"dim {d}", width, "", ">") for d in range(len(plan.sizes)))
    sizes = "".join(fit(str(n), width, "", ">") for n in plan.sizes)
    lines: list[Line] = [tuple(head)]
    if not plan.sizes:
        return lines
    lines.append((Span(f"   {fit('', name, '')}{dims}", "dim"),))
    lines.append((Span(f"   {fit('size', name, '')}", "name"), Span(sizes, "number")))
    lines.append((Span("   bytes a step", "dim"),))
    for operand in plan.operands:
        steps = "".join(fit(str(n), width, "", ">") for n in operand.strides)
        note = "" if operand.itemsize else "  a number"
        lines.append(
            (
                Span(f"   {fit(operand.name, name, '')}", "name"),
                Span(steps, "number"),
                Span(note, "dim"),
            )
        )
    return lines


# On a device


def _group(model: DispatchModel, context: DrawContext) -> list[Line]:
    about = "The compiler made one kernel of several operators, so the dispatcher was not asked."
    return [
        (Span(" fused group", "head"), Span(f"  {model.group}", "op")),
        *wrapped(about, context.width - 2, "dim", 1),
    ]


def _commands(model: DispatchModel, context: DrawContext) -> list[Line]:
    lines: list[Line] = [_heading("enqueued", "for the device to run")]
    for command in model.commands:
        target = Target(also=(CallSelection(model.call),), event=command.moment)
        is_kernel = command.kind == "kernel"
        if is_kernel:
            text = f"  {items_text(command.items, context.glyphs)}"
        else:
            text = f"  {command.bytes:,} bytes{', pinned' if command.pinned else ''}"
        time = f"  ran {command.time}" if command.time else ""
        lines.append(
            (
                Span(f"   {command.device}  ", "type"),
                Span(command.name, "op" if command.done else "dim", target),
                Span(text, "number"),
                Span(time if command.done else "  not yet", "dim"),
            )
        )
    return lines


def _kernels(model: DispatchModel, context: DrawContext) -> list[Line]:
    """Return the OpenCL C source of each kernel, once."""
    lines: list[Line] = []
    sources = dict.fromkeys((each.name, each.source) for each in model.commands if each.source)
    for name, source in sources:
        lines += [(), _heading("kernel", f"{name}, in OpenCL C as it was compiled")]
        for text in source:
            lines += _code(text, context.width, "text", context.glyphs.ellipsis)
    return lines


# The calls around it


def _calls(title: str, rows: Sequence[CallRow], context: DrawContext) -> list[Line]:
    glyphs = context.glyphs
    current = next((index for index, row in enumerate(rows) if row.current), 0)
    room = 12
    first = max(0, min(current - room // 2, len(rows) - room))
    lines: list[Line] = [_heading(title, f"{len(rows)} calls")]
    if first:
        lines.append((Span(f"   {glyphs.ellipsis} {first} before", "dim"),))
    for row in rows[first : first + room]:
        lines.append(_call(row, context, glyphs))
    left = len(rows) - first - room
    if left > 0:
        lines.append((Span(f"   {glyphs.ellipsis} {left} more", "dim"),))
    return lines


def _call(row: CallRow, context: DrawContext, glyphs: Glyphs) -> Line:
    glyph = glyphs.current if row.current else glyphs.fail if row.error else glyphs.dot
    time = f"  {row.time}" if row.done else "  not yet"
    indent = min(3 + 2 * row.depth, context.width // 2)
    text = cut(clean(row.text), max(8, context.width - indent - 3 - cells(time)), glyphs.ellipsis)
    style = (
        "op highlighted" if row.current else "error" if row.error else "op" if row.done else "dim"
    )
    return (
        Span(" " * indent),
        Span(f"{glyph} ", "current" if row.current else "dim"),
        Span(text, style, Target(CallSelection(row.call))),
        Span(time, "dim"),
    )


# Where it comes from


def _origin(model: DispatchModel, context: DrawContext) -> list[Line]:
    origin = model.origin
    if not origin.path:
        return [_heading("from", f"this engine declares no operator {model.name}")]
    if not origin.entry:
        return _registration(origin, context)
    left: list[Line] = [_heading("from", f"{origin.path}:{origin.line}")]
    side_by_side = context.width >= SIDE
    half = context.width // 2 - 1 if side_by_side else context.width
    for text in origin.entry:
        left += _code(text, half, "string", context.glyphs.ellipsis)
    right: list[Line] = [_heading("becomes")]
    for code in origin.generated:
        right.append((Span(f"   {code.name}", "name"),))
        for text in code.lines:
            right += _code(text, half, "text", context.glyphs.ellipsis)
    if not side_by_side:
        return [*left, (), *right]
    lines: list[Line] = []
    for y in range(max(len(left), len(right))):
        left_line = left[y] if y < len(left) else ()
        gap = half + 2 - sum(span.width for span in left_line)
        lines.append((*left_line, Span(" " * gap), *(right[y] if y < len(right) else ())))
    return lines


def _registration(origin: Origin, context: DrawContext) -> list[Line]:
    """Draw the source line at which a library registered the operator, and its shared object."""
    source = f"{origin.path}:{origin.line}" if origin.line else origin.path
    library = origin.library or "a Python program, with engine.library"
    lines: list[Line] = [_heading("from", "a library, not csrc/ops")]
    for name, text in (("source", source), ("library", library)):
        text, room = clean(text), max(8, context.width - 13)
        if cells(text) > room:  # the end of a path says more than its start
            text = context.glyphs.ellipsis + text[1 - room :]
        lines.append((Span(f"   {fit(name, 9, '')}", "name"), Span(text, "string")))
    return lines


def _code(text: str, width: int, style: str, ellipsis: str) -> list[Line]:
    """Return a line of the entry or of the generated code, on as many lines as it needs; the further ones hang."""
    text = clean(text)
    indent = 3 + len(text) - len(text.lstrip())
    pieces = [line[1].text for line in wrapped(text, width - 4, style, indent)]
    return [
        (Span(" " * at), Span(cut(piece, width - at, ellipsis), style))
        for number, piece in enumerate(pieces)
        for at in (indent + (2 if number else 0),)
    ]
