"""Versions of the engine and of the libraries that PyTorch may be compiled with: None if absent."""

__version__ = "0.1.0"
pytorch = "2.13.0"  # the PyTorch version that the engine follows
debug = False
cuda = None
hip = None
rocm = None
xpu = None
