"""autograd.Function: an operation with a user-defined gradient formula.

The context `ctx` is the Node of the operation: `result.grad_fn is ctx`. It saves tensors through the
core, so that their versions are checked and their events recorded.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.autograd._callbacks import hold
from engine.autograd.grad_mode import is_grad_enabled, no_grad
from engine.autograd.graph import Node
from engine.tensor import Tensor, wrap

_calls = ffi.new(
    "uh_function_calls *", (lib.uh_py_apply, lib.uh_py_release_saved, lib.uh_py_node_dies)
)


class FunctionCtx:
    """The state that `forward` passes to `backward`: saved tensors and any other attributes."""

    _to_save: tuple[Tensor | None, ...] | None = None
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs, outputs or other tensors for `ctx.saved_tensors`. Raises: TypeError for other types."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type "
                    f"{type(tensor).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor) -> None:
        """Do nothing: it exists for PyTorch's forward-mode differentiation, which the engine does not have."""

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark inputs that `forward` has modified in place; they must be among its outputs."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark outputs that have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what `backward` receives for an output without a gradient: zeros, or None if False."""
        self._materialize = value


# The references to a context that only the core holds: its handle, uh_py_node_dies, `self` and the
# argument of getrefcount.
_ALONE = 4


class _Remains(NamedTuple):
    """The attributes of a context that outlive its Node."""

    next_functions: tuple[tuple[Node | None, int], ...]
    saved: tuple[Tensor | None, ...] | RuntimeError  # why they are unavailable


class BackwardContext(FunctionCtx, Node):
    """A context that is a Node. One subclass per Function, named `<Function>Backward`."""

    _function: type[Function]
    _released = False
    _input_count = 0
    _tensor_at: tuple[int, ...] = ()

    def name(self) -> str:
        return type(self).__name__

    @property
    def _node(self) -> int:  # type: ignore[override]  # the Node owns this object
        address = self.__dict__.get("_address", 0)
        if not address:
            raise RuntimeError(
                f"{type(self).__name__}: the node was freed: no result of the function exists any more"
            )
        return int(address)

    @property
    def metadata(self) -> dict[str, Any]:
        return self.__dict__.setdefault("_own_metadata", {})

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors of `save_for_backward`. Raises: RuntimeError if one was modified in place
        since, or after the graph was freed."""
        remains: _Remains | None = self.__dict__.get("_remains")
        if remains is not None:
            if isinstance(remains.saved, RuntimeError):
                raise remains.saved
            return remains.saved
        if not self.__dict__.get("_address", 0):
            return self._to_save or ()
        if self._to_save is not None and not self.__dict__.get("_saved"):
            return self._to_save
        saved = lib.uh_function_saved(self._node)
        if saved == ffi.NULL:
            raise_last()
        handles = ffi.unpack(saved.items, saved.n) if saved.n else []
        lib.uh_list_free(saved)
        return tuple(wrap(h) if h else None for h in handles)

    saved_variables = saved_tensors

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges of the Node; after the Node is freed, its last ones."""
        remains: _Remains | None = self.__dict__.get("_remains")
        edges: tuple[tuple[Node | None, int], ...] = (
            Node.next_functions.fget(self) if remains is None else remains.next_functions  # type: ignore
        )
        return edges

    def _node_dies(self) -> None:
        """Preserve the Node's attributes for other holders of this object; called before the core frees it."""
        if sys.getrefcount(self) > _ALONE and self.__dict__.get("_address"):
            saved: tuple[Tensor | None, ...] | RuntimeError
            with no_grad():
                try:
                    saved = () if self._released else self.saved_tensors
                except RuntimeError as error:  # a saved tensor was modified in place since
                    saved = error.with_traceback(None)
            self.__dict__["_remains"] = _Remains(self.next_functions, saved)
        self.__dict__["_address"] = 0

    def _run_backward(self, gradients: list[Tensor | None], n: int) -> list[Tensor | None]:
        """Compute the gradients of the tensor inputs from those of the outputs; called by the core."""
        function = self._function
        if function.vjp is not Function.vjp and function.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        backward = function.vjp if function.vjp is not Function.vjp else function.backward
        returned = backward(self, *gradients)
        grad_inputs = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        if len(grad_inputs) > self._input_count and all(
            g is None for g in grad_inputs[self._input_count :]
        ):
            grad_inputs = grad_inputs[: self._input_count]
        if len(grad_inputs) != self._input_count:
            raise RuntimeError(
                f"function {type(self).__name__} returned an incorrect number of gradients "
                f"(expected {self._input_count}, got {len(grad_inputs)})"
            )
        for i, gradient in enumerate(grad_inputs):
            if gradient is None:
                continue
            if i not in self._tensor_at:
                raise RuntimeError(
                    f"function {type(self).__name__} returned a gradient different from None at "
                    f"position {i + 1}, but the corresponding forward input was not a Variable"
                )
            if not isinstance(gradient, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
        return [grad_inputs[i] for i in self._tensor_at]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class _FunctionMeta(type):
    """The metaclass of Functions: creates the context class of each."""

    _backward_cls: type[BackwardContext]

    def __init__(cls, name: str, bases: tuple[type, ...], names: dict[str, Any]) -> None:
        super().__init__(name, bases, names)
        cls._backward_cls = type(f"{name}Backward", (BackwardContext,), {"_function": cls})


class Function(metaclass=_FunctionMeta):
    """An operation with a custom gradient: a class with `forward` and `backward`, called with `apply`.

    >>> import engine
    >>> class Square(engine.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = engine.tensor([3.0], requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        raise RuntimeError(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, "
            "so you should invoke them on the class itself. Instantiating an autograd function is "
            "not allowed; use apply."
        )

    def __call__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated.")

    @staticmethod
    def forward(*args: Any, **options: Any) -> Any:
        """Compute the results; the first argument is `ctx`, unless `setup_context` is defined."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Fill `ctx` from the inputs and the output of a `forward` without `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return a gradient or None per argument of `forward`, from the gradients of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Define the forward-mode derivative, which the engine never calls."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **options: Any) -> Any:
        """Run `forward`; its results have this operation as their `grad_fn`."""
        ctx = cls._backward_cls.__new__(cls._backward_cls)
        at = tuple(i for i, arg in enumerate(args) if isinstance(arg, Tensor))
        tensors = [args[i] for i in at]
        ctx._input_count = len(args)
        ctx._tensor_at = at
        recording = is_grad_enabled()
        needs_node = recording and any(t.requires_grad for t in tensors)
        ctx.needs_input_grad = tuple(
            recording and isinstance(arg, Tensor) and arg.requires_grad for arg in args
        )
        separate = cls.setup_context is not Function.setup_context
        node = 0
        if needs_node:
            handles = [t._h for t in tensors]
            node = lib.uh_function_node(
                cls._backward_cls.__name__.encode(), hold(ctx), _calls, handles, len(handles)
            )
            if not node:
                raise_last()
        try:
            with no_grad():
                if separate:
                    output = cls.forward(*args, **options)
                    cls.setup_context(ctx, args, output)
                else:
                    output = cls.forward(ctx, *args, **options)
            if needs_node:
                ctx.__dict__["_address"] = node
            return _wrap(cls, ctx, node, tensors, output)
        finally:
            if node:
                lib.uh_node_release(node)


