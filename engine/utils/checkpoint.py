"""checkpoint: recomputes the saved tensors of a part of a network in backward instead of keeping them.

With use_reentrant=True the part runs without a graph inside an autograd.Function, whose backward runs it again with
a graph and calls backward inside backward. With use_reentrant=False the part runs normally, but saved-tensor hooks
store a numbered Slot in place of each tensor; the first access runs the part again, which fills all slots.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import engine
from engine.absent_names import getattr_of
from engine.autograd import Function, backward, graph
from engine.autograd.tensor_methods import needs_grad

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
    "set_device_states",
]
__getattr__ = getattr_of("utils.checkpoint")


class CheckpointError(RuntimeError):
    """The recomputation saved other tensors than the original forward."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return two contexts that do nothing: the default of `context_fn`."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[
        [], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]
    ] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)` and save only the arguments; backward runs it again.

    preserve_rng_state=True (a keyword) draws the same random numbers in both runs. context_fn returns
    a context for each run; determinism_check="default" compares shape, dtype and device of the tensors that both
    saved ("none" does not); early_stop ends the second run once all required tensors are computed.
    use_reentrant should be passed: False is the newer way and supports `autograd.grad`, keyword arguments
    and nested structures; the default is True, with a UserWarning.
    Raises: ValueError for arguments that exclude each other, CheckpointError from backward if the
    second run saved other tensors.

    >>> x = engine.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()
    >>> x.grad is not None
    True
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly; "
            "use_reentrant=False is recommended, True is taken",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = bool(kwargs.pop("preserve_rng_state", True))
    if use_reentrant:
        if kwargs:
            names = ", ".join(kwargs)
            raise ValueError(f"Unexpected keyword arguments: {names} (use_reentrant=True has none)")
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "Passing context_fn or debug is only supported when use_reentrant=False"
            )
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if debug:
        raise NotImplementedError("checkpoint: debug=True is not supported; use anomaly detection")
    if not engine.is_grad_enabled():
        return function(*args, **kwargs)
    stop = early_stop if _early_stop.enabled is None else _early_stop.enabled
    contexts = context_fn()
    frame = _Frame(
        function, args, kwargs, contexts[1], preserve, determinism_check == "default", stop
    )
    with graph.saved_tensors_hooks(frame.pack, frame.unpack), contexts[0]:
        outputs = function(*args, **kwargs)
    frame.complete = True
    return outputs


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions (a Sequential or a list) in turn, in checkpointed segments.

    All segments but the last are checkpointed; each has `len(functions) // segments` functions, and the
    last also has the remaining ones.
    Raises: ValueError for more segments than functions.

    >>> x = engine.ones(2, requires_grad=True)
    >>> checkpoint_sequential([engine.exp, engine.sin], 2, x, use_reentrant=False).shape
    engine.Size([2])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ", ".join(kwargs))
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: the use_reentrant parameter should be passed explicitly; "
            "use_reentrant=False is recommended, True is taken",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= len(steps):
        raise ValueError(
            f"checkpoint_sequential: segments must be between 1 and the number of functions "
            f"({len(steps)}), got {segments}"
        )
    size = len(steps) // segments

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def segment(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return segment

    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            run(start, start + size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return run(size * (segments - 1), len(steps))(input)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with each tensor detached, its requires_grad as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: ",
            type(inputs).__name__,
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, engine.Tensor) else x
        for x in inputs
    )


