"""The module in which PyTorch prints tensors, for libraries that use its private names."""

from __future__ import annotations

from typing import Any

from engine.display import elements_text, print_options, tensor_text, with_suffixes

__all__ = ["PRINT_OPTS"]

PRINT_OPTS = print_options


def _tensor_str(self: Any, indent: int) -> str:
    """Return the text of the elements."""
    return elements_text(self, indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Append attributes and a closing bracket to the text of the elements."""
    return with_suffixes(tensor_str, suffixes, indent, on_a_new_line=force_newline)


def _str(self: Any) -> str:
    """Return the text of `repr(self)`."""
    return tensor_text(self)
