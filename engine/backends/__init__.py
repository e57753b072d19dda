"""What the engine computes with: `engine.backends.cpu` (instruction set), `engine.backends.blas`."""

from engine.backends import blas, cpu

__all__ = ["blas", "cpu"]
