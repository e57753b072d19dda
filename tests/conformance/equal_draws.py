"""The random functions of PyTorch's interface, replaced by ones that draw the same numbers in PyTorch and the engine.

The two have different generators; with these functions their examples have the same inputs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any


def install(torch: Any, seed: int) -> None:
    """Replace factories and methods of Tensor; `dropout`, `bernoulli` and `multinomial` keep their own numbers."""
    source = random.Random(seed)

    def gauss(x: Any) -> float:
        return source.gauss(0, math.sqrt(0.5) if x.is_complex() else 1)

    def uniform(x: Any) -> float:
        return source.random()

    def fill(x: Any, draw: Callable[[Any], float]) -> Any:
        parts = [
            torch.tensor([draw(x) for _ in range(x.numel())], dtype=torch.float64)
            for _ in range(1 + x.is_complex())
        ]
        with torch.no_grad():
            values = torch.complex(*parts) if len(parts) == 2 else parts[0]
            x.copy_(values.reshape(x.shape))
        return x

    def factory(draw: Callable[[Any], float]) -> Any:
        def create(
            *size: Any, generator: Any = None, requires_grad: bool = False, **options: Any
        ) -> Any:
            x = fill(torch.empty(*size, **options), draw)
            return x.requires_grad_() if requires_grad else x

        return create

    def like(draw: Callable[[Any], float]) -> Any:
        def create(input: Any, requires_grad: bool = False, **options: Any) -> Any:
            x = fill(torch.empty_like(input, **options), draw)
            return x.requires_grad_() if requires_grad else x

        return create

    def between(low: int, high: int) -> Callable[[Any], float]:
        return lambda _: source.randrange(int(low), int(high))

    def randint(*bounds: Any, size: Any = None, generator: Any = None, **options: Any) -> Any:
        if size is None:
            *bounds, size = bounds  # type: ignore[assignment]
        low, high = options.pop("low", 0), options.pop("high", None)
        if bounds:
            low, high = (
                (low, bounds[0])
                if len(bounds) == 1 and high is None
                else (bounds[0], high or bounds[1])
            )
        return fill(torch.empty(size, **{"dtype": torch.int64, **options}), between(low, high))

    def randint_like(input: Any, *bounds: int, **options: Any) -> Any:
        low, high = (0, *bounds)[-2:]
        return fill(torch.empty_like(input, **options), between(low, high))

    def randperm(n: int, generator: Any = None, **options: Any) -> Any:
        return torch.tensor(source.sample(range(n), n), **{"dtype": torch.int64, **options})

    def normal(
        mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None, **options: Any
    ) -> Any:
        if size is None:
            size = torch.broadcast_tensors(torch.as_tensor(mean), torch.as_tensor(std))[0].shape
        return mean + std * fill(torch.empty(size, **options), gauss)

    def normal_(self: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
        return fill(self, lambda x: mean + std * gauss(x))

    def uniform_(self: Any, a: float = 0, b: float = 1, *, generator: Any = None) -> Any:
        return fill(self, lambda _: a + (b - a) * source.random())

    functions = {
        "rand": factory(uniform),
        "randn": factory(gauss),
        "rand_like": like(uniform),
        "randn_like": like(gauss),
        "randint": randint,
        "randint_like": randint_like,
        "randperm": randperm,
        "normal": normal,
    }
    for name, function in functions.items():
        setattr(torch, name, function)
    torch.Tensor.normal_, torch.Tensor.uniform_ = normal_, uniform_
