"""opcheck: whether what was registered about an operator is true, on sample arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import engine
from engine import ops
from engine._native import lib
from engine._native.namespace import namespace
from engine.autograd.grad_mode import no_grad
from engine.library.custom_ops import CustomOpDef, tensors_of
from engine.tensor import Tensor


class OpCheckError(Exception):
    """A check of `opcheck` failed."""


def opcheck(
    op: ops.Overload | ops.Packet | CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Test an operator's registrations on sample arguments; return "SUCCESS" or the error for each test.

    `test_schema`: it writes and returns what the schema says. `test_autograd_registration`: its gradient belongs to
    its Autograd key. `test_faketensor`: its fake kernel has the sizes, strides and dtypes of its kernel.
    `test_aot_dispatch_dynamic`: traced it computes the same results and gradients. Whether a formula is the
    derivative is for `autograd.gradcheck`.

    Raises: OpCheckError at the first failure, unless `raise_exception` is False.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    if isinstance(op, ops.Packet):
        names = op.overloads()
        if len(names) != 1:
            raise RuntimeError(
                f"opcheck can only test operators without overloads. Got the following overloads for "
                f"{op.qualified_name}: {names}"
            )
        op = getattr(op, names[0])
    if not isinstance(op, ops.Overload):
        raise ValueError(
            f"opcheck(op, ...): op must be instance of {namespace()}.ops.Overload, e.g. "
            f"{namespace()}.ops.aten.sin.default, got {type(op)}"
        )
    selection = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    selection = tuple(_TESTS) if selection in ((), ("ALL",)) else selection
    if not set(selection) <= set(_TESTS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be subset of {tuple(_TESTS)} but it "
            "was not"
        )
    results: dict[str, Any] = {}
    for name in selection:
        try:
            _TESTS[name](op, args, kwargs or {}, (rtol, atol))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results


Tolerances = tuple[float | None, float | None]


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        with no_grad():
            copy = value.detach().clone()
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(_copy(item) for item in value)
    return value


def _copies(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return [_copy(arg) for arg in args], {name: _copy(arg) for name, arg in kwargs.items()}


def _test_schema(
    op: ops.Overload, args: tuple[Any, ...], kwargs: dict[str, Any], tolerances: Tolerances
) -> None:
    arguments, options = _copies(args, kwargs)
    values = op.schema.bind(tuple(arguments), options)
    before = _copy(values)
    with no_grad():
        result = op(*arguments, **options)
    for argument, old, new in zip(op.schema.arguments, before, values, strict=True):
        same = all(map(_same, tensors_of(old), tensors_of(new)))
        if not same and not argument.is_write:
            raise RuntimeError(
                f"{op.qualified_name}: argument {argument.name} is not declared as mutable in the schema, but it was "
                f"mutated; schema: {op.schema.text}"
            )
    inputs = {
        lib.uh_storage_id(t._h): argument
        for argument, value in zip(op.schema.arguments, values, strict=True)
        for t in tensors_of(value)
    }
    parts = result if len(op.schema.returns) > 1 else (result,)
    outputs: set[int] = set()
    for position, (declared, part) in enumerate(zip(op.schema.returns, parts, strict=False)):
        for storage in [lib.uh_storage_id(t._h) for t in tensors_of(part)]:
            aliased = inputs.get(storage)
            if aliased is not None and not (declared.alias_set and aliased.alias_set):
                raise RuntimeError(
                    f"{op.qualified_name}: result {position} shares memory with argument {aliased.name}, which the "
                    f"schema does not say; schema: {op.schema.text}"
                )
            if storage in outputs and not declared.alias_set:
                raise RuntimeError(
                    f"{op.qualified_name}: result {position} shares memory with another result; schema: "
                    f"{op.schema.text}"
                )
            outputs.add(storage)


def _same(a: Tensor, b: Tensor) -> bool:
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    equal = (a == b) | ((a != a) & (b != b))
    return bool(equal.all())


def _test_autograd_registration(
    op: ops.Overload, args: tuple[Any, ...], kwargs: dict[str, Any], tolerances: Tolerances
) -> None:
    if not any(t.requires_grad for t in tensors_of([*args, *kwargs.values()])):
        return
    if "Autograd" in ops.kernels(op.qualified_name):
        return
    arguments, options = _copies(args, kwargs)
    before = lib.uh_set_below_autograd(1)
    try:
        result = op(*arguments, **options)
    finally:
        lib.uh_set_below_autograd(before)
    inputs = {id(t) for t in tensors_of([*arguments, *options.values()])}
    if any(t.requires_grad and id(t) not in inputs for t in tensors_of(result)):
        raise AssertionError(
            f"{op.qualified_name}: at least one output of this operator has requires_grad=True but the operator does "
            "not have an autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd). This could mean "
            "that you have incorrectly registered an autograd kernel to a non-Autograd DispatchKey, which may lead "
            "to silently incorrect results."
        )


def _to_meta(value: Any) -> Any:
    if isinstance(value, Tensor):
        return engine.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return type(value)(_to_meta(item) for item in value)
    return value


def _test_faketensor(
    op: ops.Overload, args: tuple[Any, ...], kwargs: dict[str, Any], tolerances: Tolerances
) -> None:
    arguments, options = _copies(args, kwargs)
    with no_grad():
        fake = op(*map(_to_meta, arguments), **{name: _to_meta(v) for name, v in options.items()})
        real = op(*arguments, **options)
    fakes, reals = list(tensors_of(fake)), list(tensors_of(real))
    if len(fakes) != len(reals):
        raise AssertionError(
            f"{op.qualified_name}: the fake kernel returned {len(fakes)} tensors, the kernel {len(reals)}"
        )
    for position, (a, b) in enumerate(zip(fakes, reals, strict=True)):
        for attribute, x, y in (
            ("Shapes", a.shape, b.shape),
            ("Dtypes", a.dtype, b.dtype),
            ("Strides", a.stride(), b.stride()),
            ("Storage offsets", a.storage_offset(), b.storage_offset()),
        ):
            if x != y:
                raise AssertionError(
                    f"{op.qualified_name}: {attribute} {x} and {y} of result {position} are not equal: the fake kernel "
                    "and the kernel disagree"
                )


def _gradients(call: Callable[..., Any], arguments: list[Any], options: dict[str, Any]) -> Any:
    result = call(*arguments, **options)
    outputs = [t for t in tensors_of(result) if t.requires_grad]
    leaves = [t for t in tensors_of([*arguments, *options.values()]) if t.requires_grad]
    if not outputs or not leaves:
        return result, []
    total = outputs[0].sum()
    for output in outputs[1:]:
        total = total + output.sum()
    return result, engine.autograd.grad(total, leaves, allow_unused=True)


def _test_aot_dispatch_dynamic(
    op: ops.Overload, args: tuple[Any, ...], kwargs: dict[str, Any], tolerances: Tolerances
) -> None:
    if op.schema.written is not None:
        return
    arguments, options = _copies(args, kwargs)
    positions = [i for i, a in enumerate(arguments) if isinstance(a, Tensor)]

    def call(*tensors: Tensor) -> Any:
        filled = list(arguments)
        for position, tensor in zip(positions, tensors, strict=True):
            filled[position] = tensor
        return op(*filled, **options)

    tensors = [arguments[i] for i in positions]
    if not tensors:
        return
    expected, expected_grads = _gradients(call, tensors, {})
    with no_grad():
        samples = tuple(_copy(t).detach() for t in tensors)
    traced = engine.jit.trace(call, samples, check_trace=False)
    got, got_grads = _gradients(traced, tensors, {})
    _compare(op, "results", expected, got, tolerances)
    _compare(op, "gradients", list(expected_grads), list(got_grads), tolerances)


def _compare(op: ops.Overload, subject: str, a: Any, b: Any, tolerances: Tolerances) -> None:
    rtol, atol = tolerances
    for x, y in zip(tensors_of(a), tensors_of(b), strict=True):
        exact = not (x.is_floating_point() or x.is_complex())
        near = {"rtol": 1.3e-6 if rtol is None else rtol, "atol": 1e-5 if atol is None else atol}
        if not (bool((x == y).all()) if exact else engine.allclose(x, y, equal_nan=True, **near)):
            raise AssertionError(
                f"{op.qualified_name}: the {subject} differ when the operator is traced"
            )


_TESTS: dict[str, Callable[[ops.Overload, tuple[Any, ...], dict[str, Any], Tolerances], None]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_dynamic": _test_aot_dispatch_dynamic,
}
