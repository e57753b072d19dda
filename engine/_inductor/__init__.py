"""The settings of PyTorch's code generator that scripts assign; `compile` here is over `jit.script`."""

from engine._inductor import config as config

__all__ = ["config"]
