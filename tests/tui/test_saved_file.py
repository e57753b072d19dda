"""`underhood open model.pt`: the table of a file of tensors, and what it does with damaged ones."""

from __future__ import annotations

import io
import os
import random

import pytest

import engine
from engine.inspect.saved_file import SavedFileError, is_saved_file, read_saved_file
from engine.saved_files.torch_writer import write_torch_file
from tests.engine.utils.mutated_files import mutations
from tui.saved_file import detail, draw_saved_file


@pytest.fixture(params=[True, False], ids=["zip", "legacy"])
def path(request, tmp_path):
    model = engine.nn.Sequential(engine.nn.Linear(4, 3), engine.nn.Linear(3, 2))
    x = engine.arange(12.0).view(3, 4)
    content = {"model": model.state_dict(), "x": x, "view": x.t()[1:], "epoch": 3}
    with open(tmp_path / "a.pt", "wb") as file:
        write_torch_file(content, file, 2, request.param)
    return tmp_path / "a.pt"


def test_table(path):
    file = read_saved_file(path)
    assert {each.name: (each.sizes, each.dtype) for each in file.tensors} == {
        "model.0.weight": ((3, 4), "float32"),
        "model.0.bias": ((3,), "float32"),
        "model.1.weight": ((2, 3), "float32"),
        "model.1.bias": ((2,), "float32"),
        "x": ((3, 4), "float32"),
        "view": ((3, 3), "float32"),
    }
    assert file.values == (("epoch", "3"),)
    assert list(file.sharing.values()) == [("x", "view")]
    assert file.storage_bytes == 4 * (12 + 3 + 6 + 2 + 12)
    text = draw_saved_file(file, "", 80).text()
    assert "6 tensors in 5 storages of 140 B" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert detail(file, "tensor 5") == ("view: strides (1, 4), offset 1, shares its storage with x")


def test_safetensors(tmp_path):
    engine.save({"w": engine.ones(2, 3), "h": engine.ones(2).half()}, tmp_path / "a")
    assert is_saved_file(tmp_path / "a")
    file = read_saved_file(tmp_path / "a")
    assert {(each.name, each.dtype, each.nbytes) for each in file.tensors} == {
        ("w", "float32", 24),
        ("h", "float16", 4),
    }


class Creator:
    """Would create a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_objects_are_listed_and_not_created(tmp_path):
    engine.save({"bad": Creator(str(tmp_path / "folder")), "w": engine.ones(2)}, tmp_path / "a.pt")
    file = read_saved_file(tmp_path / "a.pt")
    assert file.globals == ("posix.mkdir",)
    assert [each.name for each in file.tensors] == ["w"]
    assert "posix.mkdir" in draw_saved_file(file, "", 100).text()
    assert sorted(os.listdir(tmp_path)) == ["a.pt"]


def test_a_module(tmp_path):
    model = engine.nn.Sequential(engine.nn.Linear(4, 3), engine.nn.BatchNorm1d(3))
    engine.save(model, tmp_path / "m.pt")
    file = read_saved_file(tmp_path / "m.pt")
    assert {each.name for each in file.tensors} == set(model.state_dict())
    assert {each.kind for each in file.tensors if "running" not in each.name} >= {"Parameter"}


def test_damaged_files_say_so(tmp_path):
    """Any seed: a table or SavedFileError; a table that can be drawn."""
    path = tmp_path / "a.pt"
    seed = random.SystemRandom().randrange(2**32)
    outcomes = set()
    problems = {}
    for number, (kind, content) in enumerate(mutations(seed)):
        if number == 60:
            break
        path.write_bytes(content)
        try:
            file = read_saved_file(path)
        except SavedFileError as error:
            outcomes.add("error")
            problems[f"{number} ({kind})"] = str(error)
        else:
            outcomes.add("table")
            draw_saved_file(file, "", 80).text()
    assert outcomes == {"error", "table"}, f"seed {seed}"
    assert all(5 < len(problem) < 500 for problem in problems.values()), f"seed {seed}: {problems}"


def test_sizes_beyond_the_storage_are_named(tmp_path):
    engine.save({"x": engine.ones(4)}, tmp_path / "a.pt")
    content = io.BytesIO()
    write_torch_file({"x": engine.ones(4)}, content, 2, True)
    from tests.engine.utils.mutated_files import records, zipped

    entries = records(content.getvalue())
    pickled = entries["archive/data.pkl"]
    entries["archive/data.pkl"] = pickled.replace(b"K\x04\x85", b"K\x09\x85")
    assert entries["archive/data.pkl"] != pickled
    (tmp_path / "b.pt").write_bytes(zipped(list(entries.items())))
    file = read_saved_file(tmp_path / "b.pt")
    assert file.tensors[0].problem == "it needs 36 bytes of a storage of 16"
    assert "damaged" in draw_saved_file(file, "", 80).text()
    assert "cannot be loaded" in detail(file, "tensor 0")


async def test_screen(path):
    from tui.app import Underhood

    app = Underhood("saved_file", path=path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        canvas = app.screen.query_one("#table")
        assert "model.0.weight" in canvas.picture.text()
        await pilot.press("down")
        about = "".join(word.text for word in app.screen.query_one("#about").content)
        assert about.strip().startswith("model.0.bias: strides (1,)")
