"""Writes the operators for C++ programs, as functions and as methods of Tensor.

They are boxed calls by name, so that a library still loads if the next version changes an operator
that it calls: only that call may then fail, with an error.
"""

from __future__ import annotations

from model import CPP_RESERVED, Argument, DeclarationError, Operator

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/cpp_header.py. Do not edit.\n"
TYPES = {  # schema type -> C++ parameter type
    "Tensor": "const Tensor&",
    "Tensor?": "const std::optional<Tensor>&",
    "Tensor[]": "const std::vector<Tensor>&",
    "Tensor?[]": "const std::vector<Tensor>&",
    "Operand": "const Operand&",
    "Scalar": "const Scalar&",
    "Scalar?": "const std::optional<Scalar>&",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "const IntList&",
    "int[]?": "const OptionalIntList&",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "const std::vector<double>&",
    "float[]?": "const std::optional<std::vector<double>>&",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "ScalarType": "ScalarType",
    "ScalarType?": "std::optional<ScalarType>",
    "Device?": "std::optional<Device>",
    "MemoryFormat?": "std::optional<MemoryFormat>",
    "str": "const std::string&",
    "str?": "const std::optional<std::string>&",
}
RESULTS = {
    "Tensor": "Tensor",
    "Tensor[]": "std::vector<Tensor>",
    "Scalar": "Scalar",
    "int": "int64_t",
    "bool": "bool",
}
# Members that class Tensor defines itself, and keywords of C++.
NO_METHODS = {
    *(
        "data",
        "dim",
        "dtype",
        "is_leaf",
        "item",
        "numel",
        "requires_grad",
        "requires_grad_",
        "size",
        "sizes",
    ),
    *("stride", "to", "type_as", "is_floating_point", "is_complex"),
}


def default(a: Argument) -> str:
    """Return the C++ text of an argument's default."""
    text = a.default
    if text is None:
        raise DeclarationError(f"{a.name}: no default")
    if text == "None":
        return "std::nullopt"
    if text in ("True", "False"):
        return text.lower()
    if a.type.startswith("int["):
        if text.startswith("["):
            return f"{{{text[1:-1]}}}"
        return f"{{{', '.join([text] * max(int(a.length or 1), 1))}}}"
    if text.startswith("["):
        return f"{{{text[1:-1]}}}"
    if a.type.startswith("str"):
        return '"' + text.strip("'\"") + '"'
    if a.type.startswith(("Scalar", "Operand")) and text.lstrip("-").isdigit():
        return f"int64_t{{{text}}}"
    return text


def parameters(arguments: tuple[Argument, ...], defaults: bool) -> str:
    """Return the parameter list; parameters after the last required one have defaults."""
    last = max((i for i, a in enumerate(arguments) if a.default is None), default=-1)
    parts = []
    for i, a in enumerate(arguments):
        value = f" = {default(a)}" if defaults and i > last else ""
        parts.append(f"{TYPES[a.type]} {name(a)}{value}")
    return ", ".join(parts)


def name(a: Argument) -> str:
    return f"{a.name}_" if a.name in ("default", "int", "new", "delete") else a.name


def result(op: Operator) -> str:
    if not op.results:
        outs = [a for a in op.arguments if a.written]
        if len(outs) > 1:
            return f"std::tuple<{', '.join(['Tensor'] * len(outs))}>"
        return "Tensor" if outs else "void"
    if len(op.results) == 1:
        return RESULTS[op.results[0].type]
    return f"std::tuple<{', '.join(RESULTS[r.type] for r in op.results)}>"


def function(op: Operator, called: str) -> str:
    """Return the definition of the free function."""
    arguments = ", ".join(["op", *(name(a) for a in op.arguments)])
    lines = [f'  static uh_operator* const op = detail::find("aten::{op.full_name}");']
    outs = [name(a) for a in op.arguments if a.written]
    if op.results:
        lines.append(f"  return detail::call<{result(op)}>({arguments});")
    else:
        lines.append(f"  detail::call<void>({arguments});")
        if len(outs) > 1:
            lines.append(f"  return {{{', '.join(outs)}}};")
        elif outs:
            lines.append(f"  return {outs[0]};")
    head = f"inline {result(op)} {called}({parameters(op.arguments, False)})"
    return "\n".join([head + " {", *lines, "}"])


def names(ops: list[Operator]) -> dict[str, str]:
    """Return the C++ name of each operator: PyTorch's, if its overloads have different parameters."""
    used: set[tuple[str, ...]] = set()
    called = {}
    for op in ops:
        plain = op.cpp_name if op.form == "out" or op.name in CPP_RESERVED else op.name
        types = tuple(TYPES[a.type] for a in op.arguments)
        if (plain, *types) in used:
            plain = op.cpp_name
        used.add((plain, *types))
        called[op.cpp_name] = plain
    return called


def is_method(op: Operator) -> bool:
    """Return True if the operator is a method of its first argument, as in Python."""
    if op.form == "out" or not op.arguments or op.arguments[0].type not in ("Tensor", "Operand"):
        return False
    return op.arguments[0].name == "self" and op.name not in NO_METHODS


def methods_inc(ops: list[Operator]) -> str:
    """Return the declarations within class Tensor."""
    called = names(ops)
    lines = [HEAD + "// Included by class Tensor of underhood.hpp."]
    lines += [
        f"{result(op)} {called[op.cpp_name]}({parameters(op.arguments[1:], True)}) const;"
        for op in ops
        if is_method(op)
    ]
    return "\n".join(lines) + "\n"


def ops_hpp(ops: list[Operator]) -> str:
    called = names(ops)
    lines = [HEAD + "// Included by underhood.hpp, within its namespace."]
    lines += [
        f"{result(op)} {called[op.cpp_name]}({parameters(op.arguments, True)});" for op in ops
    ]
    lines += [function(op, called[op.cpp_name]) for op in ops]
    for op in filter(is_method, ops):
        others = op.arguments[1:]
        passed = ", ".join(["*this", *(name(a) for a in others)])
        lines.append(
            f"inline {result(op)} Tensor::{called[op.cpp_name]}({parameters(others, False)}) const {{\n"
            f"  return {called_from_class(called[op.cpp_name])}({passed});\n}}"
        )
    return "\n".join(lines) + "\n"


def called_from_class(plain: str) -> str:
    """Return a qualified call of the free function, which a method of the same name hides."""
    return f"::uh::{plain}"
