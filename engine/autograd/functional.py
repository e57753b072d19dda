"""Jacobians and Hessians, and products with them: vjp, jvp, jacobian, hessian, vhp, hvp.

All call `autograd.grad`. With create_graph the results can be differentiated with respect to the inputs;
otherwise they are detached. With strict, an output that does not depend on an input is an error; otherwise
the gradient is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import engine

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_Tensors = tuple[Any, ...]


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return (outputs, vᵀJ): the product of a vector with the Jacobian of `func` at `inputs`.

    func accepts the inputs (a tensor or a tuple) and returns a tensor or a tuple. v has the shapes of the
    outputs; it may be omitted for a single output of one element.
    Raises: RuntimeError for shapes that do not fit and for violations of strict; TypeError for
    inputs, outputs or v that are not tensors.

    >>> y, g = vjp(lambda x: x * x, engine.tensor([1.0, 2.0]), engine.tensor([1.0, 10.0]))
    >>> g
    tensor([ 2., 40.])
    """
    with engine.enable_grad():
        one_input, tensors = _tensors(inputs, "inputs", "vjp")
        points = _prepared(tensors, create_graph)
        one_output, outputs = _outputs(func, points, "vjp")
        _require_outputs(outputs, strict)
        vectors = _vectors(v, outputs, "vjp", "the function's only output")
    with engine.set_grad_enabled(create_graph or engine.is_grad_enabled()):
        gradients = _grads(outputs, points, vectors, create_graph=create_graph)
        product = _filled(gradients, points, strict, create_graph, "the outputs of the function")
    return _as_result(outputs, one_output, create_graph), _as_result(
        product, one_input, create_graph
    )


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return (outputs, Jv): the product of the Jacobian of `func` at `inputs` with a vector.

    vᵀJ is linear in v, and its derivative with respect to v is J: two backward passes replace the
    forward mode. v has the shapes of the inputs; it may be omitted for a single input of one element.
    Raises: as `vjp`.

    >>> y, t = jvp(lambda x: x * x, engine.tensor([1.0, 2.0]), engine.tensor([1.0, 10.0]))
    >>> t
    tensor([ 2., 40.])
    """
    with engine.enable_grad():
        _, tensors = _tensors(inputs, "inputs", "jvp")
        points = _prepared(tensors, create_graph)
        vectors = _vectors(v, points, "jvp", "the only input")
        one_output, outputs = _outputs(func, points, "jvp")
        _require_outputs(outputs, strict)
        probes = tuple(engine.zeros_like(y).requires_grad_() for y in outputs)
        products = _grads(outputs, points, probes, create_graph=True)
        products = _filled(products, points, strict, True, "the outputs of the function")
        gradients = _grads(products, probes, vectors, create_graph=create_graph)
        slope = _filled(gradients, outputs, strict, create_graph, "the Jacobian")
    return _as_result(outputs, one_output, create_graph), _as_result(
        slope, one_output, create_graph
    )


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Compute the Jacobian of `func` at `inputs`: a tensor of shape output.shape + input.shape.

    A tuple of inputs gives a tuple of such tensors, a tuple of outputs a tuple of those results.
    vectorize computes the rows in one call of `grad(is_grads_batched=True)`.
    Raises: as `vjp`; NotImplementedError for strategy="forward-mode".

    >>> jacobian(lambda x: x.cumsum(0), engine.ones(2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    _check_strategy(strategy, vectorize, strict, "jacobian")
    with engine.enable_grad():
        one_input, tensors = _tensors(inputs, "inputs", "jacobian")
        points = _prepared(tensors, create_graph)
        one_output, outputs = _outputs(func, points, "jacobian")
        _require_outputs(outputs, strict)
        rows = [
            _matrices(i, output, points, create_graph, strict, vectorize)
            for i, output in enumerate(outputs)
        ]
    jacobians = tuple(_as_result(row, one_input, create_graph) for row in rows)
    return jacobians[0] if one_output else jacobians


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Compute the Hessian of `func`, which returns one element, at `inputs`: the Jacobian of its gradient.

    Shape: input.shape + input.shape; with a tuple of inputs a tuple of tuples of
    inputs[i].shape + inputs[j].shape. Raises: as `jacobian`.

    >>> hessian(lambda x: (x**3).sum(), engine.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    one_input, tensors = _tensors(inputs, "inputs", "hessian")
    _check_strategy(outer_jacobian_strategy, vectorize, strict, "hessian")

    def single(*points: Any) -> Any:
        value = func(*points)
        _require_single(value, "hessian", strict)
        return value

    def gradient(*points: Any) -> Any:
        gradients = jacobian(single, points, create_graph=True)
        return tuple(g.reshape(x.shape) for g, x in zip(gradients, points, strict=True))

    rows = jacobian(
        gradient, tensors, create_graph=create_graph, strict=strict, vectorize=vectorize
    )
    return rows[0][0] if one_input else rows


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return (output, vᵀH): the product of a vector with the Hessian of `func`, which returns one element.

    v has the shapes of the inputs; it may be omitted for a single input of one element. Raises: as `vjp`.

    >>> vhp(lambda x: (x**3).sum(), engine.ones(2), engine.tensor([1.0, 2.0]))[1]
    tensor([ 6., 12.])
    """
    with engine.enable_grad():
        one_input, points, vectors, output, gradient = _gradient(
            func, inputs, v, create_graph, strict, "vhp"
        )
        gradients = _grads(gradient, points, vectors, create_graph=create_graph)
        product = _filled(gradients, points, strict, create_graph, "the gradient of the function")
    return _as_result((output,), True, create_graph), _as_result(product, one_input, create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return (output, Hv): the product of the Hessian of `func`, which returns one element, with a vector.

    For a symmetric Hessian `vhp` returns the same, with one backward pass less.

    >>> hvp(lambda x: (x**3).sum(), engine.ones(2), engine.tensor([1.0, 2.0]))[1]
    tensor([ 6., 12.])
    """
    with engine.enable_grad():
        one_input, points, vectors, output, gradient = _gradient(
            func, inputs, v, create_graph, strict, "hvp"
        )
        probes = tuple(engine.zeros_like(x).requires_grad_() for x in points)
        products = _grads(gradient, points, probes, create_graph=True)
        products = _filled(products, points, strict, True, "the gradient of the function")
        gradients = _grads(products, probes, vectors, create_graph=create_graph)
        product = _filled(gradients, points, strict, create_graph, "the Hessian")
    return _as_result((output,), True, create_graph), _as_result(product, one_input, create_graph)


# ---- shared helpers


def _gradient(
    func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool, name: str
) -> tuple[bool, _Tensors, _Tensors, Any, _Tensors]:
    """Return the prepared inputs, the vectors, the output and its differentiable gradient."""
    one_input, tensors = _tensors(inputs, "inputs", name)
    points = _prepared(tensors, create_graph)
    vectors = _vectors(v, points, name, "the only input")
    output = func(*points)
    _require_single(output, name, strict)
    gradients = _grads((output,), points, None, create_graph=True)
    gradient = _filled(gradients, points, strict, True, "the outputs of the function")
    return one_input, points, vectors, output, gradient


def _tensors(values: Any, role: str, name: str) -> tuple[bool, _Tensors]:
    """Return (is a single tensor, tuple of tensors)."""
    single = not isinstance(values, (tuple, list))
    tensors = (values,) if single else tuple(values)
    for index, value in enumerate(tensors):
        if not isinstance(value, engine.Tensor):
            position = "" if single else f" at position {index}"
            raise TypeError(
                f"{name}: the {role} must be a Tensor or a tuple of Tensors, "
                f"got {type(value).__name__}{position}"
            )
    return single, tensors


def _prepared(values: _Tensors, create_graph: bool) -> _Tensors:
    """Return new tensors, so that only the operations of `func` are differentiated: with create_graph, views
    of those that require grad; all others are detached."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in values
    )


