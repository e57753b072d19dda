"""generated/ops/<family>.h, kernels/<family>.h and register_<family>.cpp: the C++ interface of operators.

Each yaml file has one of each, so that an edit of a family recompiles that family only.
signatures_<n>.cpp has the code that operators of one signature share.
"""

from __future__ import annotations

import re
from zlib import crc32

import autograd
import expression_opencl
import folds
import schema_tables
from model import Argument, Operator
from pointwise import PARAMETERS

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/cpp_ops.py. Do not edit.\n"
SIGNATURE_FILES = 8


def ops_h(ops: list[Operator]) -> str:
    """Return operator objects and the functions that call them through the dispatcher."""
    lines = [HEAD, "#pragma once\n", '#include "dispatch/operator.h"\n', "namespace uh::ops {\n"]
    for op in ops:
        lines.append(f"extern Op<{op.signature}> {op.cpp_name}_op;")
        names = ", ".join(a.name for a in op.arguments)
        lines.append(
            f"inline {op.cpp_result} {op.cpp_name}({_with_defaults(op)}) {{ return {op.cpp_name}_op({names}); }}"
        )
    lines.append("\n}  // namespace uh::ops\n")
    return "\n".join(lines)


def _default(a: Argument) -> str | None:
    """Return the C++ text of an argument's default; None if the argument is required."""
    if a.default is None or a.written:
        return None
    if a.default == "None":
        undefined = {"ScalarType?": "DType::kUndefined", "Device?": "Device::kUndefined"}
        undefined |= {"MemoryFormat?": "MemoryFormat::kUndefined", "Tensor?": "Tensor()"}
        return undefined.get(a.type, "std::nullopt")
    text = {"True": "true", "False": "false"}.get(a.default, a.default)
    if a.type in ("Scalar", "Scalar?"):
        return f"Scalar({text})"
    if a.type.startswith("int[]"):
        return f"Dims{{{text.strip('[]') or ''}}}" if text.startswith("[") else f"Dims{{{text}}}"
    if a.type.startswith("str"):
        return "std::string(" + text.replace("'", '"') + ")"
    return text if re.fullmatch(r"-?[\d.e+-]+|true|false", text) else None


def _with_defaults(op: Operator) -> str:
    """Return the parameters; as C++ requires, one has a default only if all later ones do."""
    parameters: list[str] = []
    open_end = True
    for a in reversed(op.arguments):
        default = _default(a) if open_end else None
        open_end = default is not None
        parameters.append(f"{a.cpp} {a.name}" + (f" = {default}" if open_end else ""))
    return ", ".join(reversed(parameters))


def all_ops_h(families: list[str]) -> str:
    """Return every operator of every family, and the function that registers them."""
    lines = [HEAD, "#pragma once\n"]
    lines += [f'#include "generated/ops/{family}.h"' for family in families]
    lines.append("\nnamespace uh::ops {\n\nvoid register_all();\n\n}  // namespace uh::ops\n")
    return "\n".join(lines)


def signatures(ops: list[Operator]) -> list[list[str]]:
    """Return the distinct C++ signatures, assigned to files by a checksum, so that a new one moves no other."""
    files: list[list[str]] = [[] for _ in range(SIGNATURE_FILES)]
    for signature in sorted({op.signature for op in ops}):
        files[crc32(signature.encode()) % SIGNATURE_FILES].append(signature)
    return files


def signatures_cpp(signatures: list[str]) -> str:
    """Return the code of the operators of some signatures: Note [Operators are compiled once]."""
    lines = [HEAD, '#include "dispatch/operator_calls.h"\n', "namespace uh {\n"]
    lines += [f"template class Op<{signature}>;" for signature in signatures]
    lines.append("\n}  // namespace uh\n")
    return "\n".join(lines)


def kernels_h(ops: list[Operator]) -> str:
    """Return declarations of the hand-written kernels that the yaml names."""
    lines = [
        HEAD,
        "#pragma once\n",
        "#include <tuple>\n#include <vector>\n",
        '#include "dispatch/operator.h"\n',
    ]
    lines.append("namespace uh::kernels {\n")
    declared: dict[str, str] = {}
    for op in ops:
        for kernel in op.kernels.values():
            if op.is_structured:
                declared[
                    f"void {kernel}({', '.join([op.cpp_parameters, *_result_parameters(op)])});"
                ] = kernel
                continue
            parameters = ", ".join(["KeySet", op.cpp_parameters] if op.arguments else ["KeySet"])
            declared[f"{op.cpp_result} {kernel}({parameters});"] = kernel
    lines += declared
    lines.append("\n}  // namespace uh::kernels\n")
    return "\n".join(lines)


