"""Seeds of the devices: all draw from the process's generator, so that a seed gives the CPU's numbers everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from engine.opencl.devices import device_count, index_of
from engine.random import default_generator

if TYPE_CHECKING:
    from engine.tensor import Tensor


def manual_seed(seed: int) -> None:
    """Restart the process's generator, from which the CPU draws, too. Without a device nothing happens."""
    if device_count():
        default_generator.manual_seed(seed)


def seed() -> None:
    """Restart the process's generator from an unpredictable seed. Without a device nothing happens."""
    if device_count():
        default_generator.seed()


manual_seed_all, seed_all = manual_seed, seed


def initial_seed() -> int:
    """Return the seed with which the process's generator was last started."""
    return default_generator.initial_seed()


def get_rng_state(device: Any = None) -> Tensor:
    """Return the state of a device's generator, which is that of the process."""
    index_of(device)
    return default_generator.get_state()


def set_rng_state(new_state: Tensor, device: Any = None) -> None:
    """Restore the state of a device's generator, which is that of the process."""
    index_of(device)
    default_generator.set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """Return the states of all devices' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Restore the states of all devices' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
