"""Callbacks from compiled code into Python: `@jit.ignore`d functions, print, warn."""

from __future__ import annotations

import atexit
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import pass_on
from engine.autograd._callbacks import DROP, hold
from engine.jit.c_results import c_integer
from engine.jit.types.ivalues import BoxedArgs, to_python

_last = threading.local()  # the newest result in this thread, which the core reads after the call


@ffi.def_extern()
def uh_py_call(context: Any, args: Any, n: int, ret: Any) -> int:
    try:
        fn: Callable[..., Any] = ffi.from_handle(context)
        result = fn(*[to_python(args[i]) for i in range(n)])
        _last.result = result, (native := BoxedArgs([result]))
        ret[0] = native.array[0]
    except BaseException as error:
        pass_on(error)
        return -1
    return 0


def bind_host(graph: int, name: str, fn: Callable[..., Any]) -> None:
    """Binds the graph's `prim::PythonOp` nodes of this name to their function."""
    c_integer(lib.uh_graph_bind_host(graph, name.encode(), lib.uh_py_call, hold(fn), DROP))


@ffi.def_extern()
def uh_py_print(text: Any, n: int) -> None:
    sys.stdout.write(ffi.unpack(text, n).decode("utf-8", "replace"))


@ffi.def_extern()
def uh_py_warn(text: Any, n: int) -> None:
    warnings.warn(ffi.unpack(text, n).decode("utf-8", "replace").rstrip("\n"), stacklevel=2)


lib.uh_jit_set_output(lib.uh_py_print, lib.uh_py_warn)
# At process exit the core outlives Python.
atexit.register(lib.uh_jit_set_output, ffi.NULL, ffi.NULL)
