"""Conversion of PyTorch's arguments to the engine's and back, byte by byte, and of its functions to ours.

A tensor keeps its dtype, sizes, strides, offset and the bytes of its whole storage; tensors that share a
storage there share one here. Values that the engine does not have (sparse tensors, float8) raise
Unsupported: such a sample is counted as skipped.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Any

import torch

import engine


class Unsupported(Exception):
    """A sample that needs what the engine does not have at all: a layout, a dtype."""


class Missing(Exception):
    """A name of PyTorch's that the engine lacks."""


# ---- values

SAME_BITS = {torch.uint64: torch.int64}  # the hashes of hash_tensor


def engine_dtype(dtype: torch.dtype) -> Any:
    """Return the engine's dtype of the same name; for uint64 that of the same bits."""
    name = str(SAME_BITS.get(dtype, dtype)).removeprefix("torch.")
    result = getattr(engine, "bool_" if name == "bool" else name, None)
    if not isinstance(result, engine.dtype):
        raise Unsupported(f"dtype {name}")
    return result


def torch_dtype(dtype: Any) -> torch.dtype:
    """PyTorch's dtype of the same name."""
    result: torch.dtype = getattr(torch, dtype.name)
    return result


class Arguments:
    """One call's arguments copied: to the engine, or (`into="torch"`) to fresh PyTorch tensors.

    `pairs` lists the tensors met, PyTorch's original first, in the order in which they were met.
    """

    def __init__(self, into: str = "engine") -> None:
        self._tensor = self._to_engine if into == "engine" else self._to_torch
        self._word = to_engine_word if into == "engine" else lambda value: value
        self._storages: dict[int, Any] = {}
        self._sources: list[
            torch.Tensor
        ] = []  # alive, so that their storages' addresses stay theirs
        self._tensors: dict[int, Any] = {}
        self.pairs: list[tuple[torch.Tensor, Any]] = []

    def copy(self, value: Any) -> Any:
        """Return the same value, with containers rebuilt and tensors copied."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self._tensors:
                self._tensors[id(value)] = copied = self._tensor(value)
                self.pairs.append((value, copied))
            return self._tensors[id(value)]
        if isinstance(value, torch.Size):
            return self._word(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.copy, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.copy, value))
        if isinstance(value, dict):
            return {key: self.copy(item) for key, item in value.items()}
        return self._word(value)

    def _plain(self, source: torch.Tensor) -> torch.Tensor:
        self._sources.append(plain(source))
        return self._sources[-1]

    def _to_torch(self, source: torch.Tensor) -> torch.Tensor:
        source = self._plain(source)
        storage = source.untyped_storage()
        if source.is_meta:
            return torch.empty_strided(
                source.size(), source.stride(), dtype=source.dtype, device="meta"
            )
        if storage._cdata not in self._storages:
            self._storages[storage._cdata] = storage.clone()
        result = torch.empty(0, dtype=source.dtype)
        result.set_(
            self._storages[storage._cdata], source.storage_offset(), source.size(), source.stride()
        )
        return result

    def _to_engine(self, source: torch.Tensor) -> Any:
        source = self._plain(source)
        dtype = engine_dtype(source.dtype)
        sizes, strides, offset = (
            tuple(source.size()),
            source.stride(),
            source.storage_offset(),
        )
        if source.is_meta:
            return engine.empty_strided(sizes, strides, dtype=dtype, device="meta")
        storage = source.untyped_storage()
        key, nbytes = storage._cdata, storage.nbytes()
        if key not in self._storages:
            full = nbytes == source.numel() * dtype.itemsize and offset == 0
            result = (
                engine.empty_strided(sizes, strides, dtype=dtype)
                if full and _dense(source)
                else engine.empty(-(-nbytes // dtype.itemsize), dtype=dtype)
            )
            ctypes.memmove(result.untyped_storage().data_ptr(), storage.data_ptr(), nbytes)
            self._storages[key] = result
            if full and _dense(source):
                return result
        base = self._storages[key]
        if base.dtype is not dtype:
            count = base.untyped_storage().nbytes() // base.dtype.itemsize
            base = base.as_strided((count,), (1,), 0).view(dtype)
        return base.as_strided(sizes, strides, offset)


def _dense(t: torch.Tensor) -> bool:
    """Return true if sizes and strides reach every element of a storage of numel() elements once."""
    steps = sorted(
        (step, size) for size, step in zip(t.size(), t.stride(), strict=True) if size > 1
    )
    expected = 1
    for step, size in steps:
        if step != expected:
            return False
        expected *= size
    return t.numel() > 0


def plain(t: torch.Tensor) -> torch.Tensor:
    """Return a strided tensor without gradient and with its bytes as they read."""
    if t.layout is not torch.strided or t.is_quantized or t.is_nested:
        raise Unsupported(f"layout {t.layout}")
    if t.device.type not in ("cpu", "meta"):
        raise Unsupported(f"device {t.device}")
    return t.detach().resolve_conj().resolve_neg()


def to_torch(t: Any) -> torch.Tensor:
    """Return an engine tensor as PyTorch's: same sizes, strides, offset, and a copy of all its storage."""
    dtype, storage = torch_dtype(t.dtype), t.untyped_storage()
    sizes, strides, offset = tuple(t.shape), t.stride(), t.storage_offset()
    if t.is_meta:
        return torch.empty_strided(sizes, strides, dtype=dtype, device="meta")
    nbytes = storage.nbytes() // dtype.itemsize * dtype.itemsize
    copied = torch.empty(nbytes, dtype=torch.uint8)
    ctypes.memmove(copied.data_ptr(), storage.data_ptr(), nbytes)
    result = copied.view(dtype).as_strided(sizes, strides, offset)
    if getattr(t, "is_conj", bool)():
        result = result.conj().resolve_conj().as_strided(sizes, strides)
    return result


