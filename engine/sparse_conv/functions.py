"""Gather, GEMM, scatter-add and max pooling over a Rulebook; the gradients are formulas of the library in C++."""

from __future__ import annotations

from engine.sparse_conv.library import operators
from engine.sparse_conv.rulebook import Rulebook
from engine.tensor import Tensor


def gather_gemm_scatter(features: Tensor, weight: Tensor, rulebook: Rulebook) -> Tensor:
    """Return the convolution of the features of active sites with a weight of shape (offsets, in, out).

    The features of output site o are the sum of `features[i] @ weight[k]` over its pairs (i, o) of each offset k.
    """
    result: Tensor = operators().gather_gemm_scatter(
        features,
        weight,
        rulebook.in_rows,
        rulebook.out_rows,
        rulebook.starts,
        rulebook.out_indices.size(0),
    )
    return result


def max_pool(features: Tensor, rulebook: Rulebook) -> Tensor:
    """Return for each output site and channel the largest feature among the input sites that feed it.

    Cells without a site take no part. Of equal features the gradient goes to that of the first kernel offset.
    """
    rows = operators().max_pool_rows(
        features.detach(),
        rulebook.in_rows,
        rulebook.out_rows,
        rulebook.starts,
        rulebook.out_indices.size(0),
    )
    return features.gather(0, rows)
