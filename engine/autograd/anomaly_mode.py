"""Anomaly mode: Nodes remember where they were made, so that an error in backward names the forward call."""

from __future__ import annotations

from typing import Any

from engine._native import ffi, lib


def _set(enabled: bool, check_nan: bool) -> None:
    from engine.autograd import _callbacks  # noqa: F401  (defines uh_py_traceback)

    lib.uh_set_anomaly(enabled, check_nan, lib.uh_py_traceback)


def is_anomaly_enabled() -> bool:
    """Whether Nodes made now remember their traceback."""
    return bool(lib.uh_anomaly() & 1)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether gradients are looked at for NaN."""
    return bool(lib.uh_anomaly() & 2)


class set_detect_anomaly:
    """Switches anomaly mode on or off at once; as a context manager it restores what was.

    An error in backward then comes with a warning that shows the traceback of the forward call, and a gradient that
    is NaN is an error (`check_nan`). Costs a traceback per operation.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._found = (is_anomaly_enabled(), is_anomaly_check_nan_enabled())
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *unused: Any) -> None:
        _set(*self._found)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside the `with` block."""

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        self._found = (is_anomaly_enabled(), is_anomaly_check_nan_enabled())
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _set(True, self._check_nan)


def warn_of_forward_call() -> None:
    """After a failed backward: shows where the Node that failed, and those it came from, were made."""
    import warnings

    handle = lib.uh_failed_node()
    first = True
    while handle:
        text = ffi.string(lib.uh_node_traceback(handle)).decode()
        name = ffi.string(lib.uh_node_name(handle)).decode()
        if text and first:
            shown = f"Error detected in {name}. Traceback of forward call that caused the error:\n{text}"
        elif text:
            shown = (
                f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that "
                f"induced the previous calculation:\n{text}"
            )
        else:
            shown = (
                f"Error detected in {name}. No forward pass information available. Enable detect "
                "anomaly during forward pass for more information."
            )
        warnings.warn(shown, stacklevel=4)
        first = False
        parent = lib.uh_node_created_by(handle)
        lib.uh_node_release(handle)
        handle = parent
