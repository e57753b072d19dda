"""`engine.onnx.export`: conversion of a model with example inputs to an ONNX model."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.autograd import no_grad
from engine.jit.runtime.function import ScriptFunction
from engine.nn import Module
from engine.onnx.arguments import bind
from engine.onnx.errors import OnnxExporterError

if TYPE_CHECKING:
    from engine.onnx.program import ONNXProgram

OLDEST_OPSET = 13
DEFAULT_OPSET = 18


class TrainingMode(enum.Enum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """PyTorch's ways to write operators; the engine has the first."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_FALLTHROUGH = 2
    ONNX_ATEN_FALLBACK = 3


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Any = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram:
    """Exports a model to ONNX: a scripted one with its branches and loops, any other one by tracing.

    model: a Module, a function, a ScriptModule or ScriptFunction. args, kwargs: example inputs; tensors in them,
    also in lists, tuples and dictionaries, are the inputs, the others are constant. f: a path, whose file is replaced
    when the new one is complete, or an object with `write`; without it the result is only returned.
    dynamic_axes: {"x": {0: "batch"}} or {"x": [0]}, by names of inputs and outputs; dynamic_shapes: the same by
    parameters of `forward`. Sizes of these axes are computed by the model, all others are those of the example.
    opset_version: 13 to the newest of the package `onnx`; 18 by default. export_params=False: weights are inputs;
    keep_initializers_as_inputs: both. do_constant_folding: results that depend only on weights and constants are
    computed at export.
    verbose: prints the model. custom_opsets: the versions of other domains.
    There is one exporter: `dynamo`, `optimize`, `external_data` (weights are in the file) and `autograd_inlining`
    (Functions without a `symbolic` are written as what their `forward` does) change nothing.
    Raises: UnsupportedOperatorError and SymbolicValueError with all unsupported nodes and their source lines;
    ValueError, TypeError and NotImplementedError for arguments; OSError for a path that cannot be written.

    >>> import engine
    >>> program = engine.onnx.export(engine.nn.Linear(2, 1), (engine.ones(3, 2),), input_names=["x"])
    >>> program
    ONNXProgram(x -> output, 1 nodes)
    """
    _refuse(
        custom_translation_table=custom_translation_table,
        report=report,
        verify=verify,
        profile=profile,
        dump_exported_program=dump_exported_program,
        export_modules_as_functions=export_modules_as_functions,
    )
    if operator_export_type is not OperatorExportTypes.ONNX:
        raise NotImplementedError(
            "onnx.export: operator_export_type: only ONNX; register_custom_op_symbolic writes other operators"
        )
    if not isinstance(training, TrainingMode):
        raise TypeError(f"onnx.export: training is a TrainingMode, not {training!r}")
    if training is TrainingMode.TRAINING:
        raise NotImplementedError(
            "onnx.export: TrainingMode.TRAINING: a model of ONNX would neither draw the same random numbers nor keep "
            "running statistics; export it in EVAL"
        )
    _require_onnx()
    from engine.onnx.model import build  # needs the package onnx

    opset = _opset(opset_version)
    _check_target(f)
    if not isinstance(model, (Module, ScriptFunction)) and not callable(model):
        raise TypeError(
            f"onnx.export: expected a Module, a function or what is scripted, got {type(model).__name__}"
        )
    function = model.forward if isinstance(model, Module) else model
    inputs = bind(function, args, kwargs, input_names, dynamic_axes, dynamic_shapes, output_names)
    with _mode(model, training), no_grad():
        program = build(
            model,
            inputs,
            opset=opset,
            export_params=export_params,
            weights_as_inputs=keep_initializers_as_inputs,
            fold=do_constant_folding,
            custom_opsets=dict(custom_opsets or {}),
        )
    if verbose:
        import onnx.printer

        print(onnx.printer.to_text(program.model_proto))
    if f is not None:
        program.save(f)
    return program


_REASONS = {
    "custom_translation_table": "register_custom_op_symbolic says how an operator is written",
    "report": "errors list all that cannot be written",
    "verify": "compare the results of onnxruntime with the model's",
    "profile": "a recorded export shows its times: underhood run",
    "dump_exported_program": "program.ir is the graph",
    "export_modules_as_functions": "each node's metadata names its module",
}


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"onnx.export: {name} does not exist here; {_REASONS[name]}")


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise OnnxExporterError(
            "onnx.export needs the package onnx: pip install 'underhood[onnx]'"
        ) from None


def _opset(version: int | None) -> int:
    import onnx

    newest = onnx.defs.onnx_opset_version()
    if version is None:
        return DEFAULT_OPSET
    if not isinstance(version, int) or isinstance(version, bool):
        raise TypeError(f"onnx.export: opset_version is an int, not {version!r}")
    if not OLDEST_OPSET <= version <= newest:
        raise ValueError(
            f"onnx.export: opset_version {version}: {OLDEST_OPSET} to {newest} can be written"
        )
    return version


def _check_target(f: Any) -> None:
    """Checks the target path before the export."""
    if f is None or hasattr(f, "write"):
        return
    if not isinstance(f, (str, os.PathLike)):
        raise TypeError(f"onnx.export: f is a path or an object with write, not {type(f).__name__}")
    path = Path(f)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"onnx.export: there is no folder {path.parent}")
    if path.is_dir():
        raise IsADirectoryError(f"onnx.export: {path} is a folder")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"onnx.export: the folder {path.parent} cannot be written")


@contextmanager
def _mode(model: Any, training: TrainingMode) -> Iterator[None]:
    """Sets the model's mode inside the `with`, and restores each module's mode afterwards."""
    if not isinstance(model, Module) or training is TrainingMode.PRESERVE:
        yield
        return
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in before:
            module.training = mode


__all__ = ["OperatorExportTypes", "TrainingMode", "export"]
