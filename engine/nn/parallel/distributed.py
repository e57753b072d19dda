"""DistributedDataParallel: a module whose gradients are averaged over processes; here there is one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.nn.module import Module


class DistributedDataParallel(Module):
    """Forward calls to `module`; the average of one process's gradients is its own.

    Unlike PyTorch's it needs no process group. The module is the attribute `module`, so names in the
    `state_dict` begin with "module.". Raises: RuntimeError for a module without parameters to learn.

    >>> import engine
    >>> DistributedDataParallel(engine.nn.Linear(2, 3))(engine.ones(1, 2)).shape
    engine.Size([1, 3])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module "
                "doesn't have any parameter that requires a gradient."
            )
        self.module = module
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Do not average gradients inside the block; they are summed, as always in one process."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before
