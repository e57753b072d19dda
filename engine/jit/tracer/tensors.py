"""Replacements of Tensor's methods during a trace: sizes are tensors, which the trace follows.

While any thread traces, some of Tensor's methods are replaced: the replacements check whether their
own thread traces, and otherwise call the original. Without a trace nothing is slower.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from engine import casts
from engine._generated import ops
from engine._native import lib
from engine._native.errors import raise_last
from engine.creation import tensor
from engine.dtypes import Size, bool_, device, dtype, int64, preserve_format, uint8
from engine.jit.types.ivalues import BoxedArgs
from engine.tensor import Tensor, wrap
from engine.tensor_new import is_array, is_sequence

_LAST = (1 << 63) - 1  # the stop of a slice without one
# The engine's modules whose computations with sizes are recorded.
_WITH_SIZES = (
    "engine.nn.modules.rnn",
    "engine.nn.functional.attention",
    "engine.nn.functional.sizes",
)

_live = threading.local()
_lock = threading.Lock()
_tracing = 0
_before: dict[str, Any] = {}


def recording() -> bool:
    """Returns whether this thread is tracing."""
    return getattr(_live, "depth", 0) == 1


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Suspends recording inside the `with`."""
    if not recording():
        yield
        return
    lib.uh_jit_trace_pause(1)
    _live.depth = 2
    try:
        yield
    finally:
        _live.depth = 1
        lib.uh_jit_trace_pause(0)


@contextlib.contextmanager
def followed() -> Iterator[None]:
    """Makes this thread's tensors return sizes as tensors inside the `with`."""
    global _tracing
    with _lock:
        if _tracing == 0:
            _install()
        _tracing += 1
    _live.depth = 1
    try:
        yield
    finally:
        _live.depth = 0
        with _lock:
            _tracing -= 1
            if _tracing == 0:
                _remove()


def record_call(name: str, args: Sequence[Any], result: Tensor) -> None:
    """Records a call of a builtin that computed `result` from these arguments."""
    native = BoxedArgs(args)
    if lib.uh_jit_trace_record(name.encode(), native.array, native.count, result._h) != 0:
        raise_last()


# ---- sizes


