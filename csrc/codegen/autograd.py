"""generated/autograd/<family>.cpp: the Node class and the Autograd kernels of every operator with a gradient.

A formula is C++ (csrc/autograd/formula.h) in terms of `grad` (the gradient of the first result), `grads[i]`, the
operator's arguments and results by their names, and `needs_<argument>`. The Node saves the values that a
formula uses; of an argument that is used only by sizes(), dtype() and similar calls it saves the metadata.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from model import Argument, DeclarationError, Operator

HEAD = "// Generated from csrc/ops yaml by csrc/codegen/autograd.py. Do not edit.\n"
_INFO = r"\.(sizes|strides|offset|ndim|size|numel|dtype|device)\("

# Schema type -> C++ type of a Node's member for a value of it.
VALUES = {
    "Scalar": "Scalar",
    "Scalar?": "std::optional<Scalar>",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "Dims",
    "int[]?": "std::optional<Dims>",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "std::vector<double>",
    "float[]?": "std::optional<std::vector<double>>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "ScalarType": "DType",
    "ScalarType?": "DType",
    "Device?": "Device",
    "MemoryFormat?": "MemoryFormat",
    "str": "std::string",
    "str?": "std::optional<std::string>",
}


@dataclass(frozen=True)
class Saved:
    """A value that a Node saves."""

    name: str  # in formulas
    kind: str  # tensor | tensors | operand | info | infos | value | result
    type: str  # C++ type of the member
    users: tuple[str, ...]  # the arguments whose formulas use it


def holds_tensors(a: Argument) -> bool:
    return a.type in ("Tensor", "Tensor?", "Operand", "Tensor[]", "Tensor?[]")


def differentiable(op: Operator) -> list[Argument]:
    """Return the arguments that get a gradient, in the order of the Node's edges."""
    with_gradient = [name for names in op.gradient for name in names]
    known = {a.name: a for a in op.arguments if holds_tensors(a)}
    for name in with_gradient:
        if name not in known:
            raise DeclarationError(
                f"{op.schema}: gradient of {name!r}, which is not a tensor argument"
            )
    return [a for a in op.arguments if a.name in with_gradient]


def node_name(op: Operator) -> str:
    """Return PyTorch's name of the Node: MulBackward0. One in parentheses is an expression over the saved values."""
    if op.node:
        return op.node
    camel = "".join(part[:1].upper() + part[1:] for part in op.name.split("_"))
    return re.sub(r"(?<=\d)[a-z]", lambda m: m[0].upper(), camel) + "Backward0"  # AvgPool2D


def _kernel_name(op: Operator) -> str:
    return f"autograd {op.name}"


def result_names(op: Operator) -> list[str]:
    results = op.functional_results
    if len(results) < 2:  # an operator that only writes in place has its first argument as result
        return [results[0].name or "result"] if results else ["result"]
    return [r.name or f"result{i}" for i, r in enumerate(results)]


def _uses(formula: str, name: str) -> bool:
    return re.search(rf"(?<![\w.:]){name}\b(?!\()", formula) is not None


def _only_info(formulas: list[str], name: str) -> bool:
    """Return true if every use reads metadata only: `self.sizes()`, `infos(tensors)`."""
    for formula in formulas:
        without_info = re.sub(rf"(?<![\w.]){name}{_INFO}", "", formula)
        without_info = re.sub(rf"\binfos\({name}\)", "", without_info)
        if _uses(without_info, name):
            return False
    return True


