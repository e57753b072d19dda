"""The peak memory of training steps, compared with PyTorch's: `python benchmarks/memory.py [REGEX] [--json]`.

A figure is how far the process's resident memory rises above what it was before the network was built:
parameters, their gradients, the optimizer's state, saved tensors, and what the allocator keeps. Each is
taken in a separate process, after a step of the same network on one small input, which loads the code it runs.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = 4
MIB = 1 << 20

# A network, a small batch and a batch as large as in training.
Example = tuple[Any, tuple[int, ...], tuple[int, ...]]


def lenet(m: Any) -> Example:
    nn = m.nn
    network = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10),
    )  # fmt: skip
    return network, (1, 1, 28, 28), (512, 1, 28, 28)


def lstm(m: Any) -> Example:
    class Last(m.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = m.nn.LSTM(64, 256, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    return Last(), (1, 2, 64), (64, 100, 64)


def transformer(m: Any) -> Example:
    network = m.nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.1, batch_first=True)
    return network, (1, 4, 256), (16, 256, 256)


def resnet(m: Any) -> Example:
    nn = m.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.path = nn.Sequential(
                nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64),
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return m.relu(x + self.path(x))

    return nn.Sequential(Block(), Block()), (1, 64, 8, 8), (16, 64, 56, 56)


NETWORKS: dict[str, Callable[[Any], Example]] = {
    "LeNet, 512 images": lenet,
    "LSTM, 64 sequences of 100": lstm,
    "transformer block, 16 sequences of 256": transformer,
    "two ResNet blocks, 16 images of 56x56": resnet,
}


def train(m: Any, network: Any, batch: tuple[int, ...], steps: int) -> None:
    x = m.ones(*batch)
    optimizer = m.optim.Adam(network.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        network(x).square().mean().backward()
        optimizer.step()


def resident(key: str) -> int:
    """Bytes: VmRSS now, or VmHWM, the most since the process began or the mark was reset."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(rf"{key}:\s+(\d+) kB", status)[0]) << 10


def peak(module: str, name: str) -> int:
    """Builds and trains a network; returns how far the memory of this process rises."""
    m = importlib.import_module(module)
    m.set_num_threads(1)
    network, small, batch = NETWORKS[name](m)
    train(m, network, small, 1)
    del network
    gc.collect()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the mark
    network, _, _ = NETWORKS[name](m)
    train(m, network, batch, STEPS)
    return resident("VmHWM") - before


def measured(module: str, name: str) -> int:
    done = subprocess.run(
        [sys.executable, __file__, "--one", module, name],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pattern", nargs="?", default="", help="only networks whose name matches")
    parser.add_argument("--json", action="store_true", help="print JSON: bytes by network")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(peak(*options.one))
        return 0
    modules = ["engine", *(["torch"] if importlib.util.find_spec("torch") else [])]
    peaks = {
        name: {module: measured(module, name) for module in modules}
        for name in NETWORKS
        if re.search(options.pattern, name)
    }
    if not peaks:
        parser.error(f"no network matches {options.pattern!r}; there are {', '.join(NETWORKS)}")
    if options.json:
        print(json.dumps(peaks, indent=1))
        return 0
    for name, by_module in peaks.items():
        text = " ".join(f"{module} {size / MIB:7.1f} MiB" for module, size in by_module.items())
        ratio = f"{by_module['engine'] / by_module['torch']:7.2f}" if "torch" in by_module else ""
        print(f"{name:<42} {text} {ratio}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
