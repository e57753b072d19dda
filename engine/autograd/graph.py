"""The graph in Python: Nodes, edges, hooks, and saved tensors."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine._native.tensor_base import _NodeBase
from engine.absent_names import getattr_of
from engine.autograd._callbacks import DROP, borrow, give, hold
from engine.autograd.edge import GradientEdge
from engine.boxed import unbox
from engine.dtypes import Size
from engine.tensor import Tensor, wrap

# The Python objects of Nodes by their ids, which are never reused.
_alive: weakref.WeakValueDictionary[int, Node] = weakref.WeakValueDictionary()
_classes: dict[str, type[Node]] = {}


class RemovableHandle:
    """A registered hook, which `remove()` unregisters. Also a context manager."""

    def __init__(self, owner: Any, kind: int, number: int) -> None:
        self._owner, self._kind, self.id = owner, kind, number

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        if self._owner is not None:
            lib.uh_remove_hook(_address(self._owner), self._kind, self.id)
        self._owner = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.remove()


def _address(owner: Any) -> int:
    return int(owner._h if isinstance(owner, Tensor) else owner._node)


def add_hook(owner: Any, kind: int, call: Callable[..., Any]) -> RemovableHandle:
    """Register `call(gradients, sources) -> gradients or None` with a tensor or a Node; `kind`: UH_HOOK_..."""
    number = lib.uh_add_hook(_address(owner), kind, lib.uh_py_hook, hold(call), DROP)
    if number < 0:
        raise_last()
    return RemovableHandle(owner, kind, number)


def check_gradient(name: str, old: Tensor | None, new: Any) -> None:
    """Raise an error if a hook's result cannot replace a gradient."""
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook '{name}' returned {type(new).__name__}")
    if old is None:
        return
    if old.dtype != new.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {old.dtype} got {new.dtype})"
        )
    if old.shape != new.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: was {tuple(old.shape)}, got {tuple(new.shape)}"
        )


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def tensor_hook(hook: Callable[[Any], Tensor | None]) -> Callable[..., Any]:
    """Wrap `hook(grad)` for the core."""

    def call(gradients: list[Tensor | None], sources: list[Any]) -> Any:
        (old,) = gradients
        new = hook(old)
        if new is None:
            return None
        check_gradient(_name(hook), old, new)
        return [new]

    return call


def leaf_hook(hook: Callable[[Tensor], Any]) -> Callable[..., Any]:
    """Wrap `hook(param)`, which must return None or the parameter, for the core."""

    def call(gradients: list[Any], sources: list[Any]) -> None:
        result = hook(gradients[0])
        if result is None or result is gradients[0]:
            return
        if not isinstance(result, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")

    return call


def _many(new: Any, old: Sequence[Tensor | None], name: str) -> Any:
    if new is None:
        return None
    replacements = tuple(new) if isinstance(new, (tuple, list)) else (new,)
    if len(replacements) != len(old):
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(replacements)}, "
            f"but expected {len(old)})"
        )
    for before, after in zip(old, replacements, strict=True):
        if after is not None:
            check_gradient(name, before, after)
    return replacements


