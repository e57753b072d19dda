"""Python functions that the core calls during backward: hooks, Functions, packed tensors.

The core holds cffi handles to Python objects, each with its own reference, and releases them through `DROP`.
A handle's address is that of a Python object, which its owning wrapper reports to Python's collector
(Note [Cycles through the core] in engine/_native/tensor_base.c). An exception is stored, and the C function
that called back raises it (engine/_native/errors.py).
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import pass_on
from engine.tensor import Tensor, wrap

# At process exit the core outlives Python: after this call it runs no callbacks.
atexit.register(lib.uh_host_finalizing)
_HERE = os.path.dirname(os.path.abspath(__file__))
_thread = threading.local()
DROP = ffi.addressof(lib, "uh_object_release")


def hold(thing: Any) -> Any:
    """Return a `void *` for `thing`, which lives until the core drops it."""
    handle = ffi.new_handle(thing)
    lib.uh_object_retain(id(handle))
    return handle


def _check_handles() -> None:
    handle = ffi.new_handle(None)
    if int(ffi.cast("uintptr_t", handle)) != id(handle):
        raise ImportError("cffi: a handle is expected to be the address of its Python object")


_check_handles()


def borrow(handle: int) -> Tensor | None:
    """Return the Python object of a tensor that the core lends for a call; None for 0."""
    return wrap(lib.uh_retain(handle)) if handle else None


def give(tensor: Tensor | None) -> int:
    """Return a new reference for the core; 0 for None."""
    return int(lib.uh_retain(tensor._h)) if tensor is not None else 0


@ffi.def_extern()
def uh_py_hook(context: Any, gradients: Any, n: int, sources: Any, n_sources: int) -> int:
    try:
        call: Callable[..., Any] = ffi.from_handle(context)
        arguments = [borrow(gradients[i]) for i in range(n)]
        replacements = call(arguments, [borrow(sources[i]) for i in range(n_sources)])
        if replacements is not None:
            for i, (old, new) in enumerate(zip(arguments, replacements, strict=True)):
                if new is not old:
                    gradients[i] = give(new)
        return 0
    except BaseException as error:
        pass_on(error)
        return -1


@ffi.def_extern()
def uh_py_apply(context: Any, gradients: Any, n: int, ret: Any, n_ret: int) -> int:
    try:
        results = ffi.from_handle(context)._run_backward(
            [borrow(gradients[i]) for i in range(n)], n_ret
        )
        for i, gradient in enumerate(results):
            ret[i] = give(gradient)
        return 0
    except BaseException as error:
        pass_on(error)
        return -1


@ffi.def_extern()
def uh_py_release_saved(context: Any) -> None:
    ffi.from_handle(context)._released = True


@ffi.def_extern()
def uh_py_node_dies(context: Any) -> None:
    node = ffi.from_handle(context)
    # If the collector has cleared the handle or the context's class, no holder can query it any more.
    if node is not None and type(node).__mro__ is not None:
        node._node_dies()
    del node
    lib.uh_object_release(context)


@ffi.def_extern()
def uh_py_pack(tensor: int) -> Any:
    from engine.autograd.graph import innermost_hooks

    try:
        pack, unpack = innermost_hooks()
        return hold((pack(wrap(tensor)), unpack))
    except BaseException as error:
        pass_on(error)
        return ffi.NULL


@ffi.def_extern()
def uh_py_unpack(packed: Any) -> int:
    try:
        value, unpack = ffi.from_handle(packed)
        tensor = unpack(value)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(tensor).__name__}"
            )
        return give(tensor)
    except BaseException as error:
        pass_on(error)
        return 0


@ffi.def_extern()
def uh_py_traceback() -> Any:
    import traceback

    frames = traceback.extract_stack()
    user_frames = [frame for frame in frames if not frame.filename.startswith(_HERE)]
    text = "".join(traceback.format_list(user_frames)).encode()
    _thread.text = ffi.new("char[]", text)  # the core copies it before the thread's next call
    return _thread.text


@ffi.def_extern()
def uh_py_finally(context: Any) -> None:
    call = ffi.from_handle(context)
    lib.uh_object_release(context)
    call()
