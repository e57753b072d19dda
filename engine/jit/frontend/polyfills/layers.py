"""Layers of several families, as they are compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from engine import overloads
from engine._generated import ops
from engine.nn import functional as F
from engine.nn.functional import activation, loss, pooling
from engine.nn.modules import batchnorm, margin_loss, softmax
from engine.tensor import Tensor


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
        "This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=3,
    )
    shape = broadcast_shapes(list(input.shape), list(target.shape))
    return input.expand(shape), target.expand(shape)


def broadcast_shapes(first: list[int], second: list[int]) -> list[int]:
    rank = max(len(first), len(second))
    shape = [1] * rank
    for i in range(1, rank + 1):
        for one in (first, second):
            if i <= len(one) and one[-i] != 1:
                if shape[-i] != 1 and shape[-i] != one[-i]:
                    raise RuntimeError(f"shapes {first} and {second} cannot be broadcast")
                shape[-i] = one[-i]
    return shape


def _rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    if lower > upper:
        raise RuntimeError(f"rrelu: lower {lower} should be less than or equal to upper {upper}")
    if not training:
        return F.leaky_relu(input, (lower + upper) / 2, inplace)
    slopes = ops.add(ops.mul(ops.rand_like(input), upper - lower), lower)
    made = ops.where(ops.gt(input, 0), input, ops.mul(input, slopes))
    return ops.copy_(input, made) if inplace else made


def _largest(input: Tensor, kernel_size: Any, stride: Any, ceil: bool, dims: int) -> Tensor:
    if dims == 1:
        return F.max_pool1d(input, kernel_size, stride, 0, 1, ceil)
    if dims == 2:
        return F.max_pool2d(input, kernel_size, stride, 0, 1, ceil)
    return F.max_pool3d(input, kernel_size, stride, 0, 1, ceil)


def _mean(input: Tensor, kernel_size: Any, stride: Any, ceil: bool, dims: int) -> Tensor:
    if dims == 1:
        return F.avg_pool1d(input, kernel_size, stride, 0, ceil)
    if dims == 2:
        return F.avg_pool2d(input, kernel_size, stride, 0, ceil)
    return F.avg_pool3d(input, kernel_size, stride, 0, ceil)


def _lp_pool(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil: bool, dims: int
) -> Tensor:
    if norm_type == float("inf"):
        return _largest(input.abs(), kernel_size, stride, ceil, dims)
    if norm_type == -float("inf"):
        return -_largest(-input.abs(), kernel_size, stride, ceil, dims)
    count = 1
    for size in pooling._listed(kernel_size, dims):
        count *= size
    powers = _mean(input.pow(norm_type), kernel_size, stride, ceil, dims)
    return (powers.sign() * powers.abs().relu()).mul(count).pow(1.0 / norm_type)


def _one_is_one(input: Tensor, var: Tensor) -> bool:
    different = 0
    if input.dim() != var.dim():
        return False
    for a, b in zip(input.shape, var.shape, strict=True):
        if a != b:
            if b != 1:
                return False
            different += 1
    return different == 1


def _mean_of_all(self: Any, input: Tensor) -> Tensor:
    """A batch norm without `momentum`: its running statistics are means over all batches."""
    if input.dim() not in self.ranks:
        self._check_input_dim(input)
    held = self._buffers
    mean, var, count = held["running_mean"], held["running_var"], held["num_batches_tracked"]
    weight, bias = batchnorm.weight_and_bias(self)
    if mean is None or not self.track_running_stats:
        training = self.training or mean is None
        nothing = None if self.training else mean
        return F.batch_norm(
            input, nothing, None if self.training else var, weight, bias, training, 0.0, self.eps
        )
    share = 0.0
    if self.training and count is not None:
        count.add_(1)
        share = 1.0 / float(count)
    return F.batch_norm(input, mean, var, weight, bias, self.training, share, self.eps)


def _adaptive_log_softmax(self: Any, input_: Tensor, target_: Tensor) -> softmax._ASMoutput:
    self._check(input_, target_)
    single = target_.dim() == 0
    input = input_.unsqueeze(0) if single else input_
    target = target_.unsqueeze(0) if single else target_
    entry, output = target.clone(), input.new_zeros([target.size(0)])
    for number, cluster in enumerate(self.tail):
        low, high = self.cutoffs[number], self.cutoffs[number + 1]
        rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
        if rows.numel() > 0:
            entry = entry.index_fill(0, rows, self.shortlist_size + number)
            inside = F.log_softmax(cluster(input.index_select(0, rows)), dim=1)
            column = (target.index_select(0, rows) - low).unsqueeze(1)
            output = output.index_copy(0, rows, inside.gather(1, column).squeeze(1))
    head = F.log_softmax(self.head(input), dim=1)
    output = output + head.gather(1, entry.unsqueeze(1)).squeeze(1)
    loss = (-output).mean()
    return softmax._ASMoutput(output.squeeze(0) if single else output, loss)


def _triplets(self: Any, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: the anchor, positive and negative tensors are "
            "expected to have the same number of dimensions, but got: anchor "
            f"{anchor.dim()}D, positive {positive.dim()}D, negative {negative.dim()}D"
        )
    near = self.distance_function(anchor, positive)
    far = self.distance_function(anchor, negative)
    if self.swap:
        far = ops.minimum(far, self.distance_function(positive, negative))
    losses = ops.clamp_min(ops.sub(ops.add(near, self.margin), far), 0)
    return loss._reduced(losses, self.reduction)


SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    overloads.broadcast_shapes: broadcast_shapes,
    loss._broadcast: _broadcast,
    loss._one_is_one: _one_is_one,
    activation.rrelu: _rrelu,
    pooling._lp_pool: _lp_pool,
    margin_loss.TripletMarginWithDistanceLoss.forward: _triplets,
    softmax.AdaptiveLogSoftmaxWithLoss.forward: _adaptive_log_softmax,
}


def of_module(fn: Any, module: Any) -> Any:
    """A batch norm is another one without `momentum`."""
    if fn is batchnorm._BatchNorm.forward and module is not None and module.momentum is None:
        return _mean_of_all
    return None
