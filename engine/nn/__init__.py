"""Neural networks. So far their functions: `engine.nn.functional`."""

from __future__ import annotations

from engine.nn import functional as functional
