"""DataParallel: a module for each accelerator; without one it forwards to the module."""

from __future__ import annotations

from typing import Any

from engine.nn.module import Module


class DataParallel(Module):
    """Forward calls to `module`, as PyTorch does without an accelerator.

    The module is the attribute `module`, so names in the `state_dict` begin with "module.".

    >>> import engine
    >>> DataParallel(engine.nn.Linear(2, 3))(engine.ones(1, 2)).shape
    engine.Size([1, 3])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)
