"""Forward hooks of modules: their registration, and the call that runs them.

`Module.__call__` only checks if any register has an entry; if so, it runs `call`. Backward hooks are in
backward_hooks.py.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from engine.nn import backward_hooks
from engine.nn.hook_registers import BoundHook as BoundHook  # older pickles name it here
from engine.nn.hook_registers import Hook, Register, shared
from engine.utils.hooks import RemovableHandle as RemovableHandle


def _add(register: Register, hook: Hook, *marks: Any) -> RemovableHandle:
    handle = RemovableHandle(register, *marks)
    register[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    return handle


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, param)` for every registered parameter; its result replaces the parameter."""
    return _add(shared.parameter, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` for every registered buffer; its result replaces the buffer."""
    return _add(shared.buffer, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` for every registered submodule; its result replaces the submodule."""
    return _add(shared.module, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before every module's forward; its result replaces the arguments."""
    return _add(shared.forward_pre, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's forward; its result replaces the output.

    `with_kwargs` passes the keywords after `args`; `always_call` runs the hook after an exception, too.
    """
    marks = [shared.forward_with_kwargs] * with_kwargs + [shared.forward_always] * always_call
    return _add(shared.forward, hook, *marks)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the gradients of any module's inputs are computed."""
    return _add(shared.backward_pre, hook)


def _backward(hook: Hook, full: bool) -> RemovableHandle:
    if shared.full_backward is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a "
            "global Module hook. Please use only one of them."
        )
    shared.full_backward = full
    return _add(shared.backward, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Register a hook of the older kind, which sees the gradients of the last operator only."""
    return _backward(hook, False)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` once the gradients of a module's inputs are computed."""
    return _backward(hook, True)


# ---- the call


def _before(module: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Run the forward pre-hooks; return the arguments, possibly replaced."""
    with_kwargs = module._forward_pre_hooks_with_kwargs
    for number, hook in [*shared.forward_pre.items(), *module._forward_pre_hooks.items()]:
        if number not in with_kwargs:
            replacement = hook(module, args)
            if replacement is not None:
                args = replacement if isinstance(replacement, tuple) else (replacement,)
            continue
        replacement = hook(module, args, kwargs)
        if replacement is None:
            continue
        if not (isinstance(replacement, tuple) and len(replacement) == 2):
            raise RuntimeError(
                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                f"but got {replacement}."
            )
        args, kwargs = replacement
    return args, kwargs


def _after(module: Any, only_always: bool) -> Iterator[tuple[int, Hook, bool, str]]:
    """Iterate over the forward hooks: (number, hook, accepts keywords, description)."""
    tables = (
        (
            shared.forward,
            shared.forward_with_kwargs,
            shared.forward_always,
            "global module forward hook",
        ),
        (
            module._forward_hooks,
            module._forward_hooks_with_kwargs,
            module._forward_hooks_always_called,
            "module forward hook",
        ),
    )
    for register, with_kwargs, always, name in tables:
        for number, hook in list(register.items()):
            if not only_always or number in always:
                yield number, hook, number in with_kwargs, name


def forward_of(module: Any) -> Callable[..., Any]:
    """Return the function that a call runs between the hooks. A trace replaces it, to attribute nodes to modules."""
    forward: Callable[..., Any] = module.forward
    return forward


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `module(*args, **kwargs)` with hooks.

    Order: pre-hooks (those of all modules first), forward, hooks, each in order of registration.
    Hooks with `always_call` that have not run yet also run after an exception; their own exceptions then
    become warnings.
    """
    result: Any = None
    done: set[int] = set()
    try:
        args, kwargs = _before(module, args, kwargs)
        watch = backward_hooks.watch(module)
        if watch is not None:
            args = watch.enter(args)
        result = forward_of(module)(*args, **kwargs)
        for number, hook, keywords, _ in _after(module, only_always=False):
            done.add(number)
            replacement = (
                hook(module, args, kwargs, result) if keywords else hook(module, args, result)
            )
            result = result if replacement is None else replacement
        return result if watch is None else watch.leave(args, result)
    except Exception:
        for number, hook, keywords, name in _after(module, only_always=True):
            if number in done:
                continue
            try:
                replacement = (
                    hook(module, args, kwargs, result) if keywords else hook(module, args, result)
                )
                result = result if replacement is None else replacement
            except Exception as error:  # report the first error, not this one
                warnings.warn(
                    f"{name} with ``always_call=True`` raised an exception "
                    f"that was silenced as another error was raised in forward: {error!s}",
                    stacklevel=3,
                )
        raise


class Hooked:
    """The part of Module that registers forward and backward hooks."""

    _forward_pre_hooks: Register
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: Register
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _backward_pre_hooks: Register
    _backward_hooks: Register
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; its result, if not None, replaces `args`.

        `with_kwargs`: call `hook(module, args, kwargs)`, which returns None or `(args, kwargs)`.
        `prepend`: run it before the hooks registered so far.
        """
        marks = [self._forward_pre_hooks_with_kwargs] * with_kwargs
        return _placed(self._forward_pre_hooks, hook, prepend, *marks)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; its result, if not None, replaces `output`.

        `with_kwargs`: call `hook(module, args, kwargs, output)`. `prepend`: run it before the hooks
        registered so far. `always_call`: run it after an exception, too.
        """
        marks = [self._forward_hooks_with_kwargs] * with_kwargs
        marks += [self._forward_hooks_always_called] * always_call
        return _placed(self._forward_hooks, hook, prepend, *marks)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` in backward, before the module's part of the graph.

        Its result, if not None, replaces `grad_output`.
        """
        return _placed(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once the gradients of the inputs are computed.

        Its result, if not None, replaces `grad_input`.
        Raises: RuntimeError if `register_backward_hook` has registered another.
        """
        self._choose_kind(True)
        return _placed(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Register a hook of the older kind, which sees the gradients of forward's last operator only."""
        self._choose_kind(False)
        return _placed(self._backward_hooks, hook, False)

    def _choose_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a "
                "single Module. Please use only one of them."
            )
        self._is_full_backward_hook = full


def _placed(register: Any, hook: Hook, first: bool, *marks: Any) -> RemovableHandle:
    handle = _add(register, hook, *marks)
    if first:
        for table in (register, *marks):
            table.move_to_end(handle.id, last=False)
    return handle