def check_backward_validity(inputs: Any) -> None:
    """Warn if no tensor of `inputs` requires a gradient."""
    if not any(map(needs_grad, inputs)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return the devices of the arguments other than the CPU, and their generators' states: always empty."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Restore what `get_device_states` returned: nothing."""


# ---- use_reentrant=True


class CheckpointFunction(Function):
    """The checkpointed part as one node of the graph."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        if not any(needs_grad(x) for x in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None",
                UserWarning,
                stacklevel=4,
            )
        ctx.function = function
        ctx.random_state = engine.get_rng_state() if preserve else None
        ctx.tensor_positions = [i for i, x in enumerate(args) if isinstance(x, engine.Tensor)]
        ctx.others = [None if isinstance(x, engine.Tensor) else x for x in args]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_positions))
        with engine.no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        if not _accumulates():
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with autograd.grad() or "
                "passing an `inputs` parameter to .backward(): pass use_reentrant=False, or call "
                ".backward() without inputs"
            )
        args = list(ctx.others)
        for i, saved in zip(ctx.tensor_positions, ctx.saved_tensors, strict=True):
            args[i] = saved.detach().requires_grad_(saved.requires_grad)
        with _random_numbers(ctx.random_state), engine.enable_grad():
            outputs = ctx.function(*args)
        if not isinstance(outputs, (tuple, list)):
            outputs = (outputs,)
        differentiable = [(y, g) for y, g in zip(outputs, gradients, strict=True) if needs_grad(y)]
        if not differentiable:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([y for y, _ in differentiable], [g for _, g in differentiable])
        grads = (x.grad if isinstance(x, engine.Tensor) else None for x in args)
        return None, None, *grads


def _accumulates() -> bool:
    """Return True if the current backward accumulates into .grad: not for autograd.grad and inputs=."""
    ask = getattr(engine.autograd, "_is_checkpoint_valid", None)
    return ask is None or bool(ask())


@contextmanager
def _random_numbers(state: Any) -> Iterator[None]:
    """Draw random numbers from `state` on inside the block, and restore the generator after it."""
    if state is None:
        yield
        return
    before = engine.get_rng_state()
    engine.set_rng_state(state)
    try:
        yield
    finally:
        engine.set_rng_state(before)


# ---- use_reentrant=False


class _EarlyStop(threading.local):
    enabled: bool | None = None


_early_stop = _EarlyStop()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Set, for checkpoints created inside the block, if their second run may end early."""
    before, _early_stop.enabled = _early_stop.enabled, enable
    try:
        yield
    finally:
        _early_stop.enabled = before


class _Slot:
    """A placeholder that the graph saves in place of a tensor."""

    __slots__ = ("__weakref__", "index", "kind", "value")

    def __init__(self, index: int, kind: tuple[Any, ...]) -> None:
        self.index = index
        self.kind = kind
        self.value: Any = None


class _Enough(Exception):
    """Ends the second run early: every slot that is still alive is filled."""


class _Inputs(Function):
    """A node that only saves tensors, so that the hooks of an enclosing checkpoint apply to them."""

    @staticmethod
    def forward(ctx: Any, anchor: Any, *tensors: Any) -> Any:
        ctx.save_for_backward(*tensors)
        return anchor.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise AssertionError("checkpoint: the node of the inputs is never run")


class _Frame:
    """One call of checkpoint: its function and arguments, and the slots that a recomputation fills."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        context: AbstractContextManager[Any],
        preserve: bool,
        checked: bool,
        early_stop: bool,
    ) -> None:
        self.function = function
        self.context = context
        self.checked = checked
        self.early_stop = early_stop
        self.random_state = engine.get_rng_state() if preserve else None
        self.names = tuple(kwargs)
        values = [*args, *kwargs.values()]
        self.tensor_positions = [i for i, x in enumerate(values) if isinstance(x, engine.Tensor)]
        self.others = [None if isinstance(x, engine.Tensor) else x for x in values]
        anchor = engine.empty(0, requires_grad=True)
        self.inputs = _Inputs.apply(anchor, *(values[i] for i in self.tensor_positions))
        self.slots: list[weakref.ref[_Slot]] = []
        self.lock = threading.RLock()
        self.complete = False

    def pack(self, tensor: Any) -> _Slot:
        slot = _Slot(len(self.slots), _kind(tensor))
        self.slots.append(weakref.ref(slot))
        return slot

    def unpack(self, slot: _Slot) -> Any:
        """Return the slot's tensor and clear the slot: a second backward recomputes the part again."""
        with self.lock:
            if slot.value is None:
                self.recompute()
            value, slot.value = slot.value, None
        return value

    def recompute(self) -> None:
        if not self.complete:
            raise RuntimeError(
                "checkpoint: backward through a part that is still running: "
                "early ends of the function cannot be differentiated"
            )
        values = list(self.others)
        for i, saved in zip(self.tensor_positions, self.inputs.grad_fn.saved_tensors, strict=True):
            values[i] = saved
        count = len(values) - len(self.names)
        kwargs = dict(zip(self.names, values[count:], strict=True))
        refill = _Refill(self)
        try:
            with (
                self.context,
                _random_numbers(self.random_state),
                graph.saved_tensors_hooks(refill.pack, refill.unpack),
                engine.enable_grad(),
            ):
                self.function(*values[:count], **kwargs)
        except _Enough:
            pass
        if refill.count != len(self.slots) and not (self.early_stop and refill.done):
            raise CheckpointError(
                "checkpoint: a different number of tensors was saved during the original forward "
                f"({len(self.slots)}) and the recomputation ({refill.count})"
            )
        refill.check()


class _Refill:
    """The hooks of the second run: the n-th saved tensor belongs to the n-th slot."""

    def __init__(self, frame: _Frame) -> None:
        self.frame = frame
        self.count = 0
        self.done = False
        self.differences: list[str] = []

    def pack(self, tensor: Any) -> Any:
        index = self.count
        self.count += 1
        slot = self.frame.slots[index]() if index < len(self.frame.slots) else None
        detached = tensor.detach()
        if slot is not None:
            slot.value = detached
            self.compare(slot, tensor)
        if index == len(self.frame.slots) - 1:
            self.done = True
            if self.frame.early_stop:
                raise _Enough
        return detached

    @staticmethod
    def unpack(tensor: Any) -> Any:
        return tensor

    def compare(self, slot: _Slot, tensor: Any) -> None:
        kind = _kind(tensor)
        if self.frame.checked and kind != slot.kind:
            self.differences.append(
                f"tensor at position {slot.index}: saved {slot.kind}, recomputed {kind}"
            )

    def check(self) -> None:
        if self.differences:
            raise CheckpointError(
                "checkpoint: recomputed values for the following tensors have different metadata "
                "than during the forward pass:\n" + "\n".join(self.differences)
            )


def _kind(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), str(tensor.dtype), str(tensor.device)
