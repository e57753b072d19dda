"""The repository as the architecture tests read it: files, includes and imports, never run."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass(frozen=True)
class Use:
    """One file names another: `file:line` includes or imports `target`."""

    file: str
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.target}"


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """Return the project's own files: those that git tracks, or would once they are added."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        names = [name for name in done.stdout.split("\0") if name]
    else:  # an unpacked archive
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if ".venv" not in p.parts]
    paths = sorted({ROOT / name for name in names if name.endswith(suffixes)})
    return tuple(path for path in paths if path.is_file())


def under(folder: str, *suffixes: str) -> list[Path]:
    """Return the files below a folder."""
    return [path for path in files(*suffixes) if path.is_relative_to(ROOT / folder)]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def includes(path: Path, quote: str = '"') -> Iterator[Use]:
    """Yield the #include lines of a C or C++ file: those in quotes, or with `<` those in angles."""
    text = text_of(path)
    for match in _INCLUDE.finditer(text):
        if match[1] == quote:
            yield Use(name_of(path), line_of(text, match.start()), match[2])


def module_of(path: Path) -> str:
    """engine/inspect/__init__.py -> engine.inspect"""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> tuple[Use, ...]:
    """Return every module that a Python file imports, also inside functions; not those for types only."""
    return tuple(dict.fromkeys(_imports(path, ast.parse(text_of(path)).body)))


def _imports(path: Path, body: list[ast.stmt]) -> Iterator[Use]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from import_targets(path, node)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from _imports(path, node.orelse)
            case _:
                for inner in ast.iter_child_nodes(node):
                    yield from _imports(path, [inner]) if isinstance(inner, ast.stmt) else ()
                    if isinstance(inner, ast.ExceptHandler | ast.match_case):
                        yield from _imports(path, inner.body)


def import_targets(path: Path, node: ast.Import | ast.ImportFrom) -> Iterator[Use]:
    """Yield the modules that a statement names: `from a import b` names a.b if that is a module, otherwise a."""
    if isinstance(node, ast.Import):
        for name in node.names:
            yield Use(name_of(path), node.lineno, name.name)
        return
    base = node.module or ""
    if node.level:
        package = module_of(path).split(".")
        if path.name != "__init__.py":
            package = package[:-1]
        package = package[: len(package) - node.level + 1]
        base = ".".join([*package, *([base] if base else [])])
    for name in node.names:
        inner = ROOT / f"{base}.{name.name}".replace(".", "/")
        full = inner.with_suffix(".py").is_file() or (inner / "__init__.py").is_file()
        yield Use(name_of(path), node.lineno, f"{base}.{name.name}" if full else base)


def report(broken: list[str]) -> str:
    """Return the message of a failing rule: one offence a line."""
    return "\n  ".join(["", *broken])
