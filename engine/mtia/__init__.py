"""PyTorch's `torch.mtia` on a machine without Meta's accelerators: nothing is available."""


def is_available() -> bool:
    """Return False: there is no MTIA device."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device: there is none, so this does nothing."""
    int(seed)


manual_seed_all = manual_seed
