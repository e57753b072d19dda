"""What autograd gives to every tensor: `requires_grad`, `grad`, `backward`, hooks.

engine/__init__.py copies the members of `Differentiable` into Tensor, as it does with operators.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.tensor import Tensor, wrap

if TYPE_CHECKING:
    from typing import Self

    class _Base:
        _h: int

        def _remember(self) -> Self: ...
else:
    _Base = object

Made = TypeVar("Made", bound=Tensor)
_new = object.__new__
_FAILED = 2**64 - 1


class Differentiable(_Base):
    """The members that autograd adds to Tensor."""

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for this tensor; settable on leaves."""
        return bool(lib.uh_requires_grad(self._h))

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and not self.is_leaf:  # what requires_grad_() accepts
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets `requires_grad`, in place. Raises: RuntimeError for integers, and for False on a result."""
        if lib.uh_set_requires_grad(self._h, requires_grad) != 0:
            raise_last()
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no operator recorded how this tensor was made."""
        found = lib.uh_is_leaf(self._h)
        if found < 0:
            raise_last()
        return bool(found)

    @property
    def grad_fn(self) -> Any:
        """The Node of the operation that made this tensor; None for leaves."""
        node = lib.uh_grad_fn(self._h)
        if not node:
            return None
        if node == _FAILED:
            raise_last()
        from engine.autograd.graph import node_of

        return node_of(node)

    @property
    def output_nr(self) -> int:
        """Which result of its `grad_fn` this tensor is."""
        return int(lib.uh_output_nr(self._h))

    @property
    def grad(self) -> Tensor | None:
        """The sum of the gradients that backward passes have brought; None before the first."""
        handle = lib.uh_grad(self._h)
        if handle:
            return wrap(handle)
        # 0: no leaf; a view whose history cannot be told is neither.
        inner = lib.uh_is_leaf(self._h) == 0
        if inner and self.requires_grad and not lib.uh_retains_grad(self._h):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor.",
                stacklevel=2,
            )
        return None

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
            )
        if lib.uh_set_grad(self._h, 0 if value is None else value._h) != 0:
            raise_last()

    @grad.deleter
    def grad(self) -> None:
        lib.uh_set_grad(self._h, 0)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Sums the gradients of this tensor with respect to leaves into their `.grad`.

        See `engine.autograd.backward`; `gradient` has this tensor's shape, and may be left out for one element.
        """
        from engine.autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def retain_grad(self) -> None:
        """Has the gradient of a tensor that is no leaf kept in its `.grad`, too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf or lib.uh_retains_grad(self._h):
            return
        from engine.autograd.graph import RETAIN_GRAD

        if lib.uh_add_hook(self._h, RETAIN_GRAD, ffi.NULL, ffi.NULL, ffi.NULL) < 0:
            raise_last()

    @property
    def retains_grad(self) -> bool:
        """Whether this is no leaf and keeps its gradient: see `retain_grad`."""
        return bool(lib.uh_retains_grad(self._h))

    def register_hook(self, hook: Any) -> Any:
        """`hook(grad)` runs whenever this tensor's gradient is computed; what it returns replaces it.

        Returns: a handle whose `remove()` takes the hook away. Raises: RuntimeError without requires_grad.
        """
        from engine.autograd.graph import TENSOR, add_hook, tensor_hook

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return add_hook(self, TENSOR, tensor_hook(hook))

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """`hook(param)` runs after this leaf's gradient was summed into `.grad`."""
        from engine.autograd.graph import POST_ACCUMULATE, add_hook, leaf_hook

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return add_hook(self, POST_ACCUMULATE, leaf_hook(hook))

    def detach_(self) -> Self:
        """Forgets how this tensor was made, in place: it becomes a leaf without gradient."""
        if lib.uh_detach_(self._h) != 0:
            raise_last()
        return self

    def is_inference(self) -> bool:
        """Whether this tensor was made in `inference_mode`."""
        return bool(lib.uh_is_inference(self._h))

    @classmethod
    def _make_subclass(cls, subclass: type[Made], data: Tensor, require_grad: bool = False) -> Made:
        """An object of `subclass` over the elements of `data`, as a leaf."""
        made = _new(subclass)
        made._h = lib.uh_variable_view(data._h)
        if require_grad:
            made.requires_grad_()
        made._remember()
        return made


METHODS: dict[str, Any] = {
    name: member
    for name, member in vars(Differentiable).items()
    if name not in vars(_Base)
    and name not in ("__module__", "__doc__", "__dict__", "__weakref__", "__annotations__")
}
