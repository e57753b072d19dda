"""Anomaly mode: Nodes store the traceback of their creation, so that an error in backward shows the forward call."""

from __future__ import annotations

from typing import Any

from engine._native import ffi, lib


def _set(enabled: bool, check_nan: bool) -> None:
    from engine.autograd import _callbacks  # noqa: F401  (defines uh_py_traceback)

    lib.uh_set_anomaly(enabled, check_nan, lib.uh_py_traceback)


def is_anomaly_enabled() -> bool:
    """Return True if new Nodes store their traceback."""
    return bool(lib.uh_anomaly() & lib.UH_ANOMALY_ENABLED)


def is_anomaly_check_nan_enabled() -> bool:
    """Return True if gradients are checked for NaN."""
    return bool(lib.uh_anomaly() & lib.UH_ANOMALY_CHECK_NAN)


class set_detect_anomaly:
    """Switches anomaly mode on or off at once; as a context manager it restores the previous mode.

    An error in backward then also causes a warning with the traceback of the forward call, and a NaN gradient is
    an error (`check_nan`). Costs a traceback per operation.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = (is_anomaly_enabled(), is_anomaly_check_nan_enabled())
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *unused: Any) -> None:
        _set(*self._previous)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside the `with` block."""

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        self._previous = (is_anomaly_enabled(), is_anomaly_check_nan_enabled())
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _set(True, self._check_nan)


def warn_of_forward_call() -> None:
    """Warn, after a failed backward, with the traceback of the failed Node and of the Nodes that created it."""
    import warnings

    handle = lib.uh_failed_node()
    first = True
    while handle:
        text = ffi.string(lib.uh_node_traceback(handle)).decode()
        name = ffi.string(lib.uh_node_name(handle)).decode()
        if text and first:
            message = f"Error detected in {name}. Traceback of forward call that caused the error:\n{text}"
        elif text:
            message = (
                f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that "
                f"induced the previous calculation:\n{text}"
            )
        else:
            message = (
                f"Error detected in {name}. No forward pass information available. Enable detect "
                "anomaly during forward pass for more information."
            )
        warnings.warn(message, stacklevel=4)
        first = False
        parent = lib.uh_node_created_by(handle)
        lib.uh_node_release(handle)
        handle = parent