def same_storage(a: Any, b: Any) -> bool:
    """Return true if two tensors of one side share a storage."""
    if isinstance(a, torch.Tensor):
        return bool(a.untyped_storage()._cdata == b.untyped_storage()._cdata)
    return bool(a.untyped_storage() == b.untyped_storage())


def to_engine_word(value: Any) -> Any:
    """Dtypes, devices, layouts, generators, functions...: everything other than tensors and containers."""
    if isinstance(value, torch.dtype):
        return engine_dtype(value)
    if isinstance(value, torch.Size):
        return engine.Size(value)
    if isinstance(value, torch.device):
        if value.type not in ("cpu", "meta"):
            raise Unsupported(f"device {value}")
        return engine.device(value.type, value.index)
    if isinstance(value, (torch.memory_format, torch.layout)):
        name = str(value).removeprefix("torch.")
        if not hasattr(engine, name):
            raise Unsupported(name)
        return getattr(engine, name)
    if isinstance(value, torch.Generator):
        return engine.Generator().manual_seed(value.initial_seed())
    if isinstance(value, torch.nn.Module):
        return _module(value)
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("torch.nn"):
        settings = {
            f.name: to_engine_word(getattr(value, f.name)) for f in dataclasses.fields(value)
        }
        return find(f"nn.{type(value).__name__}")(**settings)
    if hasattr(value, "__name__") and callable(value) and not isinstance(value, type):
        return counterpart(value)
    return value


def _module(value: torch.nn.Module) -> Any:
    """Return the engine's module of the same class and settings. Raises: Unsupported if it has tensors."""
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return _encoder_layer(value)
    if any(True for _ in (*value.parameters(), *value.buffers())):
        raise Unsupported(f"a {type(value).__name__} with its own tensors")
    result = find(f"nn.{type(value).__name__}")()
    for name, setting in vars(value).items():
        if not name.startswith("_"):
            setattr(result, name, to_engine_word(setting))
    return result


def _encoder_layer(value: torch.nn.TransformerEncoderLayer) -> Any:
    """Return the engine's layer of the same settings, with new tensors."""
    attention, linear = value.self_attn, value.linear1
    return find("nn.TransformerEncoderLayer")(
        attention.embed_dim,
        attention.num_heads,
        linear.out_features,
        value.dropout.p,
        to_engine_word(value.activation),
        value.norm1.eps,
        attention.batch_first,
        value.norm_first,
        linear.bias is not None,
        dtype=engine_dtype(linear.weight.dtype),
    )


# ---- functions


