"""Lesson text as a picture: the small part of Markdown that the lessons use, and nothing else.

Headings (#), paragraphs, lists (- or 1.), quotes (>), tables (|), fenced code, **bold**, *italic*,
`code`, [links](event:12) to an event.
Textual's own Markdown takes 3-4 ms per block; this takes that for a whole page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tui.render import UNICODE, Glyphs, Picture, Span, Target, cells
from tui.render.highlight import Coloured

INLINE = re.compile(
    r"(\[[^\]]+\]\(event:\d+\)|\*\*.+?\*\*|`[^`]+`|(?<![\w*])\*[^*\s][^*]*\*(?![\w*]))"
)
LINK = re.compile(r"\[([^\]]+)\]\(event:(\d+)\)")
ITEM = re.compile(r"^(\s*)([-*]|\d+\.)\s+(.*)$")
RULE = re.compile(r"^\|[:| ]*-[-:| ]*\|$")  # between the head of a table and its rows
FOLDED = 6  # cells that a folded line is set in
BREAKS = " ,([{"  # a line is folded after these, rather than within a name
Piece = tuple[str, str]  # text without a line break, style


def prose(text: str, width: int, glyphs: Glyphs = UNICODE) -> Picture:
    """Return the text wrapped to `width` columns."""
    width = max(20, width)
    return Picture.of([line for block in blocks(text) for line in lay(block, width, glyphs)], width)


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (kind, lines) of each block: head, code, item, quote, table, text, gap."""
    kind, block_lines = "", list[str]()
    fenced = False

    def flush() -> Iterator[tuple[str, list[str]]]:
        nonlocal kind, block_lines
        if block_lines:
            yield kind, block_lines
        kind, block_lines = "", []

    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            yield from flush()
            fenced = not fenced
            kind = "code" if fenced else ""
        elif fenced:
            block_lines.append(line)
        elif not line.strip():
            yield from flush()
            yield "gap", [""]
        elif line.startswith("#"):
            yield from flush()
            yield "head", [line]
        elif ITEM.match(line):
            yield from flush()
            kind, block_lines = "item", [line]
        elif line.startswith(">"):
            if kind != "quote":
                yield from flush()
            kind = "quote"
            block_lines.append(line.lstrip("> "))
        elif line.startswith("|"):
            if kind != "table":
                yield from flush()
            kind = "table"
            block_lines.append(line)
        else:
            if kind not in ("item", "text", "quote"):
                yield from flush()
                kind = "text"
            block_lines.append(line.strip())
    yield from flush()


def lay(block: tuple[str, list[str]], width: int, glyphs: Glyphs) -> list[list[Span]]:
    """Return the lines of one block."""
    kind, lines = block
    if kind == "gap":
        return [[]]
    if kind == "head":
        return wrap(pieces(lines[0].lstrip("# ").strip(), "head"), width)
    if kind == "code":
        code = Coloured([line.expandtabs(4) for line in lines])
        rows = (fold(list(code.line(y)), width - 2) for y in range(len(lines)))
        return [[Span("  "), *line] for row in rows for line in row]
    if kind == "quote":
        edge = Span(glyphs.wire(5) + " ", "wire")
        return [[edge, *line] for line in wrap(pieces(" ".join(lines), "type"), width - 2)]
    if kind == "item":
        match = ITEM.match(lines[0])
        assert match is not None  # blocks() made this an item because it matches
        glyph = glyphs.dot if match[2] in "-*" else match[2]
        lead = match[1] + glyph + " "
        body = wrap(pieces(" ".join([match[3], *lines[1:]])), width - cells(lead))
        indent = " " * cells(lead)
        return [[Span(indent if n else lead, "head"), *line] for n, line in enumerate(body)]
    if kind == "table":
        return table(lines, width, glyphs)
    return wrap(pieces(" ".join(lines)), width)


