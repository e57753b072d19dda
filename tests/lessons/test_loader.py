"""Lesson folders are read whole or refused with the file and the reason."""

from __future__ import annotations

import pytest

from lessons._runner.lesson import LessonError
from lessons._runner.loader import load, load_all, python_block, split_sections


def test_a_lesson_is_found_by_folder_number_or_word() -> None:
    assert load("4") == load("04_strides") == load("strides")
    with pytest.raises(LessonError, match="there is no lesson 'stride'; the lessons are: 01_"):
        load("stride")


def test_lessons_come_in_order_of_their_numbers() -> None:
    assert [lesson.number for lesson in load_all()] == list(range(1, len(load_all()) + 1))


def test_steps_take_text_and_code_from_their_section(sample) -> None:
    lesson = load("1", sample.write())
    kinds = [step.kind for step in lesson.steps]
    assert kinds == ["text", "run", "look", "predict", "predict", "predict", "exercise"]
    assert lesson.steps[1].code == "x = [1, 2, 3]\n"
    assert lesson.steps[2].code == lesson.steps[1].code
    assert lesson.steps[4].code == "a = 2\n\nb = a + 1\n"  # continues
    assert lesson.exercise_step() == 6


def test_a_heading_inside_a_code_block_is_code() -> None:
    sections = split_sections("## One\n```python\n## not a heading\nx = 1\n```\n## Two\nwords\n")
    assert list(sections) == ["One", "Two"]
    assert python_block(sections["One"]) == "## not a heading\nx = 1\n"


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (("", "[[step"), "lesson.toml"),
        (('title = "First"', ""), "'title' is missing or empty"),
        (('"run"', '"walk"'), "kind 'walk' is none of"),
        (('"Words"', '"Other words"'), "lesson.md has no such heading"),
        (("select =", "selects ="), "a look step has no key 'selects'"),
        (('kind = "exercise"', 'kind = "text"'), "a text step has no key"),
        (("check =", "checks ="), "'check' is missing or empty"),
    ],
)
def test_a_malformed_toml_says_what_is_wrong(sample, toml: tuple[str, str], message: str) -> None:
    with pytest.raises(LessonError) as caught:
        load("1", sample.write(toml))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("markdown", "message"),
    [
        (("", "## More\n"), "no step uses the section 'More'"),
        (("", "## Words\n"), "'Words' is there twice"),
        (("", "Hello\n"), "text before the first"),
        (("```python\nx", "```text\nx"), "needs a ```python block"),
    ],
)
def test_malformed_markdown_says_what_is_wrong(
    sample, markdown: tuple[str, str], message: str
) -> None:
    with pytest.raises(LessonError) as caught:
        load("1", sample.write(markdown=[markdown]))
    assert message in str(caught.value)


def test_a_missing_file_is_named(sample) -> None:
    root = sample.write()
    (root / "01_first" / "solution.py").unlink()
    with pytest.raises(LessonError, match=r"01_first: solution\.py is missing"):
        load("1", root)
