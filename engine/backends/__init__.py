"""The libraries and instruction sets in use: `engine.backends.cpu`, `engine.backends.blas`."""

from engine.backends import blas, cpu

__all__ = ["blas", "cpu"]
