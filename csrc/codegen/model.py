"""The operator declarations, read from csrc/ops/*.yaml into dataclasses.

The other modules of this folder generate their output from `Operator`: a yaml entry becomes one to three
operators (functional, in-place, out=), each with its parsed schema.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

# Schema type -> C++ parameter type of a kernel.
CPP_TYPES = {
    "Tensor": "const Tensor&",
    "Tensor?": "const Tensor&",
    "Operand": "const Operand&",
    "Scalar": "const Scalar&",
    "Scalar?": "const std::optional<Scalar>&",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "const Dims&",
    "int[]?": "const std::optional<Dims>&",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "const std::vector<double>&",
    "float[]?": "const std::optional<std::vector<double>>&",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "ScalarType": "DType",
    "ScalarType?": "DType",
    "Device?": "Device",
    "MemoryFormat?": "MemoryFormat",
    "str": "const std::string&",
    "str?": "const std::optional<std::string>&",
    "Tensor[]": "const std::vector<Tensor>&",
    "Tensor?[]": "const std::vector<Tensor>&",
}
CPP_RESULTS = {
    "Tensor": "Tensor",
    "Tensor[]": "std::vector<Tensor>",
    "Scalar": "Scalar",
    "int": "int64_t",
    "bool": "bool",
}
# Names that C++ reserves.
CPP_RESERVED = {"std": "standard_deviation", "xor": "exclusive_or"}
# Prefixes of names that have their own namespace: linalg_det is engine.linalg.det.
NAMESPACES = ("linalg", "special", "fft")
# Overload names without a suffix in C++: the primary overload of a name.
PLAIN_OVERLOADS = {"", "Tensor", "Tensor_Tensor", "self", "int", "intlist"}

_ARGUMENT = re.compile(
    r"(?P<type>\w+)(?P<alias>\(\w+!?\))?(?P<rest>\??(\[\d*\])?\??)\s+(?P<name>\w+)(=(?P<default>.+))?$"
)
_RESULT = re.compile(
    r"(?P<type>\w+)(?P<alias>\(\w+!?\))?(?P<rest>\??(\[\d*\])?)(\s+(?P<name>\w+))?$"
)
_LAYERS = re.compile(r"\?|\[(\d*)\]")
# Types of PyTorch's parameters that no operator has here.
PYTORCH_TYPES = {"Layout?", "Generator?", "MemoryFormat"}


class DeclarationError(Exception):
    """An invalid yaml entry; the message names the file and the entry."""


@dataclass(frozen=True)
class SchemaType:
    """A parsed type of a schema, as in csrc/dispatch/function_schema.h."""

    kind: str  # "Tensor", "int"...; "List" or "Optional" of `element`
    element: SchemaType | None = None
    fixed_size: int = 0  # of int[2]; 0: any length

    @staticmethod
    def read(base: str, layers: str) -> SchemaType:
        """Make a type from a base and suffixes: `Tensor` and `?[]` are a list of optional tensors."""
        type_ = SchemaType(base)
        for layer in _LAYERS.finditer(layers):
            kind = "Optional" if layer[0] == "?" else "List"
            type_ = SchemaType(kind, type_, int(layer[1] or 0))
        return type_

    @property
    def base(self) -> str:
        """The innermost kind: `int` for `int[2]?`."""
        return self.element.base if self.element else self.kind

    @property
    def without_optional(self) -> SchemaType:
        """`int[2]` for `int[2]?`; any other type unchanged."""
        return self.element if self.kind == "Optional" and self.element else self

    @property
    def key(self) -> str:
        """The text without sizes: a key of CPP_TYPES."""
        if not self.element:
            return self.kind
        return self.element.key + ("?" if self.kind == "Optional" else "[]")


Default = bool | int | float | str | list[int] | list[float] | None


@dataclass(frozen=True)
class Argument:
    type: str  # a key of CPP_TYPES
    name: str
    default: str | None = None  # text of the schema, None when required
    keyword_only: bool = False
    written: bool = False
    viewed: bool = False
    length: str = ""  # "2" for int[2], which also accepts one number
    schema_type: SchemaType = SchemaType("Tensor")

    @property
    def cpp(self) -> str:
        return CPP_TYPES[self.type]

    @property
    def ignored(self) -> bool:
        """True for a parameter of PyTorch's schema that has no meaning here: only its overload has it."""
        return self.type in PYTORCH_TYPES or self.name == "pin_memory"

    @property
    def takes_number(self) -> bool:
        """True for a tensor operand that may also be a number."""
        return self.type == "Operand"

    @property
    def default_value(self) -> Default:
        """The default as a value of the argument's type, which must have one."""
        assert self.default is not None
        value = ast.literal_eval(self.default)
        expected = self.schema_type.without_optional
        if expected.kind == "List" and expected.element and value is not None:
            items = value if isinstance(value, list) else [value] * max(expected.fixed_size, 1)
            return [float(i) for i in items] if expected.element.kind == "float" else items
        if expected.kind == "float" and value is not None:
            return float(value)
        if not isinstance(value, (bool, int, float, str, type(None))):
            raise DeclarationError(f"argument {self.name!r}: no such default: {self.default}")
        return value