def _wrap(cls: type, ctx: BackwardContext, node: int, inputs: list[Tensor], result: Any) -> Any:
    """Connect the results of forward to the Node."""
    is_tuple = isinstance(result, tuple)
    outputs = list(result) if is_tuple else [result]
    known = {id(t) for t in inputs}
    dirty = {id(t) for t in ctx._dirty}
    for tensor in ctx._dirty:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"mark_dirty can only accept variables, but argument is of type {type(tensor).__name__}"
            )
        if id(tensor) not in known or not any(o is tensor for o in outputs):
            raise RuntimeError(
                f"Some elements marked as dirty during the forward method were not returned as output. "
                f"The inputs that are modified inplace must all be outputs of the Function ({cls.__name__})."
            )
    non_differentiable = {id(t) for t in ctx._non_differentiable}
    wrapped = []
    for output in outputs:
        if not isinstance(output, Tensor):
            wrapped.append(output)
            if node:
                lib.uh_function_skip_output(node)
            continue
        if not node:
            is_input = id(output) in known and id(output) not in dirty
            with no_grad():
                wrapped.append(output.view_as(output) if is_input else output)
            continue
        flags = lib.UH_OUTPUT_IS_INPUT if id(output) in known else 0
        if id(output) in dirty:
            flags |= lib.UH_OUTPUT_IS_DIRTY
        if id(output) not in non_differentiable:
            flags |= lib.UH_OUTPUT_IS_DIFFERENTIABLE
        handle = lib.uh_function_output(node, output._h, flags)
        if not handle:
            raise_last()
        wrapped.append(wrap_or_same(handle, output))
    if node:
        _save(ctx, node, outputs, wrapped)
        lib.uh_function_materialize(node, ctx._materialize)
    return tuple(wrapped) if is_tuple else wrapped[0]


def wrap_or_same(handle: int, tensor: Tensor) -> Tensor:
    """Return `tensor` itself if the handle is its own, else wrap the handle."""
    if handle == tensor._h:
        lib.uh_decref(handle)
        return tensor
    return wrap(handle)


def _save(ctx: BackwardContext, node: int, outputs: Sequence[Any], wrapped: Sequence[Any]) -> None:
    """Move the tensors of `save_for_backward` into the Node, outputs as outputs."""
    to_save = ctx._to_save or ()
    results = {id(old): new for old, new in zip(outputs, wrapped, strict=True)}
    handles, kinds = [], []
    for tensor in to_save:
        result = None if tensor is None else results.get(id(tensor))
        saved = result if result is not None else tensor
        handles.append(0 if saved is None else saved._h)
        kinds.append(result is not None)
    if lib.uh_function_save(node, handles, kinds, len(handles)) != 0:
        raise_last()
    ctx.__dict__["_saved"] = True
    ctx._to_save = () if ctx._to_save is not None else None


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that is not differentiable: differentiating its result raises an error."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = is_grad_enabled()
        with no_grad():
            result = function(ctx, *args)
        if not recording or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        leaves = [None if o is None else o.detach().requires_grad_() for o in outputs]
        wrapped = _DelayedError.apply(*leaves)
        return wrapped if isinstance(result, tuple) else wrapped[0]

    return wrapper


class _DelayedError(Function):
    """The identity, with a gradient that raises: applied to the results of once_differentiable."""

    @staticmethod
    def forward(ctx: Any, *outputs: Any) -> Any:
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


__all__ = ["Function", "FunctionCtx", "once_differentiable"]
