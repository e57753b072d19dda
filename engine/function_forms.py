"""Functions of `torch` that call methods of Tensor or in-place forms of nn.functional, and older names."""

from __future__ import annotations

import importlib
import math
import os
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import engine
from engine._native.namespace import namespace
from engine.arguments import INTEGER, SCALAR, accepts, check_tensor, type_word
from engine.random import Generator, drawing
from engine.storage import UntypedStorage
from engine.tensor import Tensor

__all__ = [
    "alpha_dropout_",
    "binomial",
    "compiled_with_cxx11_abi",
    "conv_tbc",
    "detach_",
    "dropout_",
    "feature_alpha_dropout_",
    "feature_dropout_",
    "get_device",
    "get_device_module",
    "get_file_path",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "is_distributed",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_vulkan_available",
    "norm_except_dim",
    "range",
    "rrelu",
    "rrelu_",
    "set_anomaly_enabled",
    "set_num_interop_threads",
    "to_dlpack",
    "typename",
]


def _function(name: str) -> Callable[..., Any]:
    def call(input: Tensor, *args: Any) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}: expected a Tensor, got {type(input).__name__}")
        return getattr(input, name)(*args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return `input.{name}(...)`."
    return call


detach_ = _function("detach_")
get_device = _function("get_device")
is_inference = _function("is_inference")
is_neg = _function("is_neg")
is_nonzero = _function("is_nonzero")
is_same_size = _function("is_same_size")
is_signed = _function("is_signed")


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw for each element the number of successes in `count` trials with probability `prob`.

    Dtype: that of `count`; NaN for an infinite one. Raises: ValueError for a dtype that is not floating-point.
    """
    for name, tensor in (("count", count), ("prob", prob)):
        check_tensor("binomial", name, tensor)
        if not tensor.is_floating_point():
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {tensor.dtype}"
            )
    with drawing(generator, "binomial", count.device):
        draws = engine.distributions.Binomial(count, probs=prob, validate_args=False).sample()
    return draws.to(count.dtype)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolve sequences stored as (time, batch, channels), with a weight of (width, in, out) channels.

    Raises: RuntimeError for other numbers of dimensions.
    """
    for name, tensor in (("input", input), ("weight", weight), ("bias", bias)):
        check_tensor("conv_tbc", name, tensor)
    for name, tensor in (("input", input), ("weight", weight)):
        if tensor.dim() != 3:
            raise RuntimeError(
                f"conv_tbc: {name} must have 3 dimensions, got shape {tuple(tensor.shape)}"
            )
    result: Tensor = engine.conv1d(
        input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad
    )
    return result.permute(2, 0, 1)


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule over the memory of a tensor."""
    check_tensor("to_dlpack", "tensor", tensor)
    return tensor.__dlpack__()


# PyTorch's flags for the libraries it was built with: linear algebra and Fourier transforms are always available.
has_lapack = has_openmp = has_spectral = True
has_mkl = False


def is_distributed(input: Tensor) -> bool:
    """Return False: no tensor is spread over processes."""
    return False


def is_storage(obj: Any) -> bool:
    """Return whether the object is a Storage.

    >>> is_storage(engine.ones(1).untyped_storage()), is_storage(engine.ones(1))
    (True, False)
    """
    if isinstance(obj, UntypedStorage):
        return True
    from engine.typed_storage import TypedStorage

    return isinstance(obj, TypedStorage)


def is_vulkan_available() -> bool:
    """Return False."""
    return False


def typename(obj: Any) -> str:
    """Return the name of an object's type with its module; a tensor's is that of its dtype.

    >>> typename(engine.ones(1)), typename(3)
    ('engine.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if isinstance(obj, type) else type(obj)
    module = "" if kind.__module__ in ("builtins", None) else f"{kind.__module__}."
    return f"{module}{kind.__qualname__}"


def _in_place(name: str) -> Callable[..., Tensor]:
    def call(input: Tensor, p: float, train: bool) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}_: argument 'input' must be Tensor, got {type_word(input)}")
        result = getattr(engine, name)(input, p, train)
        return input if result is input else input.copy_(result)

    call.__name__ = call.__qualname__ = f"{name}_"
    call.__doc__ = f"Write `{name}(input, p, train)` into `input`."
    return call


dropout_ = _in_place("dropout")
alpha_dropout_ = _in_place("alpha_dropout")
feature_dropout_ = _in_place("feature_dropout")
feature_alpha_dropout_ = _in_place("feature_alpha_dropout")


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Tensor:
    """Return `nn.functional.rrelu(...)`."""
    result: Tensor = engine.nn.functional.rrelu(input, lower, upper, training)
    return result


def rrelu_(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Tensor:
    """Write `nn.functional.rrelu(...)` into `input`."""
    result: Tensor = engine.nn.functional.rrelu(input, lower, upper, training, inplace=True)
    return result


def range(
    start: float, end: float, step: float = 1, *, out: Tensor | None = None, **options: Any
) -> Tensor:
    """Return the numbers from `start` to `end` inclusive; deprecated in favour of `arange`.

    Raises: RuntimeError for a step of 0, or one that leads away from `end`.
    """
    for name, value in (("start", start), ("end", end), ("step", step)):
        if not accepts(SCALAR, value):
            raise TypeError(f"range: argument {name!r} must be a number, got {type_word(value)}")
    if out is not None:
        check_tensor("range", "out", out)
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent "
        "with Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    if step == 0:
        raise RuntimeError("range: step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"range: unsupported range: {start} -> {end}")
    if (end - start) / step < 0:
        raise RuntimeError(
            f"range: upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}"
        )
    dtype = out.dtype if out is not None else options.pop("dtype", None)
    count = int((end - start) / step) + 1
    options["dtype"] = dtype or engine.get_default_dtype()
    result: Tensor = start + step * engine.arange(count, **options)
    return result if out is None else out.resize_(count).copy_(result)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norms over all dimensions but `dim` (-1: over all); the number of dimensions stays the same.

    >>> norm_except_dim(engine.ones(2, 4), 2, 0)
    tensor([[2.],
            [2.]])
    """
    check_tensor("norm_except_dim", "v", v)
    for name, value in (("pow", pow), ("dim", dim)):
        if not accepts(INTEGER, value):
            raise TypeError(
                f"norm_except_dim: argument {name!r} must be int, got {type_word(value)}"
            )
    if dim == -1:
        return v.norm(pow)
    if v.dim() == 0:
        raise IndexError(f"norm_except_dim: dimension {dim} of a tensor that has no dimensions")
    rows = v.movedim(dim, 0)
    shape = [size if d == dim % v.dim() else 1 for d, size in enumerate(v.shape)]
    return rows.reshape(rows.shape[0], -1).norm(pow, 1).reshape(shape)


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off, as `autograd.set_detect_anomaly` does."""
    engine.autograd.set_detect_anomaly(enabled, check_nan)


def set_num_interop_threads(number: int) -> None:
    """Accept a number of threads without effect: the operators of one thread never run concurrently.

    Raises: RuntimeError unless it is positive.
    """
    if number <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


def get_device_module(device: Any = None) -> ModuleType:
    """Return the module of a device type, by default that of the CPU."""
    if not isinstance(device, (engine.device, str, type(None))):
        raise RuntimeError(
            f"Invalid value of device '{device}', expect {namespace()}.device, str, or None"
        )
    name = "cpu" if device is None else engine.device(device).type
    try:
        return importlib.import_module(f"engine.{name}")
    except ModuleNotFoundError as error:
        raise RuntimeError(
            f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'."
        ) from error


def get_file_path(*path_components: str) -> str:
    """Return the path of a file below the package."""
    return os.path.join(os.path.dirname(engine.__file__), *path_components)


def compiled_with_cxx11_abi() -> bool:
    """Return True."""
    return True