@dataclass(frozen=True)
class Result:
    type: str
    name: str = ""
    viewed: bool = False
    schema_type: SchemaType = SchemaType("Tensor")


@dataclass(frozen=True)
class Pointwise:
    promotion: str  # arithmetic | float | compare | logical | integral | where
    expr: str
    variants: dict[
        str, str
    ]  # dtype category (bool, int, float, complex) -> its own expression; "" = unsupported
    complex_result: str = "same"  # or "real": the result of complex operands
    complex_strides: str = "loop"  # the strides of that result: or "operand" or "row_major"
    check: str = ""  # C++ function of ops/pointwise_checks.h that rejects operands before the loop
    rejects: str = ""  # "bool" or "complex" elements raise RuntimeError, not NotImplementedError
    promoting: bool = False  # the Scalar parameters take part in dtype promotion (clamp)
    all_numbers: bool = False  # every operand may be a number at once: add(2, 3)
    exact_out: bool = False  # out= must have the dtype of the result
    loop: str = "loop"  # the template that runs the expression (backend/cpu/loops.h)
    # The strides when the first operand is a number, when the second is: "loop", "tensors", "row_major".
    number_strides: tuple[str, ...] = ()
    widened: bool = True  # 16-bit floats run the loop of floats; False: separate loops
    exact_number: bool = False  # nor is a number as last operand rounded to 16 bits for them
    rounded: bool = False  # the Scalar parameters are
    bits16: str = ""  # or an expression over their bits, as uint16_t


FOLDS = ("sum", "prod", "min", "max")


@dataclass(frozen=True)
class Fold:
    """The fold of a reduction: the kernel of eager calls, and the last step of fused groups."""

    by: str  # one of FOLDS
    of: str = ""  # the folded expression of an element; "": the element
    int_of: str = ""  # the same for integers
    divided: bool = False  # by the number of elements


