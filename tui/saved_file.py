"""The table of a saved file: names, shapes, dtypes, bytes and sharing. Nothing of the file is executed."""

from __future__ import annotations

from engine.inspect.saved_file import SavedFile, SavedTensor, dtype_counts
from tui.render import UNICODE, Glyphs, Line, Picture, Span, Target, cells, fit
from tui.render.target import MenuItem

__all__ = ["detail", "draw_saved_file", "table"]

_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def size_text(count: int) -> str:
    """Return `4096` as `4 KiB`."""
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} B"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def shape_text(sizes: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, sizes))}{',' * (len(sizes) == 1)})"


def _shared(file: SavedFile, tensor: SavedTensor) -> str:
    """Return the storage of a tensor, with `=` if other tensors share it."""
    if not tensor.storage or file.format == "safetensors":
        return ""
    count = len(file.sharing.get(tensor.storage, ()))
    label = tensor.storage
    if (
        file.format != "PyTorch, zip"
    ):  # in those files, keys are addresses in the program that wrote them
        label = str(list(file.storages).index(label)) if label in file.storages else "?"
    return f"{label} ={count}" if count else label


def _kind(tensor: SavedTensor) -> str:
    return "" if tensor.kind == "Tensor" else tensor.kind


def summary(file: SavedFile, width: int, glyphs: Glyphs) -> list[Line]:
    """Return the lines above the table."""
    counts = dtype_counts(file)
    dtypes = ", ".join(f"{name} {size_text(count)}" for name, count in counts.most_common(4))
    elements = _plural(len(file.tensors), "tensor")
    storages = _plural(len(file.storages), "storage")
    lines: list[Line] = [
        (
            Span(f" {file.format}", "head"),
            Span(f"   {elements} in {storages} of {size_text(file.storage_bytes)}"),
            Span(f", file {size_text(file.file_bytes)}", "dim"),
        )
    ]
    if dtypes:
        lines.append((Span(f" {dtypes}", "dim"),))
    if file.globals:
        names = ", ".join(file.globals)
        head = " needs weights_only=False or add_safe_globals: "
        lines.append(
            (Span(head, "warn"), Span(fit(names, max(10, width - len(head)), glyphs.ellipsis)))
        )
    lines.append(())
    return lines


def table(file: SavedFile, width: int, glyphs: Glyphs = UNICODE) -> Picture:
    """Return one line per tensor, then one per value."""
    shapes = [shape_text(each.sizes) for each in file.tensors]
    shape = min(max([5, *map(len, shapes)]), 24) + 2
    dtype = max([5, *(len(each.dtype) for each in file.tensors)]) + 2
    right = max([6, *(len(size_text(each.nbytes)) for each in file.tensors)])
    storage = min(max([7, *(len(_shared(file, each)) for each in file.tensors)]), 14) + 2
    kind = max([0, *(len(_kind(each)) + 1 for each in file.tensors)])
    name = max(12, width - 2 - shape - dtype - right - storage - 2 - kind)
    name = min(name, max([12, *(cells(each.name) for each in file.tensors)]) + 2)
    heads = [("name", name), ("shape", shape), ("dtype", dtype)]
    lines: list[Line] = summary(file, width, glyphs)
    text = "".join(fit(head, size, "", "<") for head, size in heads)
    lines.append((Span(f" {text}{fit('bytes', right, '', '>')}  storage", "dim"),))
    for number, tensor in enumerate(file.tensors):
        target = Target(MenuItem(f"tensor {number}"))
        lines.append(
            (
                Span(
                    " " + fit(tensor.name or "(the object)", name - 1, glyphs.ellipsis) + " ",
                    "name",
                    target,
                ),
                Span(fit(shapes[number], shape - 1, glyphs.ellipsis) + " ", "number", target),
                Span(fit(tensor.dtype or "?", dtype, glyphs.ellipsis), "type", target),
                Span(fit(size_text(tensor.nbytes), right, "", ">") + "  ", "", target),
                Span(fit(_shared(file, tensor), storage, glyphs.ellipsis), "dim", target),
                Span(
                    "damaged" if tensor.problem else _kind(tensor),
                    "error" if tensor.problem else "dim",
                    target,
                ),
            )
        )
    if file.values:
        lines += [(), (Span(f" {_plural(len(file.values), 'other value')}", "head"),)]
    for number, (label, value) in enumerate(file.values):
        target = Target(MenuItem(f"value {number}"))
        lines.append(
            (
                Span(
                    " " + fit(label or "(the object)", name - 1, glyphs.ellipsis) + " ",
                    "name",
                    target,
                ),
                Span(fit(value, max(8, width - name - 2), glyphs.ellipsis).rstrip(), "", target),
            )
        )
    return Picture.of(lines, width)


def detail(file: SavedFile, key: str) -> str:
    """Return the sentence about a row."""
    kind, _, number = key.partition(" ")
    if kind != "tensor" or not number.isdigit() or int(number) >= len(file.tensors):
        return ""
    tensor = file.tensors[int(number)]
    if tensor.problem:
        return f"{tensor.name} cannot be loaded: {tensor.problem}"
    parts = [f"strides {shape_text(tensor.strides)}"]
    if tensor.offset:
        parts.append(f"offset {tensor.offset}")
    if tensor.requires_grad:
        parts.append("requires grad")
    others = [name for name in file.sharing.get(tensor.storage, ()) if name != tensor.name]
    if others:
        more = f" and {len(others) - 2} more" if len(others) > 2 else ""
        parts.append(f"shares its storage with {', '.join(others[:2])}{more}")
    return f"{tensor.name or 'the object'}: {', '.join(parts)}"


def draw_saved_file(
    file: SavedFile | None, problem: str, width: int, glyphs: Glyphs = UNICODE
) -> Picture:
    """Draw the table, or the reason why there is none."""
    if file is None:
        return Picture.of(
            [(), (Span("  This file cannot be read.", "error"),), (), (Span(f"  {problem}"),)],
            width,
        )
    return table(file, width, glyphs)