def find(name: str, root: Any = engine) -> Any:
    """Return the engine's object of a dotted name. Raises: Missing."""
    result = root
    for part in name.split("."):
        result = getattr(result, part, None)
        if result is None:
            raise Missing(f"{'engine' if root is engine else 'engine.Tensor'}.{name}")
    return result


def counterpart(f: Any, name: str = "") -> Callable[..., Any]:
    """Return the engine's function for one of PyTorch's, which its operator database calls `name`.

    The database's own wrappers (`lambda x: x.to(...)`) are run again with `torch` meaning the engine.
    """
    if isinstance(f, functools.partial):
        arguments = Arguments()
        return functools.partial(
            counterpart(f.func, name), *arguments.copy(f.args), **arguments.copy(f.keywords)
        )
    module, own = getattr(f, "__module__", None) or "", getattr(f, "__name__", "")
    if own in STAND_INS:
        return STAND_INS[own]
    if getattr(torch.Tensor, own, None) is f:
        return find(own, engine.Tensor)
    if isinstance(f, types.FunctionType) and module.startswith("torch.testing"):
        return _again(f)
    if isinstance(f, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        path = str(f).removeprefix("aten.").removesuffix(".default")
        return find(f"ops.aten.{path}")
    for path in (name, own, f"nn.functional.{own}", f"special.{own}", f"linalg.{own}"):
        if path and _reach(path) is f:
            return _public(path)
    if module.startswith("torch"):
        return _public(name or own)
    return f  # Python's own, such as operator.add


def _public(path: str) -> Any:
    """Return the engine's function of a name; where a name is private, the operator."""
    path = path.removeprefix("torch.")
    try:
        return find(path)
    except Missing:
        if not path.startswith("_"):
            raise
        return find(f"ops.aten.{path}")


def _reach(path: str) -> Any:
    result: Any = torch
    for part in path.split("."):
        result = getattr(result, part, None)
    return result


def _again(f: types.FunctionType) -> Callable[..., Any]:
    """Return a wrapper's code with the engine in PyTorch's place."""
    names = dict(f.__globals__, torch=engine, wrapper_set_seed=_seeded)
    for used in f.__code__.co_names:
        value = names.get(used)
        if isinstance(value, types.FunctionType) and value is not _seeded:
            if value.__module__.startswith("torch"):
                names[used] = counterpart(value)
        elif isinstance(value, types.ModuleType) and value.__name__.startswith("torch."):
            names[used] = find(value.__name__.removeprefix("torch."))
    cells = tuple(
        types.CellType(to_engine_word(cell.cell_contents)) for cell in f.__closure__ or ()
    )
    result = types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells)
    result.__kwdefaults__ = f.__kwdefaults__
    return result


def _seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    engine.manual_seed(42)
    return op(*args, **kwargs)


def _masked_pointwise(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    output = op(*args, **kwargs)
    masks = [kwargs.get(name) for name in ("input_mask", "other_mask")]
    if any(mask is None for mask in masks):
        return output
    return engine.where(engine.logical_and(*masks).expand(output.shape), output, 0)


# The database's wrappers that PyTorch's private functions are called in.
STAND_INS = {
    "wrapper_set_seed": _seeded,
    "gradcheck_wrapper_masked_pointwise_operation": _masked_pointwise,
}


# ---- words for people


def describe(value: Any, few: int) -> str:
    """Return a text to reproduce an argument from: values of at most `few` elements, else shape and strides."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if value.layout is not torch.strided:
            return f"{dtype}{list(value.shape)}({value.layout})"
        odd = "" if value.is_contiguous() else f", strides={value.stride()}"
        odd += f", offset={value.storage_offset()}" if value.storage_offset() else ""
        if value.is_meta or value.numel() > few:
            return f"{dtype}{list(value.shape)}{odd and f'({odd[2:]})'}"
        shape = f", shape={list(value.shape)}" if 0 in value.shape else ""
        return f"tensor({value.tolist()}, {dtype}{shape}{odd})"
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        inner = ", ".join(describe(item, few) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {describe(v, few)}' for k, v in value.items())}}}"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return repr(value)


def describe_call(name: str, args: Any, kwargs: dict[str, Any], few: int) -> str:
    """Return the call as one line of text."""
    parts = [describe(arg, few) for arg in args]
    parts += [f"{name}={describe(value, few)}" for name, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"
