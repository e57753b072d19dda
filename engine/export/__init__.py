"""PyTorch's ahead-of-time export, which stays out: `jit.save` and `onnx.export` write programs to files."""

from engine.unsupported import module_getattr

_NAMES = (
    "AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature ExportGraphSignature "
    "ExportedProgram FlatArgsAdapter ModuleCallEntry ModuleCallSignature ShapesCollection "
    "UnflattenedModule default_decompositions draft_export export export_for_training load "
    "register_dataclass save unflatten"
)
__all__ = _NAMES.split()

__getattr__ = module_getattr(
    "export",
    _NAMES,
    "use jit.trace or jit.script with jit.save, or onnx.export",
    globals(),
)