def _wants_tensors(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    inner = module == "engine" or module.startswith("engine.")
    return not inner or module.startswith(_WITH_SIZES)


def _size_of(tensor: Tensor, query: bytes, dim: int = 0) -> Tensor:
    size = lib.uh_jit_trace_size(tensor._h, query, dim)
    return wrap(size) if size else raise_last()


def _sizes_of(tensor: Tensor) -> Size:
    return tuple.__new__(Size, [_size_of(tensor, b"size", dim) for dim in range(tensor.dim())])


def _shape(self: Tensor) -> Any:
    if recording() and _wants_tensors(sys._getframe(1)):
        return _sizes_of(self)
    return _before["shape"].__get__(self)


def _size(self: Tensor, dim: int | None = None) -> Any:
    if recording() and _wants_tensors(sys._getframe(1)):
        return _sizes_of(self) if dim is None else _size_of(self, b"size", dim)
    return _before["size"](self, dim)


def _numel(self: Tensor) -> Any:
    if recording() and _wants_tensors(sys._getframe(1)):
        return _size_of(self, b"numel")
    return _before["numel"](self)


# ---- conversions


def _to(self: Tensor, *args: Any, **options: Any) -> Tensor:
    converted: Tensor
    if not recording():
        converted = _before["to"](self, *args, **options)
        return converted
    kind, target_device, copy, order, _ = casts.parse_to(args, options)
    if order not in (None, preserve_format):
        converted = _before["to"](self, *args, **options)
        return converted
    with paused():
        converted = _before["to"](self, *args, **options)
    _record_to(self, kind, target_device, copy, converted)
    return converted


def _record_to(
    x: Tensor, kind: dtype | None, target_device: device | None, copy: bool, converted: Tensor
) -> None:
    if target_device is None:
        record_call("aten::to.dtype", [x, kind or x.dtype, False, copy, None], converted)
    else:
        record_call(
            "aten::to.device", [x, target_device, kind or x.dtype, False, copy, None], converted
        )


def _cast(name: str) -> Callable[..., Tensor]:
    def cast(self: Tensor, memory_format: Any = preserve_format) -> Tensor:
        converted: Tensor
        if not recording() or memory_format is not preserve_format:
            converted = _before[name](self, memory_format)
            return converted
        with paused():
            converted = _before[name](self)
        _record_to(self, converted.dtype, None, False, converted)
        return converted

    return cast


def _type_as(self: Tensor, other: Tensor) -> Tensor:
    converted: Tensor
    if not recording():
        converted = _before["type_as"](self, other)
        return converted
    with paused():
        converted = _before["type_as"](self, other)
    record_call("aten::type_as", [self, other], converted)
    return converted


def _detach_(self: Tensor) -> Tensor:
    """Makes the tensor the result of a `detach` in the trace."""
    _before["detach_"](self)
    if recording():
        record_call("aten::detach", [self], self)
    return self


# ---- indexing: with slice bounds as written, not clamped to the example's sizes


def _getitem(self: Tensor, index: Any) -> Tensor:
    if recording():
        items = _items(index)
        if items is not None and _needed(items) <= self.dim():
            view, advanced = _picked(self, items)
            return ops.index(view, advanced) if advanced else view
    result: Tensor = _before["__getitem__"](self, index)
    return result


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    items = _items(index) if recording() else None
    if items is None or _needed(items) > self.dim():
        _before["__setitem__"](self, index, value)
        return
    view, advanced = _picked(self, items)
    if not isinstance(value, Tensor):
        with paused():
            value = ops.scalar_tensor(value, dtype=view.dtype, device=view.device)
        if not advanced:
            ops.fill_(view, value)
            return
    if advanced:
        ops.index_put_(view, advanced, _without_leading_ones(value, value.dim()))
    else:
        _copy_to(view, value)


def _copy_to(view: Tensor, value: Tensor) -> None:
    """Records an assignment as PyTorch does, with the sizes of the example."""
    with paused():
        sizes, target = [[int(n) for n in x.shape] for x in (value, view)]
    if not sizes and target:
        ops.fill_(view, value)
        return
    if sizes != target:
        while sizes and sizes[0] == 1:
            del sizes[0]
        value = value.view(sizes).expand(target)
    view.copy_(value)


def _without_leading_ones(value: Tensor, at_most: int) -> Tensor:
    extra, sizes = 0, value.shape
    while extra < at_most and sizes[extra] == 1:
        extra += 1
    return value.reshape(sizes[extra:]) if extra > 0 else value


def _items(index: Any) -> list[Any] | None:
    """Splits an index into items; returns None for a rare or an invalid index."""
    items = list(index) if isinstance(index, tuple) else [index]
    if sum(item is ... for item in items) > 1:
        return None
    for position, item in enumerate(items):
        if item is None or item is ... or item.__class__ is int or item.__class__ is slice:
            continue
        if isinstance(item, bool):
            return None
        if isinstance(item, Tensor):
            if item.is_floating_point() or item.is_complex():
                return None
            if item.dim() == 0 and item.dtype in (bool_, uint8):
                return None
        elif is_array(item) or is_sequence(item):
            items[position] = _Listed(item)
        else:
            return None
    return items


class _Listed:
    """A list or array as an index: a constant of the trace, converted where it is used."""

    def __init__(self, item: Any) -> None:
        with paused():
            self.tensor = tensor(item) if len(item) else tensor(item, dtype=int64)

    def converted(self) -> Tensor:
        saved = self.tensor
        with paused():
            detached = saved.detach()
        record_call(
            "aten::to.device", [saved, saved.device, saved.dtype, False, False, None], detached
        )
        return detached


def _width(item: Any) -> int:
    if item is None or item is ...:
        return 0
    item = item.tensor if isinstance(item, _Listed) else item
    return item.dim() if isinstance(item, Tensor) and item.dtype in (bool_, uint8) else 1


def _needed(items: list[Any]) -> int:
    return sum(map(_width, items))


def _picked(x: Tensor, items: list[Any]) -> tuple[Tensor, list[Tensor | None]]:
    """Returns the view that ints, slices, None and ... select, and the remaining index tensors."""
    dim, left = 0, x.dim() - _needed(items)
    advanced: list[Tensor | None] = []
    view = x
    if not items or items == [...]:
        return _before["__getitem__"](x, ...), advanced
    for raw in items:
        item = raw.converted() if isinstance(raw, _Listed) else raw
        if item is ...:
            dim += left
        elif item is None:
            view = ops.unsqueeze(view, dim)
            dim += 1
        elif isinstance(item, slice):
            start = 0 if item.start is None else item.start
            stop = _LAST if item.stop is None else item.stop
            view = ops.slice(view, dim, start, stop, 1 if item.step is None else item.step)
            dim += 1
        elif isinstance(item, Tensor) and (item.dim() > 0 or item.dtype in (bool_, uint8)):
            advanced += [None] * (dim - len(advanced))
            advanced.append(item)
            dim += _width(item)
        else:
            view = ops.select(view, dim, item)
    return view, advanced


# ---- the replaced methods


def _install() -> None:
    replacements: dict[str, Any] = {
        "shape": property(_shape),
        "size": _size,
        "numel": _numel,
        "nelement": _numel,
        "to": _to,
        "type_as": _type_as,
        "detach_": _detach_,
        "__getitem__": _getitem,
        "__setitem__": _setitem,
    }
    replacements.update({name: _cast(name) for name in casts.CASTS})
    for name, method in replacements.items():
        _before[name] = getattr(Tensor, name)
        setattr(Tensor, name, method)


def _remove() -> None:
    for name, method in _before.items():
        setattr(Tensor, name, method)


__all__ = ["followed", "paused", "record_call", "recording"]
