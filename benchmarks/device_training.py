"""Training steps on a device and on the CPU: `python benchmarks/device_training.py [--device opencl] [--steps 20]`.

A LeNet, an LSTM and a small transformer start from equal weights on both. Printed: the time of a step (after two
that compile kernels), how far the losses are apart, and the operators that fell back to the CPU, with their calls.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import engine
from engine import nn
from engine._native import ffi, lib
from engine.nn import functional as F

VOCABULARY = 50


class Sequence(nn.Module):
    """Words of a text from those before them: an embedding, an LSTM of two layers, a linear layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, x: engine.Tensor) -> engine.Tensor:
        return self.head(self.lstm(self.tokens(x))[0]).flatten(0, 1)


class Transformer(nn.Module):
    """The same by attention: embeddings of words and places, two layers with a causal mask."""

    def __init__(self, width: int, length: int, dropout: float) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, x: engine.Tensor) -> engine.Tensor:
        length = x.shape[1]
        hidden = self.tokens(x) + self.positions(engine.arange(length, device=x.device))
        mask = engine.triu(engine.full((length, length), float("-inf"), device=x.device), 1)
        return self.head(self.layers(hidden, mask=mask)).flatten(0, 1)


class Workload(NamedTuple):
    """A network, a batch, the classes of its rows, and the optimizer of the parameters."""

    network: nn.Module
    batch: engine.Tensor
    classes: engine.Tensor
    optimizer: Callable[[Any], Any]


def lenet(scale: int) -> Workload:
    network = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(400, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    batch = 8 * scale
    return Workload(
        network,
        engine.randn(batch, 1, 28, 28),
        engine.randint(10, (batch,)),
        lambda parameters: engine.optim.SGD(parameters, lr=0.05, momentum=0.9),
    )


def lstm(scale: int) -> Workload:
    return Workload(
        Sequence(16 * scale),
        engine.randint(VOCABULARY, (4, 9)),
        engine.randint(VOCABULARY, (36,)),
        lambda parameters: engine.optim.Adam(parameters, lr=0.01),
    )


def transformer(scale: int) -> Workload:
    return Workload(
        Transformer(16 * scale, 9, 0.1),
        engine.randint(VOCABULARY, (4, 9)),
        engine.randint(VOCABULARY, (36,)),
        lambda parameters: engine.optim.AdamW(parameters, lr=0.005),
    )


WORKLOADS = {"lenet": lenet, "lstm": lstm, "transformer": transformer}


def train(name: str, device: str, steps: int, scale: int = 1) -> tuple[list[float], float]:
    """Return the loss of every step, and the seconds of a step, without the first two."""
    engine.manual_seed(0)
    network, batch, classes, optimizer_of = WORKLOADS[name](scale)
    engine.manual_seed(0)  # the same random numbers on every device
    network.to(device)
    batch, classes = batch.to(device), classes.to(device)
    optimizer = optimizer_of(network.parameters())
    losses: list[float] = []
    begin = time.perf_counter()
    for step in range(steps):
        if step == 2:
            begin = time.perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(network(batch), classes)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, (time.perf_counter() - begin) / max(1, steps - 2)


def fallbacks() -> dict[str, int]:
    """Return the operators that the CPU computed for a device, with the number of their calls."""
    return json.loads(ffi.string(lib.uh_cpu_fallback_counts()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--scale", type=int, default=4, help="width of the networks and batches")
    arguments = parser.parse_args()
    print(f"{'':12} {'cpu':>9} {arguments.device:>9}   losses apart   fallbacks")
    for name in WORKLOADS:
        expected, of_cpu = train(name, "cpu", arguments.steps, arguments.scale)
        lib.uh_cpu_fallback_reset()
        losses, of_device = train(name, arguments.device, arguments.steps, arguments.scale)
        apart = max(abs(a - b) for a, b in zip(losses, expected, strict=True))
        print(
            f"{name:12} {of_cpu * 1e3:6.2f} ms {of_device * 1e3:6.2f} ms   {apart:12.1e}   {fallbacks() or 'none'}"
        )


if __name__ == "__main__":
    main()
