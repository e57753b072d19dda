"""The harness with PyTorch in the engine's place: whatever it reports is a fault of the harness.

python tests/conformance/pytorch_itself.py [arguments of run.py]
"""

from __future__ import annotations

import sys
import types
from typing import Any

import torch


class StandIn(types.ModuleType):
    """PyTorch under the engine's name; what is set on it takes precedence (a fault put in on purpose)."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


engine = StandIn("engine")
sys.modules["engine"] = engine

import bridge  # noqa: E402
import run  # noqa: E402

bridge.engine_dtype = bridge.torch_dtype = lambda dtype: dtype
bridge.to_torch = lambda t: t if t.is_meta else t.detach().clone()
bridge.Arguments._to_engine = bridge.Arguments._to_torch  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(run.main())