def _outputs(func: Callable[..., Any], points: _Tensors, name: str) -> tuple[bool, _Tensors]:
    return _tensors(func(*points), "outputs of the user-provided function", name)


def _vectors(v: Any, like: _Tensors, name: str, role: str) -> _Tensors:
    """Return v as a tuple of tensors with the shapes of `like`; ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            sizes = ", ".join(str(tuple(x.shape)) for x in like)
            raise RuntimeError(
                f"{name}: the vector v can only be None if {role} is a single Tensor with a "
                f"single element, got {len(like)} of sizes {sizes}"
            )
        return (engine.ones_like(like[0]),)
    _, vectors = _tensors(v, "vector v", name)
    if len(vectors) != len(like):
        raise RuntimeError(f"{name}: v has {len(vectors)} tensors, expected {len(like)}")
    for index, (vector, expected) in enumerate(zip(vectors, like, strict=True)):
        if tuple(vector.shape) != tuple(expected.shape):
            raise RuntimeError(
                f"{name}: v[{index}] has size {tuple(vector.shape)}, expected {tuple(expected.shape)}"
            )
    return vectors


def _require_outputs(outputs: _Tensors, strict: bool) -> None:
    for index, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise RuntimeError(
                f"Output {index} of the user-provided function does not require gradients: the "
                "outputs must be computed in a differentiable manner from the inputs in strict mode"
            )


def _require_single(output: Any, name: str, strict: bool) -> None:
    if not isinstance(output, engine.Tensor):
        kind = type(output).__name__
        raise RuntimeError(f"{name}: the function must return a single Tensor, got {kind}")
    if output.numel() != 1:
        raise RuntimeError(
            f"{name}: the Tensor returned by the function must contain a single element, "
            f"got size {tuple(output.shape)}"
        )
    _require_outputs((output,), strict)


def _check_strategy(strategy: str, vectorize: bool, strict: bool, name: str) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f"{name}: expected strategy to be 'forward-mode' or 'reverse-mode', got {strategy!r}"
        )
    if strategy == "forward-mode":
        raise NotImplementedError(f"{name}: the engine has no forward-mode differentiation")
    if vectorize and strict:
        raise RuntimeError(f"{name}: strict=True and vectorize=True are not supported together")


def _grads(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    vectors: Sequence[Any] | None,
    *,
    create_graph: bool,
    batched: bool = False,
) -> _Tensors:
    """Call autograd.grad with those outputs that have a graph; an unused input gets None."""
    cotangents = vectors if vectors is not None else [None] * len(outputs)
    recorded = [(y, v) for y, v in zip(outputs, cotangents, strict=True) if y.requires_grad]
    if not recorded:
        return (None,) * len(inputs)
    return tuple(
        engine.autograd.grad(
            [y for y, _ in recorded],
            inputs,
            [v for _, v in recorded],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
            is_grads_batched=batched,
        )
    )


def _filled(
    gradients: Sequence[Any], like: _Tensors, strict: bool, create_graph: bool, role: str
) -> _Tensors:
    """Replace None by zeros; with strict, None is an error."""
    filled = []
    for index, (gradient, x) in enumerate(zip(gradients, like, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(
                    f"{role[0].upper()}{role[1:]} and input {index} are independent: "
                    "this is not allowed in strict mode"
                )
            gradient = engine.zeros_like(x)
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The gradient of {role} with respect to input {index} does not depend on the "
                "inputs: this is not allowed in strict mode when create_graph=True"
            )
        filled.append(gradient)
    return tuple(filled)


def _matrices(
    i: int, output: Any, points: _Tensors, create_graph: bool, strict: bool, vectorize: bool
) -> _Tensors:
    """Compute the Jacobians of one output, one for each input."""
    count = output.numel()
    units = engine.eye(count, dtype=output.dtype).reshape(count, *output.shape)
    if count == 0:
        rows: list[_Tensors] = []
    elif vectorize:
        batch = _grads((output,), points, (units,), create_graph=create_graph, batched=True)
        return tuple(
            (engine.zeros((count, *x.shape), dtype=x.dtype) if g is None else g).reshape(
                tuple(output.shape) + tuple(x.shape)
            )
            for g, x in zip(batch, points, strict=True)
        )
    else:
        rows = [
            _filled(
                _grads((output,), points, (units[k],), create_graph=create_graph),
                points,
                strict,
                create_graph,
                f"output {i} of the function",
            )
            for k in range(count)
        ]
    matrices = []
    for j, x in enumerate(points):
        sizes = tuple(output.shape) + tuple(x.shape)
        if rows:
            matrices.append(engine.stack([row[j] for row in rows]).reshape(sizes))
        else:
            matrices.append(engine.zeros(sizes, dtype=x.dtype))
    return tuple(matrices)


def _as_result(values: Sequence[Any], single: bool, create_graph: bool) -> Any:
    """Convert values to a function's result: detached unless create_graph, a tensor for a single tensor."""
    results = tuple(values) if create_graph else tuple(y.detach() for y in values)
    return results[0] if single else results
