"""The effects of a program, statement by statement, as facts that can be compared."""

from __future__ import annotations

import ast
import cmath
import math
import re
import sys
import warnings
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

from tests.programs.grammar import Session

# Tolerances of results by dtype: the order of sums may differ.
TOLERANCES = {"float32": 2e-5, "complex64": 2e-5, "float16": 8e-3, "bfloat16": 6e-2}
FACTS = (
    "shape", "stride", "storage_offset", "dtype", "requires_grad", "is_leaf", "grad_fn", "_version", "_base",
    "storage", "nbytes", "retains_grad", "is_conj", "values", "grad",
)  # fmt: skip
Facts = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """A statement, the class of its error, and every tensor that there is after it."""

    statement: str
    error: str | None
    message: str
    tensors: dict[str, Facts]
    seen: Any


@dataclass(frozen=True)
class Difference:
    """The first fact that is not the same, and the statement after which it was not."""

    fact: str
    statement: str
    detail: str

    @property
    def signature(self) -> str:
        """The class of the difference: the fact, and what the statement calls."""
        node: ast.AST = ast.parse(self.statement).body[0]
        if isinstance(node, ast.Assign):
            if isinstance(node.targets[0], (ast.Subscript, ast.Attribute)):
                return f"{self.fact}: {_name_of(node.targets[0])}="
            node = node.value
        elif isinstance(node, ast.Expr):
            node = node.value
        return f"{self.fact}: {_name_of(node)}"


def _name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        names = [node.func.attr, *(f"{keyword.arg}=" for keyword in node.keywords if keyword.arg)]
        return " ".join(names)
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.UnaryOp)):
        return f"{type(node).__name__} {type(node.op).__name__}"
    return node.attr if isinstance(node, ast.Attribute) else type(node).__name__


def statements(text: str) -> list[str]:
    return [ast.unparse(node) for node in ast.parse(text).body]


def run(lib: Any, text: str) -> list[Step]:
    """Every step of a program."""
    session = Session(lib)
    steps = []
    for statement in statements(text):
        error = session.run(statement)
        steps.append(
            Step(
                statement,
                None if error is None else type(error).__name__,
                "" if error is None else str(error),
                facts_of_all(lib, session.tensors()),
                plain(session.names["seen"]),
            )
        )
    return steps


def facts_of_all(lib: Any, tensors: dict[str, Any]) -> dict[str, Facts]:
    storages: dict[int, int] = {}
    result = {name: facts(lib, x, storages, tensors) for name, x in tensors.items()}
    for name, x in tensors.items():
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # the .grad of a result may be set, though it is not a gradient
            grad = x.grad
        if grad is not None:
            shared = next((other for other, y in tensors.items() if y is grad), "")
            result[name]["grad"] = (shared, facts(lib, grad, storages, {}))
            result[name]["grad"][1]["_version"] = 0  # see ignore_writes_of_gradients
    return result


def ignore_writes_of_gradients(ours: dict[str, Facts], theirs: dict[str, Facts]) -> None:
    """Set versions to 0 that count the writes during the computation of a gradient, whose number may differ."""
    for name in ours:
        if is_grad(name, ours) or is_grad(name, theirs):
            ours[name]["_version"] = theirs[name]["_version"] = 0


def facts(lib: Any, x: Any, storages: dict[int, int], tensors: dict[str, Any]) -> Facts:
    """The observable properties of a tensor; an error is its class."""
    storage = x.untyped_storage()
    nbytes = storage.nbytes()
    address = answer(storage.data_ptr) if nbytes else None
    if not isinstance(address, int):  # no memory, or PyTorch's zeros without any
        address = -1 - len(storages)
    base = x._base
    return {
        "shape": tuple(x.shape),
        "stride": x.stride(),
        "storage_offset": x.storage_offset(),
        "dtype": str(x.dtype).split(".")[-1],
        "requires_grad": answer(lambda: x.requires_grad),
        "is_leaf": answer(lambda: x.is_leaf),
        "grad_fn": answer(lambda: x.grad_fn and x.grad_fn.name().removeprefix("torch::autograd::")),
        "_version": x._version,
        "_base": None
        if base is None
        else [name for name, y in tensors.items() if y is base] or "a tensor",
        "storage": storages.setdefault(address, len(storages)),
        "nbytes": nbytes,
        "retains_grad": x.retains_grad,
        "is_conj": x.is_conj(),
        "values": values(x, tensors) if fits(x, nbytes) else "outside of its storage",
        "grad": None,
    }