def pointwise_kernel(op: Operator) -> str:
    """Return a pointwise operator on a device: passes its operands and parameters to the device's loop runner."""
    assert op.pointwise
    operands, params = [], []
    for a in op.arguments:
        if a.type == "Operand" or (a.type == "Tensor" and a.name != "out"):
            operands.append(f"Input({a.name})")
        elif a.type in PARAMETERS:
            params.append(a.name)
        elif a.type != "Tensor":
            raise ValueError(f"{op.schema}: a pointwise parameter must be a number, not {a.type}")
    target = {"functional": "Tensor()", "inplace": op.arguments[0].name, "out": "out"}[op.form]
    packed = f"Params({{{', '.join(params)}}})" if params else "Params()"
    call = (
        f"run(k_{op.base or op.cpp_name}, Form::k{op.form.capitalize()}, "
        f"std::array{{{', '.join(operands)}}}, {packed}, {target})"
    )
    body = f"return {call};" if op.results else f"{call};"
    return (
        f"template <PointwiseRun run>\n"
        f"{op.cpp_result} {op.cpp_name}(KeySet, {op.cpp_parameters}) {{ {body} }}"
    )


def _result_names(op: Operator) -> list[str]:
    if not op.results:
        return []
    return (
        [r.name or f"result{i}" for i, r in enumerate(op.results)]
        if len(op.results) > 1
        else ["result"]
    )


def _result_parameters(op: Operator) -> list[str]:
    return [f"const Tensor& {name}" for name in _result_names(op)]


def structured_kernel(op: Operator) -> str:
    """Return a structured operator on a device: its shape rule checks and allocates, a kernel fills the results.

    Without results, the rule only checks, and the kernel writes the schema's mutable arguments."""
    names = _result_names(op)
    arguments = ", ".join(a.name for a in op.arguments)
    rule = re.sub(r"\bop\b", f'"{op.name}"', op.shape_rule)
    check, keys = "", "KeySet"
    if checked(op):
        tensors = ", ".join(a.name for a in op.arguments if _holds_tensors(a))
        check, keys = f'  check_one_device(keys, "{op.name}", {tensors});\n', "KeySet keys"
    used = set(re.findall(r"\w+", check + rule))
    parameters = ", ".join(a.cpp + (f" {a.name}" if a.name in used else "") for a in op.arguments)
    results = "results" if len(names) > 1 else "".join(names)
    unpacked = f"  const auto& [{', '.join(names)}] = results;\n" if len(names) > 1 else ""
    writes = "".join(f"  record_write({n});\n" for n in names or [a.name for a in op.written])
    types = ", ".join([*(a.cpp for a in op.arguments), *["const Tensor&"] * len(names)])
    allocated = f"{op.cpp_result} {results} = " if names else ""
    return (
        f"inline {op.cpp_result} {op.cpp_name}_shape({keys}, {parameters}) {{\n"
        f"{check}  {'return ' if names else ''}shapes::{rule};\n}}\n"
        f"template <void (*kernel)({types})>\n"
        f"{op.cpp_result} {op.cpp_name}(KeySet keys, {op.cpp_parameters}) {{\n"
        f"  {allocated}{op.cpp_name}_shape(keys, {arguments});\n{unpacked}"
        f"  kernel({', '.join([arguments, *names])});\n"
        f"{writes}{f'  return {results};' + chr(10) if names else ''}}}\n"
        f"template <void (*kernel)({types})>\n"
        f"void register_{op.cpp_name}(Key key, const char* name) {{\n"
        f"  ops::{op.cpp_name}_op.set_kernel(key, {op.cpp_name}<kernel>, name);\n}}\n"
    )


def copied_structured_kernel(op: Operator) -> str:
    """Return the functional form of an operator with a structured in-place form, which it runs on a copy of `self`."""
    first, *others = (a.name for a in op.arguments)
    types = ", ".join(a.cpp for a in op.arguments)
    inplace = op.inplace_cpp_name
    return (
        f"inline Tensor {op.cpp_name}_shape(KeySet keys, {op.cpp_parameters}) {{\n"
        f"  Tensor result = dense_copy({first});\n"
        f"  {inplace}_shape(keys, {', '.join(['result', *others])});\n  return result;\n}}\n"
        f"template <void (*kernel)({types})>\n"
        f"Tensor {op.cpp_name}(KeySet keys, {op.cpp_parameters}) {{\n"
        f"  Tensor result = dense_copy({first});\n"
        f"  {inplace}<kernel>(keys, {', '.join(['result', *others])});\n  return result;\n}}\n"
        f"template <void (*kernel)({types})>\n"
        f"void register_{op.cpp_name}(Key key, const char* name) {{\n"
        f"  ops::{op.cpp_name}_op.set_kernel(key, {op.cpp_name}<kernel>, name);\n"
        f"  ops::{inplace}_op.set_kernel(key, {inplace}<kernel>, name);\n}}\n"
    )