@dataclass(frozen=True)
class Operator:
    name: str  # "add", "add_"
    overload: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    family: str
    form: str = "functional"  # functional | inplace | out
    kernels: dict[str, str] = field(default_factory=dict)
    shape_rule: str = ""  # the call that allocates a structured operator's results
    base: str = ""  # C++ name of the functional form, for a generated in-place or out= form
    exact_out: bool = False  # an out= form that does not convert dtypes
    out_dtype_of: str = ""  # of which argument `out` must have the dtype, checked before all else
    # The arguments that PyTorch rejects if they share memory with a written tensor: (name, reject any
    # overlap). If false, the same elements in the same order are accepted.
    overlap: tuple[tuple[str, bool], ...] = ()
    row_major: bool = False  # `out` becomes row-major if it is resized
    composite: bool = False  # calls other operators, which are differentiated
    any_device: bool = False  # the kernel accepts tensors on several devices
    aliases: tuple[str, ...] = ()  # PyTorch's other names of the same function
    script_aliases: tuple[str, ...] = ()  # names that only scripted programs use
    pointwise: Pointwise | None = None
    python: tuple[str, ...] = ("function", "method")
    varargs: str = ""
    older: tuple[str, ...] = ()  # deprecated orders of positional arguments
    doc: str = ""
    line: int = 0  # of its entry in the yaml file
    # Gradient formulas: the arguments whose gradients a formula computes, and its text.
    gradient: dict[tuple[str, ...], str] = field(default_factory=dict)
    bumps: str = ""  # "resized": a call that does not change the sizes is not counted as a write
    no_gradient: bool = False  # no result depends on an input differentiably
    constant: bool = False  # nor does the tensor that its in-place form wrote
    decompose: str = ""  # a function that calls other operators instead, if gradients are required
    node: str = ""  # PyTorch's name of its Node, if not derived from the operator's name
    differentiable: tuple[str, ...] | None = None  # the results that have gradients; None: all
    differentiable_if: str = ""  # the condition, in terms of the arguments, for any gradient
    complex_gradient: bool = True  # False: a complex result that requires grad is an error
    functional_results: tuple[Result, ...] = ()  # the results of the functional form
    # PyTorch's overloads, if they are not this operator itself, and values of arguments that one lacks.
    overloads: tuple[str, ...] = ()
    overload_defaults: tuple[tuple[str, int], ...] = ()
    suffixed: bool = False  # the C++ name includes the overload, as the plain name is in use
    tags: tuple[str, ...] = ()  # of csrc/dispatch/tags.yaml
    fold: Fold | None = None
    copied: str = ""  # the in-place kernel that a functional form runs on a copy of `self`
    copied_structured: bool = False  # that kernel has a shape rule, so any device may implement it

    @property
    def is_structured(self) -> bool:
        """True if a shape rule checks the arguments and allocates the results, and a device's kernel fills them."""
        return bool(self.shape_rule)

    def has_tag(self, tag: str) -> bool:
        return tag in self.tags

    @property
    def cpp_name(self) -> str:
        plain = self.overload in PLAIN_OVERLOADS and not self.suffixed
        suffix = "" if plain else f"_{self.overload}"
        return CPP_RESERVED.get(self.name, self.name) + suffix

    @property
    def inplace_cpp_name(self) -> str:
        """The C++ name of the in-place form of a functional one."""
        return replace(self, name=f"{self.name}_").cpp_name

    @property
    def public_name(self) -> str:
        """The name without the prefix of its namespace."""
        for space in NAMESPACES:
            if space in self.python:
                return self.name.removeprefix(f"{space}_")
        return self.name

    @property
    def cpp_result(self) -> str:
        if not self.results:
            return "void"
        if len(self.results) == 1:
            return CPP_RESULTS[self.results[0].type]
        return f"std::tuple<{', '.join(CPP_RESULTS[r.type] for r in self.results)}>"

    @property
    def signature(self) -> str:
        return f"{self.cpp_result}({', '.join(a.cpp for a in self.arguments)})"

    @property
    def cpp_parameters(self) -> str:
        return ", ".join(f"{a.cpp} {a.name}" for a in self.arguments)

    @property
    def schema(self) -> str:
        """The schema text, which the dispatcher, traces and the documentation show."""
        parts: list[str] = []
        starred = False
        for a in self.arguments:
            if a.keyword_only and not starred:
                parts.append("*")
                starred = True
            parts.append(_argument_text(a))
        results = [
            _aliased(r.type, "(a)" if r.viewed else "") + (f" {r.name}" if r.name else "")
            for r in self.results
        ]
        returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{self.full_name}({', '.join(parts)}) -> {returned}"

    @property
    def full_name(self) -> str:
        return self.name + (f".{self.overload}" if self.overload else "")

    @property
    def is_view(self) -> bool:
        return any(r.viewed for r in self.results)

    @property
    def written(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.written)


def _aliased(type_: str, mark: str) -> str:
    base = re.match(r"\w+", type_)
    assert base
    return base.group(0) + mark + type_[base.end() :]


def _argument_text(a: Argument) -> str:
    type_ = "Tensor" if a.type == "Operand" else a.type
    type_ = type_.replace("[]", f"[{a.length}]")
    mark = "(a!)" if a.written else "(a)" if a.viewed else ""
    return f"{_aliased(type_, mark)} {a.name}" + (f"={a.default}" if a.default is not None else "")