def answer(question: Callable[[], Any]) -> Any:
    """The answer, or the class of the error: some views raise if their history is read."""
    try:
        return question()
    except RuntimeError as error:
        own_fault = ": INTERNAL ASSERT" if "INTERNAL ASSERT" in str(error) else ""
        return type(error).__name__ + own_fault


def values(x: Any, tensors: dict[str, Any]) -> Any:
    """The elements. Integers that are the bits of numbers, which may differ in the last place, are those numbers."""
    if getattr(x, "_is_zerotensor", bool)():  # PyTorch's zeros without memory
        return [0.0] * x.numel()
    if kind(x) == "int":
        for numbers in (x._base, whole_of_storage(x, tensors)):
            if (
                numbers is not None
                and kind(numbers) == "float"
                and fits(numbers, numbers.untyped_storage().nbytes())
            ):
                return flat(numbers.detach().tolist())
    return flat(x.detach().tolist())


def whole_of_storage(x: Any, tensors: dict[str, Any]) -> Any:
    """The numbers that are all of the bytes of a tensor's storage, which `set_` gave it; None if there are none."""
    storage = x.untyped_storage()
    return next(
        (
            y
            for y in tensors.values()
            if kind(y) == "float"
            and y.is_contiguous()
            and y.numel() * y.element_size() == storage.nbytes()
            and answer(y.untyped_storage().data_ptr) == answer(storage.data_ptr)
        ),
        None,
    )


def kind(x: Any) -> str:
    return "float" if x.is_floating_point() or x.is_complex() else "int"


def flat(values: Any) -> list[Any]:
    """The numbers in nested lists."""
    if not isinstance(values, list):
        return [values]
    return [number for part in values for number in flat(part)]


def fits(x: Any, nbytes: int) -> bool:
    if min(x.shape, default=0) < 0:  # PyTorch's, after an error
        return False
    if not x.numel():
        return True
    end = sum((n - 1) * by for n, by in zip(x.shape, x.stride(), strict=True))
    return bool((x.storage_offset() + end + 1) * x.element_size() <= nbytes)


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return (
        value
        if isinstance(value, (int, float, complex, str, bool, type(None)))
        else str(type(value).__name__)
    )


def difference(steps: list[Step], expected: list[Step]) -> Difference | None:
    """The first thing in which two runs of a program differ."""
    before: dict[str, Facts] = {}
    named: set[str] = set()  # dtypes of temporaries, too
    for step, other in zip(steps, expected, strict=True):
        named.update(re.findall(r"\blib\.(\w+)", step.statement))
        if (step.error is None) != (other.error is None):
            messages = [text.partition("\n")[0] for text in (step.message, other.message)]
            detail = f"{step.error} ({messages[0]}), not {other.error} ({messages[1]})"
            if {"float16", "float32"} in dtypes_by_storage(step.tensors):
                detail += " (float16 and float32 share memory)"
            return Difference("raises" if step.error else "does not raise", step.statement, detail)
        if step.error != other.error:
            detail = f"{step.error} ({step.message}), not {other.error} ({other.message})"
            return Difference("error class", step.statement, detail)
        if step.tensors.keys() != other.tensors.keys():
            return Difference("names", step.statement, f"{[*step.tensors]}, not {[*other.tensors]}")
        ignore_writes_of_gradients(step.tensors, other.tensors)
        tolerance = tolerance_of(step.tensors, named)
        for name, ours in step.tensors.items():
            fact = different_fact(ours, other.tensors[name], tolerance)
            if fact:
                message = step.message.partition("\n")[0]
                after = f" (after {step.error}: {message})" if step.error else ""
                after += (
                    " (elements share memory)" if fact == "values" and shares_memory(step) else ""
                )
                if fact == "requires_grad":
                    after += f" ({ours['dtype']})"
                if fact == "grad shape":
                    after += f" (of a tensor of shape {ours['shape']})"
                if fact == "_version" and is_grad(name, before) and not is_grad(name, step.tensors):
                    after += " (no longer .grad)"
                if (
                    fact.endswith(("stride", "requires_grad", "nbytes")) or fact == "_version"
                ) and has_no_elements(ours, fact):
                    after += " (no elements)"
                elif fact.endswith("stride") and only_where_one(ours, other.tensors[name], fact):
                    after += " (where the size is 1)"
                values = (value_of(all_facts, fact) for all_facts in (ours, other.tensors[name]))
                detail = f"{name}: {', not '.join(map(str, values))}{after}"
                return Difference(fact, step.statement, detail)
        if not near(step.seen, other.seen, tolerance):
            return Difference("seen", step.statement, f"{step.seen[-1:]}, not {other.seen[-1:]}")
        before = step.tensors
    return None


