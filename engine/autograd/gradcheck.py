"""gradcheck and gradgradcheck: gradients compared with finite differences.

For every output and every input the Jacobian is computed twice, a row per element of the input and a column per
element of the output: by columns, calling backward with unit vectors, and by rows, shifting an element of the
input by eps. The real and the imaginary part of a complex output are checked separately as real functions,
whose gradient with respect to x + iy is d/dx + i d/dy.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import engine
from engine.autograd.finite_differences import (
    as_tuple,
    differentiable,
    inner,
    jacobian_by_differences,
    part_name,
    parts,
    shifted,
    unit,
)
from engine.autograd.tensor_methods import needs_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """The error of a failed `gradcheck` or `gradgradcheck`."""


@dataclass(frozen=True)
class _Rules:
    """The options of a check."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    undefined: bool
    dtypes: bool
    batched: bool
    fast: bool


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check that the gradients of `func` agree with finite differences.

    inputs: a tensor or a tuple; those that require grad are checked, and should be float64 or
    complex128: others lose too many digits to differences (a UserWarning says so).
    eps: the step of the differences. atol, rtol: `|analytical - numerical| <= atol + rtol * |numerical|`.
    nondet_tol: the allowed difference of two runs of backward. check_undefined_grad: backward accepts
    an undefined gradient of an output. check_grad_dtypes: gradients have the dtype of their
    input. check_batched_grad: `is_grads_batched` gives the same result. fast_mode: check one random direction
    instead of all unit vectors.
    Raises: GradcheckError with both Jacobians when they differ (or returns False with
    raise_exception=False); ValueError when no input requires grad; NotImplementedError for forward
    mode, which the engine does not have.

    >>> x = engine.tensor([0.5, 2.0], dtype=engine.float64, requires_grad=True)
    >>> gradcheck(lambda x: x.sin() * x, x)
    True
    """
    if check_forward_ad or check_batched_forward_grad:
        raise NotImplementedError("gradcheck: the engine has no forward-mode differentiation")
    if not check_backward_ad:
        raise ValueError("gradcheck: check_backward_ad=False leaves nothing to check")
    rules = _Rules(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes,
        check_batched_grad, fast_mode,
    )  # fmt: skip
    return _verdict(lambda: _check(func, as_tuple(inputs), rules), raise_exception)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check that the second-order gradients of `func` agree with finite differences.

    The checked function maps inputs and grad_outputs to the gradients of the inputs; grad_outputs are random
    by default, and not contiguous with gen_non_contig_grad_outputs. The other options are those of
    `gradcheck`.

    >>> x = engine.tensor([0.5, 2.0], dtype=engine.float64, requires_grad=True)
    >>> gradgradcheck(lambda x: x**3, x)
    True
    """
    if check_fwd_over_rev:
        raise NotImplementedError("gradgradcheck: the engine has no forward-mode differentiation")
    if not check_rev_over_rev:
        raise ValueError("gradgradcheck: check_rev_over_rev=False leaves nothing to check")
    values = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable(func(*values))
        cotangents = tuple(_random_like(y, gen_non_contig_grad_outputs) for y in outputs)
    else:
        cotangents = as_tuple(grad_outputs)
    count = len(cotangents)

    def gradients(*args: Any) -> tuple[Any, ...]:
        values, vectors = args[: len(args) - count], args[len(args) - count :]
        differentiated = [x for x in values if needs_grad(x)]
        results = engine.autograd.grad(
            differentiable(func(*values)),
            differentiated,
            vectors,
            create_graph=True,
            allow_unused=True,
        )
        return tuple(g for g in results if g is not None and g.requires_grad)

    return gradcheck(
        gradients,
        values + cotangents,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        masked=masked,
    )


def _verdict(check: Callable[[], None], raise_exception: bool) -> bool:
    try:
        check()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


# ---- inputs


def _random_like(output: Any, with_gaps: bool) -> Any:
    """Return a random cotangent for an output."""
    cotangent = engine.randn(tuple(output.shape), dtype=output.dtype)
    if with_gaps and output.dim() > 0:
        wide = engine.empty((*output.shape, 2), dtype=output.dtype)
        gapped = wide.select(-1, 0)
        gapped.copy_(cotangent)
        cotangent = gapped
    return cotangent.detach().requires_grad_()


def _validate(inputs: tuple[Any, ...]) -> None:
    if not any(needs_grad(x) for x in inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, "
            "but none of them have requires_grad=True"
        )
    for index, x in enumerate(inputs):
        if not needs_grad(x):
            continue
        if x.dtype not in (engine.float64, engine.complex128):
            warnings.warn(
                f"gradcheck: input {index} requires gradient and is {x.dtype}: differences need "
                "double precision, so this check will likely fail",
                UserWarning,
                stacklevel=5,
            )
        if any(step == 0 and size > 1 for step, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"gradcheck: input {index} has a dimension with stride 0 (strides {x.stride()} for "
                f"sizes {tuple(x.shape)}): one element cannot be moved alone; call .contiguous()"
            )
        x.retain_grad()


