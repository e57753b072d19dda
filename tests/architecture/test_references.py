"""Files that comments and READMEs name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests.architecture.sources import files, name_of, report, text_of
from tests.architecture.words import (
    CPP,
    HASH_COMMENTS,
    NOT_SEARCHED,
    Prose,
    hash_comments,
    python_file,
)

_SUFFIX = "py|cpp|h|c|inc|yaml|toml|md|ir|cdef|txt"
_PATH = re.compile(rf"(?<![\w./<>{{*~-])((?:[\w-]+/)*[\w-]+\.(?:{_SUFFIX}))(?![\w/]|\.\w)")
_FOLDER = re.compile(
    r"(?<![\w./<>-])((?:csrc|engine|tui|lessons|tests|benchmarks)(?:/[\w-]+)++/?+)(?![\w.*{<])"
)

# Names that stand for any file, or for files that a user, a build or another project has.
NOT_OURS = {
    "train.py", "script.py", "x.py", "a.py", "b.py", "setup.py", "sitecustomize.py", "module.py",
    "file.py", "demo.py", "tui.py", "name.txt", "config.toml", "classes.txt",
    "underhood_ops.h", "capi_ops.cpp", "pass_list.inc", "TensorIterator.cpp", "pycore_code.h",
    "golden/name.txt", "internal/pycore_code.h", "_generated/ops.py", "conftest.py",
    "hubconf.py", "model.py", "main.py", "program.py", "native_functions.yaml", "derivatives.yaml",
    "Python.h", "CMakeLists.txt", "DESIGN.md", "glossary.md", "array.h", "usercustomize.py",
}  # fmt: skip
GENERATED = (
    "engine/_generated",
    "generated/",
    "csrc/generated",
    "build/",
    "out/",
    "engine/_native/lib",
    "engine/include",
    "engine/share",
)


def known_names() -> set[str]:
    """Return every path of the repository and every tail of it: csrc/jit/ir/node.h, ir/node.h, node.h."""
    names = set()
    for path in files(""):
        parts = PurePosixPath(name_of(path)).parts
        names |= {"/".join(parts[start:]) for start in range(len(parts))}
        for end in range(1, len(parts)):
            names.add("/".join(parts[:end]))
    return names


def prose_of(path: Path) -> Iterator[Prose]:
    """Comments and docstrings of code; a Markdown file whole, code spans included."""
    text = text_of(path)
    if path.suffix == ".py":
        source = python_file(path)
        yield from source.comments
        yield from (piece for piece in source.strings if piece.is_docstring)
    elif path.suffix in CPP:
        pattern = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
        for match in pattern.finditer(text):
            yield Prose(text.count("\n", 0, match.start()) + 1, match[0])
    elif path.suffix in (*HASH_COMMENTS, ".yaml", ".toml"):
        yield from hash_comments(text)
    elif path.name != "CHANGELOG.md":
        fence = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
        yield Prose(1, fence.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text))


def named_paths(piece: Prose) -> Iterator[tuple[int, str]]:
    for pattern in (_PATH, _FOLDER):
        for match in pattern.finditer(piece.text):
            yield piece.line + piece.text.count("\n", 0, match.start()), match[1].rstrip("/")


@pytest.mark.parametrize("suffixes", [(".md",), (".py",), CPP, (*HASH_COMMENTS, ".yaml", ".toml")])
def test_every_path_that_prose_names_exists(suffixes: tuple[str, ...]) -> None:
    known = known_names() | NOT_OURS
    missing = [
        f"{name_of(path)}:{line}: {name}"
        for path in files(*suffixes)
        if name_of(path) not in NOT_SEARCHED
        if path != Path(__file__)
        for piece in prose_of(path)
        for line, name in named_paths(piece)
        if name not in known and not name.startswith(GENERATED)
        if "NAME" not in name
    ]
    assert not missing, report(missing)


def test_a_path_that_is_gone_is_noticed() -> None:
    piece = Prose(3, "See csrc/jit/gone.cpp,\n`engine/nowhere/` and tensor.py.")
    named = list(named_paths(piece))
    assert named == [(3, "csrc/jit/gone.cpp"), (4, "tensor.py"), (4, "engine/nowhere")]
    known = known_names()
    assert [name in known for _, name in named] == [False, True, False]
