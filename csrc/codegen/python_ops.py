"""engine/_generated/ops.py: the Python functions and methods, straight onto the C ABI."""

from __future__ import annotations

from capi import has_fast_form, result_kind
from model import Argument, Operator

HEAD = '''"""Operators. Generated from csrc/ops yaml by csrc/codegen/python_ops.py. Do not edit."""
# ruff: noqa
from engine._native import lib
from engine.convert import (
    device_code, dtype_code, given, handles, ints, number, operand, read_scalar, take_list, take_tuple,
)
from engine._native.errors import raise_last
from engine.arguments import argument_error
from engine.tensor import Tensor

_new = object.__new__
_WRONG = (TypeError, AttributeError, OverflowError)
'''

# x + y and friends: method name -> (operator, are the operands swapped)
OPERATORS = {
    "__add__": ("add", False),
    "__radd__": ("add", True),
    "__sub__": ("sub", False),
    "__rsub__": ("sub", True),
    "__mul__": ("mul", False),
    "__rmul__": ("mul", True),
    "__truediv__": ("div", False),
    "__rtruediv__": ("div", True),
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
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
    "__ipow__": "pow_",
    "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_",
    "__ilshift__": "bitwise_left_shift_",
    "__irshift__": "bitwise_right_shift_",
}
UNARY_OPERATORS = {"__neg__": "neg", "__abs__": "abs", "__invert__": "bitwise_not"}


def py_name(a: Argument) -> str:
    return {"self": "input", "from": "from_", "lambda": "lambda_"}.get(a.name, a.name)


def c_arguments(a: Argument) -> str:
    """The Python expression(s) that pass one argument to the C function."""
    n = py_name(a)
    match a.type:
        case "Tensor":
            return f"{n}._h"
        case "Tensor?":
            return f"0 if {n} is None else {n}._h"
        case "Operand":
            return f"*operand({n})"
        case "Scalar" | "Scalar?":
            return f"*number({n})"
        case "int[]" | "int[]?":
            return f"*ints({n})"
        case "Tensor[]" | "Tensor?[]":
            return f"*handles({n})"
        case "int?" | "float?":
            return f"*given({n})"
        case "ScalarType" | "ScalarType?":
            return f"dtype_code({n})"
        case "Device?":
            return f"device_code({n})"
        case "str":
            return f"{n}.encode()"
    return n


def default_text(a: Argument) -> str:
    text = a.default
    assert text is not None
    return {"true": "True", "false": "False"}.get(text, text)


def signature(op: Operator) -> str:
    """Parameters as Python writes them; C ABI order is schema order."""
    parts, starred = [], False
    for a in op.arguments:
        n = py_name(a)
        if n == op.varargs:
            parts.append(f"*{n}")
            starred = True
            continue
        if a.keyword_only and not starred:
            parts.append("*")
            starred = True
        parts.append(n if a.default is None else f"{n}={default_text(a)}")
    return ", ".join(parts)


def _docstring(op: Operator, indent: str) -> str:
    body = (op.doc or f"{op.name}.") + f"\n\nSchema: ``{op.schema}``"
    text = body.replace("\\", "\\\\").replace('"""', "'''").replace("\n", f"\n{indent}")
    return f'{indent}"""{text}\n{indent}"""\n'


def _call(op: Operator) -> str:
    arguments = [c_arguments(a) for a in op.arguments]
    if result_kind(op) == "tuple":
        return f"take_tuple(_uh_{op.cpp_name}, {len(op.results)}, {', '.join(arguments)})"
    return f"_uh_{op.cpp_name}({', '.join(arguments)})"


def _may_return_self(op: Operator) -> bool:
    """x.contiguous() may be x itself: then the caller gets the object it already has."""
    return (
        not op.pointwise
        and not op.is_view
        and bool(op.arguments)
        and op.arguments[0].type == "Tensor"
    )


def _finish(op: Operator) -> str:
    match result_kind(op):
        case "status":
            written = next(a for a in op.arguments if a.written)
            return f"    if r: raise_last()\n    return {py_name(written)}\n"
        case "tuple":
            return "    return r\n"
        case "Tensor":
            same = ""
            if _may_return_self(op):
                n = py_name(op.arguments[0])
                same = f"    if r == {n}._h:\n        lib.uh_release(r)\n        return {n}\n"
            return f"    if not r: raise_last()\n{same}    t = _new(Tensor)\n    t._h = r\n    return t\n"
        case "Tensor[]":
            return "    return take_list(r)\n"
        case "Scalar":
            return "    return read_scalar(r)\n"
        case "int":
            return "    if r == -9223372036854775808: raise_last()\n    return r\n"
        case "bool":
            return "    if r < 0: raise_last()\n    return r == 1\n"
    raise ValueError(op.schema)


