"""Type checkers know the operators: a small program passes, wrong calls are found where they are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import engine
from engine import _generated

MADE = Path(str(_generated.__file__)).parent

PROGRAM = """
from typing import assert_type

import engine
import engine.nn.functional as F
from engine import Tensor

x = engine.add(engine.ones(2, 3), 1, alpha=2)
labels = engine.tensor([0, 1])
assert_type(x, Tensor)
assert_type(x.sum(0, keepdim=True), Tensor)
assert_type(x.sum(axis=0), Tensor)
assert_type(x.max(0).indices, Tensor)
assert_type(engine.max(x, 0).values, Tensor)
assert_type(1 - x @ x.T / 2, Tensor)
assert_type(x.permute(1, 0).reshape((3, 2)).float(), Tensor)
assert_type(x.split(1), tuple[Tensor, ...])
assert_type(engine.equal(x, x), bool)
assert_type(engine.linalg.det(x), Tensor)
assert_type(engine.special.erfinv(x), Tensor)
assert_type(F.gelu(x, approximate="tanh"), Tensor)
assert_type(F.cross_entropy(x, labels, reduction="sum"), Tensor)
assert_type(engine.exp(x, out=x), Tensor)
assert_type(x.clamp_(min=0), Tensor)
assert_type(x.where(x > 0, 0.5), Tensor)
assert_type(x.to(engine.float64).dtype, engine.dtype)
"""

WRONG = """
import engine
import engine.nn.functional as F

x = engine.ones(2, 3)
engine.add(x, "one")
x.sum(dimension=0)
x.softmax()
x.no_such_method()
engine.no_such_function(x)
engine.linalg.det()
F.gelu(x, approximate=1)
F.cross_entropy(x)
x.max(0).position
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel has it: the written files and what the build made, in one folder."""
    root = tmp_path_factory.mktemp("tree")
    (root / "engine").mkdir()
    for entry in Path(str(engine.__file__)).parent.iterdir():
        if entry.name not in ("_generated", "__pycache__"):
            (root / "engine" / entry.name).symlink_to(entry)
    (root / "engine" / "_generated").symlink_to(MADE)
    return root


def errors(tree: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """Line -> what mypy says of it."""
    api = pytest.importorskip("mypy.api")
    program = tree / "program.py"
    program.write_text(text)
    (tree / "mypy.ini").write_text("[mypy]\n")
    monkeypatch.setenv("MYPYPATH", str(tree))
    options = ["--follow-imports=silent", "--ignore-missing-imports", f"--cache-dir={tree}/cache"]
    report, trouble, _ = api.run([*options, f"--config-file={tree}/mypy.ini", str(program)])
    assert not trouble, trouble
    actual = re.findall(r"program\.py:(\d+): error: (.*)", report)
    return {int(line): message for line, message in actual}


def test_a_program_that_is_right(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert errors(tree, PROGRAM, monkeypatch) == {}


def test_wrong_calls_are_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    actual = errors(tree, WRONG, monkeypatch)
    lines = WRONG.splitlines()
    missed = [text for n, text in enumerate(lines, 1) if n > 5 and n not in actual]
    assert not missed, f"mypy has nothing against {missed}"
    assert min(actual) > 5, f"mypy refuses what is right: {actual[min(actual)]}"


def defined(text: str) -> set[str]:
    """Return the names that a stub or a class defines."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.AnnAssign, ast.Assign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {
                name.id for t in targets for name in ast.walk(t) if isinstance(name, ast.Name)
            }
    return names


def test_every_method_has_a_stub() -> None:
    package = Path(str(engine.__file__)).parent
    known = defined((MADE / "methods.pyi").read_text())
    for file in ("tensor.py", "_native/tensor_base.py", "autograd/tensor_methods.py"):
        known |= defined((package / file).read_text())
    missing = sorted(name for name in dir(engine.Tensor) if name not in known | set(dir(object)))
    missing = [name for name in missing if name not in ("_h", "__module__", "__dict__")]
    # PyTorch's names that are absent are listed, and raise an AttributeError that says what to use.
    missing = [name for name in missing if hasattr(engine.Tensor, name)]
    assert not missing, f"methods.pyi lacks {missing}"


def test_every_function_has_a_stub() -> None:
    source = Path(str(engine.__file__)).read_text()
    known = defined((MADE / "functions.pyi").read_text()) | defined(source)
    known |= set(engine.dtypes.__all__)
    public = [n for n in dir(engine) if n[0] != "_" and callable(getattr(engine, n))]
    missing = sorted(set(public) - known - {"Any", "bool", "int", "float"})
    assert not missing, f"functions.pyi lacks {missing}"
