"""Tensor attributes and methods of autograd: `requires_grad`, `grad`, `backward`, hooks.

engine/__init__.py copies the members of `Differentiable` into Tensor, like the operators.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.arguments import check_tensor
from engine.dtypes import DTYPES
from engine.tensor import Tensor

if TYPE_CHECKING:
    from typing import Self

    from engine.dtypes import dtype

    class _Base:
        _h: int
        requires_grad: bool

        @property
        def is_leaf(self) -> bool: ...
        def _remember(self) -> Self: ...
        def view_as(self, other: Any) -> Tensor: ...
        def copy_(self, source: Any) -> Tensor: ...
else:
    _Base = object

Subclass = TypeVar("Subclass", bound=Tensor)
_new = object.__new__


def needs_grad(value: Any) -> bool:
    """Return whether a value is a tensor that requires a gradient."""
    return isinstance(value, Tensor) and value.requires_grad


class Differentiable(_Base):
    """The members that autograd adds to Tensor."""

    # The calls that _TensorBase leaves to Python: errors, and attributes that are set.

    def _assign_requires_grad(self, value: bool) -> None:
        if value and not lib.uh_has_no_node(self._h):  # what requires_grad_() accepts
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` in place. Raises: RuntimeError for integers, and for False on a non-leaf."""
        if lib.uh_set_requires_grad(self._h, requires_grad) != 0:
            raise_last()
        return self

    def _raise_last(self) -> NoReturn:
        raise_last()

    def _node_of(self, node: int) -> Any:
        from engine.autograd.graph import node_of

        return node_of(node)

    def _absent_grad(self) -> None:
        # 0: not a leaf; a view whose history is unknown is neither a leaf nor a non-leaf.
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

    def _assign_grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
            )
        if lib.uh_set_grad(self._h, 0 if value is None else value._h) != 0:
            raise_last()

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Sum the gradients of this tensor with respect to leaves into their `.grad`.

        See `engine.autograd.backward`; `gradient` has this tensor's shape, and may be omitted for one element.
        """
        from engine.autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def retain_grad(self) -> None:
        """Store the gradient of this non-leaf tensor in its `.grad`, too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if lib.uh_has_no_node(self._h) or lib.uh_retains_grad(self._h):
            return
        if lib.uh_add_hook(self._h, lib.UH_HOOK_RETAIN_GRAD, ffi.NULL, ffi.NULL, ffi.NULL) < 0:
            raise_last()

    def register_hook(self, hook: Any) -> Any:
        """Call `hook(grad)` whenever this tensor's gradient is computed; its result replaces the gradient.

        Returns: a handle whose `remove()` removes the hook. Raises: RuntimeError without requires_grad.
        """
        from engine.autograd.graph import add_hook, tensor_hook

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return add_hook(self, lib.UH_HOOK_TENSOR, tensor_hook(hook))

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call `hook(param)` after this leaf's gradient was summed into `.grad`."""
        from engine.autograd.graph import add_hook, leaf_hook

        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return add_hook(self, lib.UH_HOOK_POST_ACCUMULATE, leaf_hook(hook))

    def detach_(self) -> Self:
        """Detach the tensor from its graph in place: it becomes a leaf without gradient."""
        if lib.uh_detach_(self._h) != 0:
            raise_last()
        return self

    def is_inference(self) -> bool:
        """Return True if the tensor was created in `inference_mode`."""
        return bool(lib.uh_is_inference(self._h))

    def as_subclass(self, cls: type[Subclass]) -> Subclass:
        """Return a tensor of class `cls` over the same memory, in the same graph.

        Results of operators are plain tensors. Raises: TypeError for a class that is not one of tensors.
        """
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise TypeError(
                "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
                "Make sure your class inherits from Tensor."
            )
        alias = self.view_as(self)
        view = _new(cls)
        view._h = lib.uh_retain(alias._h)
        view._remember()
        return view

    @property
    def grad_dtype(self) -> dtype:
        """The dtype of the gradients: that of the tensor."""
        return DTYPES[lib.uh_dtype(self._h)]

    def module_load(self, other: Tensor, assign: bool = False) -> Tensor:
        """Return what `load_state_dict` would put in the place of this tensor: `other`, or a copy in its memory."""
        check_tensor("module_load", "other", other)
        return other.detach() if assign else self.copy_(other).detach()

    @classmethod
    def _make_subclass(
        cls, subclass: type[Subclass], data: Tensor, require_grad: bool = False
    ) -> Subclass:
        """Return a leaf of class `subclass` over the elements of `data`."""
        view = _new(subclass)
        view._h = lib.uh_variable_view(data._h)
        if require_grad:
            view.requires_grad_()
        view._remember()
        return view


METHODS: dict[str, Any] = {
    name: member
    for name, member in vars(Differentiable).items()
    if name not in vars(_Base)
    and name not in ("__module__", "__doc__", "__dict__", "__weakref__", "__annotations__")
}
