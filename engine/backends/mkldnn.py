"""Intel's oneDNN, which the engine does not use: convolutions and layers have kernels here."""

enabled = True
deterministic = False


def is_available() -> bool:
    """Return False: the engine does not use oneDNN."""
    return False
