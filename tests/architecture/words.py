"""Search the project for the words of `word_list.py`.

    python -m tests.architecture.words                   hits per folder, next to its limit
    python -m tests.architecture.words tui/views         every hit below a folder, or in a file
    python -m tests.architecture.words --rules tui       hits per rule
    python -m tests.architecture.words --changed         hits on lines that differ from origin/main
    python -m tests.architecture.words --lower tui       lower the limits there to the present counts

Names are read from the Python AST and from C++ declarations; prose is comments, docstrings, messages, Markdown,
TOML and YAML. Code spans (`x`) are not searched.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tests.architecture.sources import ROOT, files, name_of, text_of
from tests.architecture.word_list import (
    BANNED_HEAD,
    BANNED_HEAD_INSTEAD,
    BANNED_NAME_PATTERNS,
    BANNED_NAMES,
    EXEMPTIONS,
    PHRASES,
)

LIMITS = Path(__file__).with_name("word_limits.toml")
CPP = (".cpp", ".h", ".c", ".inc")
HASH_COMMENTS = (".txt", ".cmake", ".sh", ".ir")
SUFFIXES = (".py", ".md", ".toml", ".yaml", *CPP, *HASH_COMMENTS)
NOT_SEARCHED = {
    "CHANGELOG.md",  # history
    "GLOSSARY.md",  # names the words
    "tests/architecture/word_list.py",
    "tests/architecture/test_words.py",
    "tests/architecture/word_limits.toml",
}


@dataclass(frozen=True)
class Hit:
    """One use of a word: which rule, where, and what to write instead."""

    file: str
    line: int
    rule: str
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.text}  ({self.instead})"


@dataclass(frozen=True)
class Prose:
    """A piece of prose and the line that it starts on; a docstring's head is checked too."""

    line: int
    text: str
    is_docstring: bool = False


@dataclass(frozen=True)
class Name:
    line: int
    text: str
    is_binding: bool