def structured_h(ops: list[Operator], family: str) -> str:
    """Return structured operators as templates over a device's loop runner or kernel, and their registration."""
    structured = [structured_kernel(op) for op in ops if op.is_structured]
    structured += [copied_structured_kernel(op) for op in ops if op.copied_structured]
    lines = [
        HEAD,
        "#pragma once\n",
        f'#include "generated/ops/{family}.h"\n#include "generated/pointwise/{family}.h"\n',
    ]
    if structured:
        lines.append(f'#include "ops/common_device_check.h"\n#include "ops/{family}/shapes.h"\n')
    if any(op.copied_structured for op in ops):
        lines.append('#include "ops/copy/any_device.h"\n')
    lines.append("namespace uh::structured {\n")
    lines += structured
    groups: dict[str, list[Operator]] = {}
    for op in ops:
        if op.pointwise:
            groups.setdefault(op.base or op.cpp_name, []).append(op)
            lines.append(pointwise_kernel(op) + "\n")
    for base, forms in groups.items():
        lines.append(
            f"// {', '.join(op.schema.partition('(')[0] for op in forms)}\n"
            f"template <PointwiseRun run>\nvoid register_{base}(Key key, const char* name) {{"
        )
        lines += [
            f"  ops::{op.cpp_name}_op.set_kernel(key, {op.cpp_name}<run>, name);" for op in forms
        ]
        lines.append("}\n")
    lines.append("}  // namespace uh::structured\n")
    return "\n".join(lines)


def _formed_kernel(op: Operator) -> str:
    """Return the kernel of an in-place or out= form: runs the functional form, then writes its result."""
    inputs = [a for a in op.arguments if op.form == "inplace" or not a.written]
    outs = [a.name for a in op.written]
    write = (
        "write_self" if op.form == "inplace" else "write_exact_out" if op.exact_out else "write_out"
    )
    # linalg_solve_ex has an argument `result`.
    local = "computed" if "result" in outs else "result"
    lines = [f"const auto {local} = ops::{op.base}({', '.join(a.name for a in inputs)});"]
    if op.out_dtype_of:
        lines.insert(0, f'check_out_dtype(out, {op.out_dtype_of}.dtype(), "{op.name}");')
    for i, out in enumerate(outs):
        result = local if len(outs) == 1 else f"std::get<{i}>({local})"
        operands = {a.name for a in op.arguments if a.type == "Operand"}
        for name, refuses_any in op.overlap:
            if name == "out" and op.form == "out":
                lines.append(f'check_no_internal_overlap({out}, "{op.name}");')
            if name in (out, "out"):
                continue
            tensor = f"{name}.tensor" if name in operands else name
            refused = str(refuses_any).lower()
            lines.append(
                f'check_out_overlap({out}, {result}.sizes(), {tensor}, {refused}, "{op.name}");'
            )
        if op.row_major and op.form == "out":
            lines.append(f"resize_row_major({out}, {result});")
        lines.append(f'{write}({out}, {result}, "{op.name}");')
    return f"void {op.cpp_name}_formed(KeySet, {op.cpp_parameters}) {{ {' '.join(lines)} }}"