def _split(text: str) -> list[str]:
    """Splits at commas outside brackets and quotes."""
    parts, depth, quote, current = [], 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        if c == "," and depth == 0 and not quote:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    if current.strip():
        parts.append(current.strip())
    return parts


def parse_schema(
    text: str, operands: bool = False, numbers: Any = "mixed"
) -> tuple[str, str, tuple[Argument, ...], tuple[Result, ...]]:
    """Parses a schema. With `operands`, the Tensor arguments in `numbers` (or all) also accept a
    number, unless there is only one tensor."""
    match = re.match(r"(\w+)(?:\.(\w+))?\((.*)\)\s*->\s*(.+)$", text.strip())
    if not match:
        raise DeclarationError(f"not a schema: {text!r}")
    name, overload, argument_text, result_text = match.groups()
    arguments: list[Argument] = []
    keyword_only = False
    for part in _split(argument_text):
        if part == "*":
            keyword_only = True
            continue
        m = _ARGUMENT.match(part)
        if not m:
            raise DeclarationError(f"{text!r}: not an argument: {part!r}")
        schema_type = SchemaType.read(m["type"], m["rest"])
        type_ = schema_type.key
        if operands and type_ == "Tensor" and (isinstance(numbers, str) or m["name"] in numbers):
            type_ = "Operand"
        if type_ not in CPP_TYPES and type_ not in PYTORCH_TYPES:
            raise DeclarationError(f"{text!r}: unknown type {type_!r} of argument {m['name']!r}")
        alias = m["alias"] or ""
        arguments.append(
            Argument(
                type_,
                m["name"],
                m["default"],
                keyword_only,
                written=alias.endswith("!)"),
                viewed=alias != "" and "!" not in alias,
                length=str(schema_type.without_optional.fixed_size or ""),
                schema_type=schema_type,
            )
        )
    if sum(a.type in ("Operand", "Tensor") for a in arguments) == 1:
        arguments = [replace(a, type="Tensor") if a.type == "Operand" else a for a in arguments]
    inner = result_text.strip()
    if inner.startswith("("):
        inner = inner[1:-1]
    results = []
    for part in _split(inner):
        r = _RESULT.match(part)
        if not r:
            raise DeclarationError(f"{text!r}: not a result: {part!r}")
        schema_type = SchemaType.read(r["type"], r["rest"] or "")
        type_ = schema_type.key
        if type_ not in CPP_RESULTS:
            raise DeclarationError(f"{text!r}: unknown result type {type_!r}")
        viewed = bool(r["alias"]) and "!" not in (r["alias"] or "")
        results.append(Result(type_, r["name"] or "", viewed, schema_type))
    return name, overload or "", tuple(arguments), tuple(results)


_KEYS = {
    "schema", "doc", "python", "varargs", "older", "aliases", "script_aliases", "tags", "devices",
    "kernel", "kernels", "composite", "structured", "fold", "inplace_kernel", "inplace_structured",
    "forms", "overlap", "out_dtype_of", "bumps", "overloads", "overload_defaults",
    "pointwise", "expr", "bool", "int", "float", "complex", "complex_result", "complex_strides",
    "numbers", "number_strides", "check", "rejects", "promoting", "loop", "exact_number", "rounded",
    "widened", "bits16", "gradient", "decompose", "node", "differentiable", "differentiable_if",
    "complex_gradient",
}  # fmt: skip


def _default_python(name: str) -> tuple[str, ...]:
    for space in NAMESPACES:
        if name.startswith(f"{space}_"):
            return (space,)
    return ("function", "method")


def _gradient(entry: dict) -> dict[tuple[str, ...], str]:
    """Return `self: formula`, or `input, weight: formula` for a formula that returns a tuple."""
    formulas = entry.get("gradient") or {}
    if formulas in ("none", "constant"):
        return {}
    if not isinstance(formulas, dict):
        raise DeclarationError(
            f"{entry['schema']}: gradient must be 'none', 'constant' or a table, got {formulas!r}"
        )
    return {
        tuple(name.strip() for name in names.split(",")): str(formula)
        for names, formula in formulas.items()
    }


