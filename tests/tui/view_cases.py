"""Tensors of every sort that the tests of the storage, strides and values views draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.inspect.history import History
from engine.inspect.selection import Selection
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder
from tui.render import ASCII, UNICODE, Picture
from tui.render.theme import THEMES, definition
from tui.views import DrawContext, views

SIZES = ((80, 24), (80, 20), (120, 40), (200, 60))


def everything() -> tuple[History, dict[str, Selection]]:
    """Return a history and a selection per tensor worth drawing."""
    b = TraceBuilder()
    b.line(1)
    selections: dict[str, Selection] = {}

    def add(name: str, index: tuple[int, ...] | None = None, **tensor: Any) -> int:
        number = b.tensor(name=name, **tensor)
        selections[name] = select(tensor=number, index=index)
        return number

    image = add("image", (7, 11), sizes=(8, 13), values=np.arange(104), dtype="int16")
    sliding = {"sizes": (4, 6, 3, 3), "strides": (26, 2, 13, 1)}
    add("windows", (1, 2, 0, 1), **sliding, base=image, dtype="int16")
    add("diag", (2,), sizes=(8,), strides=(14,), base=image, dtype="int16")
    add("a very long name for a tensor", sizes=(8,), base=image, dtype="int16")
    item = add("one", (), sizes=(), values=[3.14159])
    add("wide", (2, 3), sizes=(3, 4), strides=(0, 0), base=item)
    add("empty", sizes=(0, 3))
    add("six", (1, 2, 1, 2, 1, 2), sizes=(2, 3, 2, 3, 2, 3), values=np.arange(216))
    add("half", (1,), sizes=(4,), values=[1.5, np.nan, np.inf, -np.inf], dtype="float16")
    add("brain", sizes=(3,), values=[1.5, 3.14, 1e30], dtype="bfloat16")
    add("mask", (0, 1), sizes=(2, 2), values=[1, 0, 0, 1], dtype="bool")
    add("long", sizes=(2,), values=[-(2**63), 2**63 - 1], dtype="int64")
    add("skewed", (100,), sizes=(101,), values=[float(i % 2) for i in range(100)] + [1e3])
    mixed = add("mixed", sizes=(4,), values=[1, 2, 3, 4.5], dtype="float64")
    add("narrow", (1, 1), sizes=(2, 3), strides=(2, 1), offset=1, dtype="float32", base=mixed)
    big = add("big", (5_000_000,), sizes=(10_000_000,))
    b.sample(big, np.random.default_rng(0).normal(size=1000), 16)
    add("table", (500, 7), sizes=(1000, 10_000), base=big)
    add("unknown", sizes=(3, 3))
    add("meta", sizes=(2, 2), device="meta", allocator="meta")
    crowd = add("crowd", sizes=(40,), values=np.arange(40))
    for i in range(40):
        b.tensor((2,), (1,), i % 39, base=crowd)
    b.line(2)
    b.write(image, np.arange(104) * 2)
    b.line(3)
    selections["nothing"] = Selection()
    return b.history(), selections


def pictures(view: str, ascii: bool = False) -> Iterator[tuple[str, DrawContext, Picture]]:
    """Yield every case drawn at every size."""
    output = views()[view]
    history, selections = everything()
    for name, selection in selections.items():
        model = output.project(history, history.end - 1, selection)
        for width, height in SIZES:
            context = DrawContext(width, height, ASCII if ascii else UNICODE, selection)
            yield name, context, output.draw(model, context)


def check_fits_and_is_styled(view: str) -> None:
    """No line is wider than the room, and every style is one that every theme knows."""
    for name, context, picture in pictures(view):
        for y in range(min(picture.height, 200)):
            line = picture.line(y)
            width = sum(span.width for span in line)
            assert width <= context.width, (name, context.width, y, "".join(s.text for s in line))
            for style in {span.style for span in line if span.style}:
                assert all(definition(style, theme) is not None for theme in THEMES)


def check_ascii_is_ascii(view: str) -> None:
    for name, _, picture in pictures(view, ascii=True):
        for y in range(min(picture.height, 200)):
            text = "".join(span.text for span in picture.line(y))
            assert text.isascii(), (name, text)


def check_every_sign_is_explained(view: str) -> None:
    """Whatever is not a letter, a digit or common punctuation has a sentence in HELP."""
    explained = set("".join(views()[view].help)) | set(" .,:;()=-'")
    frame = set("╭╮╰╯│─┬┴┼")  # the thin frame of a cell
    for name, _, picture in pictures(view):
        for y in range(min(picture.height, 60)):
            for span in picture.line(y):
                signs = {c for c in span.text if not c.isalnum()} - explained
                assert not signs - (frame if "frame" in span.style else set()) - {"×", "_", "#"}, (
                    name,
                    span,
                )
