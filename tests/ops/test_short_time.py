"""istft takes back what stft did, in every way of windowing; and PyTorch's numbers where it is there."""

from __future__ import annotations

from typing import Any

import pytest

import engine

WAYS: list[dict[str, Any]] = [
    {"n_fft": 8},
    {"n_fft": 8, "hop_length": 3, "win_length": 6},
    {"n_fft": 7, "normalized": True},
    {"n_fft": 8, "onesided": False},
]


def windowed(module: Any, way: dict[str, Any]) -> dict[str, Any]:
    window = module.arange(way.get("win_length", way["n_fft"]), dtype=module.float64)
    return way | {"window": window * 0.25 + 1}


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("shape", [(40,), (2, 40)])
def test_there_and_back(shape: tuple[int, ...], way: dict[str, Any]) -> None:
    engine.manual_seed(0)
    signal = engine.randn(*shape, dtype=engine.float64, requires_grad=True)
    way = windowed(engine, way)
    spectra = engine.stft(signal, **way, return_complex=True)
    back = engine.istft(spectra, **way, length=40)
    assert back.shape == shape
    assert engine.allclose(back, signal)
    back.square().sum().backward()
    assert engine.allclose(signal.grad, 2 * signal.detach())


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_as_torch(way: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")

    def spectra_and_signal(module: Any) -> list[Any]:
        x = module.arange(40, dtype=module.float64) % 7
        output = windowed(module, way)
        s = module.stft(x, **output, return_complex=True)
        longer = module.istft(s, **output, length=42)
        return [module.view_as_real(s), module.istft(s, **output), longer]

    for ours, other in zip(spectra_and_signal(engine), spectra_and_signal(torch), strict=True):
        assert tuple(ours.shape) == tuple(other.shape)
        assert engine.allclose(ours, engine.tensor(other.numpy()))


def test_complex_signals() -> None:
    signal = engine.complex(engine.arange(20.0), 20 - engine.arange(20.0))
    spectra = engine.stft(signal, 8, window=engine.hann_window(8))
    assert spectra.shape == (8, 11)
    back = engine.istft(spectra, 8, window=engine.hann_window(8), return_complex=True)
    assert engine.allclose(back, signal, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"n_fft": 7}, "match n_fft|n_fft / 2"),
        ({"hop_length": 9}, "hop_length"),
        ({"win_length": 9}, "win_length"),
        ({"window": engine.zeros(8)}, "window overlap add"),
        ({"return_complex": True}, "onesided"),
    ],
)
def test_what_does_not_fit(options: dict[str, Any], pattern: str) -> None:
    spectra = engine.stft(engine.ones(20), 8, return_complex=True)
    with pytest.raises(RuntimeError, match=pattern):
        engine.istft(spectra, **{"n_fft": 8, **options})
    with pytest.raises(RuntimeError, match="complex-valued"):
        engine.istft(engine.ones(5, 3), 8)