def _overlap(entry: dict, arguments: tuple[Argument, ...]) -> tuple[tuple[str, bool], ...]:
    """Return `partial` or `any` for all tensors of an entry, or a table for some of them and `out`."""
    declared = entry.get("overlap", {})
    tensors = [a.name for a in arguments if a.type in ("Tensor", "Tensor?", "Operand")]
    table = declared if isinstance(declared, dict) else dict.fromkeys(tensors, declared)
    if set(table) - {*tensors, "out"} or set(table.values()) - {"partial", "any"}:
        raise DeclarationError(
            f"{entry['schema']}: overlap must be partial or any, of tensors, got {declared}"
        )
    return tuple((name, refused == "any") for name, refused in table.items())


def _fold(entry: dict) -> Fold | None:
    if "fold" not in entry:
        return None
    declared = dict(entry["fold"])
    fold = Fold(
        declared.pop("by", ""),
        declared.pop("of", ""),
        declared.pop("int", ""),
        declared.pop("divided", False),
    )
    if declared or fold.by not in FOLDS or "structured" not in entry or "kernel" in entry:
        raise DeclarationError(
            f"{entry['schema']}: fold must be by, of, int and divided, by one of {', '.join(FOLDS)}, "
            f"of a structured operator without a kernel, got {entry['fold']}"
        )
    return fold


def _tags(entry: dict) -> tuple[str, ...]:
    tags = tuple(entry.get("tags", ()))
    if unknown := set(tags) - {name for name, _ in load_tags()}:
        raise DeclarationError(f"{entry['schema']}: unknown tags {sorted(unknown)}")
    return tags


_MAYBE_ALIASING = "maybe_aliasing_or_mutating"  # schemas of other forms say what they write


def _with_form_tags(op: Operator) -> Operator:
    """Add the tags that the operator's declaration implies."""
    inapplicable = {"inplace": ("commutative", _MAYBE_ALIASING), "out": (_MAYBE_ALIASING,)}
    tags = [tag for tag in op.tags if tag not in inapplicable.get(op.form, ())]
    tags += ["pointwise"] if op.pointwise else []
    if op.written:
        out = any(a.keyword_only for a in op.written)
        tags += ["out"] if out else ["inplace"] if op.name.endswith("_") else []
    return replace(op, tags=tuple(tags))


def _with_form_names(op: Operator) -> Operator:
    """Replace `function_` by `function` in operators that write self, which lack it otherwise."""
    writes = op.name.endswith("_") and bool(op.written)
    absent, own = ("function", "function_") if writes else ("function_", "function")
    names = tuple("function" if name == own else name for name in op.python if name != absent)
    return replace(op, python=names)


@cache
def load_tags() -> list[tuple[str, str]]:
    """Return the (name, description) of every tag, in the order of its numbers."""
    table = yaml.safe_load((Path(__file__).parent.parent / "dispatch" / "tags.yaml").read_text())
    return [(row["tag"], " ".join(row["desc"].split())) for row in table]


