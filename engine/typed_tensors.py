"""PyTorch's old tensor types: `FloatTensor([1, 2])`, `LongTensor(2, 3)`, `isinstance(x, ByteTensor)`.

A type names a dtype and a device. Calling it creates a plain Tensor; there are no subclasses.
"""

from __future__ import annotations

from typing import Any

from engine import dtypes
from engine._generated import ops
from engine._native.namespace import no_attribute
from engine.creation import empty, tensor
from engine.dtypes import Size, as_dtype, device, dtype, layout
from engine.storage import UntypedStorage, flat_bytes
from engine.tensor import Tensor

KINDS = {
    "BFloat16Tensor": dtypes.bfloat16,
    "BoolTensor": dtypes.bool_,
    "ByteTensor": dtypes.uint8,
    "CharTensor": dtypes.int8,
    "DoubleTensor": dtypes.float64,
    "FloatTensor": dtypes.float32,
    "HalfTensor": dtypes.float16,
    "IntTensor": dtypes.int32,
    "LongTensor": dtypes.int64,
    "ShortTensor": dtypes.int16,
}
__all__ = [*KINDS]


class _TensorType(type):
    """The metaclass of the types: a type's instances are the tensors of its dtype on its device."""

    dtype: dtype
    device_type: str
    layout: layout

    @property
    def target(cls) -> str:
        """The type of the device: of "cuda" what `opencl.alias_cuda` says."""
        return dtypes.device_aliases.get(cls.device_type, cls.device_type)

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.target
            and instance.layout is cls.layout
        )

    def __call__(cls, *args: Any) -> Tensor:
        """Create a tensor of sizes, or of a sequence's or array's values; a tensor must have the dtype."""
        if cls.target == "cuda":
            raise TypeError(
                f"type torch.{cls.device_type}.{cls.__name__} not available. "
                f"Torch not compiled with {cls.device_type.upper()} enabled."
            )
        if cls.layout is dtypes.sparse_coo:
            from engine.sparse.construct import sparse_coo_tensor

            return sparse_coo_tensor(*(args or ((0,),)), dtype=cls.dtype)
        return legacy_tensor(cls.dtype, args, f"{cls.__name__}()").to(cls.target)


def legacy_tensor(kind: dtype, args: tuple[Any, ...], function: str) -> Tensor:
    """Create a tensor as the constructors of PyTorch's first versions do.

    No arguments create an empty tensor; ints or a Size are sizes; a sequence or an array has the values; of a tensor
    of this dtype, the result is a view. Raises: TypeError for a tensor of another dtype.
    """
    if not args:
        return empty(0, dtype=kind, device="cpu")
    if isinstance(args[0], Size) or all(type(arg) is int for arg in args):
        return empty(*args, dtype=kind, device="cpu")
    if len(args) > 1:
        raise TypeError(f"{function} takes sizes or one sequence, got {len(args)} arguments")
    if isinstance(args[0], Tensor):
        if args[0].dtype is not kind:
            raise TypeError(f"{function} expected a tensor of dtype {kind}, got {args[0].dtype}")
        return ops.alias(args[0])
    if isinstance(args[0], dict) or not hasattr(args[0], "__len__"):
        raise TypeError(f"{function}: data must be a sequence (got {type(args[0]).__name__})")
    return tensor(args[0], dtype=kind, device="cpu")


def _make(name: str, device_type: str, layout: str) -> _TensorType:
    kind = KINDS[name]
    text = f"The type of the {layout} tensors of dtype {kind.name} on {device_type}; calling it creates one."
    package = "sparse" if layout != "strided" else "" if device_type == "cpu" else device_type
    members = {
        "dtype": kind,
        "device_type": device_type,
        "layout": getattr(dtypes, layout),
        "__doc__": text,
        "__module__": f"engine.{package}".rstrip("."),
    }
    return _TensorType(name, (), members)


_types: dict[tuple[str, str, str], _TensorType] = {}


def tensor_type(name: str, device_type: str = "cpu", layout: str = "strided") -> _TensorType:
    """Return the type of a name, such as "FloatTensor"."""
    key = name, device_type, layout
    if key not in _types:
        _types[key] = _make(*key)
    return _types[key]


def absent_type(name: str) -> _TensorType:
    """Return a type of `torch.cuda`: without `opencl.alias_cuda` it has no instances, and a call is a TypeError."""
    return tensor_type(name, "cuda")


def type_dtype(kind: _TensorType) -> dtype:
    """Return the dtype of a type. Raises: TypeError for a type of an absent device."""
    if kind.target == "cuda":
        kind()
    return kind.dtype


def set_default_tensor_type(t: Any) -> None:
    """Make a type's dtype the default: `set_default_tensor_type("torch.DoubleTensor")`.

    Raises: TypeError for a type of an absent device, or one that is not floating-point.
    """
    if isinstance(t, str):
        prefix, _, name = t.rpartition(".")
        if prefix not in ("torch", "engine", "torch.cuda", "engine.cuda") or name not in KINDS:
            raise TypeError(f"invalid type: {t!r}")
        t = tensor_type(name, "cuda" if prefix.endswith("cuda") else "cpu")
    if not isinstance(t, _TensorType):
        raise TypeError(f"invalid type object: {t!r}")
    kind = type_dtype(t)
    if not kind.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(kind)


def new(input: Tensor, *args: Any, device: device | str | None = None) -> Tensor:
    """Create a tensor of this dtype, of sizes, a sequence's values, or a storage; see `FloatTensor`."""
    if isinstance(device, (Tensor, dtype)):
        kind = type(device).__name__
        raise TypeError(f"new(): device must be a device or its name, got a {kind}")
    if len(args) == 1 and isinstance(args[0], UntypedStorage):
        return flat_bytes(args[0]._tensor).view(input.dtype)
    result = legacy_tensor(input.dtype, args, "new()")
    return result.to(input.device if device is None else device)


def __getattr__(name: str) -> Any:
    if name in KINDS:
        value = globals()[name] = tensor_type(name)
        return value
    raise no_attribute("typed_tensors", name)


def as_type(value: Any) -> dtype:
    """Convert the argument of `Tensor.type`, a dtype or a type such as FloatTensor, to a dtype."""
    if isinstance(value, _TensorType):
        return type_dtype(value)
    return as_dtype(value, "type")