def raw(op: Operator) -> str:
    """One function per operator, named like its C++ function."""
    spread = ""
    if op.varargs:
        v = op.varargs
        spread = f"    if len({v}) == 1 and not isinstance({v}[0], int): {v} = {v}[0]\n"
    names = ", ".join(py_name(a) for a in op.arguments)
    return (
        f"def {op.cpp_name}({signature(op)}):\n{_docstring(op, '    ')}{spread}"
        f"    try:\n        r = {_call(op)}\n"
        f"    except _WRONG:\n        raise argument_error({op.name!r}, {op.schema!r}, ({names},)) from None\n"
        f"{_finish(op)}\n"
    )


def with_out(op: Operator, out: Operator) -> str:
    """The public function of an operator that also has an out= form."""
    names = [py_name(a) for a in op.arguments]
    spread = [f"*{n}" if n == op.varargs else n for n in names]
    star = "" if any(a.keyword_only for a in op.arguments) or op.varargs else "*, "
    keyword = [
        f"{py_name(a)}={py_name(a)}" if a.keyword_only else s
        for a, s in zip(op.arguments, spread, strict=True)
    ]
    return (
        f"def {op.name}_with_out({signature(op)}, {star}out=None):\n{_docstring(op, '    ')}"
        f"    if out is None: return {op.cpp_name}({', '.join(keyword)})\n"
        f"    return {out.cpp_name}({', '.join(keyword)}, out=out)\n"
        f"{op.name}_with_out.__name__ = {op.name}_with_out.__qualname__ = {op.name!r}\n\n"
    )


def _binary_method(name: str, op: Operator, swapped: bool) -> str:
    left, right = ("other", "self") if swapped else ("self", "other")
    lines = [f"def {name}(self, other):"]
    if not swapped and has_fast_form(op):
        lines += [
            "    kind = other.__class__",
            f"    if kind is Tensor: r = _uh_{op.cpp_name}_tt(self._h, other._h)",
            f"    elif kind is float: r = _uh_{op.cpp_name}_td(self._h, other)",
            f"    elif kind is int and -_SMALL < other < _SMALL: r = _uh_{op.cpp_name}_ti(self._h, other)",
            f"    else: return {op.cpp_name}(self, other) if isinstance(other, _OPERANDS) else NotImplemented",
            "    if not r: raise_last()",
            "    t = _new(Tensor)\n    t._h = r\n    return t\n\n",
        ]
        return "\n".join(lines)
    lines += [
        "    if not isinstance(other, _OPERANDS): return NotImplemented",
        f"    return {op.cpp_name}({left}, {right})\n\n",
    ]
    return "\n".join(lines)


def ops_py(ops: list[Operator]) -> str:
    by_name = {op.cpp_name: op for op in ops}
    lines = [
        HEAD,
        "import numbers\n_OPERANDS = (Tensor, bool, int, float, numbers.Number)\n_SMALL = 1 << 62\n",
    ]
    # Bound once: an attribute of `lib` is a dictionary look-up behind a function call.
    lines += [f"_uh_{op.cpp_name} = lib.uh_{op.cpp_name}" for op in ops]
    fast = [f"{op.cpp_name}_{k}" for op in ops if has_fast_form(op) for k in ("tt", "td", "ti")]
    lines += [f"_uh_{name} = lib.uh_{name}" for name in fast]
    lines += [raw(op) for op in ops]
    functions, methods = {}, {}
    outs = {op.name: op for op in ops if op.overload == "out"}
    for op in ops:
        if op.overload == "out" or (op.cpp_name != op.name and op.python == ("function", "method")):
            continue  # a second overload without a public name of its own: engine/overloads.py
        public = op.cpp_name
        if op.name in outs and op.form == "functional":
            lines.append(with_out(op, outs[op.name]))
            public = f"{op.name}_with_out"
        if "function" in op.python and op.form == "functional":
            functions[op.name] = public
        if "method" in op.python and op.arguments and op.arguments[0].name == "self":
            methods[op.name] = op.cpp_name
    for name, (target, swapped) in OPERATORS.items():
        if target in by_name:
            lines.append(_binary_method(name, by_name[target], swapped))
            methods[name] = name
    for name, target in UNARY_OPERATORS.items():
        if target in by_name:
            methods[name] = target
    for name, target in INPLACE_OPERATORS.items():
        if target in by_name:
            lines.append(
                f"def {name}(self, other):\n    if not isinstance(other, _OPERANDS): return NotImplemented\n"
                f"    return {target}(self, other)\n\n"
            )
            methods[name] = name
    lines.append(
        "FUNCTIONS = {\n" + "".join(f"    {k!r}: {v},\n" for k, v in functions.items()) + "}\n"
    )
    lines.append(
        "METHODS = {\n" + "".join(f"    {k!r}: {v},\n" for k, v in methods.items()) + "}\n"
    )
    lines.append(
        "SCHEMAS = {\n" + "".join(f"    {op.cpp_name!r}: {op.schema!r},\n" for op in ops) + "}\n"
    )
    return "\n".join(lines)