def saved_values(op: Operator) -> list[Saved]:
    saved = []
    for a in op.arguments:
        info_users = [ns for ns, f in op.gradient.items() if _uses(f, f"{a.name}_info")]
        if info_users:  # saved separately from the tensor, which another formula may need
            saved.append(Saved(f"{a.name}_info", "info", "TensorInfo", sum(info_users, ())))
        users = [(names, f) for names, f in op.gradient.items() if _uses(f, a.name)]
        if not users and op.node.startswith("(") and _uses(op.node, a.name):
            saved.append(Saved(a.name, "value", VALUES[a.type], ()))
        if not users:
            continue
        used_by = tuple(name for names, _ in users for name in names)
        info = _only_info([f for _, f in users], a.name)
        if a.type.endswith("[]") and holds_tensors(a):
            kind = (
                ("infos", "std::vector<TensorInfo>")
                if info
                else ("tensors", "std::vector<SavedTensor>")
            )
        elif a.type == "Operand":
            kind = ("operand_info", "TensorInfo") if info else ("operand", "SavedOperand")
        elif holds_tensors(a):
            kind = ("info", "TensorInfo") if info else ("tensor", "SavedTensor")
        else:
            kind = ("value", VALUES[a.type])
        saved.append(Saved(a.name, *kind, used_by))
    # The order of the formulas, as in PyTorch: hooks see it.
    order = [a.name for f in op.gradient.values() for a in op.arguments if _uses(f, a.name)]
    saved.sort(key=lambda s: order.index(s.name) if s.name in order else len(order))
    names = {a.name for a in op.arguments}
    for i, name in enumerate(result_names(op)):
        users = [(ns, f) for ns, f in op.gradient.items() if name not in names and _uses(f, name)]
        if not users:
            continue
        used_by = tuple(n for ns, _ in users for n in ns)
        if _only_info([f for _, f in users], name):
            saved.append(Saved(name, f"result_info:{i}", "TensorInfo", used_by))
        else:
            saved.append(Saved(name, f"result:{i}", "SavedTensor", used_by))
    return saved


def class_name(op: Operator) -> str:
    return f"{op.cpp_name}_Node"


def _edge_offsets(op: Operator) -> dict[str, str]:
    """Return the index of the first edge of each differentiable argument; a list has one edge per tensor."""
    offsets, before, fixed = {}, "", 0
    for a in differentiable(op):
        offsets[a.name] = f"{before}{fixed}" if before else str(fixed)
        if a.type.endswith("[]"):
            before += f"n_{a.name}_ + "
        else:
            fixed += 1
    return offsets


def node_class(op: Operator) -> str:
    saved = saved_values(op)
    edges = differentiable(op)
    lists = [a for a in edges if a.type.endswith("[]")]
    lines = [f"struct {class_name(op)} final : Node {{"]
    name = node_name(op)
    expression = name if name.startswith("(") else f'"{name}"'
    used = [s.name for s in saved if name.startswith("(") and _uses(name, s.name)]
    bound = "".join(f"const auto& {n} = {n}_; " for n in used)
    lines.append(f"  std::string name() const override {{ {bound}return {expression}; }}")
    lines.append("  Gradients apply(Gradients grads) override {")
    lines.append("    using namespace ops;  // NOLINT: formulas name operators")
    lines.append("    Gradients out(edges().size());")
    if (len(op.results) == 1 and not op.results[0].type.endswith("[]")) or op.written:
        lines.append("    const Tensor& grad = grads[0];\n    if (!grad) return out;")
    else:
        lines.append("    if (!any_defined(grads)) return out;")
        lines.append("    [[maybe_unused]] const Tensor& grad = grads[0];")
    for s in saved:
        match s.kind.partition(":")[0]:
            case "tensor" | "result" | "operand":
                lines.append(f"    const auto {s.name} = {s.name}_.unpack(*this);")
            case "tensors":
                lines.append(f"    const auto {s.name} = unpack_all(*this, {s.name}_);")
            case _:
                lines.append(f"    [[maybe_unused]] const auto& {s.name} = {s.name}_;")
    offsets = _edge_offsets(op)
    for a in edges:
        at = offsets[a.name]
        if a.type.endswith("[]"):
            lines.append(f"    const bool needs_{a.name} = needs_any({at}, n_{a.name}_);")
        else:
            lines.append(f"    const bool needs_{a.name} = needs({at});")
    for names, formula in op.gradient.items():
        need = " || ".join(f"needs_{n}" for n in names)
        if len(names) == 1:
            a = next(a for a in edges if a.name == names[0])
            if a.type.endswith("[]"):
                lines.append(f"    if ({need}) store_gradients(out, {offsets[a.name]}, {formula});")
            else:
                lines.append(f"    if ({need}) out[{offsets[a.name]}] = {formula};")
            continue
        lines.append(f"    if ({need}) {{\n      auto gradients = {formula};")
        for i, n in enumerate(names):
            lines.append(
                f"      if (needs_{n}) out[{offsets[n]}] = std::move(std::get<{i}>(gradients));"
            )
        lines.append("    }")
    lines.append("    return out;\n  }")
    if saved:
        lines.append("  void each_saved([[maybe_unused]] SavedVisitor& visitor) override {")
        for s in saved:
            name = f"_saved_{s.name}"
            match s.kind.partition(":")[0]:
                case "tensor" | "result":
                    lines.append(f'    visitor.tensor("{name}", {s.name}_);')
                case "operand":
                    lines.append(f'    visitor.operand("{name}", {s.name}_);')
                case "tensors":
                    lines.append(f'    visitor.tensors("{name}", {s.name}_);')
                case "infos":
                    pass
                case "info" | "operand_info" | "result_info":
                    tensor = name.removesuffix("_info")
                    lines.append(f'    visitor.value("{tensor}_sym_sizes", to_value({s.name}_));')
                case _:
                    lines.append(f'    visitor.value("{name}", to_value({s.name}_));')
        lines.append("  }")
    lines += [f"  {s.type} {s.name}_{{}};" for s in saved]
    lines += [f"  size_t n_{a.name}_ = 0;" for a in lists]
    if lists:
        lines.append(
            "  bool needs_any(size_t first, size_t n) const {\n"
            "    for (size_t i = first; i < first + n; ++i)\n      if (needs(i)) return true;\n"
            "    return false;\n  }"
        )
    lines.append("};\n")
    return "\n".join(lines)


