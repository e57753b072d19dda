"""engine/_generated/ops.py: the Python functions and methods, straight onto the C ABI."""

from __future__ import annotations

from capi import has_fast_form, result_kind
from model import Argument, Operator

HEAD = '''"""Operators. Generated from csrc/ops yaml by csrc/codegen/python_ops.py. Do not edit."""
# ruff: noqa
from engine._native import lib
from engine.convert import (
    device_code, dtype_code, floats, format_code, given, handles, ints, maybe_handles, number, operand, read_scalar, take_list,
    take_tuple, text,
)
from engine.resolve import Overload, Parameter, overloaded
from engine.return_types import structure
from engine._native.errors import raise_last
from engine.arguments import argument_error
from engine.tensor import Tensor

_new = object.__new__
_WRONG = (TypeError, AttributeError, OverflowError)
_GIVEN = object()  # stands where an argument is required under one of two names
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
RAISING = {"__radd__", "__rmul__", "__rand__", "__ror__", "__rxor__"}
UNARY_OPERATORS = {
    "__neg__": "neg",
    "__pos__": "positive",
    "__abs__": "abs",
    "__invert__": "bitwise_not",
}


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
        case "float[]" | "float[]?":
            return f"*floats({n})"
        case "Tensor[]":
            return f"*handles({n})"
        case "Tensor?[]":
            return f"*maybe_handles({n})"
        case "int?" | "float?" | "bool?":
            return f"*given({n})"
        case "ScalarType" | "ScalarType?":
            return f"dtype_code({n})"
        case "MemoryFormat?":
            return f"format_code({n})"
        case "Device?":
            return f"device_code({n})"
        case "str":
            return f"{n}.encode()"
        case "str?":
            return f"text({n})"
    return n


def default_text(a: Argument) -> str:
    text = a.default
    assert text is not None
    return {"true": "True", "false": "False"}.get(text, text)


# NumPy's words for the same arguments, which PyTorch takes too.
NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}


def numpy_names(op: Operator) -> list[tuple[str, str]]:
    """(PyTorch's name, NumPy's name) of the arguments that have two."""
    names = {a.name for a in op.arguments}
    return [(n, NUMPY_NAMES[n]) for n in NUMPY_NAMES if n in names and NUMPY_NAMES[n] not in names]


def signature(op: Operator, more: str = "") -> str:
    """Parameters as Python writes them; C ABI order is schema order."""
    parts, starred, defaulted = [], False, False
    second = dict(numpy_names(op))
    for a in op.arguments:
        n = py_name(a)
        if n == op.varargs:  # x.permute(1, 0), x.permute((1, 0)) and x.permute(dims=(1, 0))
            parts += [f"*_{n}", f"{n}=None"]
            starred = True
            continue
        if a.keyword_only and not starred:
            parts.append("*")
            starred = True
        if a.default is not None:
            parts.append(f"{n}={default_text(a)}")
            defaulted = True
        elif (a.name in second or defaulted) and not a.keyword_only:
            parts.append(f"{n}=_GIVEN")
            defaulted = True
        else:
            parts.append(n)
    extra = [f"{numpy}=None" for numpy in second.values()]
    extra += [more] if more else []
    if extra and not starred:
        parts.append("*")
    return ", ".join(parts + extra)


def _second_names(op: Operator) -> str:
    return "".join(
        f"    if {numpy} is not None: {name} = {numpy}\n" for name, numpy in numpy_names(op)
    )


def _docstring(op: Operator, indent: str) -> str:
    source = f"csrc/ops/{op.family}.yaml, line {op.line}"
    body = (op.doc or f"{op.name}.") + f"\n\nSchema: ``{op.schema}``\nSource: {source}"
    text = body.replace("\\", "\\\\").replace('"""', "'''").replace("\n", f"\n{indent}")
    return f'{indent}"""{text}\n{indent}"""\n'


def _call(op: Operator) -> str:
    arguments = [c_arguments(a) for a in op.arguments]
    if result_kind(op) == "tuple":
        made = f"take_tuple(_uh_{op.cpp_name}, {len(op.results)}, {', '.join(arguments)})"
        return f"_returned_{op.cpp_name}(*{made})" if _named(op) else made
    return f"_uh_{op.cpp_name}({', '.join(arguments)})"


def _named(op: Operator) -> bool:
    """Whether the results have names, so that they come as a named tuple."""
    return len(op.results) > 1 and all(r.name for r in op.results)


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
            written = [py_name(a) for a in op.arguments if a.written]
            given = written[0]
            if op.form == "out" and len(written) > 1:
                given = f"_returned_{op.base}({', '.join(written)})"
            return f"    if r: raise_last()\n    return {given}\n"
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
        spread = (
            f"    if {v} is None: {v} = _{v}[0] if len(_{v}) == 1 and not isinstance(_{v}[0], int) else _{v}\n"
            f"    elif _{v}: raise TypeError('{op.name}() got multiple values for argument `{v}`')\n"
        )
    names = ", ".join(py_name(a) for a in op.arguments)
    return (
        f"def {op.cpp_name}({signature(op)}):\n{_docstring(op, '    ')}{_second_names(op)}{spread}"
        f"    try:\n        r = {_call(op)}\n"
        f"    except _WRONG:\n        raise argument_error({op.name!r}, {op.schema!r}, ({names},)) from None\n"
        f"{_finish(op)}\n"
    )


