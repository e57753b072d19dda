"""Observation of Python's frames during a trace: lines, names, arguments, warnings.

Python calls `Frames` at every call and line (sys.settrace). It records the source line of the next nodes,
the Python names of tensors, and which arguments of the next operator are sizes that the trace follows; it
warns where a value leaves the trace.
"""

from __future__ import annotations

import linecache
import sys
import warnings
from types import CodeType, FrameType
from typing import Any

from engine import creation
from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.jit.tracer.tensors import paused, record_call, recording
from engine.tensor import Tensor

_LAYERS = "engine.nn.modules"  # the engine's modules that users read
_NAMING = "engine.nn.functional"  # the modules whose parameters name their arguments
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}

_READ = (
    "Converting a tensor to a {} might cause the trace to be incorrect. We can't record the data "
    "flow of Python values, so this value will be treated as a constant in the future. This means "
    "that the trace might not generalize to other inputs!"
)
_CREATED = (
    "engine.{} results are registered as constants in the trace. You can safely ignore this "
    "warning if you use this function to create tensors out of constant variables that would be "
    "the same every time you call this function. In any other case, this might cause the trace to "
    "be incorrect."
)
_LENGTH = (
    "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would "
    "be tensor.shape[0]. Passing a tensor of different shape might lead to errors or silently give "
    "incorrect results."
)
_ITERATED = (
    "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different "
    "shape won't change the number of iterations executed (and might lead to errors or silently "
    "give incorrect results)."
)


class TracerWarning(Warning):
    """Warning that a trace may be wrong for other inputs, because Python code depended on a traced value."""


def _code(function: Any) -> CodeType:
    code: CodeType = function.__code__
    return code


# The warning for a user's line that calls one of these.
_SAID = {
    _code(Tensor.__bool__): _READ.format("Python boolean"),
    _code(Tensor.__int__): _READ.format("Python integer"),
    _code(Tensor.__float__): _READ.format("Python float"),
    _code(Tensor.__complex__): _READ.format("Python complex"),
    _code(Tensor.__format__): _READ.format("Python number"),
    _code(Tensor.item): _READ.format("Python number"),
    _code(Tensor.tolist): _READ.format("Python list"),
    _code(Tensor.numpy): _READ.format("NumPy array"),
    _code(Tensor.__array__): _READ.format("NumPy array"),
    _code(Tensor.__len__): _LENGTH,
    _code(Tensor.__iter__): _ITERATED,
    _code(creation.tensor): _CREATED.format("tensor"),
    _code(creation.as_tensor): _CREATED.format("as_tensor"),
    _code(creation.from_numpy): _CREATED.format("from_numpy"),
}
_CONSTANTS = {_code(creation.tensor), _code(creation.as_tensor)}


def is_users(frame: FrameType | None) -> bool:
    """Returns whether a frame belongs neither to the engine nor to Python's import machinery."""
    if frame is None:
        return False
    module = str(frame.f_globals.get("__name__", ""))
    inner = module == "engine" or module.startswith("engine.")
    return not inner and not frame.f_code.co_filename.startswith("<frozen ")


def is_shown(frame: FrameType) -> bool:
    """Returns whether the frame's lines become source ranges of nodes: those of users and of layers."""
    return is_users(frame) or str(frame.f_globals.get("__name__", "")).startswith(_LAYERS)


