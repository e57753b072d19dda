"""PyTorch's `torch.utils.tensorboard`: event files for TensorBoard, written by the package tensorboardX.

tensorboardX is the extra `tensorboard`; it needs neither TensorFlow nor TensorBoard.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from engine._native.namespace import namespace
from engine.tensor import Tensor

try:
    import tensorboardX
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "SummaryWriter needs the package tensorboardX: pip install 'underhood[tensorboard]'"
    ) from error

__all__ = ["SummaryWriter"]


def _to_numpy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().numpy() if value.dim() else value.item()
    if isinstance(value, dict):
        return {key: _to_numpy(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_to_numpy, value))
    return value


def _with_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    """Pass tensors on as NumPy's arrays, and those of one number as numbers."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *_to_numpy(args), **_to_numpy(kwargs))

    return call


class SummaryWriter(tensorboardX.SummaryWriter):
    """Writes scalars, histograms, images, text and more into an event file in `log_dir`.

    Every method that tensorboardX documents takes tensors. The default folder is runs/TIME_HOST.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        folder = None if log_dir is None else str(log_dir)
        super().__init__(folder, comment, purge_step, max_queue, flush_secs, filename_suffix)
        self.log_dir = self.logdir

    def get_logdir(self) -> str:
        """Return the folder of the event files."""
        return str(self.log_dir)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write one number; TensorBoard reads both of PyTorch's styles in the same way."""
        super().add_scalar(tag, _to_numpy(scalar_value), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Write hyperparameters and the metrics that they led to, as a separate run."""
        metrics = _to_numpy(metric_dict)
        super().add_hparams(_to_numpy(hparam_dict), metrics, run_name, global_step)

    def add_graph(self, model: Any, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError: TensorBoard's graphs are TensorFlow's."""
        raise NotImplementedError(
            "SummaryWriter.add_graph is not supported; `underhood show --view jit` shows a model's graph, and "
            f"{namespace()}.onnx.export writes one for other viewers"
        )


for _name in dir(tensorboardX.SummaryWriter):
    if _name.startswith("add_") and _name not in vars(SummaryWriter):
        setattr(SummaryWriter, _name, _with_arrays(getattr(tensorboardX.SummaryWriter, _name)))
