"""Intel's MKL, which the engine does not use: OpenBLAS computes its matrix products."""


def is_available() -> bool:
    """Return False: the engine does not use MKL."""
    return False