class Node(_NodeBase):
    """A function of the graph: computes the gradients of an operator's inputs from those of its outputs.

    `tensor.grad_fn` and `next_functions` return Nodes; their classes have PyTorch's names (`MulBackward0`).
    Saved values are attributes: `_saved_self`, `_saved_result`, `_saved_dim`.
    """

    __slots__ = ()

    def name(self) -> str:
        """Return PyTorch's name: MulBackward0, torch::autograd::AccumulateGrad."""
        name = ffi.string(lib.uh_node_name(self._node)).decode()
        native = name in ("AccumulateGrad", "CopySlices")
        return f"torch::autograd::{name}" if native else str(name)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges: (Node, number of its output); None for an input that needs no gradient."""
        edges = []
        number = ffi.new("int64_t *")
        for i in range(lib.uh_node_edges(self._node)):
            node = node_of(lib.uh_node_edge(self._node, i, number))
            edges.append((node, int(number[0])))
        return tuple(edges)

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for the user; in anomaly mode it contains the traceback of the forward call."""
        context = lib.uh_node_metadata(self._node)
        if context != ffi.NULL:
            known: dict[str, Any] = ffi.from_handle(context)
            return known
        metadata: dict[str, Any] = {}
        lib.uh_node_set_metadata(self._node, hold(metadata), DROP)
        metadata = ffi.from_handle(
            lib.uh_node_metadata(self._node)
        )  # another thread's, if that was first
        if lib.uh_anomaly() & 1:
            text = ffi.string(lib.uh_node_traceback(self._node)).decode()
            if text:
                metadata["traceback_"] = text.splitlines(keepends=True)
                parent = node_of(lib.uh_node_created_by(self._node))
                if parent is not None:
                    metadata["parent_"] = parent
        return metadata

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the Node; its result replaces grad_inputs."""

        def call(grad_inputs: list[Any], grad_outputs: list[Any]) -> Any:
            return _many(fn(tuple(grad_inputs), tuple(grad_outputs)), grad_inputs, _name(fn))

        return add_hook(self, lib.UH_HOOK_AFTER, call)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the Node; its result replaces grad_outputs."""

        def call(grad_outputs: list[Any], sources: list[Any]) -> Any:
            return _many(fn(tuple(grad_outputs)), grad_outputs, _name(fn))

        return add_hook(self, lib.UH_HOOK_BEFORE, call)

    @property
    def variable(self) -> Tensor:
        """The leaf whose gradient arrives here. Raises: AttributeError for Nodes of operators."""
        handle = lib.uh_node_variable(self._node)
        if not handle:
            raise AttributeError(f"{type(self).__name__} has no attribute 'variable'")
        return wrap(handle)

    def __call__(self, *gradients: Tensor | None) -> Any:
        """Apply the Node's formula to gradients of its outputs."""
        n = lib.uh_node_edges(self._node)
        results = ffi.new("uh_handle[]", n or 1)
        handles = [0 if g is None else g._h for g in gradients]
        if lib.uh_node_apply(self._node, handles, len(handles), results, n) != 0:
            raise_last()
        grad_inputs = tuple(wrap(results[i]) if results[i] else None for i in range(n))
        return grad_inputs[0] if n == 1 else grad_inputs

    def _sequence_nr(self) -> int:
        return int(lib.uh_node_sequence(self._node)) & (2**64 - 1)

    @property
    def _input_metadata(self) -> list[tuple[Size, Any]]:
        """The shape and dtype of every output whose gradient this Node receives."""
        value, kind = ffi.new("uh_value *"), ffi.new("int *")
        metadata = []
        from engine.dtypes import DTYPES

        for i in range(lib.uh_node_inputs(self._node)):
            lib.uh_node_input(self._node, i, value, kind)
            metadata.append((Size(unbox(value[0])), DTYPES[kind[0]] if kind[0] >= 0 else None))
        return metadata

    def _names_of_saved(self) -> list[str]:
        text = ffi.string(lib.uh_node_saved_names(self._node)).decode()
        return text.split("\n") if text else []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_") and name in self._names_of_saved():
            value = ffi.new("uh_value *")
            if lib.uh_node_saved(self._node, name.encode(), value) != 0:
                raise_last()
            return wrap(value.i) if value.tag == 1 else unbox(value[0])
        if name.startswith("_raw_saved_") and name[4:] in self._names_of_saved():
            return SavedTensor(self, name[4:])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        saved = self._names_of_saved()
        return sorted({*object.__dir__(self), *saved, *("_raw" + name for name in saved)})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class SavedTensor:
    """A tensor that a Node has saved, still packed: `_raw_saved_self`."""

    def __init__(self, node: Node, name: str) -> None:
        self._owner, self._name = node, name

    def register_hooks(
        self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]
    ) -> None:
        """Make the Node store `pack(tensor)` in place of the tensor, and restore it with `unpack`."""
        if lib.uh_node_packed(self._owner._node, self._name.encode()) != ffi.NULL:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set."
            )
        tensor = getattr(self._owner, self._name)
        handle = hold((pack(tensor), unpack))
        done = lib.uh_node_saved_hooks(self._owner._node, self._name.encode(), handle, _pack_calls)
        if done != 0:
            raise_last()

    @property
    def versions(self) -> tuple[int, int] | None:
        """Return (version at which it was saved, current version); None after it was released."""
        saved, current = ffi.new("int64_t *"), ffi.new("int64_t *")
        if lib.uh_node_saved_version(self._owner._node, self._name.encode(), saved, current) != 0:
            return None
        return int(saved[0]), int(current[0])