def _entry(entry: dict, family: str, line: int) -> list[Operator]:
    unknown = set(entry) - _KEYS
    if unknown:
        raise DeclarationError(f"{entry.get('schema')}: unknown keys {sorted(unknown)}")
    is_pointwise = "pointwise" in entry
    name, overload, declared, results = parse_schema(
        entry["schema"], is_pointwise or "numbers" in entry, entry.get("numbers", "mixed")
    )
    arguments = tuple(a for a in declared if not a.ignored)
    pytorch_schema = () if arguments == declared else (entry["schema"],)
    kernels = {
        key.strip(): kernel
        for keys, kernel in (entry.get("kernels") or {}).items()
        for key in keys.split(",")
    }
    is_view = any(r.viewed for r in results)
    if composite := entry.get("composite"):
        kernels = {"CompositeImplicitAutograd": composite}
    elif (kernel := entry.get("kernel")) and is_view:
        kernels = {"CompositeExplicitAutograd": kernel}  # a view reads no element
    elif kernel and "structured" in entry:
        kernels = {"CPU": kernel}  # Meta runs the shape rule
    elif kernel:
        kernels = {"CPU": kernel, "Meta": kernel}
    fold = _fold(entry)
    copied = "" if kernels or is_pointwise else entry.get("inplace_kernel", "")
    if not kernels and not is_pointwise and not fold and not copied:
        raise DeclarationError(f"{entry['schema']}: no kernel and no expression")
    op = Operator(
        name,
        overload,
        arguments,
        results,
        family,
        kernels=kernels,
        shape_rule=entry.get("structured", ""),
        composite="composite" in entry,
        any_device=entry.get("devices") == "any",
        aliases=tuple(entry.get("aliases", ())),
        script_aliases=tuple(entry.get("script_aliases", ())),
        python=tuple(entry.get("python", _default_python(name))),
        varargs=entry.get("varargs", ""),
        older=tuple(entry.get("older", ())),
        doc=(entry.get("doc") or "").strip(),
        line=line,
        gradient=_gradient(entry),
        no_gradient=entry.get("gradient") in ("none", "constant"),
        constant=entry.get("gradient") == "constant",
        decompose=entry.get("decompose", ""),
        node=entry.get("node", ""),
        bumps=entry.get("bumps", ""),
        differentiable=tuple(entry["differentiable"]) if "differentiable" in entry else None,
        differentiable_if=entry.get("differentiable_if", ""),
        complex_gradient=entry.get("complex_gradient", True),
        tags=_tags(entry),
        functional_results=results,
        overloads=tuple(entry.get("overloads", pytorch_schema)),
        overload_defaults=tuple(entry.get("overload_defaults", {}).items()),
        overlap=_overlap(entry, arguments),
        fold=fold,
        copied=copied,
    )
    if is_pointwise:
        expr = str(entry["expr"])
        variants = {k: str(entry[k]) for k in ("bool", "int", "float") if k in entry}
        if entry.get("complex"):
            variants["complex"] = expr if entry["complex"] is True else str(entry["complex"])
        result = entry.get("complex_result", "same")
        pointwise = Pointwise(
            entry["pointwise"],
            expr,
            variants,
            result,
            complex_strides=entry.get("complex_strides", "loop"),
            check=entry.get("check", ""),
            rejects=entry.get("rejects", ""),
            promoting=entry.get("promoting", False),
            all_numbers=entry.get("numbers") == "all",
            exact_out="exact_out" in entry.get("forms", ()),
            loop=entry.get("loop", "loop"),
            number_strides=tuple(entry.get("number_strides", ())),
            widened=entry.get("widened", True),
            exact_number=entry.get("exact_number", False),
            rounded=entry.get("rounded", False),
            bits16=entry.get("bits16", ""),
        )
        op = replace(op, pointwise=pointwise)
    forms = list(entry.get("forms", ["inplace", "out"] if is_pointwise else []))
    row_major = "row_major" in forms
    forms = [form for form in forms if form != "row_major"]
    builders = {"inplace": _inplace, "out": _out, "exact_out": _out}
    if unknown := set(forms) - set(builders):
        raise DeclarationError(f"{entry['schema']}: unknown forms {sorted(unknown)}")
    operators = [op, *(builders[form](op) for form in forms)]
    operators = [replace(o, row_major=row_major) if o.form == "out" else o for o in operators]
    exact_out = "exact_out" in forms
    operators = [replace(o, exact_out=exact_out and o.form == "out") for o in operators]
    out_dtype_of = entry.get("out_dtype_of", "")
    operators = [replace(o, out_dtype_of=out_dtype_of) if o.form == "out" else o for o in operators]
    if direct := entry.get("inplace_kernel"):
        rule = entry.get("inplace_structured", "")
        kernels = {"CPU": direct} if rule else {"CPU": direct, "Meta": direct}
        own = {"kernels": kernels, "base": "", "pointwise": None, "shape_rule": rule}
        operators = [replace(o, **own) if o.form == "inplace" else o for o in operators]
        operators[0] = replace(operators[0], copied_structured=bool(rule and copied))
    return [_with_form_names(_with_form_tags(o)) for o in operators]


