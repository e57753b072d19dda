"""Fourier transforms, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from table import Bad, Row, Sample, array

REAL = ("float32", "float64")
# By passes of every radix, and by several after one another; 31, 97 and 127 in one; larger primes as a
# convolution over p - 1 numbers, those of 263 and 262 = 2 * 131 over a power of two.
LENGTHS = (
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    11,
    12,
    13,
    16,
    17,
    30,
    31,
    49,
    62,
    64,
    75,
    96,
    97,
    127,
    128,
    131,
    243,
)
LENGTHS += (257, 262, 263, 264, 403, 512)


def lines(dtype: str) -> Iterator[Sample]:
    for n in LENGTHS:
        yield Sample((array(dtype, 2, n, low=-1, high=1),), {}, f"{n} points")
    x = array(dtype, 4, 6, low=-1, high=1)
    yield Sample((array(dtype, 19, 24, low=-1, high=1),), {"dim": 0}, "many lines side by side")
    yield Sample((array(dtype, 19, 25, low=-1, high=1),), {"dim": 0}, "an odd number of them")
    for options in ({"n": 4}, {"n": 9}, {"dim": 0}, {"norm": "ortho"}, {"norm": "forward"}):
        yield Sample((x,), options, str(options))


def planes(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 3, 4, 5, low=-1, high=1)
    for options in ({}, {"s": (2, 6)}, {"dim": (0, 2)}, {"norm": "ortho"}):
        yield Sample((x,), options, str(options))


def longer(samples: Callable[[str], Iterator[Sample]]) -> Callable[[str], Iterator[Sample]]:
    """Without the lines of one value, from which no length can be guessed."""

    def longer(dtype: str) -> Iterator[Sample]:
        return (s for s in samples(dtype) if s.name != "1 points")

    return longer


def axis(reference: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function under PyTorch's names of arguments."""

    def call(x: np.ndarray, **options: Any) -> Any:
        if "dim" in options:
            dim = options.pop("dim")
            options["axis" if isinstance(dim, int) else "axes"] = dim
        return reference(x, **options)

    return call


