"""A sparse convolution by hand."""

import engine
from engine.sparse_conv import build_rulebook


def convolve(features, weight, rulebook):
    result = engine.zeros(rulebook.out_indices.size(0), weight.size(2))
    for k in range(rulebook.offsets):
        in_rows, out_rows = rulebook.pairs(k)
        # TODO: gather, multiply by weight[k], and add to the output rows.
        result[out_rows] = features[in_rows].sum(1, keepdim=True)
    return result


engine.manual_seed(0)
indices = (engine.rand(1, 6, 6) < 0.5).nonzero()
features = engine.randn(indices.size(0), 3)
weight = engine.randn(9, 3, 2, requires_grad=True)
same = build_rulebook(indices, 1, [6, 6], [3, 3], submanifold=True)
strided = build_rulebook(indices, 1, [6, 6], [3, 3], stride=[2, 2], padding=[1, 1])
print(convolve(features, weight, same).shape, convolve(features, weight, strided).shape)