# --- Python ------------------------------------------------------------------------------------


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a tree in the order of `ast.walk`, which takes four times as long."""
    nodes = [tree]
    for node in nodes:
        for value in vars(node).values():
            if type(value) is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                nodes.append(value)
    return nodes


def python_names(nodes: Iterable[ast.AST]) -> Iterator[Name]:
    """Yield every name that the code binds or uses as an attribute or keyword."""
    starred = set()
    for node in nodes:
        match node:
            case ast.Name(id=text, ctx=ast.Store()):
                yield Name(node.lineno, text, text != "rest" or id(node) not in starred)
            case ast.Starred(value=value):  # comes before its value
                starred.add(id(value))
            case ast.arg(arg=text):
                yield Name(node.lineno, text, True)
            case ast.Attribute(attr=text, ctx=ast.Store()):
                yield Name(node.end_lineno or node.lineno, text, True)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield Name(node.lineno, node.name, True)


def python_strings(nodes: Iterable[ast.AST]) -> Iterator[Prose]:
    """Yield every string that holds a space: docstrings, messages, source."""
    docstrings, parts = set(), set()
    for node in nodes:
        match node:
            case ast.Constant(value=str(value)) if " " in value and id(node) not in parts:
                yield Prose(node.lineno, value, id(node) in docstrings)
            case ast.JoinedStr(values=values):
                parts |= {id(part) for part in values}
                text_parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in values]
                yield Prose(node.lineno, "".join(map(str, text_parts)))
            case ast.Module() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                first = node.body[0] if node.body else None
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    docstrings.add(id(first.value))


# Strings are matched to be passed over: one may hold a #. No possessive quantifiers: Python 3.11.2 gets them wrong.
_PYTHON_COMMENT = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|(?P<comment>#[^\n]*)",
    re.DOTALL,
)


def python_comments(text: str) -> Iterator[Prose]:
    """Blocks of comments: those on lines that follow each other are one piece of prose."""
    block: list[str] = []
    start = position = 0
    line = 1
    for match in _PYTHON_COMMENT.finditer(text):
        comment = match["comment"]
        if not comment or comment.startswith("#!"):
            continue
        line += text.count("\n", position, match.start())
        position = match.start()
        if block and line == start + len(block):
            block.append(comment.lstrip("# "))
            continue
        if block:
            yield Prose(start, "\n".join(block))
        block, start = [comment.lstrip("# ")], line
    if block:
        yield Prose(start, "\n".join(block))


@dataclass(frozen=True)
class PythonFile:
    """The searched parts of a Python file, which is parsed once for all searches."""

    names: tuple[Name, ...]
    strings: tuple[Prose, ...]
    comments: tuple[Prose, ...]


def read_python(text: str) -> PythonFile:
    nodes = nodes_of(ast.parse(text))
    names = tuple(dict.fromkeys(python_names(nodes)))
    return PythonFile(names, tuple(python_strings(nodes)), tuple(python_comments(text)))


@cache
def python_file(path: Path) -> PythonFile:
    return read_python(text_of(path))


# --- C++ ---------------------------------------------------------------------------------------

_CPP_TOKEN = re.compile(
    r'(?P<raw>R"(?P<delimiter>[^(\s]*)\((?P<raw_text>.*?)\)(?P=delimiter)")'
    r"|(?P<comments>(?:[ \t]*//[^\n]*\n)+|//[^\n]*|/\*.*?\*/)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<char>'(?:[^'\\\n]|\\.)')",
    re.DOTALL,
)
_NOT_TYPES = (
    "return|else|case|goto|new|throw|delete|co_return|not|and|or|operator|typename|using"
    "|namespace|sizeof|define|if|while|do|public|private|struct|class"
)
_CPP_DECLARATION = re.compile(
    rf"(?:\b(?!(?:{_NOT_TYPES})\b)[A-Za-z_][\w:]*|(?<=[\w>)*&])>)[&*]*\s+"
    r"(?P<name>[a-z_]\w*)\s*(?=[=;,){:\[(])"
)
_CPP_BINDINGS = re.compile(r"\bauto\s*&{0,2}\s*\[([\w\s,]*)\]")
_CPP_CONSTANT = re.compile(r"\bk[A-Z]\w+(?=\s*(=[^=]|\{))")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def split_cpp(text: str) -> tuple[str, list[Prose]]:
    """Return the code with comments and strings blanked, and these as prose."""
    prose: list[Prose] = []
    is_header = "#pragma once" in text

    def blank(match: re.Match[str]) -> str:
        line = text.count("\n", 0, match.start()) + 1
        if comments := match["comments"]:
            start_of_line = text.rfind("\n", 0, match.start()) + 1
            own_line = not text[start_of_line : match.start()].strip()
            indent = len(comments) - len(comments.lstrip(" "))
            cleaned = re.sub(r"(?m)^[ \t]*//+ ?|^/\*+|\*/$", "", comments)
            prose.append(Prose(line, cleaned, is_header and own_line and indent <= 2))
        elif (string := match["raw_text"] or match["string"]) and " " in string:
            prose.append(Prose(line, string.strip('"')))
        return re.sub(r"[^\n]", " ", match[0])

    return _CPP_TOKEN.sub(blank, text), prose


def cpp_names(code: str) -> Iterator[Name]:
    bindings = {match.start(): match[0] for match in _CPP_CONSTANT.finditer(code)}
    for match in _CPP_DECLARATION.finditer(code):
        bindings[match.start("name")] = match["name"]
    for match in _CPP_BINDINGS.finditer(code):
        bindings |= {match.start(1) + m.start(): m[0] for m in _IDENTIFIER.finditer(match[1])}
    line_starts = [0, *(match.end() for match in re.finditer("\n", code))]
    line = 0
    for position, text in sorted(bindings.items()):
        while line < len(line_starts) and line_starts[line] <= position:
            line += 1
        yield Name(line, text, True)


# --- Other files ---------------------------------------------------------------------------------


def markdown_prose(text: str) -> Iterator[Prose]:
    """Paragraphs outside of fenced code; the comments of Python code inside of it."""
    fence: str | None = None
    block: list[str] = []
    start = 1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            yield Prose(start, "\n".join(block))
            block, start = [], number + 1
            fence = None if fence is not None else line.strip().strip("`")
        elif fence is not None:
            if fence == "python" and "# " in line:
                yield Prose(number, line.partition("# ")[2])
        elif not line.strip():
            yield Prose(start, "\n".join(block))
            block, start = [], number + 1
        else:
            block.append(line)


def toml_strings(table: object) -> Iterator[str]:
    match table:
        case dict():
            for value in table.values():
                yield from toml_strings(value)
        case list():
            for value in table:
                yield from toml_strings(value)
        case str():
            yield table


def python_or_none(text: str) -> ast.AST | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def toml_parts(text: str) -> Iterator[tuple[int, str, ast.AST | None]]:
    """Yield each string of a TOML file with its line, and its tree where it is Python code."""
    position = 0
    for string in toml_strings(tomllib.loads(text)):
        start = next((line for line in string.splitlines() if line.strip()), "")
        at = text.find(start[:20].replace('"', '\\"'), position)
        position = max(position, at)
        yield text.count("\n", 0, position) + 1, string, python_or_none(string)


def hash_comments(text: str) -> Iterator[Prose]:
    for number, line in enumerate(text.splitlines(), 1):
        if (comment := line.lstrip()).startswith("#") and not comment.startswith("#!"):
            yield Prose(number, comment)


# --- Search --------------------------------------------------------------------------------------

_CODE_SPAN = re.compile(r"``[^`]+``|`[^`\n]+(?:\n[^`\n]+)?`")
_EXPRESSION = re.compile(r"\{[^{}]*\}")  # of a lesson's message: code
_ANY_PHRASE = re.compile(r"\b(?:" + "|".join(p.pattern for p in PHRASES) + r")", re.IGNORECASE)
_PHRASES = [
    (p, re.compile(rf"\b(?:{p.pattern.rstrip()})\b".replace(r":)\b", ":)"), re.IGNORECASE))
    for p in PHRASES
]
_HEAD = re.compile(BANNED_HEAD)
_NAME_PATTERNS = [(re.compile(p), instead) for p, instead in BANNED_NAME_PATTERNS.items()]


def check_names(file: str, names: Iterable[Name]) -> Iterator[Hit]:
    for name in dict.fromkeys(names):
        bare = name.text.strip("_")
        if name.is_binding and bare in BANNED_NAMES:
            yield Hit(file, name.line, f"name {bare}", name.text, BANNED_NAMES[bare])
            continue
        for pattern, instead in _NAME_PATTERNS:
            if pattern.fullmatch(name.text):
                yield Hit(file, name.line, f"name {pattern.pattern}", name.text, instead)
                break


def check_prose(file: str, pieces: Iterable[Prose]) -> Iterator[Hit]:
    for piece in pieces:
        text = _CODE_SPAN.sub(lambda m: re.sub(r"[^\n]", "`", m[0]), piece.text)
        if piece.is_docstring and (head := _HEAD.match(text.lstrip())):
            excerpt = text.strip().splitlines()[0][:60]
            yield Hit(file, piece.line, f"head {head[0]}", excerpt, BANNED_HEAD_INSTEAD)
        joined = text.replace("\n", " ")
        if not _ANY_PHRASE.search(joined):
            continue
        for phrase, pattern in _PHRASES:
            for match in pattern.finditer(joined):
                end = re.search(r"[.?!;:](\s|$)", joined[match.end() :])
                if phrase.questions and end and end[0].startswith("?"):
                    continue
                line = piece.line + text.count("\n", 0, match.start())
                excerpt = joined[max(0, match.start() - 30) : match.end() + 30]
                yield Hit(file, line, phrase.name, " ".join(excerpt.split()), phrase.instead)


def _glob(pattern: str) -> re.Pattern[str]:
    """`a/{b,c}/**` as a regular expression over a path."""
    regex = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    regex = regex.replace(r"\{", "(").replace(r"\}", ")").replace(",", "|")
    return re.compile(regex)


_EXEMPTIONS = [(e.rule, _glob(e.files), re.compile(e.line)) for e in EXEMPTIONS]


def is_exempt(hit: Hit, lines: list[str]) -> bool:
    line = lines[hit.line - 1] if 0 < hit.line <= len(lines) else ""
    return any(
        (rule == hit.rule or (rule == "name" and hit.rule.startswith("name ")))
        and files.fullmatch(hit.file)
        and pattern.search(line)
        for rule, files, pattern in _EXEMPTIONS
    )


def search(path: Path) -> Iterator[Hit]:
    """Yield the hits of one file that no exemption covers."""
    file, text = name_of(path), text_of(path)
    lines = text.splitlines()
    yield from (hit for hit in _search(file, path, text) if not is_exempt(hit, lines))


def _search(file: str, path: Path, text: str) -> Iterator[Hit]:
    if path.suffix == ".py":
        source = python_file(path)
        yield from check_names(file, source.names)
        yield from check_prose(file, (*source.strings, *source.comments))
    elif path.suffix in CPP:
        code, prose = split_cpp(text)
        yield from check_names(file, cpp_names(code))
        yield from check_prose(file, prose)
    elif path.suffix == ".md":
        yield from check_prose(file, markdown_prose(text))
    elif path.suffix in HASH_COMMENTS:
        yield from check_prose(file, hash_comments(text))
    elif path.suffix == ".toml":
        yield from check_prose(file, hash_comments(text))
        for line, string, tree in toml_parts(text):
            if tree is None:
                prose = _EXPRESSION.sub(lambda m: re.sub(r"[^\n]", "`", m[0]), string)
                yield from check_prose(file, [Prose(line, prose)])
            else:
                names = [replace(n, line=n.line + line - 1) for n in python_names(nodes_of(tree))]
                yield from check_names(file, names)
    else:  # .yaml
        yield from check_prose(file, (Prose(n, s) for n, s in enumerate(text.splitlines(), 1)))


@cache
def all_hits() -> tuple[Hit, ...]:
    return tuple(
        hit
        for path in files(*SUFFIXES)
        if name_of(path) not in NOT_SEARCHED
        for hit in search(path)
    )


# --- Limits --------------------------------------------------------------------------------------


def limits() -> dict[str, int]:
    """Return the folders that are not clean yet, and how many hits each may have."""
    return tomllib.loads(LIMITS.read_text())["limits"]


def folder_of(file: str, folders: Iterable[str]) -> str:
    """Return the deepest listed folder that holds the file; "." is the root."""
    inside = [folder for folder in folders if file.startswith(f"{folder}/")]
    return max(inside, key=len, default=".")


def counts() -> Counter[str]:
    folders = list(limits())
    return Counter(folder_of(hit.file, folders) for hit in all_hits())


def lower(paths: tuple[str, ...]) -> None:
    """Write limits that are above the count down to it, all or those below `paths`; none rises."""
    present = counts()
    text = LIMITS.read_text()
    for folder, limit in limits().items():
        is_chosen = not paths or f"{folder}/".startswith(tuple(f"{path}/" for path in paths))
        if is_chosen and present[folder] < limit:
            text = text.replace(f'"{folder}" = {limit}\n', f'"{folder}" = {present[folder]}\n')
    LIMITS.write_text(text)


def changed_lines(revision: str) -> set[tuple[str, int]]:
    """Return the lines, by file, that the working tree adds to or changes in a revision."""
    base = subprocess.run(
        ["git", "merge-base", "HEAD", revision],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    diff = subprocess.run(
        ["git", "diff", "-U0", "-M", base], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    lines = set()
    file = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ ").removeprefix("b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            start, length = int(match[1]), int(match[2] or 1)
            lines |= {(file, number) for number in range(start, start + length)}
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="folders or files; default: totals by folder")
    parser.add_argument("--rules", action="store_true", help="hits per rule")
    parser.add_argument("--changed", nargs="?", const="origin/main", metavar="REVISION")
    parser.add_argument("--lower", action="store_true", help="lower limits to the present counts")
    options = parser.parse_args()
    paths = tuple(path.rstrip("/") for path in options.paths)
    if options.lower:
        lower(paths)
    hits = [
        hit
        for hit in all_hits()
        if not paths or hit.file in paths or hit.file.startswith(tuple(f"{p}/" for p in paths))
    ]
    if options.changed:
        lines = changed_lines(options.changed)
        hits = [hit for hit in hits if (hit.file, hit.line) in lines]
    if options.rules:
        for rule, count in Counter(hit.rule for hit in hits).most_common():
            print(f"{count:6} {rule}")
    elif paths or options.changed:
        print(*hits, sep="\n")
    else:
        present = counts()
        for folder, limit in limits().items():
            print(f"{present[folder]:6} of {limit:6}  {folder}")
    print(f"{len(hits)} hits")


if __name__ == "__main__":
    main()
