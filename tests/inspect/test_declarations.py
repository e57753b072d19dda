"""Every operator that the engine has leads back to the yaml entry that declares it."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import pytest

import engine
from engine.inspect.declarations import origin

ROOT = Path(__file__).parents[2]


def test_an_entry_is_where_it_says() -> None:
    actual = origin("add.Tensor")
    path = ROOT / actual.path
    if not path.exists():
        pytest.skip("the sources are not here")
    lines = path.read_text().splitlines()
    assert actual.entry[0].startswith("- schema: add.Tensor(")
    assert actual.entry[0] in lines


def test_one_entry_becomes_all_of_this() -> None:
    results = {each.name: "\n".join(each.lines) for each in origin("add.Tensor").generated}
    assert list(results) == [
        "dispatcher entry", "kernel", "C function", "Python function", "public names",
    ]  # fmt: skip
    assert 'add_op("add.Tensor(' in results["dispatcher entry"]
    assert "uh_add(" in results["C function"]
    assert "_uh_add(" in results["Python function"]
    assert '"""' not in results["Python function"], "the documentation is in the entry"
    public = results["public names"].split(", ")
    assert {"engine.add", "Tensor.add", "Tensor.__add__"} <= set(public)


def test_the_public_names_are_there() -> None:
    from engine._generated import declarations

    for name, declared in declarations.OPERATORS.items():
        for public in filter(None, declared[2].get("public names", "").split(", ")):
            home = engine if public.startswith("engine.") else engine.Tensor
            assert attrgetter(public.partition(".")[2])(home), f"{name}: {public}"


def test_a_form_that_was_made_leads_to_the_entry_it_was_made_from() -> None:
    assert origin("add_.Tensor").entry == origin("add.Tensor").entry


def test_the_heading_of_the_next_section_is_not_a_part_of_the_entry() -> None:
    from engine._generated import declarations

    for name in declarations.OPERATORS:
        entry = origin(name).entry
        assert entry, f"{name} has no entry"
        assert entry[-1].strip(), f"{name} ends in an empty line"
        assert not entry[-1].startswith("#"), f"{name} ends in a heading: {entry[-1]}"


def test_an_operator_of_nobody() -> None:
    actual = origin("nobody.knows")
    assert (actual.path, actual.entry, actual.generated) == ("", (), ())
