"""autocast: the block in which products run in bfloat16 and losses in float32, and its switches."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import engine
from engine._native import lib
from engine._native.errors import raise_last
from engine.dtypes import DTYPES, device_aliases, dtype
from engine.tensor import Tensor

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_ABSENT = {"cuda": engine.float16, "xpu": engine.float16, "mps": engine.float16}
_depth = 0


def is_autocast_available(device_type: str) -> bool:
    """Return whether `autocast` knows the device type, even if no such device is present."""
    return device_type == "cpu" or device_type in _ABSENT


def _checked(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    name = engine.device(device_type).type if device_type not in _ABSENT else device_type
    if not is_autocast_available(name):
        raise RuntimeError(f"User specified an unsupported autocast device_type '{name}'")
    return name


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether calls of this thread autocast on the device type."""
    return _checked(device_type) == "cpu" and bool(lib.uh_autocast_enabled())


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocasting on or off. `set_autocast_enabled(enabled)` means CUDA, which is absent: it does nothing."""
    if enabled is not None and _checked(device_type) == "cpu":
        lib.uh_set_autocast_enabled(bool(enabled))


def get_autocast_dtype(device_type: str) -> dtype:
    """Return the lower precision: bfloat16 on the CPU unless it was set."""
    name = _checked(device_type)
    return DTYPES[lib.uh_autocast_dtype()] if name == "cpu" else _ABSENT[name]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the lower precision: bfloat16 or float16."""
    if _checked(device_type) == "cpu":
        if lib.uh_set_autocast_dtype(dtype.code) < 0:
            raise_last()
    else:
        _ABSENT[device_type] = dtype


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of weights are reused inside a block."""
    return bool(lib.uh_autocast_cache_enabled())


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether casts of weights are reused inside a block."""
    lib.uh_set_autocast_cache_enabled(bool(enabled))


def is_autocast_cpu_enabled() -> bool:
    """Return `is_autocast_enabled("cpu")`."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Call `set_autocast_enabled("cpu", enabled)`."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtype:
    """Return `get_autocast_dtype("cpu")`."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Call `set_autocast_dtype("cpu", dtype)`."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtype:
    """Return `get_autocast_dtype("cuda")`."""
    return get_autocast_dtype("cuda")


def clear_autocast_cache() -> None:
    """Forget the casts of weights."""
    lib.uh_clear_autocast_cache()


class autocast:
    """A block, or a decorator, in which operators choose their precision.

    Products and convolutions cast their arguments to `dtype` (bfloat16). Losses, and operators that need a wider
    range, cast theirs to float32; `cat` and `stack` promote. The tags `autocast_*` in csrc/ops/*.yaml determine
    which operator does what. An absent device or another dtype disables the block with a warning, as in PyTorch.

    >>> with autocast("cpu"):
    ...     (engine.ones(2, 2) @ engine.ones(2, 2)).dtype
    engine.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _checked(device_type)
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        if enabled and self.device != "cpu":
            reason = (
                f"autocast: 'cuda' is {device_aliases['cuda']} here, where calls do not autocast."
                if self.device in device_aliases
                else f"{self.device.upper()} is not available."
            )
            warnings.warn(f"{reason} Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled and self.fast_dtype not in (engine.bfloat16, engine.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        global _depth
        self._previous = (
            is_autocast_enabled(self.device),
            get_autocast_dtype(self.device),
            is_autocast_cache_enabled(),
        )
        set_autocast_enabled(self.device, self._enabled)
        if self._enabled:
            set_autocast_dtype(self.device, self.fast_dtype)
        set_autocast_cache_enabled(self._cache_enabled)
        _depth += 1
        return self

    def __exit__(self, *exception: object) -> None:
        global _depth
        _depth -= 1
        if not _depth:
            clear_autocast_cache()
        enabled, dtype, is_cached = self._previous
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(is_cached)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function: its calls run inside such a block."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled):
                return function(*args, **kwargs)

        return inside


def _cast(value: Any, dtype: dtype) -> Any:
    """Cast the floating-point tensors of nested containers, except float64."""
    if isinstance(value, Tensor):
        is_cast = value.is_floating_point() and value.dtype != engine.float64
        return value.to(dtype) if is_cast else value
    if isinstance(value, dict):
        return {_cast(key, dtype): _cast(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype) for item in value)
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Any:
    """Decorate the forward of a Function: inside autocast its inputs are cast, and it runs without autocast.

    Without `cast_inputs` it runs in the mode of its caller.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        is_enabled = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = is_enabled and cast_inputs is None
        if cast_inputs is None or not is_enabled:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorate the backward of a Function: it runs in the mode in which the forward ran."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return backward
