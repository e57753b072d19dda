"""The name under which a program imports the engine, which dtypes, classes and messages print."""

from __future__ import annotations

from engine._native import lib

_namespace = "engine"


def namespace() -> str:
    """Return the name under which the program imports the engine."""
    return _namespace


def set_namespace(name: str) -> None:
    """Set the name under which the program imports the engine."""
    global _namespace
    lib.uh_set_namespace(name.encode())
    _namespace = name


def no_attribute(module: str, name: str) -> AttributeError:
    """Return the error of a module's `__getattr__`. `module` is relative to the engine: `nn.functional`."""
    home = f"{namespace()}.{module}".rstrip(".")
    return AttributeError(f"module '{home}' has no attribute {name!r}")
