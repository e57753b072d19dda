"""generated/c_functions.c: the C function of every operator, by name, for engine/_native/c_function.c.

A Python function converts its arguments to the union uh_slot; one function per C signature, a trampoline, passes
them on. An argument is a letter, by which the conversion is chosen.
"""

from __future__ import annotations

from capi import RESULTS, c_parameters, result_kind
from model import Argument, Operator

HEAD = """/* Generated from csrc/ops yaml by csrc/codegen/c_functions.py. Do not edit. */
#include "c_function.h"

#include "generated/underhood_ops.h"
"""

# Type of an argument -> its letter; in capitals it may be None.
LETTERS = {
    "Tensor": "t",
    "Tensor?": "T",
    "Operand": "o",
    "Scalar": "n",
    "Scalar?": "n",
    "int[]": "l",
    "int[]?": "l",
    "float[]": "d",
    "float[]?": "d",
    "Tensor[]": "m",
    "Tensor?[]": "M",
    "int": "i",
    "int?": "I",
    "bool": "b",
    "bool?": "B",
    "float": "f",
    "float?": "F",
    "ScalarType": "y",
    "ScalarType?": "y",
    "Device?": "v",
    "MemoryFormat?": "c",
    "str": "s",
    "str?": "S",
}
# Kind of result -> its letter.
RESULT_LETTERS = {
    "status": "v",
    "tuple": "m",
    "Tensor": "t",
    "Tensor[]": "l",
    "Scalar": "n",
    "int": "i",
    "bool": "b",
}
RESULT_MEMBERS = {"t": "h", "l": "list", "n": "scalar", "m": "several.status"}


def letter(a: Argument) -> str:
    """Return the letter of an argument: `k` for `int[2]`, which may be one int."""
    return "k" if a.length and a.type.startswith("int[]") else LETTERS[a.type]


def _type_of(parameter: str) -> str:
    return parameter.rpartition(" ")[0]


def _layout(a: Argument) -> str:
    """Return a letter for each C argument: h handle, i int64_t, c int, d double, p an array of 8-byte items."""
    kinds = {"uh_handle": "h", "int64_t": "i", "int": "c", "double": "d"}
    return "".join(
        "p" if "*" in ctype else kinds[ctype] for ctype in map(_type_of, c_parameters(a))
    )


def _slot(index: int, ctype: str) -> str:
    member = "p" if "*" in ctype else {"double": "d", "uh_handle": "h"}.get(ctype, "i")
    return f"({ctype})slots[{index}].{member}"


def _trampoline(name: str, ctype: str, types: tuple[str, ...], result: str) -> str:
    """Return the C function that calls functions of a signature; several results are written where `ret` says."""
    several = result == "m"
    passed = [_slot(i, t) for i, t in enumerate(types[:-1] if several else types)]
    passed += ["ret->several.tensors"] if several else []
    cast = f"({ctype} (*)({', '.join(types) or 'void'}))"
    member = RESULT_MEMBERS.get(result, "i")
    unused = "" if passed[: len(types) - several] else "  (void)slots;\n"
    return (
        f"static void {name}(uh_any_function function, const uh_slot* slots, uh_returned* ret) {{\n"
        f"{unused}  ret->{member} = ({cast}function)({', '.join(passed)});\n}}\n"
    )


def table_c(ops: list[Operator]) -> str:
    """Return the trampolines and the table of all operators."""
    trampolines: dict[tuple[str, tuple[str, ...]], str] = {}
    layouts = {letter(a): _layout(a) for op in ops for a in op.arguments}
    lines, entries = [HEAD], []
    for op in sorted(ops, key=lambda op: op.cpp_name.encode()):
        ctype, extra, _ = RESULTS[result_kind(op)]
        types = tuple(_type_of(p) for a in op.arguments for p in c_parameters(a))
        types += ("uh_handle*",) if extra else ()
        result = RESULT_LETTERS[result_kind(op)]
        key = ctype, types
        if key not in trampolines:
            trampolines[key] = f"call_{len(trampolines)}"
            lines.append(_trampoline(trampolines[key], ctype, types, result))
        letters = "".join(map(letter, op.arguments))
        results = len(op.results) if extra else 0
        entries.append(
            f'    {{"{op.cpp_name}", {trampolines[key]}, (uh_any_function)uh_{op.cpp_name}, "{letters}", '
            f"'{result}', {results}}},\n"
        )
    slots = max(len(types) for _, types in trampolines)
    results = max(len(op.results) for op in ops)
    lines.append(
        f'_Static_assert({slots} <= kMaxSlots && {results} <= kMaxResults, "more room");\n'
    )
    lines.append(f"const uh_function_entry uh_function_entries[] = {{\n{''.join(entries)}}};\n")
    lines.append(f"const int uh_function_count = {len(entries)};\n")
    cells = ", ".join(f"['{key}'] = \"{layouts[key]}\"" for key in sorted(layouts))
    lines.append(f"const char* const uh_argument_layouts[128] = {{{cells}}};\n")
    return "\n".join(lines)