def is_grad(name: str, tensors: dict[str, Facts]) -> bool:
    """Return True if it is the name of another tensor's .grad, or of a view of it."""
    return name in tensors and any(
        facts["grad"] is not None and facts["grad"][1]["storage"] == tensors[name]["storage"]
        for facts in tensors.values()
    )


def dtypes_by_storage(tensors: dict[str, Facts]) -> list[set[str]]:
    dtypes: dict[int, set[str]] = {}
    for facts in tensors.values():
        dtypes.setdefault(facts["storage"], set()).add(facts["dtype"])
    return list(dtypes.values())


def has_no_elements(facts: Facts, fact: str) -> bool:
    """Return True if the tensor, or the gradient, that a fact is about has no elements."""
    return 0 in value_of(facts, f"{fact.rpartition(' ')[0]} shape".strip())


def only_where_one(ours: Facts, theirs: Facts, fact: str) -> bool:
    """Return True if strides differ only in dimensions of size 1, which no element uses."""
    a, b = (value_of(facts, fact) for facts in (ours, theirs))
    sizes = value_of(ours, fact.replace("stride", "shape"))
    return all(x == y or size == 1 for x, y, size in zip(a, b, sizes, strict=True))


def shares_memory(step: Step) -> bool:
    """Return True if elements of a tensor, or of a view in the statement, may share memory."""
    return bool(re.search(r"unfold|expand|as_strided|broadcast|set_", step.statement)) or any(
        overlaps(value["shape"], value["stride"]) for value in step.tensors.values()
    )


def overlaps(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    reach = 0
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def tolerance_of(tensors: dict[str, Facts], named: Set[str] = frozenset()) -> float:
    """The tolerance of the least precise dtype: values move from one tensor to others."""
    dtypes = {value["dtype"] for value in tensors.values()} | named
    return max([1e-9, *(TOLERANCES.get(dtype, 1e-9) for dtype in dtypes)])


def different_fact(ours: Facts, theirs: Facts, tolerance: float) -> str | None:
    for fact in FACTS:
        a, b = ours[fact], theirs[fact]
        if fact == "values":
            if not near(a, b, tolerance):
                return fact
        elif fact == "grad" and a is not None and b is not None:
            if a[0] != b[0]:
                return fact
            if within := different_fact(a[1], b[1], tolerance):
                return f"{fact} {within}"
        elif a != b:
            return fact
    return None


def value_of(facts: Facts, fact: str) -> Any:
    """The value of a fact of a tensor, or of its gradient: `grad stride`."""
    outer, _, inner = fact.partition(" ")
    return value_of(facts["grad"][1], inner) if inner else facts[outer]


def near(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        if a == b or (cmath.isnan(a) and cmath.isnan(b)):
            return True
        if cmath.isinf(a) or cmath.isinf(b):
            return both_infinite(a, b)
        if (a == 0) != (b == 0) and math.hypot((a + b).real, (a + b).imag) < sys.float_info.min:
            return False  # what memory held that was not written
        # A quarter of each: abs() raises for a complex number whose magnitude is beyond float64.
        return cmath.isclose(a / 4, b / 4, rel_tol=tolerance, abs_tol=tolerance / 4)
    return type(a) is type(b) and bool(a == b)


def both_infinite(a: complex, b: complex) -> bool:
    """Return True if two numbers are the same infinity. Complex infinity has no direction."""
    if isinstance(a, complex) or isinstance(b, complex):
        return cmath.isinf(a) and cmath.isinf(b)
    return a == b