def _inplace_or_view(op: Operator) -> str | None:
    """Return the ADInplaceOrView kernel, which tracks views and bumps versions; None if the operator needs none."""
    names = ", ".join(a.name for a in op.arguments)
    call = f"ops::{op.cpp_name}_op.redispatch(keys.below(Key::kADInplaceOrView), {names})"
    head = f"{op.cpp_result} {op.cpp_name}_ad(KeySet keys, {op.cpp_parameters}) {{"
    if op.is_view and op.composite:
        return None  # the view operators that it calls track the view
    if op.is_view:
        self = next(a.name for a in op.arguments if a.viewed)
        mark = "mark_alias" if op.no_gradient else "as_view"
        mark = f"{mark}({self}, result, ops::{op.cpp_name}_op);"
        return f"{head}\n  auto result = {call};\n  {mark}\n  return result;\n}}"
    if op.written:
        bumps = "".join(f"\n  {a.name}.impl()->bump_version(current_call());" for a in op.written)
        head += "".join(f"\n  {a.name}.impl()->check_writable();" for a in op.written)
        if op.bumps == "resized":
            self = op.written[0].name
            head += (
                f'\n  check(!{self}.impl()->requires_grad(), "cannot resize variables that require grad");'
                f"\n  const Dims sizes = {self}.sizes();"
            )
            bumps = f"\n  if (!({self}.sizes() == sizes)) {bumps.strip()}"
        # Several writes of one kernel count as one.
        within = "const Without<Key::kADInplaceOrView> below;"
        if op.results:
            return (
                f"{head}\n  auto result = [&] {{\n    {within}\n    return {call};\n  }}();"
                f"{bumps}\n  return result;\n}}"
            )
        return f"{head}\n  {{\n    {within}\n    {call};\n  }}{bumps}\n}}"
    return None


def _holds_tensors(argument: Argument) -> bool:
    return argument.type.startswith("Tensor") or argument.type == "Operand"


def checked(op: Operator) -> bool:
    """Return True if a generated check of the tensors' devices runs before a hand-written kernel."""
    tensors = [a for a in op.arguments if _holds_tensors(a)]
    several = len(tensors) > 1 or any(a.type.endswith("[]") for a in tensors)
    return several and not op.composite and not op.any_device


def _checked_kernel(op: Operator, kernel: str) -> str:
    """Return a hand-written kernel after the check that its tensors are on one device."""
    names = ", ".join(a.name for a in op.arguments)
    tensors = ", ".join(a.name for a in op.arguments if _holds_tensors(a))
    return (
        f"{op.cpp_result} {op.cpp_name}_{kernel}(KeySet keys, {op.cpp_parameters}) {{\n"
        f'  check_one_device(keys, "{op.name}", {tensors});\n'
        f"  return kernels::{kernel}(keys, {names});\n}}"
    )


def _copied_kernel(op: Operator) -> str:
    """Return the functional form of an operator with an in-place kernel only, which it runs on a copy."""
    first, *others = (a.name for a in op.arguments)
    tensors = ", ".join(a.name for a in op.arguments if _holds_tensors(a))
    check = f'  check_one_device(keys, "{op.name}", {tensors});\n' if checked(op) else ""
    return (
        f"{op.cpp_result} {op.cpp_name}_copied(KeySet keys, {op.cpp_parameters}) {{\n{check}"
        f"  Tensor result = dense_copy({first});\n"
        f"  kernels::{op.copied}(keys, {', '.join(['result', *others])});\n  return result;\n}}"
    )


def generated_kernels(op: Operator) -> list[str]:
    """Return the C++ of every kernel that is generated for an operator."""
    kernels = [folds.kernel(op)] if op.fold else []
    if op.copied and not op.copied_structured:
        kernels.append(_copied_kernel(op))
    if op.base and not op.pointwise:
        kernels.append(_formed_kernel(op))
    elif checked(op) and not op.pointwise and not op.is_structured:
        kernels += [_checked_kernel(op, kernel) for kernel in sorted(set(op.kernels.values()))]
    extra = _inplace_or_view(op)
    return [*kernels, extra] if extra else kernels


def differentiation(op: Operator) -> str:
    """Return the operator's member of Differentiation (dispatch/operator.h)."""
    if op.composite and op.form == "functional" and not op.gradient:
        return "Composite"
    if (op.gradient or op.decompose) and op.form != "out":
        return "Kernel"
    if autograd.copies_composite(op):
        return "Kernel"
    if not any(_holds_tensors(a) for a in op.arguments):
        return "Composite"
    return "None" if op.no_gradient else "Missing"