# ---- the check


def _check(func: Callable[..., Any], inputs: tuple[Any, ...], rules: _Rules) -> None:
    _validate(inputs)
    outputs = differentiable(func(*inputs))
    if not outputs:
        _expect_constant(func, inputs, rules)
        return
    check = _check_fast if rules.fast else _check_slowly
    for i, output in enumerate(outputs):
        for part in parts(output):
            check(func, inputs, outputs, i, part, rules)
    if rules.batched:
        _check_batched(outputs, [x for x in inputs if needs_grad(x)])
    _check_multiplied(outputs, inputs)
    if rules.undefined:
        _check_undefined(func, inputs, outputs)


def _expect_constant(func: Callable[..., Any], inputs: tuple[Any, ...], rules: _Rules) -> None:
    """Check that outputs without requires_grad do not depend on the inputs: their differences must be zero."""
    plain = tuple(y for y in as_tuple(func(*inputs)) if isinstance(y, engine.Tensor))
    for i, output in enumerate(plain):
        if not (output.is_floating_point() or output.is_complex()):
            continue

        def call(i: int = i) -> Any:
            return as_tuple(func(*inputs))[i]

        for j, x in enumerate(inputs):
            if not needs_grad(x):
                continue
            matrix = jacobian_by_differences(call, x, 1.0, rules.eps)
            if not _close(matrix, engine.zeros_like(matrix), rules):
                raise GradcheckError(
                    f"Numerical gradient for function expected to be zero: output {i} does not "
                    f"require grad, but depends on input {j},\nnumerical:{matrix}\n"
                )


def _check_slowly(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    outputs: tuple[Any, ...],
    i: int,
    part: complex,
    rules: _Rules,
) -> None:
    output = outputs[i]
    prefix = part_name(output, part)
    checked = [x for x in inputs if needs_grad(x)]
    first, again = (_analytical(output, checked, part, rules, i) for _ in range(2))
    numbers = [j for j, x in enumerate(inputs) if needs_grad(x)]
    for x, j, analytical, second in zip(checked, numbers, first, again, strict=True):
        numerical = jacobian_by_differences(
            lambda: differentiable(func(*inputs))[i], x, part, rules.eps
        )
        if not _close(analytical, numerical, rules):
            raise GradcheckError(
                f"{prefix}Jacobian mismatch for output {i} with respect to input {j},\n"
                f"numerical:{numerical}\nanalytical:{analytical}\n"
            )
        if not _close(analytical, second, replace(rules, atol=rules.nondet_tol, rtol=0.0)):
            raise GradcheckError(
                f"{prefix}Backward is not reentrant, i.e., running backward with the same input "
                "and grad_output multiple times gives different values, although the analytical "
                f"gradient matches the numerical one: output {i}, input {j}, "
                f"nondet_tol={rules.nondet_tol}"
            )


def _close(a: Any, b: Any, rules: _Rules) -> bool:
    return bool(engine.allclose(a, b.to(a.dtype), rtol=rules.rtol, atol=rules.atol))


def _analytical(output: Any, checked: list[Any], part: complex, rules: _Rules, i: int) -> list[Any]:
    """Compute the Jacobians by backward, one for each input: a column for each element of the output."""
    columns: list[list[Any]] = [[] for _ in checked]
    for position in range(output.numel()):
        unit = engine.zeros(output.numel(), dtype=output.dtype)
        unit[position] = part
        gradients = engine.autograd.grad(
            output, checked, unit.reshape(output.shape), retain_graph=True, allow_unused=True
        )
        for column, x, gradient in zip(columns, checked, gradients, strict=True):
            column.append(_column(gradient, x, rules, i))
    return [
        engine.stack(column, 1) if column else engine.zeros((x.numel(), 0), dtype=x.dtype)
        for column, x in zip(columns, checked, strict=True)
    ]


def _column(gradient: Any, x: Any, rules: _Rules, i: int) -> Any:
    if gradient is None:
        return engine.zeros(x.numel(), dtype=x.dtype)
    if rules.dtypes and gradient.dtype != x.dtype:
        raise GradcheckError(
            f"Gradient of output {i} has dtype mismatch: the input is {x.dtype}, "
            f"its gradient {gradient.dtype}"
        )
    if tuple(gradient.shape) != tuple(x.shape):
        raise GradcheckError(
            f"Gradient of output {i} has incorrect size: the input is {tuple(x.shape)}, "
            f"its gradient {tuple(gradient.shape)}"
        )
    return gradient.detach().reshape(-1)


# ---- fast mode: one random direction


