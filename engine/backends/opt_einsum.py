"""The library opt_einsum, which the engine does not use: `einsum` contracts from left to right."""

from typing import Any

enabled = False
strategy = None


def is_available() -> bool:
    """Return False: the engine does not use opt_einsum."""
    return False


def get_opt_einsum() -> Any:
    """Return None: the engine does not use opt_einsum."""
    return None
