"""Images of other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import dtypes
from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value

_MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}


def _upsample(name: str, mode: str) -> None:
    @symbolic(f"upsample_{name}")
    def write(
        g: Builder,
        self: Value | None = None,
        input: Value | None = None,
        output_size: Any = None,
        align_corners: bool = False,
        scale_factors: Any = None,
        **scales: Any,
    ) -> Any:
        value = self if self is not None else input
        assert value is not None
        rank = g.rank_of(value) - 2
        if scale_factors is None and output_size is None:
            raise SymbolicValueError("neither a size nor a factor is known")
        options: dict[str, Any] = {"mode_s": _MODES[mode]}
        if mode == "nearest":
            options.update(coordinate_transformation_mode_s="asymmetric", nearest_mode_s="floor")
        elif align_corners:
            options["coordinate_transformation_mode_s"] = "align_corners"
        else:
            # one pixel becomes the first one, as in the engine
            options["coordinate_transformation_mode_s"] = "pytorch_half_pixel"
        if mode == "bicubic":
            options["cubic_coeff_a_f"] = -0.75
        if scale_factors is not None:
            factors = np.array([1.0, 1.0, *scale_factors], dtype=np.float32)
            return g.op("Resize", value, None, g.constant(factors), **options)
        sizes = list(output_size)
        if len(sizes) != rank:
            raise SymbolicValueError(f"{len(sizes)} sizes for {rank} axes")
        target = g.vector([g.size_of(value, 0), g.size_of(value, 1), *sizes])
        return g.op("Resize", value, None, None, g.cast(target, dtypes.int64), **options)


for _name, _mode in (
    ("nearest1d", "nearest"),
    ("nearest2d", "nearest"),
    ("nearest3d", "nearest"),
    ("linear1d", "linear"),
    ("bilinear2d", "bilinear"),
    ("trilinear3d", "trilinear"),
    ("bicubic2d", "bicubic"),
):
    _upsample(_name, _mode)


@symbolic("grid_sampler")
def grid_sampler(
    g: Builder,
    input: Value,
    grid: Value,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Any:
    """Returns elements at the positions of a grid."""
    g.require(16, "GridSample")
    modes = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    return g.op(
        "GridSample",
        input,
        grid,
        mode_s=modes[interpolation_mode],
        padding_mode_s=("zeros", "border", "reflection")[padding_mode],
        align_corners_i=int(align_corners),
    )
