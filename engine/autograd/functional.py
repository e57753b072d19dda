"""Products with Jacobians and Hessians, and these matrices themselves: vjp, jvp, jacobian, hessian, vhp, hvp.

All are made of `autograd.grad`. With create_graph the results can be differentiated with respect to
the inputs that were given; otherwise they are detached. With strict, an input that an output does
not depend on is an error in place of zeros.
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
    """(outputs, vᵀJ): the product of a vector with the Jacobian of `func` at `inputs`.

    func takes the inputs (a tensor or a tuple) and returns a tensor or a tuple. v is shaped as the
    outputs; it may be left out when there is one output of one element.
    Raises: RuntimeError for shapes that do not fit and for what strict forbids; TypeError for
    inputs, outputs or v that are not tensors.

    >>> y, g = vjp(lambda x: x * x, engine.tensor([1.0, 2.0]), engine.tensor([1.0, 10.0]))
    >>> g
    tensor([ 2., 40.])
    """
    with engine.enable_grad():
        one_input, given = _tensors(inputs, "inputs", "vjp")
        points = _prepared(given, create_graph)
        one_output, outputs = _outputs(func, points, "vjp")
        _require_outputs(outputs, strict)
        vectors = _vectors(v, outputs, "vjp", "the function's only output")
    with engine.set_grad_enabled(create_graph or engine.is_grad_enabled()):
        found = _grads(outputs, points, vectors, create_graph=create_graph)
        product = _filled(found, points, strict, create_graph, "the outputs of the function")
    return _given(outputs, one_output, create_graph), _given(product, one_input, create_graph)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(outputs, Jv): the product of the Jacobian of `func` at `inputs` with a vector.

    vᵀJ is linear in its vector; its derivative with respect to that vector is J: two backwards in
    place of a forward mode. v is shaped as the inputs; it may be left out for one input of one
    element. Raises: as `vjp`.

    >>> y, t = jvp(lambda x: x * x, engine.tensor([1.0, 2.0]), engine.tensor([1.0, 10.0]))
    >>> t
    tensor([ 2., 40.])
    """
    with engine.enable_grad():
        _, given = _tensors(inputs, "inputs", "jvp")
        points = _prepared(given, create_graph)
        vectors = _vectors(v, points, "jvp", "the only input")
        one_output, outputs = _outputs(func, points, "jvp")
        _require_outputs(outputs, strict)
        probes = tuple(engine.zeros_like(y).requires_grad_() for y in outputs)
        products = _grads(outputs, points, probes, create_graph=True)
        products = _filled(products, points, strict, True, "the outputs of the function")
        found = _grads(products, probes, vectors, create_graph=create_graph)
        slope = _filled(found, outputs, strict, create_graph, "the Jacobian")
    return _given(outputs, one_output, create_graph), _given(slope, one_output, create_graph)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`: one tensor of shape output.shape + input.shape.

    With a tuple of inputs a tuple of such tensors, with a tuple of outputs a tuple of these.
    vectorize computes the rows in one call of `grad(is_grads_batched=True)`.
    Raises: as `vjp`; NotImplementedError for strategy="forward-mode".

    >>> jacobian(lambda x: x.cumsum(0), engine.ones(2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    _check_strategy(strategy, vectorize, strict, "jacobian")
    with engine.enable_grad():
        one_input, given = _tensors(inputs, "inputs", "jacobian")
        points = _prepared(given, create_graph)
        one_output, outputs = _outputs(func, points, "jacobian")
        _require_outputs(outputs, strict)
        rows = [
            _matrices(i, output, points, create_graph, strict, vectorize)
            for i, output in enumerate(outputs)
        ]
    made = tuple(_given(row, one_input, create_graph) for row in rows)
    return made[0] if one_output else made


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of `func`, which returns one element, at `inputs`: the Jacobian of its gradient.

    Shape: input.shape + input.shape; with a tuple of inputs a tuple of tuples of
    inputs[i].shape + inputs[j].shape. Raises: as `jacobian`.

    >>> hessian(lambda x: (x**3).sum(), engine.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    one_input, given = _tensors(inputs, "inputs", "hessian")
    _check_strategy(outer_jacobian_strategy, vectorize, strict, "hessian")

    def single(*points: Any) -> Any:
        value = func(*points)
        _require_single(value, "hessian", strict)
        return value

    def gradient(*points: Any) -> Any:
        found = jacobian(single, points, create_graph=True)
        return tuple(g.reshape(x.shape) for g, x in zip(found, points, strict=True))

    rows = jacobian(gradient, given, create_graph=create_graph, strict=strict, vectorize=vectorize)
    return rows[0][0] if one_input else rows


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(output, vᵀH): the product of a vector with the Hessian of `func`, which returns one element.

    v is shaped as the inputs; it may be left out for one input of one element. Raises: as `vjp`.

    >>> vhp(lambda x: (x**3).sum(), engine.ones(2), engine.tensor([1.0, 2.0]))[1]
    tensor([ 6., 12.])
    """
    with engine.enable_grad():
        one_input, points, vectors, output, gradient = _gradient(
            func, inputs, v, create_graph, strict, "vhp"
        )
        found = _grads(gradient, points, vectors, create_graph=create_graph)
        product = _filled(found, points, strict, create_graph, "the gradient of the function")
    return _given((output,), True, create_graph), _given(product, one_input, create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(output, Hv): the product of the Hessian of `func`, which returns one element, with a vector.

    As `vhp`, which needs one backward less and gives the same where the Hessian is symmetric.

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
        found = _grads(products, probes, vectors, create_graph=create_graph)
        product = _filled(found, points, strict, create_graph, "the Hessian")
    return _given((output,), True, create_graph), _given(product, one_input, create_graph)


# ---- what they share


def _gradient(
    func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool, name: str
) -> tuple[bool, _Tensors, _Tensors, Any, _Tensors]:
    """The inputs as tensors of their own, the vectors, the one output and its differentiable gradient."""
    one_input, given = _tensors(inputs, "inputs", name)
    points = _prepared(given, create_graph)
    vectors = _vectors(v, points, name, "the only input")
    output = func(*points)
    _require_single(output, name, strict)
    found = _grads((output,), points, None, create_graph=True)
    gradient = _filled(found, points, strict, True, "the outputs of the function")
    return one_input, points, vectors, output, gradient


def _tensors(values: Any, what: str, name: str) -> tuple[bool, _Tensors]:
    """Whether it was one tensor, and the tuple of them."""
    single = not isinstance(values, (tuple, list))
    found = (values,) if single else tuple(values)
    for index, value in enumerate(found):
        if not isinstance(value, engine.Tensor):
            where = "" if single else f" at position {index}"
            raise TypeError(
                f"{name}: the {what} must be a Tensor or a tuple of Tensors, "
                f"got {type(value).__name__}{where}"
            )
    return single, found


def _prepared(values: _Tensors, create_graph: bool) -> _Tensors:
    """Fresh tensors, so that only what `func` does is differentiated: for create_graph, views of
    those that require grad; all others detached."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in values
    )


def _outputs(func: Callable[..., Any], points: _Tensors, name: str) -> tuple[bool, _Tensors]:
    return _tensors(func(*points), "outputs of the user-provided function", name)


def _vectors(v: Any, like: _Tensors, name: str, whole: str) -> _Tensors:
    """v as a tuple of tensors shaped as `like`; ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            sizes = ", ".join(str(tuple(x.shape)) for x in like)
            raise RuntimeError(
                f"{name}: the vector v can only be None if {whole} is a single Tensor with a "
                f"single element, got {len(like)} of sizes {sizes}"
            )
        return (engine.ones_like(like[0]),)
    _, vectors = _tensors(v, "vector v", name)
    if len(vectors) != len(like):
        raise RuntimeError(f"{name}: v has {len(vectors)} tensors, expected {len(like)}")
    for index, (mine, theirs) in enumerate(zip(vectors, like, strict=True)):
        if tuple(mine.shape) != tuple(theirs.shape):
            raise RuntimeError(
                f"{name}: v[{index}] has size {tuple(mine.shape)}, expected {tuple(theirs.shape)}"
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
    """autograd.grad of those outputs that have a graph; None for an input that none depends on."""
    given = vectors if vectors is not None else [None] * len(outputs)
    chosen = [(y, v) for y, v in zip(outputs, given, strict=True) if y.requires_grad]
    if not chosen:
        return (None,) * len(inputs)
    return tuple(
        engine.autograd.grad(
            [y for y, _ in chosen],
            inputs,
            [v for _, v in chosen],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
            is_grads_batched=batched,
        )
    )


def _filled(
    found: Sequence[Any], like: _Tensors, strict: bool, create_graph: bool, what: str
) -> _Tensors:
    """Zeros in place of None, unless strict says that this is an error."""
    made = []
    for index, (gradient, x) in enumerate(zip(found, like, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(
                    f"{what[0].upper()}{what[1:]} and input {index} are independent: "
                    "this is not allowed in strict mode"
                )
            gradient = engine.zeros_like(x)
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The gradient of {what} with respect to input {index} does not depend on the "
                "inputs: this is not allowed in strict mode when create_graph=True"
            )
        made.append(gradient)
    return tuple(made)


def _matrices(
    i: int, output: Any, points: _Tensors, create_graph: bool, strict: bool, vectorize: bool
) -> _Tensors:
    """The Jacobians of one output, one for each input."""
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
    made = []
    for j, x in enumerate(points):
        sizes = tuple(output.shape) + tuple(x.shape)
        if rows:
            made.append(engine.stack([row[j] for row in rows]).reshape(sizes))
        else:
            made.append(engine.zeros(sizes, dtype=x.dtype))
    return tuple(made)


def _given(values: Sequence[Any], single: bool, create_graph: bool) -> Any:
    """As the caller expects it: detached unless create_graph, one tensor for one tensor."""
    made = tuple(values) if create_graph else tuple(y.detach() for y in values)
    return made[0] if single else made