def table(lines: list[str], width: int, glyphs: Glyphs) -> list[list[Span]]:
    """Return rows in columns, each as wide as it has to be; a cell that does not fit is wrapped in its column.
    If a word would have to be cut, rows become entries of a list."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in lines
        if not RULE.match(line.strip())
    ]
    count = max(map(len, rows))
    rows = [row + [""] * (count - len(row)) for row in rows]
    head, body = rows[0], rows[1:]
    columns = list(zip(*rows, strict=True))
    min_widths = [max(_longest_word(cell) for cell in column) for column in columns]
    wide = [max(sum(cells(text) for text, _ in pieces(cell)) for cell in c) for c in columns]
    room = width - 2 * (count - 1)
    if sum(min_widths) > room:
        return [line for row in body for line in _entry(head, row, width, glyphs)]
    while sum(wide) > room:  # the widest shrink
        widest = max((n, at) for at, n in enumerate(wide) if n > min_widths[at])[1]
        wide[widest] -= 1
    table_lines: list[list[Span]] = []
    if any(head):
        table_lines += _row(head, wide, "head")
        table_lines.append([Span("  ".join(glyphs.wire(10) * n for n in wide), "wire")])
    return table_lines + [line for row in body for line in _row(row, wide, "")]


def _longest_word(cell: str) -> int:
    return max(
        (sum(cells(text) for text, _ in word) for word in split_words(pieces(cell))), default=0
    )


def _row(row: list[str], wide: list[int], base: str) -> list[list[Span]]:
    """Return the lines of one row."""
    columns = [wrap(pieces(cell, base), n) for cell, n in zip(row, wide, strict=True)]
    row_lines = []
    for y in range(max(map(len, columns))):
        line: list[Span] = []
        for column, n in zip(columns, wide, strict=True):
            part = column[y] if y < len(column) else []
            line += [*part, Span(" " * (n + 2 - sum(cells(span.text) for span in part)))]
        row_lines.append(line[:-1])
    return row_lines


def _entry(head: list[str], row: list[str], width: int, glyphs: Glyphs) -> list[list[Span]]:
    """Return a row without room for columns: its first cell, and below it the others."""
    entry_lines = wrap(pieces(row[0], "title"), width - 2)
    for name, cell in zip(head[1:], row[1:], strict=True):
        parts = [(f"{name}: ", "dim")] if name else []
        entry_lines += wrap([*parts, *pieces(cell)], width - 2)
    lead = [Span(glyphs.dot + " ", "head"), *[Span("  ")] * (len(entry_lines) - 1)]
    return [[first, *line] for first, line in zip(lead, entry_lines, strict=True)]


def fold(spans: list[Span], width: int) -> list[list[Span]]:
    """Return a line that must keep its spaces, such as code or output, cut at the edge: after a space, a comma
    or a bracket if one is near, so that names are not cut. The next lines are indented a little."""
    lines: list[list[Span]] = [[]]
    for at, end in _cuts("".join(span.text for span in spans), width):
        if at:
            lines.append([Span(" " * FOLDED)])
        begin = 0
        for span in spans:
            part = span.text[max(0, at - begin) : max(0, end - begin)]
            if part:
                lines[-1].append(replace(span, text=part))
            begin += len(span.text)
    return lines


def _cuts(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Return the (start, end) of each line of a folded text."""
    at, room = 0, width
    while width > FOLDED and cells(text[at:]) > room:
        end = at + room
        while cells(text[at:end]) > room:
            end -= 1
        near = [n for n in range(at + room // 2, end + 1) if text[n - 1] in BREAKS]
        end = near[-1] if near else max(end, at + 1)
        yield at, end
        at, room = end, width - FOLDED
    yield at, len(text)


def pieces(text: str, base: str = "") -> list[Piece]:
    """Cut a text at its marks: **bold**, *italic* and `code`."""
    cut_at = []
    for part in INLINE.split(text):
        link = LINK.fullmatch(part)
        if link:
            cut_at.append((link[1], f"{base} path event:{link[2]}".strip()))
        elif part.startswith("**") and len(part) > 4:
            cut_at += pieces(part[2:-2], f"{base} title".strip())  # `code` may be inside
        elif part.startswith("`") and len(part) > 2:
            cut_at.append((part[1:-1], f"{base} op".strip()))
        elif part.startswith("*") and len(part) > 2 and part.endswith("*"):
            cut_at.append((part[1:-1], f"{base} type".strip()))
        elif part:
            cut_at.append((part, base))
    return cut_at


def wrap(parts: list[Piece], width: int) -> list[list[Span]]:
    """Break pieces into lines at spaces; a word longer than a line is cut.

    Pieces without a space between them (`code` and the comma after it) stay together.
    """
    lines: list[list[Span]] = [[]]
    used, gap = 0, ""
    for word in split_words(parts):
        size = sum(cells(text) for text, _ in word)
        if used and used + len(gap) + size > width:
            lines.append([])
            used, gap = 0, ""
        if used and gap:
            lines[-1].append(_span(gap, word[0][1]))
            used += len(gap)
        for text, style in word:
            while used + cells(text) > width:
                lines[-1].append(_span(text[: width - used], style))
                text, used = text[width - used :], 0
                lines.append([])
            lines[-1].append(_span(text, style))
            used += cells(text)
        gap = " "
    return lines


def _span(text: str, style: str) -> Span:
    """Return a span; the word `event:12` of a style makes it a link to that event."""
    names, target = [], None
    for name in style.split():
        if name.startswith("event:"):
            target = Target(event=int(name.removeprefix("event:")))
        else:
            names.append(name)
    return Span(text, " ".join(names), target)


def split_words(parts: list[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces cut at spaces; each word keeps the styles of its parts."""
    word: list[Piece] = []
    for text, style in parts:
        for bit in re.findall(r"\s+|\S+", text):
            if not bit.isspace():
                word.append((bit, style))
            elif word:
                yield word
                word = []
    if word:
        yield word