def _imports(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    return module == "importlib" or module.startswith("importlib.")


def _gives_names(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_NAMING)


class Frames:
    """Follows the frames of this thread while it is entered."""

    def __init__(self) -> None:
        self._sources: dict[str, int] = {}
        self._names_pending = False
        self._importing = False
        self._before = sys.gettrace()

    def __enter__(self) -> None:
        sys.settrace(self._event)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)
        if self._before is None:  # a recorder's tracer, which gettrace() omits
            lib.uh_trace_resume()
        for handle in self._sources.values():
            lib.uh_source_release(handle)

    def _event(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            return self._called(frame)
        if event == "return":
            self._back_in(frame.f_back)
        elif event == "line":
            self._at(frame)
        return self._event

    def _back_in(self, frame: FrameType | None) -> None:
        """Returns to the line of the innermost shown frame, and to the names of a frame below it that gives
        names."""
        naming = None
        while frame is not None and not is_shown(frame):
            naming = naming or (frame if _gives_names(frame) else None)
            frame = frame.f_back
        if frame is not None:
            self._at(frame)
        if naming is not None:
            self._record_names(naming)

    def _called(self, frame: FrameType) -> Any:
        if self._importing or not recording():  # inside of a kernel written in Python
            return None
        if _imports(frame):  # imports of the engine's functions on their first call
            self._importing = True
            return self._in_import
        if is_shown(frame):
            self._at(frame)
            return self._event
        by_user = is_users(frame.f_back)
        if by_user and frame.f_back is not None:
            self._record_names(frame.f_back)  # a line may bind names and use them
        if by_user and frame.f_code in _SAID:
            assert frame.f_back is not None
            _warn(_SAID[frame.f_code], frame.f_back)
        if by_user and frame.f_code in _CONSTANTS:
            if not isinstance(frame.f_locals["data"], Tensor):
                return _Constant(frame.f_code is _code(creation.tensor))
            return None
        module = str(frame.f_globals.get("__name__", ""))
        if (by_user and module != "engine.ops") or module.startswith("engine._generated"):
            self._give(frame, by_user)  # engine.ops passes its arguments by the schema's names
        if _gives_names(frame):
            self._record_names(frame)
            return self._in_functional
        return None

    def _in_import(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            self._importing = False
            self._back_in(frame.f_back)
        return self._in_import

    def _in_functional(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._record_names(frame)
        elif event == "return":
            self._back_in(frame.f_back)
        return self._in_functional

    def _at(self, frame: FrameType) -> None:
        file = frame.f_code.co_filename
        if file not in self._sources:
            text = "".join(linecache.getlines(file))
            self._sources[file] = lib.uh_source_new(file.encode(), 1, text.encode())
        lib.uh_jit_trace_span(self._sources[file], frame.f_lineno, 0, frame.f_lineno, 0)
        self._record_names(frame)

    def _record_names(self, frame: FrameType) -> None:
        # In PyTorch's order, which decides if a tensor has two names: locals first, those of closures last.
        code, values = frame.f_code, frame.f_locals
        order = (*code.co_varnames, *code.co_cellvars, *code.co_freevars, *values)
        named = [
            (name.encode(), value._h)
            for name in dict.fromkeys(order)
            if isinstance(value := values.get(name), Tensor)
            and name != "self"
            and name.isidentifier()
        ]
        names = [ffi.new("char[]", name) for name, _ in named]
        if lib.uh_jit_trace_names(names, [tensor for _, tensor in named], len(named)) != 0:
            raise_last()

    def _give(self, frame: FrameType, by_user: bool) -> None:
        """Marks the arguments that are sizes, or were computed from sizes.

        Arguments of an engine function that the user calls are those of its operator too.
        """
        if self._names_pending and by_user:
            lib.uh_jit_trace_forget_arguments()
            self._names_pending = False
        code = frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args and **options
        for name in code.co_varnames[:count]:
            value = frame.f_locals.get(name)
            if value.__class__ is dict:
                for key, element in value.items():
                    self._give_one(str(key), element)
            else:
                self._give_one(name.lstrip("_"), value)

    def _give_one(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            if lib.uh_ndim(value._h) == 0:
                self._record_name(name, -1, value)
        elif isinstance(value, (tuple, list)):
            if len(value) == 1 and isinstance(value[0], (tuple, list)):
                value = value[0]
            for index, element in enumerate(value):
                if isinstance(element, Tensor) and lib.uh_ndim(element._h) == 0:
                    self._record_name(name, index, element)

    def _record_name(self, name: str, index: int, value: Tensor) -> None:
        self._names_pending = True
        name = _NUMPY_NAMES.get(name, name)
        if lib.uh_jit_trace_argument(name.encode(), index, value._h) != 0:
            raise_last()


class _Constant:
    """The frame of a function that creates a tensor from Python numbers: the trace has a constant, converted
    as in PyTorch."""

    def __init__(self, copies: bool) -> None:
        self._copies = copies
        self._pause = paused()
        self._pause.__enter__()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            self._pause.__exit__(None, None, None)
            if isinstance(argument, Tensor):
                _as_constant(argument, self._copies)
        return self


def _as_constant(tensor: Tensor, copies: bool) -> None:
    with paused():
        saved, cast = tensor.detach(), tensor.detach()
    options = [tensor.device, tensor.dtype, False, False, None]
    record_call("aten::to.device", [saved, *options], cast if copies else tensor)
    if copies:
        record_call("aten::detach", [cast], tensor)


def _warn(text: str, frame: FrameType) -> None:
    warnings.warn_explicit(
        text,
        TracerWarning,
        frame.f_code.co_filename,
        max(frame.f_lineno or 1, 1),
        module=str(frame.f_globals.get("__name__", "<trace>")),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def warn_at_user(text: str) -> None:
    """Issues a TracerWarning at the user's innermost line."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame):
        frame = frame.f_back
    _warn(text, frame or sys._getframe(1))


__all__ = ["Frames", "TracerWarning", "is_shown", "is_users", "warn_at_user"]