def node_of(handle: int) -> Node | None:
    """Return the Python object of a Node, which takes over the reference; None for 0."""
    if not handle:
        return None
    number = lib.uh_node_id(handle)
    existing = _alive.get(number)
    if existing is not None:
        lib.uh_node_release(handle)
        return existing
    context = lib.uh_function_context(handle)
    if context != ffi.NULL:
        node: Any = ffi.from_handle(context)
        lib.uh_node_release(handle)
        return node
    name = ffi.string(lib.uh_node_name(handle)).decode()
    cls = _classes.get(name)
    if cls is None:
        cls = _classes[name] = type(
            name, (Node,), {"__slots__": (), "__module__": "builtins"}
        )  # as PyTorch's
    node = object.__new__(cls)
    node._node = handle
    return _alive.setdefault(number, node)  # another thread may have been faster


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge at which the gradient of `tensor` arrives. Raises: RuntimeError without requires_grad."""
    number = ffi.new("int64_t *")
    handle = lib.uh_gradient_edge(tensor._h, number)
    if not handle:
        raise_last()
    node = node_of(handle)
    assert node is not None
    return GradientEdge(node, int(number[0]))


# ---- saved_tensors_hooks

_pack_calls = ffi.new("uh_pack_calls *", (lib.uh_py_pack, lib.uh_py_unpack, DROP))


class _Hooks(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
        self.disabled: str | None = None


_hooks = _Hooks()


def innermost_hooks() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the pair of hooks that apply to tensors saved now."""
    return _hooks.stack[-1]


def _apply_hooks() -> None:
    lib.uh_set_pack(_pack_calls, bool(_hooks.stack))


class saved_tensors_hooks:
    """Makes Nodes save `pack_hook(tensor)` and restore the tensor with `unpack_hook(packed)`.

    Use it to save memory: move tensors to disk, compress or recompute them. The innermost pair applies.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _hooks.disabled is not None:
            raise RuntimeError(_hooks.disabled)

        def pack(tensor: Tensor) -> Any:
            # The hook's own operations must not be packed by it.
            hooks, _hooks.stack = _hooks.stack, []
            _apply_hooks()
            try:
                return self.pack_hook(tensor)
            finally:
                _hooks.stack = hooks
                _apply_hooks()

        _hooks.stack = [*_hooks.stack, (pack, self.unpack_hook)]
        _apply_hooks()

    def __exit__(self, *unused: Any) -> None:
        _hooks.stack = _hooks.stack[:-1]
        _apply_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Saves copies of tensors in main memory, where the engine's tensors are already."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda packed: packed)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Make `saved_tensors_hooks` raise a RuntimeError with this message."""
    before = _hooks.disabled
    if _hooks.stack:
        raise RuntimeError(error_message)
    _hooks.disabled = error_message
    try:
        yield
    finally:
        _hooks.disabled = before


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` with the gradients of all `tensors` once they have arrived (mode "all"), or with the first
    gradient (mode "any")."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    runs: dict[int, list[Tensor | None]] = {}
    edges = [get_gradient_edge(tensor) for tensor in tensors]
    pending: dict[int, int] = {}

    def hook_for(i: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            run = int(lib.uh_current_run())
            with lock:
                first = run not in runs
                if first:
                    pending[run] = sum(lib.uh_will_run(edge.node._node) for edge in edges)
                arrived = runs.setdefault(run, [None] * len(tensors))
                arrived[i] = grad
                pending[run] -= 1
                done = pending[run] == 0
            if mode == "any":
                if first:
                    fn(grad)
            elif done:
                fn(arrived)

        return hook

    handles = [tensor.register_hook(hook_for(i)) for i, tensor in enumerate(tensors)]

    class _Handles(RemovableHandle):
        def remove(self) -> None:
            for handle in handles:
                handle.remove()

    return _Handles(None, lib.UH_HOOK_TENSOR, 0)


def queue_callback(call: Callable[[], None]) -> None:
    """Run `call` at the end of this thread's current backward pass."""
    if lib.uh_queue_callback(lib.uh_py_finally, hold(call)) != 0:
        raise_last()


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to a tensor, or to each of several, that the engine did not see: backward then notices it.

    Raises: RuntimeError for a tensor that was created in inference mode.
    """
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if each.is_inference():
            raise RuntimeError("increment_version: an inference tensor does not track its version")
        each.detach().as_strided((0,), (1,)).zero_()


__all__ = [
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "borrow",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "give",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
__getattr__ = getattr_of("autograd.graph")
