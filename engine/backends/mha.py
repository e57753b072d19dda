"""The switch of fused inference in `nn.MultiheadAttention` and `nn.TransformerEncoderLayer`.

The engine has one implementation of both, so the switch is remembered and changes nothing.
"""

_enabled = True


def get_fastpath_enabled() -> bool:
    """Return the switch."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Set the switch."""
    global _enabled
    _enabled = bool(value)
