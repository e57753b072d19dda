"""generated/ops.h, kernels.h and register.cpp: the C++ face of every operator."""

from __future__ import annotations

from model import Operator

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/cpp_ops.py. Do not edit.\n"


def ops_h(ops: list[Operator]) -> str:
    """Operator objects and the functions that call them through the dispatcher."""
    lines = [HEAD, "#pragma once\n", '#include "dispatch/operator.h"\n', "namespace uh::ops {\n"]
    for op in ops:
        lines.append(f"extern Op<{op.signature}> {op.cpp_name}_op;")
        names = ", ".join(a.name for a in op.arguments)
        lines.append(
            f"inline {op.cpp_result} {op.cpp_name}({op.cpp_parameters}) {{ return {op.cpp_name}_op({names}); }}"
        )
    lines.append("\nvoid register_all();\n\n}  // namespace uh::ops\n")
    return "\n".join(lines)


def kernels_h(ops: list[Operator]) -> str:
    """Declarations of the hand-written kernels that the yaml names."""
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
            parameters = ", ".join(["KeySet", op.cpp_parameters] if op.arguments else ["KeySet"])
            declared[f"{op.cpp_result} {kernel}({parameters});"] = kernel
    lines += declared
    lines.append("\n}  // namespace uh::kernels\n")
    return "\n".join(lines)


def _pointwise_kernel(op: Operator) -> str:
    """The kernel of a pointwise operator: hand its operands and parameters to run_pointwise."""
    assert op.pointwise
    operands, params = [], []
    for a in op.arguments:
        if a.type == "Operand" or (a.type == "Tensor" and a.name != "out"):
            operands.append(f"Operand({a.name})" if a.type == "Tensor" else a.name)
        elif a.type in ("Scalar", "Scalar?"):
            params.append(a.name)
        elif a.type != "Tensor":
            raise ValueError(f"{op.schema}: a pointwise parameter must be a Scalar, not {a.type}")
    target = {"functional": "Tensor()", "inplace": op.arguments[0].name, "out": "out"}[op.form]
    packed = f"Params({{{', '.join(params)}}})" if params else "Params()"
    call = (
        f"run_pointwise(kPointwise[{op.pointwise.index}], Form::k{op.form.capitalize()}, "
        f"std::array{{{', '.join(operands)}}}, {packed}, {target})"
    )
    body = f"return {call};" if op.results else f"{call};"
    return f"{op.cpp_result} {op.cpp_name}_pointwise(KeySet, {op.cpp_parameters}) {{ {body} }}"


def _inplace_or_view(op: Operator) -> str | None:
    """The ADInplaceOrView kernel: remembers views, bumps versions; everything else falls through."""
    names = ", ".join(a.name for a in op.arguments)
    call = f"ops::{op.cpp_name}_op.redispatch(keys.below(Key::kADInplaceOrView), {names})"
    head = f"{op.cpp_result} {op.cpp_name}_ad(KeySet keys, {op.cpp_parameters}) {{"
    if op.is_view:
        self = next(a.name for a in op.arguments if a.viewed)
        mark = f"mark_view({self}, result, ops::{op.cpp_name}_op);"
        return f"{head}\n  auto result = {call};\n  {mark}\n  return result;\n}}"
    if op.written:
        bumps = "".join(f"\n  {a.name}.impl()->bump_version(current_call());" for a in op.written)
        if op.results:
            return f"{head}\n  auto result = {call};{bumps}\n  return result;\n}}"
        return f"{head}\n  {call};{bumps}\n}}"
    return None


def register_cpp(ops: list[Operator]) -> str:
    """The operator objects, the generated kernels, and the list that registers everything."""
    lines = [
        HEAD,
        '#include "dispatch/dispatcher.h"',
        '#include "generated/kernels.h"',
        '#include "generated/ops.h"',
        '#include "generated/pointwise_table.h"',
        '#include "ops/kernel/pointwise.h"',
        '#include "ops/mark_view.h"\n',
        "namespace uh::ops {\n",
    ]
    for op in ops:
        lines.append(
            f'Op<{op.signature}> {op.cpp_name}_op("{op.schema.replace(chr(34), chr(39))}");'
        )
    lines.append("\n}  // namespace uh::ops\n\nnamespace uh {\nnamespace {\n")
    registrations = []
    for op in ops:
        if op.pointwise:
            lines.append(_pointwise_kernel(op))
            for key in ("CPU", "Meta"):
                registrations.append(
                    f'  ops::{op.cpp_name}_op.set_kernel(Key::k{key}, {op.cpp_name}_pointwise, "pointwise {op.name}");'
                )
        for key, kernel in op.kernels.items():
            registrations.append(
                f'  ops::{op.cpp_name}_op.set_kernel(Key::k{key}, kernels::{kernel}, "{kernel}");'
            )
        extra = _inplace_or_view(op)
        if extra:
            lines.append(extra)
            what = "mark view" if op.is_view else "bump version"
            registrations.append(
                f'  ops::{op.cpp_name}_op.set_kernel(Key::kADInplaceOrView, {op.cpp_name}_ad, "{what}");'
            )
    lines.append(
        "\n}  // namespace\n\nvoid ops::register_all() {\n  Dispatcher& d = Dispatcher::instance();"
    )
    lines += registrations
    lines += [f"  d.enter(ops::{op.cpp_name}_op);" for op in ops]
    lines.append("}\n\n}  // namespace uh\n")
    return "\n".join(lines)