def register_cpp(ops: list[Operator], family: str) -> str:
    """Return the operator objects of a family, its generated kernels, and the list that registers them."""
    lines = [
        HEAD,
        '#include "dispatch/dispatcher.h"',
        '#include "backend/opencl/pointwise.h"' if any(op.pointwise for op in ops) else "",
        f'#include "generated/kernels/{family}.h"',
        f'#include "generated/ops/{family}.h"',
        '#include "generated/schema_types.h"',
        f'#include "generated/structured/{family}.h"',
        '#include "generated/folds.h"' if any(op.fold for op in ops) else "",
        '#include "backend/cpu/copy/elements.h"' if any(op.copied for op in ops) else "",
        '#include "ops/copy/write_out.h"',
        '#include "ops/overlap.h"',
        '#include "ops/as_view.h"',
        '#include "ops/common_device_check.h"',
        '#include "ops/resize_output.h"\n' if any(op.row_major for op in ops) else "",
        "namespace uh::ops {\nnamespace {\n",
    ]
    for op in ops:
        lines += schema_tables.operator_constants(op)
    lines.append("\n}  // namespace\n")
    for op in ops:
        tags = schema_tables.tag_set(op)
        lines.append(f"Op<{op.signature}> {op.cpp_name}_op({op.cpp_name}_schema, {tags});")
    lines.append("\n}  // namespace uh::ops\n\nnamespace uh {\nnamespace {\n")
    registrations = []

    def enter(op: Operator, key: str, kernel: str, name: str) -> None:
        registrations.append(
            f'  ops::{op.cpp_name}_op.set_kernel(Key::k{key}, {kernel}, "{name}");'
        )

    for op in ops:
        # A composite kernel is entered for every device, then those of single devices.
        composite_first = sorted(op.kernels.items(), key=lambda item: "Composite" not in item[0])
        for key, kernel in composite_first:
            if op.is_structured:
                registrations.append(
                    f'  structured::register_{op.cpp_name}<kernels::{kernel}>(Key::k{key}, "{kernel}");'
                )
                enter(op, "Meta", f"structured::{op.cpp_name}_shape", kernel)
                continue
            function = f"{op.cpp_name}_{kernel}" if checked(op) else f"kernels::{kernel}"
            if key.startswith("Composite"):
                registrations.append(
                    f'  ops::{op.cpp_name}_op.set_backend_kernels({function}, "{kernel}");'
                )
            else:
                enter(op, key, function, kernel)
        lines += generated_kernels(op)
        if op.fold:
            registrations.append(
                f'  structured::register_{op.cpp_name}<{op.cpp_name}_fold>(Key::kCPU, "{op.cpp_name}");'
            )
            enter(op, "Meta", f"structured::{op.cpp_name}_shape", op.cpp_name)
        if op.copied_structured:
            registrations.append(
                f'  structured::register_{op.cpp_name}<kernels::{op.copied}>(Key::kCPU, "{op.copied}");'
            )
            enter(op, "Meta", f"structured::{op.cpp_name}_shape", op.copied)
        elif op.copied:
            for key in ("CPU", "Meta"):
                enter(op, key, f"{op.cpp_name}_copied", op.copied.removesuffix("_into"))
        if op.pointwise and not op.base:
            kernel_name = f'"pointwise {op.name}"'
            registrations += [
                f"  structured::register_{op.cpp_name}<{run}>(Key::k{key}, {kernel_name});"
                for key, run in (("CPU", "run_pointwise"), ("Meta", "meta_pointwise"))
            ]
            if expression_opencl.has_kernel(op):
                registrations.append(
                    f"  structured::register_{op.cpp_name}<opencl::run_pointwise>"
                    f'(Key::kOpenCL, "opencl {op.name}");'
                )
        elif op.base and not op.pointwise:
            registrations.append(
                f'  ops::{op.cpp_name}_op.set_backend_kernels({op.cpp_name}_formed, "formed {op.name}");'
            )
        if (op.is_view and not op.composite) or op.written:
            name = "mark view" if op.is_view else "bump version"
            enter(op, "ADInplaceOrView", f"{op.cpp_name}_ad", name)
        category = differentiation(op)
        if category != "Kernel":
            registrations.append(
                f"  ops::{op.cpp_name}_op.set_differentiation(Differentiation::k{category});"
            )
    lines.append(
        f"\n}}  // namespace\n\nvoid register_{family}() {{\n  Dispatcher& d = Dispatcher::instance();"
    )
    lines += registrations
    for op in ops:
        name = f"ops::{op.cpp_name}_op"
        lines.append(f"  enable_fallback<{name}>({name});\n  d.enter({name});")
    lines.append("}\n\n}  // namespace uh\n")
    return "\n".join(lines)


def register_all_cpp(families: list[str]) -> str:
    """Calls the registration of every family: Note [No static constructors]."""
    declared = "".join(f"void register_{family}();\n" for family in families)
    calls = "".join(f"  register_{family}();\n" for family in families)
    return (
        f'{HEAD}\n#include "generated/ops.h"\n\nnamespace uh {{\n\n{declared}\n'
        f"void ops::register_all() {{\n{calls}}}\n\n}}  // namespace uh\n"
    )
