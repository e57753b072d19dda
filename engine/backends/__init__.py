"""The libraries and instruction sets in use, and PyTorch's switches for those that are absent."""

from __future__ import annotations

from engine.backends import blas, cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = [
    "blas",
    "cpu",
    "cuda",
    "cudnn",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "openmp",
    "opt_einsum",
]
