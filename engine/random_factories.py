"""Factories of random tensors, from the process's generator or one that the caller passes.

The numbers come from the operators of csrc/ops/random.yaml; generators are in random.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine._generated import ops
from engine.arguments import check_tensor
from engine.creation import Device, finish, like_factory, result_dtype, size_arguments
from engine.dtypes import dtype
from engine.marshal import python_number
from engine.random import Generator, drawing
from engine.tensor import Tensor

__all__ = [
    "bernoulli",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
]


def rand(
    *args: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return numbers drawn uniformly from [0, 1).

    >>> import engine
    >>> bool((engine.rand(100) < 1).all())
    True
    """
    sizes = size_arguments(args, size, "rand")
    if generator is None and out is None:  # the usual call
        result = ops.rand(*sizes, dtype=dtype, device=device)
        return result.requires_grad_() if requires_grad else result
    dtype = result_dtype(out, dtype, "rand")
    with drawing(generator, "rand", device):
        result = ops.rand(*sizes, dtype=dtype, device=device)
    return finish(result, out, requires_grad)


def randn(
    *args: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return numbers drawn from the normal distribution with mean 0 and standard deviation 1."""
    sizes = size_arguments(args, size, "randn")
    if generator is None and out is None:  # the usual call
        result = ops.randn(*sizes, dtype=dtype, device=device)
        return result.requires_grad_() if requires_grad else result
    dtype = result_dtype(out, dtype, "randn")
    with drawing(generator, "randn", device):
        result = ops.randn(*sizes, dtype=dtype, device=device)
    return finish(result, out, requires_grad)


def randint(
    low: int | None = None,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return integers drawn uniformly from [low, high): `randint(high, size)` or `randint(low, high, size)`.

    Dtype: int64 by default. Raises: RuntimeError for an empty interval.

    >>> import engine
    >>> engine.randint(3, 4, (2,))
    tensor([3, 3])
    """
    if low is None:
        low = 0
    elif high is None or isinstance(high, (tuple, list)):  # randint(high, size)
        size = size if high is None else high
        low, high = 0, low
    if high is None:
        raise TypeError("randint: missing the argument 'high', the first integer that is not drawn")
    if size is None:
        raise TypeError("randint: missing the argument 'size', a tuple of ints")
    dtype = result_dtype(out, dtype, "randint")
    with drawing(generator, "randint", device):
        result = ops.randint(low, high, size, dtype=dtype, device=device)
    return finish(result, out, requires_grad)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return the numbers 0 to n - 1 in random order."""
    dtype = result_dtype(out, dtype, "randperm")
    with drawing(generator, "randperm", device):
        result = ops.randperm(n, dtype=dtype, device=device)
    return finish(result, out, requires_grad)


rand_like = like_factory("rand_like", "Uniform draws from [0, 1) with")
randn_like = like_factory("randn_like", "Normal draws with")
_randint_like = like_factory("randint_like", "Uniform integers with")


def randint_like(input: Tensor, low: int, high: int | None = None, **options: Any) -> Tensor:
    """Return integers drawn uniformly from [low, high), or [0, low), in a tensor like `input`."""
    if high is None:
        low, high = 0, low
    result: Tensor = _randint_like(input, low, high, **options)
    return result


def _into(out: Tensor | None, result: Tensor, function: str) -> Tensor:
    """Move a drawn tensor into `out`, if there is one; it must have the same dtype."""
    if out is None:
        return result
    result_dtype(out, result.dtype, function)
    return finish(result, out, False)


def bernoulli(
    input: Tensor,
    p: float | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Draw 1 with the probability in each element of `input` (or with probability `p`), else 0.

    Dtype: that of `out`, or of `input`. Raises: RuntimeError unless every probability is in [0, 1].

    >>> import engine
    >>> engine.bernoulli(engine.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    check_tensor("bernoulli", "input", input)
    with drawing(generator, "bernoulli", input.device):
        result = ops.bernoulli(input) if p is None else ops.bernoulli_p(input, p)
    return finish(result.to(out.dtype) if isinstance(out, Tensor) else result, out, False)


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return indices into each row of weights, drawn in proportion to the weights.

    Shape: (n) gives (num_samples), (m, n) gives (m, num_samples). Dtype: int64.
    Raises: RuntimeError for weights that are negative or not finite, rows without positive weights, and more
    samples without replacement than a row has weights.

    >>> import engine
    >>> engine.multinomial(engine.tensor([0.0, 1.0]), 1)
    tensor([1])
    """
    check_tensor("multinomial", "input", input)
    with drawing(generator, "multinomial", input.device):
        result = ops.multinomial(input, num_samples, replacement)
    return _into(out, result, "multinomial")


def normal(
    mean: Tensor | float,
    std: Tensor | float = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return normal draws; `mean` and `std` are tensors that broadcast, or numbers with a `size`.

    Raises: RuntimeError for a negative standard deviation.

    >>> import engine
    >>> engine.normal(2.0, 0.0, (2,))
    tensor([2., 2.])
    """
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"normal(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out is not None and not (out.is_floating_point() or out.is_complex()):
        raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{out.dtype.title}'")
    if size is not None:  # two numbers
        mean, std = python_number(mean), python_number(std)
    tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
    with drawing(generator, "normal", tensors[0].device if tensors else device):
        if isinstance(mean, Tensor) or isinstance(std, Tensor):
            for argument, value in (("mean", mean), ("std", std)):
                if not isinstance(value, (Tensor, int, float)):
                    raise TypeError(
                        f"normal(): argument '{argument}' must be float or Tensor, "
                        f"not {type(value).__name__}"
                    )
            if not isinstance(std, Tensor) and std < 0:
                raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
            like = mean if isinstance(mean, Tensor) else std
            result = ops.normal(_as_operand(mean, like), _as_operand(std, like))
        elif size is None:
            raise TypeError("normal: two numbers need a size, such as normal(0.0, 1.0, (2, 3))")
        else:
            kind = result_dtype(out, dtype, "normal")
            result = ops.normal_(ops.empty(size, dtype=kind, device=device), mean, std)
    has_one_tensor = isinstance(mean, Tensor) != isinstance(std, Tensor)
    # With two tensors, or none, `out` is resized.
    if has_one_tensor and out is not None and out.shape != result.shape:
        raise RuntimeError(
            f"normal: the shape {tuple(result.shape)} of the draws is not that of out, {tuple(out.shape)}"
        )
    has_tensors = isinstance(mean, Tensor) or isinstance(std, Tensor)
    if has_tensors and out is not None and out.is_floating_point():  # `out` keeps its dtype
        result = ops._to_copy(result, dtype=out.dtype)
    result = _into(out, result, "normal")
    return result.requires_grad_(requires_grad) if requires_grad else result


def _as_operand(value: Tensor | float, like: Any) -> Tensor:
    return value if isinstance(value, Tensor) else ops.scalar_tensor(value, dtype=like.dtype)


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draws from the Poisson distribution; each element of `input` is a rate.

    Raises: RuntimeError for negative rates.

    >>> import engine
    >>> engine.poisson(engine.zeros(2))
    tensor([0., 0.])
    """
    check_tensor("poisson", "input", input)
    with drawing(generator, "poisson", input.device):
        return ops.poisson(input)


_DRAWING = {
    "uniform_": "Set every element to a uniform draw from [from, to).",
    "normal_": "Set every element to a draw from the normal distribution with `mean` and `std`.",
    "exponential_": "Set every element to -log(1 - u) / lambd for a uniform draw u from [0, 1).",
    "geometric_": "Set every element to the number of trials until the first success, which has probability `p`.",
    "cauchy_": "Set every element to median + sigma * tan(pi * (u - 1/2)) for a uniform draw u.",
    "log_normal_": "Set every element to e to the power of a normal draw with `mean` and `std`.",
}


def _drawing_method(name: str) -> Any:
    def drawn(
        input: Tensor, *args: Any, generator: Generator | None = None, **options: Any
    ) -> Tensor:
        with drawing(generator, name, input.device):
            result: Tensor = getattr(ops, name)(input, *args, **options)
            return result

    drawn.__name__ = drawn.__qualname__ = name
    drawn.__doc__ = f"{_DRAWING[name]} Raises: RuntimeError outside of the parameters' range."
    return drawn


def bernoulli_(
    input: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Set every element to 1 with probability `p` (a number, or a tensor that broadcasts), else to 0."""
    with drawing(generator, "bernoulli_", input.device):
        if isinstance(p, Tensor):
            return ops.bernoulli_(input, p)
        return ops.bernoulli__float(input, p)


METHODS = {name: _drawing_method(name) for name in _DRAWING}
METHODS.update(bernoulli_=bernoulli_, bernoulli=bernoulli, multinomial=multinomial)
