"""The lessons themselves: each does what it says, and each fact it claims exists."""

from __future__ import annotations

import pytest

from lessons._runner.check import check_lesson, facts
from lessons._runner.lesson import Lesson
from lessons._runner.loader import load_all
from tests.engine.extending.building import HAS_COMPILER
from tests.sampling import sampled


@pytest.mark.parametrize("lesson", load_all(), ids=lambda lesson: lesson.name)
def test_lesson_does_what_it_says(lesson: Lesson) -> None:
    if lesson.name == "28_your_operator_in_cpp" and not HAS_COMPILER:
        pytest.skip("there is no C++ compiler")
    assert check_lesson(lesson, lambda answers: sampled(answers, 2, lesson.name)) == []
    assert set(lesson.covers) <= set(facts())
