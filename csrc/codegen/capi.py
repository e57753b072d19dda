"""generated/underhood_ops.h and capi_<family>.cpp: one typed C function per operator."""

from __future__ import annotations

from model import Argument, Operator

EXPORT = 'extern "C" '
HEAD = "/* Generated from csrc/ops yaml by csrc/codegen/capi.py. Do not edit. */\n"


def c_parameters(a: Argument) -> list[str]:
    """Return the C parameters that carry one argument."""
    n = a.name
    match a.type:
        case "Tensor" | "Tensor?":
            return [f"uh_handle {n}"]
        case "Operand":
            return [f"uh_handle {n}", f"int {n}_kind", f"int64_t {n}_i", f"double {n}_d"]
        case "Scalar" | "Scalar?":
            return [f"int {n}_kind", f"int64_t {n}_i", f"double {n}_d"]
        case "int[]" | "int[]?":
            return [f"const int64_t* {n}", f"int64_t {n}_n"]
        case "float[]" | "float[]?":
            return [f"const double* {n}", f"int64_t {n}_n"]
        case "Tensor[]" | "Tensor?[]":
            return [f"const uh_handle* {n}", f"int64_t {n}_n"]
        case "int?" | "bool?":
            return [f"int {n}_given", f"int64_t {n}"]
        case "float?":
            return [f"int {n}_given", f"double {n}"]
        case "int":
            return [f"int64_t {n}"]
        case "float":
            return [f"double {n}"]
        case "bool" | "ScalarType" | "ScalarType?" | "Device?" | "MemoryFormat?":
            return [f"int {n}"]
        case "str" | "str?":
            return [f"const char* {n}"]
    raise ValueError(f"no C form for {a.type}")


def cpp_argument(a: Argument) -> str:
    """Return the C++ expression that rebuilds one argument from its C parameters."""
    n = a.name
    match a.type:
        case "Tensor" | "Tensor?":
            return f"take({n})"
        case "Operand":
            return f"to_operand({n}, {n}_kind, {n}_i, {n}_d)"
        case "Scalar":
            return f"to_scalar({n}_kind, {n}_i, {n}_d)"
        case "Scalar?":
            return f"to_maybe_scalar({n}_kind, {n}_i, {n}_d)"
        case "int[]":
            return f"to_dims({n}, {n}_n)"
        case "int[]?":
            return f"to_maybe_dims({n}, {n}_n)"
        case "float[]":
            return f"to_floats({n}, {n}_n)"
        case "float[]?":
            return f"to_maybe_floats({n}, {n}_n)"
        case "Tensor[]" | "Tensor?[]":
            return f"to_tensors({n}, {n}_n)"
        case "int?":
            return f"to_maybe<int64_t>({n}_given, {n})"
        case "bool?":
            return f"to_maybe<bool>({n}_given, {n} != 0)"
        case "float?":
            return f"to_maybe<double>({n}_given, {n})"
        case "bool":
            return f"{n} != 0"
        case "ScalarType" | "ScalarType?":
            return f"static_cast<DType>({n})"
        case "MemoryFormat?":
            return f"static_cast<MemoryFormat>({n})"
        case "Device?":
            return f"Device::of_code({n})"
        case "str":
            return f"std::string({n})"
        case "str?":
            return f"{n} ? std::optional<std::string>({n}) : std::nullopt"
    return n


def result_kind(op: Operator) -> str:
    if not op.results:
        return "status"
    if len(op.results) > 1:
        return "tuple"
    return op.results[0].type


RESULTS = {  # result kind -> (C type, extra parameter, value on failure)
    "status": ("int", "", "-1"),
    "tuple": ("int", "uh_handle* ret_", "-1"),
    "Tensor": ("uh_handle", "", "0"),
    "Tensor[]": ("uh_list*", "", "static_cast<uh_list*>(nullptr)"),
    "Scalar": ("uh_scalar", "", "failed_scalar()"),
    "int": ("int64_t", "", "INT64_MIN"),
    "bool": ("int", "", "-1"),
}
WRAP = {
    "status": "{call}; return 0;",
    "tuple": "give_tuple({call}, ret_); return 0;",
    "Tensor": "return give({call});",
    "Tensor[]": "return give_list({call});",
    "Scalar": "return to_c({call});",
    "int": "return {call};",
    "bool": "return {call} ? 1 : 0;",
}


def prototype(op: Operator) -> str:
    parameters = [p for a in op.arguments for p in c_parameters(a)]
    ctype, extra, _ = RESULTS[result_kind(op)]
    parameters += [extra] if extra else []
    return f"{ctype} uh_{op.cpp_name}({', '.join(parameters) or 'void'})"


def ops_h(ops: list[Operator]) -> str:
    lines = [
        HEAD,
        "#ifndef UNDERHOOD_OPS_H\n#define UNDERHOOD_OPS_H\n",
        '#include "capi/underhood.h"\n',
    ]
    lines.append('#ifdef __cplusplus\nextern "C" {\n#endif')
    lines += [f"{prototype(op)};" for op in ops]
    lines.append("#ifdef __cplusplus\n}\n#endif\n#endif\n")
    return "\n".join(lines)


def definition(op: Operator) -> str:
    """Return the C function of one operator."""
    _, _, failure = RESULTS[result_kind(op)]
    call = f"ops::{op.cpp_name}({', '.join(cpp_argument(a) for a in op.arguments)})"
    name = f'"{op.name}"'
    body = WRAP[result_kind(op)].format(call=call)
    return f"{EXPORT}{prototype(op)} {{\n  return guard({failure}, [&] {{ {body} }}, {name});\n}}"


def ops_cpp(ops: list[Operator], family: str) -> str:
    """Return the C functions of one family. The header with all prototypes is not included, as an edit of one family
    would then recompile all of them."""
    lines = [HEAD, f'#include "capi/convert.h"\n#include "generated/ops/{family}.h"\n']
    lines.append("using namespace uh;  // NOLINT: this file is nothing but calls into uh\n")
    return "\n".join([*lines, *map(definition, ops)]) + "\n"


def cdef_block(text: str) -> str:
    """Return the declarations between the `cdef begin` and `cdef end` marks of a header."""
    return "\n".join(part.split("/* cdef end */")[0] for part in text.split("/* cdef begin */")[1:])
