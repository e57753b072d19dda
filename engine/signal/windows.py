"""Window functions under PyTorch's names: `engine.signal.windows.hann`, `kaiser`, `gaussian`...

Each has M points. A symmetric window (`sym=True`) is for the design of filters; the periodic one is the symmetric
window of M + 1 points without its last, for spectra.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from engine._generated import ops
from engine.creation import arange, empty, linspace, ones, tensor
from engine.dtypes import dtype, float32, float64, get_default_dtype, strided
from engine.tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


class _Options:
    """The keyword arguments of a window's result. Raises: ValueError for what a window cannot be."""

    def __init__(
        self, window: str, M: int, dtype: dtype | None, layout: Any, device: Any, grad: bool
    ) -> None:
        if M < 0:
            raise ValueError(f"{window} requires non-negative window length, got M={M}")
        if layout is not strided:
            raise ValueError(f"{window} is implemented for strided tensors only, got: {layout}")
        dtype = get_default_dtype() if dtype is None else dtype
        if dtype not in (float32, float64):
            raise ValueError(f"{window} expects float32 or float64 dtypes, got: {dtype}")
        self.of_result = {"dtype": dtype, "device": device, "requires_grad": grad}

    def empty(self) -> Tensor:
        """Return the window of no points."""
        return empty((0,), **self.of_result)

    def single(self) -> Tensor:
        """Return the window of one point."""
        return ones((1,), **self.of_result)

    def points(self, start: Any, end: Any, M: int) -> Tensor:
        """Return M numbers evenly spaced, both ends included."""
        return linspace(start, end, M, **self.of_result)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a window that decays exponentially from `center` (the middle) on both sides.

    Formula: exp(-abs(n - center) / tau). Raises: ValueError for tau <= 0, or a center of a symmetric window.

    >>> import engine
    >>> engine.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    options = _Options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return options.empty()
    if center is None:
        center = (M - 1 if sym or M == 1 else M) / 2
    return ops.exp(-ops.abs(options.points(-center / tau, (M - 1 - center) / tau, M)))


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return half a period of a sine.

    Formula: sin(pi (n + 1/2) / M).

    >>> import engine
    >>> engine.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    options = _Options("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return options.empty()
    step = math.pi / (M if sym or M == 1 else M + 1)
    return ops.sin(options.points(0.5 * step, (M - 0.5) * step, M))


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a bell of standard deviation `std`, in points.

    Formula: exp(-((n - center) / std) ** 2 / 2). Raises: ValueError for std <= 0.

    >>> import engine
    >>> engine.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    options = _Options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return options.empty()
    center, scale = (M - 1 if sym or M == 1 else M) / 2, std * math.sqrt(2)
    return ops.exp(-ops.square(options.points(-center / scale, (M - 1 - center) / scale, M)))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a Kaiser window: a narrow peak with weak side lobes; a larger `beta` weakens them further.

    Formula: I0(sqrt(beta ** 2 - k ** 2)) / I0(beta), k from -beta to beta. Raises: ValueError for beta < 0.

    >>> import engine
    >>> engine.signal.windows.kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    options = _Options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return options.single() if M else options.empty()
    # In the dtype of the result, so that the last k is not above beta: the square root would be NaN.
    limit = tensor(beta, dtype=options.of_result["dtype"], device=device)
    step = limit * 2.0 / (M - 1 if sym else M)
    k = options.points(-limit, ops.minimum(limit, step * (M - 1) - limit), M)
    return ops.i0(ops.sqrt(limit * limit - ops.square(k))) / ops.i0(limit)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a triangle whose ends are 0.

    Formula: 1 - abs(2 n / (M - 1) - 1).

    >>> import engine
    >>> engine.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """
    options = _Options("bartlett", M, dtype, layout, device, requires_grad)
    if M < 2:
        return options.single() if M else options.empty()
    step = 2 / (M - 1 if sym else M)
    return 1 - ops.abs(options.points(-1, (M - 1) * step - 1, M))


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a sum of cosines with the coefficients `a`.

    Formula: a[0] - a[1] cos(2 pi n / (M - 1)) + a[2] cos(4 pi n / (M - 1)) - ...
    Raises: TypeError when `a` is not a sequence, ValueError when it is empty.

    >>> import engine
    >>> engine.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    options = _Options("general_cosine", M, dtype, layout, device, requires_grad)
    if M < 2:
        return options.single() if M else options.empty()
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    step = 2 * math.pi / (M - 1 if sym else M)
    angles = options.points(0, (M - 1) * step, M)
    signed = [-weight if i % 2 else weight for i, weight in enumerate(a)]
    weights = tensor(signed, **options.of_result)
    order = arange(len(signed), dtype=angles.dtype, device=device)
    return (weights.unsqueeze(-1) * ops.cos(order.unsqueeze(-1) * angles)).sum(0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a raised cosine.

    Formula: alpha - (1 - alpha) cos(2 pi n / (M - 1)).

    >>> import engine
    >>> engine.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(
        M,
        a=[alpha, 1.0 - alpha],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def _cosines(name: str, a: list[float], doc: str, example: str) -> Any:
    """Return the `general_cosine` of fixed coefficients."""

    def window(
        M: int,
        *,
        sym: bool = True,
        dtype: dtype | None = None,
        layout: Any = strided,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        return general_cosine(
            M,
            a=a,
            sym=sym,
            dtype=dtype,
            layout=layout,
            device=device,
            requires_grad=requires_grad,
        )

    window.__name__ = window.__qualname__ = name
    window.__doc__ = (
        f"{doc}\n\n    Formula: that of `general_cosine`, a = {a}.\n\n"
        f"    >>> import engine\n    >>> engine.signal.windows.{name}(5)[1:4]\n    {example}\n    "
    )
    return window


hamming = _cosines(
    "hamming",
    [0.54, 0.46],
    "A raised cosine whose nearest side lobe is the weakest.",
    "tensor([0.5400, 1.0000, 0.5400])",
)
hann = _cosines(
    "hann", [0.5, 0.5], "A raised cosine whose ends are 0.", "tensor([0.5000, 1.0000, 0.5000])"
)
blackman = _cosines(
    "blackman",
    [0.42, 0.5, 0.08],
    "Three cosines, with weaker side lobes than `hann`.",
    "tensor([0.3400, 1.0000, 0.3400])",
)
nuttall = _cosines(
    "nuttall",
    [0.3635819, 0.4891775, 0.1365995, 0.0106411],
    "Four cosines, with very weak side lobes.",
    "tensor([0.2270, 1.0000, 0.2270])",
)
