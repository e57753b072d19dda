"""Calls whose nodes PyTorch writes with separate overloads: expressions of `x`, a (2, 3) tensor.

`torch` is the library that is given. Each is compiled and traced.
"""

REDUCED = """
x.sum() | x.sum(0) | x.sum((0, 1), True) | x.sum(dim=1, keepdim=True) | x.sum(dtype=torch.float64)
x.mean() | x.mean(1) | x.mean([0, 1]) | x.prod() | x.prod(1) | x.all() | x.all(1) | x.any()
x.any(0, True) | x.amax(1) | x.amin(0) | x.argmax() | x.max() | x.max(1)[0] | x.min(0)[1]
x.std() | x.std(0) | x.var(1) | x.var(unbiased=False) | x.std(1, correction=0) | torch.var_mean(x)[0]
x.norm() | x.norm(2, 1) | x.logsumexp(1) | x.cumsum(0) | x.median() | x.nansum()
"""
VIEWED = """
x.squeeze() | x.squeeze(0) | x.squeeze((0, 1)) | x.unsqueeze(0).squeeze(0) | x.contiguous()
x.roll(1, 0) | x.clone() | x.flip(0) | x.permute(1, 0) | x.expand(2, 3)
"""
MADE = """
torch.zeros(2, 3) | torch.ones([2, 3]) | torch.full((2, 3), 1.5) | torch.empty(2, 3).zero_()
torch.zeros_like(x) | torch.ones_like(x) | torch.full_like(x, 2.0) | torch.empty_like(x).zero_()
x.new_zeros(2, 3) | x.new_ones((2,)) | x.new_full((2,), 1.0)
torch.arange(3) | torch.arange(1, 3) | torch.arange(0, 6, 2) | torch.arange(3.0)
torch.eye(3) | torch.eye(3, 2) | torch.linspace(0, 1, 3) | torch.logspace(0, 1, 3)
torch.tril_indices(3, 3) | torch.zeros(2, dtype=torch.int64) | torch.hann_window(4)
"""
DRAWN = """
torch.rand(2, 3) | torch.randn(2, 3) | torch.randint(0, 3, (2,))
torch.randperm(3) | torch.rand_like(x) | torch.randn_like(x) | torch.bernoulli(x.sigmoid())
torch.multinomial(x.sigmoid(), 1) | x.clone().normal_() | x.clone().uniform_(0.0, 2.0)
x.clone().exponential_() | x.clone().bernoulli_(0.5) | torch.poisson(x.sigmoid())
"""
WINDOWS = """
torch.max_pool2d(x.view(1, 1, 2, 3), 2) | torch.max_pool1d(x, 2) | torch.avg_pool1d(x, 2)
torch.conv2d(x.view(1, 1, 2, 3), x.view(1, 1, 2, 3), None, 1, 1)
torch.conv1d(x.view(1, 2, 3), x.view(1, 2, 3))
torch.conv_transpose2d(x.view(1, 1, 2, 3), x.view(1, 1, 2, 3), None, 2)
"""


def expressions(text):
    found = (one.strip() for line in text.splitlines() for one in line.split(" | "))
    return [one for one in found if one]


CALCULATED = expressions(REDUCED + VIEWED + MADE + WINDOWS)
RANDOM = expressions(DRAWN)
