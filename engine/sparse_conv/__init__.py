"""Convolutions over the active sites of a mostly empty grid: points in a volume, strokes on a page.

A `SparseConvTensor` holds the features of its active sites. A layer looks up which sites are neighbours, once, in a
`Rulebook`; then it gathers, multiplies and scatters rows of features for one kernel offset after the other. The cost is
proportional to the sites and the kernel's offsets, not to the grid. The operators are an extension library,
`csrc/extensions/sparse_conv`, which is loaded by `engine.ops.load_library` and callable as `engine.ops.sparse_conv`.

>>> import engine
>>> from engine import sparse_conv
>>> indices = engine.tensor([[0, 1, 1], [0, 1, 2], [0, 4, 4]])
>>> x = sparse_conv.SparseConvTensor(engine.ones(3, 1), indices, [5, 5], batch_size=1)
>>> layer = sparse_conv.SubMConv2d(1, 1, kernel_size=3, bias=False)
>>> _ = engine.nn.init.ones_(layer.weight)
>>> layer(x).features.flatten()
tensor([2., 2., 1.], grad_fn=<ViewBackward0>)
"""

from engine.sparse_conv.functions import gather_gemm_scatter, max_pool
from engine.sparse_conv.layers import (
    SparseConv2d,
    SparseConv3d,
    SparseInverseConv2d,
    SparseInverseConv3d,
    SparseMaxPool2d,
    SparseMaxPool3d,
    SparseModule,
    SparseSequential,
    SubMConv2d,
    SubMConv3d,
)
from engine.sparse_conv.rulebook import Rulebook, build_rulebook
from engine.sparse_conv.tensor import SparseConvTensor

__all__ = [
    "Rulebook",
    "SparseConv2d",
    "SparseConv3d",
    "SparseConvTensor",
    "SparseInverseConv2d",
    "SparseInverseConv3d",
    "SparseMaxPool2d",
    "SparseMaxPool3d",
    "SparseModule",
    "SparseSequential",
    "SubMConv2d",
    "SubMConv3d",
    "build_rulebook",
    "gather_gemm_scatter",
    "max_pool",
]
