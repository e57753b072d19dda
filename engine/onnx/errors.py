"""The errors of an export, by PyTorch's names (`torch.onnx.errors`)."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """A model cannot be exported, or what an export needs is missing."""


class UnsupportedOperatorError(OnnxExporterError):
    """The model calls operators that have no ONNX form; the message lists all of them with their lines."""


class SymbolicValueError(OnnxExporterError):
    """One operator cannot be written for these arguments, such as a size that is not constant."""


__all__ = ["OnnxExporterError", "SymbolicValueError", "UnsupportedOperatorError"]