def _save(op: Operator, s: Saved, written: Argument | None) -> str:
    condition = " || ".join(f"needs_{n}" for n in dict.fromkeys(s.users))
    source = s.name
    inplace_of = f", {written.name}" if written else ""
    if written and s.name == written.name:
        source, inplace_of = "original", ""
    match s.kind:
        case "operand":
            written_tensor = written.name if inplace_of else "Tensor()"
            wraps = "true" if "wraps_numbers" in op.tags else "false"
            return f"  if ({condition}) node->{s.name}_.save(*node, {source}, {written_tensor}, {wraps});"
        case "tensor":
            return f"  if ({condition}) node->{s.name}_.save(*node, {source}{inplace_of});"
        case "tensors":
            return f"  if ({condition}) save_all(*node, {source}, node->{s.name}_{inplace_of});"
        case "info":
            return f"  node->{s.name}_ = TensorInfo({s.name.removesuffix('_info')});"
        case "operand_info":
            return f"  node->{s.name}_ = TensorInfo({s.name}.tensor);"
        case "infos":
            return f"  node->{s.name}_ = infos({s.name});"
    return f"  node->{s.name}_ = {s.name};"


def _is_saved_result(s: Saved) -> bool:
    return s.kind.startswith("result")


def autograd_kernel(op: Operator) -> str:
    """Return the kernel for Autograd: makes the Node, redispatches and sets the result's history."""
    edges = differentiable(op)
    saved = saved_values(op)
    names = ", ".join(a.name for a in op.arguments)
    below = f"ops::{op.cpp_name}_op.redispatch(keys.below(Key::kAutograd), {names})"
    lines = [f"{op.cpp_result} {op.cpp_name}_autograd(KeySet keys, {op.cpp_parameters}) {{"]
    lines += [f"  const bool needs_{a.name} = requires_grad({a.name});" for a in edges]
    any_needed = " || ".join(f"needs_{a.name}" for a in edges)
    written = op.arguments[0] if op.written else None
    if written:
        any_needed = f"is_differentiable({written.name}.dtype()) && ({any_needed})"
    if op.differentiable_if:
        any_needed = f"{op.differentiable_if} && ({any_needed})"
    lines.append(f"  if (!({any_needed})) return {below};")
    if written:
        lines.append(f"  check_inplace({written.name}, true);")
        if any(s.name == written.name and s.kind in ("tensor", "operand") for s in saved):
            users = next(s.users for s in saved if s.name == written.name)
            condition = " || ".join(f"needs_{n}" for n in dict.fromkeys(users))
            lines.append(
                f"  const Tensor original = ({condition}) ? ops::clone({written.name}) : Tensor();"
            )
    lines.append(f"  const auto node = make_ref<{node_class_of(op)}>();")
    for a in edges:
        if a.type.endswith("[]"):
            lines.append(f"  for (const Tensor& t : {a.name}) node->add_edge(t);")
            lines.append(f"  node->n_{a.name}_ = {a.name}.size();")
        else:
            value = f"{a.name}.tensor" if a.type == "Operand" else a.name
            lines.append(f"  node->add_edge(needs_{a.name} ? gradient_edge({value}) : Edge());")
    lines += [_save(op, s, written) for s in saved if not _is_saved_result(s)]
    if written:
        lines.append(f"  below_autograd([&] {{ {below}; }});")
        extended = "extend_history" if op.has_tag("inplace_view") else "rebase_history"
        lines.append(f"  {extended}({written.name}, node);")
        for s in saved:
            if s.kind.startswith("result:"):
                condition = " || ".join(f"needs_{n}" for n in dict.fromkeys(s.users))
                lines.append(
                    f"  if ({condition}) node->{s.name}_.save_output(*node, {written.name});"
                )
            elif _is_saved_result(s):
                lines.append(f"  node->{s.name}_ = TensorInfo({written.name});")
        lines.append("}")
        return "\n".join(lines)
    lines.append(f"  {op.cpp_result} result = below_autograd([&] {{ return {below}; }});")
    several = len(op.results) > 1
    if not several and not op.differentiable_if and any(a.name == "dtype" for a in op.arguments):
        lines.append(
            '  check(is_differentiable(result.dtype()), "Autograd not support dtype: ", '
            "info(result.dtype()).title);"
        )
    if not op.complex_gradient:
        first = "std::get<0>(result)" if several else "result"
        lines.append(
            f'  check(!is_complex({first}.dtype()), "{op.name} does not support automatic '
            'differentiation for outputs with complex dtype.");'
        )
    for i in range(len(op.results)):
        value = f"std::get<{i}>(result)" if several else "result"
        plain = (
            op.differentiable is not None
            and (op.results[i].name or f"result{i}") not in op.differentiable
        )
        lines.append(
            "  node->add_undefined_input();" if plain else f"  set_history({value}, node);"
        )
    for s in saved:
        if _is_saved_result(s):
            kind, _, i = s.kind.partition(":")
            value = f"std::get<{i}>(result)" if several else "result"
            condition = " || ".join(f"needs_{n}" for n in dict.fromkeys(s.users))
            if kind == "result":
                lines.append(f"  if ({condition}) node->{s.name}_.save_output(*node, {value});")
            else:
                lines.append(f"  node->{s.name}_ = TensorInfo({value});")
    lines.append("  return result;\n}")
    return "\n".join(lines)


