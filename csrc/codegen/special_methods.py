"""Python's special methods (x + y, -x, x += y), in the module of the operator that they call."""

from __future__ import annotations

from model import Operator

# Operator methods: method name -> (operator, True if the operands are swapped)
OPERATORS = {
    "__add__": ("add", False),
    "__radd__": ("add", True),
    "__sub__": ("sub", False),
    "__rsub__": ("rsub", False),
    "__mul__": ("mul", False),
    "__rmul__": ("mul", False),  # so that a number is the last operand: `exact_number`
    "__truediv__": ("div", False),
    "__rtruediv__": ("div", True),
    "__div__": ("div", False),  # Python 2's names, which PyTorch still has
    "__rdiv__": ("div", True),
    "__floordiv__": ("floor_divide", False),
    "__rfloordiv__": ("floor_divide", True),
    "__mod__": ("remainder", False),
    "__rmod__": ("remainder", True),
    "__pow__": ("pow", False),
    "__rpow__": ("pow", True),
    "__matmul__": ("matmul", False),
    "__rmatmul__": ("matmul", True),
    "__and__": ("bitwise_and", False),
    "__rand__": ("bitwise_and", True),
    "__or__": ("bitwise_or", False),
    "__ror__": ("bitwise_or", True),
    "__xor__": ("bitwise_xor", False),
    "__rxor__": ("bitwise_xor", True),
    "__lshift__": ("bitwise_left_shift", False),
    "__rlshift__": ("bitwise_left_shift", True),
    "__rshift__": ("bitwise_right_shift", False),
    "__rrshift__": ("bitwise_right_shift", True),
    "__eq__": ("eq", False),
    "__ne__": ("ne", False),
    "__lt__": ("lt", False),
    "__le__": ("le", False),
    "__gt__": ("gt", False),
    "__ge__": ("ge", False),
}
INPLACE_OPERATORS = {
    "__iadd__": "add_",
    "__isub__": "sub_",
    "__imul__": "mul_",
    "__itruediv__": "div_",
    "__idiv__": "div_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
    "__ipow__": "pow_",
    "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_",
    "__ilshift__": "bitwise_left_shift_",
    "__irshift__": "bitwise_right_shift_",
}
# Parameters of the operator that its special method lacks, besides `out=`.
OPTIONS = {
    **dict.fromkeys(("__add__", "__radd__", "__sub__", "__iadd__", "__isub__"), "alpha"),
    **dict.fromkeys(("__truediv__", "__div__", "__itruediv__", "__idiv__"), "rounding_mode"),
}
# Methods that accept a NumPy array; NumPy computes the others, and calls `Tensor.__array_wrap__`.
OF_ARRAYS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__rtruediv__", "__rdiv__"}
# The message for a `self` that is not a tensor, as an expression of the generated code.
NO_TENSOR = """f"{}: argument 'self' must be Tensor, got {{type(self).__name__}}\""""
RAISING = {"__rdiv__", "__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__"}
UNARY_OPERATORS = {
    "__neg__": "neg",
    "__pos__": "positive",
    "__abs__": "abs",
    "__invert__": "bitwise_not",
}
# The special method rejects other dtypes than the function of the same name.
INVERT = """def __invert__(self):
    if self.is_floating_point() or self.is_complex():
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


"""


def _head(name: str, target: str) -> list[str]:
    """Return the first lines, which reject a call without an operand, or with `out=`."""
    option = OPTIONS.get(name)
    lines = [
        f"def {name}(self, other=NotImplemented, {f'{option}=None, ' if option else ''}out=None):",
        "    if out is not None: return NotImplemented",
    ]
    if option:
        lines.append(
            f"    if {option} is not None and isinstance(other, _OPERANDS): "
            f"return {target}(self, other, {option}={option})"
        )
    return lines


def _converted(name: str) -> list[str]:
    """Return the lines that convert NumPy operands, and return NotImplemented for other classes."""
    arrays = ", arrays=True" if name in OF_ARRAYS else ""
    return [
        "    if not isinstance(other, _OPERANDS):",
        f"        other = numpy_operand(other{arrays})",
        "        if other is NotImplemented: return NotImplemented",
    ]


def has_plain_form(op: Operator) -> bool:
    """Return True for binary pointwise operators: most calls have two tensors, or a tensor and a number."""
    return (
        bool(op.pointwise)
        and op.form == "functional"
        and [a.type for a in op.arguments[:2]] in (["Operand", "Operand"], ["Tensor", "Operand"])
        and all(a.default is not None for a in op.arguments[2:])
    )


def _binary_method(name: str, op: Operator, swapped: bool) -> str:
    left, right = ("other", "self") if swapped else ("self", "other")
    # An `alpha` multiplies what is added: `__radd__` adds `other`, too.
    lines = _head(name, "div_Tensor_mode" if op.name == "div" else op.cpp_name)
    if not swapped and has_plain_form(op):
        if name == "__rsub__":  # not a slot of a class in C: it can be called on anything
            lines.append("    if not isinstance(self, Tensor): return NotImplemented")
        defaults = "".join(f", {a.default_value!r}" for a in op.arguments[2:])
        lines += [
            f"    r = _plain_{op.cpp_name}(self, other{defaults})",
            "    if r is NotImplemented:",  # other values than a Tensor and Python's numbers
            f"        if not isinstance(self, Tensor): raise TypeError({NO_TENSOR.format(name)})",
            *(f"    {line}" for line in _converted(name)),
            f"        return {op.cpp_name}(self, other)",
            "    if r is None: raise_last()",
            "    return r\n\n",
        ]
        return "\n".join(lines)
    if (
        swapped
    ):  # called by name with a number for self: PyTorch's C slots and its Python ones differ
        kind = "AttributeError" if name == "__rdiv__" else "TypeError"
        refusal = (
            f"raise {kind}({NO_TENSOR.format(name)})"
            if name in RAISING
            else "return NotImplemented"
        )
        lines.append(f"    if not isinstance(self, Tensor): {refusal}")
    # As PyTorch divides by a tensor: the rounding, and what is saved for the gradient, are those of both steps.
    inverse = swapped and op.name == "div"
    call = "self.reciprocal() * other" if inverse else f"{op.cpp_name}({left}, {right})"
    lines += [*_converted(name), f"    return {call}\n\n"]
    return "\n".join(lines)


def write(
    by_name: dict[str, Operator],
    lines: dict[str, list[str]],
    homes: dict[str, str],
    methods: dict[str, str],
) -> None:
    """Adds the special methods to the lines of the families of the operators that they call."""

    def add(name: str, text: str, home: str) -> None:
        lines[home].append(text)
        homes[name] = home
        methods[name] = name

    for name, (target, swapped) in OPERATORS.items():
        if target in by_name:
            op = by_name[target]
            if has_plain_form(op) and f"_plain_{op.cpp_name} =" not in "".join(lines[op.family]):
                lines[op.family].append(
                    f"_plain_{op.cpp_name} = c_function({op.cpp_name!r}, plain=True)"
                )
            add(name, _binary_method(name, op, swapped), op.family)
    for name, target in UNARY_OPERATORS.items():
        if target in by_name:
            methods[name] = target
    if "bitwise_not" in by_name:
        add("__invert__", INVERT, by_name["bitwise_not"].family)
    for name, target in INPLACE_OPERATORS.items():
        if target in by_name:
            text = [
                *_head(name, "div__Tensor_mode" if target == "div_" else target),
                *_converted(name),
                f"    return {target}(self, other)\n\n",
            ]
            add(name, "\n".join(text), by_name[target].family)
