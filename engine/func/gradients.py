"""grad, vjp, jvp, jacrev, hessian and others: derivatives of functions, which can be nested.

Each call differentiates with respect to new tensors over its arguments. A result keeps its graph only if it
depends on other tensors that require a gradient: arguments of an outer call, or parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import engine
from engine._native import lib
from engine.tensor import Tensor

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to the tensors of nested containers."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return type(tree)((key, _map(function, value)) for key, value in tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(_map(function, value) for value in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_map(function, value) for value in tree)
    return tree


def _tensors(tree: Any) -> list[Tensor]:
    tensors: list[Tensor] = []
    _map(tensors.append, tree)
    return tensors


class _Calls(threading.local):
    """The calls that are running in a thread, and the ids of the leaves that they created."""

    def __init__(self) -> None:
        self.depth = 0
        self.leaves: set[int] = set()


_calls = _Calls()


@contextmanager
def _call(leaves: Iterable[int] = ()) -> Iterator[None]:
    """Record graphs inside the block; the ids of leaves are forgotten after the outermost call."""
    _calls.depth += 1
    _calls.leaves.update(leaves)
    try:
        with engine.enable_grad():
            yield
    finally:
        _calls.depth -= 1
        if not _calls.depth:
            _calls.leaves.clear()


def _fresh(x: Tensor) -> Tensor:
    """Return the variable of a call: a view of the argument, or of a new leaf if it requires no gradient."""
    leaf = x
    if not x.requires_grad:
        leaf = x.detach().requires_grad_()
        _calls.leaves.add(lib.uh_tensor_id(leaf._h))
    return leaf.view_as(leaf)


def _released(tree: Any) -> Any:
    """Detach the tensors that depend on no leaf but those of the calls here."""

    def release(x: Tensor) -> Tensor:
        pending, seen = [x.grad_fn], set()
        if x.grad_fn is None:
            return x
        while pending:
            node = pending.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            variable = getattr(node, "variable", None)
            if variable is not None and lib.uh_tensor_id(variable._h) not in _calls.leaves:
                return x
            pending += [edge[0] for edge in node.next_functions]
        return x.detach()

    return tree if _calls.depth > 1 else _map(release, tree)  # an outer call needs the graph


def _gradients(output: Tensor, variables: list[Tensor], cotangent: Any = None) -> list[Tensor]:
    """Return the gradients of all variables; those that the output does not depend on are 0."""
    if not output.requires_grad or not variables:
        return [engine.zeros_like(x) for x in variables]
    gradients = engine.autograd.grad(
        output, variables, cotangent, create_graph=True, retain_graph=True, allow_unused=True
    )
    pairs = zip(gradients, variables, strict=True)
    return [engine.zeros_like(x) if g is None else g for g, x in pairs]


def _selected(args: tuple[Any, ...], argnums: Any) -> tuple[Any, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    return tuple(number % len(args) for number in numbers)


def _prepare(
    args: tuple[Any, ...], argnums: Any
) -> tuple[list[Any], tuple[Any, ...], list[Tensor]]:
    """Return the arguments with variables for the selected ones, these, and their tensors."""
    numbers = _selected(args, argnums)
    replaced = list(args)
    for number in numbers:
        replaced[number] = _map(_fresh, args[number])
    chosen_args = tuple(replaced[number] for number in numbers)
    return replaced, chosen_args, _tensors(chosen_args)


def _with_aux(result: Any, has_aux: bool) -> tuple[Any, Any]:
    """Return the output to differentiate and what a function with `has_aux` returns next to it."""
    if not has_aux:
        return result, None
    output, aux = result
    return output, aux


def _restored(values: list[Tensor], like: Any) -> Any:
    """Return the values in the containers of `like`."""
    remaining = iter(values)
    return _map(lambda _: next(remaining), like)


def grad_and_value(func: Any, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that returns the gradient of `func`, whose result is one number, and its result.

    >>> grad_and_value(lambda x: x * x)(engine.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _call():
            replaced, selected, variables = _prepare(args, argnums)
            output, aux = _with_aux(func(*replaced, **kwargs), has_aux)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output.dim():
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            gradients = _restored(_gradients(output, variables), selected)
            if isinstance(argnums, int):
                gradients = gradients[0]
            result = (gradients, (output, aux)) if has_aux else (gradients, output)
            return _released(result)

    return wrapper


def grad(func: Any, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that returns the gradient of `func`, whose result is one number.

    >>> grad(grad(lambda x: x**3))(engine.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def vjp(func: Any, *primals: Any, has_aux: bool = False) -> Any:
    """Return `func(*primals)`, and the function from a cotangent of it to those of the primals.

    >>> output, pull = vjp(engine.sin, engine.tensor(0.0))
    >>> pull(engine.tensor(2.0))
    (tensor(2.),)
    """
    with _call():
        replaced, selected, variables = _prepare(primals, tuple(range(len(primals))))
        output, aux = _with_aux(func(*replaced), has_aux)
        leaves = frozenset(_calls.leaves)
        released = _released((output, aux))

    def pull(cotangents: Any) -> Any:
        with _call(leaves):
            totals = [engine.zeros_like(x) for x in variables]
            for y, cotangent in zip(_tensors(output), _tensors(cotangents), strict=True):
                parts = _gradients(y, variables, cotangent)
                totals = [a + b for a, b in zip(totals, parts, strict=True)]
            return _released(_restored(totals, selected))

    return (released[0], pull, released[1]) if has_aux else (released[0], pull)


def jacrev(
    func: Any,
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Any:
    """Return a function that returns the Jacobian of `func`: a backward pass for each element of the result.

    Shape: that of the result, then that of the argument. `chunk_size` is the number of elements that PyTorch computes
    at once; here they are computed one by one.
    Raises: ValueError for a `chunk_size` below 1.

    >>> jacrev(lambda x: x * x)(engine.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _call():
            replaced, selected, variables = _prepare(args, argnums)
            output, aux = _with_aux(func(*replaced, **kwargs), has_aux)

            def jacobian(y: Tensor) -> Any:
                rows = [_gradients(element, variables) for element in y.reshape(-1)]
                columns = [
                    engine.stack([row[i] for row in rows]).reshape(tuple(y.shape) + tuple(x.shape))
                    for i, x in enumerate(variables)
                ]
                result = _restored(columns, selected)
                return result[0] if isinstance(argnums, int) else result

            jacobians = _map(jacobian, output)
            return _released((jacobians, aux) if has_aux else jacobians)

    return wrapper


def jvp(
    func: Any, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """Return `func(*primals)` and how it changes along the tangents: the Jacobian times them.

    There is no forward mode: the product is the derivative of `vjp` with respect to its cotangent, on which it
    depends linearly. `strict` is accepted and changes nothing.
    Raises: RuntimeError unless the tangents are those of the primals.

    >>> jvp(engine.sin, (engine.tensor(0.0),), (engine.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    directions = _tensors(tangents)
    if [x.shape for x in _tensors(primals)] != [x.shape for x in directions]:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same structure, got primals of "
            f"sizes {[tuple(x.shape) for x in _tensors(primals)]} and tangents of sizes "
            f"{[tuple(x.shape) for x in directions]}"
        )
    with _call():
        replaced, _, variables = _prepare(primals, tuple(range(len(primals))))
        output, aux = _with_aux(func(*replaced), has_aux)

        def tangent(y: Tensor) -> Tensor:
            cotangent = _fresh(engine.zeros_like(y))
            pulled = _gradients(y, variables, cotangent)
            along = sum(
                ((g * v).sum() for g, v in zip(pulled, directions, strict=True)), engine.zeros(())
            )
            return _gradients(along, [cotangent])[0]

        result = _released((output, _map(tangent, output), aux))
    return result if has_aux else result[:2]


def jacfwd(
    func: Any,
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Any:
    """Return the function of `jacrev`: without a forward mode both take a backward pass for each element.

    >>> jacfwd(lambda x: x * x)(engine.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Any, argnums: int | tuple[int, ...] = 0) -> Any:
    """Return a function that returns the second derivatives of `func`.

    >>> hessian(lambda x: (x**3).sum())(engine.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Any, *primals: Any) -> tuple[Any, Any]:
    """Return `func(*primals)` and the function from tangents of them to the tangent of the result.

    >>> _, push = linearize(engine.sin, engine.tensor(0.0))
    >>> push(engine.tensor(3.0))
    tensor(3.)
    """

    def push(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    return func(*primals), push
