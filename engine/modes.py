"""PyTorch's switches of determinism and precision. The engine always computes in full precision."""

from __future__ import annotations

_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = ("default", "warn", "error")

_precision = "highest"
_deterministic = False
_warn_only = False
_warn_always = False


def get_float32_matmul_precision() -> str:
    """Return the minimum precision of float32 matrix products, as set."""
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Set the minimum precision of float32 matrix products, without effect: they always have the highest.

    Raises: ValueError unless it is highest, high or medium.
    """
    global _precision
    if precision not in _PRECISIONS:
        raise ValueError(
            f"set_float32_matmul_precision: choose from {', '.join(_PRECISIONS)}, got {precision!r}"
        )
    _precision = precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Set the switch that `are_deterministic_algorithms_enabled` returns; kernels on the CPU do not read it."""
    global _deterministic, _warn_only
    _deterministic, _warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Return the switch of `use_deterministic_algorithms`."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return True if the switch of `use_deterministic_algorithms` only warns."""
    return _warn_only


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 or 2: off, warn, or raise."""
    return (1 if _warn_only else 2) if _deterministic else 0


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set the switch of `use_deterministic_algorithms` by number or name: default, warn, error."""
    number = _DEBUG_MODES.index(debug_mode) if debug_mode in _DEBUG_MODES else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(
            f"set_deterministic_debug_mode: choose from {', '.join(_DEBUG_MODES)}, got {debug_mode!r}"
        )
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def is_warn_always_enabled() -> bool:
    """Return the switch of `set_warn_always`."""
    return _warn_always


def set_warn_always(b: bool) -> None:
    """Set PyTorch's switch for repeated warnings, without effect: Python's `warnings` filters decide here."""
    global _warn_always
    _warn_always = bool(b)


def set_flush_denormal(mode: bool) -> bool:
    """Return False: the engine computes with denormal numbers and cannot flush them to 0.

    PyTorch returns False on machines that do not support it.
    """
    return False


def get_num_interop_threads() -> int:
    """Return 1: operators of one thread run one after the other."""
    return 1
