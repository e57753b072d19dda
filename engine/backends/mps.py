"""The backend of Apple GPUs, which is absent."""


def is_available() -> bool:
    """Return False: there is no MPS device."""
    return False


def is_built() -> bool:
    """Return False: there are no MPS kernels."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Return False: this is not macOS with an MPS device."""
    return False
