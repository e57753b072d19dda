"""The headless twin: every number on the screen is in the model, or follows from two that are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from engine.inspect.models import project, to_json
from tests.inspect.models.story import record
from tests.inspect.selections import select
from tui.views import DrawContext, view


def numbers_in(value: Any) -> set[int]:
    """Return every integer of a JSON value, the sizes of its lists, and the integers inside its strings."""
    if isinstance(value, dict):
        return set().union(*map(numbers_in, value.values()), set())
    if isinstance(value, list):
        return set().union(*map(numbers_in, value), {len(value)})
    if isinstance(value, str):
        return in_text(value)
    return {value} if isinstance(value, int) else set()


def in_text(text: str) -> set[int]:
    text = text.replace(",", " ")
    return {int(word, 0) for word in re.findall(r"0x[0-9a-f]+|(?<![\w.])[1-9]\d*(?![\w.])", text)}


@pytest.mark.parametrize("name", ["memory", "object", "source", "microscope", "dispatch"])
@pytest.mark.parametrize("width", [80, 120])
def test_every_number_drawn_is_in_the_model(name, width):
    story = record()
    for moment in (story.lines[4], story.lines[8], story.end):
        selection = select(tensor=story.z, storage=1)
        model = project(name, story.history, moment, selection)
        output = numbers_in(to_json(model))
        reported = in_text(view(name).draw(model, DrawContext(width, 24)).text())
        # an address on the screen is that of the storage or object plus a distance in it
        sums = {item + two for item in output if item > 1 << 20 for two in output if two < 1 << 20}
        unknown = reported - output - sums
        assert not unknown, f"{name} at event {moment} shows {unknown}, which no field holds"
