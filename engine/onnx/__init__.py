"""The API of `torch.onnx`: export of models. Needs the package `onnx`, the extra `[onnx]`."""

from engine.onnx import errors, state, symbolic_helper
from engine.onnx.errors import OnnxExporterError
from engine.onnx.export import OperatorExportTypes, TrainingMode, export
from engine.onnx.registry import register_custom_op_symbolic, unregister_custom_op_symbolic

__all__ = [
    "OnnxExporterError",
    "OperatorExportTypes",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "symbolic_helper",
    "unregister_custom_op_symbolic",
]


def is_in_onnx_export() -> bool:
    """Returns whether this thread is exporting a model."""
    return state.calls() is not None
