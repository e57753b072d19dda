"""Collectives that gradients pass through, which need a process group."""

from engine.unsupported import module_getattr

_NAMES = "all_gather all_reduce all_to_all broadcast gather reduce reduce_scatter scatter"
__all__ = _NAMES.split()

__getattr__ = module_getattr(
    "distributed.nn", _NAMES, "there is one process; distributed.is_available() is False", globals()
)