def any_axes(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The last len(s) dimensions where sizes are given without dimensions."""

    def call(x: np.ndarray, **options: Any) -> Any:
        if "s" in options and "axes" not in options:
            options["axes"] = tuple(range(-len(options["s"]), 0))
        return reference(x, **options)

    return axis(call)


def moved(dtype: str) -> Iterator[Sample]:
    for shape in ((4,), (5,), (3, 4)):
        yield Sample((array(dtype, *shape),), {}, str(shape))


def frequencies(dtype: str) -> Iterator[Sample]:
    for n in (1, 4, 5):
        yield Sample((n,), {"d": 0.5}, str(n))


POINTS = Bad(lambda m: m.fft.fft(m.ones(3), n=0), RuntimeError, "Invalid number of data points")
NORM = Bad(lambda m: m.fft.fft(m.ones(3), norm="x"), RuntimeError, "Invalid normalization mode")
COMPLEX = Bad(
    lambda m: m.fft.rfft(m.ones(3, dtype=m.complex64)), RuntimeError, "expects a real input"
)
TWICE = Bad(lambda m: m.fft.fftn(m.ones(3, 3), dim=(0, 0)), RuntimeError, "dims must be unique")

f = np.fft


def hermitian(x: np.ndarray, **options: Any) -> np.ndarray:
    """NumPy has hfft of lines alone: many dimensions are the inverse of rfft of the conjugate."""
    return f.irfftn(np.conj(x), **{**options, "norm": _opposite(options.get("norm"))})


def inverse_hermitian(x: np.ndarray, **options: Any) -> np.ndarray:
    return np.conj(f.rfftn(x, **{**options, "norm": _opposite(options.get("norm"))}))


def _opposite(norm: str | None) -> str:
    return {"forward": "backward", "ortho": "ortho"}.get(norm or "backward", "forward")


def last_two(reference: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **options: reference(x, **{"axes": (-2, -1), **options})


def windows(dtype: str) -> Iterator[Sample]:
    """Windows of a signal, with every option."""
    x, two = array(dtype, 20, low=-1, high=1), array(dtype, 2, 20, low=-1, high=1)
    window = array(dtype, 5, low=1, high=2)
    for options in (
        {},
        {"center": False, "hop_length": 3},
        {"win_length": 5, "window": window, "normalized": True},
        {"pad_mode": "constant", "onesided": False},
        {"win_length": 5, "center": False, "align_to_window": True},
    ):
        for signal in (x, two):
            recorded = {k: v for k, v in options.items() if k != "window"}
            extra = (8, recorded.pop("hop_length", None), recorded.pop("win_length", None))
            arguments = (options["window"],) if "window" in options else (None,)
            recorded["return_complex"] = True
            yield Sample(
                (signal, *extra, *arguments), recorded, f"{signal.values.shape} {sorted(options)}"
            )


def windowed(
    x: np.ndarray,
    n_fft: int,
    hop: int | None,
    length: int | None,
    window: np.ndarray | None,
    *,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
    align_to_window: bool = False,
    return_complex: bool = True,
) -> np.ndarray:
    """Return the short-time transform, window by window."""
    hop, length = hop or n_fft // 4, length or n_fft
    full = np.zeros(n_fft)
    before = (n_fft - length) // 2
    full[before : before + length] = 1 if window is None else window
    lead = [(0, 0)] * (x.ndim - 1)
    if center:
        x = np.pad(x, [*lead, (n_fft // 2, n_fft // 2)], mode=pad_mode)
    if align_to_window:
        x = np.pad(x, [*lead, (before, n_fft - length - before)])
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    frames = np.stack([x[..., s : s + n_fft] * full for s in starts], -2)
    result = (f.rfft if onesided else f.fft)(frames, norm="ortho" if normalized else None)
    return np.swapaxes(result, -1, -2)


HALF = Bad(lambda m: m.stft(m.ones(9), 4), RuntimeError, "requires the return_complex parameter")
LONG = Bad(
    lambda m: m.stft(m.ones(9), 16, center=False, return_complex=True), RuntimeError, "n_fft"
)
WIDE = Bad(
    lambda m: m.stft(m.ones(9), 4, win_length=5, return_complex=True), RuntimeError, "win_length"
)

ROWS = [
    Row("stft", windowed, windows, REAL, "to complex", bad=(HALF, LONG, WIDE)),
    Row("fft.fft", axis(f.fft), lines, REAL, "to complex", bad=(POINTS, NORM)),
    Row("fft.ifft", axis(f.ifft), lines, REAL, "to complex"),
    Row("fft.rfft", axis(f.rfft), lines, REAL, "to complex", bad=(COMPLEX,)),
    Row("fft.irfft", axis(f.irfft), longer(lines), REAL),
    Row("fft.hfft", axis(f.hfft), longer(lines), REAL),
    Row("fft.ihfft", axis(f.ihfft), lines, REAL, "to complex"),
    Row("fft.fft2", any_axes(f.fft2), planes, REAL, "to complex"),
    Row("fft.ifft2", any_axes(f.ifft2), planes, REAL, "to complex"),
    Row("fft.rfft2", any_axes(f.rfft2), planes, REAL, "to complex"),
    Row("fft.irfft2", any_axes(f.irfft2), planes, REAL),
    Row("fft.fftn", any_axes(f.fftn), planes, REAL, "to complex", bad=(TWICE,)),
    Row("fft.ifftn", any_axes(f.ifftn), planes, REAL, "to complex"),
    Row("fft.rfftn", any_axes(f.rfftn), planes, REAL, "to complex"),
    Row("fft.irfftn", any_axes(f.irfftn), planes, REAL),
    Row("fft.hfft2", any_axes(last_two(hermitian)), planes, REAL),
    Row("fft.hfftn", any_axes(hermitian), planes, REAL),
    Row("fft.ihfft2", any_axes(last_two(inverse_hermitian)), planes, REAL, "to complex"),
    Row("fft.ihfftn", any_axes(inverse_hermitian), planes, REAL, "to complex"),
    Row("fft.fftshift", f.fftshift, moved),
    Row("fft.ifftshift", f.ifftshift, moved),
    Row("fft.fftfreq", f.fftfreq, frequencies, ("float32",), "float32"),
    Row("fft.rfftfreq", f.rfftfreq, frequencies, ("float32",), "float32"),
]