def _inplace(op: Operator) -> Operator:
    """Derive `add_` from `add`: the same call, which writes its result into the first argument."""
    first = replace(op.arguments[0], type="Tensor", written=True, viewed=False)
    if op.constant:
        zeros = {(a.name,): "zero_gradient(grad)" for a in op.arguments}
        op = replace(op, no_gradient=False, gradient=zeros)
    elif op.pointwise and op.pointwise.promotion != "logical":
        op = replace(op, no_gradient=False)  # integers have no gradient to propagate
    return replace(
        op,
        name=op.name + "_",
        form="inplace",
        arguments=(first, *op.arguments[1:]),
        results=(),
        kernels={},
        shape_rule="",
        fold=None,
        copied="",
        base=op.cpp_name,
        aliases=tuple(f"{alias}_" for alias in op.aliases),
        script_aliases=tuple(_inplace_alias(alias) for alias in op.script_aliases),
        overloads=(),
    )


def _inplace_alias(alias: str) -> str:
    """Return the in-place form of an alias: `__iand__` for `__and__`, `floordiv_` for `floordiv`."""
    return f"__i{alias[2:]}" if alias.startswith("__") else f"{alias}_"


def _out(op: Operator) -> Operator:
    """Derive `add.out` from `add`, with a keyword-only tensor to write each result to."""
    names = ["out"] if len(op.results) == 1 else [r.name for r in op.results]
    outs = (Argument("Tensor", name, None, True, True) for name in names)
    plain = op.overload in PLAIN_OVERLOADS
    overload = "out" if plain else f"{op.overload}_out"
    return replace(
        op,
        overload=overload,
        form="out",
        arguments=(*op.arguments, *outs),
        results=(),
        kernels={},
        shape_rule="",
        fold=None,
        copied="",
        base=op.cpp_name,
        aliases=(),
        script_aliases=(),
        overloads=(),
    )


def entries(path: Path) -> list[tuple[int, str, dict]]:
    """Return the entries of one yaml file: (line, text, content)."""
    text = path.read_text()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    node = loader.get_single_node()
    if node is None:
        return []
    items = [(item.start_mark, item.end_mark) for item in node.value]
    parts = []
    lines = text.splitlines()
    for (start, end), entry in zip(items, loader.construct_document(node), strict=True):
        last = end.line + 1 if end.column else end.line
        parts.append((start.line + 1, "\n".join(lines[start.line : last]).rstrip(), entry))
    return parts


def load(folder: Path) -> list[Operator]:
    """Return every operator of csrc/ops/*.yaml, in file and entry order."""
    ops: list[Operator] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            listed = entries(path)
        except yaml.YAMLError as error:
            raise DeclarationError(f"{path.name}: {error}") from None
        for line, _, entry in listed:
            try:
                ops.extend(_suffix_taken(ops, _entry(entry, path.stem, line)))
            except DeclarationError as error:
                raise DeclarationError(f"{path.name}:{line}: {error}") from None
    seen: dict[str, Operator] = {}
    for op in ops:
        key = op.cpp_name
        if key in seen:
            raise DeclarationError(
                f"{op.family}.yaml: {op.schema!r} has the same C++ name as {seen[key].schema!r}"
            )
        seen[key] = op
    return ops


def _suffix_taken(ops: list[Operator], entry: list[Operator]) -> list[Operator]:
    """Return the operators of an entry; if their plain C++ name is in use, the overload is appended."""
    names = {op.cpp_name for op in ops}
    first = entry[0]
    if first.cpp_name not in names or not first.overload:
        return entry
    suffixed = replace(first, suffixed=True)
    forms = [replace(op, suffixed=True, base=suffixed.cpp_name) for op in entry[1:]]
    out = f"{first.overload}_out"
    return [suffixed, *(replace(f, overload=out) if f.form == "out" else f for f in forms)]


def families(ops: list[Operator]) -> dict[str, list[Operator]]:
    """Return the operators by yaml file."""
    by_family: dict[str, list[Operator]] = {}
    for op in ops:
        by_family.setdefault(op.family, []).append(op)
    return by_family