def with_out(op: Operator, out: Operator) -> str:
    """The public function of an operator that also has an out= form."""
    names = [py_name(a) for a in op.arguments]
    passed = [
        f"*_{n}, {n}={n}" if n == op.varargs else f"{n}={n}" if a.keyword_only else n
        for n, a in zip(names, op.arguments, strict=True)
    ]
    outs = [py_name(a) for a in out.written]
    given = (
        f"{outs[0]}=out"
        if len(outs) == 1
        else ", ".join(f"{n}=out[{i}]" for i, n in enumerate(outs))
    )
    shown = public_function(op)
    return (
        f"def {shown}({signature(op, 'out=None')}):\n{_docstring(op, '    ')}{_second_names(op)}"
        f"    if out is None: return {op.cpp_name}({', '.join(passed)})\n"
        f"    return {out.cpp_name}({', '.join([*passed, given])})\n"
        f"{shown}.__name__ = {shown}.__qualname__ = {op.public_name!r}\n\n"
    )


def public_function(op: Operator) -> str:
    return f"{op.cpp_name}_with_out"


def overload_text(op: Operator, call: str) -> str:
    """An operator as engine/resolve.py wants it."""
    parameters = "".join(
        f"Parameter({a.type.replace('Operand', 'Tensor')!r}, {py_name(a)!r}, {a.default is None}, "
        f"{a.keyword_only}, {a.type == 'Operand'}), "
        for a in op.arguments
    )
    return f"Overload({call}, {op.schema!r}, ({parameters}), {op.varargs!r})"


def _chooser(name: str, ops: list[Operator], calls: list[str], variable: str) -> str:
    """One public name over several overloads."""
    listed = "".join(f"    {overload_text(o, c)},\n" for o, c in zip(ops, calls, strict=True))
    doc = "\n\n".join(f"{o.doc}\n\nSchema: ``{o.schema}``" for o in ops)
    return f"{variable} = overloaded({name!r}, {doc!r}, [\n{listed}])\n"


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
    if (
        swapped
    ):  # called by name with a number for self: PyTorch's C slots and its Python ones differ
        error = f"{name}: argument 'self' must be Tensor, got {{type(self).__name__}}"
        refusal = f'raise TypeError(f"{error}")' if name in RAISING else "return NotImplemented"
        lines.append(f"    if not isinstance(self, Tensor): {refusal}")
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
    lines += [
        f"_returned_{op.cpp_name} = structure({op.name!r}, {tuple(r.name for r in op.results)!r})"
        for op in ops
        if _named(op)
    ]
    lines += [raw(op) for op in ops]
    functions: dict[str, str] = {}
    methods: dict[str, str] = {}
    spaces: dict[str, dict[str, str]] = {}
    outs = {op.base or op.name: op for op in ops if op.form == "out" or op.overload == "out"}
    named: dict[str, list[Operator]] = {}
    for op in ops:
        if op.python and op.form != "out" and op.overload != "out":
            named.setdefault(op.name, []).append(op)
    for name, group in named.items():
        calls = []
        for op in group:
            out = outs.get(op.cpp_name) or (outs.get(op.name) if not op.overload else None)
            if out and op.form == "functional":
                lines.append(with_out(op, out))
                calls.append(public_function(op))
            else:
                calls.append(op.cpp_name)
        for place in dict.fromkeys(place for op in group for place in op.python):
            here = [i for i, op in enumerate(group) if place in op.python]
            if place == "function" and name.endswith("_") and not name.endswith("__"):
                here = [i for i in here if group[i].form != "inplace" and not group[i].written]
            if place == "method":
                here = [
                    i
                    for i in here
                    if group[i].arguments[:1] and group[i].arguments[0].name == "self"
                ]
            if not here:
                continue
            members = [group[i] for i in here]
            targets = [
                members[k].cpp_name if place == "method" else calls[i] for k, i in enumerate(here)
            ]
            public = targets[0]
            if len(here) > 1:
                public = f"_any_{name}_{place.replace('.', '_')}"
                lines.append(_chooser(name, members, targets, public))
            table = {"function": functions, "method": methods}.get(place)
            if table is None:
                table = spaces.setdefault(place, {})
            table[members[0].public_name if table is not methods else name] = public
            for alias in members[0].aliases:
                table[alias] = public
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
    shown = "".join(
        f"    {space!r}: {{{', '.join(f'{k!r}: {v}' for k, v in table.items())}}},\n"
        for space, table in spaces.items()
    )
    lines.append(f"SPACES = {{\n{shown}}}\n")
    lines.append(
        "SCHEMAS = {\n" + "".join(f"    {op.cpp_name!r}: {op.schema!r},\n" for op in ops) + "}\n"
    )
    return "\n".join(lines)
