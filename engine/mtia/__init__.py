"""PyTorch's `torch.mtia` on a machine without Meta's accelerators: nothing is available."""

from engine.absent_device import device_count, is_available, manual_seed, manual_seed_all

__all__ = ["device_count", "is_available", "manual_seed", "manual_seed_all"]