def copies_composite(op: Operator) -> bool:
    """Return true for the in-place form of a composite: it copies the result into self, differentiably."""
    return op.composite and op.form == "inplace" and bool(op.base) and not op.gradient


def composite_inplace_kernel(op: Operator) -> str:
    names = ", ".join(a.name for a in op.arguments)
    tensors = [a for a in op.arguments if holds_tensors(a)]
    needed = " || ".join(f"requires_grad({a.name})" for a in tensors)
    first = op.arguments[0].name
    others = [
        f"with_own_history({a.name}, {first})" if holds_tensors(a) else a.name
        for a in op.arguments[1:]
    ]
    copied = ", ".join([f"ops::clone({first})", *others])
    return (
        f"void {op.cpp_name}_autograd(KeySet keys, {op.cpp_parameters}) {{\n"
        f"  if (!({needed})) return ops::{op.cpp_name}_op.redispatch(keys.below(Key::kAutograd), {names});\n"
        f"  check_inplace({first}, true);\n"
        # On a copy: the operators of the composite may save self, which must not be overwritten.
        f'  copy_result({first}, ops::{op.base}({copied}), "{op.name}");\n}}\n'
    )


def decomposing_kernel(op: Operator) -> str:
    """Return the Autograd kernel of an operator that calls others where an operand requires grad.

    Views have the key Autograd even if they do not require grad: they run the operator itself.
    """
    names = ", ".join(a.name for a in op.arguments)
    needed = " || ".join(f"requires_grad({a.name})" for a in op.arguments if holds_tensors(a))
    return (
        f"{op.cpp_result} {op.cpp_name}_autograd(KeySet keys, {op.cpp_parameters}) {{\n"
        f"  if (!({needed})) return ops::{op.cpp_name}_op.redispatch(keys.below(Key::kAutograd), {names});\n"
        f"  return kernels::{op.decompose}(keys, {names});\n}}\n"
    )