def _check_fast(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    outputs: tuple[Any, ...],
    i: int,
    part: complex,
    rules: _Rules,
) -> None:
    """Compare v'Ju for random u and v; if they differ, the slow check reports the elements."""
    output = outputs[i]
    weights = engine.rand(tuple(output.shape), dtype=engine.float64)
    checked = [x for x in inputs if needs_grad(x)]
    vector = (weights * part).to(output.dtype)
    gradients = engine.autograd.grad(output, checked, vector, retain_graph=True, allow_unused=True)
    for x, gradient in zip(checked, gradients, strict=True):
        direction = unit(x)
        below = shifted(func, inputs, x, direction, -rules.eps)[i]
        above = shifted(func, inputs, x, direction, rules.eps)[i]
        slope = (above - below) / (2 * rules.eps)
        if slope.is_complex():
            slope = slope.real if part == 1 else slope.imag
        numerical = float((slope.to(engine.float64) * weights).sum())
        analytical = 0.0 if gradient is None else inner(gradient.detach(), direction)
        scale = float(direction.abs().sum()) * float(weights.sum())
        if abs(analytical - numerical) <= rules.atol * max(scale, 1.0) + rules.rtol * abs(
            numerical
        ):
            continue
        _check_slowly(func, inputs, outputs, i, part, rules)
        raise GradcheckError(
            f"{part_name(output, part)}Jacobian mismatch for output {i} in a random direction: "
            f"numerical {numerical}, analytical {analytical}, though it holds for each element; "
            "the tolerances of fast_mode and of the slow check differ"
        )


# ---- unusual gradients


def _check_batched(outputs: tuple[Any, ...], checked: list[Any]) -> None:
    for i, output in enumerate(outputs):
        vectors = engine.stack([_random_like(output, False).detach() for _ in range(2)])
        options = {"retain_graph": True, "allow_unused": True}
        one_by_one = [engine.autograd.grad(output, checked, v, **options) for v in vectors]
        together = engine.autograd.grad(output, checked, vectors, is_grads_batched=True, **options)
        for j, (batch, *singles) in enumerate(zip(together, *one_by_one, strict=True)):
            if batch is None:
                continue
            expected = engine.stack(singles)
            if not engine.allclose(batch, expected):
                raise GradcheckError(
                    f"Batched gradients of output {i} for input {j} differ from those computed "
                    f"one by one,\nbatched:{batch}\none by one:{expected}\n"
                )


def _check_multiplied(outputs: tuple[Any, ...], inputs: tuple[Any, ...]) -> None:
    """Check that backward maps zeros to zeros."""
    checked = [x for x in inputs if needs_grad(x)]
    zeros = [engine.zeros_like(y) for y in outputs]
    gradients = engine.autograd.grad(outputs, checked, zeros, retain_graph=True, allow_unused=True)
    for j, (x, gradient) in enumerate(zip(checked, gradients, strict=True)):
        if gradient is None:
            continue
        if tuple(gradient.shape) != tuple(x.shape):
            raise GradcheckError("grad is incorrect size")
        if not bool((gradient == 0).all()):
            raise GradcheckError(
                f"backward not multiplied by grad_output: input {j} gets {gradient} from zeros"
            )


def _check_undefined(
    func: Callable[..., Any], inputs: tuple[Any, ...], outputs: tuple[Any, ...]
) -> None:
    """Check backward with an undefined gradient for each output, and for all of them."""
    cases = [{i} for i in range(len(outputs))] if len(outputs) > 1 else []
    for missing in [set(range(len(outputs))), *cases]:
        _check_undefined_case(func, inputs, missing)


def _check_undefined_case(
    func: Callable[..., Any], inputs: tuple[Any, ...], missing: set[int]
) -> None:
    checked = [x for x in inputs if needs_grad(x)]
    passed = [
        _no_gradient(y) if i in missing else y for i, y in enumerate(differentiable(func(*inputs)))
    ]
    vectors = [engine.zeros_like(y) for y in passed]
    names = ", ".join(map(str, sorted(missing)))
    try:
        gradients = engine.autograd.grad(passed, checked, vectors, allow_unused=True)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise GradcheckError(
            "Expected backward function to handle undefined output grads: none arrived for "
            f"output {names}; a gradient may be None where set_materialize_grads(False) was called"
        ) from error
    for j, gradient in enumerate(gradients):
        if gradient is not None and not bool((gradient == 0).all()):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are: "
                f"none arrived for output {names}, and input {j} gets {gradient}"
            )


def _no_gradient(output: Any) -> Any:
    """Return a tensor equal to `output` whose backward passes on no gradient."""
    return _function().apply(output)


def _function() -> Any:
    """Create the Function on first use: engine.autograd is not fully imported when this module is."""
    global _stop
    if _stop is None:

        class NoGradient(engine.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.view_as(x)

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return None

        _stop = NoGradient
    return _stop


_stop: Any = None


class _Callable(types.ModuleType):
    """A callable module: importing this file binds the module to `engine.autograd.gradcheck`, which is a
    function in PyTorch."""

    def __call__(self, *args: Any, **options: Any) -> bool:
        return gradcheck(*args, **options)


sys.modules[__name__].__class__ = _Callable
