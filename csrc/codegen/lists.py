"""Reads the `.inc` lists that C++ includes, and writes the same lists for Python (engine._generated.codes).

An entry of a list is one line: `MACRO(a, b, "c")`, or `_(a, b, "c") \\` below `#define MACRO(_) \\`. Its arguments
are names, numbers and strings.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

Argument = str | int


def entries(path: Path, macro: str, columns: int) -> list[tuple[Argument, ...]]:
    """Return the arguments of every entry of a list, in order. Another number of columns is an error."""
    table = []
    current = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        code = line.partition("  //")[0].strip()
        if code.startswith("#define"):
            current = code.removeprefix("#define").partition("(")[0].strip()
        is_entry = code.startswith(f"{macro}(") or (current == macro and code.startswith("_("))
        if is_entry:
            table.append(_arguments(code.removesuffix("\\").strip(), columns, f"{path}:{number}"))
        if not code.endswith("\\"):
            current = ""
    if not table:
        raise SystemExit(f"{path}: no entry {macro}(...)")
    return table


def _arguments(code: str, columns: int, position: str) -> tuple[Argument, ...]:
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP)
    ]
    arguments = [
        token.string if token.type == tokenize.NAME else ast.literal_eval(token.string)
        for token in tokens[2:-1:2]
    ]
    spelled = ["(", *[","] * (len(arguments) - 1), ")"]
    if len(arguments) != columns or [token.string for token in tokens[1::2]] != spelled:
        raise SystemExit(f"{position}: expected {columns} arguments: {code}")
    return tuple(arguments)


HEADER = '''"""The small codes in events and in the C ABI, and their names. Written by csrc/codegen/lists.py.

Each list is a `.inc` file of csrc; edit that file instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class DTypeInfo(NamedTuple):
    """An element type. Its code is its index in DTYPES."""

    name: str
    title: str
    """PyTorch's name of its tensors, without `Tensor`."""
    kind: str
    """bool, uint, int, float or complex."""
    itemsize: int
    typestr: str
    """The array interface's name of it; "" where NumPy has no such type."""


class BitField(NamedTuple):
    """The bits of an integer that hold one of several numbers."""

    shift: int
    bits: int

    def pack(self, value: int) -> int:
        """Return the word in which only this field is set."""
        return (value & (1 << self.bits) - 1) << self.shift

    def unpack(self, word: Any) -> Any:
        """Return the field of a word, or of an array of words."""
        return word >> self.shift & (1 << self.bits) - 1

'''


def dtypes(source: Path) -> list[tuple[Argument, ...]]:
    """Return the rows of base/dtypes.inc, in the order of their codes."""
    path = source / "base" / "dtypes.inc"
    return [
        row for macro in ("UH_REAL_DTYPES", "UH_COMPLEX_DTYPES") for row in entries(path, macro, 7)
    ]


def codes_py(source: Path) -> str:
    """Return the text of engine/_generated/codes.py."""
    text = HEADER + "\nDTYPES: tuple[DTypeInfo, ...] = (\n"
    text += "".join(f"    DTypeInfo{row[2:]!r},\n" for row in dtypes(source)) + ")\n"
    codes = source / "events" / "codes.inc"
    holders = entries(codes, "UH_HOLDER", 4)
    hooks = entries(codes, "UH_HOOK", 3)
    keys = entries(source / "tensor" / "keys.inc", "UH_KEY", 2)
    lists: dict[str, Sequence[Argument]] = {
        "DEVICES": _column(source / "base" / "devices.inc", "UH_DEVICE", 2, 1),
        "ALLOCATORS": _column(source / "memory" / "allocators.inc", "UH_ALLOCATOR", 2, 1),
        "KEYS": [name for name, _ in sorted(keys, key=itemgetter(1))],
        "KEYS_BY_PRIORITY": [name for name, _ in keys],
        "MEMORY_FORMATS": _column(
            source / "tensor" / "memory_formats.inc", "UH_MEMORY_FORMAT", 2, 1
        ),
        "HOLDERS": ["", *(row[1] for row in holders)],
        "HOLDER_LABELS": ["", *(row[3] for row in holders)],
        "BINDINGS": _group(holders, "binding"),
        "AUTOGRAD_HOLDERS": _group(holders, "autograd"),
        "JIT_HOLDERS": _group(holders, "jit"),
        "SPARSE_PARTS": _column(codes, "UH_SPARSE_PART", 2, 1),
        "HOOKS": ["hook", *(row[2] for row in hooks)],
        "ACCUMULATE_MODES": _column(codes, "UH_ACCUMULATE_MODE", 2, 1),
        "EDITS": _column(codes, "UH_EDIT", 2, 1),
    }
    for name, values in lists.items():
        members = "".join(f"    {value!r},\n" for value in values)
        text += f"\n{name}: tuple[str, ...] = (\n{members})\n"
    gradient_hooks = tuple(kind for kind, row in enumerate(hooks, start=1) if row[1] == "gradient")
    text += f"\nGRADIENT_HOOKS: tuple[int, ...] = {gradient_hooks}\n\n"
    for path, macro in (
        (source / "base" / "devices.inc", "UH_DEVICE_FIELD"),
        (codes, "UH_LAYOUT_FIELD"),
    ):
        fields = (f"{row[1]} = BitField({row[2]}, {row[3]})\n" for row in entries(path, macro, 4))
        text += "".join(fields)
    for macro in ("UH_RECORD_FLAG", "UH_RECORD_MODE", "UH_BACKWARD_FLAG"):
        text += "".join(f"{row[1]} = 1 << {row[2]}\n" for row in entries(codes, macro, 3))
    ring = source / "events" / "ring_header.inc"
    for macro in ("UH_RING_NUMBER", "UH_RING_STATE", "UH_RING_END"):
        text += "".join(f"{row[1]} = {row[2]}\n" for row in entries(ring, macro, 3))
    names = _column(ring, "UH_RING_FIELD", 2, 1)
    members = "".join(f"    {name!r}: {index},\n" for index, name in enumerate(names))
    return text + f"\nRING_FIELDS: dict[str, int] = {{\n{members}}}\n"


def _group(holders: list[tuple[Argument, ...]], group: str) -> list[Argument]:
    """Return the names of the holders of a group."""
    return [row[1] for row in holders if row[2] == group]


def _column(path: Path, macro: str, columns: int, index: int) -> list[Argument]:
    return [row[index] for row in entries(path, macro, columns)]
