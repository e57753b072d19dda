"""Random number generators: the process's default Philox generator, and separate ones.

Philox computes numbers from (seed, offset) without any other state, so a generator is these two ints.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from engine._native import ffi, lib
from engine.dtypes import CPU, META, as_device, device, device_from_code

if TYPE_CHECKING:
    from engine.tensor import Tensor

_SEEDS = 2**64


def _checked(seed: int, function: str) -> int:
    try:
        seed = int(seed)
    except (TypeError, ValueError):
        raise TypeError(f"{function}: the seed must be an int, got {seed!r}") from None
    if not -(2**63) <= seed < _SEEDS:
        raise ValueError(f"{function}: the seed must be between -2**63 and 2**64 - 1, got {seed}")
    return seed % _SEEDS


def philox_state() -> tuple[int, int]:
    """Return seed and offset of the process's generator."""
    pair = ffi.new("uint64_t[2]")
    lib.uh_rng_state(pair, pair + 1)
    return pair[0], pair[1]


class Generator:
    """A source of random numbers, independent of the default one: `rand(3, generator=g)`."""

    def __init__(self, device: object = "cpu") -> None:
        requested = as_device(device, "Generator")
        if requested == META or not requested.exists():
            raise RuntimeError(f"Generator: there is no generator of {str(requested)!r} here")
        self._device = CPU if requested.type == "cpu" else device_from_code(requested.code)
        self._seed, self._offset = 67280421310721, 0  # PyTorch's default seed

    @property
    def device(self) -> device:
        """The device that it was created for. A seed gives the same numbers on all devices."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Restart the generator from `seed`."""
        self._seed, self._offset = _checked(seed, "manual_seed"), 0
        return self

    def seed(self) -> int:
        """Restart the generator from an unpredictable seed, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed with which the generator was last started."""
        return self._seed

    def get_state(self) -> Tensor:
        """Return seed and offset, as bytes in a uint8 tensor."""
        return _packed(self._seed, self._offset)

    def set_state(self, new_state: Tensor) -> Generator:
        """Restore a state that `get_state` returned."""
        self._seed, self._offset = _unpacked(new_state)
        return self

    def clone_state(self) -> Generator:
        """Return another generator that draws the same numbers from here on."""
        clone = Generator(self.device)
        clone.set_state(self.get_state())
        return clone

    def drawing(self) -> AbstractContextManager[None]:
        """Make the operators inside the block draw from this generator."""
        return self._drawing()

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        with _lock:
            before = philox_state()
            lib.uh_set_rng_state(self._seed, self._offset)
            try:
                yield
            finally:
                self._seed, self._offset = philox_state()
                lib.uh_set_rng_state(*before)


def drawing(
    generator: Generator | None, function: str, device: Any = None
) -> AbstractContextManager[None]:
    """Make the operators inside the block draw from this generator, or from the default one if None.

    device: where the numbers are wanted, by default where new tensors are. Raises: TypeError if `generator` is not a
    Generator, RuntimeError if it is one of another type of device.
    """
    if generator is None:
        return default_generator.drawing()
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{function}(): argument 'generator' must be Generator, got {type(generator).__name__}"
        )
    if device is None:
        from engine.default_device import get_default_device

        device = get_default_device()
    expected = as_device(device, function).type
    if expected not in (generator.device.type, "meta"):
        raise RuntimeError(
            f"Expected a '{expected}' device type for generator but found '{generator.device.type}'"
        )
    return generator.drawing()


class _DefaultGenerator(Generator):
    """The generator of the process, which the native operators draw from."""

    _device = CPU

    def __init__(self) -> None:
        """Leave seed and offset alone: the library has them."""

    @property
    def _seed(self) -> int:  # type: ignore[override]
        return int(lib.uh_initial_seed())

    def manual_seed(self, seed: int) -> Generator:
        lib.uh_manual_seed(_checked(seed, "manual_seed"))
        return self

    def get_state(self) -> Tensor:
        return _packed(*philox_state())

    def set_state(self, new_state: Tensor) -> Generator:
        lib.uh_set_rng_state(*_unpacked(new_state))
        return self

    def drawing(self) -> AbstractContextManager[None]:
        return _NOTHING  # the operators draw from it anyway


_lock = threading.RLock()
_NOTHING = nullcontext()
default_generator: Generator = _DefaultGenerator()


def _packed(seed: int, offset: int) -> Tensor:
    from engine.creation import from_bytes
    from engine.dtypes import uint8

    return from_bytes(seed.to_bytes(8, "little") + offset.to_bytes(8, "little"), uint8, (16,))


def _unpacked(state: Tensor) -> tuple[int, int]:
    from engine.dtypes import uint8

    if state.dtype is not uint8 or tuple(state.shape) != (16,):
        raise TypeError(
            "set_state: expected the 16 bytes that get_state returns, "
            f"got a {state.dtype} tensor of shape {tuple(state.shape)}"
        )
    both = bytes(state.tolist())
    return int.from_bytes(both[:8], "little"), int.from_bytes(both[8:], "little")


def manual_seed(seed: int) -> Generator:
    """Restart the process's generator from `seed`, so that the same random numbers follow.

    >>> import engine
    >>> _ = engine.manual_seed(0); a = engine.rand(2)
    >>> _ = engine.manual_seed(0); b = engine.rand(2)
    >>> (a == b).tolist()
    [True, True]
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Restart the process's generator from an unpredictable seed, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed with which the process's generator was last started."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the process's generator, as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Restore the state of the process's generator after the block, and those of `devices` of a type.

    `devices` of None means every device of the type. With `enabled=False` nothing is restored.
    """
    if not enabled:
        yield
        return
    from engine.function_forms import get_device_module

    module = get_device_module(device_type)
    listed = list(range(module.device_count()) if devices is None else devices)
    of_devices = [module.get_rng_state(device) for device in listed]
    before = philox_state()
    try:
        yield
    finally:
        lib.uh_set_rng_state(*before)
        for device, state in zip(listed, of_devices, strict=True):
            module.set_rng_state(state, device)