def node_class_of(op: Operator) -> str:
    """Return the class of its Node, which in-place forms share with the functional form."""
    return f"{op.base}_Node" if op.form == "inplace" and op.base else class_name(op)


def _called(ops: list[Operator], by_name: dict[str, str]) -> list[str]:
    """Return the families whose operators the formulas of `ops` call."""
    calls = {
        name
        for op in ops
        for formula in op.gradient.values()
        for name in re.findall(r"\b(\w+)\(", formula)
    }
    return sorted({"copy", ops[0].family, *(by_name[name] for name in calls if name in by_name)})


def family_cpp(ops: list[Operator], by_name: dict[str, str], formulas: bool) -> str:
    """Return the Nodes and kernels of one family, and the function that registers them.

    by_name: the family of every operator by its C++ name; formulas: whether the family has its own header
    autograd/formulas/<family>.h.
    """
    family = ops[0].family
    own = f'\n#include "autograd/formulas/{family}.h"' if formulas else ""
    lines = [
        HEAD,
        f'#include "autograd/formula.h"\n#include "autograd/formulas/basics.h"{own}',
        *(f'#include "generated/ops/{name}.h"' for name in _called(ops, by_name)),
        "\nnamespace uh::autograd {\nnamespace {\n",
    ]
    top = len(lines) - 1
    registrations = []
    nodes: set[str] = set()
    for op in ops:
        if op.decompose and op.form == "functional":
            call = f"{op.cpp_result} {op.decompose}(KeySet, {op.cpp_parameters});"
            lines.insert(top, f"namespace uh::kernels {{ {call} }}\n")
            kernel = f"kernels::{op.decompose}"
            if not op.written:
                lines.append(decomposing_kernel(op))
                kernel = f"{op.cpp_name}_autograd"
            registrations.append(
                f'  ops::{op.cpp_name}_op.set_kernel(Key::kAutograd, {kernel}, "{op.decompose}");'
            )
        if copies_composite(op):
            lines.append(composite_inplace_kernel(op))
            registrations.append(
                f"  ops::{op.cpp_name}_op.set_kernel(Key::kAutograd, {op.cpp_name}_autograd, "
                f'"{_kernel_name(op)}");'
            )
        if not op.gradient or op.form == "out":
            continue
        if node_class_of(op) not in nodes:
            lines.append(
                node_class(op).replace(f"struct {class_name(op)} ", f"struct {node_class_of(op)} ")
            )
            nodes.add(node_class_of(op))
        lines.append(autograd_kernel(op) + "\n")
        registrations.append(
            f'  ops::{op.cpp_name}_op.set_kernel(Key::kAutograd, {op.cpp_name}_autograd, "{_kernel_name(op)}");'
        )
    lines.append("}  // namespace\n")
    lines.append(f"void register_{family}() {{")
    lines += registrations
    lines.append("}\n\n}  // namespace uh::autograd\n")
    return "\n".join(lines)


def register_cpp(families: list[str]) -> str:
    declared = "".join(f"void register_{family}();\n" for family in families)
    calls = "".join(f"  register_{family}();\n" for family in families)
    return (
        f'{HEAD}\n#include "autograd/registration.h"\n\nnamespace uh::autograd {{\n\n{declared}\n'
        f"void register_all() {{\n{calls}}}\n\n}}  // namespace uh::autograd\n"
    )
